"""Show growing output while a command runs: often enough to follow, seldom enough to be free."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable

__all__ = ("ThrottledUpdates",)

UPDATE_INTERVAL_SECONDS = 0.1


class ThrottledUpdates:
    """Calls a function soon after the last of many notes, at most once an interval.

    Belongs to the running event loop: calls are made there, notes may come from any thread.

    Args:
        emit: Shows what there is now.
    """

    def __init__(self, emit: Callable[[], None]) -> None:
        self._emit = emit
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._is_pending = False
        self._is_closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._emitted_at: float | None = None

    def note(self) -> None:
        """Say that there is something new."""
        with self._lock:
            if self._is_pending:
                return
            self._is_pending = True
        with contextlib.suppress(RuntimeError):  # the loop was closed under a running command
            self._loop.call_soon_threadsafe(self._schedule)

    def flush(self) -> None:
        """Emit what is pending now."""
        self._cancel_timer()
        with self._lock:
            is_pending, self._is_pending = self._is_pending, False
        if is_pending:
            self._emitted_at = self._loop.time()
            self._emit()

    def close(self) -> None:
        """Emit nothing any more."""
        self._is_closed = True
        self._cancel_timer()

    def _schedule(self) -> None:
        if self._is_closed:
            return
        wait = 0.0
        if self._emitted_at is not None:
            wait = self._emitted_at + UPDATE_INTERVAL_SECONDS - self._loop.time()
        if wait <= 0:
            self.flush()
        else:
            self._timer = self._loop.call_later(wait, self.flush)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
