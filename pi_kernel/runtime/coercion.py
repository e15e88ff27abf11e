"""Coercion: loosely typed arguments become what their schema most likely means.

Models send ``"42"`` for a number, one value for a list, null for what they leave out. Three passes
over the schema put that right before anything is checked: optional nulls, conversion by type, and
what is left by type alone. Nothing given is changed; only changed paths are copied. A value that
no rule applies to stays, and the check reports it.
"""

from __future__ import annotations

from typing import Any

from pi_kernel.protocol.json import JsonValue
from pi_kernel.runtime._conversions import (
    CONVERSIONS,
    UNCONVERTED,
    coerce_primitive,
    to_literal,
)
from pi_kernel.runtime._kinds import ABSENT, is_array, is_number, is_object, is_same_scalar
from pi_kernel.runtime._schema import SchemaNode
from pi_kernel.runtime._walks import Reentry, with_items, with_members

__all__ = ("changes_valid", "coerce")


def coerce(root: SchemaNode, value: JsonValue) -> JsonValue:
    """Return plain JSON coerced towards a schema; the value itself when nothing changes.

    Args:
        root: The schema.
        value: Plain JSON; never changed, but shared with the result where it is the same.

    Source:
        Pi 1.6.0, pi-schema ``Coercer``.
    """
    without_nulls = _drop_optional_nulls(root, value)
    return _coerce_types(root, _Conversion().convert(root, without_nulls))


def changes_valid(node: SchemaNode) -> bool:
    """Whether `coerce` changes valid values: a schema with items but no type wraps what is no list.

    Every other rule leaves a valid value alone.
    """
    rivals = (node.members, node.any_of, node.one_of, node.all_of, node.reference)
    return (
        node.items is not None
        and node.prefix is None
        and not node.types
        and node.constant is ABSENT
        and all(rival is None for rival in rivals)
        and node.properties is None
        and node.patterns is None
    )


# ---- First pass: optional nulls ------------------------------------------------------------------


def _drop_optional_nulls(node: SchemaNode, value: JsonValue) -> JsonValue:
    if is_array(value):
        return with_items(node, value, _drop_optional_nulls)
    if not is_object(value):
        return value
    return with_members(node, _without_nulls(node, value), _drop_optional_nulls)


def _without_nulls(node: SchemaNode, value: dict[str, Any]) -> dict[str, Any]:
    unwanted = [
        name
        for name, child in (node.properties or {}).items()
        if name in value
        and value[name] is None
        and name not in node.required
        and child.reference is None
        and not child.accepts(None)
    ]
    if not unwanted:
        return value
    return {name: item for name, item in value.items() if name not in unwanted}


# ---- Second pass: conversion by keyword ----------------------------------------------------------


class _Conversion:
    """One run of the second pass."""

    def __init__(self) -> None:
        self._reentry = Reentry(self.convert)

    def convert(self, node: SchemaNode, value: JsonValue) -> JsonValue:  # noqa: PLR0911 - one line a keyword
        if node.reference is not None:
            return (
                value
                if node.target is None
                else self._reentry.enter(node.target, value, is_kept=True)
            )
        if node.constant is not ABSENT:
            return to_literal(node.constant, value)
        if node.members is not None:
            return self._convert_member(node, node.members, value)
        branches = node.any_of if node.any_of is not None else node.one_of
        if branches is not None:
            return self._convert_union(node, branches, value)
        if node.all_of is not None:
            for part in node.all_of:
                value = self.convert(part, value)
            return self._convert_declared(node, value)
        conversion = CONVERSIONS.get(node.single_type or "")
        if conversion is not None:
            converted = conversion(value)
            return value if converted is UNCONVERTED else converted
        return self._convert_container(node, value)

    def _convert_container(self, node: SchemaNode, value: JsonValue) -> JsonValue:
        is_untyped = not node.types
        declares_members = node.properties is not None or node.patterns is not None
        if node.single_type == "object" or (is_untyped and declares_members):
            return with_members(node, value, self.convert)
        if node.single_type == "array" or (
            is_untyped and (node.items is not None or node.prefix is not None)
        ):
            if is_array(value):
                return with_items(node, value, self.convert)
            if node.prefix is None:
                return [
                    value
                    if node.items is None
                    else self._reentry.enter(node.items, value, is_kept=False)
                ]
        return value

    def _convert_member(self, node: SchemaNode, members: list[Any], value: JsonValue) -> JsonValue:
        if any(is_same_scalar(member, value) for member in members):
            return value
        for member in members:
            candidate = to_literal(member, value)
            if candidate is not value and node.accepts(candidate):
                return candidate
        return value

    def _convert_union(
        self, node: SchemaNode, branches: tuple[SchemaNode, ...], value: JsonValue
    ) -> JsonValue:
        if not any(branch.accepts(value) for branch in branches):
            for branch in branches:
                candidate = self._convert_declared(node, self.convert(branch, value))
                if node.accepts(candidate):
                    return candidate
        return self._convert_declared(node, value)

    def _convert_declared(self, node: SchemaNode, value: JsonValue) -> JsonValue:
        """Convert the members that a union declares beside its branches."""
        return with_members(node, value, self.convert)


# ---- Third pass: what is left, by type alone -----------------------------------------------------


def _coerce_types(node: SchemaNode, value: JsonValue) -> JsonValue:
    for part in node.all_of or ():
        value = _coerce_types(part, value)
    for branches in (node.any_of, node.one_of):
        if branches is not None:
            value = _coerce_union(branches, value)
    types = node.types
    if not types:
        return value
    if len(types) == 1 or not any(_matches_type(value, name) for name in types):
        for name in types:
            candidate = coerce_primitive(value, name)
            if candidate is not value:
                value = candidate
                break
    if is_object(value) and "object" in types:
        return with_members(node, value, _coerce_types)
    if is_array(value) and "array" in types:
        return with_items(node, value, _coerce_types)
    return value


def _coerce_union(branches: tuple[SchemaNode, ...], value: JsonValue) -> JsonValue:
    if any(branch.accepts(value) for branch in branches):
        return value
    for branch in branches:
        candidate = _coerce_types(branch, value)
        if branch.accepts(candidate):
            return candidate
    return value


def _matches_type(value: JsonValue, name: str) -> bool:
    match name:
        case "number":
            return is_number(value)
        case "integer":
            return is_number(value) and value == int(value)
        case "null":
            return value is None
        case _:
            return type(value) is _PYTHON_TYPES.get(name)


_PYTHON_TYPES: dict[str, type] = {"array": list, "boolean": bool, "object": dict, "string": str}
