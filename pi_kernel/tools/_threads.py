"""Waiting for a tool's I/O in the two ways that tools need.

`until_aborted` gives up at once when the call is asked to stop. `settled` never gives up: what it
started has ended when it returns, cancelled or not. Each has a form for blocking functions, which
run in a worker thread.
"""

from __future__ import annotations

import asyncio  # anyio cannot wake a loop from a callback, nor outlast a task's own cancel()
from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from pi_kernel.errors import ToolAborted
from pi_kernel.runtime.abort import AbortSignal

__all__ = ("StopCheck", "run_abortable", "run_settled", "settled", "until_aborted")

T = TypeVar("T")

StopCheck = Callable[[], None]
"""Raises `ToolAborted` when the work is no longer wanted; for loops in a worker thread."""


async def until_aborted(work: Callable[[], Awaitable[T]], signal: AbortSignal | None) -> T:
    """Await ``work()`` until it ends or the signal is set.

    Raises:
        ToolAborted: As soon as the signal is set; the work is cancelled.
    """
    if signal is None:
        return await work()
    signal.throw_if_aborted()
    loop = asyncio.get_running_loop()
    with anyio.CancelScope() as scope:
        unsubscribe = signal.subscribe(lambda: loop.call_soon_threadsafe(scope.cancel))
        try:
            return await work()
        finally:
            unsubscribe()
    raise ToolAborted


async def run_abortable(function: Callable[[StopCheck], T], signal: AbortSignal | None) -> T:
    """Run ``function(check_stop)`` in a worker thread until it ends or the signal is set.

    Raises:
        ToolAborted: As soon as the signal is set. The abandoned thread ends at its next check.
    """
    is_abandoned = False

    def check_stop() -> None:
        if is_abandoned:
            raise ToolAborted

    try:
        return await until_aborted(
            lambda: anyio.to_thread.run_sync(function, check_stop, abandon_on_cancel=True), signal
        )
    finally:
        is_abandoned = True


async def settled(work: Callable[[], Awaitable[T]]) -> T:
    """Await ``work()`` and return only after it has ended.

    A cancellation that comes meanwhile is delivered afterwards.
    """
    task = asyncio.ensure_future(work())
    cancelled: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not task.done():
            try:
                await asyncio.wait((task,))
            except asyncio.CancelledError as error:
                cancelled = error
    if cancelled is not None:
        task.exception()  # read, so that nobody reports it: the cancellation counts more
        raise cancelled
    if task.exception() is None:
        await anyio.lowlevel.checkpoint_if_cancelled()
    return task.result()


async def run_settled(function: Callable[[], T]) -> T:
    """Run ``function`` in a worker thread and return only after it has ended."""
    return await settled(lambda: anyio.to_thread.run_sync(function))
