"""What is wrong with a value, one line for each failing keyword at the place where it failed.

The engine decides what fails; this walks the schema to say it in Pi's words, and picks the branch
of a union that the value was most likely meant for. It runs only for values that are not valid.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from pi_kernel.protocol.json import JsonValue
from pi_kernel.runtime._engine import answer
from pi_kernel.runtime._json_text import json_text, number_text
from pi_kernel.runtime._kinds import (
    ABSENT,
    is_array,
    is_number,
    is_object,
    is_same_scalar,
    type_name,
)
from pi_kernel.runtime._schema import SchemaNode

Path = tuple[str | int, ...]
Problem = tuple[Path, str]
"""Where something is wrong, and what."""

MAX_LISTED_VALUES = 20
"""Values of an enum that a message lists."""

_TEXT_LIMITS = (
    ("minLength", "expected at least {} characters"),
    ("maxLength", "expected at most {} characters"),
)
_NUMBER_LIMITS = (
    ("minimum", "expected >= {}"),
    ("maximum", "expected <= {}"),
    ("exclusiveMinimum", "expected > {}"),
    ("exclusiveMaximum", "expected < {}"),
    ("multipleOf", "expected a multiple of {}"),
)
_OBJECT_LIMITS = (
    ("minProperties", "expected at least {} properties"),
    ("maxProperties", "expected at most {} properties"),
)
_ARRAY_LIMITS = (
    ("minItems", "expected at least {} items"),
    ("maxItems", "expected at most {} items"),
)


def find_problems(root: SchemaNode, value: JsonValue) -> list[Problem]:
    """Return what is wrong with a value that is not valid; at least one problem.

    Source:
        Pi 1.6.0, pi-schema ``Explainer``.
    """
    walk = _Walk()
    walk.visit(root, value, ())
    return walk.problems or [((), "invalid")]


class _Walk:
    """One walk; the problems of references are kept, as branches of a union share them."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._known: dict[tuple[int, int, Path], list[Problem]] = {}

    def add(self, path: Path, message: str) -> None:
        self.problems.append((path, message))

    def apart(self, node: SchemaNode, value: JsonValue, path: Path) -> list[Problem]:
        """Return the problems that a visit finds, without adding them."""
        outer, self.problems = self.problems, []
        self.visit(node, value, path)
        found, self.problems = self.problems, outer
        return found

    def visit(self, node: SchemaNode, value: JsonValue, path: Path) -> None:
        if node.engine is False:
            self.add(path, "no value is allowed here")
            return
        if node.accepts(value):
            return
        if node.refuses_type(value):
            expected = " or ".join(node.types)
            self.add(path, f"expected {expected}, got {type_name(value)}")
            return
        found_before = len(self.problems)
        if node.refuses(value, "enum"):
            self.add(path, f"expected one of {_listed(node.members or [])}")
        if node.refuses(value, "const"):
            self.add(path, f"expected {json_text(node.constant)}")
        self._visit_by_type(node, value, path)
        self._visit_in_place(node, value, path)
        if len(self.problems) == found_before:
            self._visit_unevaluated(node, value, path)

    def _visit_by_type(self, node: SchemaNode, value: JsonValue, path: Path) -> None:
        if isinstance(value, str):
            self._visit_text(node, value, path)
        elif is_object(value):
            self._visit_members(node, value, path)
            self._add_limits(node, value, path, _OBJECT_LIMITS)
            self._visit_dependents(node, value, path)
        elif is_array(value):
            self._visit_array(node, value, path)
        elif is_number(value):
            self._add_limits(node, value, path, _NUMBER_LIMITS)

    def _add_limits(
        self, node: SchemaNode, value: JsonValue, path: Path, limits: Iterable[tuple[str, str]]
    ) -> None:
        for keyword, message in limits:
            if node.refuses(value, keyword):
                self.add(path, message.format(number_text(node.keywords[keyword])))

    def _visit_text(self, node: SchemaNode, value: str, path: Path) -> None:
        self._add_limits(node, value, path, _TEXT_LIMITS)
        if node.pattern is not None and "pattern" not in node.keywords:
            self.add(path, f"the schema's pattern is not a regular expression: {node.pattern}")
        elif node.refuses(value, "pattern"):
            self.add(path, f"expected to match {node.pattern}")
        if node.refuses(value, "format"):
            self.add(path, f"expected format {node.keywords['format']}")

    def _visit_members(self, node: SchemaNode, value: dict[str, Any], path: Path) -> None:
        properties = node.properties or {}
        missing = [name for name in node.required if name not in value]
        self.problems.extend(((*path, name), "missing") for name in missing)
        for name, child in properties.items():
            if name in value:
                self.visit(child, value[name], (*path, name))
        for name, item in value.items():
            is_named = name in properties
            for matches, child in node.patterns or ():
                if answer(matches, name):
                    is_named = True
                    self.visit(child, item, (*path, name))
            if node.additional is not None and not is_named:
                self._visit_extra(node.additional, item, (*path, name))
            if node.property_names is not None and not node.property_names.accepts(name):
                self.add((*path, name), "invalid property name")

    def _visit_dependents(self, node: SchemaNode, value: dict[str, Any], path: Path) -> None:
        for name, wanted in node.dependent_required.items():
            for other in wanted if name in value else ():
                if other not in value:
                    self.add((*path, other), f"required when {name} is present")
        for name, child in node.dependent_schemas.items():
            if name in value:
                self.visit(child, value, path)

    def _visit_extra(self, node: SchemaNode, value: JsonValue, path: Path) -> None:
        if node.engine is False:
            self.add(path, "unknown field")
        else:
            self.visit(node, value, path)

    def _visit_array(self, node: SchemaNode, value: list[Any], path: Path) -> None:
        prefix = node.prefix or ()
        rest = node.items if node.additional_items is None else node.additional_items
        for index, item in enumerate(value):
            child = prefix[index] if index < len(prefix) else rest
            if child is None:
                break
            self.visit(child, item, (*path, index))
        self._add_limits(node, value, path, _ARRAY_LIMITS)
        if node.refuses(value, "uniqueItems"):
            self.add(path, "expected unique items")
        if node.refuses(value, "contains", "minContains", "maxContains"):
            self.add(path, _contains_message(node))

    def _visit_in_place(self, node: SchemaNode, value: JsonValue, path: Path) -> None:
        for child in node.all_of or ():
            self.visit(child, value, path)
        self._visit_union(node.any_of, value, path, is_exclusive=False)
        self._visit_union(node.one_of, value, path, is_exclusive=True)
        if node.negated is not None and node.negated.accepts(value):
            self.add(path, "must not match the schema in not")
        if node.condition is not None:
            branch = node.then if node.condition.accepts(value) else node.otherwise
            if branch is not None:
                self.visit(branch, value, path)
        if node.reference is not None:
            self._visit_reference(node, value, path)

    def _visit_reference(self, node: SchemaNode, value: JsonValue, path: Path) -> None:
        target = node.target
        if target is None:
            self.add(path, f"unresolved reference {node.reference}")
        else:
            key = (id(target), id(value), path)
            if key not in self._known:
                self._known[key] = []  # a reference that leads back here adds nothing
                self._known[key] = self.apart(target, value, path)
            self.problems.extend(self._known[key])

    def _visit_union(
        self,
        branches: tuple[SchemaNode, ...] | None,
        value: JsonValue,
        path: Path,
        *,
        is_exclusive: bool,
    ) -> None:
        if branches is None:
            return
        matches = sum(branch.accepts(value) for branch in branches)
        if matches > 1 and is_exclusive:
            self.add(path, "matches more than one alternative")
        if matches > 0:
            return
        tag = _tag_of(branches)
        if tag is None or not is_object(value):
            self.problems.extend(self._likeliest(branches, value, path))
            return
        name, values = tag
        found = value.get(name, ABSENT)
        chosen = [i for i, item in enumerate(values) if is_same_scalar(found, item)]
        if chosen:
            self.visit(branches[chosen[0]], value, path)
        else:
            self.add((*path, name), f"expected one of {_listed(values)}")

    def _likeliest(
        self, branches: tuple[SchemaNode, ...], value: JsonValue, path: Path
    ) -> list[Problem]:
        """Return the problems of the branch that declares most keys, then fails deepest."""
        best: list[Problem] = [(path, "matches no alternative")]
        best_rank: tuple[int, ...] = ()
        for branch in branches:
            found = self.apart(branch, value, path)
            rank = (_declared_keys(branch, value), _pointer_chars(found[0][0])) if found else ()
            if rank > best_rank:
                best, best_rank = found, rank
        return best

    def _visit_unevaluated(self, node: SchemaNode, value: JsonValue, path: Path) -> None:
        if node.unevaluated_properties is not None and is_object(value):
            for name in node.unevaluated_names(value):
                self._visit_extra(node.unevaluated_properties, value[name], (*path, name))
        if node.unevaluated_items is not None and is_array(value):
            for index in node.unevaluated_indexes(value):
                if node.unevaluated_items.engine is False:
                    self.add((*path, index), "unexpected item")
                else:
                    self.visit(node.unevaluated_items, value[index], (*path, index))


