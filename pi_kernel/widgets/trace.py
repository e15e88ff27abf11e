"""`TraceWidget`: the calls of a cell or a session, as they come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from pi_kernel.protocol.json import JsonObject
from pi_kernel.runtime.call import Call
from pi_kernel.widgets._base import PiWidget
from pi_kernel.widgets._trace_details import details_of
from pi_kernel.widgets._trace_rows import TraceRows

__all__ = ("TraceWidget",)

FIRST_ROWS = 500
BLOCK_ROWS = 5_000
FAST_BLOCKS = 5
"""So many in a row; a server lets about 3 MB through at once, and 1 MB a second."""
SOON_SECONDS = 0.01
SLOW_SECONDS = 0.5
STOPPED = "stopped by the person"


class TraceWidget(PiWidget):
    """Shows calls as a tree over time.

    Args:
        calls: All calls in start order; the list may grow.
        title: What the trace is of.
        place: The class of the elements that its views stand in.
        is_part: Whether a call belongs to it; all do when None.
        bundle: Returns the static form.
        on_idle: Called when none of its calls runs any more.
    """

    view_kind = "trace"

    def __init__(  # noqa: PLR0913 - one argument a fact, most by keyword
        self,
        calls: Sequence[Call],
        title: str,
        *,
        place: str,
        is_part: Callable[[Call], bool] | None = None,
        bundle: Callable[[], Mapping[str, Any]] | None = None,
        on_idle: Callable[[], object] | None = None,
    ) -> None:
        self._rows = TraceRows(calls, is_part)
        self._title = title
        self._n_told = self._n_blocks = 0
        super().__init__(place, bundle, on_idle)

    @property
    def is_busy(self) -> bool:
        """Whether a call runs."""
        return bool(self._rows.open)

    def whole(self) -> Iterator[JsonObject]:
        """Tell the first rows; `changes` tells the others, one block after another."""
        if not self._rows.rows:
            self._rows.take_new(FIRST_ROWS)
        self._rows.take_changed()
        self._n_told = self._n_blocks = 0
        yield from self._block(FIRST_ROWS)

    def changes(self) -> Iterator[JsonObject]:
        """Tell the rows of calls that began or ended."""
        self._rows.take_new(BLOCK_ROWS)
        changed = [index for index in self._rows.take_changed() if index < self._n_told]
        if changed:
            rows = [self._rows.rows[index] for index in changed]
            yield {"type": "changes", "at": changed, "rows": rows, **self._facts()}
        if self._n_told < len(self._rows.rows):
            yield from self._block(BLOCK_ROWS)

    def _block(self, n_rows: int) -> Iterator[JsonObject]:
        first = self._n_told
        rows = self._rows.rows[first : first + n_rows]
        self._n_told += len(rows)
        self._n_blocks += 1
        yield {
            "type": "rows",
            "from": first,
            "rows": rows,
            "groups": self._rows.groups,
            **self._facts(),
        }
        if self._n_told < len(self._rows.rows) or self._rows.has_more:
            self.look_again(SOON_SECONDS if self._n_blocks < FAST_BLOCKS else SLOW_SECONDS)

    def _facts(self) -> JsonObject:
        return {
            "title": self._title,
            "now": self._rows.now(),
            "tokens": self._rows.tokens,
            "cost": self._rows.cost,
        }

    def receive(self, message: JsonObject) -> None:
        """Tell a call's details, or stop what runs."""
        if message.get("type") == "stop":
            for index in list(self._rows.open):
                call = self._rows.calls[index]
                if call.status is None and call.root is call:
                    call.signal.abort(STOPPED)
        elif message.get("type") == "details":
            at: object = message.get("at")
            if isinstance(at, int) and 0 <= at < len(self._rows.calls):
                details = details_of(self._rows.calls[at])
                self.tell([{"type": "details", "at": at, **details}])
