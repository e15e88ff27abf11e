"""`CallRecord`: one call as a trace knows it."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from typing import Any

from pydantic.alias_generators import to_camel

from pi_kernel.protocol.calls import MAX_ERROR_CHARS, CallStatus, Origin
from pi_kernel.protocol.content import ImageContent, TextContent
from pi_kernel.protocol.json import JsonObject, compact_json, to_wire_value
from pi_kernel.protocol.results import ToolResult, text_of
from pi_kernel.protocol.usage import Usage, add_usage
from pi_kernel.runtime.call import Call

__all__ = ("CallRecord", "parent_of", "record_of")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallRecord:
    """One call. Times are in ms; ``is_error`` is None while the call is unfinished.

    ``usage`` is of this call alone, ``usage_total`` includes everything below it. ``args`` are
    validated; ``raw_args`` are as given, where they differ.
    """

    id: str
    parent_id: str | None = None
    root_id: str = ""
    depth: int = 0
    index: int = 0
    completion_index: int | None = None
    origin: Origin = "cell"
    tool: str = ""
    tool_version: str | None = None
    args: Any = None
    raw_args: Any = None
    status: CallStatus = "unfinished"
    is_error: bool | None = None
    block_reason: str | None = None
    error_type: str | None = None
    error: str | None = None
    started_at: datetime | None = None
    queued_ms: float | None = None
    duration_ms: float | None = None
    total_ms: float | None = None
    content: list[TextContent | ImageContent] = field(default_factory=list)
    details: Any = None
    usage: Usage | None = None
    usage_total: Usage | None = None
    terminate: bool = False
    updates: int = 0
    children: list[str] = field(default_factory=list)
    cell_call_id: str | None = None
    cell_id: str | None = None
    execution_count: int | None = None
    session_id: str | None = None
    turn_id: str | None = None
    turn_index: int | None = None
    result: ToolResult | None = field(default=None, repr=False, compare=False)
    """What the call gave, for `structured`; no part of the wire."""

    @property
    def structured(self) -> Any:
        """The JSON value for programs; made when it is asked for, because tables can be large."""
        return None if self.result is None else self.result.structured_content

    @property
    def text(self) -> str:
        """The text blocks joined by newlines."""
        return text_of(self.content)

    def to_wire(self) -> JsonObject:
        """Return plain JSON with camelCase keys; absent fields have no key."""
        wire: JsonObject = {}
        for name in _WIRE_NAMES:
            value = getattr(self, name)
            if isinstance(value, datetime):
                text = value.isoformat(timespec="milliseconds")
                wire[to_camel(name)] = text.replace("+00:00", "Z")
            elif value is not None:
                wire[to_camel(name)] = to_wire_value(value)
        return wire


_WIRE_NAMES = tuple(
    "structured" if item.name == "result" else item.name for item in fields(CallRecord)
)


def parent_of(call: Call) -> Call | None:
    """Return the tool call that made a call, also through an agent's run of its own."""
    caller: Any = call.caller
    while caller is not None and not isinstance(caller, Call):
        caller = getattr(caller, "outer", None)
    return caller


def record_of(call: Call, below: list[Call]) -> CallRecord:
    """Make the record of a call of this process, as it is now.

    Args:
        call: The call.
        below: Every call at any depth below it, in start order.
    """
    finished = call.status is not None
    result = call.result if finished else None
    above = [call]
    while (higher := parent_of(above[-1])) is not None:
        above.append(higher)
    args = getattr(call, "args", call.raw)
    differ = args is not call.raw and not _are_same_json(args, call.raw)
    usage = result.usage if result is not None else None
    total = usage
    for lower in below:
        total = add_usage(total, lower.result.usage if lower.status is not None else None)
    error = result is not None and call.is_error
    return CallRecord(
        id=call.id,
        parent_id=above[1].id if len(above) > 1 else None,
        root_id=above[-1].id,
        depth=len(above) - 1,
        index=call.index,
        completion_index=call.completion_index,
        origin=call.origin,
        tool=call.name,
        tool_version=call.tool.tool_version if call.tool is not None else None,
        args=args,
        raw_args=call.raw if differ else None,
        status=call.status or "unfinished",
        is_error=call.is_error if finished else None,
        block_reason=call.block_reason,
        error_type=type(call.error).__name__ if call.error is not None else None,
        error=text_of(result.content)[:MAX_ERROR_CHARS] if error and result else None,
        started_at=datetime.fromtimestamp(call.started_at, UTC),
        queued_ms=call.queued_ms,
        duration_ms=call.duration_ms,
        total_ms=call.total_ms if finished else None,
        content=result.content if result is not None else [],
        details=result.details if result is not None else None,
        usage=usage,
        usage_total=total,
        terminate=bool(result is not None and result.terminate),
        updates=call.updates,
        children=[lower.id for lower in below if parent_of(lower) is call],
        cell_call_id=call.root.cell_call_id,
        cell_id=call.root.cell_id,
        execution_count=call.root.execution_count,
        session_id=call.host.session_id,
        turn_id=call.root.turn_id,
        turn_index=call.root.turn_index,
        result=result,
    )


def _are_same_json(one: object, other: object) -> bool:
    """Whether two values are written alike; in Python, True equals 1."""
    try:
        return one == other and compact_json(one) == compact_json(other)
    except (TypeError, ValueError):  # a hook has put in what JSON cannot hold
        return False
