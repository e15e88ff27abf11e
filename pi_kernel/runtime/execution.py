"""Running a tool's code: in a worker thread, or step by step on the loop.

Step by step instead of by ``await``, for three reasons: a call that never waits is not watched, a
tool's own GeneratorExit must not look like the end of the loop, and a tool that swallows one
cancellation after the other is left behind.
"""

from __future__ import annotations

import asyncio
import contextlib
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from pi_kernel.runtime.call import Call, current_caller

__all__ = (
    "ToolExited",
    "as_coroutine",
    "run_in_thread",
    "step_then_watch",
    "thread_limiter",
    "watch_and_resume",
)

MAX_THREADS_PER_LEVEL = 40
"""As many as anyio's own limiter has, which stays free for the input and output of tools."""

_limiters: RunVar[dict[int, anyio.CapacityLimiter] | None] = RunVar("tool_thread_limiters")


class ToolExited(Exception):  # noqa: N818 - a carrier inside the pipeline
    """A tool raised GeneratorExit by itself."""

    def __init__(self, reason: GeneratorExit) -> None:
        self.reason = reason


async def run_in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Run a function in a worker thread, which is abandoned on a cancellation."""

    def work() -> Any:
        try:
            return function(*arguments)
        except GeneratorExit as error:
            raise ToolExited(error) from error

    limiter = thread_limiter()
    return await anyio.to_thread.run_sync(work, abandon_on_cancel=True, limiter=limiter)


def thread_limiter() -> anyio.CapacityLimiter:
    """Return the limiter of threads for tools at the running call's level of nesting.

    A tool in a thread may wait for the calls it makes. If those had to share its limiter, enough
    such tools would wait for each other's threads for ever.
    """
    caller = current_caller.get()
    depth = caller.depth if caller is not None else 0
    limiters = _limiters.get(None)
    if limiters is None:
        limiters = {}
        _limiters.set(limiters)
    if depth not in limiters:
        limiters[depth] = anyio.CapacityLimiter(MAX_THREADS_PER_LEVEL)
    return limiters[depth]


async def as_coroutine(awaitable: Awaitable[Any]) -> Any:
    """Await any awaitable."""
    return await awaitable


async def step_then_watch(call: Call, coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Await a coroutine; the call is watched from the first time that it has to wait.

    Most quick tools never wait, and to watch costs as much as all the rest of a quick call.
    """
    try:
        first = coroutine.send(None)
    except StopIteration as finished:
        return finished.value
    except GeneratorExit as error:
        raise ToolExited(error) from error
    return await watch_and_resume(call, coroutine, first)


@types.coroutine
def watch_and_resume(
    call: Call, coroutine: Coroutine[Any, Any, Any], waiting: Any
) -> Generator[Any, Any, Any]:
    """Await the rest of a coroutine that has just asked to wait."""
    call.watch()
    while True:
        thrown: BaseException | None = None
        try:
            yield waiting
        except GeneratorExit:
            coroutine.close()
            raise
        except BaseException as error:
            if isinstance(error, asyncio.CancelledError):
                call.last_cancellation = error
                if call.is_out_of_patience:
                    _leave_behind(coroutine)
                    raise
            thrown = error
        try:
            waiting = coroutine.send(None) if thrown is None else coroutine.throw(thrown)
        except StopIteration as finished:
            return finished.value
        except GeneratorExit as error:
            raise ToolExited(error) from error


def _leave_behind(coroutine: Coroutine[Any, Any, Any]) -> None:
    """Close a coroutine that does not end; what it raises at last counts no more."""
    with contextlib.suppress(BaseException):
        coroutine.close()
