"""Run blocking work in a thread that an abort signal leaves behind at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._threads import until_aborted

__all__ = ("run_job",)

T = TypeVar("T")


async def run_job(work: Callable[[AbortSignal], T], signal: AbortSignal | None) -> T:
    """Run ``work(stop)`` in a worker thread.

    ``stop`` is set when the signal is, and when the caller is cancelled or done; then the work must
    end soon and its children must go. The thread is not waited for.

    Raises:
        ToolAborted: As soon as the signal is set.
    """
    stop = AbortSignal()
    try:
        return await until_aborted(
            lambda: anyio.to_thread.run_sync(work, stop, abandon_on_cancel=True), signal
        )
    finally:
        stop.abort()
