"""The line that changes, in a terminal and where there is none."""

from __future__ import annotations

import io
import sys

import pytest

from pi_kernel.notebook.live_line import TerminalLine, Ticker, live_line, muted


class Screen(io.StringIO):
    """A stream that says what kind of thing it is."""

    def __init__(self, *, is_terminal: bool) -> None:
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal


@pytest.mark.parametrize(
    ("is_terminal", "text"),
    [(True, "\r\x1b[Kone\r\x1b[Ktwo\r\x1b[Kend\n"), (False, "end\n")],
)
def test_a_terminal_writes_over_the_line_and_a_file_gets_its_end(
    monkeypatch: pytest.MonkeyPatch, text: str, *, is_terminal: bool
) -> None:
    screen = Screen(is_terminal=is_terminal)
    monkeypatch.setattr(sys, "stderr", screen)
    line = live_line()
    assert isinstance(line, TerminalLine)
    for shown in ("one", "two"):
        line.show(shown, "")
    line.close("end", "")
    assert screen.getvalue() == text


def test_a_line_that_was_never_shown_ends_without_a_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    screen = Screen(is_terminal=True)
    monkeypatch.setattr(sys, "stderr", screen)
    live_line().close("end", "")
    assert screen.getvalue() == ""


def test_markup_of_a_line_is_text() -> None:
    assert muted("<b>&") == '<div style="opacity:.75;font-size:12px">&lt;b&gt;&amp;</div>'


async def test_a_ticker_that_is_stopped_ticks_no_more() -> None:
    ticker = Ticker(lambda: pytest.fail("it ticked"))
    assert ticker.elapsed_ms >= 0
    ticker.stop()
