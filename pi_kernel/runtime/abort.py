"""`AbortSignal`: a request to stop that any thread may make and any code may watch."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

from pi_kernel.errors import PiKernelError, ToolAborted

__all__ = ("AbortSignal",)

logger = logging.getLogger("pi_kernel")


class AbortSignal:
    """A request to stop, with a reason; set once, never unset.

    Example:
        >>> signal = AbortSignal()
        >>> unsubscribe = signal.subscribe(lambda: print("stopping:", signal.reason))
        >>> signal.abort("enough")
        stopping: enough
    """

    __slots__ = ("_aborted", "_callbacks", "_followers", "_reason", "owner")

    _shared_lock = threading.RLock()  # a signal handler may abort while the lock is held

    def __init__(self) -> None:
        self._aborted = False
        self._reason: Any = None
        self._callbacks: dict[object, Callable[[], object]] | None = None
        self._followers: dict[AbortSignal, None] | None = None
        self.owner: Callable[[], object] | None = None
        """One callback of the runtime's own, kept apart because every call has one."""

    @property
    def aborted(self) -> bool:
        """Whether somebody asked to stop."""
        return self._aborted

    @property
    def reason(self) -> Any:
        """What `abort` was given, or None."""
        return self._reason

    def abort(self, reason: Any = None) -> None:
        """Ask to stop. The first call counts; callbacks run in the calling thread.

        A callback that raises is logged.
        """
        with self._shared_lock:
            if self._aborted:
                return
            self._reason = reason
            self._aborted = True
            callbacks, self._callbacks = self._callbacks, None
            followers, self._followers = self._followers, None
        for follower in list(followers or ()):
            follower.abort(reason)
        if self.owner is not None:
            self.owner()
        for callback in (callbacks or {}).values():
            try:
                callback()
            except Exception:  # whoever else watches must hear of the abort too
                logger.exception("a callback of an abort signal failed")

    def subscribe(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call ``callback`` when the signal is set, at once if it is set already.

        Returns:
            A function that takes the subscription back.
        """
        key = object()
        with self._shared_lock:
            late = self._aborted
            if not late:
                if self._callbacks is None:
                    self._callbacks = {}
                self._callbacks[key] = callback
        if late:
            callback()

        def unsubscribe() -> None:
            with self._shared_lock:
                if self._callbacks is not None:
                    self._callbacks.pop(key, None)

        return unsubscribe

    def throw_if_aborted(self) -> None:
        """Raise `ToolAborted` when the signal is set."""
        if self._aborted:
            raise ToolAborted

    async def wait(self) -> None:
        """Return once the signal is set; it may be set from any thread."""
        if self._aborted:
            return
        loop = asyncio.get_running_loop()
        done = loop.create_future()

        def settle() -> None:
            if not done.done():
                done.set_result(None)

        unsubscribe = self.subscribe(lambda: loop.call_soon_threadsafe(settle))
        try:
            await done
        finally:
            unsubscribe()

    @classmethod
    def any(cls, *signals: AbortSignal | None) -> AbortSignal:
        """Return a signal that is set as soon as one of the given ones is; None is left out."""
        combined = cls()
        for signal in signals:
            if signal is not None:
                if not isinstance(signal, AbortSignal):
                    raise PiKernelError(
                        f"AbortSignal.any() takes signals, got {type(signal).__name__}"
                    )
                combined.follow(signal)
        return combined

    @classmethod
    def timeout(cls, seconds: float) -> AbortSignal:
        """Return a signal that sets itself after ``seconds``."""
        given: Any = seconds
        if not isinstance(given, int | float) or not 0 <= seconds <= threading.TIMEOUT_MAX:
            raise PiKernelError(
                f"AbortSignal.timeout() takes a number of seconds from 0, got {seconds!r}"
            )
        signal = cls()
        timer = threading.Timer(seconds, signal.abort, args=("timeout",))
        timer.daemon = True
        timer.start()
        return signal

    def follow(self, parent: AbortSignal) -> None:
        """Set this signal when the parent is set, until `unfollow`."""
        followers = parent._followers
        if followers is None:
            followers = parent._followers = {}
        followers[self] = None
        if parent._aborted:  # also when it was set between the lines above
            self.abort(parent._reason)

    def unfollow(self, parent: AbortSignal) -> None:
        """Take `follow` back."""
        followers = parent._followers
        if followers is not None:
            followers.pop(self, None)

    def __repr__(self) -> str:
        return f"AbortSignal(aborted={self._aborted}, reason={self._reason!r})"