def _listed(values: list[Any]) -> str:
    text = json_text(values[:MAX_LISTED_VALUES])
    left = len(values) - MAX_LISTED_VALUES
    return text if left <= 0 else f"{text[:-1]}, ... and {left} more]"


def _contains_message(node: SchemaNode) -> str:
    least = node.keywords.get("minContains", 1)
    most = node.keywords.get("maxContains")
    if most is None:
        return f"expected at least {least} matching {'item' if least == 1 else 'items'}"
    if least == 0:
        return f"expected at most {most} matching {'item' if most == 1 else 'items'}"
    return f"expected between {least} and {most} matching items"


def _followed(node: SchemaNode) -> SchemaNode:
    """Return a node or, where it refers to another, that one."""
    return node if node.target is None else node.target


def _tag_of(branches: tuple[SchemaNode, ...]) -> tuple[str, list[Any]] | None:
    """Return the key whose constant tells the branches apart, and its values."""
    nodes = [_followed(branch) for branch in branches]
    for name in (nodes[0].properties or {}) if nodes else {}:
        tags = [(node.properties or {}).get(name) for node in nodes]
        values = [ABSENT if tag is None else tag.constant for tag in tags]
        if any(value is ABSENT or (is_object(value) or is_array(value)) for value in values):
            continue
        if len({(isinstance(value, bool), value) for value in values}) == len(values):
            return name, values
    return None


def _declared_keys(node: SchemaNode, value: JsonValue) -> int:
    properties = _followed(node).properties or {}
    return sum(name in properties for name in value) if is_object(value) else 0


def _pointer_chars(path: Path) -> int:
    """Return the length of a path as a JSON Pointer, where ``~`` and ``/`` take two characters."""
    text = "".join(map(str, path))
    return len(text) + len(path) + text.count("~") + text.count("/")
