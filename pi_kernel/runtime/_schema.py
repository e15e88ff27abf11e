"""One node of a JSON Schema: what coercion and messages walk, and its form for the engine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pi_kernel.protocol.json import JsonObject, JsonValue
from pi_kernel.runtime._engine import Check, answer, compile_check, unevaluated_parts
from pi_kernel.runtime._kinds import ABSENT

EngineSchema = dict[str, Any]


@dataclass(slots=True, eq=False)
class SchemaNode:
    """The keywords of one schema, read by `pi_kernel.runtime._schema_reader`."""

    engine: EngineSchema | bool
    """A tidy schema of draft 2020-12; its references lead into ``definitions``."""
    definitions: dict[str, EngineSchema]
    """One table for all nodes of a schema."""
    types: tuple[str, ...] = ()
    single_type: str | None = None
    """The type, when it is given as one word and not as a list."""
    constant: Any = ABSENT
    members: list[Any] | None = None
    """The values of ``enum``."""
    all_of: tuple[SchemaNode, ...] | None = None
    any_of: tuple[SchemaNode, ...] | None = None
    one_of: tuple[SchemaNode, ...] | None = None
    negated: SchemaNode | None = None
    condition: SchemaNode | None = None
    then: SchemaNode | None = None
    otherwise: SchemaNode | None = None
    reference: str | None = None
    target: SchemaNode | None = None
    """Where ``reference`` leads; None when it names nothing."""
    pattern: str | None = None
    """The pattern as written; the engine may hold another form of it, or none."""
    properties: dict[str, SchemaNode] | None = None
    required: tuple[str, ...] = ()
    patterns: tuple[tuple[Check, SchemaNode], ...] | None = None
    additional: SchemaNode | None = None
    property_names: SchemaNode | None = None
    dependent_required: dict[str, tuple[str, ...]] = field(default_factory=dict)
    dependent_schemas: dict[str, SchemaNode] = field(default_factory=dict)
    prefix: tuple[SchemaNode, ...] | None = None
    items: SchemaNode | None = None
    additional_items: SchemaNode | None = None
    """What follows a draft 7 list of items: checked, but not coerced."""
    unevaluated_properties: SchemaNode | None = None
    unevaluated_items: SchemaNode | None = None
    _check: Check | None = None
    _keyword_checks: dict[str, Check] = field(default_factory=dict)

    def compile(self) -> Check:
        """Return the engine's own check; it cannot read lone surrogates."""
        self._check = self._compile(self.keywords)
        return self._check

    @property
    def keywords(self) -> EngineSchema:
        """The keywords that the engine gets; none for a boolean."""
        return {} if isinstance(self.engine, bool) else self.engine

    def accepts(self, value: JsonValue) -> bool:
        """Whether the engine finds a value valid here."""
        if isinstance(self.engine, bool):
            return self.engine
        return answer(self._check or self.compile(), value)

    def refuses(self, value: JsonValue, keyword: str, *partners: str) -> bool:
        """Whether one keyword alone, with those that only modify it, refuses a value."""
        keywords = self.keywords
        if keyword not in keywords:
            return False
        check = self._keyword_checks.get(keyword)
        if check is None:
            part = {name: keywords[name] for name in (keyword, *partners) if name in keywords}
            check = self._keyword_checks[keyword] = self._compile(part)
        return not answer(check, value)

    def refuses_type(self, value: JsonValue) -> bool:
        """Whether a value has none of the types; a type of an unknown name has no values."""
        return bool(self.types) and ("type" not in self.keywords or self.refuses(value, "type"))

    def unevaluated_names(self, value: JsonObject) -> list[str]:
        """Return the keys that no keyword here has looked at."""
        return self._unevaluated(value, "unevaluatedProperties")

    def unevaluated_indexes(self, value: list[JsonValue]) -> range:
        """Return the indexes that no keyword here has looked at, taken to be the last ones."""
        count = len(self._unevaluated(value, "unevaluatedItems"))
        return range(len(value) - count, len(value))

    def _unevaluated(self, value: JsonValue, keyword: str) -> list[str]:
        strict = self._with_definitions({**self.keywords, keyword: False})
        return unevaluated_parts(strict, value)

    def _compile(self, schema: EngineSchema) -> Check:
        return compile_check(self._with_definitions(schema))

    def _with_definitions(self, schema: EngineSchema) -> EngineSchema:
        return {**schema, "$defs": self.definitions} if self.definitions else schema
