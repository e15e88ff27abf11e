"""JSON values and wire forms: names, absent fields, what JSON cannot say, depth."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field

from pi_kernel import PiKernelError
from pi_kernel.protocol.json import (
    MAX_DEPTH_LEVELS,
    WireModel,
    check_depth,
    compact_json,
    to_wire_value,
    well_formed,
)

ANY_TEXT = st.text(st.characters(categories=["L", "N", "P", "Cs"]))


class Point(WireModel):
    """A value of these tests."""

    x_value: int
    label_text: str | None = None
    parts: list[Any] = Field(default_factory=list)


def test_wires_are_camel_case_without_absent_fields_and_keep_unknown_keys() -> None:
    point = Point(x_value=1, parts=[None, Point(x_value=2)], other_key={"a": None})
    wire = point.to_wire()
    assert wire == {
        "xValue": 1,
        "parts": [None, {"xValue": 2, "parts": []}],
        "other_key": {"a": None},
    }
    assert Point.from_wire(wire).to_wire() == wire
    assert Point.from_wire({"xValue": 1, "labelText": "a"}) == Point(x_value=1, label_text="a")


def test_values_are_frozen() -> None:
    with pytest.raises(ValueError, match="frozen"):
        Point(x_value=1).x_value = 2  # type: ignore[misc]


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (float("nan"), None),
        (float("-inf"), None),
        (1.5, 1.5),
        (True, True),
        ("\ud800", "\ufffd"),
        ({"\udfff": ("a", [float("inf")])}, {"\ufffd": ["a", [None]]}),
        ({1: 2}, {"1": 2}),
        (Point(x_value=1), {"xValue": 1, "parts": []}),
        (Point, Point),
    ],
)
def test_what_json_cannot_say_is_replaced(value: Any, wire: Any) -> None:
    assert to_wire_value(value) == wire


@given(ANY_TEXT)
def test_a_well_formed_text_can_be_sent_and_a_good_one_is_not_copied(text: str) -> None:
    formed = well_formed(text)
    formed.encode()
    try:
        text.encode()
    except UnicodeEncodeError:
        assert formed != text
    else:
        assert formed is text


def test_surrogates_that_make_a_pair_become_their_character() -> None:
    assert well_formed("\ud83d\ude00 \ud83d") == "\U0001f600 \ufffd"


def test_json_is_compact_and_keeps_non_ascii() -> None:
    assert compact_json({"a": [1, "€"]}) == '{"a":[1,"€"]}'


def nested(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value


def test_depth_is_checked_inclusively() -> None:
    check_depth(nested(MAX_DEPTH_LEVELS))
    with pytest.raises(PiKernelError, match="nested more than 200 levels deep"):
        check_depth(nested(MAX_DEPTH_LEVELS + 1))


def test_checking_a_value_with_many_shared_parts_is_quick() -> None:
    value: Any = []
    for _ in range(100):
        value = [value, value]
    check_depth(value)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=20,
)


@given(JSON)
def test_every_wire_value_is_strict_json_in_utf_8(value: Any) -> None:
    check_depth(value)
    text = json.dumps(to_wire_value(value), allow_nan=False, ensure_ascii=False)
    assert json.loads(text.encode()) == to_wire_value(value)
