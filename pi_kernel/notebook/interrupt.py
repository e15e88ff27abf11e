"""Interrupting a cell that awaits: the first stop aborts its calls, the second forces.

ipykernel's own handling cannot be used while a cell awaits: when the event loop is idle, its
cancellation arrives only when something else wakes the loop, and inside synchronous code it is
lost. The rules here were tried on ipykernel 6.29 to 7.4: raise nothing while the loop is idle, and
in no task anything that asyncio does not take as a cancellation, because either hangs the kernel.
"""

from __future__ import annotations

import _thread
import asyncio
import signal
import threading
import time
from collections.abc import Callable
from contextvars import Context, copy_context
from types import FrameType
from typing import Any, Literal

from pi_kernel.notebook.cells import INTERRUPTED, Cell, CellInterrupted
from pi_kernel.runtime.call import current_caller

__all__ = ("CallbackInterrupted", "InterruptHandler")

WakeUp = Callable[[asyncio.Future[Any]], object]
Place = Literal["cell", "other", "loop"]
"""Whose code a stop meets: the cell's own, somebody else's in a task (such as a tool's), none."""

PACKAGE = "pi_kernel."
REMIND_SECONDS = 0.05
MAX_REMIND_SECONDS = 1.0
LOOP_FUNCTION = "_run_once"
"""Of asyncio: what is below its frame on the stack waits for it to return."""


class CallbackInterrupted(Exception):  # noqa: N818 - like ToolAborted
    """Ends a callback of the event loop that is busy; asyncio reports it and goes on."""


