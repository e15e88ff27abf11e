"""Cells as callers: ids, records, and which cell's code is running."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.calls import NestedToolCalls
from pi_kernel.protocol.usage import Usage
from pi_kernel.registry.host import ToolHost
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.call import Caller
from pi_kernel.runtime.records import NestedCallRecorder, NestedSnapshot

__all__ = ("Cell", "CellRecord", "CellStatus", "Cells", "cell_interrupted")

INTERRUPTED = "the cell was interrupted"


def cell_interrupted() -> KeyboardInterrupt:
    """Return what ends an interrupted cell; IPython shows it as one line."""
    error: Any = KeyboardInterrupt(INTERRUPTED)
    error._render_traceback_ = lambda: [f"KeyboardInterrupt: {INTERRUPTED}"]
    return error  # type: ignore[no-any-return]  # made two lines above

CellStatus = Literal["running", "ok", "error", "aborted"]


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
        self.recorder = NestedCallRecorder()
        self.cwd = host.cwd
        self.status: CellStatus = "running"
        self.is_interrupted = False
        self.task: asyncio.Task[Any] | None = None
        self.running = 0
        """How many of its own calls and runs have not ended."""
        self.on_first_call: Callable[[Cell], None] | None = None
        self.on_idle_interrupted: Callable[[Cell], None] | None = None
        self.started = time.perf_counter()
        self._ended = asyncio.Event()
        self._duration_ms: float | None = None
        self._snapshot: NestedSnapshot | None = None

    def next_id(self) -> str:
        """Return the id of the cell's next call."""
        if self.counter == 0 and self.on_first_call is not None:
            self.on_first_call(self)
        return super().next_id()

    def child_started(self) -> None:
        """Note that a call or a run of the cell begins."""
        self.running += 1

    def child_ended(self) -> None:
        """Note that one ended; the last one of an interrupted cell ends what the cell awaits."""
        self.running -= 1
        if self.is_interrupted and self.on_idle_interrupted is not None:
            self.on_idle_interrupted(self)

    def end_of_await(self) -> None:
        """End the cell's code where it gets a value, once the cell was interrupted.

        Raises:
            KeyboardInterrupt: In the cell's own task.
        """
        if self.is_interrupted and self.task is not None and asyncio.current_task() is self.task:
            raise cell_interrupted()

    async def hold_back(self) -> None:
        """Wait for the end of the cell."""
        await self._ended.wait()

    def finish(self, status: CellStatus) -> None:
        """Note that the cell has ended; its record does not change any more."""
        if self._duration_ms is None:
            self.status = status
            self._duration_ms = (time.perf_counter() - self.started) * 1000
            self._snapshot = self.recorder.snapshot()
            self._ended.set()

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
        self._host = host
        self._by_count: dict[int, list[Cell]] = {}
        self.current: Cell | None = None
        """The running cell, or the last one."""

    def open(self, execution_count: int) -> Cell:
        """Begin a cell."""
        earlier = [cell for cell in self._by_count.get(execution_count, []) if cell.counter]
        cell = Cell(self._host, self._id(execution_count, len(earlier)), execution_count)
        self._by_count[execution_count] = [*earlier, cell]
        last = self.current
        if last is not None and not last.counter and last.status != "running":
            same = self._by_count.get(last.execution_count or 0, [])
            if len(same) > 1 and last in same:
                same.remove(last)
        self.current = cell
        return cell

    @staticmethod
    def _id(execution_count: int, used: int) -> str:
        """Return ``cell-2``, then ``cell-2b``, ``cell-2c``, ..., ``cell-2z``, ``cell-2aa``."""
        suffix = ""
        while used > 0:
            suffix = chr(ord("a") + used % 26) + suffix
            used //= 26
        return f"cell-{execution_count}{suffix}"

    def get(self, execution_count: int | None = None) -> Cell:
        """Return a cell: the running or last one, or the last with this number.

        Raises:
            PiKernelError: If no such cell has run since the extension was loaded.
        """
        if execution_count is None:
            if self.current is None:
                raise PiKernelError("no cell has run yet")
            return self.current
        cells = self._by_count.get(execution_count)
        if not cells:
            raise PiKernelError(f"no cell [{execution_count}] has run since %load_ext pi_kernel")
        return cells[-1]

    def __iter__(self) -> Any:
        return (cell for cells in self._by_count.values() for cell in cells)
