from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from pi_kernel import ToolContext, ToolSession, tool
from pi_kernel.protocol.usage import Cost, Usage
from pi_kernel.render.trace import MAX_HTML_BYTES, TraceNodeLike, trace_bundle, trace_text
from tests.render.reading import tags_in, text_in, tool_of

START = datetime(2026, 11, 29, 14, 3, 22, tzinfo=UTC)


@dataclass
class FakeCall:
    """A call as a trace of any origin gives it."""

    id: str = "c/1"
    tool: str = "read"
    args: Any = None
    status: str = "ok"
    is_error: bool | None = False
    structured: Any = None
    duration_ms: float | None = 2.0
    total_ms: float | None = 2.0
    queued_ms: float | None = None
    started_at: datetime | None = START
    text: str = ""
    usage: Usage | None = None
    cell_call_id: str | None = "cell-1"


@dataclass
class Node:
    """A call and what it called."""

    call: FakeCall
    children: list[Node] = field(default_factory=list)


def chain(depth: int) -> Node:
    node = Node(FakeCall())
    for _ in range(depth):
        node = Node(FakeCall(), [node])
    return node


def html_of(*nodes: TraceNodeLike) -> str:
    html = trace_bundle(nodes, title="cell-1")["text/html"]
    assert len(html.encode()) <= MAX_HTML_BYTES
    text_in(html)
    return html


def test_calls_of_a_session_are_a_tree_of_text() -> None:
    @tool
    async def outer(ctx: ToolContext) -> str:
        await ctx.execute_tool("inner", {"x": 1})
        await ctx.execute_tool("missing", {})
        return "done"

    session = ToolSession(tools=[outer, tool_of("inner", ValueError("broken"))])
    session.run(session.execute_tool("outer", {}))
    lines = trace_text(session.trace.tree(), title="session").split("\n")
    assert lines[0].startswith("Trace session: 3 calls, 2 failed, ")
    assert [line.split()[0] for line in lines[1:]] == ["ok", "error", "not"]
    assert lines[1].endswith("  outer")
    assert lines[2].endswith("  ├─ inner x=1")
    assert lines[3] == "not found   did not run  └─ missing"
    text = text_in(html_of(*session.trace.tree()))
    assert "inner x=1call-1/1, started " in text
    assert "\nbroken" in text


@pytest.mark.parametrize(
    "call",
    [
        FakeCall(),
        FakeCall(status="error", is_error=True),
        FakeCall(status="blocked", is_error=True),
        FakeCall(queued_ms=0.001, total_ms=1_000.0),
    ],
)
def test_bars_of_one_colour_need_no_words(call: FakeCall) -> None:
    assert "Bars" not in text_in(html_of(Node(call), Node(call)))


def test_only_the_colours_that_are_seen_are_told() -> None:
    failed = FakeCall(status="error", is_error=True)
    assert text_in(html_of(Node(FakeCall()), Node(failed))).endswith(
        "Bars are blue for calls that ran and red for failed calls."
    )


def test_structured_content_is_looked_at_only_where_it_tells_the_word() -> None:
    class Lazy(FakeCall):
        def __getattribute__(self, name: str) -> Any:
            assert name != "structured"
            return super().__getattribute__(name)

    calls = [Lazy(), Lazy(tool="bash"), Lazy(status="error", is_error=True)]
    assert "3 calls, 1 failed" in trace_text([Node(call) for call in calls], title="cell-1")


def test_the_text_has_one_aligned_line_a_call() -> None:
    tree = Node(
        FakeCall(tool="bash", args={"command": "make"}, duration_ms=11_500),
        [
            Node(FakeCall(tool="find", args={"pattern": "*.csv"}, duration_ms=30)),
            Node(
                FakeCall(status="unfinished", is_error=None, duration_ms=None, args={"path": "a"})
            ),
        ],
    )
    exit_3 = {"exit_code": 3}
    failed = Node(FakeCall(tool="bash", status="error", is_error=True, structured=exit_3))
    bundle = trace_bundle([tree, failed], title="cell-1")
    assert bundle["text/plain"] == (
        "Trace cell-1: 4 calls, 1 failed, 1 unfinished, 2 ms\n"
        "ok               11.5 s  bash $ make\n"
        "ok                30 ms  ├─ find *.csv in .\n"
        "unfinished  no end recorded  └─ read a\n"
        "exit 3             2 ms  bash"
    )


