from __future__ import annotations

import copy
import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.protocol.json import JsonValue
from pi_kernel.runtime.validation import ArgumentsInvalid, SchemaValidator, compile_schema

REFUSED = ...
"""Expected where nothing converts the value and it is reported."""


def shown(value: object) -> str:
    return repr(value)[:40]


def typed(value: JsonValue) -> JsonValue:
    """Return a value with the type of each part, so that 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return (dict, [(key, typed(item)) for key, item in value.items()])
    if isinstance(value, list):
        return (list, [typed(item) for item in value])
    return (type(value), value)


def validator_of(schema: JsonValue, *, required: bool = True, **more: JsonValue) -> SchemaValidator:
    names = ["v"] if required else []
    return compile_schema({"type": "object", "properties": {"v": schema}, "required": names} | more)


def assert_becomes(schema: JsonValue, value: JsonValue, expected: JsonValue) -> None:
    """Check what a required property ``v`` of this schema becomes."""
    validator = validator_of(schema)
    if expected is REFUSED:
        with pytest.raises(ArgumentsInvalid):
            validator.check("t", {"v": value})
    else:
        assert typed(validator.check("t", {"v": value})) == typed({"v": expected})


# ---- By type -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("text", "text"),
        ("", ""),
        (12, "12"),
        (-3, "-3"),
        (5.0, "5"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e21, "1e+21"),
        (1e-7, "1e-7"),
        (123456789012345680000.0, "123456789012345680000"),
        (0.000001, "0.000001"),
        (1.5e300, "1.5e+300"),
        (12345678901234567890123, "12345678901234567890123"),
        (True, "true"),
        (False, "false"),
        (None, "null"),
        (["a"], REFUSED),
        ({"a": 1}, REFUSED),
        (math.nan, REFUSED),
        (math.inf, REFUSED),
    ],
    ids=shown,
)
def test_texts(value: JsonValue, expected: JsonValue) -> None:
    assert_becomes({"type": "string"}, value, expected)


def test_an_int_too_long_for_decimal_digits_does_not_become_text() -> None:
    assert_becomes({"type": "string"}, 10**5000, REFUSED)


NUMERIC_TEXTS: list[tuple[Any, Any]] = [
    ("42", 42),
    (" 42\n", 42),
    ("\ufeff\u00a042\u2028", 42),
    ("", 0),
    ("  ", 0),
    ("-0", 0),
    ("+7", 7),
    ("007", 7),
    ("5.0", 5),
    ("5.", 5),
    ("1e3", 1000),
    ("1E+3", 1000),
    ("0x10", 16),
    ("0XfF", 255),
    ("0b101", 5),
    ("0o17", 15),
    ("12n", 12),
    ("true", 1),
    ("TRUE", 1),
    ("False", 0),
    (True, 1),
    (False, 0),
    (None, 0),
    ("12345678901234567890", 12345678901234567890),
    ("abc", REFUSED),
    ("1_000", REFUSED),
    ("nan", REFUSED),
    ("inf", REFUSED),
    ("Infinity", REFUSED),
    ("-Infinity", REFUSED),
    ("1e400", REFUSED),
    ("9" * 400, REFUSED),
    ("1,5", REFUSED),
    ("1 2", REFUSED),
    ("0x", REFUSED),
    ("0xg", REFUSED),
    ("0x" + "f" * 300, REFUSED),
    ("-0x10", REFUSED),
    ("١٢", REFUSED),
    ("\x1f5", REFUSED),
    ("yes", REFUSED),
    ("null", REFUSED),
    ("1n2", REFUSED),
    ("12n\n", REFUSED),
    ("9007199254740992n", REFUSED),
    ("--1", REFUSED),
    (".", REFUSED),
    ("e5", REFUSED),
    ([1], REFUSED),
    ({}, REFUSED),
    (math.nan, REFUSED),
    (math.inf, REFUSED),
]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *NUMERIC_TEXTS,
        (3, 3),
        (3.7, 3.7),
        (5.0, 5.0),
        ("3.7", 3.7),
        ("-.5", -0.5),
        ("1e-3", 0.001),
        ("1e21", 1e21),
        (10**400, 10**400),
    ],
    ids=shown,
)
def test_numbers(value: JsonValue, expected: JsonValue) -> None:
    assert_becomes({"type": "number"}, value, expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        *NUMERIC_TEXTS,
        (3, 3),
        (5.0, 5),
        (-0.0, 0),
        (3.7, 3),
        (-3.7, -3),
        ("3.7", 3),
        ("-0.5", 0),
        (1e300, int(1e300)),
        ("1e21", 10**21),
        (10**400, 10**400),
    ],
    ids=shown,
)
def test_integers(value: JsonValue, expected: JsonValue) -> None:
    assert_becomes({"type": "integer"}, value, expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (True, True),
        (False, False),
        ("true", True),
        ("TRUE", True),
        ("1", True),
        (1, True),
        (1.0, True),
        ("false", False),
        ("False", False),
        ("0", False),
        (0, False),
        (0.0, False),
        (None, False),
        ("", REFUSED),
        (" true", REFUSED),
        ("yes", REFUSED),
        ("1.0", REFUSED),
        (2, REFUSED),
        (0.5, REFUSED),
        ([], REFUSED),
        ([True], REFUSED),
        ({}, REFUSED),
    ],
    ids=shown,
)
def test_booleans(value: JsonValue, expected: JsonValue) -> None:
    assert_becomes({"type": "boolean"}, value, expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        ("null", None),
        ("NULL", None),
        ("undefined", None),
        ("", None),
        ("0", None),
        (0, None),
        (0.0, None),
        (False, None),
        ("none", REFUSED),
        (" ", REFUSED),
        (True, REFUSED),
        (1, REFUSED),
        ([], REFUSED),
    ],
    ids=shown,
)
def test_nulls(value: JsonValue, expected: JsonValue) -> None:
    assert_becomes({"type": "null"}, value, expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x", ["x"]),
        (["x", 5, True], ["x", "5", "true"]),
        ('["x","y"]', ['["x","y"]']),
        (3, ["3"]),
        (None, ["null"]),
        ([], []),
        ({"a": 1}, REFUSED),
        ([["a"]], REFUSED),
    ],
    ids=shown,
)
def test_a_value_that_is_no_list_is_put_into_one(value: JsonValue, expected: JsonValue) -> None:
    assert_becomes({"type": "array", "items": {"type": "string"}}, value, expected)


def test_lists_without_a_schema_for_items_wrap_the_value_as_it_is() -> None:
    assert_becomes({"type": "array"}, {"a": "1"}, [{"a": "1"}])
    assert_becomes({"items": {"type": "integer"}}, "1", [1])
    assert_becomes({"type": "array", "items": {"type": "array"}}, "x", [["x"]])


def test_items_without_a_type_wrap_even_a_value_that_would_be_valid() -> None:
    assert_becomes({"items": {"type": "string"}}, "x", ["x"])
    validator = validator_of({"items": {"type": "string"}}, required=False)
    assert validator.check("t", {"other": 1, "v": "x"}) == {"other": 1, "v": ["x"]}


@pytest.mark.parametrize("keyword", ["prefixItems", "items"])
def test_tuples_convert_their_items_and_are_not_wrapped(keyword: str) -> None:
    schema = {"type": "array", keyword: [{"type": "integer"}, {"type": "string"}]}
    assert_becomes(schema, ["1", 2], [1, "2"])
    assert_becomes(schema, ["1"], [1])
    assert_becomes(schema, "1", REFUSED)


def test_what_follows_a_tuple_is_converted_only_in_the_newer_form() -> None:
    first = [{"type": "integer"}]
    newer = {"type": "array", "prefixItems": first, "items": {"type": "integer"}}
    older = {"type": "array", "items": first, "additionalItems": {"type": "integer"}}
    assert_becomes(newer, ["1", "2"], [1, 2])
    assert_becomes(older, ["1", 2], [1, 2])
    assert_becomes(older, ["1", "2"], REFUSED)


def test_objects_convert_their_members_by_name_pattern_or_the_rest() -> None:
    schema = {
        "type": "object",
        "properties": {"a": {"type": "integer"}},
        "patternProperties": {"^x": {"type": "boolean"}},
        "additionalProperties": {"type": "string"},
    }
    assert_becomes(schema, {"a": "1", "x1": "true", "z": 5}, {"a": 1, "x1": True, "z": "5"})
    del schema["type"]
    assert_becomes(schema, {"a": "1", "x1": "true", "z": 5}, {"a": 1, "x1": True, "z": "5"})


def test_an_object_written_as_text_is_not_parsed() -> None:
    assert_becomes({"type": "object"}, '{"a":1}', REFUSED)
    assert_becomes({"type": "object"}, [], REFUSED)


def test_members_of_lists_of_objects_are_converted_in_depth() -> None:
    row = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
    schema = {"type": "array", "items": row}
    assert_becomes(schema, [{"n": "1", "k": "2"}, {"n": 2}], [{"n": 1, "k": "2"}, {"n": 2}])
    assert_becomes(schema, {"n": "1"}, [{"n": 1}])


# ---- Constants and enums -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"const": True}, "true", True),
        ({"const": 2}, "2", 2),
        ({"const": 2}, 2.0, 2),
        ({"const": 1}, True, 1),
        ({"const": True}, 1, True),
        ({"const": "2"}, 2, "2"),
        ({"const": "null"}, None, "null"),
        ({"const": 2}, "3", REFUSED),
        ({"const": None}, "null", REFUSED),
        ({"const": [1]}, [1], [1]),
        ({"const": [1]}, 1, REFUSED),
        ({"enum": ["a", "b"]}, "a", "a"),
        ({"enum": ["a", "b"]}, "c", REFUSED),
        ({"enum": [1, 2]}, "2", 2),
        ({"enum": [1, 2]}, 2.0, 2),
        ({"enum": [1, 2]}, True, 1),
        ({"enum": [True, 2]}, 1, True),
        ({"enum": ["1", 1]}, 1, 1),
        ({"enum": ["1", 1]}, 1.0, 1),
        ({"enum": [2.5, "x"]}, "2.5", 2.5),
        ({"enum": ["true", False]}, True, "true"),
        ({"enum": [None, "a"]}, "null", REFUSED),
        ({"enum": [{"k": 1}]}, {"k": 1}, {"k": 1}),
        ({"enum": []}, 1, REFUSED),
        ({"enum": ["1", "2"], "minLength": 2}, 1, REFUSED),
        ({"enum": ["1", "2"], "minLength": 2}, "1", REFUSED),
    ],
    ids=shown,
)
def test_literals(schema: dict[str, Any], value: JsonValue, expected: JsonValue) -> None:
    assert_becomes(schema, value, expected)


# ---- Unions --------------------------------------------------------------------------------------

INTEGER = {"type": "integer"}
STRING = {"type": "string"}
NULL = {"type": "null"}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize(
    ("branches", "value", "expected"),
    [
        ([INTEGER, STRING], "5", "5"),
        ([INTEGER, NULL], "5", 5),
        ([INTEGER, NULL], None, None),
        ([INTEGER, NULL], "x", REFUSED),
        ([{"type": "boolean"}, INTEGER], "1", True),
        ([NULL, INTEGER], "", None),
        ([INTEGER, NULL], "", 0),
        ([{"type": "array", "items": INTEGER}, NULL], "7", [7]),
        ([INTEGER, NULL], 5.0, 5),
        ([{"const": 1}, {"const": 2}], "2", 2),
        ([{"type": ["integer", "null"]}, {"type": ["boolean"]}], "5", 5),
        ([{"type": ["integer", "null"]}, {"type": ["boolean"]}], "true", True),
        ([{"type": ["integer", "null"]}, {"type": ["boolean"]}], "x", REFUSED),
        ([False, INTEGER], "5", 5),
    ],
    ids=shown,
)
def test_a_union_keeps_what_a_branch_accepts_and_else_takes_the_first_conversion_that_passes(
    keyword: str, branches: list[Any], value: JsonValue, expected: JsonValue
) -> None:
    assert_becomes({keyword: branches}, value, expected)


def test_a_union_of_objects_converts_the_branch_that_fits() -> None:
    schema = {
        "anyOf": [
            {"type": "object", "properties": {"a": INTEGER}, "required": ["a"]},
            {"type": "object", "properties": {"b": INTEGER}, "required": ["b"]},
        ]
    }
    assert_becomes(schema, {"b": "2"}, {"b": 2})
    assert_becomes(schema, {"c": "2"}, REFUSED)


def test_members_beside_a_union_are_converted_into_each_candidate() -> None:
    schema = {
        "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
        "properties": {"a": INTEGER, "b": {"type": "boolean"}},
    }
    assert_becomes(schema, {"a": "1", "b": "true"}, {"a": 1, "b": True})
    assert_becomes(schema, {"b": "true"}, {"b": True})


def test_every_part_of_all_of_converts() -> None:
    schema = {
        "allOf": [
            {"type": "object", "properties": {"a": INTEGER}},
            {"type": "object", "properties": {"b": INTEGER}},
        ],
        "properties": {"c": INTEGER},
    }
    assert_becomes(schema, {"a": "1", "b": "2", "c": "3"}, {"a": 1, "b": 2, "c": 3})


@pytest.mark.parametrize(
    ("types", "value", "expected"),
    [
        (["integer", "null"], "5", 5),
        (["integer", "null"], " 5 ", 5),
        (["integer", "null"], None, None),
        (["integer", "null"], True, 1),
        (["integer", "null"], 5.0, 5),
        (["integer", "null"], "5.5", REFUSED),
        (["integer", "null"], "", None),
        (["null", "integer"], "", None),
        (["number", "null"], "5.5", 5.5),
        (["number", "null"], "0x10", 16),
        (["integer", "number"], 5.0, 5.0),
        (["string", "null"], 5, "5"),
        (["string", "null"], None, None),
        (["string", "boolean"], None, ""),
        (["boolean", "string"], None, False),
        (["boolean", "null"], "true", True),
        (["boolean", "null"], 1, True),
        (["boolean", "null"], 0.0, False),
        (["boolean", "null"], "false", False),
        (["boolean", "null"], "TRUE", REFUSED),
        (["boolean", "null"], "1", REFUSED),
        (["boolean", "integer"], "1", 1),
        (["array", "string"], 5, "5"),
        (["array", "null"], "x", REFUSED),
        (["integer"], "5", 5),
        (["string"], None, ""),
    ],
    ids=shown,
)
def test_a_list_of_types_keeps_a_match_and_else_takes_the_first_that_coerces(
    types: list[str], value: JsonValue, expected: JsonValue
) -> None:
    assert_becomes({"type": types}, value, expected)


def test_members_under_a_list_of_types_are_converted_too() -> None:
    schema = {
        "type": ["object", "array"],
        "properties": {"n": {"type": ["integer", "null"]}},
        "items": {"type": ["integer", "null"]},
    }
    assert_becomes(schema, {"n": "1"}, {"n": 1})
    assert_becomes(schema, ["1", None], [1, None])


# ---- Optional nulls ------------------------------------------------------------------------------


def test_null_for_an_optional_property_is_dropped() -> None:
    validator = validator_of({"type": "integer"}, required=False)
    assert validator.check("t", {"v": None}) == {}
    assert validator.check("t", {"k": 1, "v": None, "z": 2}) == {"k": 1, "z": 2}


def test_null_for_a_required_text_becomes_the_word() -> None:
    assert_becomes({"type": "string"}, None, "null")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": ["string", "null"]},
        {"anyOf": [{"type": "string"}, {"type": "null"}]},
        {"enum": ["a", None]},
        {},
        True,
    ],
    ids=shown,
)
def test_null_stays_where_the_schema_accepts_it(schema: JsonValue) -> None:
    assert validator_of(schema, required=False).check("t", {"v": None}) == {"v": None}


def test_null_behind_a_bare_reference_is_converted_and_not_dropped() -> None:
    definitions = {"n": {"type": "integer"}, "o": {"type": "object"}}
    validator = compile_schema(
        {
            "type": "object",
            "properties": {"n": {"$ref": "#/$defs/n"}, "o": {"$ref": "#/$defs/o"}},
            "$defs": definitions,
        }
    )
    assert validator.check("t", {"n": None}) == {"n": 0}
    with pytest.raises(ArgumentsInvalid, match=r"- o: expected object, got null"):
        validator.check("t", {"o": None})


def test_nulls_are_dropped_inside_members_items_patterns_and_the_rest() -> None:
    part = {"type": "object", "properties": {"n": {"type": "integer"}}}
    validator = compile_schema(
        {
            "type": "object",
            "properties": {"one": part, "many": {"type": "array", "items": part}},
            "patternProperties": {"^x": part},
            "additionalProperties": part,
        }
    )
    given_null = {"n": None}
    args = {"one": given_null, "many": [given_null, {"n": 1}], "x1": given_null, "z": given_null}
    expected = {"one": {}, "many": [{}, {"n": 1}], "x1": {}, "z": {}}
    assert validator.check("t", args) == expected


def test_a_dropped_null_makes_an_unknown_key_of_no_difference() -> None:
    validator = validator_of({"type": "integer"}, required=False, additionalProperties=False)
    assert validator.check("t", {"v": None}) == {}


# ---- References and recursion --------------------------------------------------------------------

TREE = {
    "type": "object",
    "properties": {"root": {"$ref": "#/$defs/node"}},
    "$defs": {
        "node": {
            "type": "object",
            "properties": {
                "value": {"type": "integer"},
                "children": {"type": "array", "items": {"$ref": "#/$defs/node"}},
            },
            "required": ["value"],
        }
    },
}


def test_references_are_followed_through_recursive_schemas() -> None:
    args = {"root": {"value": "1", "children": {"value": "2", "children": [{"value": 3.0}]}}}
    expected = {"root": {"value": 1, "children": [{"value": 2, "children": [{"value": 3}]}]}}
    assert typed(compile_schema(TREE).check("t", args)) == typed(expected)


@pytest.mark.parametrize(
    "node",
    [
        {"type": "array", "items": {"$ref": "#/$defs/n"}},
        {"$ref": "#/$defs/n"},
        {"anyOf": [{"$ref": "#/$defs/n"}, {"type": "integer"}]},
        {"allOf": [{"$ref": "#/$defs/n"}], "type": "integer"},
        {"anyOf": [{"type": "array", "items": {"$ref": "#/$defs/n"}}, {"type": "integer"}]},
    ],
    ids=shown,
)
@pytest.mark.parametrize("value", ["x", {"a": 1}, None, ["x", [["y"]]], 1.5], ids=shown)
def test_schemas_that_lead_back_to_themselves_end(node: dict[str, Any], value: JsonValue) -> None:
    validator = compile_schema({"properties": {"v": {"$ref": "#/$defs/n"}}, "$defs": {"n": node}})
    try:
        validator.check("t", {"v": value})
    except ArgumentsInvalid as error:
        assert str(error).startswith('Validation failed for tool "t":\n  - v')  # noqa: PT017


def test_a_recursive_union_that_fails_everywhere_is_not_exponential() -> None:
    union = {"$ref": "#/$defs/u"}
    branches = [
        {"type": "object", "properties": {"a": union, "kind": {"const": name}}, "required": ["a"]}
        for name in ("p", "q", "r")
    ]
    validator = compile_schema(
        {"type": "object", "properties": {"v": union}, "$defs": {"u": {"anyOf": branches}}}
    )
    value: JsonValue = "leaf"
    for _ in range(25):
        value = {"a": value}
    with pytest.raises(ArgumentsInvalid):
        validator.check("t", {"v": value})


# ---- Whole numbers -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        (INTEGER, 5.0, 5),
        ({"type": "number"}, 5.0, 5.0),
        ({}, 5.0, 5.0),
        ({"anyOf": [NULL, INTEGER]}, 5.0, 5),
        ({"anyOf": [{"type": "number"}, INTEGER]}, 5.0, 5.0),
        ({"oneOf": [STRING, {"allOf": [INTEGER]}]}, 5.0, 5),
        ({"$ref": "#/properties/n"}, 5.0, 5),
        ({"type": "array", "items": INTEGER}, [1.0, 2, 3.0], [1, 2, 3]),
        ({"type": "array", "prefixItems": [INTEGER], "items": {}}, [1.0, 1.0], [1, 1.0]),
        ({"type": "object", "additionalProperties": INTEGER}, {"a": 1.0}, {"a": 1}),
        ({"type": "object", "patternProperties": {"^a": INTEGER}}, {"a": 1.0}, {"a": 1}),
        ({"if": INTEGER, "then": {"type": "integer"}, "else": {}}, 5.0, 5),
        ({"if": STRING, "then": {}, "else": {"type": "integer"}}, 5.0, 5),
        ({"if": STRING, "then": {}}, 5.0, 5.0),
        ({"type": "array", "items": {"type": "number"}}, [1.5, 1.0], [1.5, 1.0]),
        ({"enum": [1, 2]}, 2.0, 2),
        ({"enum": [1.0, 2]}, 1.0, 1.0),
        ({"items": {"const": 3}, "type": "array"}, [3.0], [3]),
        ({"type": "object", "properties": {"a": {}, "b": INTEGER}}, {"a": 1.0}, {"a": 1.0}),
    ],
    ids=shown,
)
def test_a_whole_float_becomes_an_int_exactly_where_an_integer_is_wanted(
    schema: JsonValue, value: JsonValue, expected: JsonValue
) -> None:
    validator = validator_of(schema, properties={"v": schema, "n": INTEGER})
    assert typed(validator.check("t", {"v": value})) == typed({"v": expected})


# ---- Copy on write -------------------------------------------------------------------------------


def test_nothing_given_is_changed_or_shared_when_values_convert() -> None:
    validator = compile_schema(TREE | {"additionalProperties": {"type": "array"}})
    args = {"root": {"value": "1", "children": [{"value": 2}]}, "more": {"k": [1]}}
    before = copy.deepcopy(args)
    checked = validator.check("t", args)
    assert args == before
    checked["root"]["children"][0]["value"] = 9
    checked["more"][0]["k"].append(2)
    assert args == before


def test_neither_defaults_nor_unknown_keys_are_touched() -> None:
    validator = compile_schema(
        {"type": "object", "properties": {"a": {"type": "string", "default": "z"}}}
    )
    assert validator.check("t", {}) == {}
    assert validator.check("t", {"b": None, "c": "1"}) == {"b": None, "c": "1"}


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_survives_the_way_over_text(number: float) -> None:
    text = validator_of({"type": "string"}).check("t", {"v": number})["v"]
    assert float(text) == number
    assert float(validator_of({"type": "number"}).check("t", {"v": text})["v"]) == number
    assert json.loads(text) == pytest.approx(number)


@given(st.text())
def test_any_text_gives_a_finite_number_or_the_error(text: str) -> None:
    try:
        number = validator_of({"type": "number"}).check("t", {"v": text})["v"]
    except ArgumentsInvalid:
        return
    assert type(number) in (int, float)
    assert math.isfinite(number)
