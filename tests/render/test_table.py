from __future__ import annotations

from typing import Any

import pytest

from pi_kernel.render._html import Body, Room
from pi_kernel.render._table import table_body
from tests.render.reading import tags_in, text_in

pytestmark = pytest.mark.needs("pandas")


def view(value: Any) -> Body:
    body = table_body(value, Room(50_000))
    assert body is not None
    return body


def cells(body: Body) -> list[str]:
    html = (
        body.html.replace("</td>", "|</td>").replace("</th>", "|</th>").replace("</tr>", "\n</tr>")
    )
    return text_in(html).split("\n")


def test_a_frame_has_names_types_row_numbers_and_nulls() -> None:
    import pandas as pd  # noqa: PLC0415 - may be missing

    frame = pd.DataFrame({"region": ["north", None], "total": [48_211.9, 39_040.15], "n": [1, 2]})
    body = view(frame)
    assert cells(body)[:6] == [
        "|region",
        "str|total",
        "float64|n",
        "int64|",
        "0|north|48211.90|1|",
        "1|null|39040.15|2|",
    ]
    assert body.facts == ["2 rows"]
    assert body.foot == ["DataFrame, 2 rows \u00d7 3 columns."]
    assert '<i style="opacity:0.75">null</i>' in body.html


def test_of_a_long_frame_the_first_and_the_last_rows_are_shown() -> None:
    import pandas as pd  # noqa: PLC0415 - may be missing

    body = view(pd.DataFrame({"a": range(1_204)}))
    shown = [row.split("|")[0] for row in cells(body)[2:]]
    assert shown == [*map(str, range(8)), "…", *map(str, range(1_200, 1_204)), ""]
    assert body.foot == [
        "DataFrame, 1,204 rows \u00d7 1 column.",
        "1,192 rows between are not shown.",
    ]


def test_of_a_wide_frame_twelve_columns_are_shown() -> None:
    import pandas as pd  # noqa: PLC0415 - may be missing

    body = view(pd.DataFrame({f"c{number}": [1] for number in range(40)}))
    assert tags_in(body.html).count("th") == 13
    assert body.foot[1] == "The first 12 columns are shown."


def test_times_lose_a_midnight_that_says_nothing() -> None:
    import pandas as pd  # noqa: PLC0415 - may be missing

    days = pd.to_datetime(["2026-01-01", "2026-01-02"])
    assert "2026-01-01|" in cells(view(pd.DataFrame({"day": days})))[2]
    times = pd.to_datetime(["2026-01-01 00:00", "2026-01-02 11:30"])
    assert "2026-01-01 00:00:00|" in cells(view(pd.DataFrame({"at": times})))[2]


def test_numbers_of_very_different_sizes_are_written_short() -> None:
    import pandas as pd  # noqa: PLC0415 - may be missing

    rows = cells(view(pd.DataFrame({"x": [1.5, 2e-9, 4e20, float("inf"), float("nan")]})))
    assert [row.split("|")[1] for row in rows[2:-1]] == ["1.5", "2e-09", "4e+20", "inf", "null"]


def test_the_index_of_a_frame_and_a_single_column_are_shown() -> None:
    import pandas as pd  # noqa: PLC0415 - may be missing

    body = view(pd.Series([1.25, None], name="price", index=["x", "y"]))
    assert cells(body)[2:4] == ["float64|", "x|1.25|"]
    assert body.foot == ['Series "price", 2 values.']


def test_an_empty_frame_says_so() -> None:
    import pandas as pd  # noqa: PLC0415 - may be missing

    assert text_in(view(pd.DataFrame()).html) == "Empty table."
    assert cells(view(pd.DataFrame({"a": []})))[0] == "|a"


def test_cells_are_text_and_cut() -> None:
    import pandas as pd  # noqa: PLC0415 - may be missing

    value = "<script>\n\u202e" + "x" * 5_000_000
    body = view(pd.DataFrame({"<b>": [value, {"a": [1]}, b"ab", None]}))
    assert "<script>⏎ U+202E" in text_in(body.html)
    assert '{"a": [1]}|' in cells(body)[3]
    assert len(body.html) < 4_000


@pytest.mark.needs("polars")
def test_a_polars_frame_is_shown_alike() -> None:
    import polars as pl  # noqa: PLC0415 - may be missing

    body = view(pl.DataFrame({"a": [1, 2], "b": ["x", None]}))
    assert cells(body)[:5] == ["|a", "Int64|b", "String|", "0|1|x|", "1|2|null|"]


@pytest.mark.needs("pyarrow")
def test_an_arrow_table_is_shown_alike() -> None:
    import pyarrow as pa  # noqa: PLC0415 - may be missing

    body = view(pa.table({"a": [1, None]}))
    assert cells(body)[:4] == ["|a", "int64|", "0|1|", "1|null|"]


def test_other_values_are_no_table() -> None:
    assert table_body([{"a": 1}], Room(50_000)) is None
    assert table_body(None, Room(50_000)) is None


def test_a_table_of_marks_that_does_not_fit_is_left_to_the_text() -> None:
    import pandas as pd  # noqa: PLC0415 - may be missing

    marks = "\u202e\u202d" * 50
    frame = pd.DataFrame({f"{number}": [marks] * 12 for number in range(12)})
    assert table_body(frame, Room(50_000)) is None


def test_ten_million_rows_cost_what_is_shown() -> None:
    import pandas as pd  # noqa: PLC0415 - may be missing

    frame = pd.DataFrame({"a": range(10_000_000)})
    assert view(frame).facts == ["10.0 M rows"]
