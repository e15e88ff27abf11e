"""A trace as a static table: call, status, time and, while there are few, a time bar each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from pi_kernel.render import _style as style
from pi_kernel.render._arguments import call_line
from pi_kernel.render._html import Room, div, muted, pre, span, utf8_bytes
from pi_kernel.render._json import compact_value
from pi_kernel.render._lines import pick_lines
from pi_kernel.render._status import time_of, word_html
from pi_kernel.render._text import (
    ELLIPSIS,
    cut,
    escape,
    escape_in_pre,
    in_one_line,
    line_of,
    strip_escapes,
)
from pi_kernel.render._trace_lines import CallLine, Gap, shown_items, wanted
from pi_kernel.render.formats import count, counted, duration

__all__ = ("colours_of", "gap_text", "trace_table")

MAX_ROWS_WITH_BARS = 40
EDGE_PX = 12
"""Between the edge of the card and what stands in it."""
INDENT_PX, MAX_INDENTS, MARKER_PX = 16, 10, 16
MAX_NAME_CHARS = 60
MAX_LABEL_CHARS, MIN_ARGUMENT_CHARS = 52, 16
MAX_RESULT_LINES = 6
MAX_RESULT_LINE_CHARS = 160
MAX_ARGUMENT_CHARS = 500
FRAME_BYTES = 1_500
GAP_BYTES = 150
MIN_BAR_PERCENT = 1.2
MS_PER_SECOND = 1_000
TABLE = "border-collapse:collapse;border:0;margin:4px 0;width:100%;table-layout:auto;font-size:12px"
FULL_CELL = (
    "padding:1px 8px;border:0;background:transparent;white-space:nowrap;vertical-align:top;"
    "line-height:18px"
)
LEAN_CELL = "padding:1px 8px"
BAR_CELL = (
    "padding:6px 12px 0 8px;border:0;background:transparent;vertical-align:top;font-size:0;"
    "text-align:left;width:38%;min-width:140px"
)
DETAILS = (
    f"margin:0;padding:0 0 6px 16px;background:transparent;border:0;{style.MONO};line-height:18px;"
    "white-space:pre-wrap;width:0;min-width:100%"
)
"""Takes the width of the column instead of making it wider."""
BLUE, RED = "rgba(66,133,220,0.75)", "rgba(229,72,77,0.75)"
GREY, AMBER = "rgba(128,128,128,0.60)", "rgba(214,150,20,0.60)"


@dataclass(frozen=True, slots=True)
class Clock:
    """The time that the bars stand for."""

    start: datetime
    total_ms: float


@dataclass(frozen=True, slots=True)
class _Look:
    clock: Clock | None
    is_full: bool

    @property
    def cell(self) -> str:
        return FULL_CELL if self.is_full else LEAN_CELL


def trace_table(lines: Sequence[CallLine], room: Room) -> tuple[str, int]:
    """Return the table, and how many calls it does not show."""
    is_full = len(lines) <= MAX_ROWS_WITH_BARS
    look = _Look(clock_of(lines) if is_full else None, is_full)
    room.left -= FRAME_BYTES
    plain_rows = {index: _row(lines[index], look, "") for index in wanted(lines)}
    sizes = {index: utf8_bytes(row) for index, row in plain_rows.items()}
    items = list(shown_items(lines, sizes, room_bytes=room.left, gap_bytes=GAP_BYTES))
    left_out = sum(item.n_calls for item in items if isinstance(item, Gap))
    rows = {id(lines[index]): row for index, row in plain_rows.items()}
    room.left -= sum(
        GAP_BYTES if isinstance(item, Gap) else utf8_bytes(rows[id(item)]) for item in items
    )
    shown = [item for item in items if isinstance(item, CallLine)]
    # What failed is what people open.
    for line in sorted(shown, key=lambda line: not line.is_failed):
        row = _row(line, look, _details(line))
        if room.take_change(rows[id(line)], row):
            rows[id(line)] = row
    has_groups = len({line.call.cell_call_id for line in lines if not line.depth}) > 1
    body: list[str] = []
    cell: Any = None
    for item in items:
        if isinstance(item, Gap):
            body.append(_single(muted(gap_text(item)), look))
            continue
        if has_groups and not item.depth and item.call.cell_call_id != cell:
            cell = item.call.cell_call_id
            group = _single(f"<b>{escape(in_one_line(cell or 'session', 40))}</b>", look)
            if room.take(group):
                body.append(group)
        body.append(rows[id(item)])
    table = f'<table style="{TABLE}">{_head(look)}<tbody>{"".join(body)}</tbody></table>'
    return div("overflow:auto", table), left_out


def gap_text(gap: Gap) -> str:
    """Return what a gap leaves out."""
    failed = f", {count(gap.n_failed)} failed" if gap.n_failed else ""
    return counted(gap.n_calls, "more call") + failed


def clock_of(lines: Sequence[CallLine]) -> Clock | None:
    """Return the time from the first start to the last end; None when a start is not known."""
    starts = [line.call.started_at for line in lines]
    if not starts or any(start is None for start in starts):
        return None
    first = min(starts)
    total = max(_offset_ms(line.call, first) + _spent_ms(line.call) for line in lines)
    return Clock(first, max(total, 1.0))


def _offset_ms(call: Any, start: datetime) -> float:
    return float((call.started_at - start).total_seconds()) * MS_PER_SECOND


def _spent_ms(call: Any) -> float:
    return float(call.total_ms or call.duration_ms or 0)


def _head(look: _Look) -> str:
    cell = f"{look.cell};text-align:left;font-weight:normal;opacity:0.75;border-bottom:{style.LINE}"
    titles = ["Call", "Status", "Time"]
    if look.clock is not None:
        titles.append(f"0 to {duration(look.clock.total_ms)}")
    first = cell.replace("1px 8px", f"1px 8px 1px {EDGE_PX}px")
    looks = {"Call": first, "Time": cell.replace("left", "right")}
    cells = [f'<th style="{looks.get(title, cell)}">{escape(title)}</th>' for title in titles]
    return f'<thead><tr style="background:transparent">{"".join(cells)}</tr></thead>'


def _single(inner: str, look: _Look) -> str:
    """Return a row that says one thing."""
    background = ' style="background:transparent"' if look.is_full else ""
    cell = look.cell.replace("1px 8px", f"1px 8px 1px {EDGE_PX}px")
    return f'<tr{background}><td style="{cell};text-align:left">{inner}</td></tr>'


def _row(line: CallLine, look: _Look, details: str) -> str:
    """Return a row; its beginning is the same with and without details, but for the marker."""
    call = line.call
    indent = INDENT_PX * min(line.depth, MAX_INDENTS)
    name, arguments = name_and_arguments(line)
    label = f"<b>{escape(name)}</b> {line_of(arguments)}" if arguments else f"<b>{escape(name)}</b>"
    if look.is_full:
        label = span(style.MONO, label)
    left = EDGE_PX + indent
    if details:
        label = f'<details><summary style="cursor:pointer">{label}</summary>{details}</details>'
    else:
        left += MARKER_PX
    first = f"{look.cell.replace('1px 8px', f'1px 8px 1px {left}px')};text-align:left"
    if not look.is_full:
        first += ";line-height:18px"
    word = word_html(call.status, line.word, quiet=True)
    time = escape(time_of(call.status, call.duration_ms))
    cells = [
        f'<td style="{first}">{label}</td>',
        f'<td style="{look.cell};text-align:left">{word}</td>',
        f'<td style="{look.cell}{";text-align:right" if look.is_full else ""}">{time}</td>',
    ]
    if look.clock is not None:
        bar = _bar(call, look.clock)
        cells.append(f'<td style="{BAR_CELL}">{bar}</td>')
    background = ' style="background:transparent"' if look.is_full else ""
    return f"<tr{background}>{''.join(cells)}</tr>"


def name_and_arguments(line: CallLine) -> tuple[str, str]:
    """Return a call's tool and its arguments, both on one line; deeper ones have less room."""
    call = line.call
    name = in_one_line(call.tool, MAX_NAME_CHARS)
    room = MAX_LABEL_CHARS - len(name) - 2 * min(line.depth, MAX_INDENTS)
    return name, call_line(call.tool, call.args, None, max_chars=max(room, MIN_ARGUMENT_CHARS))


