"""`ScriptedModel`: replies written in Python, for lessons and tests, without a network."""

from __future__ import annotations

import inspect
import json
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pi_kernel.errors import PiKernelError
from pi_kernel.models.stream import ModelContext, ModelEvent, ModelEventType
from pi_kernel.protocol.content import TextContent, ThinkingContent, ToolCall
from pi_kernel.protocol.messages import AssistantMessage, StopReason
from pi_kernel.protocol.tools import ModelInfo
from pi_kernel.protocol.usage import Usage
from pi_kernel.runtime.abort import AbortSignal

__all__ = ("ScriptedModel", "Turn", "call", "say", "stream_message", "think", "turn")

DELTA_CHARS = 24
"""Texts stream in pieces of this many characters."""
STREAMED: dict[str, tuple[ModelEventType, ModelEventType, ModelEventType]] = {
    "text": ("text_start", "text_delta", "text_end"),
    "thinking": ("thinking_start", "thinking_delta", "thinking_end"),
}


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply: its blocks, why it stopped and what it used."""

    blocks: tuple[TextContent | ThinkingContent | ToolCall, ...]
    stop_reason: StopReason | None = None
    usage: Usage | None = None
    error_message: str | None = None


def say(text: str) -> Turn:
    """Reply with a text."""
    return Turn((TextContent(text),))


def think(text: str) -> Turn:
    """Reason; as a part of a `turn`."""
    return Turn((ThinkingContent(thinking=text),))


def call(
    name: str,
    /,
    arguments: Mapping[str, Any] | None = None,
    *,
    id: str | None = None,  # noqa: A002 - the field's name
    **more: Any,
) -> Turn:
    """Call a tool.

    Args:
        name: The tool's name.
        arguments: One mapping, for names that are no keywords; merged with ``more``.
        id: The call's id; ``call_<n>``, counted by the model, when None.
        **more: Arguments by keyword.
    """
    return Turn((ToolCall(id=id or "", name=name, arguments={**(arguments or {}), **more}),))


def turn(
    *parts: Turn | str,
    stop_reason: StopReason | None = None,
    usage: Usage | None = None,
    error_message: str | None = None,
) -> Turn:
    """Put several parts into one reply.

    Args:
        *parts: What `say`, `think` and `call` give; a text counts as said.
        stop_reason: ``toolUse`` with calls, else ``stop``, when None.
        usage: What the reply is said to have used.
        error_message: Why the reply failed, with the stop reason ``error``.
    """
    blocks = tuple(
        block
        for part in parts
        for block in ((TextContent(part),) if isinstance(part, str) else part.blocks)
    )
    return Turn(blocks, stop_reason, usage, error_message)


Step = Turn | str | Callable[[ModelContext], Any]


class ScriptedModel:
    """Plays its turns one after another; ids are deterministic.

    Args:
        turns: `Turn` values, texts, or functions (sync or async) of the context that return one.
            A context's ``messages`` hold what the model would read.
        model_id: The name in messages and traces.

    Raises:
        PiKernelError: If the turns are no list, but one turn, one text or something else.

    Example:
        >>> model = ScriptedModel([call("read", path="notes.md"), say("Done.")])
    """

    def __init__(self, turns: Iterable[Step], *, model_id: str = "scripted") -> None:
        self.info = ModelInfo("scripted", model_id)
        given: Any = turns
        if isinstance(given, Turn | str) or not isinstance(given, Iterable):
            raise PiKernelError(
                "ScriptedModel() takes a list of turns, such as"
                f" [say('Done.')], got {type(given).__name__}"
            )
        self._turns = list(turns)
        self._next = 0
        self._calls = 0
        self.contexts: list[ModelContext] = []
        """Every context that the model was asked with."""

    async def stream(
        self,
        context: ModelContext,
        *,
        signal: AbortSignal,
        options: Mapping[str, Any],  # noqa: ARG002 - the Protocol's
    ) -> AsyncIterator[ModelEvent]:
        """Play the next turn."""
        self.contexts.append(context)
        if signal.aborted:
            yield self._failed("aborted", "Request was aborted")
            return
        if self._next >= len(self._turns):
            text = f"The script of {len(self._turns)} turns has ended; add a turn for this request"
            yield self._failed("error", text)
            return
        step = self._turns[self._next]
        self._next += 1
        try:
            played = await self._read(step, context)
        except Exception as error:  # noqa: BLE001 - a stream must not raise
            yield self._failed("error", str(error) or type(error).__name__)
            return
        message = self._message(played)
        async for event in stream_message(message, signal):
            yield event

    async def _read(self, step: Step, context: ModelContext) -> Turn:
        if callable(step) and not isinstance(step, Turn):
            answer = step(context)
            step = await answer if inspect.isawaitable(answer) else answer
        if isinstance(step, str):
            return say(step)
        if not isinstance(step, Turn):
            raise PiKernelError(f"a scripted turn must be say(), call() or turn(), got {step!r}")
        return step

    def _message(self, played: Turn) -> AssistantMessage:
        blocks = []
        for block in played.blocks:
            if isinstance(block, ToolCall) and not block.id:
                self._calls += 1
                block = block.model_copy(update={"id": f"call_{self._calls}"})  # noqa: PLW2901
            blocks.append(block)
        has_calls = any(isinstance(block, ToolCall) for block in blocks)
        return AssistantMessage(
            content=blocks,
            api="scripted",
            provider=self.info.provider,
            model=self.info.id,
            stop_reason=played.stop_reason or ("toolUse" if has_calls else "stop"),
            usage=played.usage or Usage(),
            error_message=played.error_message,
        )

    def _failed(self, reason: StopReason, text: str) -> ModelEvent:
        message = AssistantMessage(
            content=[TextContent("")],
            api="scripted",
            provider=self.info.provider,
            model=self.info.id,
            stop_reason=reason,
            error_message=text,
        )
        return ModelEvent("error", reason=reason, message=message)

    def __repr__(self) -> str:
        return f"ScriptedModel({len(self._turns)} turns, next {self._next})"


async def stream_message(
    message: AssistantMessage, signal: AbortSignal
) -> AsyncIterator[ModelEvent]:
    """Play a finished message as the events of a stream."""
    pending = {"stop_reason": "pending"}
    partial = message.model_copy(update={"content": [], **pending})
    yield ModelEvent("start", partial=partial)
    done: list[Any] = []
    for index, block in enumerate(message.content):
        async for event in _stream_block(message, done, index, block):
            if signal.aborted:
                cut = event.partial or partial
                cut = cut.model_copy(
                    update={"stop_reason": "aborted", "error_message": "Request was aborted"}
                )
                yield ModelEvent("error", reason="aborted", message=cut)
                return
            yield event
        done.append(block)
    if message.stop_reason in ("error", "aborted"):
        yield ModelEvent("error", reason=message.stop_reason, message=message)
    else:
        yield ModelEvent("done", reason=message.stop_reason, message=message)


async def _stream_block(
    message: AssistantMessage, done: list[Any], index: int, block: Any
) -> AsyncIterator[ModelEvent]:
    def partial(*tail: Any) -> AssistantMessage:
        return message.model_copy(update={"content": [*done, *tail], "stop_reason": "pending"})

    if isinstance(block, ToolCall):
        opened = block.model_copy(update={"arguments": {}})
        yield ModelEvent(
            "toolcall_start", partial=partial(opened), content_index=index, tool_call=opened
        )
        for delta in _pieces(json.dumps(block.arguments, ensure_ascii=False, default=str)):
            yield ModelEvent(
                "toolcall_delta", partial=partial(opened), content_index=index, delta=delta
            )
        yield ModelEvent(
            "toolcall_end", partial=partial(block), content_index=index, tool_call=block
        )
        return
    kind = "thinking" if isinstance(block, ThinkingContent) else "text"
    started, grew, ended = STREAMED[kind]
    text: str = getattr(block, kind, "")
    yield ModelEvent(
        started, partial=partial(block.model_copy(update={kind: ""})), content_index=index
    )
    shown = ""
    for delta in _pieces(text):
        shown += delta
        yield ModelEvent(
            grew,
            partial=partial(block.model_copy(update={kind: shown})),
            content_index=index,
            delta=delta,
        )
    yield ModelEvent(ended, partial=partial(block), content_index=index, content=text)


def _pieces(text: str) -> list[str]:
    """Cut a text into the pieces that stream."""
    return [text[start : start + DELTA_CHARS] for start in range(0, len(text), DELTA_CHARS)]
