from __future__ import annotations

import copy
import json
import math
import pickle
import socket
import subprocess
import sys
import threading
import types
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import JsonValue
from pi_kernel.runtime.validation import ArgumentsInvalid, SchemaValidator, compile_schema

MAX_LEVELS = 200
LISTED = 20


class Opaque:
    """An object that JSON does not know, the same in every process."""

    def __repr__(self) -> str:
        return "Opaque()"


def shown(value: object) -> str:
    return repr(value)[:60]


def typed(value: JsonValue) -> JsonValue:
    """Return a value with the type of each part, so that 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return (dict, [(key, typed(item)) for key, item in value.items()])
    if isinstance(value, list):
        return (list, [typed(item) for item in value])
    return (type(value), value)


def containers(value: JsonValue) -> set[int]:
    if isinstance(value, dict):
        return {id(value)}.union(*map(containers, value.values()))
    if isinstance(value, list):
        return {id(value)}.union(*map(containers, value))
    return set()


def error_text(schema: JsonValue, args: JsonValue, *, tool_name: str = "t") -> str:
    with pytest.raises(ArgumentsInvalid) as caught:
        compile_schema(schema).check(tool_name, args)
    return str(caught.value)


def problems(schema: JsonValue, args: JsonValue) -> list[str]:
    """Return the lines between the frame, without their dash."""
    head, _, rest = error_text(schema, args).partition("\n")
    assert head == 'Validation failed for tool "t":'
    lines = rest.partition("\n\nReceived arguments:\n")[0].split("\n  - ")
    return [lines[0].removeprefix("  - "), *lines[1:]]


def of_value(schema: JsonValue, value: JsonValue) -> list[str]:
    """Return the problems of a required property ``v``."""
    return problems(
        {"type": "object", "properties": {"v": schema}, "required": ["v"]}, {"v": value}
    )


def integer_tool(**more: JsonValue) -> dict[str, Any]:
    return {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]} | more


# ---- The frame -----------------------------------------------------------------------------------


def test_the_whole_text_is_pis() -> None:
    assert error_text(integer_tool(), {"n": "abc"}) == (
        'Validation failed for tool "t":\n'
        "  - n: expected integer, got string\n"
        "\n"
        "Received arguments:\n"
        "{\n"
        '  "n": "abc"\n'
        "}"
    )


def test_one_line_a_problem_in_the_order_of_the_schema() -> None:
    schema = {
        "type": "object",
        "properties": {
            "path": {"type": "string"},
            "edits": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {"oldText": {"type": "string"}, "newText": {"type": "string"}},
                    "required": ["oldText", "newText"],
                    "additionalProperties": False,
                },
            },
        },
        "required": ["path", "edits"],
    }
    args = {"edits": [{"newText": ["x"], "more": 1}, None]}
    assert error_text(schema, args, tool_name="edit") == (
        'Validation failed for tool "edit":\n'
        "  - path: missing\n"
        "  - edits.0.oldText: missing\n"
        "  - edits.0.newText: expected string, got array\n"
        "  - edits.0.more: unknown field\n"
        "  - edits.1: expected object, got null\n"
        "\n"
        "Received arguments:\n"
        "{\n"
        '  "edits": [\n'
        "    {\n"
        '      "newText": [\n'
        '        "x"\n'
        "      ],\n"
        '      "more": 1\n'
        "    },\n"
        "    null\n"
        "  ]\n"
        "}"
    )


def test_null_for_a_list_fails_at_its_first_item() -> None:
    schema = {
        "type": "object",
        "properties": {"edits": {"type": "array", "items": {"type": "object"}}},
        "required": ["edits"],
    }
    assert problems(schema, {"edits": None}) == ["edits.0: expected object, got null"]


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ({}, "{}"),
        ({"a": {}, "b": []}, '{\n  "a": {},\n  "b": []\n}'),
        ({"é": "漢 😀"}, '{\n  "é": "漢 😀"\n}'),
        ({"a": 5.0, "b": 0.1, "c": -0.0}, '{\n  "a": 5,\n  "b": 0.1,\n  "c": 0\n}'),
        ({"a": 1e21, "b": 1e-7}, '{\n  "a": 1e+21,\n  "b": 1e-7\n}'),
        (
            {"a": 123456789012345680000.0, "b": 1.5e-9},
            '{\n  "a": 123456789012345680000,\n  "b": 1.5e-9\n}',
        ),
        ({"a": 0.000001, "b": -1234.5}, '{\n  "a": 0.000001,\n  "b": -1234.5\n}'),
        ({"a": 12345678901234567890}, '{\n  "a": 12345678901234567890\n}'),
        ({"a": True, "b": None}, '{\n  "a": true,\n  "b": null\n}'),
        (
            {"a": 'q"\\\n\t\x08\x0c\r\x01\x7f\u2028'},
            '{\n  "a": "q\\"\\\\\\n\\t\\b\\f\\r\\u0001\x7f\u2028"\n}',
        ),
        ({"a": "\ud800x"}, '{\n  "a": "\\ud800x"\n}'),
        ({"b": 1, "a": [[1, {"c": []}]]}, None),
    ],
    ids=shown,
)
def test_received_arguments_are_printed_as_javascript_prints_them(
    args: dict[str, Any], text: str | None
) -> None:
    expected = json.dumps(args, indent=2) if text is None else text
    received = error_text({"required": ["missing"]}, args).partition("Received arguments:\n")[2]
    assert received == expected


def test_received_arguments_are_the_ones_before_coercion() -> None:
    schema = integer_tool(properties={"n": {"type": "integer"}, "m": {"type": "integer"}})
    assert error_text(schema, {"n": "42", "m": "x"}).endswith(
        'Received arguments:\n{\n  "n": "42",\n  "m": "x"\n}'
    )


def test_the_frame_serves_other_checks_too() -> None:
    error = ArgumentsInvalid.of("t", [((), "odd"), (("a", 0), "bad")], received={"a": [1]})
    assert str(error) == (
        'Validation failed for tool "t":\n  - root: odd\n  - a.0: bad\n\n'
        'Received arguments:\n{\n  "a": [\n    1\n  ]\n}'
    )
    assert isinstance(error, PiKernelError)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)  # noqa: S301


_TWICE = ["v: expected >= 5", "v: expected >= 5"]


# ---- Every message -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        # type names
        ({"type": "integer"}, "x", "expected integer, got string"),
        ({"type": "string"}, ["a"], "expected string, got array"),
        ({"type": "string"}, {}, "expected string, got object"),
        ({"type": "object"}, None, "expected object, got null"),
        ({"type": "object"}, True, "expected object, got boolean"),
        ({"type": "object"}, 1, "expected object, got integer"),
        ({"type": "object"}, 5.0, "expected object, got integer"),
        ({"type": "object"}, 1.5, "expected object, got number"),
        ({"type": "number"}, math.nan, "expected number, got NaN"),
        ({"type": "number"}, math.inf, "expected number, got Infinity"),
        ({"type": "integer"}, -math.inf, "expected integer, got -Infinity"),
        ({"type": ["object", "null"]}, "x", "expected object or null, got string"),
        (
            {"type": ["object", "integer", "null"]},
            [],
            "expected object or integer or null, got array",
        ),
        ({"type": "text"}, "x", "expected text, got string"),
        ({"type": ["text", "object"]}, "x", "expected text or object, got string"),
        # enum and const
        ({"enum": ["a", "b"]}, "c", 'expected one of ["a","b"]'),
        ({"enum": [1, None, {"k": [1.0]}]}, "c", 'expected one of [1,null,{"k":[1]}]'),
        ({"enum": ["é"]}, "c", 'expected one of ["é"]'),
        ({"const": "a"}, "b", 'expected "a"'),
        ({"const": {"a": [1, 2]}}, "b", 'expected {"a":[1,2]}'),
        ({"const": 1}, "b", "expected 1"),
        ({"const": None}, "b", "expected null"),
        # text
        ({"minLength": 3}, "ab", "expected at least 3 characters"),
        ({"minLength": 3}, "😀😀", "expected at least 3 characters"),
        ({"maxLength": 2}, "abc", "expected at most 2 characters"),
        ({"pattern": "^a+$"}, "b", "expected to match ^a+$"),
        ({"format": "date"}, "2024-13-01", "expected format date"),
        # numbers
        ({"minimum": 3}, 2, "expected >= 3"),
        ({"minimum": 3.0}, 2, "expected >= 3"),
        ({"maximum": 1.5}, 2, "expected <= 1.5"),
        ({"exclusiveMinimum": 2}, 2, "expected > 2"),
        ({"exclusiveMaximum": 2}, 2, "expected < 2"),
        ({"multipleOf": 0.5}, 0.7, "expected a multiple of 0.5"),
        ({"maximum": 1e21}, 1e22, "expected <= 1e+21"),
        # lists
        ({"minItems": 2}, [1], "expected at least 2 items"),
        ({"maxItems": 0}, [1], "expected at most 0 items"),
        ({"uniqueItems": True}, [1, 1.0], "expected unique items"),
        ({"contains": {"type": "integer"}}, ["a"], "expected at least 1 matching item"),
        (
            {"contains": {"const": 1}, "minContains": 2},
            [1],
            "expected at least 2 matching items",
        ),
        (
            {"contains": {"const": 1}, "minContains": 0, "maxContains": 1},
            [1, 1],
            "expected at most 1 matching item",
        ),
        (
            {"contains": {"const": 1}, "minContains": 1, "maxContains": 2},
            [1, 1, 1],
            "expected between 1 and 2 matching items",
        ),
        # objects
        ({"minProperties": 2}, {"a": 1}, "expected at least 2 properties"),
        ({"maxProperties": 0}, {"a": 1}, "expected at most 0 properties"),
        # in place
        ({"oneOf": [{"type": "integer"}, {"minimum": 0}]}, 1, "matches more than one alternative"),
        ({"anyOf": []}, 1, "matches no alternative"),
        ({"oneOf": []}, 1, "matches no alternative"),
        ({"not": {"type": "integer"}}, 1, "must not match the schema in not"),
        (False, 1, "no value is allowed here"),
        ({"$ref": "#/$defs/none"}, 1, "unresolved reference #/$defs/none"),
        ({"$ref": "https://x.test/y.json"}, 1, "unresolved reference https://x.test/y.json"),
        ({"$ref": "#nowhere"}, {}, "unresolved reference #nowhere"),
        ({"$ref": "other.json#/a"}, {}, "unresolved reference other.json#/a"),
        (
            {"pattern": "("},
            "x",
            "the schema's pattern is not a regular expression: (",
        ),
    ],
    ids=shown,
)
def test_each_failing_keyword_has_its_message(
    schema: JsonValue, value: JsonValue, expected: str
) -> None:
    assert of_value(schema, value) == [f"v: {expected}"]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"required": ["a", "b"]}, {}, ["v.a: missing", "v.b: missing"]),
        ({"additionalProperties": False}, {"a": 1}, ["v.a: unknown field"]),
        (
            {"patternProperties": {"^x": {}}, "additionalProperties": False},
            {"x1": 1, "y": 1},
            ["v.y: unknown field"],
        ),
        (
            {"additionalProperties": {"type": "object"}},
            {"a": 1},
            ["v.a: expected object, got integer"],
        ),
        (
            {"patternProperties": {"^x": {"type": "object"}}},
            {"x1": 1, "y": 1},
            ["v.x1: expected object, got integer"],
        ),
        ({"propertyNames": {"maxLength": 1}}, {"ab": 1}, ["v.ab: invalid property name"]),
        ({"dependentRequired": {"a": ["b"]}}, {"a": 1}, ["v.b: required when a is present"]),
        ({"dependencies": {"a": ["b"]}}, {"a": 1}, ["v.b: required when a is present"]),
        ({"dependentSchemas": {"a": {"required": ["b"]}}}, {"a": 1}, ["v.b: missing"]),
        ({"dependencies": {"a": {"required": ["b"]}}}, {"a": 1}, ["v.b: missing"]),
        (
            {"dependentRequired": {"z": ["b"], "a": ["a", "b"]}},
            {"a": 1},
            ["v.b: required when a is present"],
        ),
        (
            {"dependentSchemas": {"z": False, "a": {"required": ["b"]}}},
            {"a": 1},
            ["v.b: missing"],
        ),
        ({"if": {"minimum": 0}, "else": {}, "maximum": 0}, 1, ["v: expected <= 0"]),
        ({"allOf": [{"$ref": "#/properties/w"}, {"$ref": "#/properties/w"}]}, 1, _TWICE),
        ({"items": {"type": "object"}}, [{}, 1], ["v.1: expected object, got integer"]),
        ({"prefixItems": [{"type": "object"}]}, [1, 1], ["v.0: expected object, got integer"]),
        ({"items": [{}], "additionalItems": False}, [1, 1], ["v.1: no value is allowed here"]),
        (
            {"allOf": [{"minimum": 3}, {"multipleOf": 2}]},
            1,
            ["v: expected >= 3", "v: expected a multiple of 2"],
        ),
        ({"if": {"minimum": 0}, "then": {"minimum": 5}}, 1, ["v: expected >= 5"]),
        ({"if": {"minimum": 9}, "else": {"minimum": 5}}, 1, ["v: expected >= 5"]),
        ({"$ref": "#/properties/w"}, 1, ["v: expected >= 5"]),
        (
            {"properties": {"a": {}}, "unevaluatedProperties": False},
            {"a": 1, "b": 2, "c": 3},
            ["v.b: unknown field", "v.c: unknown field"],
        ),
        (
            {"allOf": [{"properties": {"a": {}}}], "unevaluatedProperties": {"type": "object"}},
            {"a": 1, "b": 2},
            ["v.b: expected object, got integer"],
        ),
        ({"prefixItems": [{}], "unevaluatedItems": False}, [1, 2], ["v.1: unexpected item"]),
        (
            {"prefixItems": [{}], "unevaluatedItems": {"type": "object"}},
            [1, 2],
            ["v.1: expected object, got integer"],
        ),
        ({"type": "object", "required": ["a"]}, "x", ["v: expected object, got string"]),
        (
            {"minLength": 9, "pattern": "^x", "format": "date"},
            "ab",
            [
                "v: expected at least 9 characters",
                "v: expected to match ^x",
                "v: expected format date",
            ],
        ),
        (
            {"enum": ["a"], "const": "b", "maxLength": 0},
            "c",
            ['v: expected one of ["a"]', 'v: expected "b"', "v: expected at most 0 characters"],
        ),
        ({"properties": {"a/b": {"type": "object"}}}, {"a/b": 1}, None),
        ({"properties": {"x.y": {"type": "object"}}}, {"x.y": 1}, None),
    ],
    ids=shown,
)
def test_problems_are_at_the_place_that_failed(
    schema: dict[str, Any], value: JsonValue, expected: list[str] | None
) -> None:
    if expected is None:
        expected = [f"v.{next(iter(value))}: expected object, got integer"]
    whole = {"properties": {"v": schema, "w": {"minimum": 5}}, "required": ["v"]}
    assert problems(whole, {"v": value}) == expected


def test_a_type_error_ends_the_checks_of_its_node() -> None:
    schema = {"type": "object", "required": ["a"], "minProperties": 2, "enum": [{}]}
    assert of_value(schema, "x") == ["v: expected object, got string"]


def test_a_long_enum_lists_twenty_values_and_counts_the_rest() -> None:
    values = [f"w{number}" for number in range(25)]
    listed = json.dumps(values[:LISTED], separators=(",", ":"))
    assert of_value({"enum": values}, "x") == [f"v: expected one of {listed[:-1]}, ... and 5 more]"]
    exact = json.dumps(values[:LISTED], separators=(",", ":"))
    assert of_value({"enum": values[:LISTED]}, "x") == [f"v: expected one of {exact}"]


@pytest.mark.parametrize("args", [None, [], ["a"], "text", 3, 1.5, True], ids=shown)
@pytest.mark.parametrize("schema", [{}, {"type": "object"}], ids=shown)
def test_arguments_that_are_no_object_are_refused_at_the_root(
    schema: JsonValue, args: JsonValue
) -> None:
    names = {"NoneType": "null", "list": "array", "str": "string", "int": "integer"}
    names |= {"float": "number", "bool": "boolean"}
    assert problems(schema, args) == [f"root: expected object, got {names[type(args).__name__]}"]


# ---- Unions --------------------------------------------------------------------------------------

TAGGED = {
    "anyOf": [
        {
            "type": "object",
            "properties": {"kind": {"const": "text"}, "text": {"type": "string"}},
            "required": ["kind", "text"],
        },
        {
            "type": "object",
            "properties": {"kind": {"const": "image"}, "width": {"minimum": 1}},
            "required": ["kind"],
        },
    ]
}


def test_a_tagged_union_reports_the_branch_of_its_tag() -> None:
    assert of_value(TAGGED, {"kind": "text"}) == ["v.text: missing"]
    assert of_value(TAGGED, {"kind": "image", "width": 0}) == ["v.width: expected >= 1"]


def test_a_tagged_union_names_the_tags_when_none_fits() -> None:
    expected = ['v.kind: expected one of ["text","image"]']
    assert of_value(TAGGED, {"kind": "video"}) == expected
    assert of_value(TAGGED, {"text": "a"}) == expected
    assert of_value(TAGGED, {"kind": ["text"]}) == expected


def test_a_tagged_union_is_seen_through_references() -> None:
    schema = {
        "properties": {"v": {"oneOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/b"}]}},
        "$defs": {
            "a": {"properties": {"t": {"const": 1}, "x": {"type": "object"}}, "required": ["x"]},
            "b": {"properties": {"t": {"const": True}}, "required": ["t", "y"]},
        },
    }
    assert problems(schema, {"v": {"t": 1}}) == ["v.x: missing"]
    assert problems(schema, {"v": {"t": True}}) == ["v.y: missing"]
    assert problems(schema, {"v": {"t": 2}}) == ["v.t: expected one of [1,true]"]


def test_a_value_that_is_no_object_is_not_judged_by_tags() -> None:
    assert of_value(TAGGED, "x") == ["v: expected object, got string"]


@pytest.mark.parametrize(
    "tags",
    [({"const": "a"}, {"const": "a"}), ({"const": [1]}, {"const": [2]}), ({}, {})],
    ids=shown,
)
def test_constants_that_do_not_tell_branches_apart_are_no_tags(tags: JsonValue) -> None:
    branches = [
        {"properties": {"t": tag}, "required": [name]}
        for tag, name in zip(tags, ("first", "longer_name"), strict=True)
    ]
    assert of_value({"anyOf": branches}, {})[0].startswith("v.longer_name: missing")


def test_a_plain_union_reports_the_branch_that_declares_most_of_the_keys() -> None:
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"deep": {}}, "required": ["deep_and_long"]},
            {"type": "object", "properties": {"a": {}, "b": {"type": "object"}}},
        ]
    }
    assert of_value(schema, {"a": 1, "b": 2, "deep": 3}) == ["v.b: expected object, got integer"]


def test_then_the_branch_whose_first_error_lies_deepest_and_then_the_first() -> None:
    nested = {"type": "array", "items": {"type": "object"}}
    assert of_value({"anyOf": [{"type": "object"}, nested]}, [1]) == [
        "v.0: expected object, got integer"
    ]
    null = {"type": "null"}
    assert of_value({"anyOf": [{"type": "object"}, null]}, "x") == [
        "v: expected object, got string"
    ]
    assert of_value({"anyOf": [null, {"type": "object"}]}, "x") == ["v: expected null, got string"]


def test_a_slash_in_a_key_makes_a_path_longer() -> None:
    branches = [{"required": ["ab"]}, {"required": ["a/"]}, {"required": ["c~"]}]
    assert of_value({"anyOf": branches}, {}) == ["v.a/: missing"]


# ---- Schemas from the wild -----------------------------------------------------------------------


def test_a_dangling_reference_spoils_only_its_own_place() -> None:
    validator = compile_schema(
        {"properties": {"a": {"type": "integer"}, "b": {"$ref": "#/$defs/gone"}}}
    )
    assert validator.check("t", {"a": "1"}) == {"a": 1}
    with pytest.raises(ArgumentsInvalid, match=r"  - b: unresolved reference #/\$defs/gone\n"):
        validator.check("t", {"a": 1, "b": 2})


@pytest.mark.parametrize(
    ("definitions", "reference"),
    [
        ({"$defs": {"n": {"type": "object"}}}, "#/$defs/n"),
        ({"definitions": {"n": {"type": "object"}}}, "#/definitions/n"),
        ({"components": {"schemas": {"n": {"type": "object"}}}}, "#/components/schemas/n"),
        ({"$defs": {"a/b~c d": {"type": "object"}}}, "#/$defs/a~1b~0c%20d"),
        ({"x": [{}, {"type": "object"}]}, "#/x/1"),
        ({"$defs": {"n": {"$anchor": "here", "type": "object"}}}, "#here"),
        ({"$defs": {"n": {"$dynamicAnchor": "here", "type": "object"}}}, "#here"),
        ({"$defs": {"n": {"$id": "#here", "type": "object"}}}, "#here"),
        ({"$defs": {"n": {"$id": "n.json", "type": "object"}}}, "n.json"),
        (
            {"$id": "https://x.test/a/root.json", "$defs": {"n": {"type": "object"}}},
            "https://x.test/a/root.json#/$defs/n",
        ),
        (
            {"$id": "https://x.test/a/root.json", "$defs": {"n": {"$id": "n", "type": "object"}}},
            "/a/n",
        ),
        ({"$id": "urn:x:y", "$defs": {"n": {"type": "object"}}}, "#/$defs/n"),
        (
            {
                "$defs": {
                    "n": {"$id": "n.json", "$ref": "#/$defs/m", "$defs": {"m": {"type": "object"}}}
                }
            },
            "n.json",
        ),
        ({"$defs": {"n": {"$ref": "#/$defs/m"}, "m": {"type": "object"}}}, "#/$defs/n"),
    ],
    ids=shown,
)
@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef"])
def test_references_inside_the_schema_are_followed(
    definitions: dict[str, Any], reference: str, keyword: str
) -> None:
    schema = {"type": "object", "properties": {"v": {keyword: reference}}} | definitions
    assert compile_schema(schema).check("t", {"v": {}}) == {"v": {}}
    assert problems(schema, {"v": "x"}) == ["v: expected object, got string"]


def test_siblings_of_a_reference_count_whatever_draft_is_declared() -> None:
    schema = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "properties": {"v": {"$ref": "#/definitions/n", "maximum": 3}},
        "definitions": {"n": {"type": "integer"}},
    }
    assert problems(schema, {"v": 4}) == ["v: expected <= 3"]


def test_a_reference_to_a_boolean_or_to_what_is_no_schema() -> None:
    schema = {
        "properties": {name: {"$ref": f"#/$defs/{name}"} for name in ("yes", "no", "odd")},
        "$defs": {"yes": True, "no": False, "odd": 3},
    }
    assert compile_schema(schema).check("t", {"yes": 1}) == {"yes": 1}
    assert problems(schema, {"no": 1, "odd": 1}) == [
        "no: no value is allowed here",
        "odd: unresolved reference #/$defs/odd",
    ]


def test_a_second_reference_in_one_schema_counts_too() -> None:
    schema = {
        "properties": {"v": {"$ref": "#/$defs/a", "$dynamicRef": "#/$defs/b"}},
        "$defs": {"a": {"minimum": 3}, "b": {"multipleOf": 2}},
    }
    assert compile_schema(schema).check("t", {"v": 4}) == {"v": 4}
    assert problems(schema, {"v": 1}) == ["v: expected a multiple of 2", "v: expected >= 3"]


def test_references_never_reach_the_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        schema = {"properties": {"v": {"$ref": f"http://127.0.0.1:{port}/s.json"}}}
        assert problems(schema, {"v": 1}) == [
            f"v: unresolved reference http://127.0.0.1:{port}/s.json"
        ]
        server.settimeout(0)
        with pytest.raises(BlockingIOError):
            server.accept()


def test_a_reference_to_a_file_names_nothing() -> None:
    assert of_value({"$ref": "file:///etc/hostname"}, 1) == [
        "v: unresolved reference file:///etc/hostname"
    ]


def test_draft_4_exclusive_bounds_are_understood() -> None:
    schema = {"minimum": 3, "exclusiveMinimum": True, "maximum": 9, "exclusiveMaximum": False}
    assert of_value(schema, 3) == ["v: expected > 3"]
    assert of_value(schema, 10) == ["v: expected <= 9"]


@pytest.mark.parametrize(
    "keywords",
    [
        {"required": "a"},
        {"required": True},
        {"minLength": "3"},
        {"minLength": -1},
        {"minLength": 1.5},
        {"minLength": True},
        {"maximum": "9"},
        {"maximum": math.nan},
        {"multipleOf": 0},
        {"pattern": 3},
        {"format": 3},
        {"format": "int32"},
        {"format": "path"},
        {"enum": "abc"},
        {"properties": []},
        {"patternProperties": None},
        {"patternProperties": {"(": False}},
        {"anyOf": {}},
        {"uniqueItems": "yes"},
        {"dependentRequired": {"a": "b"}},
        {"type": None},
        {"type": []},
        {"$ref": 3},
        {"then": {"type": "object"}},
        {"default": Opaque()},
        {"nullable": True, "x-order": 3, "description": None, "title": 1},
        {"$schema": "http://nowhere.test/draft"},
        {"$id": 3},
        {"$comment": "\ud800"},
    ],
    ids=shown,
)
def test_keywords_of_the_wrong_shape_are_left_out(keywords: dict[str, Any]) -> None:
    validator = compile_schema({"type": "object", "properties": {"v": keywords}})
    for value in ("text", 12, [1, 1], {"a": 1}):
        assert validator.check("t", {"v": value}) == {"v": value}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (
            {"properties": {"a": "string"}},
            "The schema at parameters.properties.a must be an object or a boolean, got string",
        ),
        (
            {"items": {"anyOf": [{}, None]}},
            "The schema at parameters.items.anyOf.1 must be an object or a boolean, got null",
        ),
        (
            {"dependencies": {"a": 3}},
            "The schema at parameters.dependencies.a must be an object or a boolean, got integer",
        ),
        (
            {"properties": {"v": {"$ref": "#/$defs/n"}}, "$defs": {"n": {"not": 3}}},
            "The schema at #/$defs/n.not must be an object or a boolean, got integer",
        ),
        (
            {"properties": {"a": {"const": b"x"}}},
            "The const at parameters.properties.a is not JSON: bytes cannot be written as JSON",
        ),
        (
            {"properties": {"a": {"enum": [math.nan]}}},
            "The enum at parameters.properties.a is not JSON: NaN cannot be written as JSON",
        ),
        (True, "A parameter schema must be an object, got boolean"),
        ([], "A parameter schema must be an object, got array"),
    ],
    ids=shown,
)
def test_what_is_no_schema_is_refused_when_it_is_compiled(schema: JsonValue, message: str) -> None:
    with pytest.raises(PiKernelError) as caught:
        compile_schema(schema)
    assert str(caught.value) == message


def test_a_schema_that_holds_itself_is_refused() -> None:
    endless: dict[str, Any] = {"properties": {}}
    endless["properties"]["a"] = endless
    with pytest.raises(PiKernelError, match=r"properties\.a contains itself; use \$ref"):
        compile_schema(endless)


def test_a_schema_that_is_nested_too_deeply_is_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(2_000):
        deep = {"properties": {"a": deep}}
    with pytest.raises(PiKernelError, match="nested too deeply"):
        compile_schema(deep)


def test_a_name_that_the_engine_cannot_read_is_refused_with_its_reason() -> None:
    with pytest.raises(PiKernelError, match="The parameter schema cannot be compiled: "):
        compile_schema({"properties": {"\ud800": {}}})


def test_one_schema_object_in_two_places_serves_both() -> None:
    shared = {"type": "integer"}
    validator = compile_schema({"properties": {"a": shared, "b": {"items": shared}}})
    assert validator.check("t", {"a": "1", "b": ["2"]}) == {"a": 1, "b": [2]}


def test_mappings_and_tuples_will_do_for_a_schema() -> None:
    schema = types.MappingProxyType(
        {
            "type": "object",
            "properties": types.MappingProxyType({"a": {"enum": (1, 2)}}),
            "required": ("a",),
        }
    )
    assert compile_schema(schema).check("t", {"a": "2"}) == {"a": 2}
    assert problems(schema, {}) == ["a: missing"]


def test_a_schema_changed_after_compiling_changes_nothing() -> None:
    schema = integer_tool()
    validator = compile_schema(schema)
    schema["properties"]["n"]["type"] = "string"
    schema["required"].append("z")
    assert validator.check("t", {"n": "1"}) == {"n": 1}


# ---- Patterns and formats ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("pattern", "matching", "other"),
    [
        ("b", "abc", "ac"),
        (r"^\d+$", "12", "١٢"),
        (r"^\w+$", "a_1", "é"),
        (r"\bfoo\b", "éfoo", "xfoo"),
        (r"o\B", "fo1", "fo é"),
        (r"^(?<y>\d{2})-\k<y>$", "20-20", "20-21"),
        (r"^(a)(?<n>b)\k<n>0$", "abb0", "aba0"),
        (r"(?<=a)b", "ab", "cb"),
        (r"(?!a)b$", "b", "a"),
        (r"^\u{1F600}$", "😀", "x"),
        (r"^\ud83d\ude00$", "😀", "x"),
        (r"^[\ud83d\ude00]$", "😀", "x"),
        (r"^.$", "😀", "\r"),
        (r"^[^]$", "\n", "ab"),
        (r"^[]?$", "", "a"),
        (r"^\0$", "\0", "0"),
        (r"^[\0]$", "\0", "0"),
        (r"^[\b]$", "\b", "b"),
        (r"^[\w-.]+$", "a-b.c", "a b"),
        (r"^[.-\w]+$", "a-b.c", "a b"),
        (r"^[\w-]+$", "a-b", "a.b"),
        (r"^a{,3}$", "a{,3}", "aaa"),
        (r"^{x}$", "{x}", "x"),
        (r"^a{2,}$", "aaa", "a"),
        (r"^[a{]$", "{", "b"),
        (r"^\p{Lu}$", "É", "é"),
        (r"^[^\p{L}-]$", "1", "-"),
        (r"a$", "a", "a\n"),
        (r"^\cJ$", "\n", "J"),
        (r"^\/$", "/", "\\/"),
        (r"^\\k<y>$", r"\k<y>", "y"),
        (r"^(?:.{0,255}){0,100}x$", "aax", "aay"),
        (r"(a+)+$", "aaaa", "a" * 40 + "!"),
    ],
    ids=shown,
)
def test_patterns_are_ecmascript_and_search(pattern: str, matching: str, other: str) -> None:
    schema = {"type": "object", "properties": {"v": {"type": "string", "pattern": pattern}}}
    assert compile_schema(schema).check("t", {"v": matching}) == {"v": matching}
    assert problems(schema, {"v": other}) == [f"v: expected to match {pattern}"]


def test_a_bad_pattern_spoils_only_texts_at_its_place() -> None:
    schema = {"properties": {"a": {"pattern": "(("}, "b": {"type": "integer"}}}
    assert compile_schema(schema).check("t", {"a": 1, "b": "2"}) == {"a": 1, "b": 2}
    assert problems(schema, {"a": "x"}) == [
        "a: the schema's pattern is not a regular expression: (("
    ]


@pytest.mark.parametrize(
    ("name", "good", "bad"),
    [
        ("date", "2024-05-01", "2024-5-1"),
        ("date-time", "2024-05-01T10:00:00Z", "2024-05-01 10h"),
        ("time", "10:00:00Z", "10h"),
        ("duration", "P1D", "1 day"),
        ("email", "a@b.test", "a b"),
        ("hostname", "a.test", "a b"),
        ("ipv4", "127.0.0.1", "256.1.1.1"),
        ("ipv6", "::1", "1"),
        ("uri", "https://a.test/b", "no scheme"),
        ("uuid", "123e4567-e89b-12d3-a456-426614174000", "123"),
        ("json-pointer", "/a/b", "a"),
        ("json-pointer-uri-fragment", "#/a%20b", "/a"),
        ("regex", "^a$", "("),
        ("url", "https://a.test/b?c", "https://"),
        ("url", "mailto:a@b", "relative/path"),
        ("url", "http://[::1]/", "http://[::1"),
    ],
    ids=shown,
)
def test_known_formats_are_checked(name: str, good: str, bad: str) -> None:
    schema = {"type": "object", "properties": {"v": {"type": "string", "format": name}}}
    assert compile_schema(schema).check("t", {"v": good}) == {"v": good}
    assert problems(schema, {"v": bad}) == [f"v: expected format {name}"]


def test_formats_apply_to_texts_only() -> None:
    assert compile_schema({"properties": {"v": {"format": "date"}}}).check("t", {"v": 3}) == {
        "v": 3
    }


# ---- Odd values ----------------------------------------------------------------------------------


def test_lone_surrogates_pass_and_count_as_one_character() -> None:
    flat = compile_schema({"properties": {"v": {"type": "string", "minLength": 2}}})
    assert flat.check("t", {"v": "a\ud800"}) == {"v": "a\ud800"}
    schema = {
        "properties": {
            "v": {"type": "string", "maxLength": 2, "pattern": "^a"},
            "w": {"type": "array", "items": {"type": "integer"}},
        }
    }
    validator = compile_schema(schema)
    args = {"v": "a\ud800", "\udfff": {"k\ud800": ["\ud800"]}}
    assert typed(validator.check("t", args)) == typed(args)
    assert validator.check("t", {"v": "a\ud800", "w": ["1"]}) == {"v": "a\ud800", "w": [1]}
    assert problems(schema, {"v": "\ud800ab", "\udfff": 1}) == [
        "v: expected at most 2 characters",
        "v: expected to match ^a",
    ]


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"x": math.nan}, "x: NaN cannot be written as JSON"),
        ({"n": 1, "x": [math.inf]}, "x.0: Infinity cannot be written as JSON"),
        ({"x": b"a"}, "x: bytes cannot be written as JSON"),
        ({"x": {1, 2}}, "x: set cannot be written as JSON"),
        ({"x": {1: 2}}, "x: the key 1 is not text"),
        (Opaque(), f"root: {__name__}.Opaque cannot be written as JSON"),
    ],
    ids=shown,
)
def test_what_is_no_json_is_refused_even_where_the_schema_does_not_look(
    args: JsonValue, expected: str
) -> None:
    assert problems({"properties": {"n": {"type": "integer"}}}, args) == [expected]


def test_received_arguments_that_are_no_json_are_shown_by_type() -> None:
    text = error_text({}, {"a": b"x", "b": {1: (1.5, {2})}, "c": math.nan})
    assert text.endswith(
        'Received arguments:\n{\n  "a": "<bytes>",\n  "b": {\n    "1": [\n      1.5,\n'
        '      "<set>"\n    ]\n  },\n  "c": null\n}'
    )


def test_an_int_too_long_for_decimal_digits_can_be_reported() -> None:
    text = error_text({"properties": {"v": {"type": "object"}}}, {"v": 16**5000})
    assert text.endswith('Received arguments:\n{\n  "v": 0x1' + "0" * 5000 + "\n}")


def nested(levels: int, leaf: JsonValue = None) -> JsonValue:
    value = leaf
    for _ in range(levels):
        value = {"c": value}
    return value


RECURSIVE = {
    "$ref": "#/$defs/n",
    "$defs": {
        "n": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"c": {"$ref": "#/$defs/n"}},
                    "additionalProperties": False,
                },
                {"type": ["integer", "null"]},
            ]
        }
    },
}


@pytest.mark.parametrize("schema", [{}, RECURSIVE], ids=["open", "recursive"])
def test_depth_has_a_limit_and_below_it_valid_arguments_pass(schema: dict[str, Any]) -> None:
    validator = compile_schema(schema)
    args = nested(MAX_LEVELS)
    assert validator.check("t", args) == args
    for levels in (MAX_LEVELS + 1, 1_000, 100_000):
        assert problems(schema, nested(levels)) == ["root: nested deeper than 200 levels"]


@pytest.mark.parametrize("leaf", ["5", "x", 5.0], ids=shown)
def test_deep_arguments_that_need_coercion_end_in_a_clear_error_at_worst(leaf: JsonValue) -> None:
    validator = compile_schema(RECURSIVE)
    assert validator.check("t", nested(20, 5.0)) == nested(20, 5)
    for levels in (1, 50, 100, MAX_LEVELS):
        try:
            validator.check("t", nested(levels, leaf))
        except ArgumentsInvalid as error:
            assert str(error).count("\n  - ") == 1  # noqa: PT017 - both outcomes are right


def test_a_cycle_is_refused_and_its_text_ends() -> None:
    args: dict[str, Any] = {}
    args["a"] = [args]
    text = error_text({}, args)
    assert "  - a.0: a cycle cannot be written as JSON\n" in text
    assert '"..."' in text


# ---- What check returns --------------------------------------------------------------------------


def test_valid_arguments_are_copied_at_every_level() -> None:
    validator = compile_schema({"properties": {"a": {"type": "object"}}})
    given_args: list[dict[str, Any]] = [{}, {"x": 1}, {"x": 1.5}, {"a": {"b": [{}]}}]
    for args in given_args:
        checked = validator.check("t", args)
        assert typed(checked) == typed(args)
        assert not containers(checked) & containers(args)


def test_a_large_text_is_not_copied() -> None:
    text = "x" * 10_000_000
    validator = compile_schema(integer_tool())
    assert validator.check("t", {"n": 1, "text": text})["text"] is text
    assert validator.check("t", {"n": "1", "texts": [text]})["texts"][0] is text


def test_subclasses_in_the_arguments_become_plain_json() -> None:
    class Text(str):
        __slots__ = ()

    checked = compile_schema({}).check("t", {"a": Text("x"), "b": (1, 2)})
    assert typed(checked) == typed({"a": "x", "b": [1, 2]})


def test_a_failing_list_of_a_hundred_thousand_reports_each_item_in_time() -> None:
    schema = {"properties": {"v": {"type": "array", "items": {"type": "integer"}}}}
    lines = problems(schema, {"v": ["x"] * 100_000})
    assert len(lines) == 100_000
    assert lines[-1] == "v.99999: expected integer, got string"


def test_one_validator_serves_many_threads() -> None:
    numbers = {
        "anyOf": [
            {"type": "integer"},
            {"type": "object", "properties": {"c": {"$ref": "#/$defs/n"}}},
        ]
    }
    validator = compile_schema({"$ref": "#/$defs/n", "$defs": {"n": numbers}})
    wrong: list[object] = []

    def work(leaf: str) -> None:
        for _ in range(50):
            checked = validator.check("t", {"c": {"c": leaf}})
            if checked != {"c": {"c": int(leaf)}}:
                wrong.append(checked)

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_importing_the_module_does_not_load_the_engine() -> None:
    code = (
        "import sys, pi_kernel.runtime.validation;"
        "assert 'jsonschema_rs' not in sys.modules;"
        "assert 'numpy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)  # noqa: S603 - our own interpreter


# ---- Open-ended input ----------------------------------------------------------------------------

NAMES = st.sampled_from(["a", "b", "kind", "x y", "é"])
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | FLOATS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=12,
)


def fixed(schema: JsonValue, values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return pairs of this schema and a value that is valid under it."""
    return st.tuples(st.just(schema), values)


