"""`CallsWidget`: the calls of a running cell, or one call, while they run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from pi_kernel.protocol.json import JsonObject, well_formed
from pi_kernel.render._status import FAILED
from pi_kernel.render._text import in_one_line
from pi_kernel.runtime.call import Call
from pi_kernel.runtime.outcome import ToolOutcome
from pi_kernel.widgets._base import PiWidget
from pi_kernel.widgets._bodies import body_html
from pi_kernel.widgets._facts import (
    about,
    arguments_line,
    is_path_line,
    kind_of,
    name_of,
    running_ms,
    tail_of,
    word_of_call,
)

__all__ = ("CallsWidget",)

MAX_CALLS = 8
"""Of more calls only those that run, failed or were opened are shown, and the last ones."""
LAST_CALLS = 3
MAX_FAILED = 10
MAX_RUNNING = 20
MAX_BELOW = 5
MAX_NOTE_CHARS = 400
MAX_TAIL_BYTES = 16 * 1024
MAX_TAILS_BYTES = 32 * 1024
"""Of all tails in one message."""
STOPPED = "stopped by the person"


class CallsWidget(PiWidget):
    """Shows calls and stops them.

    Args:
        calls: Returns the calls to show, in start order; asked again and again.
        place: The class of the elements that its views stand in.
        bundle: Returns the static form.
        on_idle: Called when none of them runs any more.
    """

    view_kind = "calls"

    def __init__(
        self,
        calls: Callable[[], list[Call]],
        *,
        place: str,
        bundle: Callable[[], Mapping[str, Any]] | None = None,
        on_idle: Callable[[], object] | None = None,
    ) -> None:
        self._calls = calls
        self._note = self._told_note = ""
        self._told: dict[str, tuple[Any, ...]] = {}
        self._told_ids: list[str] = []
        self._stopped: set[str] = set()
        self._opened: set[str] = set()
        super().__init__(place, bundle, on_idle)

    def note(self, text: str) -> None:
        """Show a note of the cell's own above its calls."""
        self._note = well_formed(in_one_line(text, MAX_NOTE_CHARS))

    @property
    def is_busy(self) -> bool:
        """Whether a call runs."""
        return any(call.status is None for call in self._calls())

    def whole(self) -> Iterator[JsonObject]:
        """Tell all calls."""
        self._told.clear()
        yield from self._messages(is_whole=True)

    def changes(self) -> Iterator[JsonObject]:
        """Tell the calls that began, went on or ended."""
        yield from self._messages(is_whole=False)

    def _messages(self, *, is_whole: bool) -> Iterator[JsonObject]:
        calls = self._calls()
        shown = self._most_wanted(calls)
        ids = [call.id for call in shown]
        running = [call for call in calls if call.status is None]
        room = min(MAX_TAIL_BYTES, MAX_TAILS_BYTES // max(len(running), 1))
        told = [facts for call in shown if (facts := self._changed(call, room)) is not None]
        if told or is_whole or self._note != self._told_note or ids != self._told_ids:
            counts = {
                "calls": len(calls),
                "running": len(running),
                "failed": sum(call.status in FAILED for call in calls),
            }
            self._told_note, self._told_ids = self._note, ids
            message = {"type": "calls", "isWhole": is_whole, "note": self._note}
            yield {**message, "calls": told, "shown": ids, "counts": counts}

    def _most_wanted(self, calls: list[Call]) -> list[Call]:
        if len(calls) <= MAX_CALLS:
            return calls
        running = [call for call in calls if call.status is None][:MAX_RUNNING]
        failed = [call for call in calls if call.status in FAILED][-MAX_FAILED:]
        opened = [call for call in calls if call.id in self._opened]
        chosen = {id(call) for call in (*running, *failed, *opened, *calls[-LAST_CALLS:])}
        return [call for call in calls if id(call) in chosen]

    def _changed(self, call: Call, room: int) -> JsonObject | None:
        below = _below(call)
        ended = sum(other.status is not None for other in below)
        state = (kind_of(call), call.updates, len(below), ended)
        before = self._told.get(call.id)
        if state == before:
            return None
        self._told[call.id] = state
        facts = _facts(call)
        facts["below"] = [_facts(other) for other in below[-MAX_BELOW:]]
        facts["nBelow"] = len(below)
        facts["nFailedBelow"] = sum(other.is_error for other in below if other.status is not None)
        if before is None or before[1] != call.updates:
            facts["tail"] = tail_of(call, room)
        return facts

    def receive(self, message: JsonObject) -> None:
        """Stop a call, or tell the body of a result."""
        wanted = message.get("id")
        call = next((call for call in self._calls() if call.id == wanted), None)
        if call is None:
            return
        if message.get("type") == "stop":
            self.stop(call)
        elif message.get("type") == "open" and call.status is not None:
            self._opened.add(call.id)
            outcome = ToolOutcome(call)
            self.tell([{"type": "result", "id": call.id, "html": well_formed(body_html(outcome))}])

    def stop(self, call: Call) -> None:
        """Ask a call to stop, once."""
        if call.status is None and call.id not in self._stopped:
            self._stopped.add(call.id)
            call.signal.abort(STOPPED)


def _below(call: Call) -> list[Call]:
    """Return the calls that a root call made happen, in start order; those that are recorded."""
    recorder = call.recorder
    return recorder.calls if recorder is not None and call.root is call else []


def _facts(call: Call) -> JsonObject:
    return {
        "id": call.id,
        "tool": name_of(call),
        "line": arguments_line(call),
        "about": about(call),
        "isPath": is_path_line(call),
        "kind": kind_of(call),
        "word": word_of_call(call),
        "ms": running_ms(call),
    }
