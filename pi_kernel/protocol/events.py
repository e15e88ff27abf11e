"""Events that a session emits, in order.

Slotted dataclasses instead of models: two are made for every call, and nothing needs checking.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

from pydantic.alias_generators import to_camel

from pi_kernel.protocol.calls import CallStatus, Origin
from pi_kernel.protocol.json import JsonObject, to_wire_value
from pi_kernel.protocol.messages import AssistantMessage, Message, ToolResultMessage
from pi_kernel.protocol.results import ToolResult

__all__ = (
    "AgentEnd",
    "AgentSettled",
    "AgentStart",
    "EntryAppended",
    "Event",
    "HookError",
    "MessageEnd",
    "MessageStart",
    "MessageUpdate",
    "QueueUpdate",
    "ToolExecutionEnd",
    "ToolExecutionStart",
    "ToolExecutionUpdate",
    "TurnEnd",
    "TurnStart",
)


def _now() -> float:
    return time.time() * 1000


@dataclass(slots=True)
class Event:
    """The base of all events; ``type`` names the kind."""

    type: ClassVar[str] = "event"

    def to_wire(self) -> JsonObject:
        """Return plain JSON with camelCase keys; absent fields have no key."""
        wire: JsonObject = {"type": self.type}
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None:
                wire[to_camel(item.name)] = to_wire_value(value)
        return wire


@dataclass(slots=True)
class AgentStart(Event):
    """A run began."""

    type: ClassVar[str] = "agent_start"
    timestamp: float = field(default_factory=_now)


@dataclass(slots=True)
class AgentEnd(Event):
    """A run ended; ``messages`` are all that it produced."""

    type: ClassVar[str] = "agent_end"
    messages: list[Message]
    will_retry: bool = False


@dataclass(slots=True)
class AgentSettled(Event):
    """Nothing of the run is left to do."""

    type: ClassVar[str] = "agent_settled"
    aborted: bool


@dataclass(slots=True)
class TurnStart(Event):
    """A turn (one model reply and its results) began; turns count from 0."""

    type: ClassVar[str] = "turn_start"
    turn_index: int
    timestamp: float = field(default_factory=_now)


@dataclass(slots=True)
class TurnEnd(Event):
    """A turn ended."""

    type: ClassVar[str] = "turn_end"
    message: AssistantMessage
    tool_results: list[ToolResultMessage]
    turn_index: int


@dataclass(slots=True)
class MessageStart(Event):
    """A message began."""

    type: ClassVar[str] = "message_start"
    message: Message


@dataclass(slots=True)
class MessageUpdate(Event):
    """A streaming message grew; ``message`` is the whole so far."""

    type: ClassVar[str] = "message_update"
    message: Message
    assistant_message_event: Any

    def to_wire(self) -> JsonObject:
        """Return the change alone, without the growing message."""
        change = to_wire_value(self.assistant_message_event)
        change.pop("partial", None)
        usage = getattr(self.message, "usage", None)
        wire: JsonObject = {"type": self.type, "assistantMessageEvent": change}
        if usage is not None:
            wire["usage"] = usage.to_wire()
        return wire


@dataclass(slots=True)
class MessageEnd(Event):
    """A message is complete."""

    type: ClassVar[str] = "message_end"
    message: Message


@dataclass(slots=True)
class ToolExecutionStart(Event):
    """A call entered the pipeline. ``args`` are as they were given."""

    type: ClassVar[str] = "tool_execution_start"
    tool_call_id: str
    tool_name: str
    args: JsonObject
    parent_tool_call_id: str | None = None
    origin: Origin | None = None
    cell_id: str | None = None
    timestamp: float = field(default_factory=_now)


@dataclass(slots=True)
class ToolExecutionUpdate(Event):
    """A running tool told how far it is."""

    type: ClassVar[str] = "tool_execution_update"
    tool_call_id: str
    tool_name: str
    args: JsonObject
    partial_result: ToolResult
    parent_tool_call_id: str | None = None
    timestamp: float = field(default_factory=_now)


@dataclass(slots=True)
class ToolExecutionEnd(Event):
    """A call ended. ``result`` is what hooks left; ``is_error`` is the flag that counts.

    ``args`` are as they were given; on the wire only the start tells them.
    """

    type: ClassVar[str] = "tool_execution_end"
    tool_call_id: str
    tool_name: str
    args: JsonObject
    result: ToolResult
    is_error: bool
    duration_ms: float | None = None
    parent_tool_call_id: str | None = None
    status: CallStatus | None = None
    block_reason: str | None = None
    timestamp: float = field(default_factory=_now)

    def to_wire(self) -> JsonObject:
        """Return plain JSON with camelCase keys; absent fields have no key."""
        wire = Event.to_wire(self)
        del wire["args"]
        return wire


@dataclass(slots=True)
class QueueUpdate(Event):
    """The queues of steering and follow-up messages changed; both are complete."""

    type: ClassVar[str] = "queue_update"
    steering: list[Message]
    follow_up: list[Message]


@dataclass(slots=True)
class EntryAppended(Event):
    """An entry was added to the session."""

    type: ClassVar[str] = "entry_appended"
    entry: JsonObject


@dataclass(slots=True)
class HookError(Event):
    """A handler or listener failed and was skipped; ``event`` names what it was called for."""

    type: ClassVar[str] = "hook_error"
    event: str
    error: str
    stack: str
