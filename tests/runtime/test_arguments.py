from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import inspect
import math
import pickle
import sys
import types
from collections import OrderedDict, UserDict, namedtuple
from decimal import Decimal
from pathlib import Path, PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import JsonValue
from pi_kernel.runtime.arguments import ArgumentsNotJson, copy_json, to_json_arguments

MAX_LEVELS = 200

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
JSON = st.recursive(
    SCALARS | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


class Colour(enum.Enum):
    RED = "red"
    PAIR = (1, 2)


class Level(enum.IntEnum):
    HIGH = 3


class Word(enum.StrEnum):
    YES = "yes"


class Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "not this"


class Number(int):
    pass


class Fraction(float):
    pass


class Query(BaseModel):
    max_rows: int = Field(default=10, alias="maxRows")
    since: dt.date | None = None
    share: float = 0.5


@dataclasses.dataclass
class Point:
    x: int
    rest: Any = None


Pair = namedtuple("Pair", ["left", "right"])  # noqa: PYI024 - an untyped one is the test


def typed(value: JsonValue) -> JsonValue:
    """Return a value with the type of each part, so that 1, 1.0 and True differ."""
    if isinstance(value, dict):
        return (type(value), [(typed(key), typed(item)) for key, item in value.items()])
    if isinstance(value, list):
        return (type(value), [typed(item) for item in value])
    return (type(value), value)


def reason(args: JsonValue) -> str:
    with pytest.raises(ArgumentsNotJson) as caught:
        to_json_arguments(args)
    return str(caught.value)


def nested(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels - 1):
        value = {"in": value}
    return value


def test_no_arguments_are_an_empty_object() -> None:
    assert to_json_arguments(None) == {}
    assert to_json_arguments({}) == {}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Path("/data/a.csv"), "/data/a.csv"),
        (PurePosixPath("b"), "b"),
        (dt.datetime(2024, 5, 1, 10, 30), "2024-05-01T10:30:00"),  # noqa: DTZ001 - naive on purpose
        (dt.datetime(2024, 5, 1, 10, 30, tzinfo=dt.UTC), "2024-05-01T10:30:00+00:00"),
        (dt.date(2024, 5, 1), "2024-05-01"),
        (dt.time(10, 30), "10:30:00"),
        (Colour.RED, "red"),
        (Colour.PAIR, [1, 2]),
        (Level.HIGH, 3),
        (Word.YES, "yes"),
        (Text("own"), "own"),
        (Number(7), 7),
        (Fraction(0.5), 0.5),
        ((1, (2,)), [1, [2]]),
        (Pair(1, "b"), [1, "b"]),
        (OrderedDict(a=1), {"a": 1}),
        (UserDict(a=1), {"a": 1}),
        (types.MappingProxyType({"a": (1,)}), {"a": [1]}),
        ({Word.YES: 1, Text("k"): 2}, {"yes": 1, "k": 2}),
        (Point(1, rest=Point(2)), {"x": 1, "rest": {"x": 2, "rest": None}}),
        (
            Query(maxRows=3, since=dt.date(2024, 5, 1)),
            {"maxRows": 3, "since": "2024-05-01", "share": 0.5},
        ),
        ([Path("a"), None, True, 1, 1.0, "x"], ["a", None, True, 1, 1.0, "x"]),
        (10**400, 10**400),
        ("lone \ud800", "lone \ud800"),
    ],
)
def test_values_with_a_json_form_become_plain_json(value: JsonValue, expected: JsonValue) -> None:
    assert typed(to_json_arguments({"v": value})) == typed({"v": expected})


@pytest.mark.needs("numpy")
def test_numpy_scalars_become_pythons_numbers_and_texts() -> None:
    import numpy as np  # noqa: PLC0415

    given = {
        "i": np.int64(3),
        "u": np.uint8(4),
        "f": np.float64(2.5),
        "h": np.float32(0.5),
        "l": np.longdouble(1.5),
        "b": np.bool_(True),  # noqa: FBT003
        "s": np.str_("text"),
        "d": np.datetime64("2024-05-01T10:30:00.123456789"),
    }
    expected = {
        "i": 3,
        "u": 4,
        "f": 2.5,
        "h": 0.5,
        "l": 1.5,
        "b": True,
        "s": "text",
        "d": "2024-05-01T10:30:00.123456789",
    }
    assert typed(to_json_arguments(given)) == typed(expected)