class InterruptHandler:
    """Handles SIGINT from an async cell's start to its end.

    Args:
        namespace: The globals of the code of cells.
        on_interrupt: Told of a cell's first stop, in the event loop.
    """

    def __init__(self, namespace: dict[str, Any], on_interrupt: Callable[[Cell], object]) -> None:
        self._namespace = namespace
        self._on_interrupt = on_interrupt
        self._cell: Cell | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._context: Context | None = None
        """Of the cell: what its watchers print when they are told belongs to it."""
        self._previous: Any = None
        self._hits = 0
        self._is_heard = True
        """Whether the event loop, or code that runs, has got the last stop."""
        self._is_reminder = False
        """Whether the next signal is our own."""
        self._deliver: Callable[[], None] | None = None

    def install(self, cell: Cell) -> None:
        """Take over SIGINT for a cell; outside the main thread signals are impossible."""
        if cell.task is None or threading.current_thread() is not threading.main_thread():
            return
        self._loop = cell.task.get_loop()
        self._cell, self._hits, self._deliver = cell, 0, None
        self._context = copy_context()
        cell.on_calls_ended = self._calls_ended
        current = signal.getsignal(signal.SIGINT)
        if current != self._handle:
            self._previous = current
            signal.signal(signal.SIGINT, self._handle)

    def remove(self, cell: Cell) -> None:
        """Give SIGINT back, unless somebody else has taken it meanwhile."""
        if self._cell is not cell:
            return
        self._cell = self._context = self._loop = None
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGINT) == self._handle:
            signal.signal(signal.SIGINT, self._previous or signal.default_int_handler)

    # -- the signal ----------------------------------------------------------------------------

    def _handle(self, number: int, frame: FrameType | None) -> None:
        cell, loop = self._cell, self._loop
        if cell is None or loop is None or loop.is_closed():
            if callable(self._previous):
                self._previous(number, frame)
            return
        is_reminder, self._is_reminder = self._is_reminder, False
        if not is_reminder:
            self._hits += 1
            self._is_heard = False
            cell.is_interrupted = True
            cell.is_told = False
            act = self._first if self._hits == 1 else self._force
            # Not call_soon: that does not wake an idle loop.
            loop.call_soon_threadsafe(act, cell, context=self._context)
        if self._is_heard:
            return
        place = self._place(frame, cell)
        if place == "cell" or (place == "other" and self._hits > 1):
            # What is scheduled is not heard while synchronous code runs.
            self._is_heard = True
            task = asyncio.current_task(loop)
            if task is None:
                raise CallbackInterrupted(INTERRUPTED)
            cell.is_told = task is cell.task
            raise CellInterrupted
        if not is_reminder:
            _thread.start_new_thread(self._remind, (cell, self._hits))

    def _remind(self, cell: Cell, hits: int) -> None:
        """Send the signal again while nothing has heard it.

        It may have come between two pieces of code of which the second keeps the loop busy.
        """
        pause = REMIND_SECONDS
        while True:
            time.sleep(pause)
            if self._is_heard or self._cell is not cell or self._hits != hits:
                return
            self._is_reminder = True
            if hasattr(signal, "pthread_kill"):
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            else:  # Windows
                _thread.interrupt_main()
            pause = min(2 * pause, MAX_REMIND_SECONDS)

    def _place(self, frame: FrameType | None, cell: Cell) -> Place:
        """Return whose code is being run: looked for from the innermost frame outwards."""
        while frame is not None and frame.f_code.co_name != LOOP_FUNCTION:
            if frame.f_globals is self._namespace:
                return "cell" if current_caller.get() is cell else "other"
            if frame.f_globals.get("__name__", "").startswith(PACKAGE):
                return "other"
            frame = frame.f_back
        return "loop"

    # -- in the event loop ---------------------------------------------------------------------

    def _first(self, cell: Cell) -> None:
        self._note(cell)
        if not cell.running:
            self._end_await(cell)

    def _force(self, cell: Cell) -> None:
        self._note(cell)
        cell.force()
        self._end_await(cell)
        if self._cell is cell and self._deliver is not None:
            self._deliver()

    def _note(self, cell: Cell) -> None:
        self._is_heard = True
        cell.signal.abort("interrupted")
        if self._cell is cell:
            self._on_interrupt(cell)

    def _calls_ended(self, cell: Cell) -> None:
        # Later: where the cell's own code made the call, that call raises.
        asyncio.get_running_loop().call_soon(self._end_await, cell)

    def _end_await(self, cell: Cell) -> None:
        """Make what the cell's own code awaits raise `CellInterrupted` there.

        What it awaits is cancelled as `Task.cancel` does it, and the code goes on when that has
        ended. Cancelling the task itself would throw asyncio's own CancelledError.
        """
        task = cell.task
        if self._cell is not cell or cell.is_told or task is None or task.done():
            return
        awaited = getattr(task, "_fut_waiter", None)
        if awaited is not None and awaited.done():  # the code is about to go on, to its next await
            task.get_loop().call_soon(self._end_await, cell)
            return
        cell.is_told = True
        wake_up = _wake_up_of(task, awaited)
        if awaited is None or wake_up is None:
            if self._deliver is None:
                task.cancel()
            return
        awaited.remove_done_callback(wake_up[0])
        self._deliver = deliver = _once(lambda: self._throw(task, *wake_up))
        awaited.add_done_callback(_look_at)
        awaited.add_done_callback(lambda _: deliver())
        awaited.cancel()

    def _throw(self, task: asyncio.Task[Any], wake_up: WakeUp, context: Context) -> None:
        """Let a task go on as if what it awaited had raised `CellInterrupted`."""
        self._deliver = None
        loop = task.get_loop()
        failed: asyncio.Future[Any] = loop.create_future()
        failed.set_exception(CellInterrupted())
        loop.call_soon(wake_up, failed, context=context)


def _look_at(done: asyncio.Future[Any]) -> None:
    """Take note of a failure, so that it is not reported as never retrieved."""
    if not done.cancelled():
        done.exception()


def _wake_up_of(
    task: asyncio.Task[Any], awaited: asyncio.Future[Any] | None
) -> tuple[WakeUp, Context] | None:
    """Return the callback by which a future makes a task go on, and the task's context."""
    for callback, context in getattr(awaited, "_callbacks", None) or ():
        if getattr(callback, "__self__", None) is task:
            return callback, context
    return None


def _once(work: Callable[[], None]) -> Callable[[], None]:
    is_done = False

    def run() -> None:
        nonlocal is_done
        if not is_done:
            is_done = True
            work()

    return run
