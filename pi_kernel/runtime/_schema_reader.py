"""From a JSON Schema, as found in the wild, to nodes.

Schemas are read as tolerantly as Pi reads them: always as draft 2020-12, with draft 7's lists of
items and ``dependencies`` and draft 4's exclusive bounds understood; a keyword whose value has the
wrong shape is left out; a reference that names nothing, and a pattern that is no regular
expression, refuse only the values at their place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import JsonValue
from pi_kernel.runtime._engine import FORMATS, pattern_check, usable_pattern
from pi_kernel.runtime._kinds import is_mapping, is_number, is_sequence, type_name
from pi_kernel.runtime._references import ROOT_URI, References
from pi_kernel.runtime._schema import EngineSchema, SchemaNode
from pi_kernel.runtime.arguments import ArgumentsNotJson, copy_json

_TYPE_NAMES = frozenset(("array", "boolean", "integer", "null", "number", "object", "string"))
_BOUNDS = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
_COUNTS = (
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
)
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")
_NOTHING = False
"""The schema that no value passes."""
_NO_TEXT: EngineSchema = {"not": {"type": "string"}}


def read_schema(schema: Mapping[str, Any]) -> list[SchemaNode]:
    """Return the nodes of a schema and of everything that its references name, the root first.

    Raises:
        PiKernelError: If something in a schema's place is neither an object nor a boolean, if a
            constant is not JSON, or if the schema is endless.
    """
    try:
        return _SchemaReader(schema).read_all()
    except RecursionError:
        raise PiKernelError("The parameter schema is nested too deeply") from None


class _SchemaReader:
    """One reading; a schema object that is used twice becomes one node."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self.references = References(schema)
        self.definitions: dict[str, EngineSchema] = {}
        self._schema = schema
        self._nodes: dict[int, SchemaNode] = {}
        self._unfinished: set[int] = set()
        self._links: list[tuple[SchemaNode, str, Any, str]] = []
        self._names: dict[int, str] = {}
        self._kept: list[Any] = []  # an id is only a name while its object lives

    def read_all(self) -> list[SchemaNode]:
        self.read(self._schema, ROOT_URI, "parameters")
        while self._links:
            node, reference, schema, base = self._links.pop()
            node.target = self.read(schema, base, reference)
            if isinstance(node.target.engine, dict):
                self.definitions[self._names[id(schema)]] = node.target.engine
        return list(self._nodes.values())

    def read(self, schema: JsonValue, base: str, where: str) -> SchemaNode:
        if isinstance(schema, bool):
            return SchemaNode(schema, self.definitions)
        if not is_mapping(schema):
            raise PiKernelError(
                f"The schema at {where} must be an object or a boolean, got {type_name(schema)}"
            )
        if id(schema) in self._unfinished:
            raise PiKernelError(f"The schema at {where} contains itself; use $ref for that")
        node = self._nodes.get(id(schema))
        if node is None:
            engine: EngineSchema = {}
            node = self._nodes[id(schema)] = SchemaNode(engine, self.definitions)
            self._kept.append(schema)
            self._unfinished.add(id(schema))
            base = self.references.base_of(schema, base)
            _NodeReader(self, node, engine, schema, base, where).read()
            self._unfinished.discard(id(schema))
        return node

    def link(self, node: SchemaNode, reference: str, base: str) -> EngineSchema | bool:
        """Note where a node's reference leads; return what the engine gets in its place."""
        node.reference = reference
        found = self.references.resolve(reference, base)
        if found is None or not (is_mapping(found[0]) or isinstance(found[0], bool)):
            return _NOTHING
        schema, base = found
        self._links.append((node, reference, schema, base))
        if isinstance(schema, bool):
            return schema
        self._kept.append(schema)
        return {"$ref": f"#/$defs/{self._names.setdefault(id(schema), str(len(self._names)))}"}


