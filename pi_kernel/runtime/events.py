"""The ordered sink of events: handlers by name first, then listeners, each guarded."""

from __future__ import annotations

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any

from pi_kernel.protocol.events import Event, HookError
from pi_kernel.runtime._failures import is_cancellation, is_stop, message_of, shielded

__all__ = ("EventSink", "Handler", "Unsubscribe")

Handler = Callable[[Any], Any]
"""Takes one event, sync or async. An exception is reported as `HookError` and does no harm."""
Unsubscribe = Callable[[], None]

logger = logging.getLogger("pi_kernel")


class EventSink:
    """Delivers events in order to everyone who wants them.

    Handlers registered for one event type come first, then listeners, both in the order of their
    subscription. Whoever emits waits until all have been served.
    """

    def __init__(self) -> None:
        self._handlers: dict[str, list[Handler]] = {}
        self._listeners: list[Handler] = []
        self._reports: set[asyncio.Task[None]] = set()
        self._reported = HookError.type
        """The event whose handler failed last."""
        self.listened = False
        """Whether anybody could want events of calls."""
        self.has_before = False
        """Whether a ``tool_call`` handler is there."""
        self.has_after = False
        """Whether a ``tool_result`` handler is there."""

    def on(self, event_type: str, handler: Handler) -> Unsubscribe:
        """Call the handler for each event of one type."""
        return self._add(self._handlers.setdefault(event_type, []), handler)

    def subscribe(self, listener: Handler) -> Unsubscribe:
        """Call the listener for each event of any type."""
        return self._add(self._listeners, listener)

    def _add(self, handlers: list[Handler], handler: Handler) -> Unsubscribe:
        handlers.append(handler)
        self._note_changes()
        taken_back = False

        def unsubscribe() -> None:
            nonlocal taken_back
            if not taken_back:
                taken_back = True
                index = next(i for i, item in enumerate(handlers) if item is handler)
                del handlers[index]
                self._note_changes()

        return unsubscribe

    def _note_changes(self) -> None:
        # Plain attributes, because every call looks at them.
        self.has_before = bool(self._handlers.get("tool_call"))
        self.has_after = bool(self._handlers.get("tool_result"))
        self.listened = bool(self._listeners) or any(
            handlers
            for name, handlers in self._handlers.items()
            if name not in ("tool_call", "tool_result")
        )

    def wants(self, event_type: str) -> bool:
        """Whether anybody would receive an event of this type."""
        return bool(self._listeners or self._handlers.get(event_type))

    def handlers_of(self, event_type: str) -> list[Handler]:
        """Return the handlers of one type, in order."""
        return self._handlers.get(event_type) or []

    def deliver(self, event: Event) -> Coroutine[Any, Any, None] | None:
        """Deliver now as far as that goes without waiting.

        Returns:
            None when everyone has been served, else what must be awaited to go on.
        """
        return self._serve(event, (*self.handlers_of(event.type), *self._listeners))

    def _serve(
        self, event: Event, receivers: Sequence[Handler]
    ) -> Coroutine[Any, Any, None] | None:
        for index, receiver in enumerate(receivers):
            try:
                answer = receiver(event)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # noqa: BLE001 - one receiver must not harm the others
                self.report(event.type, error)
                continue
            if answer is not None and hasattr(answer, "__await__"):
                return self._go_on(event, answer, receivers[index + 1 :])
        return None

    async def _go_on(self, event: Event, first: Awaitable[Any], rest: Sequence[Handler]) -> None:
        """Wait for one receiver, then serve the rest.

        A cancellation ends the receiver that was being waited for. The others are served all the
        same, because the end of a cancelled call concerns them too; then it goes on.
        """
        cancellation: asyncio.CancelledError | None = None
        try:
            await first
        except BaseException as error:
            if is_cancellation(error):
                cancellation = error
            elif is_stop(error):
                raise
            else:  # one receiver must not harm the others
                self.report(event.type, error)
        waiting = self._serve(event, rest)
        if waiting is not None:
            with shielded(after=cancellation):
                await waiting
        if cancellation is not None:
            raise cancellation

    async def emit(self, event: Event) -> None:
        """Deliver one event and wait for everyone."""
        waiting = self.deliver(event)
        if waiting is not None:
            await waiting

    async def emit_to_listeners(self, event: Event) -> None:
        """Deliver to listeners only, when the handlers have been asked already."""
        waiting = self._serve(event, tuple(self._listeners))
        if waiting is not None:
            await waiting

    def report(self, event_type: str, error: BaseException) -> None:
        """Tell that a handler failed: as a `HookError` event, or in the log when nobody listens.

        Those who wait for something with the event are served beside what is going on.
        """
        text = message_of(error)
        if event_type != HookError.type:
            self._reported = event_type
        if event_type == HookError.type or not self.wants(HookError.type):
            # Who listens to everything fails at hearing of its own failure: name the first event.
            logger.warning("a handler of %s failed and was skipped: %s", self._reported, text)
            return
        stack = "".join(traceback.format_exception(error))
        waiting = self.deliver(HookError(event=event_type, error=text, stack=stack))
        if waiting is None:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            waiting.close()
            logger.warning("nobody could be told, without an event loop, that %s failed", text)
            return
        task = loop.create_task(waiting)
        self._reports.add(task)
        task.add_done_callback(self._reports.discard)
