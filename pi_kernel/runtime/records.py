"""The recorder of nested calls: bounded, in start order, with the sum of usage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pi_kernel.protocol.calls import (
    MAX_ARGUMENT_BYTES_PER_CALL,
    MAX_ARGUMENT_BYTES_PER_RECORD,
    MAX_ERROR_CHARS,
    MAX_RECORDED_CALLS,
    NestedToolCallRecord,
    NestedToolCalls,
)
from pi_kernel.protocol.json import compact_json, well_formed
from pi_kernel.protocol.results import text_of
from pi_kernel.protocol.usage import Usage, add_usage

if TYPE_CHECKING:
    from pi_kernel.runtime.call import Call

__all__ = ("NestedCallRecorder", "NestedSnapshot", "round_half_up")


def round_half_up(value: float) -> int:
    """Round to the nearest integer, halves upwards (Python's own rounds them to even)."""
    return int(value + 0.5)


def _argument_bytes(arguments: dict[str, Any]) -> int:
    """Return the size of the compact JSON in UTF-8 bytes."""
    text = well_formed(compact_json(arguments))
    return len(text) if text.isascii() else len(text.encode())


class NestedCallRecorder:
    """Collects what one root call, or one cell, made happen below it.

    ``outer`` is the recorder of the cell that the root call belongs to; it gets everything too.
    """

    __slots__ = ("calls", "dropped", "outer", "usage")

    def __init__(self, outer: NestedCallRecorder | None = None) -> None:
        self.calls: list[Call] = []
        self.dropped = False
        self.usage: Usage | None = None
        self.outer = outer

    def add(self, call: Call) -> None:
        """Record a call that starts now."""
        if len(self.calls) < MAX_RECORDED_CALLS:
            self.calls.append(call)
        else:
            self.dropped = True
        if self.outer is not None:
            self.outer.add(call)

    def add_usage(self, usage: Usage) -> None:
        """Add what one call used, recorded or dropped."""
        self.usage = add_usage(self.usage, usage)
        if self.outer is not None:
            self.outer.add_usage(usage)

    def snapshot(self) -> NestedSnapshot:
        """Return the record as it is now; calls that end later do not change it."""
        return NestedSnapshot(self.calls, dropped=self.dropped)


class NestedSnapshot:
    """A record frozen at one moment; its values are made when somebody reads them."""

    __slots__ = ("_calls", "_dropped", "_record", "_unfinished")

    def __init__(self, calls: list[Call], *, dropped: bool) -> None:
        self._calls = tuple(calls)
        self._dropped = dropped
        self._unfinished = frozenset(id(call) for call in calls if call.status is None)
        self._record: NestedToolCalls | None = None

    @property
    def is_empty(self) -> bool:
        """Whether no call was made."""
        return not self._calls and not self._dropped

    def record(self) -> NestedToolCalls:
        """Return the record within its limits.

        Source: Pi 1.6.0, ``NESTED_CALL_LIMITS``; the limit of all bytes counts recorded
        arguments only.
        """
        if self._record is None:
            complete = not self._dropped and not self._unfinished
            spent_bytes = 0
            records = []
            for call in self._calls:
                size = _argument_bytes(call.raw)
                kept = (
                    size <= MAX_ARGUMENT_BYTES_PER_CALL
                    and spent_bytes + size <= MAX_ARGUMENT_BYTES_PER_RECORD
                )
                spent_bytes += size if kept else 0
                complete = complete and kept
                records.append(self._entry(call, None if kept else size))
            self._record = NestedToolCalls(calls=records, complete=complete)
        return self._record

    def _entry(self, call: Call, omitted_bytes: int | None) -> NestedToolCallRecord:
        unfinished = id(call) in self._unfinished
        error = None
        if not unfinished and call.is_error:
            error = text_of(call.result.content)[:MAX_ERROR_CHARS] or None
        return NestedToolCallRecord(
            id=call.id,
            name=call.name,
            arguments=call.raw if omitted_bytes is None else None,
            arguments_bytes=omitted_bytes,
            status="unfinished" if unfinished else "error" if call.is_error else "ok",
            duration_ms=None if unfinished else round_half_up(call.total_ms),
            error=error,
        )


EMPTY_SNAPSHOT = NestedSnapshot([], dropped=False)
