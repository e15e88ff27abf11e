"""Values as results: what the model reads, what programs get, what stays alive."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import decimal
import enum
import io
import ipaddress
import json
import pathlib
import struct
import subprocess
import sys
import types
import uuid
from collections import OrderedDict, deque
from typing import Any, NamedTuple

import hypothesis
import pytest
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_serializer

from pi_kernel.errors import ToolCallError
from pi_kernel.protocol.content import ImageContent, TextContent
from pi_kernel.protocol.results import ABSENT, ToolResult, text_of
from pi_kernel.protocol.usage import Usage
from pi_kernel.registry.context import ToolContext
from pi_kernel.registry.decorator import define_tool, tool
from pi_kernel.registry.host import ToolHost
from pi_kernel.registry.registry import ToolRegistry
from pi_kernel.registry.values import to_result
from pi_kernel.runtime.events import EventSink
from pi_kernel.runtime.outcome import ToolOutcome


def text(value: Any) -> str:
    return text_of(to_result(value).content)


def structured(value: Any) -> Any:
    result = to_result(value)
    return result.structured_content if result.has_structured_content else ABSENT


def png_size(block: TextContent | ImageContent) -> tuple[int, int]:
    assert isinstance(block, ImageContent)
    assert block.mime_type == "image/png"
    png = base64.b64decode(block.data)
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


# -- scalars and texts -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "expected_text", "expected_structured"),
    [
        ("", "", ABSENT),
        ("two\nlines", "two\nlines", ABSENT),
        (3, "3", 3),
        (-0.5, "-0.5", -0.5),
        (True, "true", True),
        (None, "null", None),
        (float("nan"), "null", None),
        (float("-inf"), "null", None),
    ],
)
def test_scalar_becomes_its_json_text_and_a_str_has_no_structured_content(
    value: Any, expected_text: str, expected_structured: Any
) -> None:
    assert text(value) == expected_text
    assert structured(value) is expected_structured or structured(value) == expected_structured
    assert to_result(value).value is value


def test_null_is_structured_content_and_no_structured_content_is_not_null() -> None:
    assert to_result(None).to_wire() == {
        "content": [{"type": "text", "text": "null"}],
        "structuredContent": None,
    }
    assert to_result("x").to_wire() == {"content": [{"type": "text", "text": "x"}]}


def test_integer_longer_than_python_writes_is_given_as_its_digits() -> None:
    value = 10**5000 + 7
    digits = f"1{'0' * 4999}7"

    assert text(value) == digits
    assert structured({"n": [value]}) == {"n": [digits]}
    assert to_result(value).value is value


class Suit(enum.Enum):
    HEARTS = "hearts"


class Level(enum.IntEnum):
    HIGH = 3


class Name(str):
    __slots__ = ()

    def __str__(self) -> str:
        return "not the text"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Suit.HEARTS, "hearts"),
        (Name("text"), "text"),
        (pathlib.PurePosixPath("/data/a.csv"), "/data/a.csv"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (decimal.Decimal("1.10"), "1.10"),
        (dt.datetime(2026, 5, 1, 9, 30), "2026-05-01T09:30:00"),  # noqa: DTZ001 - naive on purpose
        (dt.datetime(2026, 5, 1, 9, 30, tzinfo=dt.UTC), "2026-05-01T09:30:00Z"),
        (dt.date(2026, 5, 1), "2026-05-01"),
        (dt.timedelta(days=1, seconds=5), "P1DT5S"),
        (1 + 2j, "1+2j"),
    ],
)
def test_text_like_value_becomes_text_without_structured_content(value: Any, expected: str) -> None:
    assert text(value) == expected
    assert structured(value) is ABSENT
    assert to_result(value).value is value


def test_enum_of_integers_becomes_its_number() -> None:
    assert (text(Level.HIGH), structured(Level.HIGH)) == ("3", 3)


def test_lone_surrogate_becomes_the_replacement_character_everywhere() -> None:
    assert text("a\ud800b") == "a\ufffdb"
    assert structured({"k\ud800": ["\udfff", "é"]}) == {"k\ufffd": ["\ufffd", "é"]}
    assert text({"k": "\ud800"}) == '{"k":"\ufffd"}'


# -- JSON containers -------------------------------------------------------------------------------


@dataclasses.dataclass
class Point:
    x: int
    where: pathlib.PurePosixPath
    tags: frozenset[str] = frozenset({"b", "a"})


class Pair(NamedTuple):
    left: int
    right: str


class Row(BaseModel):
    model_config = ConfigDict(arbitrary_types_allowed=True)

    row_id: int = Field(alias="rowId")
    ratio: float = float("nan")
    when: dt.date = dt.date(2026, 5, 1)
    extra: Any = None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({}, {}),
        ([], []),
        ((1, (2,)), [1, [2]]),
        ({3, 1, 2}, [1, 2, 3]),
        ({"a", 1}, ["a", 1]),
        (deque([1, 2]), [1, 2]),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        ({"b": 1, "a": 2}.keys(), ["b", "a"]),
        ({"b": 1, "a": 2}.values(), [1, 2]),
        (Pair(1, "x"), [1, "x"]),
        (
            Point(1, pathlib.PurePosixPath("/p")),
            {"x": 1, "where": "/p", "tags": ["a", "b"]},
        ),
        (
            Row(rowId=1),
            {"rowId": 1, "ratio": None, "when": "2026-05-01", "extra": None},
        ),
        (
            [Row(rowId=1, extra={"p": Point(2, pathlib.PurePosixPath("."), frozenset())})],
            [
                {
                    "rowId": 1,
                    "ratio": None,
                    "when": "2026-05-01",
                    "extra": {"p": {"x": 2, "where": ".", "tags": []}},
                }
            ],
        ),
        ({"at": dt.date(2026, 5, 1), "suit": Suit.HEARTS}, {"at": "2026-05-01", "suit": "hearts"}),
        ([float("nan"), float("inf"), 0.5], [None, None, 0.5]),
        (
            {1: "int", None: "null", 1.5: "float", Suit.HEARTS: "enum", (1, "a"): 0},
            {"1": "int", "null": "null", "1.5": "float", "hearts": "enum", "1.a": 0},
        ),
        ({False: 0, True: 1}, {"false": 0, "true": 1}),
        ({dt.date(2026, 5, 1): 1}, {"2026-05-01": 1}),
        (Usage(input=2), Usage(input=2).to_wire()),
    ],
)
def test_container_becomes_plain_json(value: Any, expected: Any) -> None:
    result = to_result(value)

    assert result.structured_content == expected
    assert json.loads(text_of(result.content)) == expected
    assert result.value is value


def test_short_json_stays_on_one_line_and_longer_json_is_indented() -> None:
    assert text({"a": [1, 2]}) == '{"a":[1,2]}'
    assert text({"name": "x" * 88}) == f'{{"name":"{"x" * 88}"}}'
    assert text({"name": "x" * 90}) == f'{{\n  "name": "{"x" * 90}"\n}}'


def test_structured_content_does_not_change_with_the_live_value() -> None:
    value = {"items": [1]}
    result = to_result(value)
    value["items"].append(2)

    assert result.structured_content == {"items": [1]}
    assert result.value == {"items": [1, 2]}


def test_value_that_contains_itself_is_refused_by_name() -> None:
    cycle: dict[str, Any] = {}
    cycle["self"] = [cycle]
    with pytest.raises(ToolCallError) as caught:
        to_result(cycle)
    assert str(caught.value) == "The result contains itself: a cycle cannot be written as JSON"


def test_model_that_contains_itself_is_refused_by_name() -> None:
    row = Row(rowId=1)
    row.extra = [row]
    with pytest.raises(ToolCallError) as caught:
        to_result(row)
    assert str(caught.value) == "The result contains itself: a cycle cannot be written as JSON"


def test_model_that_holds_itself_in_a_field_of_its_type_is_refused_by_name() -> None:
    class Node(BaseModel):
        next: Node | None = None

    node = Node()
    node.next = node
    with pytest.raises(ToolCallError) as caught:
        to_result(node)
    assert str(caught.value) == "The result contains itself: a cycle cannot be written as JSON"


def test_model_that_cannot_be_written_says_why() -> None:
    class Secret(BaseModel):
        code: int = 1

        @field_serializer("code")
        def refuse(self, code: int) -> int:
            raise ValueError(f"{code} is secret")

    with pytest.raises(ToolCallError, match=r"The result cannot be written as JSON: .*1 is secret"):
        to_result([Secret()])


def test_subclasses_of_json_types_and_other_results_become_plain_json() -> None:
    class Ratio(float):
        __slots__ = ()

    class Count(int):
        __slots__ = ()

    value = [
        Name("text"),
        Level.HIGH,
        Count(2),
        Ratio(0.5),
        ToolResult("x"),
        ipaddress.ip_address("::1"),
    ]
    assert structured(value) == [
        "text",
        3,
        2,
        0.5,
        {"content": [{"type": "text", "text": "x"}]},
        "::1",
    ]


def test_same_object_at_two_places_is_no_cycle() -> None:
    shared = [1]
    assert structured([shared, shared]) == [[1], [1]]


def test_nesting_is_limited_to_two_hundred_levels() -> None:
    def nested(levels: int) -> list[Any]:
        value: list[Any] = []
        for _ in range(levels - 1):
            value = [value]
        return value

    assert json.loads(text(nested(200))) == nested(200)
    with pytest.raises(ToolCallError) as caught:
        to_result(nested(201))
    assert str(caught.value) == "The result is nested more than 200 levels deep"


def test_bytes_inside_a_container_are_told_to_the_model_and_given_to_programs() -> None:
    result = to_result({"head": b"\x00\xff", "tail": bytearray(b"ab")})

    assert text_of(result.content) == '{"head":"<2 bytes>","tail":"<2 bytes>"}'
    assert result.structured_content == {"head": "AP8=", "tail": "YWI="}


def test_bytes_that_are_no_text_in_a_model_are_given_as_base64() -> None:
    assert structured(Row(rowId=1, extra=b"\xff"))["extra"] == "/w=="


@hypothesis.given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
            | st.tuples(inner, inner)
        ),
        max_leaves=20,
    )
)
def test_any_python_value_becomes_json_that_can_be_sent(value: Any) -> None:
    wire = to_result(value).to_wire()

    json.dumps(wire, allow_nan=False, ensure_ascii=False).encode()


# -- other objects ---------------------------------------------------------------------------------


class Opaque:
    def __repr__(self) -> str:
        return "<opaque \ud800>"


class Broken:
    def __repr__(self) -> str:
        raise RuntimeError("no repr")


class AnswersToEverything:
    """As a proxy of a remote object does."""

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: name

    def __repr__(self) -> str:
        return "<proxy>"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Opaque(), "<opaque \ufffd>"),
        (Broken(), "<Broken>"),
        (AnswersToEverything(), "<proxy>"),
        (Point, f"<class '{__name__}.Point'>"),
        (print, "<built-in function print>"),
        (range(3), "range(0, 3)"),
    ],
)
def test_object_without_json_form_becomes_its_repr(value: Any, expected: str) -> None:
    assert text(value) == expected
    assert structured(value) is ABSENT
    assert structured([value]) == [expected]
    assert to_result(value).value is value


def test_generator_is_shown_and_not_consumed() -> None:
    numbers = (number for number in range(2))
    assert text(numbers).startswith("<generator object")
    assert text([numbers]).startswith('["<generator object')
    assert list(numbers) == [0, 1]


def test_bytes_become_their_number_only() -> None:
    data = b"\x89PNG"
    assert (text(data), structured(data), to_result(data).value) == ("4 bytes", ABSENT, data)
    assert text(memoryview(data)) == "4 bytes"


def test_result_passes_as_it_is() -> None:
    result = ToolResult("x", details={"n": 1})
    assert to_result(result) is result


def test_blocks_become_the_content() -> None:
    first, second = TextContent("a"), ImageContent(data="aGk=", mime_type="image/png")

    assert to_result(first).content == [first]
    assert to_result([first, second]).content == [first, second]
    assert to_result((second, "caption")).content == [second, TextContent("caption")]
    assert structured([first, second]) is ABSENT


def test_list_of_texts_is_json_and_no_content() -> None:
    assert structured(["a", "b"]) == ["a", "b"]


# -- large values ----------------------------------------------------------------------------------


def test_long_text_is_cut_for_the_model_with_its_true_size_and_kept_for_programs() -> None:
    value = "é" * 40_000
    result = to_result(value)

    shown, _, notice = text_of(result.content).rpartition("\n\n")
    assert shown == "é" * 25_600
    assert notice == "[Truncated: the first 50.0KB of 78.1KB. Scripts get the whole value.]"
    assert result.structured_content == value


def test_text_of_just_fifty_kilobytes_is_whole() -> None:
    value = "x" * 51_200
    assert (text(value), structured(value)) == (value, ABSENT)


def test_cut_text_ends_at_the_end_of_a_line() -> None:
    value = ("x" * 99 + "\n") * 600
    assert text(value).startswith("x" * 99 + "\n")
    assert text(value).partition("\n\n")[0] == (("x" * 99 + "\n") * 512)[:-1]


def test_large_json_is_cut_for_the_model_and_kept_for_programs() -> None:
    value = {"rows": [{"id": number} for number in range(10_000)]}
    result = to_result(value)

    shown, _, notice = text_of(result.content).rpartition("\n\n")
    assert shown.startswith('{\n  "rows": [\n    {\n      "id": 0\n    },\n')
    assert 51_000 < len(shown.encode()) <= 51_200
    size = len(json.dumps(value, separators=(",", ":"))) / 1024
    assert notice == (
        f"[Truncated: the beginning of {size:.1f}KB of JSON. Scripts get the whole value.]"
    )
    assert result.structured_content == value


def test_size_of_a_very_long_text_is_told_in_megabytes() -> None:
    assert text("x" * 2_000_000).endswith(
        "[Truncated: the first 50.0KB of 1.9MB. Scripts get the whole value.]"
    )


def test_json_that_fits_only_without_indentation_has_none() -> None:
    value = list(range(8_000))
    assert text(value) == json.dumps(value, separators=(",", ":"))


def test_text_is_whole_when_no_bound_is_wanted() -> None:
    assert text_of(to_result("x" * 60_000, is_bounded=False).content) == "x" * 60_000
    many = list(range(20_000))
    assert json.loads(text_of(to_result(many, is_bounded=False).content)) == many


# -- numpy -----------------------------------------------------------------------------------------


@pytest.mark.needs("numpy")
def test_numpy_scalar_becomes_the_python_one() -> None:
    import numpy as np  # noqa: PLC0415 - may be missing

    assert (text(np.int64(3)), structured(np.int64(3))) == ("3", 3)
    assert structured(np.float32(0.5)) == 0.5
    assert structured(np.bool_(True)) is True  # noqa: FBT003 - numpy's own form
    assert structured(np.float64("nan")) is None
    assert structured(np.longdouble("0.5")) == 0.5
    assert text(np.datetime64("2026-05-01T00:00:00.000000001")) == "2026-05-01T00:00:00.000000001"
    assert structured([np.datetime64("NaT"), np.timedelta64(5, "D")]) == [None, "5 days"]
    assert text(np.str_("x")) == "x"
    assert structured({np.int64(1): np.array(2)}) == {"1": 2}


@pytest.mark.needs("numpy")
def test_numpy_array_is_shown_with_type_and_shape_and_given_as_nested_lists() -> None:
    import numpy as np  # noqa: PLC0415

    array = np.arange(6).reshape(2, 3)
    result = to_result(array)

    assert text_of(result.content) == "ndarray: int64, shape (2, 3)\n[[0 1 2]\n [3 4 5]]"
    assert result.structured_content == [[0, 1, 2], [3, 4, 5]]
    assert result.value is array


@pytest.mark.needs("numpy")
def test_large_numpy_array_is_shown_by_its_edges() -> None:
    import numpy as np  # noqa: PLC0415

    array = np.zeros((300, 400, 50))
    shown = text(array)

    assert shown.startswith("ndarray: float64, shape (300, 400, 50)\n[[[0. 0. 0. ... 0. 0. 0.]\n")
    assert len(shown) < 4_096


@pytest.mark.needs("numpy")
@pytest.mark.parametrize(
    ("make", "expected"),
    [
        ("np.array([1.5, np.nan, -np.inf])", [1.5, None, None]),
        ("np.array([0.5], dtype=np.longdouble)", [0.5]),
        (
            "np.array(['2026-05-01', 'NaT'], dtype='M8[ns]')",
            ["2026-05-01T00:00:00.000000000", None],
        ),
        ("np.array([[5]], dtype='m8[D]')", [["5 days"]]),
        ("np.array(['a', 'b'])", ["a", "b"]),
        ("np.array([1, 'a', None, np.float64('nan')], dtype=object)", [1, "a", None, None]),
        ("np.array([1 + 2j])", ["1+2j"]),
        ("np.ma.masked_array([1, 2], mask=[0, 1])", [1, None]),
        ("np.ma.masked_array([1.5, 2.5], mask=[0, 1])", [1.5, None]),
        ("np.array([], dtype=float)", []),
        ("np.array(7)", 7),
    ],
)
def test_numpy_array_of_any_type_becomes_json(make: str, expected: Any) -> None:
    import numpy as np  # noqa: PLC0415

    assert structured(eval(make, {"np": np})) == expected  # noqa: S307 - our own text


@pytest.mark.needs("numpy")
def test_long_array_inside_a_container_is_told_in_brief_to_the_model() -> None:
    import numpy as np  # noqa: PLC0415

    result = to_result({"short": np.arange(2), "long": np.arange(21)})

    assert json.loads(text_of(result.content)) == {
        "short": [0, 1],
        "long": "<ndarray int64, shape (21,)>",
    }
    assert result.structured_content == {"short": [0, 1], "long": list(range(21))}


# -- tables ----------------------------------------------------------------------------------------

SALES = {"city": ["Oslo", "Bergen", None], "sold": [3, 5, 8], "price": [1.5, None, 2.0]}
SALES_ROWS = [
    {"city": "Oslo", "sold": 3, "price": 1.5},
    {"city": "Bergen", "sold": 5, "price": None},
    {"city": None, "sold": 8, "price": 2.0},
]
SALES_LINES = "city | sold | price\nOslo | 3 | 1.5\nBergen | 5 | null\nnull | 8 | 2.0"


@pytest.mark.needs("pandas")
def test_pandas_frame_is_previewed_for_the_model_and_whole_for_programs() -> None:
    import pandas as pd  # noqa: PLC0415

    frame = pd.DataFrame(SALES)
    result = to_result(frame)

    assert text_of(result.content) == (
        "DataFrame: 3 rows x 3 columns\n"
        f"Columns: city ({frame['city'].dtype}), sold (int64), price (float64)\n\n{SALES_LINES}"
    )
    assert result.structured_content == SALES_ROWS
    assert result.value is frame


@pytest.mark.needs("polars")
def test_polars_frame_is_previewed_for_the_model_and_whole_for_programs() -> None:
    import polars as pl  # noqa: PLC0415

    frame = pl.DataFrame(SALES)
    result = to_result(frame)

    assert text_of(result.content) == (
        "DataFrame: 3 rows x 3 columns\n"
        f"Columns: city (String), sold (Int64), price (Float64)\n\n{SALES_LINES}"
    )
    assert result.structured_content == SALES_ROWS
    assert result.value is frame


@pytest.mark.needs("pyarrow")
@pytest.mark.parametrize("kind", ["Table", "RecordBatch"])
def test_arrow_table_is_previewed_for_the_model_and_whole_for_programs(kind: str) -> None:
    import pyarrow as pa  # noqa: PLC0415

    table = getattr(pa, kind).from_pydict(SALES)
    result = to_result(table)

    assert text_of(result.content) == (
        f"{kind}: 3 rows x 3 columns\n"
        f"Columns: city (string), sold (int64), price (double)\n\n{SALES_LINES}"
    )
    assert result.structured_content == SALES_ROWS
    assert result.value is table


@pytest.mark.needs("pandas")
def test_first_and_last_rows_of_a_long_table_are_shown() -> None:
    import pandas as pd  # noqa: PLC0415

    result = to_result(pd.DataFrame({"n": range(1000)}))

    head, tail = range(10), range(990, 1000)
    assert text_of(result.content).splitlines() == [
        "DataFrame: 1000 rows x 1 column",
        "Columns: n (int64)",
        "",
        "n",
        *map(str, head),
        "... 980 more rows ...",
        *map(str, tail),
    ]
    assert len(result.structured_content) == 1000


@pytest.mark.needs("pandas")
def test_twelve_columns_of_a_wide_table_are_shown_and_more_are_named() -> None:
    import pandas as pd  # noqa: PLC0415

    frame = pd.DataFrame({f"column_{number}": [number] for number in range(200)})
    lines = text(frame).splitlines()

    assert lines[0] == "DataFrame: 1 row x 200 columns"
    assert lines[1].startswith("Columns: column_0 (int64), column_1 (int64), ")
    assert lines[1].endswith(", ... 140 more")
    assert lines[3] == "(the first 12 of 200 columns)"
    assert lines[4] == " | ".join(f"column_{number}" for number in range(12))
    assert lines[5] == " | ".join(str(number) for number in range(12))
    assert structured(frame)[0]["column_199"] == 199


@pytest.mark.needs("pandas")
def test_preview_stays_near_four_kilobytes_whatever_the_cells_hold() -> None:
    import pandas as pd  # noqa: PLC0415

    frame = pd.DataFrame({f"c{number}": ["é\n" * 500] * 20 for number in range(30)})
    shown = text(frame)

    assert len(shown.encode()) < 4_200
    assert "... 18 more rows ..." in shown
    assert "é\\né\\n" in shown
    assert len(shown.splitlines()) == 8


@pytest.mark.needs("pandas")
def test_empty_tables_have_no_rows_to_show() -> None:
    import pandas as pd  # noqa: PLC0415

    assert text(pd.DataFrame()) == "DataFrame: 0 rows x 0 columns\nNo columns"
    assert structured(pd.DataFrame()) == []
    no_rows = pd.DataFrame({"a": pd.Series([], dtype=int)})
    assert text(no_rows) == "DataFrame: 0 rows x 1 column\nColumns: a (int64)"
    assert structured(no_rows) == []
    assert structured(pd.DataFrame(index=range(2))) == [{}, {}]


@pytest.mark.needs("pandas")
def test_row_labels_that_are_more_than_positions_become_columns() -> None:
    import pandas as pd  # noqa: PLC0415

    frame = pd.DataFrame({"n": [1, 2]}, index=["a", "b"])
    assert structured(frame) == [{"index": "a", "n": 1}, {"index": "b", "n": 2}]
    assert text(frame).splitlines()[3:] == ["index | n", "a | 1", "b | 2"]

    counts = pd.Series(["x", "y", "x"], name="kind").value_counts()
    assert structured(counts) == [{"kind": "x", "count": 2}, {"kind": "y", "count": 1}]

    levels = pd.MultiIndex.from_tuples([("a", 1), ("a", 2)], names=["letter", None])
    both = pd.DataFrame({"n": [5, 6]}, index=levels)
    assert structured(both) == [
        {"letter": "a", "level_1": 1, "n": 5},
        {"letter": "a", "level_1": 2, "n": 6},
    ]


@pytest.mark.needs("pandas")
def test_column_names_become_different_texts() -> None:
    import pandas as pd  # noqa: PLC0415

    frame = pd.DataFrame([[1, 2, 3, 4]], columns=["x", "x", 7, ("a", "b")])
    assert structured(frame) == [{"x": 1, "x.1": 2, "7": 3, "a.b": 4}]


@pytest.mark.needs("pandas")
def test_cells_of_pandas_own_types_become_json() -> None:
    import pandas as pd  # noqa: PLC0415

    frame = pd.DataFrame(
        {
            "at": pd.to_datetime(["2026-05-01 09:30:00.000000001", None]),
            "took": pd.to_timedelta(["1s", None]),
            "n": pd.array([1, None], dtype="Int64"),
            "yes": pd.array([True, None], dtype="boolean"),
            "kind": pd.Categorical(["a", None]),
            "month": pd.PeriodIndex(["2026-05", None], freq="M"),
            "any": [{"k": float("nan")}, [1]],
        }
    )
    assert structured(frame) == [
        {
            "at": "2026-05-01T09:30:00.000000001",
            "took": "PT1S",
            "n": 1,
            "yes": True,
            "kind": "a",
            "month": "2026-05",
            "any": {"k": None},
        },
        {
            "at": None,
            "took": None,
            "n": None,
            "yes": None,
            "kind": None,
            "month": None,
            "any": [1],
        },
    ]
    assert (text(pd.NA), structured(pd.NaT)) == ("null", None)
    assert text(pd.Timestamp("2026-05-01")) == "2026-05-01T00:00:00"


@pytest.mark.needs("pandas")
def test_single_columns_become_lists() -> None:
    import pandas as pd  # noqa: PLC0415

    series = pd.Series([1.5, None], name="price")
    assert text(series) == 'Series "price": 2 values of float64\n\n1.5\nnull'
    assert structured(series) == [1.5, None]
    assert text(pd.Series([1])) == "Series: 1 value of int64\n\n1"
    assert structured(pd.Index(["a", "b"])) == ["a", "b"]
    assert structured(pd.MultiIndex.from_tuples([("a", 1)])) == [["a", 1]]
    assert structured(pd.Series(["a", "b", "a"], dtype="string").unique()) == ["a", "b"]
    assert structured(pd.Series([2, 4], index=[0.5, 1.5])) == [
        {"index": 0.5, "value": 2},
        {"index": 1.5, "value": 4},
    ]


@pytest.mark.needs("polars")
def test_polars_column_and_nested_cells_become_json() -> None:
    import polars as pl  # noqa: PLC0415

    assert text(pl.Series("n", [1, None])) == 'Series "n": 2 values of Int64\n\n1\nnull'
    assert structured(pl.Series("n", [1, None])) == [1, None]
    frame = pl.DataFrame({"s": [{"a": float("nan")}], "l": [[1]], "d": [dt.date(2026, 5, 1)]})
    assert structured(frame) == [{"s": {"a": None}, "l": [1], "d": "2026-05-01"}]


@pytest.mark.needs("polars")
def test_polars_query_is_not_run() -> None:
    import polars as pl  # noqa: PLC0415

    query = pl.LazyFrame({"a": [1]}).map_batches(lambda _: pytest.fail("it ran"))
    assert text(query) == (
        "LazyFrame: a query that has not run; return frame.collect() to get its rows"
    )
    assert structured(query) is ABSENT


@pytest.mark.needs("pyarrow")
def test_arrow_columns_and_scalars_become_json() -> None:
    import pyarrow as pa  # noqa: PLC0415

    assert text(pa.array([1, None])) == "Int64Array: 2 values of int64\n\n1\nnull"
    assert structured(pa.chunked_array([["a"], ["b"]])) == ["a", "b"]
    assert structured(pa.scalar(3)) == 3
    same = pa.table([pa.array([1]), pa.array([2])], names=["x", "x"])
    assert structured(same) == [{"x": 1, "x.1": 2}]


@pytest.mark.needs("pandas")
def test_table_inside_a_container_is_told_in_brief_to_the_model() -> None:
    import pandas as pd  # noqa: PLC0415

    result = to_result({"name": "n", "rows": pd.DataFrame({"n": range(7)})})

    assert json.loads(text_of(result.content)) == {
        "name": "n",
        "rows": [{"n": 0}, {"n": 1}, {"n": 2}, {"n": 3}, {"n": 4}, "... 2 more rows"],
    }
    assert result.structured_content == {"name": "n", "rows": [{"n": n} for n in range(7)]}


@pytest.mark.needs("pandas")
def test_rows_are_made_on_first_use_only() -> None:
    import pandas as pd  # noqa: PLC0415

    class Cell:
        reprs = 0

        def __repr__(self) -> str:
            Cell.reprs += 1
            return "<cell>"

    result = to_result(pd.DataFrame({"c": [Cell() for _ in range(100)]}))
    assert Cell.reprs == 20
    assert result.structured_content == [{"c": "<cell>"}] * 100
    assert Cell.reprs == 120
    assert result.structured_content is result.structured_content


# -- pictures --------------------------------------------------------------------------------------


@pytest.mark.needs("pillow")
def test_image_becomes_a_line_of_text_and_a_png() -> None:
    from PIL import Image  # noqa: PLC0415

    image = Image.new("RGB", (3, 2), "red")
    result = to_result(image)

    line, picture = result.content
    assert line == TextContent("Image 3x2 RGB")
    assert png_size(picture) == (3, 2)
    assert isinstance(picture, ImageContent)
    decoded = Image.open(io.BytesIO(base64.b64decode(picture.data)))
    assert decoded.getpixel((0, 0)) == (255, 0, 0)
    assert not result.has_structured_content
    assert result.value is image


@pytest.mark.needs("pillow")
@pytest.mark.parametrize(
    "mode",
    ["1", "L", "LA", "La", "P", "PA", "RGBA", "RGBa", "CMYK", "YCbCr", "LAB", "HSV", "I", "F"],
)
def test_image_of_any_mode_becomes_a_png(mode: str) -> None:
    from PIL import Image  # noqa: PLC0415

    line, picture = to_result(Image.new(mode, (2, 2))).content
    assert line == TextContent(f"Image 2x2 {mode}")
    assert png_size(picture) == (2, 2)


@pytest.mark.needs("pillow")
def test_large_image_is_shown_smaller() -> None:
    from PIL import Image  # noqa: PLC0415

    line, picture = to_result(Image.new("RGB", (4000, 10))).content
    assert line == TextContent("Image 4000x10 RGB, shown at 2000x5")
    assert png_size(picture) == (2000, 5)


@pytest.mark.needs("pillow")
def test_image_that_compresses_badly_is_shown_small_enough_to_be_sent() -> None:
    import random  # noqa: PLC0415

    from PIL import Image  # noqa: PLC0415

    noise = random.Random(1).randbytes(1300 * 1300 * 3)  # noqa: S311 - a picture
    line, picture = to_result(Image.frombytes("RGB", (1300, 1300), noise)).content
    assert line == TextContent("Image 1300x1300 RGB, shown at 975x975")
    assert png_size(picture) == (975, 975)
    assert isinstance(picture, ImageContent)
    assert len(picture.data) <= 4_718_592


@pytest.mark.needs("pillow")
def test_image_without_pixels_is_only_told() -> None:
    from PIL import Image  # noqa: PLC0415

    assert to_result(Image.new("L", (0, 4))).content == [TextContent("Image 0x4 L")]


@pytest.mark.needs("pillow")
def test_image_inside_a_dict_is_its_repr() -> None:
    from PIL import Image  # noqa: PLC0415

    shown = structured({"image": Image.new("L", (1, 1))})["image"]
    assert shown.startswith("<PIL.Image.Image image mode=L size=1x1")


@pytest.mark.needs("pillow")
def test_list_of_images_and_texts_is_content() -> None:
    from PIL import Image  # noqa: PLC0415

    caption, line, picture = to_result(["before", Image.new("L", (1, 1))]).content
    assert (caption, line) == (TextContent("before"), TextContent("Image 1x1 L"))
    assert png_size(picture) == (1, 1)


@pytest.mark.needs("matplotlib")
def test_figure_and_its_axes_become_a_png() -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415

    figure = Figure(figsize=(3, 2), dpi=100)
    axes = figure.add_subplot()
    for value in (figure, axes):
        result = to_result(value)
        line, picture = result.content
        assert line == TextContent("Figure 300x200")
        assert png_size(picture) == (300, 200)
        assert not result.has_structured_content
        assert result.value is value


@pytest.mark.needs("matplotlib")
def test_large_figure_is_drawn_smaller() -> None:
    from matplotlib.figure import Figure  # noqa: PLC0415

    line, picture = to_result(Figure(figsize=(40, 10), dpi=100)).content
    assert line == TextContent("Figure 2000x500")
    assert png_size(picture) == (2000, 500)


def test_object_that_saves_itself_as_a_figure_becomes_a_picture() -> None:
    header = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 7, 5)

    class Grid:
        def savefig(self, target: io.BytesIO, *, format: str) -> None:  # noqa: A002 - matplotlib's
            assert format == "png"
            target.write(header)

    line, picture = to_result(Grid()).content
    assert line == TextContent("Figure 7x5")
    assert png_size(picture) == (7, 5)


def test_figure_that_does_not_get_smaller_is_drawn_twice_at_most() -> None:
    png = b"\x89PNG\r\n\x1a\n" + struct.pack(">I4sII", 13, b"IHDR", 7, 5) + bytes(4_000_000)
    drawn: list[int] = []

    class Poster:
        def savefig(self, target: io.BytesIO, **_: object) -> None:
            drawn.append(1)
            target.write(png)

    _, picture = to_result(Poster()).content
    assert png_size(picture) == (7, 5)
    assert len(drawn) == 3


# -- other calls' outcomes -------------------------------------------------------------------------


async def test_outcome_of_a_nested_call_becomes_the_result() -> None:
    async def inner(*_: object) -> ToolResult:
        return ToolResult(
            "no", details={"n": 1}, structured_content=[1], usage=Usage(input=5), is_error=True
        )

    @tool
    async def outer(ctx: ToolContext) -> ToolOutcome:
        return await ctx.execute_tool("inner")

    host = ToolHost(registry=ToolRegistry(), events=EventSink())
    host.registry.register(
        define_tool(name="inner", description="", parameters={"type": "object"}, execute=inner)
    )
    host.registry.register(outer)
    outcome = await host.execute_tool("outer")

    assert (outcome.text, outcome.details, outcome.structured_content) == ("no", {"n": 1}, [1])
    assert outcome.is_error
    assert outcome.usage == Usage(input=5)


# -- imports ---------------------------------------------------------------------------------------


def test_converting_values_imports_none_of_the_libraries() -> None:
    code = (
        "import sys; from pi_kernel.registry.values import to_result;"
        "to_result({'a': [1.5, {2}]}); to_result(b'x'); to_result(object());"
        "print([n for n in ('numpy', 'pandas', 'polars', 'pyarrow', 'PIL', 'matplotlib')"
        " if n in sys.modules])"
    )
    run = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert run.stdout == "[]\n"


@pytest.mark.needs("matplotlib")
def test_figure_of_pyplot_is_closed_once_it_has_been_handed_over() -> None:
    import matplotlib.pyplot as plt  # noqa: PLC0415

    before = plt.get_fignums()
    figure, axes = plt.subplots()
    result = to_result(figure)
    assert plt.get_fignums() == before
    axes.plot([1, 2])  # it can still be drawn on
    assert result.content[1].type == "image"
