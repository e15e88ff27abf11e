"""`ToolOutcome`: what one call gave, after hooks."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pi_kernel.protocol.calls import CallStatus, NestedToolCalls
from pi_kernel.protocol.content import ImageContent, TextContent, ToolCall
from pi_kernel.protocol.json import JsonObject, to_wire_value
from pi_kernel.protocol.messages import ToolResultMessage
from pi_kernel.protocol.results import ABSENT, ToolResult, text_of
from pi_kernel.protocol.usage import Usage, add_usage
from pi_kernel.runtime.records import EMPTY_SNAPSHOT, NestedSnapshot, round_half_up

if TYPE_CHECKING:
    from pi_kernel.runtime.call import Call

__all__ = ("ToolOutcome",)


class ToolOutcome:
    """What one call gave. It renders itself: rich in a notebook, one line in a terminal."""

    __slots__ = ("_call", "_nested", "_usage")

    render: Callable[[ToolOutcome], dict[str, Any]] | None = None
    """Makes the MIME bundle of a notebook; set by the rendering layer."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._nested: NestedSnapshot | None = None
        self._usage: Usage | None = None

    def take_record(self) -> ToolOutcome:
        """Freeze nested calls and usage as they are now; later ends change nothing."""
        recorder = self._call.recorder
        if self._nested is None and recorder is not None:
            self._nested = recorder.snapshot()
            self._usage = add_usage(self._call.result.usage, recorder.usage)
        return self

    @property
    def call(self) -> Call:
        """The runtime's own record of the call."""
        return self._call

    @property
    def id(self) -> str:
        """The id of the call."""
        return self._call.id

    @property
    def parent_tool_call_id(self) -> str | None:
        """The id of the calling tool call or cell; None at a root."""
        return self._call.parent_id

    @property
    def tool_name(self) -> str:
        """The name as called."""
        return self._call.name

    @property
    def args(self) -> JsonObject:
        """The arguments as they were given, before coercion, as plain JSON."""
        return self._call.raw

    @property
    def tool_call(self) -> ToolCall:
        """The request as a content block; arguments that are no JSON object are left out."""
        call = self._call
        return call.message or ToolCall(id=call.id, name=call.name, arguments=call.raw)

    @property
    def result(self) -> ToolResult:
        """The result after hooks; its own ``is_error`` is what the tool said."""
        return self._call.result

    @property
    def status(self) -> CallStatus:
        """How the call ended."""
        return self._call.status or "unfinished"

    @property
    def is_error(self) -> bool:
        """Whether the model is told that the call failed."""
        return self._call.is_error

    @property
    def content(self) -> list[TextContent | ImageContent]:
        """The blocks that the model sees."""
        return self._call.result.content

    @property
    def text(self) -> str:
        """The text blocks joined by newlines."""
        return text_of(self._call.result.content)

    @property
    def details(self) -> Any:
        """Data for people and logs, or None."""
        return self._call.result.details

    @property
    def structured_content(self) -> Any:
        """The JSON value for programs, or None."""
        return self._call.result.structured_content

    @property
    def has_structured_content(self) -> bool:
        """Whether there is structured content; a present null counts."""
        return self._call.result.has_structured_content

    @property
    def value(self) -> Any:
        """The live object, else structured content, else the text, else the first image."""
        result = self._call.result
        if result.value is not ABSENT:
            return result.value
        if result.has_structured_content:
            return result.structured_content
        text = self.text
        if text or not result.content:
            return text
        return result.content[0]

    @property
    def terminate(self) -> bool | None:
        """The vote to end the agent's run after this batch."""
        return self._call.result.terminate

    @property
    def duration_ms(self) -> float | None:
        """Milliseconds that execute took; None when it did not run."""
        return self._call.duration_ms

    @property
    def nested_calls(self) -> NestedToolCalls:
        """The bounded record of the calls made below this one."""
        return (self._nested or EMPTY_SNAPSHOT).record()

    @property
    def usage(self) -> Usage | None:
        """Model work of the tool and of everything that it called; None when there was none."""
        return self._call.result.usage if self._nested is None else self._usage

    @property
    def error(self) -> BaseException | None:
        """The exception behind a failure, in this process only."""
        return self._call.error

    async def undo(self) -> str:
        """Take back what this call did to files; returns a line that says what was restored.

        Raises:
            PiKernelError: If there is nothing to take back, or the file has changed since.
        """
        undo = importlib.import_module("pi_kernel.tools._undo")  # a layer above this one
        answer: str = await undo.undo_call(self._call)
        return answer

    def to_message(self) -> ToolResultMessage:
        """Return what the transcript stores; structured content is not part of it."""
        nested = self._nested or EMPTY_SNAPSHOT
        duration_ms = self.duration_ms
        return ToolResultMessage(
            tool_call_id=self.id,
            tool_name=self.tool_name,
            content=self.content,
            details=self.details,
            usage=self.usage,
            nested_calls=None if nested.is_empty else nested.record(),
            is_error=self.is_error,
            duration_ms=None if duration_ms is None else round_half_up(duration_ms),
        )

    def to_wire(self) -> JsonObject:
        """Return plain JSON with camelCase keys; absent fields have no key."""
        wire: JsonObject = {"toolCallId": self.id, "toolName": self.tool_name}
        if self.parent_tool_call_id is not None:
            wire["parentToolCallId"] = self.parent_tool_call_id
        wire["status"] = self.status
        wire |= self.result.to_wire()
        wire["isError"] = self.is_error
        if self.duration_ms is not None:
            wire["durationMs"] = self.duration_ms
        if self.usage is not None:
            wire["usage"] = self.usage.to_wire()
        if self._nested is not None and not self._nested.is_empty:
            wire["nestedCalls"] = to_wire_value(self.nested_calls)
        return wire

    def __repr__(self) -> str:
        first, *more = self.text.split("\n", 1)
        text = first if len(first) <= MAX_REPR_CHARS else first[: MAX_REPR_CHARS - 1] + "…"
        if more and more[0]:
            text += " …"
        time = "did not run" if self.duration_ms is None else f"{self.duration_ms:.1f} ms"
        return f"<{self.tool_name} {self.id}: {self.status}, {time}: {text!r}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        if ToolOutcome.render is None:
            return {"text/plain": repr(self)}
        return ToolOutcome.render(self)


MAX_REPR_CHARS = 80
