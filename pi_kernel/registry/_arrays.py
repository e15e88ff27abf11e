"""numpy arrays: a bounded text for a model, nested lists for programs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ("array_text", "array_values", "scalar_value")

SHOWN_WHOLE_ITEMS = 200
"""Arrays up to this size are printed whole, larger ones by their edges."""
EDGE_ITEMS = 3
LINE_CHARS = 100


def array_text(array: Any) -> str:
    """Return the type, the shape, and the values or their edges."""
    numpy = sys.modules["numpy"]
    head = f"{type(array).__name__}: {array.dtype}, shape {array.shape}"
    with numpy.printoptions(
        threshold=SHOWN_WHOLE_ITEMS, edgeitems=EDGE_ITEMS, linewidth=LINE_CHARS
    ):
        return f"{head}\n{array}"


def array_values(array: Any, convert: Callable[[Any], Any]) -> Any:
    """Return nested lists of JSON values; an array without dimensions gives its one value."""
    numpy = sys.modules["numpy"]
    kind = array.dtype.kind
    if kind in "biu":
        return array.tolist()
    if kind == "f":
        # Wider floats than Python's would stay numpy's own scalars.
        narrow = (
            array.astype(float) if array.dtype.itemsize > numpy.dtype(float).itemsize else array
        )
        # A masked array's list has None where values are masked, so that is no reason to convert.
        return narrow.tolist() if numpy.isfinite(narrow).all() else convert(narrow.tolist())
    if kind in "Mm":
        return _each(array.tolist(), [scalar_value(item, convert) for item in array.flat])
    return convert(array.tolist())


_LIST: tuple[type[Any], ...] = (list,)


def _each(shape: Any, values: list[Any]) -> Any:
    """Put the values, in order, where the leaves of nested lists are."""
    rest = iter(values)

    def fill(part: Any) -> Any:
        return [fill(item) for item in part] if isinstance(part, _LIST) else next(rest)

    return fill(shape)


def scalar_value(scalar: Any, convert: Callable[[Any], Any]) -> Any:
    """Return the JSON value of a numpy scalar."""
    kind = scalar.dtype.kind
    if kind in "Mm":
        # Not .item(): nanoseconds would become a bare integer.
        text = str(scalar)
        return None if text == "NaT" else text
    if kind == "f":
        return convert(float(scalar))
    return convert(scalar.item())
