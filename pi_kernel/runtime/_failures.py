"""What an exception of other people's code is: a request to stop, or a failure with a text.

Also how the ends of cancelled calls are told nevertheless.
"""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager, nullcontext
from typing import TypeGuard

import anyio

__all__ = ("is_cancellation", "is_stop", "message_of", "shielded")

_NO_SHIELD = nullcontext()
"""Shared, because a scope for each call of a batch would take longer than many a call."""


def is_cancellation(error: BaseException) -> TypeGuard[asyncio.CancelledError]:
    """Whether an exception is a cancellation that somebody sent to the running task.

    A CancelledError that nobody sent is a failure, such as of code that awaits a task of its own
    which was cancelled.
    """
    if not isinstance(error, asyncio.CancelledError):
        return False
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def is_stop(error: BaseException) -> bool:
    """Whether an exception must pass: a cancellation, an interrupt, or the end of the loop."""
    return isinstance(error, KeyboardInterrupt | GeneratorExit) or is_cancellation(error)


def message_of(error: BaseException) -> str:
    """Return what is read of an exception: its text, or the class name when there is none."""
    try:
        return str(error) or type(error).__name__
    except Exception:  # noqa: BLE001 - its text is other people's code too
        return type(error).__name__


def shielded(*, after: BaseException | None) -> AbstractContextManager[object]:
    """Keep the cancelled scope around from cancelling what is still to be told.

    Args:
        after: The cancellation that has come; None: nothing to keep away.
    """
    return _NO_SHIELD if after is None else anyio.CancelScope(shield=True)
