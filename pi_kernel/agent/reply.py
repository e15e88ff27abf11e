"""One reply of a model: its stream as events, and every way in which it can go wrong."""

from __future__ import annotations

import asyncio
import inspect
from contextlib import AsyncExitStack
from typing import Any, Literal

from pi_kernel.agent.state import LoopState
from pi_kernel.models.stream import ModelContext, ModelEvent
from pi_kernel.protocol.content import TextContent
from pi_kernel.protocol.events import MessageStart, MessageUpdate
from pi_kernel.protocol.messages import AssistantMessage, StopReason
from pi_kernel.runtime.call import ABORT_GRACE_SECONDS

__all__ = ("ask_model", "failed_reply")

ABORTED = "Request was aborted"
CANCELLED = "The model's stream was cancelled"
NO_END = "The model's stream ended without a final message"
FAILED: tuple[Literal["error"], Literal["aborted"]] = ("error", "aborted")
"""The reason of a failure, by whether the run was asked to stop."""


async def ask_model(state: LoopState, context: ModelContext) -> AssistantMessage:
    """Stream one reply into the transcript; whatever goes wrong becomes a reply that failed.

    After an abort the model has a moment to end its stream by itself; then it is cancelled, and
    left behind when it ignores that too.
    """
    reader = _Reader(state, context)
    reading = asyncio.ensure_future(reader.read())
    aborting = asyncio.ensure_future(state.signal.wait())
    try:
        await asyncio.wait({reading, aborting}, return_when=asyncio.FIRST_COMPLETED)
        if not reading.done():
            await asyncio.wait({reading}, timeout=ABORT_GRACE_SECONDS)
        if not reading.done():
            reader.is_left = True
            reading.cancel()
            await asyncio.wait({reading}, timeout=ABORT_GRACE_SECONDS)
        final = reading.result() if reading.done() and not reading.cancelled() else None
        if reader.is_left or (final is None and state.signal.aborted):
            final = failed_reply(state, "aborted", ABORTED)
        elif final is None:
            final = failed_reply(state, "error", CANCELLED)
    finally:
        reader.is_left = True
        reading.cancel()
        reading.add_done_callback(_retrieve)
        aborting.cancel()
        state.on_streaming(None)
    if state.open_reply is None:
        await state.emit(MessageStart(final))
    state.open_reply = None
    return await state.complete(final)  # type: ignore[return-value]  # a handler keeps the role


def failed_reply(
    state: LoopState, reason: Literal["error", "aborted"], text: str
) -> AssistantMessage:
    """Return the reply that stands for a failure, with what an aborted model had said so far."""
    if state.open_reply is not None and reason == "aborted":
        return state.open_reply.model_copy(update={"stop_reason": reason, "error_message": text})
    info = getattr(state.model, "info", None)
    return AssistantMessage(
        content=[TextContent("")],
        provider=getattr(info, "provider", ""),
        model=getattr(info, "id", ""),
        stop_reason=reason,
        error_message=text,
    )


class _Reader:
    """Reads one stream; once it is left behind it tells nothing any more."""

    def __init__(self, state: LoopState, context: ModelContext) -> None:
        self._state = state
        self._context = context
        self.is_left = False

    async def read(self) -> AssistantMessage:
        state = self._state
        try:
            async with AsyncExitStack() as stack:
                stream: Any = state.model.stream(
                    self._context, signal=state.signal, options=state.options
                )
                if inspect.isawaitable(stream):
                    stream = await stream
                close = getattr(stream, "aclose", None)
                if close is not None:
                    stack.push_async_callback(close)
                async for event in stream:
                    if event.type in ("done", "error"):
                        return self._final(event)
                    await self._tell(event)
        except (KeyboardInterrupt, GeneratorExit, asyncio.CancelledError):
            raise
        except BaseException as error:  # noqa: BLE001 - a model's failure is a reply that failed
            return self._failed(str(error) or type(error).__name__)
        return self._failed(NO_END)

    def _failed(self, text: str) -> AssistantMessage:
        return failed_reply(self._state, FAILED[self._state.signal.aborted], text)

    def _final(self, event: ModelEvent) -> AssistantMessage:
        message = event.message
        if not isinstance(message, AssistantMessage):
            return self._failed(NO_END)
        reason = message.stop_reason
        if event.type == "error" and reason not in FAILED:
            reason = "aborted" if event.reason == "aborted" else "error"
        elif reason == "pending":
            reason = "toolUse" if message.tool_calls else "stop"
        return _with_reason(message, reason)

    async def _tell(self, event: ModelEvent) -> None:
        state, partial = self._state, event.partial
        if self.is_left or not isinstance(partial, AssistantMessage):
            return
        is_first = state.open_reply is None
        if is_first and event.type != "start":
            return
        state.open_reply = partial
        state.on_streaming(partial)
        if is_first:
            await state.emit(MessageStart(partial))
        elif event.type != "start" and state.host.events.wants(MessageUpdate.type):
            await state.emit(MessageUpdate(partial, event))


def _with_reason(message: AssistantMessage, reason: StopReason) -> AssistantMessage:
    if reason == message.stop_reason:
        return message
    return message.model_copy(update={"stop_reason": reason})


def _retrieve(task: asyncio.Task[AssistantMessage]) -> None:
    if not task.cancelled():
        task.exception()
