from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.protocol.calls import NestedToolCallRecord
from pi_kernel.render._html import Room
from pi_kernel.render._tree import branches, facts_of_calls, rows_of, text_rows, tree_html
from tests.render.reading import text_in


def record(call_id: str, name: str = "read", **fields: Any) -> NestedToolCallRecord:
    return NestedToolCallRecord(id=call_id, name=name, **({"status": "ok"} | fields))


def test_a_call_stands_below_its_caller_in_start_order() -> None:
    calls = [record("c/1"), record("c/2"), record("c/1/1"), record("c/2/1"), record("c/1/2")]
    rows = rows_of(calls, "c")
    assert [(row.call.id, row.depth) for row in rows] == [
        ("c/1", 0),
        ("c/1/1", 1),
        ("c/1/2", 1),
        ("c/2", 0),
        ("c/2/1", 1),
    ]


def test_a_call_whose_caller_was_not_recorded_hangs_below_the_root() -> None:
    rows = rows_of([record("c/9/1"), record("strange"), record("c")], "c")
    assert [(row.call.id, row.depth) for row in rows] == [("c/9/1", 0), ("strange", 0), ("c", 0)]


def test_rows_say_status_tool_arguments_time_and_error() -> None:
    calls = [
        record("c/1", "find", arguments={"pattern": "*.csv"}, duration_ms=30),
        record(
            "c/2",
            status="error",
            arguments={"path": "a"},
            duration_ms=1,
            error="ENOENT: no such file or directory, access '/x/a'",
        ),
        record("c/3", "bash", status="error", error="out\nlast\n\nCommand exited with code 3"),
        record("c/4", "big", arguments_bytes=9_000, status="unfinished"),
    ]
    rows = rows_of(calls, "c")
    assert text_in(tree_html(rows, Room(50_000))) == (
        "ok find *.csv in . 30 ms"
        "error read a 1 ms, ENOENT: no such file or directory"
        "exit 3 bash last"
        "unfinished big (8.8 KB of arguments)"
    )
    assert list(text_rows(rows)) == [
        "ok             30 ms  ├─ find *.csv in .",
        "error           1 ms  ├─ read a",
        "exit 3                ├─ bash",
        "unfinished            └─ big (8.8 KB of arguments)",
    ]


def test_the_exact_html_of_a_row() -> None:
    rows = rows_of([record("c/1"), record("c/1/1", arguments={"path": "<a>"}, duration_ms=2)], "c")
    mono = "font-family:Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:12px"
    row = "padding:4px 12px;border-top:1px solid rgba(128,128,128,0.40);font-size:12px"
    word = '<span style="display:inline-block;min-width:80px">ok</span>'
    assert tree_html(rows, Room(50_000)) == (
        f'<div style="{row}">{word} <span style="{mono}"><b>read</b></span></div>'
        f'<div style="{row}">{word} <span style="margin-left:16px;{mono}"><b>read</b> &lt;a&gt;'
        '</span> <span style="opacity:0.75;font-size:12px;margin-left:8px;white-space:nowrap">'
        "2 ms</span></div>"
    )


def test_rows_that_do_not_fit_are_counted_with_their_failures() -> None:
    calls = [record(f"c/{n}", status="error" if n % 2 else "ok") for n in range(256)]
    html = tree_html(rows_of(calls, "c"), Room(2_000))
    assert len(html) < 2_000
    assert text_in(html).endswith("251 more calls, 126 failed")


def test_the_facts_count_failures_and_say_when_there_were_more() -> None:
    assert facts_of_calls([], is_complete=True) == []
    calls = [record("c/1", status="error"), record("c/2", status="unfinished")]
    assert facts_of_calls(calls, is_complete=False) == ["2 calls", "1 failed", "1 unfinished"]
    assert facts_of_calls([record("c/1")] * 256, is_complete=False) == ["more than 256 calls"]


def test_branches_are_drawn_to_the_last_child() -> None:
    assert branches([1, 2, 3, 2, 1, 1, 2]) == [
        "├─ ",
        "│  ├─ ",
        "│  │  └─ ",
        "│  └─ ",
        "├─ ",
        "└─ ",
        "   └─ ",
    ]


@given(st.lists(st.integers(0, 30), max_size=40))
def test_any_depths_can_be_drawn(depths: list[int]) -> None:
    assert len(branches(depths)) == len(depths)


@given(st.lists(st.sampled_from(["c", "c/1", "c/1/1", "c/2", "x", "", "/", "c/1/1/1"]), max_size=9))
def test_every_call_is_a_row_once_whatever_the_ids_are(ids: list[str]) -> None:
    rows = rows_of([record(call_id) for call_id in ids], "c")
    assert sorted(row.call.id for row in rows) == sorted(ids)