@pytest.mark.needs("numpy")
def test_numpy_values_without_a_json_form_are_refused_by_name() -> None:
    import numpy as np  # noqa: PLC0415

    assert reason({"v": np.float64("nan")}) == "arguments.v: NaN cannot be written as JSON"
    assert reason({"v": np.float32("inf")}) == "arguments.v: Infinity cannot be written as JSON"
    assert reason({"v": np.array([1])}) == ("arguments.v: numpy.ndarray cannot be written as JSON")
    for value in (np.datetime64("NaT"), np.timedelta64(1, "s"), np.bytes_(b"x"), np.complex64(1)):
        assert reason({"v": value}) == (
            f"arguments.v: numpy.{type(value).__name__} cannot be written as JSON"
        )


@pytest.mark.needs("pandas")
def test_a_pandas_timestamp_is_text_and_its_missing_value_is_refused() -> None:
    import pandas as pd  # noqa: PLC0415

    assert to_json_arguments({"v": pd.Timestamp("2024-05-01")}) == {"v": "2024-05-01T00:00:00"}
    assert reason({"v": pd.NaT}).endswith("NaTType cannot be written as JSON")


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ({"n": math.nan}, "arguments.n: NaN cannot be written as JSON"),
        ({"n": [math.inf]}, "arguments.n.0: Infinity cannot be written as JSON"),
        ({"n": -math.inf}, "arguments.n: -Infinity cannot be written as JSON"),
        ({"rows": [b"x"]}, "arguments.rows.0: bytes cannot be written as JSON"),
        ({"v": bytearray()}, "arguments.v: bytearray cannot be written as JSON"),
        ({"v": {1, 2}}, "arguments.v: set cannot be written as JSON"),
        ({"v": frozenset()}, "arguments.v: frozenset cannot be written as JSON"),
        ({"v": {"w": ({"x": object()},)}}, "arguments.v.w.0.x: object cannot be written as JSON"),
        ({"v": 1j}, "arguments.v: complex cannot be written as JSON"),
        ({"v": range(3)}, "arguments.v: range cannot be written as JSON"),
        ({"v": Decimal(1)}, "arguments.v: decimal.Decimal cannot be written as JSON"),
        ({"v": UUID(int=1)}, "arguments.v: uuid.UUID cannot be written as JSON"),
        ({"v": dt.timedelta(1)}, "arguments.v: datetime.timedelta cannot be written as JSON"),
        ({"v": Point}, "arguments.v: type cannot be written as JSON"),
        ({1: "a"}, "arguments: the key 1 is not text"),
        ({"v": [{None: 1}]}, "arguments.v.0: the key None is not text"),
        ({"v": {("a" * 100,): 1}}, f"arguments.v: the key {('a' * 100,)!r:.40} is not text"),
        ({"v": Query(share=math.nan)}, "arguments.v.share: NaN cannot be written as JSON"),
        ([], "Tool arguments must be a JSON object"),
        ("text", "Tool arguments must be a JSON object"),
        (3, "Tool arguments must be a JSON object"),
        (object(), "arguments: object cannot be written as JSON"),
    ],
)
def test_what_has_no_json_form_is_refused_with_its_path(args: JsonValue, expected: str) -> None:
    assert reason(args) == expected


def test_a_foreign_objects_own_failure_is_one_line_of_the_reason() -> None:
    class Broken:
        def model_dump(self, **_: object) -> JsonValue:
            raise ValueError("first line\nsecond line")

    class BrokenKey:
        def __repr__(self) -> str:
            raise ValueError("no")

    name = f"{__name__}.{Broken.__qualname__}"
    assert reason({"v": Broken()}) == (
        f"arguments.v: {name} cannot be written as JSON (ValueError: first line)"
    )
    assert reason({BrokenKey(): 1}) == (
        f"arguments: the key {__name__}.{BrokenKey.__qualname__} is not text"
    )


def test_cycles_are_named_where_they_close() -> None:
    in_list: list[Any] = []
    in_list.append(in_list)
    in_dict: dict[str, Any] = {}
    in_dict["x"] = {"y": [1, in_dict]}
    in_point = Point(1)
    in_point.rest = in_point
    assert reason({"v": in_list}) == "arguments.v.0: a cycle cannot be written as JSON"
    assert reason(in_dict) == "arguments.x.y.1: a cycle cannot be written as JSON"
    assert reason(in_point) == "arguments.rest: a cycle cannot be written as JSON"


