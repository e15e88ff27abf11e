"""Whole numbers as ints: to JSON 5.0 is an integer, to Python tools that want an int it is not."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pi_kernel.protocol.json import JsonValue
from pi_kernel.runtime._kinds import is_array, is_object
from pi_kernel.runtime._schema import SchemaNode
from pi_kernel.runtime._walks import Reentry, with_items, with_members


def wants_integers(node: SchemaNode) -> bool:
    """Whether `with_whole_numbers` may change a value because of this node."""
    literals = (node.constant, *(node.members or ()))
    return "integer" in node.types or any(type(literal) is int for literal in literals)


def with_whole_numbers(root: SchemaNode, value: JsonValue) -> JsonValue:
    """Return a valid value whose integral floats are ints wherever the schema wants integers.

    Source:
        Ours.
    """
    return _WholeNumbers().convert(root, value) if _holds_whole_float(value) else value


def _holds_whole_float(value: JsonValue) -> bool:
    waiting: list[Any] = [[value]]
    while waiting:
        container = waiting.pop()
        for item in container.values() if is_object(container) else container:
            if type(item) is float:
                if item.is_integer():
                    return True
            elif is_object(item) or is_array(item):
                waiting.append(item)
    return False


class _WholeNumbers:
    """One run over a valid value."""

    def __init__(self) -> None:
        self._reentry = Reentry(self.convert)

    def convert(self, node: SchemaNode, value: JsonValue) -> JsonValue:
        if type(value) is float:
            if not value.is_integer():
                return value
            if "integer" in node.types and "number" not in node.types:
                return int(value)
            for literal in (node.constant, *(node.members or ())):
                if type(literal) is int and literal == value:
                    return literal
        elif not (is_object(value) or is_array(value)):
            return value
        for part in self._parts(node, value):
            value = self.convert(part, value)
        if node.target is not None:
            value = self._reentry.enter(node.target, value, is_kept=True)
        if is_array(value):
            return with_items(node, value, self.convert)
        return with_members(node, value, self.convert)

    def _parts(self, node: SchemaNode, value: JsonValue) -> Iterable[SchemaNode]:
        """Yield the schemas that the value itself is valid under."""
        yield from node.all_of or ()
        for branches in (node.any_of, node.one_of):
            yield from [branch for branch in branches or () if branch.accepts(value)][:1]
        if node.condition is not None:
            branch = node.then if node.condition.accepts(value) else node.otherwise
            if branch is not None:
                yield branch
