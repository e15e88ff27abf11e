"""A trace as a static table of calls, and as a tree of text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pi_kernel.render import _style as style
from pi_kernel.render._html import Room, div, utf8_bytes
from pi_kernel.render._status import facts_html, time_of
from pi_kernel.render._text import escape, in_one_line, plain
from pi_kernel.render._trace_lines import CallLine, Gap, TraceNodeLike, flatten, shown_items, wanted
from pi_kernel.render._trace_table import (
    AMBER,
    BLUE,
    GREY,
    RED,
    clock_of,
    colours_of,
    gap_text,
    name_and_arguments,
    trace_table,
)
from pi_kernel.render._tree import branches
from pi_kernel.render.formats import count, counted, duration, money

__all__ = ("TraceNodeLike", "trace_bundle", "trace_text")

MAX_HTML_BYTES = 50 * 1024
FRAME_BYTES = 700
"""Of the tags around the table and the sentences below it."""
MAX_TITLE_CHARS = 80
EMPTY = "No calls yet. Calls made by cells and models appear here."
WORD_CHARS = 11
_BARS = (
    (BLUE, "blue for calls that ran"),
    (RED, "red for failed calls"),
    (AMBER, "amber for refused calls"),
    (GREY, "grey for time in a queue"),
)


def trace_bundle(nodes: Sequence[TraceNodeLike], *, title: str) -> dict[str, str]:
    """Return the MIME bundle of a trace: a table that opens per call, and a tree of text.

    Of more than 200 calls the first and the last 100 are shown, and up to 50 that failed between.

    Args:
        nodes: The root calls with the calls below them.
        title: What the trace is of, such as ``cell-14``.
    """
    lines = flatten(nodes)
    return {"text/html": _html(lines, title), "text/plain": _text(lines, title)}


def trace_text(nodes: Sequence[TraceNodeLike], *, title: str) -> str:
    """Return the trace for a terminal: one line a call, below its caller."""
    return _text(flatten(nodes), title)


def _html(lines: Sequence[CallLine], title: str) -> str:
    name = escape(in_one_line(title, MAX_TITLE_CHARS))
    facts = facts_html(_facts(lines)) if lines else ""
    head = f'<summary style="{style.HEAD}"><b>Trace</b> {name} {facts}</summary>'
    if not lines:
        body = div("padding:8px 12px;opacity:0.75", escape(EMPTY))
    else:
        room = Room(MAX_HTML_BYTES - FRAME_BYTES - utf8_bytes(head))
        table, left_out = trace_table(lines, room)
        foot = " ".join(_sentences(lines, left_out))
        body = table + (div(style.FOOT, escape(foot)) if foot else "")
    return f'<details open style="{style.CARD}">{head}{body}</details>'


def _facts(lines: Sequence[CallLine]) -> list[str]:
    """Return the totals: calls, failures, time, tokens."""
    facts = [counted(len(lines), "call")]
    failed = sum(line.is_failed for line in lines)
    unfinished = sum(line.call.status == "unfinished" for line in lines)
    if failed:
        facts.append(f"{count(failed)} failed")
    if unfinished:
        facts.append(f"{count(unfinished)} unfinished")
    clock = clock_of(lines)
    if clock is not None:
        facts.append(duration(clock.total_ms))
    usages = [usage for line in lines if (usage := line.call.usage) is not None]
    if usages:
        facts.append(f"{count(sum(usage.total_tokens for usage in usages))} tokens")
        facts.append(money(sum(usage.cost.total for usage in usages)))
    return facts


def _sentences(lines: Sequence[CallLine], left_out: int) -> Iterator[str]:
    if left_out:
        are = "is" if left_out == 1 else "are"
        yield f"{counted(left_out, 'call')} of {count(len(lines))} {are} not shown here."
    elif (clock := clock_of(lines)) is not None:
        seen = set[str]().union(*(colours_of(line.call, clock) for line in lines))
        bars = [meaning for colour, meaning in _BARS if colour in seen]
        if len(bars) > 1:
            yield f"Bars are {', '.join(bars[:-1])} and {bars[-1]}."
    unfinished = sum(line.call.status == "unfinished" for line in lines)
    if unfinished:
        was = "was" if unfinished == 1 else "were"
        yield f"Saved while {counted(unfinished, 'call')} {was} open."


def _text(lines: Sequence[CallLine], title: str) -> str:
    if not lines:
        return EMPTY
    head = f"Trace {in_one_line(title, MAX_TITLE_CHARS)}: {', '.join(_facts(lines))}"
    items = list(shown_items(lines, dict.fromkeys(wanted(lines), 0), room_bytes=0, gap_bytes=0))
    calls = [item for item in items if isinstance(item, CallLine)]
    drawn = iter(branches([item.depth for item in calls]))
    rows = [_text_row(item, drawn) for item in items]
    return "\n".join([plain(head), *rows])


def _text_row(item: CallLine | Gap, drawn: Iterator[str]) -> str:
    if isinstance(item, Gap):
        return f"({gap_text(item)})"
    call: Any = item.call
    name, arguments = name_and_arguments(item)
    time = time_of(call.status, call.duration_ms)
    row = f"{item.word:<{WORD_CHARS}} {time:>11}  {next(drawn)}{name} {arguments}"
    return plain(row.rstrip())
