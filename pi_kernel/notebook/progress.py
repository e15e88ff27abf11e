"""A progress bar for many calls."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager

from pi_kernel.notebook.cells import Cell
from pi_kernel.notebook.live_line import LiveLine, Ticker, live_line
from pi_kernel.render._text import escape
from pi_kernel.render.formats import duration
from pi_kernel.runtime.call import current_caller
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("progress_bar",)

BAR_CHARS = 24


class _Bar:
    def __init__(self, title: str, total: int, line: LiveLine) -> None:
        self._title = title
        self._total = total
        self._line = line
        self._done = 0
        self._failed = 0
        self._ticker = Ticker(self._show)

    def step(self, outcome: ToolOutcome) -> None:
        """Count one call that has ended."""
        self._done += 1
        self._failed += outcome.is_error

    def _show(self) -> None:
        facts = self._facts(is_over=False)
        self._line.show(self._text(facts), self._html(facts))

    def close(self) -> None:
        """Leave the last state."""
        self._ticker.stop()
        facts = self._facts(is_over=True)
        self._line.close(self._text(facts), self._html(facts))

    def _facts(self, *, is_over: bool) -> str:
        elapsed_ms = self._ticker.elapsed_ms
        parts = [f"{self._done} of {self._total}"]
        if self._failed:
            parts.append(f"{self._failed} failed")
        if is_over and self._done < self._total:
            parts.append("stopped")
        parts.append(duration(elapsed_ms))
        if not is_over and 0 < self._done < self._total:
            left_ms = elapsed_ms / self._done * (self._total - self._done)
            parts.append(f"about {duration(left_ms)} left")
        return ", ".join(parts)

    def _text(self, facts: str) -> str:
        filled = BAR_CHARS * self._done // max(self._total, 1)
        bar = "#" * filled + "." * (BAR_CHARS - filled)
        return f"{self._title} [{bar}] {facts}"

    def _html(self, facts: str) -> str:
        percent = 100 * self._done / max(self._total, 1)
        return (
            f'<div style="font-size:12px"><b>{escape(self._title)}</b> '
            f'<span style="display:inline-block;width:160px;height:8px;'
            f'background:rgba(127,127,127,.22);vertical-align:middle">'
            f'<span style="display:inline-block;width:{percent:.1f}%;height:8px;'
            f'background:rgba(26,108,189,.74);vertical-align:top"></span></span> '
            f'<span style="opacity:.75">{escape(facts)}</span></div>'
        )


@contextmanager
def progress_bar(title: str, total: int) -> Generator[Callable[[ToolOutcome], None]]:
    """Give a function that counts one finished call; the bar appears after half a second.

    It takes the place of the cell's own line.
    """
    caller = current_caller.get()
    cell = caller if isinstance(caller, Cell) else None
    bar = _Bar(title, total, live_line())
    if cell is not None:
        cell.shown_elsewhere += 1
    try:
        yield bar.step
    finally:
        bar.close()
        if cell is not None:
            cell.shown_elsewhere -= 1
