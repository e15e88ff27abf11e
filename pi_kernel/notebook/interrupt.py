"""Interrupting a cell that waits for tools: the first stop aborts, the second forces.

ipykernel's own handling cannot be used while a cell awaits: when the event loop is idle, its
cancellation arrives only when something else wakes the loop, and inside synchronous code it is
lost. The rules here were tried on ipykernel 6.29 to 7.4: only schedule while the loop is idle, and
never raise KeyboardInterrupt in a task that is not the cell's own, because either hangs the kernel.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from types import FrameType
from typing import Any

from pi_kernel.notebook.cells import INTERRUPTED, Cell, cell_interrupted
from pi_kernel.registry.namespace import StartedCall

__all__ = ("HardAbort", "InterruptHandler")


class HardAbort(Exception):  # noqa: N818 - like ToolAborted
    """Ends a task of an interrupted cell that is busy in synchronous code."""

    def _render_traceback_(self) -> list[str]:
        return [f"KeyboardInterrupt: {INTERRUPTED}"]


class InterruptHandler:
    """Handles SIGINT from a cell's first tool call to the cell's end."""

    def __init__(self) -> None:
        self._cell: Cell | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._previous: Any = None
        self._hits = 0

    def install(self, cell: Cell) -> None:
        """Take over SIGINT for a cell; outside the main thread signals are impossible."""
        if threading.current_thread() is not threading.main_thread():
            return
        try:
            self._loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        self._cell, self._hits = cell, 0
        current = signal.getsignal(signal.SIGINT)
        if current != self._handle:
            self._previous = current
            signal.signal(signal.SIGINT, self._handle)

    def remove(self, cell: Cell) -> None:
        """Give SIGINT back, unless somebody else has taken it meanwhile."""
        if self._cell is not cell:
            return
        self._cell = None
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, self._previous or signal.default_int_handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        cell, loop = self._cell, self._loop
        if cell is None or loop is None or loop.is_closed():
            if callable(self._previous):
                self._previous(number, frame)
            return
        self._hits += 1
        cell.is_interrupted = True
        try:
            running = asyncio.current_task(loop)
        except RuntimeError:
            running = None
        if running is not None and (self._hits > 1 or not cell.running):
            # Synchronous code is running: nothing scheduled would be heard.
            loop.call_soon_threadsafe(cell.signal.abort, "interrupted")
            if running is cell.task:
                raise cell_interrupted()
            raise HardAbort(INTERRUPTED)
        # call_soon_threadsafe wakes an idle loop; plain call_soon does not.
        loop.call_soon_threadsafe(self._force if self._hits > 1 else self._first, cell)

    def _first(self, cell: Cell) -> None:
        cell.signal.abort("interrupted")
        if not cell.running:
            self._end_await(cell)

    def child_ended(self, cell: Cell) -> None:
        """End the await of an interrupted cell: here, or wherever its own task waits.

        Raises:
            KeyboardInterrupt: In the cell's own task.
        """
        if cell.task is not None and asyncio.current_task() is cell.task:
            raise cell_interrupted()
        if not cell.running:
            self._end_await(cell)

    def _force(self, cell: Cell) -> None:
        cell.signal.abort("interrupted")
        self._end_await(cell)

    @staticmethod
    def _end_await(cell: Cell) -> None:
        """Make what the cell's own task awaits raise KeyboardInterrupt there.

        Setting the exception on the awaited future reaches the cell's code only; a cancellation
        would end the cell as CancelledError, and in children it could be swallowed.
        """
        task = cell.task
        if task is None or task.done():
            return
        waiter = getattr(task, "_fut_waiter", None)
        if isinstance(waiter, StartedCall):
            waiter.cancel()  # awaiting it raises what its caller's `end_of_await` raises
            return
        if not isinstance(waiter, asyncio.Future) or isinstance(waiter, asyncio.Task):
            task.cancel()
            return
        for child in getattr(waiter, "_children", ()):  # those of asyncio.gather
            child.cancel()
        if not waiter.done():
            waiter.set_exception(cell_interrupted())
