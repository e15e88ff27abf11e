"""A long text as preformatted lines: some are seen at once, more open, the rest is counted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pi_kernel.render import _style as style
from pi_kernel.render._html import Room, fold, pre, span, utf8_bytes
from pi_kernel.render._text import TAG, escape_in_pre
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
    """Lines of a text that may be shown: its first ones, or its last."""

    lines: list[str]
    total: int
    """How many lines the whole text has."""
    n_bytes: int
    """Of the whole text."""
    from_end: bool = False


def escape_lines(lines: Sequence[str]) -> list[str]:
    """Return the lines as HTML that shows them as they are."""
    return [escape_in_pre(line) for line in lines]


def pick_lines(text: str, *, from_end: bool = False) -> Picked:
    """Return the first or the last lines of a text; the cost is that of the lines, not the text's.

    A newline at the end does not begin a line.
    """
    if not text:
        return Picked([], 0, 0, from_end)
    total = text.count("\n") + (not text.endswith("\n"))
    n_bytes = utf8_bytes(text)
    is_cut = len(text) > MAX_CHARS
    if from_end:
        lines = text[-MAX_CHARS:].removesuffix("\n").split("\n")
        if is_cut:
            # The first one may lack its beginning.
            lines = lines[1:] or [text.removesuffix("\n").rpartition("\n")[2]]
        return Picked(lines[-MAX_LINES:], total, n_bytes, from_end)
    lines = text[:MAX_CHARS].removesuffix("\n").split("\n")
    if is_cut:
        lines = lines[:-1] or [text.partition("\n")[0]]
    return Picked(lines[:MAX_LINES], total, n_bytes)


def shown_lines(
    picked: Picked,
    room: Room,
    *,
    convert: Convert = escape_lines,
    visible: int,
    look: str = style.PRE,
) -> tuple[str, str]:
    """Return HTML of the lines, and a sentence about what is missing, which may be empty.

    Args:
        picked: The lines.
        room: What they may use; it shrinks.
        convert: Makes HTML of them.
        visible: How many are seen before anything is opened; the last ones if these were picked.
        look: The style of the text.
    """
    room.left -= FRAME_BYTES
    kept = _fitting(picked, convert, room)
    which = "earlier" if picked.from_end else "more"
    missing = picked.total - len(kept)
    note = ""
    if missing:
        are = "is" if missing == 1 else "are"
        lines = counted(missing, f"{which} line")
        note = f"{lines} {are} not kept here; {size(picked.n_bytes)} in all."
    if not kept:
        return "", note
    n_folded = max(0, len(kept) - visible)
    label = counted(n_folded, f"{which} line")
    if picked.from_end:
        before = fold(label, pre(kept[:n_folded], look)) if n_folded else ""
        return before + pre(kept[n_folded:], look), note
    after = fold(label, pre(kept[visible:], look)) if n_folded else ""
    return pre(kept[:visible], look) + after, note


def _fitting(picked: Picked, convert: Convert, room: Room) -> list[str]:
    """Return HTML of the lines that fit, in order."""
    html = converted(picked.lines, convert)
    if picked.from_end:
        html.reverse()
    kept: list[str] = []
    for line in html:
        if not room.take(line + "\n"):
            break
        kept.append(line)
    if html and not kept:
        kept = _shorter(picked.lines[-1 if picked.from_end else 0], room)
    if picked.from_end:
        kept.reverse()
    return kept


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


def _shorter(line: str, room: Room) -> list[str]:
    """Return the beginning of a line that does not fit; empty when not even that fits."""
    for n_chars in SHORTER_LINE_CHARS:
        html = escape_in_pre(line[:n_chars]) + more(line[n_chars:])
        if room.take(html):
            return [html]
    return []
