"""Cells as callers, without a kernel."""

from __future__ import annotations

import asyncio

import pytest

from pi_kernel import PiKernelError, ToolSession
from pi_kernel.notebook.cells import Cell, CellInterrupted, Cells
from pi_kernel.runtime.call import current_caller
from tests.support.engine import make_tool, session_with


def cells_of(session: ToolSession | None = None) -> Cells:
    return Cells((session or session_with(make_tool("a"))).host)


def used(cells: Cells, count: int) -> str:
    """Open a cell that makes a call and ends; returns its id."""
    cell = cells.open(count)
    cell.child_started()
    cell.child_ended()
    cell.finish("ok")
    return cell.id


def test_a_number_that_is_used_again_gets_the_next_letters() -> None:
    cells = cells_of()
    ids = [used(cells, 2) for _ in range(55)]
    assert ids[:4] == ["cell-2", "cell-2b", "cell-2c", "cell-2d"]
    assert ids[25:28] == ["cell-2z", "cell-2aa", "cell-2ab"]
    assert ids[51:54] == ["cell-2az", "cell-2ba", "cell-2bb"]
    assert len(set(ids)) == 55
    assert used(cells, 3) == "cell-3"


def test_a_cell_that_made_no_call_leaves_its_number_to_the_next() -> None:
    cells = cells_of()
    first = cells.open(2)
    assert cells.open(2).id == "cell-2b"  # while the first is running
    first.finish("ok")
    for cell in list(cells):
        cell.finish("ok")
    assert cells.open(2).id == "cell-2"


def test_cells_are_found_by_number_or_as_the_last() -> None:
    cells = cells_of()
    with pytest.raises(PiKernelError, match=r"^no cell has run since %load_ext pi_kernel$"):
        cells.get()
    cell = cells.open(4)
    with pytest.raises(PiKernelError, match=r"^no cell has run"):
        cells.get()
    cells.show(cell)
    assert cells.get() is cells.get(4) is cell
    with pytest.raises(PiKernelError, match=r"^no cell \[5\] has run since"):
        cells.get(5)


async def test_the_record_of_a_cell_that_ended_does_not_change() -> None:
    session = session_with(make_tool("a"))
    cells = cells_of(session)
    cell = cells.open(1)
    token = current_caller.set(cell)
    await session.execute_tool("a")
    cell.finish("ok")
    await session.execute_tool("a")
    cell.finish("error")
    current_caller.reset(token)
    record = cell.record()
    assert (record.id, record.status, record.duration_ms) == (
        "cell-1", "ok", cell.record().duration_ms,
    )  # fmt: skip
    assert [call.id for call in record.nested_calls.calls] == ["cell-1/1"]
    assert [call.id for call in session.trace] == ["cell-1/1", "cell-1/2"]


def interrupted(session: ToolSession) -> Cell:
    cell = cells_of(session).open(1)
    cell.is_interrupted = True
    return cell


async def test_a_call_of_an_interrupted_cell_is_refused_and_ends_the_code() -> None:
    session = session_with(make_tool("a"))
    cell = interrupted(session)
    cell.task = asyncio.current_task()
    token = current_caller.set(cell)
    with pytest.raises(KeyboardInterrupt, match=r"^the cell was interrupted$") as caught:
        await session.execute_tool("a")
    current_caller.reset(token)
    assert isinstance(caught.value, asyncio.CancelledError)
    assert (cell.is_told, cell.running) == (True, 0)
    assert [call.status for call in session.trace] == ["aborted"]


async def test_in_another_task_the_end_of_an_interrupted_cell_is_a_cancellation() -> None:
    cell = interrupted(session_with())

    async def stop() -> None:
        await cell.stop_here()

    task = asyncio.create_task(stop())
    await asyncio.wait([task])
    assert (task.cancelled(), cell.is_told) == (True, False)
    with pytest.raises(CellInterrupted):
        await task


async def test_the_code_of_an_interrupted_cell_ends_when_its_last_call_has() -> None:
    cell = interrupted(session_with())
    idle: list[Cell] = []
    cell.on_calls_ended = idle.append
    for _ in range(2):
        cell.child_started()
    task = asyncio.create_task(cell.stop_here())
    for done in (False, True):
        cell.child_ended()
        for _ in range(3):
            await asyncio.sleep(0)
        assert task.done() is done
    assert idle == [cell]


async def test_a_forced_cell_waits_for_nothing() -> None:
    cell = interrupted(session_with())
    cell.child_started()
    task = asyncio.create_task(cell.stop_here())
    await asyncio.sleep(0)
    cell.force()
    await asyncio.wait([task])
    assert (task.cancelled(), cell.running) == (True, 1)


def test_the_interrupt_shows_itself_in_one_line() -> None:
    error = CellInterrupted()
    assert error._render_traceback_() == ["KeyboardInterrupt: the cell was interrupted"]
    assert type(error).__name__ == "KeyboardInterrupt"
