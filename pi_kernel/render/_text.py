"""Text as people may see it: escaped, and with every hidden character made visible.

Tool output and model text can hold characters that show nothing or change what stands around
them: controls, bidirectional marks, zero-width and tag characters. They are shown as ``U+202E``.
JupyterLab sets formulas in all HTML but preformatted text, so what begins one stands alone there.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

__all__ = (
    "ELLIPSIS",
    "ESCAPES",
    "TAG",
    "TIMES",
    "attribute_text",
    "cut",
    "escape",
    "escape_in_pre",
    "in_one_line",
    "line_of",
    "plain",
    "strip_escapes",
)

LINE_END = "⏎ "
ELLIPSIS = "…"
TIMES = "\u00d7"
"""Between the sides of a picture or a table."""
TAG = "background:rgba(128,128,128,0.30);border-radius:3px;padding:0 3px;font-size:11px"
FAINT_LINE_END = f'<span style="opacity:0.65">{LINE_END}</span>'

_ALWAYS_HIDDEN = (
    "\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\xad"  # C0 without tab and newline, C1, soft hyphen
    "\\u034f\\u061c\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f"
    "\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164"
    "\\ud800-\\udfff\\ufe00-\\ufe0d\\ufeff\\uffa0\\ufff9-\\ufffb"
    "\\U0001d173-\\U0001d17a\\U000e0000-\\U000e01ef"
)
# Joiners are part of emoji and of Arabic and Indic words; elsewhere they only hide.
_JOINED = "\\u0600-\\u0fff\\u2600-\\u27bf\\ufe0f\\U0001f000-\\U0001faff"
_HIDDEN = re.compile(f"([{_ALWAYS_HIDDEN}]|(?<![{_JOINED}])[\\u200c\\u200d])\\1*")
ESCAPES = re.compile(
    "\x1b(?:"
    "\\[[0-?]*[ -/]*[@-~]"  # CSI: colours and the cursor
    "|[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?"  # OSC, DCS, SOS, PM, APC: titles and links
    "|[ -/]*[0-~]"
    ")|\x9b[0-?]*[ -/]*[@-~]"
)
_LINE_ENDS = re.compile("\r\n|[\n\r\x0b\x0c\x85\u2028\u2029]")


def escape(text: str) -> str:
    """Return HTML that shows the text anywhere; hidden characters become small tags."""
    # MathJax looks for formulas within one piece of text, and every tag ends a piece.
    shown = escape_in_pre(text).replace("$", "<span>$</span>")
    return shown.replace("\\", "<span>\\</span>")


def escape_in_pre(text: str) -> str:
    """Return HTML that shows the text in ``<pre>``, where there are no formulas."""
    if _HIDDEN.search(text) is None:
        return html.escape(text)
    return "".join(
        f'<span style="{TAG}">{piece}</span>' if is_hidden else html.escape(piece)
        for piece, is_hidden in _pieces(text)
    )


def plain(text: str) -> str:
    """Return the text for a terminal: hidden characters are written as ``[U+202E]``."""
    if _HIDDEN.search(text) is None:
        return text
    return "".join(f"[{piece}]" if is_hidden else piece for piece, is_hidden in _pieces(text))


def attribute_text(text: str) -> str:
    """Return the text for a quoted attribute, where there can be no tags."""
    return html.escape(plain(text))


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    position = 0
    for match in _HIDDEN.finditer(text):
        if match.start() > position:
            yield text[position : match.start()], False
        position = match.end()
        name = f"U+{ord(match[1]):04X}"
        times = position - match.start()
        yield (name if times == 1 else f"{name} x {times:,}"), True
    if position < len(text):
        yield text[position:], False


def strip_escapes(text: str) -> str:
    """Return the text without terminal escape sequences; other controls stay."""
    return ESCAPES.sub("", text) if "\x1b" in text or "\x9b" in text else text


def cut(text: str, max_chars: int) -> str:
    """Return at most ``max_chars`` characters, with an ellipsis when something is missing."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + ELLIPSIS


def in_one_line(text: str, max_chars: int) -> str:
    """Return the text on one line: line ends as ``⏎``, tabs as blanks, cut to a length."""
    short = strip_escapes(cut(text, max_chars + 1) if len(text) > max_chars else text)
    return cut(_LINE_ENDS.sub(LINE_END, short).replace("\t", " "), max_chars)


def line_of(text: str) -> str:
    """Return HTML of a text that `in_one_line` made; its line ends are faint."""
    return escape(text).replace(LINE_END, FAINT_LINE_END)
