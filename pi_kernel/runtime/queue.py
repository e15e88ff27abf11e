"""The exclusive queue: sequential calls of one session run one after another, first come first."""

from __future__ import annotations

import asyncio
from collections import deque

__all__ = ("ExclusiveQueue",)


class ExclusiveQueue:
    """A first-in first-out lock that knows nothing of tasks, so that scopes can share it."""

    __slots__ = ("_held", "_waiters")

    def __init__(self) -> None:
        self._held = False
        self._waiters: deque[asyncio.Future[None]] = deque()

    async def take(self) -> None:
        """Wait for all earlier exclusive calls to finish."""
        if not self._held:
            self._held = True
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.append(turn)
        try:
            await turn
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self.release()  # the turn came together with the cancellation
            raise

    def release(self) -> None:
        """Give the turn to the next call."""
        while self._waiters:
            turn = self._waiters.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._held = False
