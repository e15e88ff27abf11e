"""One line under a cell whose calls take longer than half a second."""

from __future__ import annotations

import asyncio
import contextlib
import html
import time
from typing import Any

from IPython.display import DisplayHandle, display

from pi_kernel.notebook.cells import Cell
from pi_kernel.render.formats import duration

__all__ = ("SHOW_AFTER_SECONDS", "StatusLine")

SHOW_AFTER_SECONDS = 0.5
UPDATE_SECONDS = 0.1
SLOW_UPDATE_SECONDS = 1.0
SLOW_AFTER_SECONDS = 10.0


class StatusLine:
    """Shows what a cell waits for while it waits; a static summary takes its place at the end.

    The display is made in the cell's own task, so that its output belongs to that cell.
    """

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        self._handle: DisplayHandle | None = None
        self._started = time.perf_counter()
        self._text = ""
        self._note = ""
        self._timer: asyncio.TimerHandle | None = None
        with contextlib.suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
            self._timer = self._loop.call_later(SHOW_AFTER_SECONDS, self._tick)

    def show(self, note: str) -> None:
        """Add a note of the cell's own to the line."""
        self._note = note
        self._update()

    def _tick(self) -> None:
        if self._cell.running or self._note:
            self._update()
        elapsed = time.perf_counter() - self._started
        pause = UPDATE_SECONDS if elapsed < SLOW_AFTER_SECONDS else SLOW_UPDATE_SECONDS
        self._timer = self._loop.call_later(pause, self._tick)

    def _update(self) -> None:
        text = self._running_text()
        if text != self._text:
            self._text = text
            self._put(text)

    def _put(self, text: str) -> None:
        bundle = {"text/plain": text, "text/html": line_html(text)}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def _running_text(self) -> str:
        open_calls = [c for c in self._cell.recorder.calls if c.status is None]
        elapsed = duration((time.perf_counter() - self._started) * 1000)
        what = ", ".join(activity_of(call) for call in open_calls[:3])
        if len(open_calls) > 3:  # noqa: PLR2004 - as many as are named above
            what += f" and {len(open_calls) - 3} more"
        parts = [part for part in (self._note, what, elapsed) if part]
        return "running: " + " · ".join(parts)

    def close(self) -> None:
        """Stop, and leave the summary where the line was shown."""
        if self._timer is not None:
            self._timer.cancel()
        if self._handle is not None:
            self._put(summary(self._cell))


def activity_of(call: Any) -> str:
    """Return what a running call is doing, as its tool says, else the tool's name."""
    tool = call.tool
    if tool is not None and getattr(tool, "activity", None) is not None:
        with contextlib.suppress(Exception):  # a text for people must not harm the call
            return str(tool.activity(call.args))[:80]
    return str(call.name)


def summary(cell: Cell) -> str:
    """Return the one line that a cell's calls come to."""
    calls = cell.recorder.calls
    own = [call for call in calls if call.caller is cell]
    count = len(own) if not cell.recorder.dropped else cell.counter
    failed = sum(1 for call in own if call.is_error)
    unfinished = sum(1 for call in own if call.status is None)
    noun = "call" if count == 1 else "calls"
    parts = [f"{count} tool {noun}"]
    if failed:
        parts.append(f"{failed} failed")
    if unfinished:
        parts.append(f"{unfinished} unfinished")
    parts.append(duration(cell.record().duration_ms))
    return f"{cell.id}: " + ", ".join(parts)


def line_html(text: str) -> str:
    """Return the line as HTML that saved notebooks keep."""
    return f'<div style="opacity:.75;font-size:12px">{html.escape(text)}</div>'
