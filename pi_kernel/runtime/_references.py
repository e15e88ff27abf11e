"""Where a schema's ``$ref`` leads: to a place in the same schema, never out of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import unquote, urldefrag, urljoin

from pi_kernel.protocol.json import JsonValue
from pi_kernel.runtime._kinds import is_mapping, is_sequence

ROOT_URI = "https://json-schema.invalid/root.json"
"""The address of a schema that names none; relative references start there."""

_SCHEMA_KEYWORDS = (
    "additionalItems",
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_MAP_KEYWORDS = (
    "$defs",
    "definitions",
    "dependencies",
    "dependentSchemas",
    "patternProperties",
    "properties",
)
_LIST_KEYWORDS = ("allOf", "anyOf", "items", "oneOf", "prefixItems")
_ANCHOR_KEYWORDS = ("$anchor", "$dynamicAnchor")


class References:
    """The named places of one schema."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._resources: dict[str, Any] = {ROOT_URI: root}
        self._anchors: dict[str, Any] = {}
        self._base_of: dict[int, str] = {}
        self._index(root, ROOT_URI)

    def base_of(self, schema: Mapping[str, Any], default: str) -> str:
        """Return the address that references inside this schema start from."""
        return self._base_of.get(id(schema), default)

    def resolve(self, reference: str, base: str) -> tuple[Any, str] | None:
        """Return what the reference names and the address there, None if it names nothing."""
        uri = base + reference if reference.startswith("#") else urljoin(base, reference)
        document, fragment = urldefrag(uri)
        if document not in self._resources:
            return None
        fragment = unquote(fragment)
        if not fragment or fragment.startswith("/"):
            return self._follow(self._resources[document], document, fragment)
        schema = self._anchors.get(f"{document}#{fragment}")
        return None if schema is None else (schema, self.base_of(schema, document))

    def _follow(self, root: JsonValue, document: str, pointer: str) -> tuple[Any, str] | None:
        place, base = root, document
        for part in pointer.split("/")[1:]:
            key = part.replace("~1", "/").replace("~0", "~")
            if is_mapping(place) and key in place:
                place = place[key]
            elif is_sequence(place) and key.isdecimal() and int(key) < len(place):
                place = place[int(key)]
            else:
                return None
            base = self.base_of(place, base)
        return place, base

    def _index(self, schema: JsonValue, base: str) -> None:
        if not is_mapping(schema) or id(schema) in self._base_of:
            return
        own = schema.get("$id")
        if isinstance(own, str):
            if own.startswith("#"):  # how draft 7 spells an anchor
                self._anchors[base + own] = schema
            else:
                base = urldefrag(urljoin(base, own)).url
                self._resources[base] = schema
        self._base_of[id(schema)] = base
        for keyword in _ANCHOR_KEYWORDS:
            if isinstance(anchor := schema.get(keyword), str):
                self._anchors[f"{base}#{anchor}"] = schema
        for child in _children(schema):
            self._index(child, base)


def _children(schema: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the subschemas by keyword: an ``$id`` inside a constant names nothing."""
    for keyword in _SCHEMA_KEYWORDS:
        yield schema.get(keyword)
    for keyword in _MAP_KEYWORDS:
        if is_mapping(children := schema.get(keyword)):
            yield from children.values()
    for keyword in _LIST_KEYWORDS:
        if is_sequence(children := schema.get(keyword)):
            yield from children
