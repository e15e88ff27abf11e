"""JSON Schemas from type hints: pydantic's without the noise, and those of results."""

from __future__ import annotations

import dataclasses
import types
from collections import deque
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    cast,
    get_args,
    get_origin,
)

from pydantic import BaseModel, PydanticUserError, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

from pi_kernel.registry._signature import EMPTY

__all__ = ("SCHEMA_ERRORS", "QuietSchema", "output_schema", "without_class_titles")

SCHEMA_ERRORS = (
    PydanticUserError,
    AttributeError,
    KeyError,
    NameError,
    NotImplementedError,
    RecursionError,
    TypeError,
    ValueError,
)
"""What annotations that pydantic cannot read raise: its own errors, and those of foreign code."""

_CONTAINERS = (list, tuple, set, frozenset, deque, dict)
_JSON_SCALARS = (int, float)


class QuietSchema(GenerateJsonSchema):
    """pydantic's JSON Schema without made-up titles and without warnings."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Leave out titles that only repeat a field's name."""
        del schema
        return False

    def datetime_schema(self, schema: Any) -> dict[str, Any]:
        """Describe a moment by an example: the format ``date-time`` refuses one without a zone."""
        if self.mode == "serialization":
            return super().datetime_schema(schema)
        return {"type": "string", "examples": ["2026-05-01T09:30:00"]}

    def time_schema(self, schema: Any) -> dict[str, Any]:
        """Describe a time of day by an example, for the same reason."""
        if self.mode == "serialization":
            return super().time_schema(schema)
        return {"type": "string", "examples": ["09:30:00"]}

    def emit_warning(self, kind: JsonSchemaWarningKind, detail: str) -> None:
        """Say nothing of defaults without a JSON form: they are not shown."""
        del kind, detail


def without_class_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """Remove the titles that repeat class names, in place."""
    schema.pop("title", None)
    for definition in schema.get("$defs", {}).values():
        definition.pop("title", None)
    return schema


def output_schema(returns: Any) -> dict[str, Any] | None:
    """Return the schema of the structured content that a return annotation promises.

    None where there may be no structured content, as for texts and tables, and where the annotation
    says nothing about it.
    """
    if returns is EMPTY or not _has_structure(returns):
        return None
    try:
        schema = TypeAdapter(returns).json_schema(
            mode="serialization", schema_generator=QuietSchema
        )
    except SCHEMA_ERRORS:
        return None
    return without_class_titles(schema)


def _has_structure(annotation: Any) -> bool:
    """Whether every value of a type becomes structured content."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _has_structure(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        members = [member for member in get_args(annotation) if member is not type(None)]
        return all(_has_structure(member) for member in members)
    if origin is Literal:
        return not any(isinstance(member, str | bytes | Enum) for member in get_args(annotation))
    cls = origin or annotation
    if not isinstance(cls, type) or issubclass(cls, str | bytes | Enum):
        return False
    return (
        issubclass(cls, (BaseModel, *_CONTAINERS, *_JSON_SCALARS))
        or cls in (Mapping, Sequence, AbstractSet)
        or dataclasses.is_dataclass(cast("object", cls))
    )
