"""A tool's signature and help text, as a person who writes Python reads them."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterator, Mapping
from typing import Any

from pi_kernel.registry.definition import ToolDefinition

__all__ = ("help_text", "signature_of", "type_text")

MAX_CHOICES = 6
MAX_DEPTH_LEVELS = 4
ANYTHING = "Any"
NAMES = {
    "string": "str",
    "integer": "int",
    "number": "float",
    "boolean": "bool",
    "null": "None",
    "object": "dict",
    "array": "list",
}


class _Shown:
    """Stands in a signature for a type or a default, which is shown as the given text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __repr__(self) -> str:
        return self._text


NOT_GIVEN = _Shown("...")
"""The default of an argument that may be left out, where the schema names none."""


def signature_of(definition: ToolDefinition) -> inspect.Signature:
    """Return keyword-only parameters as the schema has them, required ones first.

    Names that Python cannot take as keywords are left out; one mapping carries them.
    """
    parameters = []
    for name, schema, is_required in _parameters(definition.parameters):
        if not name.isidentifier() or keyword.iskeyword(name):
            continue
        default: Any = inspect.Parameter.empty if is_required else NOT_GIVEN
        if not is_required and "default" in schema:
            default = schema["default"]
        annotation = _Shown(type_text(schema, definition.parameters)) if schema else _EMPTY
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    return inspect.Signature(parameters)


def help_text(definition: ToolDefinition) -> str:
    """Return the description and one line a parameter."""
    lines = []
    for name, schema, is_required in _parameters(definition.parameters):
        facts = [type_text(schema, definition.parameters)]
        if not is_required:
            facts.append(f"default {schema['default']!r}" if "default" in schema else "optional")
        text = schema.get("description")
        about = " ".join(text.split()) if isinstance(text, str) else ""
        lines.append(f"    {name} ({', '.join(facts)}): {about}".rstrip(": "))
    parts = [definition.description.strip(), "\n".join(["Args:", *lines]) if lines else ""]
    return "\n\n".join(part for part in parts if part)


_EMPTY = inspect.Parameter.empty


def _parameters(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], bool]]:
    """Give name, schema and whether it is required, required ones first."""
    properties = schema.get("properties")
    required = schema.get("required")
    if not isinstance(properties, Mapping):
        return
    if not isinstance(required, list | tuple):
        required = ()
    names = [name for name in properties if isinstance(name, str)]
    for name in sorted(names, key=lambda key: key not in required):
        part = properties[name]
        yield name, part if isinstance(part, Mapping) else {}, name in required


def type_text(schema: Any, root: Mapping[str, Any], depth: int = 0) -> str:
    """Return a schema's type, such as ``str``, ``list[int]``, ``Literal['a', 'b']`` or ``dict``."""
    if not isinstance(schema, Mapping) or depth > MAX_DEPTH_LEVELS:
        return ANYTHING
    if isinstance(schema.get("$ref"), str):
        return type_text(_referenced(schema["$ref"], root), root, depth + 1)
    choices = [schema["const"]] if "const" in schema else schema.get("enum")
    if isinstance(choices, list | tuple) and choices:
        more = ", ..." if len(choices) > MAX_CHOICES else ""
        return f"Literal[{', '.join(repr(item) for item in choices[:MAX_CHOICES])}{more}]"
    for key in ("anyOf", "oneOf"):
        parts = schema.get(key)
        if isinstance(parts, list | tuple) and parts:
            return " | ".join(dict.fromkeys(type_text(part, root, depth + 1) for part in parts))
    kinds = schema.get("type")
    kinds = kinds if isinstance(kinds, list | tuple) else [kinds]
    return " | ".join(_kind_text(kind, schema, root, depth) for kind in kinds)


def _kind_text(kind: Any, schema: Mapping[str, Any], root: Mapping[str, Any], depth: int) -> str:
    items = schema.get("items")
    if kind == "array" and isinstance(items, Mapping) and items:
        return f"list[{type_text(items, root, depth + 1)}]"
    return NAMES.get(kind, ANYTHING) if isinstance(kind, str) else ANYTHING


def _referenced(reference: str, root: Mapping[str, Any]) -> Any:
    """Return what a reference within the schema points to, or None."""
    target: Any = root
    for part in reference.removeprefix("#/").split("/"):
        target = target.get(part) if isinstance(target, Mapping) else None
    return target
