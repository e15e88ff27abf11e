"""A progress bar for many calls, in a notebook and in a terminal."""

from __future__ import annotations

import html
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from IPython.display import DisplayHandle, display

from pi_kernel.render.formats import duration
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("progress_bar",)

UPDATE_SECONDS = 0.1
SHOW_AFTER_SECONDS = 0.5
BAR_CHARS = 24


class _Bar:
    def __init__(self, title: str, total: int) -> None:
        self.title = title
        self.total = total
        self.done = 0
        self.failed = 0
        self._started = self._shown = time.perf_counter()
        self._handle: DisplayHandle | None = None

    def step(self, outcome: ToolOutcome) -> None:
        self.done += 1
        self.failed += outcome.is_error
        now = time.perf_counter()
        late = now - self._started >= SHOW_AFTER_SECONDS
        if late and now - self._shown >= UPDATE_SECONDS:
            self._shown = now
            self.show()

    def show(self) -> None:
        text = self.text()
        bundle = {"text/plain": text, "text/html": self.html(text)}
        if self._handle is None:
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)

    def close(self) -> None:
        if self._handle is not None:
            self.show()

    def facts(self) -> str:
        elapsed = time.perf_counter() - self._started
        parts = [f"{self.done} of {self.total}"]
        if self.failed:
            parts.append(f"{self.failed} failed")
        parts.append(duration(elapsed * 1000))
        if 0 < self.done < self.total:
            left = elapsed / self.done * (self.total - self.done)
            parts.append(f"about {duration(left * 1000)} left")
        return ", ".join(parts)

    def text(self) -> str:
        filled = BAR_CHARS * self.done // max(self.total, 1)
        bar = "#" * filled + "." * (BAR_CHARS - filled)
        return f"{self.title} [{bar}] {self.facts()}"

    def html(self, text: str) -> str:
        del text
        percent = 100 * self.done / max(self.total, 1)
        return (
            f'<div style="font-size:12px"><b>{html.escape(self.title)}</b> '
            f'<span style="display:inline-block;width:160px;height:8px;'
            f'background:rgba(127,127,127,.22);vertical-align:middle">'
            f'<span style="display:inline-block;width:{percent:.1f}%;height:8px;'
            f'background:rgba(26,108,189,.74);vertical-align:top"></span></span> '
            f'<span style="opacity:.75">{html.escape(self.facts())}</span></div>'
        )


@contextmanager
def progress_bar(title: str, total: int) -> Iterator[Callable[[ToolOutcome], None]]:
    """Give a function that counts one finished call; the bar appears after half a second."""
    bar = _Bar(title, total)
    try:
        yield bar.step
    finally:
        bar.close()
