"""One line under a cell whose calls take longer than half a second."""

from __future__ import annotations

import contextlib

from pi_kernel.notebook.cells import Cell
from pi_kernel.notebook.live import live_cell
from pi_kernel.notebook.live_line import Ticker, live_line, muted
from pi_kernel.render._text import cut
from pi_kernel.render.aborted import aborted_bundle
from pi_kernel.render.formats import counted, duration
from pi_kernel.runtime.call import Call

__all__ = ("StatusLine", "activity_of", "summary")

MAX_NAMED = 3
MAX_ACTIVITY_CHARS = 80


class StatusLine:
    """Shows what a cell waits for while it waits; a static summary takes its place at the end.

    Made in the cell's own task, so that what it shows belongs to that cell.
    """

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._line = live_line()
        self._view = live_cell(cell)
        self._note = ""
        self._ticker = Ticker(self._tick)

    def show(self, note: str) -> None:
        """Add a note of the cell's own to the line, and show it at once."""
        self._note = note
        self._update()
        if self._view is not None:
            self._view.note(note)

    def _tick(self) -> None:
        if self._cell.running and not self._cell.shown_elsewhere:
            self._update()

    def _update(self) -> None:
        view = self._view
        if view is not None and view.is_live:
            return  # the page has more than a line
        text = self._running_text()
        self._line.show(text, muted(text) if view is None else view.placed(muted(text)))

    def _running_text(self) -> str:
        calls = self._cell.recorder.calls
        running = [call for call in calls if call.status is None]
        what = ", ".join(activity_of(call) for call in running[:MAX_NAMED])
        if len(running) > MAX_NAMED:
            what += f" and {len(running) - MAX_NAMED} more"
        ended = len(calls) - len(running)
        done = f"{ended} done" if ended else ""
        what = what or ("" if self._note else "Running")
        parts = [self._note, what, done, duration(self._ticker.elapsed_ms)]
        return " · ".join(part for part in parts if part)

    def close(self) -> None:
        """Stop, and leave the summary where the line was shown."""
        self._ticker.stop()
        text = summary(self._cell) if self._cell.is_used else self._note
        markup = muted(text)
        partial: dict[str, str] = {}
        if self._cell.status == "aborted":
            partial = aborted_bundle(self._cell.recorder.calls)
        if partial:
            text += f"\n{partial['text/plain']}"
            markup += partial["text/html"]
        self._line.close(text, markup, must_show=bool(partial))
        if self._view is not None:
            self._view.close()


def activity_of(call: Call) -> str:
    """Return what a running call is doing, as its tool says, else ``Running`` and its name."""
    activity = getattr(call.tool, "activity", None)
    if activity is not None:
        with contextlib.suppress(Exception):  # a text for people must not harm the call
            said = " ".join(str(activity(getattr(call, "args", call.raw))).split())
            return cut(said, MAX_ACTIVITY_CHARS)
    return f"Running {call.name}"


def summary(cell: Cell) -> str:
    """Return the one line that a cell's calls come to."""
    calls = cell.recorder.calls
    own = [call for call in calls if call.caller is cell]
    made = max(len(own), cell.counter)
    parts = [counted(made, "tool call")] if made else [counted(len(calls), "tool call")]
    stopped = sum(1 for call in own if call.status == "aborted")
    failed = sum(1 for call in own if call.is_error) - stopped
    unfinished = sum(1 for call in own if call.status is None)
    if failed:
        parts.append(f"{failed} failed")
    if stopped:
        parts.append(f"{stopped} stopped")
    if unfinished:
        parts.append(f"{unfinished} unfinished")
    if cell.status == "aborted":
        parts.append("interrupted")
    parts.append(duration(cell.record().duration_ms))
    return f"{cell.id}: " + ", ".join(parts)
