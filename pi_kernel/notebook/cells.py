"""Cells as callers: ids, records, and what an interrupt does to a cell."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.calls import NestedToolCalls
from pi_kernel.protocol.usage import Usage
from pi_kernel.registry.host import ToolHost
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.call import Caller
from pi_kernel.runtime.records import NestedCallRecorder, NestedSnapshot

__all__ = ("INTERRUPTED", "Cell", "CellInterrupted", "CellRecord", "CellStatus", "Cells")

INTERRUPTED = "the cell was interrupted"

CellStatus = Literal["running", "ok", "error", "aborted"]


class CellInterrupted(asyncio.CancelledError, KeyboardInterrupt):
    """Ends the code of an interrupted cell: a KeyboardInterrupt that asyncio takes as a cancel.

    A plain KeyboardInterrupt in a task that is not the cell's own leaves the event loop and hangs
    the kernel. A cancellation may end any task, and groups and timeouts clean up after it.
    """

    def __init__(self) -> None:
        super().__init__(INTERRUPTED)

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows."""
        return [f"KeyboardInterrupt: {self}"]


CellInterrupted.__name__ = CellInterrupted.__qualname__ = "KeyboardInterrupt"  # shown to people


@dataclass(frozen=True, slots=True)
class CellRecord:
    """What one cell's calls came to.

    ``status`` is ``running``, ``ok``, ``error`` or ``aborted``. ``nested_calls`` lists the cell's
    calls and the calls below them; ``duration_ms`` runs until now while the cell is running.
    """

    id: str
    status: CellStatus
    nested_calls: NestedToolCalls
    usage: Usage | None
    duration_ms: float


class Cell(Caller):
    """One run of a notebook cell. Its calls are ``cell-<n>/1``, ``cell-<n>/2``, ..."""

    owns_children = True
    is_watching = True
    child_reach = "person"
    child_origin = "cell"
    recorder: NestedCallRecorder

    def __init__(self, host: ToolHost, cell_call_id: str, execution_count: int) -> None:
        super().__init__(host, cell_call_id, AbortSignal())
        self.cell_call_id = cell_call_id
        self.execution_count = execution_count
        self.recorder = NestedCallRecorder()  # pyright: ignore[reportIncompatibleVariableOverride]
        self.cwd = host.cwd
        self.status: CellStatus = "running"
        self.started = time.perf_counter()
        self.task: asyncio.Task[Any] | None = None
        """The task of the cell's own code; None where that is not async."""
        self.is_used = False
        """Whether it has made a call or a run."""
        self.running = 0
        """How many of its own calls and runs have not ended."""
        self.is_told = False
        """Whether its own code has got the interrupt."""
        self.is_forced = False
        """Whether it waits for its calls no longer."""
        self.shown_elsewhere = 0
        """How many things beside the cell's own line show how far it is."""
        self.on_first_use: Callable[[Cell], object] | None = None
        self.on_calls_ended: Callable[[Cell], object] | None = None
        self._calls_ended = asyncio.Event()
        self._duration_ms: float | None = None
        self._snapshot: NestedSnapshot | None = None

    # -- calls ---------------------------------------------------------------------------------

    def child_started(self) -> None:
        """Note that a call or a run of the cell begins; an interrupted cell's is refused."""
        if not self.is_used:
            self.is_used = True
            if self.on_first_use is not None:
                self.on_first_use(self)
        if self.is_interrupted:
            self.signal.abort("interrupted")
        self.running += 1

    def child_ended(self) -> None:
        """Note that one ended; the last one of an interrupted cell ends what the cell awaits."""
        self.running -= 1
        if self.is_interrupted and self.running == 0:
            self._calls_ended.set()
            if self.on_calls_ended is not None:
                self.on_calls_ended(self)

    async def stop_here(self) -> None:
        """Wait until all calls of the interrupted cell have ended, then end the code that called.

        Raises:
            CellInterrupted: In whichever task of the cell this is.
        """
        while self.running and not self.is_forced:
            self._calls_ended.clear()
            await self._calls_ended.wait()
        if self.task is not None and asyncio.current_task() is self.task:
            self.is_told = True
        raise CellInterrupted

    def force(self) -> None:
        """Stop waiting for the calls, those that must not be interrupted too."""
        self.is_forced = True
        self._calls_ended.set()
        for call in list(self.host.calls):
            if call.status is None and call.root.cell_call_id == self.id:
                call.force()

    # -- the end -------------------------------------------------------------------------------

    def finish(self, status: CellStatus) -> None:
        """Note that the cell has ended; its record does not change any more."""
        if self._snapshot is None:
            self.status = status
            self._duration_ms = (time.perf_counter() - self.started) * 1000
            self._snapshot = self.recorder.snapshot()

    def record(self) -> CellRecord:
        """Return what the calls came to, as it is now or was at the cell's end."""
        snapshot = self._snapshot or self.recorder.snapshot()
        duration_ms = self._duration_ms
        if duration_ms is None:
            duration_ms = (time.perf_counter() - self.started) * 1000
        return CellRecord(self.id, self.status, snapshot.record(), self.recorder.usage, duration_ms)


class Cells:
    """The cells of a session, by execution count; a used id gets the next free suffix."""

    def __init__(self, host: ToolHost) -> None:
        self.host = host
        self._by_count: dict[int, list[Cell]] = {}
        self.current: Cell | None = None
        """The running cell, or the last one."""

    def open(self, execution_count: int) -> Cell:
        """Begin a cell; the numbers of cells that made no calls may be used again."""
        held = [
            cell
            for cell in self._by_count.get(execution_count, ())
            if cell.is_used or cell.status == "running"
        ]
        self._by_count[execution_count] = held
        cell = Cell(self.host, self._id(execution_count, len(held)), execution_count)
        held.append(cell)
        return cell

    def show(self, cell: Cell) -> None:
        """Make a cell the current one; silent cells are not, as long as they make no calls."""
        self.current = cell

    @staticmethod
    def _id(execution_count: int, used: int) -> str:
        """Return ``cell-2``, then ``cell-2b``, ``cell-2c``, ..., ``cell-2z``, ``cell-2aa``."""
        suffix = ""
        number = used + 1 if used else 0
        while number:
            number, letter = divmod(number - 1, 26)
            suffix = chr(ord("a") + letter) + suffix
        return f"cell-{execution_count}{suffix}"

    def get(self, execution_count: int | None = None) -> Cell:
        """Return a cell: the running or last one, or the last with this number.

        Raises:
            PiKernelError: If no such cell has run since the extension was loaded.
        """
        if execution_count is None:
            if self.current is None:
                raise PiKernelError("no cell has run since %load_ext pi_kernel")
            return self.current
        cells = self._by_count.get(execution_count)
        if not cells:
            raise PiKernelError(f"no cell [{execution_count}] has run since %load_ext pi_kernel")
        return cells[-1]

    def __iter__(self) -> Iterator[Cell]:
        return (cell for cells in self._by_count.values() for cell in cells)
