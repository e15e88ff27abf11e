"""The types of a JSON Schema in short, as a person who writes Python reads them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

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
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if not isinstance(properties, Mapping):
        return []
    given: Any = cast("Schema", schema).get("required")
    required = cast("list[Any]", given) if isinstance(given, list | tuple) else []
    found = list(_parameters(cast("Schema", properties), cast("Schema", schema), required))
    return sorted(found, key=lambda parameter: not parameter.is_required)


def _parameters(properties: Schema, root: Schema, required: list[Any]) -> Iterator[Parameter]:
    for name, described in properties.items():
        part = cast("Schema", described) if isinstance(described, Mapping) else {}
        text = part.get("description")
        has_default = part.get("default") is not None
        yield Parameter(
            name=str(name),
            type=cut(type_name(described, root), MAX_TYPE_CHARS),
            is_required=name in required,
            default=compact_value(part["default"], MAX_DEFAULT_CHARS) if has_default else None,
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
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH_LEVELS:
        return ANYTHING
    schema = cast("Schema", schema)
    if "enum" in schema or "const" in schema:
        choices = schema.get("enum", [schema.get("const")])
        return _any_of([compact_value(choice, MAX_DEFAULT_CHARS) for choice in _list(choices)])
    if isinstance(schema.get("$ref"), str):
        return _referred(schema["$ref"], root or {})
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return _any_of([type_name(part, root, depth + 1) for part in _list(schema[key])])
    kinds = schema.get("type")
    if kinds == "array" and isinstance(schema.get("items"), Mapping):
        return f"list[{type_name(schema['items'], root, depth + 1)}]"
    if isinstance(kinds, str):
        return _NAMES.get(kinds, kinds)
    return _any_of([_NAMES.get(str(kind), str(kind)) for kind in _list(kinds)])


def _list(value: Any) -> list[Any]:
    return list(cast("list[Any]", value)[: MAX_CHOICES + 1]) if isinstance(value, list) else []


def _any_of(names: list[str]) -> str:
    unique = list(dict.fromkeys(names))
    if len(unique) > MAX_CHOICES:
        unique = [*unique[:MAX_CHOICES], "…"]
    return " | ".join(unique) or ANYTHING


def _referred(reference: str, root: Schema) -> str:
    """Return the name that a reference leads to: a record's own, or the type of a plain one."""
    name = reference.rpartition("/")[2]
    for key in ("$defs", "definitions"):
        known = root.get(key)
        target = cast("Schema", known).get(name) if isinstance(known, Mapping) else None
        if isinstance(target, Mapping) and "properties" not in target and "$ref" not in target:
            return type_name(target, None, MAX_DEPTH_LEVELS)
    return name or ANYTHING
