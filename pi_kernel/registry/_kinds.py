"""Which library type a value has, told by names, so that no library is imported to find out."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Literal

__all__ = ("Kind", "class_attribute", "kind_of")

Kind = Literal[
    "pandas-frame",
    "pandas-series",
    "pandas-index",
    "pandas-array",
    "pandas-missing",
    "pandas-timestamp",
    "pandas-span",
    "polars-frame",
    "polars-series",
    "polars-lazy",
    "arrow-table",
    "arrow-array",
    "arrow-scalar",
    "numpy-array",
    "numpy-scalar",
    "image",
    "figure",
    "axes",
]

_KINDS: dict[tuple[str, str], Kind] = {
    ("pandas", "DataFrame"): "pandas-frame",
    ("pandas", "Series"): "pandas-series",
    ("pandas", "Index"): "pandas-index",
    ("pandas", "ExtensionArray"): "pandas-array",
    ("pandas", "NAType"): "pandas-missing",
    ("pandas", "NaTType"): "pandas-missing",
    ("pandas", "Timestamp"): "pandas-timestamp",
    ("pandas", "Period"): "pandas-span",
    ("pandas", "Interval"): "pandas-span",
    ("polars", "DataFrame"): "polars-frame",
    ("polars", "Series"): "polars-series",
    ("polars", "LazyFrame"): "polars-lazy",
    ("pyarrow", "Table"): "arrow-table",
    ("pyarrow", "RecordBatch"): "arrow-table",
    ("pyarrow", "Array"): "arrow-array",
    ("pyarrow", "ChunkedArray"): "arrow-array",
    ("pyarrow", "Scalar"): "arrow-scalar",
    ("numpy", "ndarray"): "numpy-array",
    ("numpy", "generic"): "numpy-scalar",
    ("PIL", "Image"): "image",
    ("matplotlib", "Figure"): "figure",
    ("matplotlib", "Axes"): "axes",
}

_REMEMBERED_TYPES = 1024


def kind_of(value: object) -> Kind | None:
    """Return the kind of a value's type or of the nearest base that has one, or None."""
    return _kind_of_type(type(value))  # type: ignore[arg-type]  # types can be hashed


def class_attribute(value: object, name: str) -> Any:
    """Return an attribute of the value's class, or None: objects may make up any attribute."""
    return getattr(type(value), name, None)


@lru_cache(maxsize=_REMEMBERED_TYPES)
def _kind_of_type(cls: type[object]) -> Kind | None:
    for base in cls.__mro__:
        package = base.__module__.partition(".")[0]
        kind = _KINDS.get((package, base.__name__))
        if kind is not None:
            return kind
    return None