def test_the_table_has_a_row_a_call_with_a_bar_and_details() -> None:
    calls = [
        FakeCall(total_ms=50.0, duration_ms=50.0, args={"path": "a"}, text="line 1\nline 2"),
        FakeCall(
            id="c/2",
            started_at=START + timedelta(milliseconds=50),
            queued_ms=20.0,
            total_ms=50.0,
            status="error",
            is_error=True,
            text="broken",
        ),
        FakeCall(
            id="c/3",
            started_at=START + timedelta(milliseconds=99),
            status="blocked",
            is_error=True,
            duration_ms=None,
            total_ms=0.0,
        ),
    ]
    html = html_of(*map(Node, calls))
    assert tags_in(html).count("tr") == 4
    assert "margin-left:0.0%;width:50.0%;background:rgba(66,133,220,0.75)" in html
    assert "margin-left:50.0%;width:20.0%;background:rgba(128,128,128,0.60)" in html
    assert "margin-left:0.0%;width:30.0%;background:rgba(229,72,77,0.75)" in html
    assert "margin-left:98.8%;width:1.2%;background:rgba(214,150,20,0.60)" in html
    text = text_in(html)
    assert text.startswith("Trace cell-1 3 calls, 2 failed, 0.1 sCallStatusTime0 to 0.1 sread a")
    assert "\nline 1\nline 2" in text
    assert text.endswith(
        "Bars are blue for calls that ran, red for failed calls, amber for refused calls"
        " and grey for time in a queue."
    )


def test_tokens_and_cost_are_summed() -> None:
    usage = Usage(total_tokens=9_102, cost=Cost(total=0.0206))
    text = text_in(html_of(Node(FakeCall(usage=usage)), Node(FakeCall(usage=usage))))
    assert "2 calls, 2 ms, 18,204 tokens, $0.0412" in text


def test_calls_of_several_cells_stand_below_their_cells_name() -> None:
    nodes = [Node(FakeCall(cell_call_id=name)) for name in ("cell-1", "cell-1", "cell-2", None)]
    html = html_of(*nodes)
    assert tags_in(html).count("tr") == 8
    assert "<b>cell-2</b>" in html
    assert "<b>session</b>" in html


def test_without_times_there_are_no_bars() -> None:
    text = text_in(html_of(Node(FakeCall(started_at=None))))
    assert "Bars" not in text
    assert text.startswith("Trace cell-1 1 callCallStatusTimeread")


def test_no_calls_are_said_in_words() -> None:
    bundle = trace_bundle([], title="no cell")
    empty = "No calls yet. Calls made by cells and models appear here."
    assert bundle["text/plain"] == empty
    assert text_in(bundle["text/html"]) == f"Trace no cell {empty}"


def test_calls_that_are_open_are_told() -> None:
    call = FakeCall(status="unfinished", is_error=None, duration_ms=None, total_ms=None)
    assert text_in(html_of(Node(call))).endswith("Saved while 1 call was open.")


def many(count: int, failed: set[int]) -> list[Node]:
    return [
        Node(
            FakeCall(
                id=f"c/{n}",
                tool="ls",
                args={"path": f"d{n}"},
                is_error=n in failed,
                status="error" if n in failed else "ok",
                text=f"text {n}",
            )
        )
        for n in range(count)
    ]


def test_two_hundred_calls_are_all_shown() -> None:
    html = html_of(*many(200, set()))
    assert tags_in(html).count("tr") == 201
    text = text_in(html)
    assert all(f"ls d{n}" in text for n in range(200))


def test_of_ten_thousand_calls_both_ends_and_failures_are_shown_quickly() -> None:
    nodes = many(10_000, {150, 5_000})
    bundle = trace_bundle(nodes, title="cell-1")
    assert len(bundle["text/html"].encode()) <= MAX_HTML_BYTES
    text = text_in(bundle["text/html"])
    assert "Trace cell-1 10,000 calls, 2 failed" in text
    for shown in ("ls d0", "ls d99", "ls d150", "ls d5000", "ls d9900", "ls d9999"):
        assert shown in text
    assert "50 more calls" in text
    assert "4,849 more calls" in text
    assert "ls d2000" not in text
    assert text.endswith("9,798 calls of 10,000 are not shown here.")
    lines = bundle["text/plain"].split("\n")
    assert len(lines) == 1 + 202 + 3
    assert "(4,899 more calls)" in lines


def test_when_everything_failed_the_cap_holds_and_gaps_count_failures() -> None:
    text = text_in(html_of(*many(5_000, set(range(5_000)))))
    assert "5,000 calls, 5,000 failed" in text
    assert " failed" in text.rpartition("more calls, ")[2]


def test_details_come_while_there_is_room_and_first_for_failures() -> None:
    text = text_in(html_of(*many(180, {170})))
    assert "text 170" in text
    assert "text 179" not in text


def test_hostile_text_stays_text() -> None:
    hostile = "<script>\u202e</td>\x00\x1b[31m\ud800" + "'\"&" * 1_000_000
    call = FakeCall(
        id=hostile,
        tool=hostile,
        args={hostile: hostile},
        status="error",
        is_error=True,
        text=hostile,
        cell_call_id=hostile,
    )
    other = FakeCall(cell_call_id="cell-2")
    nodes = [Node(call, [Node(call)]), Node(other)] * 30
    bundle = trace_bundle(nodes, title=hostile)
    assert len(bundle["text/html"].encode()) <= MAX_HTML_BYTES
    assert "\u202e" not in text_in(bundle["text/html"])
    assert not {"\x1b", "\x00", "\u202e", "\ud800"} & set(bundle["text/plain"])


def test_a_thousand_levels_are_no_problem() -> None:
    bundle = trace_bundle([chain(5_000)], title="deep")
    assert "5,001 calls" in text_in(bundle["text/html"])
