"""Messages of a transcript."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter

from pi_kernel.protocol.calls import NestedToolCalls
from pi_kernel.protocol.content import AssistantContent, ResultContent, TextContent, ToolCall
from pi_kernel.protocol.json import WireModel
from pi_kernel.protocol.tools import ToolDeclaration
from pi_kernel.protocol.usage import Usage

__all__ = (
    "AssistantMessage",
    "CustomMessage",
    "Message",
    "StopReason",
    "SystemMessage",
    "ToolResultMessage",
    "UserMessage",
    "message_from_wire",
    "now_ms",
    "user_message",
)

StopReason = Literal["pending", "stop", "length", "toolUse", "error", "aborted", "deferred"]


def now_ms() -> int:
    """Return Unix time in milliseconds."""
    return time.time_ns() // 1_000_000


class SystemMessage(WireModel):
    """Instructions, prompt sections by name (null deletes one), changes of the declared tools."""

    role: Literal["system"] = "system"
    content: str | list[TextContent] = ""
    sections: dict[str, str | None] | None = None
    tools_added: list[ToolDeclaration] | None = None
    tools_removed: list[dict[str, str]] | None = None
    timestamp: int = Field(default_factory=now_ms)


class UserMessage(WireModel):
    """What the person said."""

    role: Literal["user"] = "user"
    content: str | list[ResultContent]
    timestamp: int = Field(default_factory=now_ms)


class AssistantMessage(WireModel):
    """One reply of a model."""

    role: Literal["assistant"] = "assistant"
    content: list[AssistantContent] = Field(default_factory=list)
    api: str = ""
    provider: str = ""
    model: str = ""
    response_model: str | None = None
    response_id: str | None = None
    thinking_level: str | None = None
    usage: Usage = Field(default_factory=Usage)
    stop_reason: StopReason = "stop"
    error_message: str | None = None
    raw_stop_reason: str | None = None
    end_turn: bool | None = None
    timestamp: int = Field(default_factory=now_ms)
    duration_ms: int | None = None

    @property
    def text(self) -> str:
        """The text blocks joined by newlines."""
        return "\n".join(block.text for block in self.content if isinstance(block, TextContent))

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The tool calls in source order."""
        return [block for block in self.content if isinstance(block, ToolCall)]


class ToolResultMessage(WireModel):
    """What a model is told about one of its calls."""

    role: Literal["toolResult"] = "toolResult"
    tool_call_id: str
    tool_name: str
    content: list[ResultContent] = Field(default_factory=list)
    details: Any = None
    usage: Usage | None = None
    nested_calls: NestedToolCalls | None = None
    is_error: bool = False
    duration_ms: int | None = None
    timestamp: int = Field(default_factory=now_ms)


class CustomMessage(WireModel):
    """A message of the application; a user message at the model's boundary."""

    role: Literal["custom"] = "custom"
    custom_type: str
    content: str | list[ResultContent] = ""
    display: bool = True
    details: Any = None
    timestamp: int = Field(default_factory=now_ms)


Message = Annotated[
    SystemMessage | UserMessage | AssistantMessage | ToolResultMessage | CustomMessage,
    Field(discriminator="role"),
]


def message_from_wire(wire: Mapping[str, Any]) -> Message:
    """Read a message by its role.

    Raises:
        ValueError: If the role is unknown or a field does not fit.
    """
    return TypeAdapter[Message](Message).validate_python(wire)


def user_message(content: Any) -> UserMessage:
    """Make a user message of a text, a block, a list of blocks, or a user message."""
    if isinstance(content, UserMessage):
        return content
    if isinstance(content, str):
        return UserMessage(content=content)
    blocks: list[Any] = [*content] if isinstance(content, list | tuple) else [content]
    return UserMessage(content=[TextContent(b) if isinstance(b, str) else b for b in blocks])