def colours_of(call: Any, clock: Clock) -> list[str]:
    """Return the colours of a call's bar."""
    colour = AMBER if call.status == "blocked" else RED if call.is_error else BLUE
    is_queued = _queued_percent(call, clock) >= MIN_BAR_PERCENT
    return [GREY, colour] if is_queued else [colour]


def _queued_percent(call: Any, clock: Clock) -> float:
    return 100 * min(float(call.queued_ms or 0), _spent_ms(call)) / clock.total_ms


def _bar(call: Any, clock: Clock) -> str:
    start = 100 * _offset_ms(call, clock.start) / clock.total_ms
    width = 100 * _spent_ms(call) / clock.total_ms
    queued = _queued_percent(call, clock)
    start = min(start, 100 - MIN_BAR_PERCENT)
    width = min(max(width - queued, MIN_BAR_PERCENT), 100 - start)
    colour = colours_of(call, clock)[-1]
    parts: list[str] = []
    if queued >= MIN_BAR_PERCENT:
        parts.append(_stroke(start, queued, GREY))
        start, width = 0, min(width, 100 - start - queued)
    parts.append(_stroke(start, width, colour))
    return "".join(parts)


def _stroke(start: float, width: float, colour: str) -> str:
    place = f"margin-left:{start:.1f}%;width:{width:.1f}%"
    return f'<span style="{style.BAR};{place};background:{colour}"></span>'


def _details(line: CallLine) -> str:
    """Return what a row says when it is opened."""
    call = line.call
    facts = [in_one_line(call.id, MAX_NAME_CHARS)]
    if call.started_at is not None:
        facts.append(f"started {call.started_at.astimezone():%H:%M:%S}")
    if call.queued_ms:
        facts.append(f"{duration(call.queued_ms)} queued")
    lines = [muted(", ".join(facts))]
    if name_and_arguments(line)[1].endswith(ELLIPSIS):
        lines.append(muted(compact_value(call.args, MAX_ARGUMENT_CHARS)))
    picked = pick_lines(call.text)
    lines += [
        escape_in_pre(cut(strip_escapes(text), MAX_RESULT_LINE_CHARS))
        for text in picked.lines[:MAX_RESULT_LINES]
    ]
    if picked.total > MAX_RESULT_LINES:
        lines.append(muted(counted(picked.total - MAX_RESULT_LINES, "more line")))
    return pre(lines, DETAILS)
