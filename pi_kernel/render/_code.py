"""Source text as static HTML: keywords bold, comments italic, no colours."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from pi_kernel.render import _style as style
from pi_kernel.render._html import span
from pi_kernel.render._lines import Convert, escape_lines
from pi_kernel.render._text import escape_in_pre

__all__ = ("highlighter", "numbered")

MAX_NAME_CHARS = 255
MAX_HIGHLIGHTED_CHARS = 32_000
MAX_HIGHLIGHTED_LINE_CHARS = 1_000
MAX_SECONDS = 0.25
"""Some lexers take long on some texts; then the text is shown without marks."""
TOKENS_BETWEEN_LOOKS = 64
MIN_NUMBER_WIDTH = 4


def highlighter(file_name: str) -> tuple[Convert, str]:
    """Return what makes HTML of a file's lines, and the language's name ("" when unknown)."""
    from pygments.lexers import get_lexer_for_filename  # noqa: PLC0415 - loads on first use
    from pygments.util import ClassNotFound  # noqa: PLC0415

    name = file_name[-MAX_NAME_CHARS:].replace("\\", "/").rpartition("/")[2]
    try:
        lexer = get_lexer_for_filename(name, stripnl=False, ensurenl=False)
    except ClassNotFound:
        return escape_lines, ""
    language = str(lexer.name)
    if language == "Text only":
        return escape_lines, "Text"

    def convert(lines: Sequence[str]) -> list[str]:
        too_long = any(len(line) > MAX_HIGHLIGHTED_LINE_CHARS for line in lines)
        if too_long or sum(map(len, lines)) > MAX_HIGHLIGHTED_CHARS:
            return escape_lines(lines)
        html = _highlighted(lexer, "\n".join(lines))
        return html if html is not None and len(html) == len(lines) else escape_lines(lines)

    return convert, language


def _highlighted(lexer: Any, text: str) -> list[str] | None:
    deadline = time.perf_counter() + MAX_SECONDS
    rows: list[list[str]] = [[]]
    for number, (wrap, value) in enumerate(_tokens(lexer, text)):
        if number % TOKENS_BETWEEN_LOOKS == 0 and time.perf_counter() > deadline:
            return None
        for index, part in enumerate(value.split("\n")):
            if index:
                rows.append([])
            if part:
                rows[-1].append(wrap[0] + escape_in_pre(part) + wrap[1])
    return ["".join(row) for row in rows]


PLAIN = ("", "")
BOLD = ("<b>", "</b>")
ITALIC = (f'<i style="{style.MUTED}">', "</i>")
EMPHASISED = ("<i>", "</i>")


def _tokens(lexer: Any, text: str) -> Iterator[tuple[tuple[str, str], str]]:
    from pygments.token import Token  # noqa: PLC0415 - loads on first use

    looks = (
        (Token.Keyword, BOLD),
        (Token.Operator.Word, BOLD),
        (Token.Name.Tag, BOLD),
        (Token.Generic.Heading, BOLD),
        (Token.Generic.Subheading, BOLD),
        (Token.Generic.Strong, BOLD),
        (Token.Generic.Emph, EMPHASISED),
        (Token.Comment, ITALIC),
    )
    known: dict[Any, tuple[str, str]] = {}
    for kind, value in lexer.get_tokens(text):
        wrap = known.get(kind)
        if wrap is None:
            wrap = next((look for above, look in looks if kind in above), PLAIN)
            known[kind] = wrap
        yield wrap, value


def numbered(lines: Iterable[str], first: int, last: int) -> list[str]:
    """Return lines of HTML with their numbers in front."""
    width = max(len(str(last)), MIN_NUMBER_WIDTH)
    return [
        f"{span(style.FAINT, f'{number:>{width}}')}  {line}"
        for number, line in enumerate(lines, first)
    ]
