"""The queue of changes per file: order, parallelism, and what happens when a change ends badly."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio
import pytest

from pi_kernel.tools import _mutation_queue, with_file_mutation_queue
from pi_kernel.tools._threads import run_settled


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Iterator[None]:
    yield
    assert _mutation_queue._slots == {}
    assert not _mutation_queue._registrations


class Change:
    """A change that says when it started and ends when it is told to."""

    def __init__(self, log: list[str], name: str) -> None:
        self._log = log
        self._name = name
        self.started = anyio.Event()
        self.may_end = anyio.Event()

    async def __call__(self) -> str:
        self._log.append(f"start {self._name}")
        self.started.set()
        await self.may_end.wait()
        self._log.append(f"end {self._name}")
        return self._name


async def test_changes_of_one_file_run_one_after_the_other_in_call_order(tmp_path: Path) -> None:
    log: list[str] = []
    path = tmp_path / "a"

    def numbered(number: int) -> Callable[[], Awaitable[None]]:
        async def change() -> None:
            log.append(f"start {number}")
            await anyio.lowlevel.checkpoint()
            log.append(f"end {number}")

        return change

    await asyncio.gather(*(with_file_mutation_queue(path, numbered(n)) for n in range(20)))
    assert log == [f"{word} {n}" for n in range(20) for word in ("start", "end")]


async def test_changes_of_different_files_run_at_the_same_time(tmp_path: Path) -> None:
    log: list[str] = []
    first, second = Change(log, "first"), Change(log, "second")
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(with_file_mutation_queue, tmp_path / "a", first)
            group.start_soon(with_file_mutation_queue, tmp_path / "b", second)
            await first.started.wait()
            await second.started.wait()
            first.may_end.set()
            second.may_end.set()
    assert sorted(log[:2]) == ["start first", "start second"]


def _spellings(folder: Path) -> dict[str, tuple[Path, Path]]:
    return {
        "a link": (folder / "real", folder / "link"),
        "dots": (folder / "real", folder / "sub" / ".." / "real"),
        "a link to its folder": (folder / "real", folder / "here" / "real"),
        "a new file in a linked folder": (folder / "new", folder / "here" / "new"),
        "a link to a file that is not there": (folder / "gone", folder / "dangling"),
    }


@pytest.mark.parametrize("case", _spellings(Path()))
async def test_spellings_of_one_file_share_its_queue(tmp_path: Path, case: str) -> None:
    (tmp_path / "real").touch()
    (tmp_path / "sub").mkdir()
    (tmp_path / "link").symlink_to("real")
    (tmp_path / "here").symlink_to(".")
    (tmp_path / "dangling").symlink_to("gone")
    one, other = _spellings(tmp_path)[case]
    log: list[str] = []
    first, second = Change(log, "first"), Change(log, "second")
    second.may_end.set()
    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(with_file_mutation_queue, one, first)
            await first.started.wait()
            group.start_soon(with_file_mutation_queue, other, second)
            await anyio.wait_all_tasks_blocked()
            assert log == ["start first"]
            first.may_end.set()
    assert log == ["start first", "end first", "start second", "end second"]


async def test_the_value_of_the_change_is_returned(tmp_path: Path) -> None:
    change = Change([], "value")
    change.may_end.set()
    assert await with_file_mutation_queue(str(tmp_path / "a"), change) == "value"


async def test_a_failed_change_lets_the_next_one_run(tmp_path: Path) -> None:
    async def fail() -> None:
        raise RuntimeError("broken")

    change = Change([], "next")
    change.may_end.set()
    with pytest.raises(RuntimeError, match=r"^broken$"):
        await with_file_mutation_queue(tmp_path / "a", fail)
    with anyio.fail_after(5):
        assert await with_file_mutation_queue(tmp_path / "a", change) == "next"


async def test_a_change_that_is_cancelled_while_it_waits_leaves_the_queue(tmp_path: Path) -> None:
    log: list[str] = []
    path = tmp_path / "a"
    first, second, third = (Change(log, name) for name in ("first", "second", "third"))
    third.may_end.set()
    with anyio.fail_after(5):
        running = asyncio.ensure_future(with_file_mutation_queue(path, first))
        await first.started.wait()
        waiting = asyncio.ensure_future(with_file_mutation_queue(path, second))
        last = asyncio.ensure_future(with_file_mutation_queue(path, third))
        await anyio.wait_all_tasks_blocked()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        first.may_end.set()
        assert list(await asyncio.gather(running, last)) == ["first", "third"]
    assert log == ["start first", "end first", "start third", "end third"]


@pytest.mark.parametrize("how", ["task", "scope"])
async def test_a_cancelled_change_keeps_its_turn_until_its_io_has_ended(
    tmp_path: Path, how: str
) -> None:
    path = tmp_path / "a"
    log: list[str] = []
    is_writing, may_end = threading.Event(), threading.Event()

    def write() -> None:
        is_writing.set()
        may_end.wait(5)
        log.append("written")

    async def first() -> None:
        await run_settled(write)
        log.append("not reached")

    async def second() -> None:
        log.append("second")

    scope = anyio.CancelScope()

    async def run_first() -> None:
        with scope:
            await with_file_mutation_queue(path, first)

    with anyio.fail_after(5):
        running = asyncio.ensure_future(run_first())
        await anyio.to_thread.run_sync(is_writing.wait)
        waiting = asyncio.ensure_future(with_file_mutation_queue(path, second))
        if how == "task":
            running.cancel()
        else:
            scope.cancel()
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert log == []
        may_end.set()
        await waiting
        await asyncio.wait((running,))
    assert log == ["written", "second"]


def test_threads_with_their_own_event_loops_share_the_queues(tmp_path: Path) -> None:
    path = tmp_path / "counter"
    path.write_text("0", encoding="utf-8")

    async def add_one() -> None:
        async def change() -> None:
            before = int(path.read_text(encoding="utf-8"))
            await anyio.lowlevel.checkpoint()
            path.write_text(str(before + 1), encoding="utf-8")

        for _ in range(20):
            await with_file_mutation_queue(path, change)

    threads = [threading.Thread(target=asyncio.run, args=(add_one(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert path.read_text(encoding="utf-8") == "80"


def _turn_of_a_closed_loop() -> _mutation_queue._Turn:
    async def make() -> _mutation_queue._Turn:
        return _mutation_queue._Turn()

    loop = asyncio.new_event_loop()
    turn = loop.run_until_complete(make())
    loop.close()
    return turn


async def test_a_turn_whose_loop_is_gone_is_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "a"
    first, second = Change([], "first"), Change([], "second")
    second.may_end.set()
    with anyio.fail_after(5):
        running = asyncio.ensure_future(with_file_mutation_queue(path, first))
        await first.started.wait()
        dead = await anyio.to_thread.run_sync(_turn_of_a_closed_loop)
        next(iter(_mutation_queue._slots.values())).append(dead)
        waiting = asyncio.ensure_future(with_file_mutation_queue(path, second))
        await anyio.wait_all_tasks_blocked()
        first.may_end.set()
        assert list(await asyncio.gather(running, waiting)) == ["first", "second"]


async def test_a_path_that_leads_nowhere_fails_in_the_systems_words(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    with pytest.raises(OSError, match=r".") as caught:
        await with_file_mutation_queue(loop, Change([], "never"))
    assert str(caught.value) == (f"ELOOP: too many symbolic links encountered, realpath '{loop}'")


async def test_a_forked_child_does_not_inherit_the_parents_turns(tmp_path: Path) -> None:
    change = Change([], "parent")
    with anyio.fail_after(20):
        running = asyncio.ensure_future(with_file_mutation_queue(tmp_path / "a", change))
        await change.started.wait()
        child = os.fork()
        if child == 0:
            os._exit(len(_mutation_queue._slots))
        _, status = os.waitpid(child, 0)  # noqa: ASYNC222 - the child ends at once
        change.may_end.set()
        await running
    assert os.waitstatus_to_exitcode(status) == 0
