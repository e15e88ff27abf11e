"""Walking a value along its schema: members, items, and the way through recursive references."""

from __future__ import annotations

from collections.abc import Callable

from pi_kernel.protocol.json import JsonObject, JsonValue
from pi_kernel.runtime._engine import answer
from pi_kernel.runtime._kinds import is_array, is_object, is_same_scalar
from pi_kernel.runtime._schema import SchemaNode

Step = Callable[[SchemaNode, JsonValue], JsonValue]
"""What a walk does at a node; returns the value itself when nothing changes there."""


class Reentry:
    """Keeps a walk through a recursive schema finite, and its work small.

    A walk can meet the same schema with the same value again only through a reference, or by
    putting a value into a list. There it stops and leaves the value alone. Results of references
    are kept, or a recursive union would convert the same part once for each of its branches.
    """

    def __init__(self, step: Step) -> None:
        self._step = step
        self._entered: list[tuple[SchemaNode, JsonValue]] = []
        self._results: dict[tuple[int, int], tuple[SchemaNode, JsonValue, JsonValue]] = {}
        self._cuts = 0

    def enter(self, node: SchemaNode, value: JsonValue, *, is_kept: bool) -> JsonValue:
        """Take the step at a point where the walk may come round."""
        if any(entered is node and _is_same(item, value) for entered, item in self._entered):
            self._cuts += 1
            return value
        key = (id(node), id(value))
        if is_kept and key in self._results:
            return self._results[key][2]
        cuts = self._cuts
        self._entered.append((node, value))
        result = self._step(node, value)
        self._entered.pop()
        if is_kept and cuts == self._cuts:
            self._results[key] = (node, value, result)  # kept alive, so that the ids stay theirs
        return result


def with_members(node: SchemaNode, value: JsonValue, step: Step) -> JsonValue:
    """Return an object with each member changed by the schemas that apply to its name."""
    properties, patterns, additional = node.properties, node.patterns, node.additional
    if not is_object(value) or (properties is None and patterns is None and additional is None):
        return value
    changed: JsonObject | None = None
    for name, item in value.items():
        child = None if properties is None else properties.get(name)
        is_named = child is not None
        result = item if child is None else step(child, item)
        for matches, schema in patterns or ():
            if answer(matches, name):
                is_named = True
                result = step(schema, result)
        if not is_named and additional is not None:
            result = step(additional, result)
        if result is not item:
            if changed is None:
                changed = value.copy()
            changed[name] = result
    return value if changed is None else changed


def with_items(node: SchemaNode, value: list[JsonValue], step: Step) -> list[JsonValue]:
    prefix = node.prefix or ()
    if not prefix and node.items is None:
        return value
    changed: list[JsonValue] | None = None
    for index, item in enumerate(value):
        child = prefix[index] if index < len(prefix) else node.items
        if child is None:
            break
        result = step(child, item)
        if result is not item:
            if changed is None:
                changed = value.copy()
            changed[index] = result
    return value if changed is None else changed


def _is_same(left: JsonValue, right: JsonValue) -> bool:
    """Whether a walk has come round: containers by identity, scalars by value."""
    if is_object(left) or is_array(left):
        return left is right
    return is_same_scalar(left, right)
