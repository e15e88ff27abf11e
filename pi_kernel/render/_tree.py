"""Nested calls as rows of one line each, in the order in which they started."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pi_kernel.protocol.calls import MAX_RECORDED_CALLS, NestedToolCallRecord
from pi_kernel.render import _style as style
from pi_kernel.render._arguments import call_line
from pi_kernel.render._html import Room, div, muted, span
from pi_kernel.render._status import SHELLS, facts_html, word_cell, word_of
from pi_kernel.render._text import escape, in_one_line, line_of, plain
from pi_kernel.render.formats import count, counted, duration, size

__all__ = ("Row", "facts_of_calls", "rows_of", "text_rows", "tree_html")

INDENT_PX = 16
MAX_INDENTS = 10
MAX_NAME_CHARS = 80
MAX_LINE_CHARS = 90
MAX_ERROR_CHARS = 60
MAX_TEXT_ROWS = 200
_EXIT = re.compile(r"Command exited with code (\d{1,5})\Z")
_SYSTEM_ERROR = re.compile(r"^(E[A-Z]{3,12}: [^,\n]{1,80}), .*")
"""What follows is the call and the path, which stand in the row already."""


@dataclass(frozen=True, slots=True)
class Row:
    """One nested call and how deep it stands below the call that is shown."""

    call: NestedToolCallRecord
    depth: int


def rows_of(calls: Sequence[NestedToolCallRecord], root_id: str) -> list[Row]:
    """Return the calls as a tree, each one after its caller; strays hang below the root."""
    known = {call.id for call in calls}
    below: dict[str, list[NestedToolCallRecord]] = {}
    for call in calls:
        caller = call.id.rpartition("/")[0]
        below.setdefault(caller if caller in known else root_id, []).append(call)
    rows: list[Row] = []
    waiting = [(call, 0) for call in reversed(below.pop(root_id, []))]
    while waiting:
        call, depth = waiting.pop()
        rows.append(Row(call, depth))
        waiting += [(child, depth + 1) for child in reversed(below.pop(call.id, []))]
    # Ids that are not ours may name each other in a circle.
    rows += [Row(call, 0) for strays in below.values() for call in strays]
    return rows


def facts_of_calls(calls: Sequence[NestedToolCallRecord], *, is_complete: bool) -> list[str]:
    """Return how many calls there were and how many failed."""
    if not calls:
        return []
    is_cut = not is_complete and len(calls) >= MAX_RECORDED_CALLS
    facts = [f"more than {counted(len(calls), 'call')}" if is_cut else counted(len(calls), "call")]
    failed = sum(call.status == "error" for call in calls)
    unfinished = sum(call.status == "unfinished" for call in calls)
    if failed:
        facts.append(f"{count(failed)} failed")
    if unfinished:
        facts.append(f"{count(unfinished)} unfinished")
    return facts


def tree_html(rows: Sequence[Row], room: Room) -> str:
    """Return the rows that fit; a last one says how many do not."""
    kept: list[str] = []
    room.left -= 200
    for row in rows:
        html = _row(row)
        if not room.take(html):
            break
        kept.append(html)
    left_out = len(rows) - len(kept)
    if left_out:
        failed = sum(row.call.status == "error" for row in rows[len(kept) :])
        text = counted(left_out, "more call") + (f", {count(failed)} failed" if failed else "")
        kept.append(div(style.ROW, muted(text)))
    return "".join(kept)


def _row(row: Row) -> str:
    call = row.call
    indent = min(row.depth, MAX_INDENTS) * INDENT_PX
    name = f"<b>{escape(in_one_line(call.name, MAX_NAME_CHARS))}</b>"
    look = f"margin-left:{indent}px;{style.MONO}" if indent else style.MONO
    line = span(look, f"{name} {line_of(arguments_line(call))}".rstrip())
    facts = [] if call.duration_ms is None else [duration(call.duration_ms)]
    if call.error:
        facts.append(error_line(call.name, call.error))
    time = facts_html(facts)
    word = word_cell(call.status, word_of_call(call))
    return div(style.ROW, f"{word} {line} {time}".rstrip())


def word_of_call(call: NestedToolCallRecord) -> str:
    """Return the word for a nested call's status; a shell's error text tells its exit status."""
    if call.status == "error" and call.name in SHELLS:
        code = _EXIT.search(call.error or "")
        if code is not None:
            return word_of("error", call.name, {"exit_code": int(code[1])})
    return word_of(call.status)


def error_line(name: str, error: str) -> str:
    """Return the part of an error text that fits into a row: its first line, or a shell's last."""
    lines = [line for line in error.split("\n") if line.strip() and not _EXIT.search(line)]
    if not lines:
        return ""
    line = lines[-1 if name in SHELLS else 0]
    return in_one_line(_SYSTEM_ERROR.sub(r"\1", line), MAX_ERROR_CHARS)


def arguments_line(call: NestedToolCallRecord) -> str:
    """Return a nested call's arguments on one line."""
    if call.arguments is None:
        return f"({size(call.arguments_bytes or 0)} of arguments)" if call.arguments_bytes else ""
    return call_line(call.name, call.arguments, None, max_chars=MAX_LINE_CHARS)


def text_rows(rows: Sequence[Row]) -> Iterator[str]:
    """Give the tree as lines of text."""
    shown = rows[:MAX_TEXT_ROWS]
    for row, branch in zip(shown, branches([row.depth + 1 for row in shown]), strict=True):
        call = row.call
        time = "" if call.duration_ms is None else duration(call.duration_ms)
        name = in_one_line(call.name, MAX_NAME_CHARS)
        line = f"{word_of_call(call):<10}  {time:>8}  {branch}{name} {arguments_line(call)}"
        yield plain(line.rstrip())
    if len(rows) > len(shown):
        yield counted(len(rows) - len(shown), "more call")


def branches(depths: Sequence[int]) -> list[str]:
    """Return the drawing in front of each row of a tree, from how deep each row stands.

    Example:
        >>> branches([0, 1, 2, 1])
        ['', '├─ ', '│  └─ ', '└─ ']
    """
    drawn: list[str] = []
    goes_on: list[bool] = []
    """By depth: whether a later row stands there before the tree comes back above it."""
    for depth in reversed(depths):
        shown = min(depth, MAX_INDENTS)
        has_next = len(goes_on) > shown and goes_on[shown]
        del goes_on[shown + 1 :]
        goes_on += [False] * (shown + 1 - len(goes_on))
        bars = "".join("│  " if goes_on[level] else "   " for level in range(1, shown))
        drawn.append(bars + ("├─ " if has_next else "└─ ") if shown else "")
        goes_on[shown] = True
    drawn.reverse()
    return drawn
