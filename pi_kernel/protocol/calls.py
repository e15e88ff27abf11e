"""The bounded record of the calls that a tool made."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from pi_kernel.protocol.json import WireModel

__all__ = (
    "MAX_ARGUMENT_BYTES_PER_CALL",
    "MAX_ARGUMENT_BYTES_PER_RECORD",
    "MAX_ERROR_CHARS",
    "MAX_RECORDED_CALLS",
    "CallStatus",
    "NestedToolCallRecord",
    "NestedToolCalls",
    "Origin",
)

MAX_RECORDED_CALLS = 256
MAX_ARGUMENT_BYTES_PER_CALL = 8 * 1024
MAX_ARGUMENT_BYTES_PER_RECORD = 32 * 1024
MAX_ERROR_CHARS = 500

CallStatus = Literal[
    "ok", "error", "blocked", "invalid", "not_found", "timeout", "aborted", "unfinished"
]
Origin = Literal["model", "cell", "script", "tool", "replay", "import"]


class NestedToolCallRecord(WireModel):
    """One nested call. ``arguments_bytes`` stands in for arguments that were too large to keep."""

    id: str
    name: str
    arguments: dict[str, Any] | None = None
    arguments_bytes: int | None = None
    status: Literal["ok", "error", "unfinished"] = "unfinished"
    duration_ms: int | None = None
    error: str | None = None


class NestedToolCalls(WireModel):
    """The nested calls of one root call, in start order; ``complete`` is False when parts lack."""

    calls: list[NestedToolCallRecord] = Field(default_factory=list)
    complete: bool = True
