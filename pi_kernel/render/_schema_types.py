"""The types of a JSON Schema in short, as a person who writes Python reads them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pi_kernel.render._json import compact_value
from pi_kernel.render._text import cut

__all__ = ("Parameter", "parameters_of", "type_name")

MAX_TYPE_CHARS = 60
MAX_CHOICES = 6
MAX_DEPTH_LEVELS = 4
MAX_DEFAULT_CHARS = 30
ANYTHING = "any"
_NAMES = {
    "string": "str",
    "integer": "int",
    "number": "num",
    "boolean": "bool",
    "null": "None",
    "object": "dict",
    "array": "list",
}

Schema = Mapping[str, Any]
# Their declared types keep what isinstance() tells of an Any from becoming a dict of unknowns.
_OBJECT: tuple[type[Any], ...] = (Mapping,)
_LIST: tuple[type[Any], ...] = (list, tuple)


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a tool."""

    name: str
    type: str
    is_required: bool
    default: str | None
    description: str

    @property
    def signature(self) -> str:
        """Name and type, such as ``path str`` or ``limit? int = 100``."""
        mark = "" if self.is_required else "?"
        end = "" if self.default is None else f" = {self.default}"
        return f"{self.name}{mark} {self.type}{end}"


def parameters_of(schema: Any) -> list[Parameter]:
    """Return the parameters of a tool's schema, the required ones first."""
    properties: Any = schema.get("properties") if isinstance(schema, _OBJECT) else None
    if not isinstance(properties, _OBJECT):
        return []
    given = schema.get("required")
    required = list(given) if isinstance(given, _LIST) else []
    found = [_parameter(str(name), properties[name], schema, required) for name in properties]
    return sorted(found, key=lambda parameter: not parameter.is_required)


def _parameter(name: str, given: Any, root: Schema, required: list[Any]) -> Parameter:
    part: Schema = given if isinstance(given, _OBJECT) else {}
    text, default = part.get("description"), part.get("default")
    return Parameter(
        name=name,
        type=cut(type_name(given, root), MAX_TYPE_CHARS),
        is_required=name in required,
        default=None if default is None else compact_value(default, MAX_DEFAULT_CHARS),
        description=text if isinstance(text, str) else "",
    )


def type_name(schema: Any, root: Schema | None = None, depth: int = 0) -> str:
    """Return a schema's type, such as ``str``, ``list[int]``, ``"a" | "b"`` or ``dict``.

    Args:
        schema: The schema of one value.
        root: The whole schema, for references into it.
        depth: How many schemas are around it.

    Example:
        >>> type_name({"type": "array", "items": {"type": ["string", "null"]}})
        'list[str | None]'
    """
    if not isinstance(schema, _OBJECT) or depth > MAX_DEPTH_LEVELS:
        return ANYTHING
    if "enum" in schema or "const" in schema:
        choices = schema.get("enum", [schema.get("const")])
        return _any_of([compact_value(choice, MAX_DEFAULT_CHARS) for choice in _list(choices)])
    if isinstance(schema.get("$ref"), str):
        return _referred(schema["$ref"], root or {})
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return _any_of([type_name(part, root, depth + 1) for part in _list(schema[key])])
    kinds = schema.get("type")
    if kinds == "array" and "items" in schema:
        return f"list[{type_name(schema['items'], root, depth + 1)}]"
    return _any_of([_NAMES.get(str(kind), str(kind)) for kind in _list(kinds)])


def _list(value: Any) -> list[Any]:
    if isinstance(value, _LIST):
        return list(value[: MAX_CHOICES + 1])
    return [] if value is None else [value]


def _any_of(names: list[str]) -> str:
    unique = list(dict.fromkeys(names))
    if len(unique) > MAX_CHOICES:
        unique = [*unique[:MAX_CHOICES], "…"]
    return " | ".join(unique) or ANYTHING


def _referred(reference: str, root: Schema) -> str:
    """Return the name that a reference leads to: a record's own, or the type of a plain one."""
    name = reference.rpartition("/")[2]
    for key in ("$defs", "definitions"):
        known: Any = root.get(key)
        target: Any = known.get(name) if isinstance(known, _OBJECT) else None
        if isinstance(target, _OBJECT) and "properties" not in target and "$ref" not in target:
            return type_name(target, None, MAX_DEPTH_LEVELS)
    return name or ANYTHING
