"""Run work that an abort signal can leave behind at once; blocking work in a thread."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import TypeVar, cast

import anyio
import anyio.to_thread

from pi_kernel.errors import ToolAborted
from pi_kernel.runtime.abort import AbortSignal

__all__ = ("call_operation", "run_job")

T = TypeVar("T")


async def run_job(work: Callable[[AbortSignal], T], signal: AbortSignal | None) -> T:
    """Run ``work(stop)`` in a worker thread.

    ``stop`` is set when the signal is, and when the caller is cancelled or done; then the work must
    end soon and its children must go. The thread is not waited for.

    Raises:
        ToolAborted: As soon as the signal is set.
    """
    stop = AbortSignal()

    async def in_thread() -> T:
        try:
            return await anyio.to_thread.run_sync(work, stop, abandon_on_cancel=True)
        finally:
            stop.abort()

    return await _until_aborted(in_thread, signal)


async def call_operation(function: Callable[[], T | Awaitable[T]], signal: AbortSignal | None) -> T:
    """Call an operation that the host supplied: async, or plain and then in a worker thread.

    Raises:
        ToolAborted: As soon as the signal is set.
    """

    async def call() -> T:
        found = await anyio.to_thread.run_sync(function, abandon_on_cancel=True)
        return cast("T", await found if inspect.isawaitable(found) else found)

    return await _until_aborted(call, signal)


async def _until_aborted(work: Callable[[], Awaitable[T]], signal: AbortSignal | None) -> T:
    with anyio.CancelScope() as scope:
        # The signal may be set in any thread; a cancel scope belongs to its loop.
        loop = asyncio.get_running_loop()
        unsubscribe = (
            signal.subscribe(lambda: loop.call_soon_threadsafe(scope.cancel))
            if signal is not None
            else None
        )
        try:
            return await work()
        finally:
            if unsubscribe is not None:
                unsubscribe()
    raise ToolAborted
