"""Standard output as a place for lines: how wide, which characters, which colours."""

from __future__ import annotations

import codecs
import os
import shutil
import sys
from dataclasses import dataclass
from typing import TextIO

__all__ = ("Terminal", "escaped", "standard_output")

WIDTH_OF_A_FILE = 120
MIN_WIDTH = 60
COLORS = {
    "heading": "1",
    "ok": "32",
    "error": "31",
    "fails": "31",
    "invalid": "31",
    "not_found": "31",
    "timeout": "31",
    "aborted": "33",
    "blocked": "33",
    "missing": "33",
}
"""SGR codes by the role of a text."""


@dataclass(frozen=True, slots=True)
class Terminal:
    """One stream and what it can show; without a stream, what is written goes nowhere."""

    stream: TextIO | None = None
    width: int = WIDTH_OF_A_FILE
    is_unicode: bool = True
    has_colors: bool = False

    def line(self, text: str = "") -> None:
        """Write one line."""
        if self.stream is not None:
            self.stream.write(f"{text}\n")

    def one_line(self, text: str, width: int | None = None) -> str:
        """Return a text without line ends and control characters, cut to a width, else to ours."""
        width = self.width if width is None else width
        # Cut before too: to escape 100 MB and show 80 characters would take seconds.
        shown = escaped(text[: width + 1])
        if len(shown) <= width:
            return shown
        mark = "…" if self.is_unicode else "..."
        return shown[: max(width - len(mark), 0)] + mark

    def paint(self, text: str, role: str) -> str:
        """Return a text in the colour of its role, where the stream has colours."""
        code = COLORS.get(role)
        return f"\x1b[{code}m{text}\x1b[0m" if self.has_colors and code else text


def escaped(text: str) -> str:
    r"""Return a text with line ends, control characters and lone surrogates written as escapes.

    Example:
        >>> escaped("a\tb\nc")
        'a b\\nc'
    """
    return "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(character: str) -> str:
    return " " if character == "\t" else repr(character)[1:-1]


def standard_output() -> Terminal:
    """Return standard output.

    Colours need a terminal, and are off when ``NO_COLOR`` is set or the terminal is ``dumb``.
    A character that the stream cannot write is written as an escape.
    """
    stream: TextIO | None = sys.stdout
    if stream is None:  # the process was started with a closed standard output
        return Terminal()
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:  # a stream that stands in for the real one may have none
        reconfigure(errors="backslashreplace")
    is_terminal = stream.isatty()
    width = WIDTH_OF_A_FILE
    if is_terminal:
        width = max(shutil.get_terminal_size((WIDTH_OF_A_FILE, 0)).columns, MIN_WIDTH)
    return Terminal(
        stream=stream,
        width=width,
        is_unicode=_is_unicode(stream.encoding),
        has_colors=is_terminal
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb",
    )


def _is_unicode(encoding: str | None) -> bool:
    try:
        return codecs.lookup(encoding or "ascii").name.startswith("utf")
    except LookupError:
        return False
