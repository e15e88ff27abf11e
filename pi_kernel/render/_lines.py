"""A long text as preformatted lines: some are seen at once, more open, the rest is counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pi_kernel.render import _style as style
from pi_kernel.render._html import Room, fold, pre, span, utf8_bytes
from pi_kernel.render._text import TAG, escape
from pi_kernel.render.formats import counted, size

__all__ = ("Convert", "Picked", "escape_lines", "pick_lines", "shown_lines")

MAX_LINES = 2_000
MAX_CHARS = 60_000
MAX_LINE_CHARS = 2_000
SHORTER_LINE_CHARS = (400, 80)
"""Tried in turn when a line has so many marks that it does not fit."""
FRAME_BYTES = 700
"""Of the tags around the lines."""

Convert = Callable[[Sequence[str]], list[str]]
"""Makes HTML of lines, one for one."""


@dataclass(frozen=True, slots=True)
class Picked:
    """Lines of a text that may be shown."""

    lines: list[str]
    first: int
    """Index of the first of them in the text."""
    total: int
    n_bytes: int
    """Of the whole text."""


def escape_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines as HTML that shows them as they are."""
    return [escape(line) for line in lines]


def pick_lines(text: str, *, from_end: bool = False) -> Picked:
    """Return the first or the last lines of a text; the cost is that of the lines, not the text's.

    A newline at the end does not begin a line.
    """
    total = text.count("\n") + (not text.endswith("\n"))
    if not text:
        return Picked([], 0, 0, 0)
    n_bytes = utf8_bytes(text)
    if from_end:
        part = text[-MAX_CHARS:] if len(text) > MAX_CHARS else text
        lines = part.removesuffix("\n").split("\n")
        if len(part) < len(text):
            # The first one may lack its beginning.
            lines = lines[1:] or [text.removesuffix("\n").rpartition("\n")[2]]
        lines = lines[-MAX_LINES:]
        return Picked(lines, total - len(lines), total, n_bytes)
    part = text[:MAX_CHARS]
    lines = part.removesuffix("\n").split("\n")
    if len(part) < len(text):
        lines = lines[:-1] or [text.partition("\n")[0]]
    return Picked(lines[:MAX_LINES], 0, total, n_bytes)


def shown_lines(
    picked: Picked,
    room: Room,
    *,
    convert: Convert = escape_lines,
    visible: int,
    from_end: bool = False,
    look: str = style.PRE,
) -> tuple[str, str]:
    """Return HTML of the lines, and a sentence about what is missing, which may be empty.

    Args:
        picked: The lines.
        room: What they may use; it shrinks.
        convert: Makes HTML of them.
        visible: How many are seen before anything is opened.
        from_end: Whether the last lines are the ones to see.
        look: The style of the text.
    """
    html = converted(picked.lines, convert)
    if from_end:
        html.reverse()
    room.left -= FRAME_BYTES
    kept: list[str] = []
    for line in html:
        if not room.take(line + "\n"):
            if not kept:
                kept = shorter(picked.lines[-1 if from_end else 0], room)
            break
        kept.append(line)
    at_once, folded = kept[:visible], kept[visible:]
    missing = picked.total - len(kept)
    note = ""
    if missing:
        which = "earlier" if from_end else "more"
        are = "is" if missing == 1 else "are"
        note = (
            f"{counted(missing, f'{which} line')} {are} not kept here; {size(picked.n_bytes)} in all."
        )
    if not kept:
        return "", note
    if from_end:
        at_once.reverse()
        folded.reverse()
        before = fold(_label(len(folded), "earlier"), pre(folded, look)) if folded else ""
        return before + pre(at_once, look), note
    after = fold(_label(len(folded), "more"), pre(folded, look)) if folded else ""
    return pre(at_once, look) + after, note


def _label(n: int, which: str) -> str:
    return counted(n, f"{which} line")


def converted(lines: Sequence[str], convert: Convert) -> list[str]:
    """Return HTML of the lines; long ones are cut and say how much is missing."""
    html = convert([line[:MAX_LINE_CHARS] for line in lines])
    return [
        shown if len(line) <= MAX_LINE_CHARS else shown + more(line[MAX_LINE_CHARS:])
        for shown, line in zip(html, lines, strict=True)
    ]


def more(rest: str) -> str:
    """Return a small mark that says how much of a line is missing."""
    return span(TAG, f"… {size(utf8_bytes(rest))} more")


def shorter(line: str, room: Room) -> list[str]:
    """Return the beginning of a line that does not fit as a whole; empty when not even that fits."""
    for n_chars in SHORTER_LINE_CHARS:
        html = escape(line[:n_chars]) + more(line[n_chars:])
        if room.take(html):
            return [html]
    return []
