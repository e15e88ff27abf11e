"""The rows of a live trace: one short list a call, kept up to date."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from pi_kernel.protocol.json import JsonObject
from pi_kernel.runtime.call import Call
from pi_kernel.traces.record import parent_of
from pi_kernel.widgets._facts import arguments_line, kind_of, name_of, word_of_call

__all__ = ("TraceRows",)

MAX_LINE_CHARS = 160


class TraceRows:
    """Rows in start order, with the groups that they hang in.

    A row is ``[caller's index or -1, group, tool, arguments, kind of status, word, start, queued,
    ran or None, whole or None]``, times in ms.

    Args:
        calls: All calls in start order; the list may grow.
        is_part: Whether a call belongs to the trace; all do when None.
    """

    def __init__(
        self, calls: Sequence[Call], is_part: Callable[[Call], bool] | None = None
    ) -> None:
        self._source = calls
        self._is_part = is_part
        self._looked_at = 0
        self._index_of: dict[int, int] = {}
        self._group_of: dict[Any, int] = {}
        self._kinds: list[str] = []
        self._zero = time.perf_counter()
        self.calls: list[Call] = []
        self.rows: list[list[Any]] = []
        self.groups: list[JsonObject] = []
        self.open: dict[int, None] = {}
        """Indexes of calls that had not ended at the last look, in start order."""
        self.tokens = 0
        self.cost = 0.0

    def now(self) -> float:
        """Return the time since the first call, in ms."""
        return (time.perf_counter() - self._zero) * 1000

    @property
    def has_more(self) -> bool:
        """Whether there are calls that have not been looked at."""
        return self._looked_at < len(self._source)

    def take_new(self, limit: int) -> None:
        """Make rows of calls that began since the last look, of at most so many."""
        end = min(len(self._source), self._looked_at + limit)
        for position in range(self._looked_at, end):
            call = self._source[position]
            if self._is_part is None or self._is_part(call):
                self._add(call)
        self._looked_at = end

    def _add(self, call: Call) -> None:
        index = len(self.calls)
        if not index:
            self._zero = call.started_perf
        self._index_of[id(call)] = index
        self.calls.append(call)
        self._kinds.append("")
        self.rows.append(self._row(call))
        self._note(index)
        if call.status is None:
            self.open[index] = None

    def take_changed(self) -> list[int]:
        """Bring the rows of calls that began to run or ended up to date; return which."""
        changed: list[int] = []
        for index in list(self.open):
            call = self.calls[index]
            if kind_of(call) == self._kinds[index]:
                continue
            self.rows[index] = self._row(call)
            self._note(index)
            changed.append(index)
            if call.status is not None:
                del self.open[index]
        return changed

    def _note(self, index: int) -> None:
        call = self.calls[index]
        self._kinds[index] = kind_of(call)
        usage = call.result.usage if call.status is not None else None
        if usage is not None:
            self.tokens += usage.total_tokens
            self.cost += usage.cost.total

    def _row(self, call: Call) -> list[Any]:
        parent = parent_of(call)
        above = self._index_of.get(id(parent), -1) if parent is not None else -1
        has_ended = call.status is not None
        return [
            above,
            self._group(call) if above < 0 else -1,
            name_of(call),
            arguments_line(call, MAX_LINE_CHARS),
            kind_of(call),
            word_of_call(call),
            _short((call.started_perf - self._zero) * 1000),
            _short(call.queued_ms or 0),
            _short(call.duration_ms),
            _short(call.total_ms) if has_ended else None,
        ]

    def _group(self, call: Call) -> int:
        """Return the group of a call that nothing calls: its cell, and in it the turn."""
        root = call.root
        cell = self._group_named(root.cell_call_id, _cell_label(root), -1)
        if root.turn_id is None:
            return cell
        turn = 0 if root.turn_index is None else root.turn_index + 1
        return self._group_named((root.cell_call_id, root.turn_id), f"Turn {turn}", cell)

    def _group_named(self, key: Any, label: str, parent: int) -> int:
        known = self._group_of.get(key)
        if known is None:
            known = self._group_of[key] = len(self.groups)
            self.groups.append({"label": label, "parent": parent})
        return known


def _short(ms: float | None) -> float | None:
    """Return a time to the microsecond: more digits are a third of what is sent."""
    return None if ms is None else round(ms, 3)


def _cell_label(root: Any) -> str:
    cell = root.cell_call_id
    return "Session" if cell is None else cell.replace("cell-", "Cell ", 1)
