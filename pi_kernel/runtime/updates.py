"""Delivery of one call's partial results: in order, on the call's loop, before the call's end."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from pi_kernel.protocol.events import Event
from pi_kernel.protocol.results import ToolResult
from pi_kernel.runtime._failures import is_stop
from pi_kernel.runtime.events import EventSink

__all__ = ("OnUpdate", "UpdateDelivery")

OnUpdate = Callable[[ToolResult], object]
"""Takes a partial result, sync or async. An exception is reported and does no harm."""

LAST_WORDS_SECONDS = 0.2
"""How long the delivery to slow watchers may go on after the call was aborted."""


class UpdateDelivery:
    """Tells the caller's ``on_update`` first, then everyone who wants the event.

    Watchers that wait for something are served by a task of their own, one update at a time, so
    that the tool need not wait for them.

    Args:
        events: Where the events go.
        on_update: The caller's watcher, if there is one.
        make_event: Makes the event of a partial result.
    """

    __slots__ = (
        "_events",
        "_from_threads",
        "_is_closed",
        "_loop",
        "_make_event",
        "_on_update",
        "_pump",
        "_thread",
        "_waiting",
    )

    def __init__(
        self,
        events: EventSink,
        on_update: OnUpdate | None,
        make_event: Callable[[ToolResult], Event],
    ) -> None:
        self._events = events
        self._on_update = on_update
        self._make_event = make_event
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._pump: asyncio.Task[None] | None = None
        self._waiting: deque[ToolResult] = deque()
        self._from_threads = False
        self._is_closed = False

    def send(self, partial: ToolResult) -> None:
        """Deliver one update; may be called in any thread."""
        if threading.get_ident() == self._thread:
            self._deliver(partial)
            return
        self._from_threads = True
        try:
            self._loop.call_soon_threadsafe(self._deliver, partial)
        except RuntimeError:  # the loop is closed: nobody is left to tell
            return

    def _deliver(self, partial: ToolResult) -> None:
        if self._is_closed:
            return
        if self._pump is not None and not self._pump.done():
            self._waiting.append(partial)
            return
        waiting = self._deliver_now(partial)
        if waiting is not None:
            self._pump = asyncio.ensure_future(self._deliver_rest(waiting))

    def _deliver_now(self, partial: ToolResult) -> Awaitable[Any] | None:
        """Deliver as far as that goes without waiting; returns what must be awaited."""
        if self._on_update is not None:
            try:
                answer: Any = self._on_update(partial)
            except BaseException as error:
                if is_stop(error):
                    raise
                self._events.report("on_update", error)
            else:
                if hasattr(answer, "__await__"):
                    return self._then_emit(answer, partial)
        return self._emit(partial)

    async def _then_emit(self, answer: Awaitable[Any], partial: ToolResult) -> None:
        try:
            await answer
        except BaseException as error:
            if is_stop(error):
                raise
            self._events.report("on_update", error)
        waiting = self._emit(partial)
        if waiting is not None:
            await waiting

    def _emit(self, partial: ToolResult) -> Awaitable[Any] | None:
        if not self._events.wants("tool_execution_update"):
            return None
        return self._events.deliver(self._make_event(partial))

    async def _deliver_rest(self, first: Awaitable[Any]) -> None:
        await first
        while self._waiting:
            waiting = self._deliver_now(self._waiting.popleft())
            if waiting is not None:
                await waiting

    async def finish(self) -> None:
        """Wait until every accepted update has reached its watchers; later ones are dropped."""
        if self._from_threads:
            passed = self._loop.create_future()
            # Callbacks run in the order they were scheduled, so the earlier updates come first.
            self._loop.call_soon(passed.set_result, None)
            await passed
        if self._pump is not None:
            await self._pump
        self._is_closed = True

    async def stop(self) -> asyncio.CancelledError | None:
        """Drop what comes, and end what is being delivered: the call was aborted.

        Returns:
            A cancellation that came meanwhile, for the call to pass on.
        """
        self._is_closed = True
        cancellation = None
        pump = self._pump
        with anyio.CancelScope(shield=True):
            while pump is not None and not pump.done():
                try:
                    await asyncio.wait({pump}, timeout=LAST_WORDS_SECONDS)
                except asyncio.CancelledError as error:
                    cancellation = error
                if pump.cancelling():  # it has had its chance to stop
                    break
                pump.cancel()
        return cancellation
