"""One line of output that changes while something runs, and the clock that changes it."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from typing import Protocol

from IPython.core.getipython import get_ipython
from IPython.display import DisplayHandle, display

from pi_kernel.render._text import escape

__all__ = ("LiveLine", "NotebookLine", "TerminalLine", "Ticker", "live_line", "muted")

SHOW_AFTER_SECONDS = 0.5
UPDATE_SECONDS = 0.1
SLOW_UPDATE_SECONDS = 1.0
SLOW_AFTER_SECONDS = 10.0
ERASE_LINE = "\r\x1b[K"


class Ticker:
    """Calls a function after half a second, then ten times a second, later once a second."""

    def __init__(self, tick: Callable[[], object]) -> None:
        self._tick = tick
        self._loop = asyncio.get_running_loop()
        self._started = time.perf_counter()
        self._timer = self._loop.call_later(SHOW_AFTER_SECONDS, self._run)

    @property
    def elapsed_ms(self) -> float:
        """The time since the start."""
        return (time.perf_counter() - self._started) * 1000

    def _run(self) -> None:
        self._tick()
        is_slow = self.elapsed_ms > SLOW_AFTER_SECONDS * 1000
        pause = SLOW_UPDATE_SECONDS if is_slow else UPDATE_SECONDS
        self._timer = self._loop.call_later(pause, self._run)

    def stop(self) -> None:
        """Tick no more."""
        self._timer.cancel()


class LiveLine(Protocol):
    """A line that is shown, shown again, and left as it is at the end."""

    def show(self, text: str, markup: str) -> None:
        """Show the line as it is now."""

    def close(self, text: str, markup: str, *, must_show: bool = False) -> None:
        """Leave the last state of a line that was shown, or must be."""


class NotebookLine:
    """A display of the cell; saved notebooks keep its last state."""

    def __init__(self) -> None:
        self._handle: DisplayHandle | None = None
        self._text = ""

    def show(self, text: str, markup: str) -> None:
        """Send the line, unless it says the same already."""
        if text == self._text:
            return
        self._text = text
        bundle = {"text/plain": text, "text/html": markup}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def close(self, text: str, markup: str, *, must_show: bool = False) -> None:
        """Send the last state."""
        if self._handle is not None or must_show:
            self.show(text, markup)


class TerminalLine:
    """The line that the cursor is on; where no terminal is, only the last state is written."""

    def __init__(self) -> None:
        self._is_shown = False
        self._is_terminal = sys.stderr.isatty()

    def show(self, text: str, markup: str) -> None:
        """Write over what the line says."""
        del markup
        self._is_shown = True
        if self._is_terminal:
            sys.stderr.write(ERASE_LINE + text)
            sys.stderr.flush()

    def close(self, text: str, markup: str, *, must_show: bool = False) -> None:
        """Write the last state and end the line."""
        if self._is_shown or must_show:
            self.show(text, markup)
            sys.stderr.write("\n" if self._is_terminal else f"{text}\n")
            sys.stderr.flush()


def live_line() -> LiveLine:
    """Return a line for the place where the cell's output goes."""
    has_kernel = getattr(get_ipython(), "kernel", None) is not None
    return NotebookLine() if has_kernel else TerminalLine()


def muted(text: str) -> str:
    """Return a small line of HTML that saved notebooks keep."""
    return f'<div style="opacity:.75;font-size:12px">{escape(text)}</div>'
