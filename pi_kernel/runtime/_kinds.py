"""JSON's types in Python: tests that also tell type checkers, and names as messages have them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeGuard

from pi_kernel.protocol.json import JsonObject, JsonValue

ABSENT: Any = object()
"""Stands for what is not there, where None is a value."""


def is_object(value: JsonValue) -> TypeGuard[JsonObject]:
    """Whether a value is a JSON object."""
    return type(value) is dict


def is_array(value: JsonValue) -> TypeGuard[list[JsonValue]]:
    """Whether a value is a JSON array."""
    return type(value) is list


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a JSON number: an int, which a bool is not, or a finite float."""
    return type(value) is int or (type(value) is float and math.isfinite(value))


def is_mapping(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a value stands for a JSON object where people write Python."""
    return isinstance(value, Mapping)


def is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    """Whether a value stands for a JSON array where people write Python."""
    return isinstance(value, list | tuple)


def is_same_scalar(left: JsonValue, right: JsonValue) -> bool:
    """Whether two scalars are the same JSON value: 1 is 1.0 but not true."""
    if is_number(left):
        return is_number(right) and left == right
    return type(left) is type(right) and bool(left == right)


def type_name(value: object) -> str:  # noqa: PLR0911 - one return a type
    """Return JSON's name of a value's type; an integral float counts as an integer."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        if not math.isfinite(value):
            return non_finite_name(value)
        return "integer" if value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "array" if is_sequence(value) else "object"


def non_finite_name(value: float) -> str:
    """Return JavaScript's name of a number that JSON does not have."""
    if math.isnan(value):
        return "NaN"
    return "Infinity" if value > 0 else "-Infinity"
