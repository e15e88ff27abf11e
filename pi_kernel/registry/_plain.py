"""Python values as plain JSON values, for programs whole and for a model's text in brief.

In brief, nested tables, long arrays and bytes are told by a short form, so that a dict which
holds a large table costs neither tokens nor time until a program asks for the rows.
"""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import math
import re
from collections import deque
from collections.abc import Callable, Mapping, ValuesView
from collections.abc import Set as AbstractSet
from decimal import Decimal
from enum import Enum
from functools import cache
from pathlib import PurePath
from typing import Any
from uuid import UUID

from pydantic import BaseModel, TypeAdapter

from pi_kernel.errors import ToolCallError
from pi_kernel.protocol.json import compact_json, well_formed
from pi_kernel.registry._arrays import array_values, scalar_value
from pi_kernel.registry._kinds import Kind, class_attribute, kind_of
from pi_kernel.registry._tables import open_table

__all__ = ("SAFE_INTEGER_BITS", "in_brief", "integer_text", "plain", "safe_repr")

MAX_DEPTH_LEVELS = 200
"""Readers of JSON recurse too: deeper values would fail at some later, unrelated place."""
SAFE_INTEGER_BITS = 14_000
"""Python refuses to write integers of more than 4,300 digits, which is some 14,280 bits."""
BRIEF_ARRAY_ITEMS = 20
BRIEF_TABLE_ROWS = 5

CYCLE = "The result contains itself: a cycle cannot be written as JSON"
NO_JSON = "The result cannot be written as JSON"
TOO_DEEP = f"The result is nested more than {MAX_DEPTH_LEVELS} levels deep"


def plain(value: Any) -> Any:
    """Return the value as JSON: None, bool, int, float, str, lists and dicts with text keys.

    NaN and infinities become None, lone surrogates U+FFFD, sets lists (sorted where possible),
    bytes base64, tables lists of rows, objects of unknown types their repr.

    Raises:
        ToolCallError: If the value contains itself or is nested too deep.
    """
    return _Walk(is_brief=False).plain(value)


def in_brief(value: Any) -> tuple[Any, bool]:
    """Return the value as JSON for a model to read, and whether anything in it was shortened.

    Raises:
        ToolCallError: If the value contains itself or is nested too deep.
    """
    walk = _Walk(is_brief=True)
    return walk.plain(value), walk.has_shortened


def integer_text(value: int) -> str:
    """Return the decimal digits of an integer of any length."""
    return str(value) if value.bit_length() < SAFE_INTEGER_BITS else f"{Decimal(value):f}"


def safe_repr(value: Any) -> str:
    """Return the repr, or the class name where the repr itself fails."""
    try:
        return well_formed(repr(value))
    except Exception:  # noqa: BLE001 - a broken repr is no reason to fail the call
        return f"<{type(value).__name__}>"


# Written as pydantic writes fields of these types, so that schemas hold for results.
_WRITTEN_BY_PYDANTIC: tuple[type[Any], ...] = (
    dt.date,
    dt.time,
    dt.timedelta,
    Decimal,
    UUID,
    complex,
    re.Pattern,
)
_TEXT_MODULES = frozenset({"ipaddress", "pydantic.networks", "pydantic_core._pydantic_core"})


@cache
def _any_adapter() -> TypeAdapter[Any]:
    return TypeAdapter(Any)


_LEAVES: dict[Kind, Callable[[Any], str | None]] = {
    "pandas-missing": lambda _: None,
    "pandas-timestamp": lambda value: value.isoformat(),
    "pandas-span": str,
}
# Their declared type keeps what isinstance() tells of an Any from becoming a list of unknowns.
_MAPPING: tuple[type[Any], ...] = (Mapping,)
_TUPLE: tuple[type[Any], ...] = (tuple,)
_BYTES: tuple[type[Any], ...] = (bytes, bytearray, memoryview)
_CONTAINERS: tuple[type[Any], ...] = (
    Mapping,
    BaseModel,
    list,
    tuple,
    AbstractSet,
    ValuesView,
    deque,
)


