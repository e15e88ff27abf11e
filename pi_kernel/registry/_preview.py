"""The bounded text of a table that a model reads: shape, columns, first and last rows."""

from __future__ import annotations

from collections.abc import Sequence

from pi_kernel.protocol.json import compact_json
from pi_kernel.registry._plain import in_brief
from pi_kernel.registry._tables import Column, Table

__all__ = ("table_text",)

MAX_ROWS = 20
MAX_COLUMNS = 12
MAX_TEXT_BYTES = 4 * 1024
MAX_COLUMN_LIST_CHARS = 1024
MAX_NAME_CHARS = 60
MAX_CELL_CHARS = 60


def table_text(table: Table) -> str:
    """Return the preview, at most some 4 KB whatever the table holds."""
    lines = [_headline(table)]
    if not table.is_single:
        lines.append(_column_list([*table.index, *table.columns]))
    shown = [*table.index, *table.columns[: MAX_COLUMNS - min(len(table.index), MAX_COLUMNS - 1)]]
    shown = shown[:MAX_COLUMNS]
    hidden_count = len(table.index) + len(table.columns) - len(shown)
    if table.row_count and shown:
        lines.append("")
        if len(shown) > 1 or not table.is_single:
            lines.append(" | ".join(_cut(column.name, MAX_NAME_CHARS) for column in shown))
        if hidden_count:
            lines.insert(-1, f"(the first {len(shown)} of {len(shown) + hidden_count} columns)")
        room = MAX_TEXT_BYTES - sum(len(line.encode()) + 1 for line in lines)
        lines += _row_lines(shown, table.row_count, room_bytes=room)
    return "\n".join(lines)


def _headline(table: Table) -> str:
    title = _cut(table.title, MAX_NAME_CHARS)
    if table.is_single:
        return f"{title}: {_count(table.row_count, 'value')} of {table.columns[0].dtype}"
    rows, columns = _count(table.row_count, "row"), _count(len(table.columns), "column")
    return f"{title}: {rows} x {columns}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _column_list(columns: Sequence[Column]) -> str:
    parts: list[str] = []
    room = MAX_COLUMN_LIST_CHARS
    for column in columns:
        part = f"{_cut(column.name, MAX_NAME_CHARS)} ({_cut(column.dtype, MAX_NAME_CHARS)})"
        room -= len(part)
        if room < 0:
            parts.append(f"... {len(columns) - len(parts)} more")
            break
        parts.append(part)
    return f"Columns: {', '.join(parts)}" if parts else "No columns"


def _row_lines(columns: Sequence[Column], row_count: int, *, room_bytes: int) -> list[str]:
    """Return as many rows as fit: all, or the first and the last ones around a note."""
    if row_count <= MAX_ROWS:
        head, tail = _rows(columns, 0, row_count), []
    else:
        half = MAX_ROWS // 2
        head = _rows(columns, 0, half)
        tail = _rows(columns, row_count - half, row_count)
    while len(head) + len(tail) > 1 and _bytes_of(head) + _bytes_of(tail) > room_bytes:
        if not tail and len(head) == row_count:
            middle = len(head) // 2
            head, tail = head[:middle], head[middle:]
        if len(head) > len(tail):
            head.pop()
        else:
            tail.pop(0)
    left_out = row_count - len(head) - len(tail)
    if not left_out:
        return head + tail
    return [*head, f"... {_count(left_out, 'more row')} ...", *tail]


def _bytes_of(lines: Sequence[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)


def _rows(columns: Sequence[Column], start: int, stop: int) -> list[str]:
    cells = [[_cell(value) for value in column.read(start, stop)] for column in columns]
    return [" | ".join(row) for row in zip(*cells, strict=True)]


def _cell(value: object) -> str:
    short, _ = in_brief(value)
    return _cut(short if isinstance(short, str) else compact_json(short), MAX_CELL_CHARS)


def _cut(text: str, max_chars: int) -> str:
    # Cut first: a cell may hold a whole file.
    cut = text if len(text) <= max_chars else text[: max_chars - 1] + "…"
    return cut.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
