"""A table of pandas, polars or Arrow as static HTML: first and last rows, names and types."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pi_kernel.registry._kinds import kind_of
from pi_kernel.registry._plain import in_brief
from pi_kernel.registry._tables import Column, open_table
from pi_kernel.render import _style as style
from pi_kernel.render._html import Body, Room, div
from pi_kernel.render._json import compact_value
from pi_kernel.render._text import TIMES, cut, escape, in_one_line
from pi_kernel.render.formats import count, counted

__all__ = ("table_body",)

HEAD_ROWS, TAIL_ROWS = 8, 4
MAX_COLUMNS = 12
MAX_CELL_CHARS = 48
MAX_NAME_CHARS = 40
MAX_TYPE_CHARS = 24
MAX_DECIMALS = 6
_TIME = re.compile("date|time", re.IGNORECASE)
MIDNIGHT = "T00:00:00"
WRITTEN_OUT_BELOW = 1e15
EMPTY = "padding:8px 12px;opacity:0.75"
TABLE = f"border-collapse:collapse;border:0;margin:4px 0;table-layout:auto;{style.MONO}"
CELL = "padding:2px 12px;border:0;background:transparent;white-space:pre;line-height:18px"
RULE = "border-top:1px solid rgba(128,128,128,0.20)"
TYPE = "opacity:0.75;font-size:11px;font-weight:normal"


@dataclass(frozen=True, slots=True)
class _Shown:
    """A column with the texts of its cells; None is a missing value."""

    name: str
    dtype: str
    cells: list[str | None]
    is_number: bool
    is_label: bool = False


def table_body(value: Any, room: Room) -> Body | None:
    """Return a view of a table; None when the value is none."""
    kind = kind_of(value)
    table = None if kind is None else open_table(value, kind)
    if table is None:
        return None
    n_rows = table.row_count
    spans = [(0, n_rows)]
    if n_rows > HEAD_ROWS + TAIL_ROWS + 1:
        spans = [(0, HEAD_ROWS), (n_rows - TAIL_ROWS, n_rows)]
    columns = table.columns[:MAX_COLUMNS]
    labels = [_shown(column, spans, is_label=True) for column in table.index[:2]]
    shown = [*(labels or [_positions(spans)]), *(_shown(column, spans) for column in columns)]
    facts = [counted(n_rows, "row")]
    body = Body(facts=facts)
    shape = f"{counted(n_rows, 'row')} {TIMES} {counted(len(table.columns), 'column')}."
    if table.is_single:
        shape = f"{counted(n_rows, 'value')}."
    foot = [f"{table.title[:MAX_NAME_CHARS]}, {shape}"]
    if len(columns) < len(table.columns):
        foot.append(f"The first {len(columns)} columns are shown.")
    gap = len(spans) > 1
    if gap:
        foot.append(f"{count(n_rows - HEAD_ROWS - TAIL_ROWS)} rows between are not shown.")
    if not n_rows and not columns:
        body.html, body.foot = div(EMPTY, "Empty table."), foot
        return body
    html = _html(shown, gap_after=HEAD_ROWS if gap else None)
    if not room.take(html):
        return None
    body.html = html
    body.foot = foot
    return body


def _positions(spans: Sequence[tuple[int, int]]) -> _Shown:
    numbers: list[str | None] = [str(row) for start, stop in spans for row in range(start, stop)]
    return _Shown("", "", numbers, is_number=True, is_label=True)


def _shown(column: Column, spans: Sequence[tuple[int, int]], *, is_label: bool = False) -> _Shown:
    values = [value for start, stop in spans for value in column.read(start, stop)]
    name = in_one_line(column.name, MAX_NAME_CHARS)
    dtype = in_one_line(column.dtype, MAX_TYPE_CHARS)
    known = [value for value in values if not _is_missing(value)]
    is_number = bool(known) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in known
    )
    if is_number and any(isinstance(value, float) for value in known):
        cells = _decimals(values)
    else:
        cells = [None if _is_missing(value) else _cell(value) for value in values]
        if _TIME.search(dtype):
            cells = _times(cells)
    return _Shown(name, dtype, cells, is_number=is_number, is_label=is_label)


def _is_missing(value: Any) -> bool:
    if value is None:
        return True
    if isinstance(value, float):
        return math.isnan(value)
    return kind_of(value) == "pandas-missing"


def _decimals(values: Sequence[Any]) -> list[str | None]:
    """Return numbers with the same decimals, so that their points stand below each other."""
    known = [float(value) for value in values if not _is_missing(value)]
    large = max((abs(number) for number in known if math.isfinite(number)), default=0)
    small = min((abs(number) for number in known if number), default=1)
    if large >= WRITTEN_OUT_BELOW or small < 10**-MAX_DECIMALS:
        return [None if _is_missing(value) else f"{value:.6g}" for value in values]
    parts = (f"{number:.{MAX_DECIMALS}f}".partition(".")[2].rstrip("0") for number in known)
    decimals = max(1, max(map(len, parts), default=1))
    return [None if _is_missing(value) else f"{value:.{decimals}f}" for value in values]


def _times(cells: Sequence[str | None]) -> list[str | None]:
    """Return times as people write them; the clock is left out where it is midnight everywhere."""
    if all(cell is None or cell.endswith(MIDNIGHT) for cell in cells):
        return [cell and cell.removesuffix(MIDNIGHT) for cell in cells]
    return [cell and cell.replace("T", " ", 1) for cell in cells]


def _cell(value: Any) -> str:
    if isinstance(value, str):
        return in_one_line(value, MAX_CELL_CHARS)
    short, _ = in_brief(value)
    text = short if isinstance(short, str) else compact_value(short, MAX_CELL_CHARS)
    return cut(in_one_line(text, MAX_CELL_CHARS), MAX_CELL_CHARS)


def _html(columns: Sequence[_Shown], *, gap_after: int | None) -> str:
    head = "".join(_head(column) for column in columns)
    n_rows = len(columns[0].cells)
    rows: list[str] = []
    for row in range(n_rows):
        if row == gap_after:
            rows.append(_row("".join(_td("…", column, style.MUTED) for column in columns)))
        rows.append(_row("".join(_value(column, column.cells[row]) for column in columns)))
    inner = f"<thead>{_row(head)}</thead><tbody>{''.join(rows)}</tbody>"
    return div("overflow:auto", f'<table style="{TABLE}">{inner}</table>')


def _row(cells: str) -> str:
    return f'<tr style="background:transparent">{cells}</tr>'


def _align(column: _Shown) -> str:
    return "text-align:right" if column.is_number else "text-align:left"


def _head(column: _Shown) -> str:
    dtype = f'<br><span style="{TYPE}">{escape(column.dtype)}</span>' if column.dtype else ""
    return f'<th style="{CELL};{_align(column)};font-weight:bold">{escape(column.name)}{dtype}</th>'


def _value(column: _Shown, cell: str | None) -> str:
    if cell is None:
        return _td('<i style="opacity:0.75">null</i>', column)
    return _td(escape(cell), column, style.FAINT if column.is_label else "")


def _td(inner: str, column: _Shown, look: str = "") -> str:
    look = f"{CELL};{_align(column)};{RULE}" + (f";{look}" if look else "")
    return f'<td style="{look}">{inner}</td>'
