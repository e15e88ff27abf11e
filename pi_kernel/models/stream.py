"""The Protocol of a model and the events of its stream."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, runtime_checkable

from pi_kernel.models.system_prompt import system_prompt
from pi_kernel.protocol.content import ToolCall
from pi_kernel.protocol.json import JsonObject, to_wire_value
from pi_kernel.protocol.messages import AssistantMessage, Message
from pi_kernel.protocol.tools import ModelInfo, ToolDeclaration
from pi_kernel.runtime.abort import AbortSignal

__all__ = ("Model", "ModelContext", "ModelEvent", "ModelEventType")

ModelEventType = Literal[
    "start",
    "text_start",
    "text_delta",
    "text_end",
    "thinking_start",
    "thinking_delta",
    "thinking_end",
    "toolcall_start",
    "toolcall_delta",
    "toolcall_end",
    "done",
    "error",
]


@dataclass(frozen=True, slots=True)
class ModelContext:
    """What a model is asked with: the messages of the request and the tools it may call."""

    messages: list[Message]
    tools: list[ToolDeclaration] = field(default_factory=list)

    @property
    def system_prompt(self) -> str:
        """The instructions that the system messages add up to."""
        return system_prompt(self.messages)


@dataclass(frozen=True, slots=True)
class ModelEvent:
    """One event of a stream.

    ``partial`` is the message so far; ``message`` is the final one, of ``done`` and ``error``.
    """

    type: ModelEventType
    partial: AssistantMessage | None = None
    content_index: int | None = None
    delta: str | None = None
    content: str | None = None
    tool_call: ToolCall | None = None
    reason: str | None = None
    message: AssistantMessage | None = None

    def to_wire(self) -> JsonObject:
        """Return the event without ``partial``."""
        names = {
            "contentIndex": self.content_index,
            "delta": self.delta,
            "content": self.content,
            "toolCall": self.tool_call,
            "reason": self.reason,
            "message": self.message,
        }
        wire: JsonObject = {"type": self.type}
        if self.type == "toolcall_start" and self.tool_call is not None:
            return wire | {
                "contentIndex": self.content_index,
                "id": self.tool_call.id,
                "toolName": self.tool_call.name,
            }
        return wire | {k: to_wire_value(v) for k, v in names.items() if v is not None}


@runtime_checkable
class Model(Protocol):
    """Answers a context with a stream of events.

    ``stream`` must not raise for a failed request: such a stream ends with an ``error`` event whose
    message is complete. It watches the signal and ends with the reason ``aborted``.
    """

    info: ModelInfo

    def stream(
        self, context: ModelContext, *, signal: AbortSignal, options: Mapping[str, Any]
    ) -> AsyncIterator[ModelEvent]:
        """Ask for one reply."""
        ...