def test_the_same_object_twice_is_no_cycle_and_becomes_two() -> None:
    shared = [1]
    copied = to_json_arguments({"a": shared, "b": [shared, shared]})
    assert copied == {"a": [1], "b": [[1], [1]]}
    assert copied["a"] is not copied["b"][0]
    assert copied["b"][0] is not copied["b"][1]


def test_depth_ends_at_a_limit_and_not_in_a_recursion_error() -> None:
    assert to_json_arguments(nested(MAX_LEVELS)) == nested(MAX_LEVELS)
    deeper = "arguments: nested deeper than 200 levels"
    assert reason(nested(MAX_LEVELS + 1)) == deeper
    assert reason(nested(100_000)) == deeper
    many: Any = 1
    for _ in range(1_000):
        many = (many,)
    assert reason({"v": many}) == deeper


def test_a_nearly_full_stack_ends_in_the_public_error_too() -> None:
    def descend(levels: int) -> str:
        return reason(nested(MAX_LEVELS)) if levels == 0 else descend(levels - 1)

    free = sys.getrecursionlimit() - len(inspect.stack())
    assert descend(free - MAX_LEVELS) == "arguments: nested too deeply"


def test_an_object_that_simplifies_to_itself_ends_too() -> None:
    class Mirror:
        def model_dump(self, **_: object) -> Mirror:
            return self

    assert reason({"v": Mirror()}) == "arguments.v: a cycle cannot be written as JSON"


def test_the_reason_has_path_and_problem_as_attributes_and_can_be_pickled() -> None:
    with pytest.raises(ArgumentsNotJson) as caught:
        to_json_arguments({"rows": [b"x"]})
    assert isinstance(caught.value, PiKernelError)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):  # noqa: S301
        assert error.path == ("rows", 0)
        assert error.problem == "bytes cannot be written as JSON"
        assert str(error) == "arguments.rows.0: bytes cannot be written as JSON"


def test_large_texts_are_shared_and_containers_are_not() -> None:
    text = "x" * 1_000_000
    given = {"text": text, "list": [text]}
    copied = to_json_arguments(given)
    assert copied["text"] is text
    assert copied["list"][0] is text
    assert copied is not given
    assert copied["list"] is not given["list"]
    flat = {"text": text}
    assert to_json_arguments(flat) is not flat


def test_a_hundred_thousand_items_pass() -> None:
    numbers = list(range(100_000))
    fractions = [number / 2 for number in numbers]
    assert to_json_arguments({"n": numbers, "f": fractions}) == {"n": numbers, "f": fractions}
    fractions[-1] = math.nan
    assert reason({"f": fractions}) == "arguments.f.99999: NaN cannot be written as JSON"


def test_non_finite_numbers_pass_where_a_schema_will_judge_them() -> None:
    copied = copy_json({"a": math.inf, "b": [math.inf, {"c": -math.inf}]}, keep_non_finite=True)
    assert copied == {"a": math.inf, "b": [math.inf, {"c": -math.inf}]}


@given(st.dictionaries(st.text(), JSON))
def test_plain_json_comes_back_equal_with_its_types_and_unshared(args: dict[str, Any]) -> None:
    before = typed(args)
    copied = to_json_arguments(args)
    assert typed(copied) == before
    assert typed(args) == before
    assert not containers(copied) & containers(args)


@given(
    st.recursive(
        SCALARS
        | st.text(st.characters())
        | st.floats()
        | st.binary()
        | st.dates()
        | st.complex_numbers()
        | st.sampled_from([Colour.PAIR, Level.HIGH, Word.YES, Path("a"), object(), Point(1)]),
        lambda inner: (
            st.lists(inner)
            | st.sets(st.integers())
            | st.tuples(inner)
            | st.dictionaries(st.text() | st.integers(), inner)
        ),
    )
)
def test_anything_gives_json_or_the_public_error(args: JsonValue) -> None:
    try:
        copied = to_json_arguments(args)
    except ArgumentsNotJson as error:
        assert "\n" not in str(error)  # noqa: PT017 - both outcomes are right
    else:
        assert typed(to_json_arguments(copied)) == typed(copied)


def containers(value: JsonValue) -> set[int]:
    if isinstance(value, dict):
        return {id(value)}.union(*map(containers, value.values()))
    if isinstance(value, list):
        return {id(value)}.union(*map(containers, value))
    return set()