class _Walk:
    """One pass over a value."""

    __slots__ = ("_is_brief", "_open", "has_shortened")

    def __init__(self, *, is_brief: bool) -> None:
        self._open: set[int] = set()
        self._is_brief = is_brief
        self.has_shortened = False

    def plain(self, value: Any) -> Any:
        cls = type(value)  # pyright: ignore[reportUnknownVariableType]  # of anything
        if cls is str:
            return value if value.isascii() else well_formed(value)
        if value is None or cls is bool:
            return value
        if cls is int:
            return value if value.bit_length() < SAFE_INTEGER_BITS else integer_text(value)
        if cls is float:
            return value if math.isfinite(value) else None
        if cls is dict or cls is list or cls is tuple:
            return self._container(value)
        return self._other(value)

    def _container(self, value: Any) -> Any:
        key = id(value)
        if key in self._open:
            raise ToolCallError(CYCLE)
        if len(self._open) >= MAX_DEPTH_LEVELS:
            raise ToolCallError(TOO_DEEP)
        self._open.add(key)
        try:
            if isinstance(value, _MAPPING):
                return {_key(name): self.plain(item) for name, item in value.items()}
            if isinstance(value, BaseModel):
                return self.plain(self._model(value))
            if _is_record(value):
                names = [field.name for field in dataclasses.fields(value)]
                return {name: self.plain(getattr(value, name)) for name in names}
            items = [self.plain(item) for item in value]
            return _in_order(items) if isinstance(value, set | frozenset) else items
        finally:
            self._open.discard(key)

    def _model(self, model: BaseModel) -> Any:
        to_wire = class_attribute(model, "to_wire")
        if to_wire is not None:
            return to_wire(model)
        try:
            return model.model_dump(mode="json", by_alias=True, warnings=False, fallback=self.plain)
        except ValueError:
            # For one, bytes that are no UTF-8: ask for Python objects and convert them here.
            try:
                return model.model_dump(by_alias=True, warnings=False)
            except ValueError as error:
                is_cycle = "Circular reference" in str(error)
                raise ToolCallError(CYCLE if is_cycle else f"{NO_JSON}: {error}") from error

    def _other(self, value: Any) -> Any:  # noqa: PLR0911 - one line a type
        kind = kind_of(value)
        if kind is not None:
            return self._of_library(value, kind)
        if isinstance(value, Enum):
            return self.plain(value.value)
        if isinstance(value, str):
            return well_formed(str.__str__(value))
        if isinstance(value, int):
            return self.plain(int(value))
        if isinstance(value, float):
            return self.plain(float(value))
        if isinstance(value, _BYTES):
            return self._bytes(value)
        if isinstance(value, _CONTAINERS) or _is_record(value):
            return self._container(value)
        to_wire = class_attribute(value, "to_wire")
        if to_wire is not None:
            return self.plain(to_wire(value))
        return _leaf_text(value)

    def _bytes(self, value: Any) -> str:
        if self._is_brief:
            self.has_shortened = True
            return f"<{memoryview(value).nbytes} bytes>"
        return base64.b64encode(value).decode("ascii")

    def _of_library(self, value: Any, kind: Kind) -> Any:
        make = _LEAVES.get(kind)
        if make is not None:
            return make(value)
        if kind == "numpy-scalar":
            return scalar_value(value, self.plain)
        if kind == "arrow-scalar":
            return self.plain(value.as_py())
        return self._array(value) if kind == "numpy-array" else self._table(value, kind)

    def _table(self, value: Any, kind: Kind) -> Any:
        table = open_table(value, kind)
        if table is None:
            return safe_repr(value)
        if self._is_brief and table.row_count > BRIEF_TABLE_ROWS:
            self.has_shortened = True
            left_out = f"... {table.row_count - BRIEF_TABLE_ROWS} more rows"
            return [*table.first(BRIEF_TABLE_ROWS).rows(self.plain), left_out]
        return table.rows(self.plain)

    def _array(self, array: Any) -> Any:
        if self._is_brief and array.size > BRIEF_ARRAY_ITEMS:
            self.has_shortened = True
            return f"<{type(array).__name__} {array.dtype}, shape {array.shape}>"
        return array_values(array, self.plain)


def _leaf_text(value: Any) -> str:
    """Return the text of a value without parts."""
    if isinstance(value, _WRITTEN_BY_PYDANTIC):
        text: str = _any_adapter().dump_python(value, mode="json")
        return text
    if isinstance(value, PurePath) or type(value).__module__ in _TEXT_MODULES:
        return well_formed(str(value))
    # Nothing else goes to pydantic: it asks instances for attributes, and proxies have them all.
    return safe_repr(value)


def _is_record(value: object) -> bool:
    """Whether the value is a dataclass's instance."""
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _key(key: Any) -> str:
    """Return a dict's key as text, as JSON writers do; others by their value's text."""
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return well_formed(str.__str__(key))
    if isinstance(key, _TUPLE):
        return ".".join(map(_key, key))
    if isinstance(key, bool) or key is None:
        return compact_json(key)
    if isinstance(key, int):
        return integer_text(int(key))
    if isinstance(key, float):
        return repr(float(key))
    value = plain(key)
    return value if isinstance(value, str) else compact_json(value)


def _in_order(items: list[Any]) -> list[Any]:
    """Return a set's items in an order that does not change from run to run."""
    try:
        return sorted(items)
    except TypeError:
        return sorted(items, key=compact_json)
