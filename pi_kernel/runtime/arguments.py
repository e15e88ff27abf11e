"""Arguments as plain JSON: what people and shims pass becomes what a model could have sent.

The only module that knows which Python values have a JSON form. It knows nothing of schemas.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import os
import sys
from enum import Enum
from typing import Any, Self, cast

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import JsonObject, JsonValue
from pi_kernel.runtime._json_text import MAX_DEPTH
from pi_kernel.runtime._kinds import is_array, is_mapping, is_object, is_sequence, non_finite_name

__all__ = ("ArgumentsNotJson", "copy_json", "to_json_arguments")

_SCALARS = frozenset((str, int, bool, type(None)))
"""Exact types that are shared between a value and its copy; floats may be NaN and are looked at."""
_SIMPLE_KINDS = frozenset((str, int, bool, float))
_EXACT_KINDS = _SIMPLE_KINDS | {type(None), dict, list}
_MAX_SHOWN_KEY_CHARS = 40


class ArgumentsNotJson(PiKernelError):  # noqa: N818 - says what is wrong, like ToolTimeout
    """Arguments hold a value that has no JSON form.

    The text is one line: the path of the value and what is wrong with it, such as
    ``arguments.rows.0: bytes cannot be written as JSON``.
    """

    def __init__(self, problem: str, path: tuple[str | int, ...] | None = None) -> None:
        where = "" if path is None else ".".join(("arguments", *map(_part_text, path))) + ": "
        super().__init__(where + problem)
        self.problem = problem
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problem, self.path)


def to_json_arguments(args: object) -> JsonObject:
    """Return a call's arguments as a fresh JSON object; the texts in it are shared.

    Paths and dates become text; numpy scalars, enums, dataclasses and pydantic models become the
    JSON they stand for; tuples become lists; None stands for no arguments.

    Args:
        args: A mapping, a dataclass, a pydantic model or None.

    Raises:
        ArgumentsNotJson: If a value has no JSON form: NaN and infinities, bytes, sets, keys that
            are not text, cycles, more than `MAX_DEPTH` levels, other objects.

    Source:
        Ours.

    Example:
        >>> to_json_arguments({"size": (2, 3)})
        {'size': [2, 3]}
    """
    if type(args) is dict:  # no call of ours: every tool call comes here
        for key, value in args.items():
            if type(key) is not str or type(value) not in _SCALARS:
                break
        else:
            return args.copy()
    elif args is None:
        return {}
    copied = copy_json(args)
    if not is_object(copied):
        raise ArgumentsNotJson("Tool arguments must be a JSON object")
    return copied


def copy_json(value: object, *, keep_non_finite: bool = False) -> JsonValue:
    """Return a deep copy of a value as plain JSON.

    Args:
        value: What `to_json_arguments` takes, or any part of it.
        keep_non_finite: Whether NaN and infinities pass, so that a schema can name the type that
            was wanted.

    Raises:
        ArgumentsNotJson: As for `to_json_arguments`.
    """
    try:
        return _copy(value, 0, keep_non_finite=keep_non_finite)
    except _Unwritable as error:
        raise error.as_reason() from None
    except RecursionError:  # the caller's own stack is nearly full
        raise ArgumentsNotJson("nested too deeply", ()) from None


class _Unwritable(Exception):  # noqa: N818 - never leaves this module
    """A value without a JSON form; the way to it is added on the way out, innermost part first."""

    def __init__(self, problem: str, *, is_depth: bool = False) -> None:
        super().__init__(problem)
        self.problem = problem
        self.is_depth = is_depth
        self.path: list[str | int] = []
        self.holders: list[tuple[int, object]] = []

    def within(self, holder: object, part: str | int | None = None) -> Self:
        if part is not None:
            self.path.append(part)
        self.holders.append((len(self.path), holder))
        return self

    def as_reason(self) -> ArgumentsNotJson:
        """Return the public error; too many levels may turn out to be a cycle."""
        path = self.path[::-1]
        problem = self.problem
        if self.is_depth:
            path = []
            seen: set[int] = set()
            for parts_below, holder in reversed(self.holders):
                if id(holder) in seen:
                    path = self.path[parts_below:][::-1]
                    problem = "a cycle cannot be written as JSON"
                    break
                seen.add(id(holder))
        return ArgumentsNotJson(problem, tuple(path))


def _copy(value: JsonValue, depth: int, *, keep_non_finite: bool) -> JsonValue:
    if type(value) in _SCALARS:
        return value
    if type(value) is float:
        if value - value == 0.0 or keep_non_finite:  # NaN and infinities give NaN
            return value
        raise _Unwritable(f"{non_finite_name(value)} cannot be written as JSON")
    if depth >= MAX_DEPTH:
        raise _Unwritable(f"nested deeper than {MAX_DEPTH} levels", is_depth=True)
    if is_object(value):
        return _copy_dict(value, depth, keep_non_finite=keep_non_finite)
    if is_array(value):
        return _copy_list(value, depth, keep_non_finite=keep_non_finite)
    simpler = _simplify(value)
    next_depth = depth if type(simpler) in _EXACT_KINDS else depth + 1
    try:
        return _copy(simpler, next_depth, keep_non_finite=keep_non_finite)
    except _Unwritable as error:
        raise error.within(value) from None


def _copy_dict(value: dict[Any, Any], depth: int, *, keep_non_finite: bool) -> dict[str, Any]:
    copied: dict[str, Any] = {}
    for key, item in value.items():
        name = key if type(key) is str else _key_text(key)
        if type(item) in _SCALARS:
            copied[name] = item
            continue
        try:
            copied[name] = _copy(item, depth + 1, keep_non_finite=keep_non_finite)
        except _Unwritable as error:
            raise error.within(value, name) from None
    return copied


def _copy_list(value: list[Any], depth: int, *, keep_non_finite: bool) -> list[Any]:
    if _SCALARS.issuperset(map(type, value)):
        return value.copy()
    copied: list[Any] = []
    for item in value:
        try:
            copied.append(_copy(item, depth + 1, keep_non_finite=keep_non_finite))
        except _Unwritable as error:
            raise error.within(value, len(copied)) from None
    return copied


def _key_text(key: object) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    try:
        shown = _first_line(repr(key))[:_MAX_SHOWN_KEY_CHARS]
    except Exception:  # noqa: BLE001 - a foreign object's own code ran
        shown = _kind_text(key)
    raise _Unwritable(f"the key {shown} is not text")


def _simplify(value: object) -> object:
    """Return a value one step nearer to JSON; its parts are untouched."""
    try:
        return _simpler_form(value)
    except _Unwritable:
        raise
    except Exception as error:  # noqa: BLE001 - a foreign object's own code ran
        reason = _first_line(f"{type(error).__name__}: {error}")
        raise _Unwritable(f"{_kind_text(value)} cannot be written as JSON ({reason})") from None


def _simpler_form(value: object) -> object:  # noqa: PLR0911 - one return a kind
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int.__index__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if is_sequence(value):
        return list(value)
    if is_mapping(value):
        return dict(value)
    if isinstance(value, os.PathLike):
        return os.fspath(cast("os.PathLike[str]", value))
    return _foreign_form(value)


def _foreign_form(value: object) -> object:
    """Return the simpler form of an object that is no JSON type of Python's own."""
    kind = type(value)
    dump = getattr(kind, "model_dump", None)
    if dump is not None:
        return dump(value, mode="json", by_alias=True)
    if dataclasses.is_dataclass(kind):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(kind)}
    if issubclass(kind, dt.date | dt.time) and value == value:  # noqa: PLR0124 - not pandas' NaT
        return cast("dt.date | dt.time", value).isoformat()
    numpy: Any = sys.modules.get("numpy")
    if numpy is not None and issubclass(kind, numpy.generic):
        scalar: Any = value
        if issubclass(kind, numpy.floating):  # item() gives a long double back as it is
            return float(scalar)
        simpler = str(scalar) if issubclass(kind, numpy.datetime64) else scalar.item()
        if type(simpler) in _SIMPLE_KINDS and simpler != "NaT":
            return simpler
    raise _Unwritable(f"{_kind_text(value)} cannot be written as JSON")


def _kind_text(value: object) -> str:
    kind = type(value)
    if kind.__module__ == "builtins":
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _part_text(part: str | int) -> str:
    text = str(part)
    return text if text.isprintable() else repr(text)


def _first_line(text: str) -> str:
    return next(iter(text.splitlines()), "")
