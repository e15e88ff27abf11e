"""A tool's signature and help text."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from pi_kernel.registry._help import help_text, signature_of, type_text
from tests.support.engine import make_tool

ROOT = {
    "$defs": {
        "Point": {"type": "object"},
        "Loop": {"$ref": "#/$defs/Loop"},
        "Names": {"type": "array", "items": {"type": "string"}},
    }
}


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "str"),
        ({"type": "integer"}, "int"),
        ({"type": "number"}, "float"),
        ({"type": "boolean"}, "bool"),
        ({"type": "null"}, "None"),
        ({"type": "object"}, "dict"),
        ({"type": "array"}, "list"),
        ({"type": "array", "items": {}}, "list"),
        ({"type": "array", "items": {"type": "integer"}}, "list[int]"),
        ({"type": "array", "items": {"type": "array", "items": {}}}, "list[list]"),
        ({"type": ["string", "null"]}, "str | None"),
        ({"anyOf": [{"type": "string"}, {"type": "null"}]}, "str | None"),
        ({"oneOf": [{"type": "integer"}, {"const": "auto"}]}, "int | Literal['auto']"),
        ({"anyOf": [{"type": "string"}, {"type": "string", "maxLength": 3}]}, "str"),
        ({"anyOf": []}, "Any"),
        ({"enum": ["a", "b", 3]}, "Literal['a', 'b', 3]"),
        ({"enum": list("abcdefgh")}, "Literal['a', 'b', 'c', 'd', 'e', 'f', ...]"),
        ({"enum": []}, "Any"),
        ({"const": None}, "Literal[None]"),
        ({"$ref": "#/$defs/Point"}, "dict"),
        ({"$ref": "#/$defs/Names"}, "list[str]"),
        ({"$ref": "#/$defs/Missing"}, "Any"),
        ({"$ref": "#/nowhere/at/all"}, "Any"),
        ({"$ref": "#/$defs/Loop"}, "Any"),
        ({}, "Any"),
        ({"type": "date"}, "Any"),
        ({"type": 5}, "Any"),
        (True, "Any"),
    ],
)  # fmt: skip
def test_a_schema_has_a_type_in_pythons_words(schema: Any, text: str) -> None:
    assert type_text(schema, ROOT) == text


def test_required_parameters_come_first_and_others_show_their_default() -> None:
    tool = make_tool(
        "query",
        description="Run it. ",
        parameters={
            "type": "object",
            "required": ["sql"],
            "properties": {
                "limit": {"type": "integer", "default": 5, "description": "The most\n  rows"},
                "sql": {"type": "string", "description": "One statement."},
                "class": {"type": "string"},
                "a b": {},
                "flag": True,
                "text": {"type": "string", "description": 5},
            },
        },
    )
    assert str(signature_of(tool)) == ("(*, sql: str, limit: int = 5, flag=..., text: str = ...)")
    assert help_text(tool) == (
        "Run it.\n"
        "\n"
        "Args:\n"
        "    sql (str): One statement.\n"
        "    limit (int, default 5): The most rows\n"
        "    class (str, optional)\n"
        "    a b (Any, optional)\n"
        "    flag (Any, optional)\n"
        "    text (str, optional)"
    )


@pytest.mark.parametrize(
    "schema", [{}, {"properties": []}, {"properties": {1: {}}, "required": "x"}]
)
def test_odd_schemas_have_an_empty_signature_and_no_list(schema: Any) -> None:
    tool = make_tool("a", parameters=schema)
    assert signature_of(tool) == inspect.Signature()
    assert help_text(tool) == "The tool a."


def test_without_a_description_the_list_stands_alone() -> None:
    tool = make_tool("a", description="", parameters={"properties": {"n": {"type": "integer"}}})
    assert help_text(tool) == "Args:\n    n (int, optional)"
