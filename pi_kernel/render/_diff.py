"""A change of a file as static HTML: line numbers, signs, grounds, changed words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby, pairwise
from typing import Any, cast

from pi_kernel.render import _style as style
from pi_kernel.render._html import Body, Room, fold, span
from pi_kernel.render._lines import MAX_LINE_CHARS, more
from pi_kernel.render._patch import PatchRow, count_changes, read_patch
from pi_kernel.render._text import escape_in_pre
from pi_kernel.render._words import Ranges, changed_words
from pi_kernel.render.formats import counted
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("diff_body",)

MAX_ROWS = 3_000
VISIBLE_ROWS = 60
MAX_WORD_PAIRS = 100
FRAME_BYTES = 700
NUMBER_CHARS = 5
REMOVED, ADDED = "background:rgba(229,72,77,0.14)", "background:rgba(46,160,67,0.15)"
REMOVED_WORD, ADDED_WORD = "background:rgba(229,72,77,0.30)", "background:rgba(46,160,67,0.34)"
PRE = style.PRE.replace("padding:8px 12px", "padding:8px 0")
"""The grounds of the rows reach both edges."""
GAP = "display:block;background:rgba(128,128,128,0.12);opacity:0.80"


def diff_body(outcome: ToolOutcome, room: Room) -> Body | None:
    """Return the change that an edit made; None when the result does not have one."""
    details = cast("dict[str, Any]", outcome.details if isinstance(outcome.details, dict) else {})
    patch = details.get("patch") or details.get("diff")
    if not isinstance(patch, str):
        return None
    rows, is_whole = read_patch(patch, MAX_ROWS)
    if not rows:
        return None
    added, removed = count_changes(patch)
    html, n_kept = _html(rows, room)
    body = Body(
        html=html,
        word="applied",
        counts=f"+{added:,} -{removed:,}",
        shows_arguments=True,
        shows_details=True,
    )
    if n_kept < len(rows) or not is_whole:
        body.foot.append(
            f"The first {counted(n_kept, 'row')} of the change are kept here;"
            f" it adds {counted(added, 'line')} and removes {removed:,}."
        )
    if any("\t" in row.text for row in rows[:n_kept] if row.sign in "+-"):
        body.foot.append("A tab is shown as →.")
    return body


def _html(rows: Sequence[PatchRow], room: Room) -> tuple[str, int]:
    """Return the rows that fit, and how many these are."""
    room.left -= FRAME_BYTES
    kept: list[str] = []
    words = _word_marks(rows)
    for index, row in enumerate(rows):
        html = _row(row, words.get(index))
        if not room.take(html):
            break
        kept.append(html)
    first = "".join(kept[:VISIBLE_ROWS])
    html = f'<pre style="{PRE}">{first}</pre>'
    if len(kept) > VISIBLE_ROWS:
        label = counted(len(kept) - VISIBLE_ROWS, "more row")
        html += fold(label, f'<pre style="{PRE}">{"".join(kept[VISIBLE_ROWS:])}</pre>')
    return html, len(kept)


def _word_marks(rows: Sequence[PatchRow]) -> dict[int, Ranges]:
    """Return changed words by index, for removed rows that as many added ones follow."""
    marks: dict[int, Ranges] = {}
    pairs_left = MAX_WORD_PAIRS
    runs = [
        (sign, [index for index, _ in run])
        for sign, run in groupby(enumerate(rows), key=lambda item: item[1].sign)
    ]
    for (sign, removed), (next_sign, added) in pairwise(runs):
        if sign != "-" or next_sign != "+" or len(removed) > pairs_left:
            continue
        for old, new in zip(removed, added, strict=False):
            pairs_left -= 1
            ranges = changed_words(rows[old].text, rows[new].text)
            if ranges is not None:
                marks[old], marks[new] = ranges
    return marks


def _row(row: PatchRow, words: Ranges | None) -> str:
    if row.sign in "@\\":
        return span(GAP, f"  ... {escape_in_pre(row.text)}\n")
    old = f"{row.old:>{NUMBER_CHARS - 1}}" if row.old is not None else " " * (NUMBER_CHARS - 1)
    new = f"{row.new:>{NUMBER_CHARS}}" if row.new is not None else " " * NUMBER_CHARS
    numbers = span(style.FAINT, old + new)
    text = row.text[:MAX_LINE_CHARS]
    rest = more(row.text[MAX_LINE_CHARS:]) if len(row.text) > MAX_LINE_CHARS else ""
    if row.sign == " ":
        return f"{numbers}   {escape_in_pre(text)}{rest}\n"
    is_removed = row.sign == "-"
    word_look = REMOVED_WORD if is_removed else ADDED_WORD
    shown = _changed(text, words or [], word_look)
    return span(REMOVED if is_removed else ADDED, f"{numbers} {row.sign} {shown}{rest}\n").replace(
        'style="', 'style="display:block;', 1
    )


def _changed(text: str, words: Ranges, look: str) -> str:
    """Return a changed line: tabs, blanks at its end and its own line end are visible."""
    has_return = text.endswith("\r")
    text = text.removesuffix("\r")
    bare = text.rstrip(" ")
    parts: list[str] = []
    for start, end, is_changed in _segments(words, len(text)):
        part = text[start:end]
        blanks = max(0, end - max(start, len(bare)))
        shown = escape_in_pre(part[: len(part) - blanks]).replace("\t", "→\t") + "·" * blanks
        parts.append(span(look, shown) if is_changed and shown else shown)
    return "".join(parts) + (" [CRLF]" if has_return else "")


def _segments(words: Ranges, length: int) -> Iterable[tuple[int, int, bool]]:
    position = 0
    for start, end in words:
        start, end = min(start, length), min(end, length)  # noqa: PLW2901 - the line may be cut
        if start > position:
            yield position, start, False
        yield start, end, True
        position = end
    if position < length:
        yield position, length, False