def object_of(members: dict[str, Any]) -> tuple[Any, Any]:
    """Return the pair of an object from the pairs of its members."""
    properties = {name: schema for name, (schema, _) in members.items()}
    schema = {"type": "object", "properties": properties, "required": list(properties)}
    return schema, {name: value for name, (_, value) in members.items()}


LITERALS = st.none() | st.booleans() | st.integers() | st.text()
LEAVES = st.one_of(
    fixed({"type": "string", "minLength": 1}, st.text(min_size=1)),
    fixed({"type": "integer"}, st.integers()),
    fixed({"type": "number"}, st.integers() | FLOATS),
    fixed({"type": "boolean"}, st.booleans()),
    fixed({"type": "null"}, st.none()),
    fixed({"type": ["string", "null"]}, st.none() | st.text()),
    fixed({}, JSON),
    fixed(True, JSON),  # noqa: FBT003 - the schema that everything passes
    LITERALS.map(lambda literal: ({"const": literal}, literal)),
    st.lists(LITERALS, min_size=1).map(lambda members: ({"enum": members}, members[-1])),
)
PAIRS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        inner.map(lambda pair: ({"type": "array", "items": pair[0]}, [pair[1]] * 2)),
        st.dictionaries(NAMES, inner, max_size=3).map(object_of),
        st.tuples(inner, inner).map(lambda both: ({"anyOf": [both[0][0], both[1][0]]}, both[1][1])),
        inner.map(lambda pair: ({"allOf": [pair[0], {}]}, pair[1])),
    ),
    max_leaves=6,
)
"""Pairs of a schema and a value that is valid under it."""


