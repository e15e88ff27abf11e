"""Tiny tools, models and a recording listener for tests of registry, agent and session."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from pi_kernel import ToolDefinition, ToolResult, ToolSession
from pi_kernel.models import ModelContext, ModelEvent
from pi_kernel.protocol.messages import AssistantMessage, Message, SystemMessage
from pi_kernel.protocol.tools import ModelInfo
from pi_kernel.runtime.abort import AbortSignal

ANYTHING: Mapping[str, Any] = {"type": "object"}


def make_tool(name: str, run: Callable[..., Any] | None = None, **fields: Any) -> ToolDefinition:
    """Return a tool; `run(params, ctx)` gives its result, without it the text is its name."""

    async def execute(
        _id: str, params: dict[str, Any], _signal: Any, _update: Any, ctx: Any
    ) -> Any:
        answer = ToolResult(name) if run is None else run(params, ctx)
        if hasattr(answer, "__await__"):
            answer = await answer
        return ToolResult(answer) if isinstance(answer, str) else answer

    fields = {"description": f"The tool {name}.", "parameters": ANYTHING} | fields
    return ToolDefinition(name=name, execute=execute, **fields)


def session_with(*tools: ToolDefinition, **options: Any) -> ToolSession:
    """Return a session that has only these tools."""
    return ToolSession(tools=tools, **options)


class Notes(list[Any]):
    """A list that notes an item and gives an answer, in one expression."""

    def add(self, item: Any, answer: Any = None) -> Any:
        """Append the item and return the answer."""
        self.append(item)
        return answer


class Log:
    """Every event of a session, short enough to compare."""

    def __init__(self, session: ToolSession) -> None:
        self.events: list[Any] = []
        self.stop = session.subscribe(self.events.append)

    def of(self, *types: str) -> list[Any]:
        """Return the events of some types."""
        return [event for event in self.events if event.type in types]

    def kinds(self, *left_out: str) -> list[str]:
        """Return the types in order, less some."""
        return [event.type for event in self.events if event.type not in left_out]

    def steps(self) -> list[str]:
        """Return the order of calls and messages: `s`, `u`, `e` and an id, or `m` and a role."""
        marks = {
            "tool_execution_start": "s",
            "tool_execution_update": "u",
            "tool_execution_end": "e",
        }
        steps = []
        for event in self.events:
            if event.type in marks:
                steps.append(f"{marks[event.type]} {event.tool_call_id}")
            elif event.type == "message_end":
                steps.append(f"m {getattr(event.message, 'tool_call_id', event.message.role)}")
            elif event.type in ("turn_start", "turn_end", "agent_start", "agent_end"):
                steps.append(event.type)
        return steps

    def errors(self) -> list[tuple[str, str]]:
        """Return what was reported: the event and the text."""
        return [(event.event, event.error) for event in self.of("hook_error")]


def texts(messages: Sequence[Message]) -> list[str]:
    """Return one line a message: its role and its text, or the tools that it declares."""
    return [_line(message) for message in messages]


def _line(message: Message) -> str:
    if isinstance(message, SystemMessage):
        added = ["+" + tool.name for tool in message.tools_added or ()]
        removed = ["-" + tool["name"] for tool in message.tools_removed or ()]
        return " ".join(["system", *removed, *added])
    content = message.content
    text = content if isinstance(content, str) else "".join(getattr(b, "text", "") for b in content)
    calls = [f"<{call.name}>" for call in getattr(message, "tool_calls", ())]
    return " ".join([message.role, *filter(None, [text]), *calls])


class StreamModel:
    """A model that is one async generator function of context and signal."""

    def __init__(
        self, stream: Callable[[ModelContext, AbortSignal], AsyncIterator[ModelEvent]]
    ) -> None:
        self.info = ModelInfo("test", "stream")
        self._stream = stream
        self.contexts: list[ModelContext] = []

    def stream(
        self, context: ModelContext, *, signal: AbortSignal, options: Mapping[str, Any]
    ) -> AsyncIterator[ModelEvent]:
        """Ask for one reply."""
        del options
        self.contexts.append(context)
        return self._stream(context, signal)


def reply(*blocks: Any, stop_reason: Any = "stop", **fields: Any) -> AssistantMessage:
    """Return a reply of these blocks."""
    return AssistantMessage(content=list(blocks), stop_reason=stop_reason, **fields)
