"""One view of the tables and columns of pandas, polars and Arrow: columns that read row ranges.

Values come out as the library's Python objects; whoever reads them makes JSON of them. Nothing
is read before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pi_kernel.registry._kinds import Kind

__all__ = ("Column", "Table", "open_table")

ReadRows = Callable[[int, int], list[Any]]
"""Takes the first row and the row after the last one."""


@dataclass(frozen=True, slots=True)
class Column:
    """A named column."""

    name: str
    dtype: str
    read: ReadRows
    is_json: bool = False
    """Whether every value is a JSON value as it is."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table, or one column with nothing around it (``is_single``)."""

    title: str
    row_count: int
    columns: tuple[Column, ...]
    index: tuple[Column, ...] = ()
    """Row labels that say more than the position."""
    is_single: bool = False

    def first(self, row_count: int) -> Table:
        """Return a view of the first rows only."""
        return replace(self, row_count=min(row_count, self.row_count))

    def rows(self, convert: Callable[[Any], Any]) -> list[Any]:
        """Return every row as a dict by column name; a single column gives its bare values."""
        read = [*self.index, *self.columns]
        values = [_converted(column, self.row_count, convert) for column in read]
        if self.is_single and not self.index:
            return values[0]
        if not read:
            return [{} for _ in range(self.row_count)]
        names = unique_names(column.name for column in read)
        return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def _converted(column: Column, row_count: int, convert: Callable[[Any], Any]) -> list[Any]:
    values = column.read(0, row_count)
    return values if column.is_json else [convert(value) for value in values]


def unique_names(names: Iterable[str]) -> list[str]:
    """Return the names with ``.1``, ``.2``, ... put after repeated ones."""
    unique: dict[str, None] = {}
    for name in names:
        candidate, number = name, 0
        while candidate in unique:
            number += 1
            candidate = f"{name}.{number}"
        unique[candidate] = None
    return list(unique)


def open_table(value: Any, kind: Kind) -> Table | None:
    """Return the table view of a value, or None when its kind is none of a table."""
    opener = _OPENERS.get(kind)
    return None if opener is None else opener(value)


# -- pandas ----------------------------------------------------------------------------------------


_TUPLE: tuple[type[Any], ...] = (tuple,)


def _label(label: Any, otherwise: str = "") -> str:
    """Return a column's label as text; the parts of a label of several levels are joined."""
    if label is None:
        return otherwise
    if isinstance(label, _TUPLE):
        return ".".join(filter(None, map(str, label)))
    return str(label)


def _pandas_column(values: Any, name: str) -> Column:
    dtype = values.dtype
    by_position = getattr(values, "iloc", values)
    return Column(
        name=name,
        dtype=str(dtype),
        read=lambda start, stop: by_position[start:stop].tolist(),
        # Extension types may hold missing values; numpy's integers and booleans cannot.
        is_json=type(dtype).__module__.startswith("numpy") and dtype.kind in "biu",
    )


def _pandas_labels(index: Any) -> tuple[Column, ...]:
    is_position = (
        type(index).__name__ == "RangeIndex"
        and index.start == 0
        and index.step == 1
        and index.name is None
    )
    if is_position:
        return ()
    many = index.nlevels > 1
    return tuple(
        _pandas_column(index.get_level_values(level), _label(name, _level_name(level, many=many)))
        for level, name in enumerate(index.names)
    )


def _level_name(level: int, *, many: bool) -> str:
    return f"level_{level}" if many else "index"


def _open_pandas_frame(frame: Any) -> Table:
    return Table(
        title=type(frame).__name__,
        row_count=len(frame),
        columns=tuple(
            _pandas_column(frame.iloc[:, position], _label(name))
            for position, name in enumerate(frame.columns)
        ),
        index=_pandas_labels(frame.index),
    )


def _open_pandas_series(series: Any) -> Table:
    return _single(series, _pandas_column(series, _label(series.name)), series.index)


def _open_pandas_array(values: Any) -> Table:
    return _single(values, _pandas_column(values, _label(getattr(values, "name", None))))


def _single(values: Any, column: Column, index: Any = None) -> Table:
    title = type(values).__name__
    return Table(
        title=f'{title} "{column.name}"' if column.name else title,
        row_count=len(values),
        columns=(column if column.name else replace(column, name="value"),),
        index=() if index is None else _pandas_labels(index),
        is_single=True,
    )


# -- polars ----------------------------------------------------------------------------------------


def _polars_column(series: Any) -> Column:
    return Column(
        name=series.name,
        dtype=str(series.dtype),
        read=lambda start, stop: series.slice(start, stop - start).to_list(),
    )


def _open_polars_frame(frame: Any) -> Table:
    return Table(
        title=type(frame).__name__,
        row_count=frame.height,
        columns=tuple(_polars_column(series) for series in frame.get_columns()),
    )


def _open_polars_series(series: Any) -> Table:
    return _single(series, _polars_column(series))


# -- Arrow -----------------------------------------------------------------------------------------


def _arrow_column(values: Any, name: str) -> Column:
    return Column(
        name=name,
        dtype=str(values.type),
        read=lambda start, stop: values.slice(start, stop - start).to_pylist(),
    )


def _open_arrow_table(table: Any) -> Table:
    names: Sequence[str] = table.schema.names
    return Table(
        title=type(table).__name__,
        row_count=table.num_rows,
        columns=tuple(
            _arrow_column(table.column(position), name) for position, name in enumerate(names)
        ),
    )


def _open_arrow_array(values: Any) -> Table:
    return _single(values, _arrow_column(values, ""))


_OPENERS: dict[Kind, Callable[[Any], Table]] = {
    "pandas-frame": _open_pandas_frame,
    "pandas-series": _open_pandas_series,
    "pandas-index": _open_pandas_array,
    "pandas-array": _open_pandas_array,
    "polars-frame": _open_polars_frame,
    "polars-series": _open_polars_series,
    "arrow-table": _open_arrow_table,
    "arrow-array": _open_arrow_array,
}