@dataclass(slots=True)
class _NodeReader:
    """The reading of one schema object."""

    whole: _SchemaReader
    node: SchemaNode
    engine: EngineSchema
    schema: Mapping[str, Any]
    base: str
    where: str
    also: list[EngineSchema | bool] = field(default_factory=list)
    """Schemas that the engine adds to ``allOf``."""

    def read(self) -> None:
        self.read_values()
        self.read_limits()
        self.read_texts()
        self.read_object()
        self.read_dependencies()
        self.read_array()
        self.read_in_place()
        self.read_references()
        all_of = [child.engine for child in self.node.all_of or ()] + self.also
        if all_of:
            self.engine["allOf"] = all_of

    def read_values(self) -> None:
        types = self.schema.get("type")
        if isinstance(types, str):
            self.node.single_type = types
            types = [types]
        self.node.types = _texts(types)
        known = [name for name in dict.fromkeys(self.node.types) if name in _TYPE_NAMES]
        if known:
            self.engine["type"] = known
        elif self.node.types:
            self.also.append(_NOTHING)
        if "const" in self.schema:
            self.node.constant = self.engine["const"] = self.literal("const")
        if is_sequence(self.schema.get("enum")):
            self.node.members = self.engine["enum"] = list(self.literal("enum"))

    def read_limits(self) -> None:
        for keyword in _BOUNDS:
            if is_number(limit := self.schema.get(keyword)):
                self.engine[keyword] = limit
        for keyword in ("minimum", "maximum"):
            exclusive = "exclusive" + keyword.capitalize()
            if self.schema.get(exclusive) is True and keyword in self.engine:
                self.engine[exclusive] = self.engine.pop(keyword)
        if is_number(step := self.schema.get("multipleOf")) and step > 0:
            self.engine["multipleOf"] = step
        for keyword in _COUNTS:
            count = self.schema.get(keyword)
            if is_number(count) and count >= 0 and count == int(count):
                self.engine[keyword] = int(count)

    def read_texts(self) -> None:
        pattern = self.schema.get("pattern")
        if isinstance(pattern, str):
            self.node.pattern = pattern
            usable = usable_pattern(pattern)
            if usable is None:
                self.also.append(_NO_TEXT)
            else:
                self.engine["pattern"] = usable
        if self.schema.get("format") in FORMATS:
            self.engine["format"] = self.schema["format"]

    def read_object(self) -> None:
        node, engine = self.node, self.engine
        node.required = _texts(self.schema.get("required"))
        if node.required:
            engine["required"] = list(dict.fromkeys(node.required))
        node.properties = self.named_children("properties")
        if node.properties is not None:
            engine["properties"] = _engine_forms(node.properties)
        by_pattern = self.named_children("patternProperties")
        if by_pattern is not None:
            usable = {
                pattern: check
                for pattern in by_pattern
                if (check := pattern_check(pattern)) is not None
            }
            node.patterns = tuple((check, by_pattern[name]) for name, check in usable.items())
            engine["patternProperties"] = {
                usable_pattern(name): by_pattern[name].engine for name in usable
            }
        node.additional = self.child("additionalProperties")
        node.property_names = self.child("propertyNames")
        node.unevaluated_properties = self.child("unevaluatedProperties")

    def read_dependencies(self) -> None:
        node = self.node
        node.dependent_schemas = self.named_children("dependentSchemas") or {}
        for keyword in ("dependentRequired", "dependencies"):
            dependencies = self.schema.get(keyword)
            if not is_mapping(dependencies):
                continue
            for name, dependency in dependencies.items():
                if is_sequence(dependency):
                    node.dependent_required[name] = _texts(dependency)
                elif keyword == "dependencies":
                    where = f"{self.where}.dependencies.{name}"
                    node.dependent_schemas[name] = self.whole.read(dependency, self.base, where)
        if node.dependent_required:
            self.engine["dependentRequired"] = {
                name: list(dict.fromkeys(names)) for name, names in node.dependent_required.items()
            }
        if node.dependent_schemas:
            self.engine["dependentSchemas"] = _engine_forms(node.dependent_schemas)

    def read_array(self) -> None:
        node, engine = self.node, self.engine
        node.prefix = self.children("items")
        if node.prefix is None:
            node.prefix = self.children("prefixItems")
            node.items = self.child("items")
        else:
            node.additional_items = self.child("additionalItems", engine_keyword="items")
        if node.prefix:
            engine["prefixItems"] = [child.engine for child in node.prefix]
        if self.schema.get("uniqueItems") is True:
            engine["uniqueItems"] = True
        self.child("contains")
        node.unevaluated_items = self.child("unevaluatedItems")

    def read_in_place(self) -> None:
        """Read the keywords that hold schemas for the value itself."""
        node = self.node
        node.all_of = self.children("allOf")
        node.any_of = self.children("anyOf")
        node.one_of = self.children("oneOf")
        for keyword, branches in (("anyOf", node.any_of), ("oneOf", node.one_of)):
            if branches:
                self.engine[keyword] = [branch.engine for branch in branches]
            elif branches is not None:
                self.also.append(_NOTHING)
        node.negated = self.child("not")
        node.condition = self.child("if")
        if node.condition is not None:
            node.then = self.child("then")
            node.otherwise = self.child("else")

    def read_references(self) -> None:
        """Link the node to what it refers to; a second reference gets a node of its own."""
        for keyword in _REFERENCES:
            reference = self.schema.get(keyword)
            if not isinstance(reference, str):
                continue
            if self.node.reference is None:
                self.also.append(self.whole.link(self.node, reference, self.base))
            else:
                extra: EngineSchema = {}
                node = SchemaNode(extra, self.whole.definitions)
                extra["allOf"] = [self.whole.link(node, reference, self.base)]
                self.node.all_of = (*(self.node.all_of or ()), node)

    def child(self, keyword: str, *, engine_keyword: str | None = None) -> SchemaNode | None:
        """Read the schema that a keyword holds and give the engine its form."""
        if keyword not in self.schema:
            return None
        node = self.whole.read(self.schema[keyword], self.base, f"{self.where}.{keyword}")
        self.engine[engine_keyword or keyword] = node.engine
        return node

    def children(self, keyword: str) -> tuple[SchemaNode, ...] | None:
        children = self.schema.get(keyword)
        if not is_sequence(children):
            return None
        return tuple(
            self.whole.read(child, self.base, f"{self.where}.{keyword}.{index}")
            for index, child in enumerate(children)
        )

    def named_children(self, keyword: str) -> dict[str, SchemaNode] | None:
        children = self.schema.get(keyword)
        if not is_mapping(children):
            return None
        return {
            name: self.whole.read(child, self.base, f"{self.where}.{keyword}.{name}")
            for name, child in children.items()
        }

    def literal(self, keyword: str) -> JsonValue:
        try:
            return copy_json(self.schema[keyword])
        except ArgumentsNotJson as error:
            raise PiKernelError(
                f"The {keyword} at {self.where} is not JSON: {error.problem}"
            ) from None


def _engine_forms(nodes: dict[str, SchemaNode]) -> EngineSchema:
    return {name: node.engine for name, node in nodes.items()}


def _texts(value: JsonValue) -> tuple[str, ...]:
    if not is_sequence(value):
        return ()
    return tuple(item for item in value if isinstance(item, str))
