from __future__ import annotations

import dataclasses
import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.render._json import compact_value, json_lines, outline
from tests.render.reading import text_in

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=20,
)


def lines_of(value: Any) -> list[str]:
    lines, _ = json_lines(value)
    return [text_in(line) for line in lines]


def test_short_inner_values_stay_on_one_line_and_keys_are_bold() -> None:
    lines, is_whole = json_lines({"a": [1, 2], "b": {"c": None, "d": 5}, "<e>": []})
    assert lines == [
        "{",
        "  <b>&quot;a&quot;</b>: [1, 2],",
        "  <b>&quot;b&quot;</b>: {<b>&quot;c&quot;</b>: null, <b>&quot;d&quot;</b>: 5},",
        "  <b>&quot;&lt;e&gt;&quot;</b>: []",
        "}",
    ]
    assert is_whole


def test_long_texts_and_lists_are_cut_with_their_length() -> None:
    assert lines_of({"text": "x" * 1_204}) == [
        "{",
        f'  "text": "{"x" * 200}…" (1,204 characters)',
        "}",
    ]
    lines = lines_of(list(range(1_000_000, 1_000_200)))
    assert lines[:2] == ["[", "  1000000,"]
    assert lines[-2:] == ["  … 150 more", "]"]
    assert json_lines(["x" * 201])[1] is False


def test_deep_values_and_values_that_contain_themselves_end() -> None:
    deep: Any = "x" * 90
    for _ in range(50):
        deep = [deep]
    lines, is_whole = json_lines(deep)
    assert (lines, is_whole) == (["[", f"  {'[' * 13}…{']' * 13}", "]"], False)
    cycle: list[Any] = ["x" * 90]
    cycle.append(cycle)
    assert len(json_lines(cycle)[0]) < 100


def test_values_that_are_no_json_are_shown_in_brief() -> None:
    @dataclasses.dataclass
    class Point:
        x: int

    class Broken:
        def __repr__(self) -> str:
            raise ValueError

    value = {"point": Point(1), "bytes": b"ab", "broken": Broken(), 3: (1, 2)}
    assert lines_of(value) == [
        "{",
        '  "point": {"x": 1},',
        '  "bytes": "<2 bytes>",',
        '  "broken": "<Broken>",',
        '  "3": [1, 2]',
        "}",
    ]


def test_a_value_is_told_in_words() -> None:
    assert [outline(value) for value in ({}, {"a": 1}, [1, 2], "abc", None, 3)] == [
        "0 keys",
        "1 key",
        "2 items",
        "a text of 3 B",
        "null",
        "int",
    ]


@given(JSON)
def test_what_is_not_shortened_is_the_json_of_the_value(value: Any) -> None:
    lines, is_whole = json_lines(value)
    text = "\n".join(text_in(line, in_pre=True) for line in lines)
    if is_whole and "U+" not in text:
        assert json.loads(text) == json.loads(json.dumps(value))
    compact = compact_value(value, 100)
    assert len(compact) <= 100
    assert "\n" not in compact


def test_the_cost_is_that_of_what_is_shown() -> None:
    rows = [{"id": number, "text": "x" * 100} for number in range(200_000)]
    json_lines({"rows": rows, "text": "x" * 10_000_000})
    compact_value(rows, 400)


def test_an_integer_of_ten_thousand_digits_is_shown_somehow() -> None:
    assert lines_of([10**10_000, "x" * 80])[1] == "  a very long number,"
