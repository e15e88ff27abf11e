"""`LoopState`: what one run works on, and how a message gets into the transcript."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

import anyio

from pi_kernel.agent.caller import RunCaller
from pi_kernel.agent.queues import MessageQueue
from pi_kernel.agent.request import Request
from pi_kernel.models.stream import Model
from pi_kernel.protocol.events import Event, MessageEnd, MessageStart, QueueUpdate
from pi_kernel.protocol.messages import (
    AssistantMessage,
    Message,
    ToolResultMessage,
    message_from_wire,
)
from pi_kernel.registry.host import ToolHost
from pi_kernel.runtime.abort import AbortSignal

__all__ = ("Decision", "FinishTurn", "LoopState")

Decision = Literal["end", "continue"]
FinishTurn = Callable[
    [AssistantMessage, list[ToolResultMessage]], "Decision | Awaitable[Decision | None] | None"
]
"""Asked after each turn: ``end`` ends the run, ``continue`` asks once more, None does neither."""

T = TypeVar("T")

HANDLER_GRACE_SECONDS = 1.0
"""How long the handlers of an event may take once the run was asked to stop."""
OTHER_ROLE = "message_end handlers must return a message with the same role"


@dataclass
class LoopState:
    """What one run works on. Every effect goes through the host's sink of events.

    Attributes:
        host: Runs the calls.
        messages: The transcript; the run appends to it.
        model: Who answers.
        signal: Asks the run to stop.
        caller: Who the model's calls belong to.
        steering: Messages that go in after the current batch.
        follow_up: Messages that wait until nothing else is left to do.
        max_turns: How many replies at most; None is no limit.
        options: What the model's ``stream`` gets.
        finish_turn: Asked after each turn.
        queues_told: Waits until everybody knows of what has been queued.
        on_streaming: Told the reply so far, None at its end.
        append: Told of each message once it is complete, after everyone else.
        produced: What this run appended.
        turns: How many replies there were.
        request: Makes the messages that the model gets.
        open_reply: A reply that has started and not ended.
        has_ended: Whether the end of the run has been told.
    """

    host: ToolHost
    messages: list[Message]
    model: Model
    signal: AbortSignal
    caller: RunCaller
    steering: MessageQueue
    follow_up: MessageQueue
    max_turns: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    finish_turn: FinishTurn | None = None
    queues_told: Callable[[], Awaitable[None]] | None = None
    on_streaming: Callable[[AssistantMessage | None], None] = lambda _message: None
    append: Callable[[Message], None] | None = None
    produced: list[Message] = field(default_factory=list)
    turns: int = 0
    request: Request = field(default_factory=Request)
    open_reply: AssistantMessage | None = None
    has_ended: bool = False

    async def emit(self, event: Event) -> None:
        """Tell of an event."""
        waiting = self.host.events.deliver(event)
        if waiting is not None:
            await self._or_abort(event.type, waiting)

    async def _or_abort(self, event_type: str, waiting: Awaitable[T]) -> T | None:
        """Wait for handlers; one that hangs is reported and left a moment after an abort."""
        loop = asyncio.get_running_loop()
        with anyio.CancelScope() as scope:

            def hurry() -> None:
                scope.deadline = loop.time() + HANDLER_GRACE_SECONDS

            unsubscribe = self.signal.subscribe(lambda: loop.call_soon_threadsafe(hurry))
            try:
                return await waiting
            finally:
                unsubscribe()
        self.host.events.report(event_type, TimeoutError("a handler did not end after an abort"))
        return None

    async def drain(self, queue: MessageQueue) -> list[Message]:
        """Take what one drain point gets, and tell of it."""
        taken = queue.drain()
        if taken:
            if self.queues_told is not None:
                await self.queues_told()
            await self.emit(QueueUpdate(self.steering.peek(), self.follow_up.peek()))
        return taken

    async def add(self, message: Message) -> Message:
        """Append a message to the transcript, with its events; a handler may replace it."""
        await self.emit(MessageStart(message))
        return await self.complete(message)

    async def complete(self, message: Message) -> Message:
        """Append a message whose start has been told; a handler may replace it."""
        place, place_in_run = len(self.messages), len(self.produced)
        self.messages.append(message)
        self.produced.append(message)
        replaced = await self._ask_handlers(message)
        if replaced is not message:
            self.messages[place] = self.produced[place_in_run] = replaced
        await self._or_abort(
            MessageEnd.type, self.host.events.emit_to_listeners(MessageEnd(replaced))
        )
        if self.append is not None:
            self.append(replaced)
        return replaced

    async def _ask_handlers(self, message: Message) -> Message:
        events = self.host.events
        for handler in list(events.handlers_of(MessageEnd.type)):
            try:
                answer = handler(MessageEnd(message))
                if inspect.isawaitable(answer):
                    answer = await self._or_abort(MessageEnd.type, answer)
                message = _replacement(answer, message)
            except (KeyboardInterrupt, GeneratorExit, asyncio.CancelledError):
                raise
            except BaseException as error:  # noqa: BLE001 - a handler must not harm the run
                events.report(MessageEnd.type, error)
        return message


def _replacement(answer: Any, message: Message) -> Message:
    """Read a handler's answer: None, a message, its wire form, or a dict with ``message``."""
    if isinstance(answer, Mapping) and "role" not in answer:
        answer = answer.get("message")
    if answer is None:
        return message
    if isinstance(answer, Mapping) and answer.get("role") == message.role:
        return message_from_wire(answer)
    if not isinstance(answer, type(message)):
        raise TypeError(OTHER_ROLE)
    return answer