@given(st.dictionaries(NAMES, PAIRS, max_size=4))
def test_valid_arguments_come_back_unchanged_and_unshared(members: dict[str, Any]) -> None:
    schema, args = object_of(members)
    checked = compile_schema(schema).check("t", args)
    assert checked == args
    # An integral float may have become an int, where some branch wants an integer.
    assert json.loads(json.dumps(checked), parse_float=as_number) == json.loads(
        json.dumps(args), parse_float=as_number
    )
    assert not containers(checked) & containers(args)


def as_number(text: str) -> float:
    number = float(text)
    return int(number) if number.is_integer() else number


@given(PAIRS, st.dictionaries(NAMES, JSON, max_size=4))
def test_check_raises_nothing_but_its_error_and_never_touches_what_it_was_given(
    drawn: tuple[Any, Any], args: dict[str, Any]
) -> None:
    schema = {
        "type": "object",
        "properties": {"a": drawn[0], "b": {"$ref": "#/properties/a"}},
        "additionalProperties": {"type": ["integer", "boolean"]},
        "required": ["b"],
    }
    before = copy.deepcopy(args)
    validator = compile_schema(schema)
    try:
        checked = validator.check("t", args)
    except ArgumentsInvalid as error:
        assert str(error).startswith('Validation failed for tool "t":\n  - ')  # noqa: PT017
    else:
        assert typed(validator.check("t", checked)) == typed(checked)
        assert not containers(checked) & containers(args)
    assert typed(args) == typed(before)


@given(
    st.recursive(
        st.none()
        | st.floats()
        | st.text(st.characters())
        | st.binary()
        | st.sampled_from([object()]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.tuples(inner)
            | st.dictionaries(st.text() | st.integers(), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_any_python_value_gives_a_result_or_the_error(args: JsonValue) -> None:
    validator: SchemaValidator = compile_schema(
        {"additionalProperties": {"anyOf": [{"type": "integer"}, {"type": "array"}]}}
    )
    try:
        checked = validator.check("t", args)
    except ArgumentsInvalid as error:
        assert "\n\nReceived arguments:\n" in str(error)  # noqa: PT017
    else:
        json.dumps(checked, allow_nan=False)
