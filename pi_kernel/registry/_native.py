"""Which annotations take JSON's own values as they are, so that nothing has to be converted."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

__all__ = ("is_native", "wants_floats")

_AS_THEY_ARE: frozenset[Any] = frozenset({Any, object, str, int, bool, type(None), list, dict})
_CHECKED_BY_SCHEMA = frozenset({"Ge", "Gt", "Le", "Len", "Lt", "MaxLen", "MinLen", "MultipleOf"})
"""Constraints of annotated_types that the JSON Schema states and the pipeline checks."""


def is_native(field: FieldInfo) -> bool:
    """Whether values that pass a field's JSON Schema are what its annotation wants.

    Floats are nearly so: 3 is a number in JSON, and `wants_floats` says that it must become 3.0.
    """
    return (
        field.discriminator is None
        and all(map(_is_harmless, field.metadata))
        and (_is_native_type(field.annotation) or wants_floats(field.annotation))
    )


def _is_harmless(metadata: object) -> bool:
    if isinstance(metadata, str) or isinstance(getattr(metadata, "documentation", None), str):
        return True
    cls = type(metadata)
    return cls.__module__ == "annotated_types" and cls.__name__ in _CHECKED_BY_SCHEMA


def _members(annotation: Any) -> tuple[Any, ...]:
    is_union = get_origin(annotation) in (Union, types.UnionType)
    return get_args(annotation) if is_union else (annotation,)


def _is_native_type(annotation: Any) -> bool:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is None:
        return annotation in _AS_THEY_ARE
    if origin is Literal:
        return all(isinstance(value, str | int | None) for value in arguments)
    if origin in (Union, types.UnionType):
        return all(map(_is_native_type, arguments))
    if origin is list:
        return _is_native_type(arguments[0])
    return origin is dict and arguments[0] is str and _is_native_type(arguments[1])


def wants_floats(annotation: Any) -> bool:
    """Whether every number is to be a float: ``float`` alone, or with types that are no numbers."""
    members = _members(annotation)
    others = [member for member in members if member is not float]
    return len(others) < len(members) and all(
        _is_native_type(member) and member not in (int, Any, object) for member in others
    )
