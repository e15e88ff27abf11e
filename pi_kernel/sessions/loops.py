"""Which event loop a session runs on, and the way in from other threads."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import weakref
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from pi_kernel.errors import PiKernelError

__all__ = ("SessionLoop",)

T = TypeVar("T")

LOOK_SECONDS = 0.05
"""How often a thread that waits looks whether the loop still runs."""


class SessionLoop:
    """Binds a session to the loop it is used on; outside any loop it keeps a private one."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._runner: asyncio.Runner | None = None
        self._close_runner: Any = None
        self._driving = threading.Lock()
        """Held by the thread that runs the private loop."""

    def bind(self) -> None:
        """Note the running loop.

        Raises:
            PiKernelError: If the session runs on another loop that is still running.
        """
        loop = asyncio.get_running_loop()
        if loop is self._loop:
            return
        if self._loop is not None and self._loop.is_running():
            raise PiKernelError(
                "this session runs on another thread's event loop;"
                " use session.run(...) from this thread"
            )
        self._loop = loop

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine to its end from code that is not async, in any thread.

        Raises:
            PiKernelError: If it is no coroutine, or if called on a running loop of this thread.
        """
        if not asyncio.iscoroutine(coroutine):
            raise PiKernelError(
                "session.run() takes a coroutine, such as session.execute_tool(...),"
                f" got {type(coroutine).__name__}"
            )
        try:
            self._check_thread()
            return self._run(coroutine)
        finally:
            if inspect.getcoroutinestate(coroutine) == inspect.CORO_CREATED:
                coroutine.close()

    def _check_thread(self) -> None:
        here = _running_loop()
        if here is None:
            return
        if here is self._loop:
            raise PiKernelError(
                "session.run() would wait for the event loop that it runs on; use: await ..."
            )
        if self._loop is None or not self._loop.is_running():
            raise PiKernelError(
                "session.run() was called inside a running event loop; use: await ..."
            )

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        # A copy of the caller's context, so that a call made inside a tool knows its caller.
        context = contextvars.copy_context()
        while True:
            loop = self._loop
            if loop is not None and loop.is_running():
                job = _Job(coroutine, context, loop)
                if job.wait():
                    return job.result()
                if job.running():
                    return self._finish(job)
            elif self._driving.acquire(timeout=LOOK_SECONDS):
                try:
                    return self._private_runner().run(coroutine, context=context)
                finally:
                    self._driving.release()

    def _finish(self, job: _Job[T]) -> T:
        """Bring a job to its end whose loop stopped under it."""
        if self._runner is None or job.loop is not self._runner.get_loop():
            raise PiKernelError("the event loop of this session stopped before the call had ended")
        while not job.wait():
            if self._driving.acquire(timeout=LOOK_SECONDS):
                try:
                    self._runner.run(job.settled())
                finally:
                    self._driving.release()
        return job.result()

    def _private_runner(self) -> asyncio.Runner:
        if self._runner is None:
            self._runner = runner = asyncio.Runner(loop_factory=asyncio.new_event_loop)
            self._close_runner = weakref.finalize(self, _close, runner)
        self._loop = self._runner.get_loop()
        return self._runner

    def close(self) -> None:
        """Close the private loop, unless it is running."""
        if self._runner is not None and self._driving.acquire(blocking=False):
            try:
                self._close_runner()
                self._runner = self._loop = None
            finally:
                self._driving.release()


class _Job(Future[T]):
    """A coroutine that another thread's loop runs."""

    def __init__(
        self,
        coroutine: Coroutine[Any, Any, T],
        context: contextvars.Context,
        loop: asyncio.AbstractEventLoop,
    ) -> None:
        super().__init__()
        self.loop = loop
        self.task: asyncio.Task[T] | None = None
        self._coroutine = coroutine
        self._context = context
        loop.call_soon_threadsafe(self._start)

    def _start(self) -> None:
        if self.set_running_or_notify_cancel():
            self.task = self.loop.create_task(self._coroutine, context=self._context)
            self.task.add_done_callback(self._end)

    def _end(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.set_exception(asyncio.CancelledError())
        elif error := task.exception():
            self.set_exception(error)
        else:
            self.set_result(task.result())

    def wait(self) -> bool:
        """Wait for the end.

        Returns:
            False when the loop has stopped before it; a job that does not run will never start.
        """
        try:
            while True:
                try:
                    self.exception(timeout=LOOK_SECONDS)
                except CancelledError:
                    return False
                except TimeoutError:
                    if not self.loop.is_running() and (self.cancel() or not self.done()):
                        return False
                else:
                    return True
        except BaseException:  # An interrupt of the thread that waits.
            self.cancel()
            self.loop.call_soon_threadsafe(lambda: self.task and self.task.cancel())
            raise

    async def settled(self) -> None:
        """Return when the task has ended, whichever way."""
        while not self.done():
            await (asyncio.wait({self.task}) if self.task else asyncio.sleep(0))


def _close(runner: asyncio.Runner) -> None:
    """Close a private loop, also from inside another one, where its clean-up cannot run."""
    if _running_loop() is None:
        runner.close()
    else:
        runner.get_loop().close()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
