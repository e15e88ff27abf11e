"""A session's trace: one record a call, live, in start order and as a tree."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import anyio

from pi_kernel import ToolAborted, ToolCall, ToolResult, ToolTimeout, Usage
from pi_kernel.models import ScriptedModel, call, say, turn
from pi_kernel.traces import CallRecord, TraceNode
from tests.support.engine import make_tool, session_with


def raising(error: BaseException) -> Any:
    def run(_params: dict[str, Any], _ctx: Any) -> Any:
        raise error

    return run


def of(tree: list[TraceNode]) -> list[Any]:
    """Return ids, each with those below it."""
    return [[node.call.id, *of(node.children)] if node.children else node.call.id for node in tree]


async def test_a_record_says_what_a_call_was_and_gave() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    tool = make_tool(
        "a",
        lambda _p, _c: ToolResult(
            "x", details={"d": 1}, structured_content={"s": 1}, usage=Usage(input=2)
        ),
        parameters=schema,
    )
    session = session_with(tool, session_id="s1")
    before = datetime.now(UTC)
    await session.execute_tool("a", {"n": "3"})
    (record,) = session.trace.calls()
    assert isinstance(record, CallRecord)
    assert (record.id, record.parent_id, record.root_id, record.depth, record.index) == (
        "call-1", None, "call-1", 0, 1,
    )  # fmt: skip
    assert (record.origin, record.tool, record.tool_version) == ("cell", "a", tool.tool_version)
    assert (record.args, record.raw_args) == ({"n": 3}, {"n": "3"})
    assert (record.status, record.is_error, record.error) == ("ok", False, None)
    assert (record.text, record.details, record.structured) == ("x", {"d": 1}, {"s": 1})
    assert record.usage == record.usage_total == Usage(input=2)
    assert record.session_id == "s1"
    assert record.started_at is not None
    assert abs(record.started_at - before) < timedelta(seconds=10)
    assert record.duration_ms is not None
    assert record.total_ms is not None
    assert 0 <= record.duration_ms <= record.total_ms
    assert (record.cell_call_id, record.turn_id, record.turn_index) == (None, None, None)


async def test_structured_content_is_made_when_somebody_reads_it() -> None:
    made: list[int] = []

    def rows() -> list[int]:
        made.append(1)
        return [1, 2]

    tool = make_tool("a", lambda _p, _c: ToolResult("x").with_structured_factory(rows))
    session = session_with(tool)
    await session.execute_tool("a", {})
    (record,) = session.trace.calls()
    (node,) = session.trace.tree()
    assert (repr(record) != "", made) == (True, [])
    assert (record.structured, node.call.structured) == ([1, 2], [1, 2])
    assert list(record.to_wire()).index("structured") > list(record.to_wire()).index("content")
    assert (record.to_wire()["structured"], made) == ([1, 2], [1])
    assert "result" not in record.to_wire()


async def test_raw_arguments_are_kept_where_they_differ_also_as_true_and_one_do() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    session = session_with(make_tool("a", parameters=schema))
    for value in (1, True, "1"):
        await session.execute_tool("a", {"n": value})
    assert [record.raw_args for record in session.trace] == [None, {"n": True}, {"n": "1"}]
    assert [record.args for record in session.trace] == [{"n": 1}] * 3


async def test_arguments_that_a_hook_changed_beyond_json_are_recorded_too() -> None:
    session = session_with(make_tool("a"))
    session.on("tool_call", lambda event: event.input.update(extra={1, 2}))
    await session.execute_tool("a", {"n": 1})
    (record,) = session.trace.calls()
    assert (record.args, record.raw_args) == ({"n": 1, "extra": {1, 2}}, {"n": 1})


async def test_every_way_to_end_has_its_status() -> None:
    blocked = make_tool("blocked")
    session = session_with(
        make_tool("ok"),
        make_tool("error", raising(ValueError("bad"))),
        make_tool("told", lambda _p, _c: ToolResult("sorry", is_error=True)),
        make_tool("timeout", raising(ToolTimeout("slow"))),
        make_tool("aborted", raising(ToolAborted())),
        make_tool("invalid", parameters={"type": "object", "required": ["n"]}),
        blocked,
    )
    session.on(
        "tool_call",
        lambda e: {"block": True, "reason": "no"} if e.tool_name == "blocked" else None,
    )
    names = ["ok", "error", "told", "timeout", "aborted", "invalid", "blocked", "nope"]
    for name in names:
        await session.execute_tool(name)
    records = {record.tool: record for record in session.trace}
    assert {name: records[name].status for name in names} == {
        "ok": "ok",
        "error": "error",
        "told": "error",
        "timeout": "timeout",
        "aborted": "aborted",
        "invalid": "invalid",
        "blocked": "blocked",
        "nope": "not_found",
    }
    assert (records["error"].error_type, records["error"].error) == ("ValueError", "bad")
    assert (records["told"].error_type, records["told"].error) == (None, "sorry")
    assert records["blocked"].block_reason == "no"
    assert (records["nope"].tool_version, records["nope"].duration_ms) == (None, None)
    assert repr(session.trace) == "<Trace: 8 calls, 7 failed>"


async def test_an_error_text_is_cut_at_500_characters() -> None:
    session = session_with(make_tool("a", raising(ValueError("x" * 600))))
    await session.execute_tool("a")
    assert session.trace.calls()[0].error == "x" * 500


async def test_a_call_that_runs_is_unfinished() -> None:
    started, go_on = anyio.Event(), anyio.Event()

    async def wait(_params: dict[str, Any], ctx: Any) -> str:
        ctx.update("half")
        started.set()
        await go_on.wait()
        return "done"

    session = session_with(make_tool("wait", wait))
    task = session.tools.wait()
    await started.wait()
    (record,) = session.trace.calls()
    assert (record.status, record.is_error, record.total_ms) == ("unfinished", None, None)
    assert (record.content, record.updates) == ([], 1)
    go_on.set()
    await task
    assert session.trace.calls()[0].status == "ok"


async def test_nested_calls_stand_below_their_callers_with_the_sum_of_usage() -> None:
    async def outer(_params: dict[str, Any], ctx: Any) -> ToolResult:
        await ctx.execute_tool("middle")
        await ctx.execute_tool("inner")
        return ToolResult("outer", usage=Usage(input=1))

    async def middle(_params: dict[str, Any], ctx: Any) -> str:
        await ctx.execute_tool("inner")
        return "middle"

    inner = make_tool("inner", lambda _p, _c: ToolResult("inner", usage=Usage(input=10)))
    session = session_with(make_tool("outer", outer), make_tool("middle", middle), inner)
    await session.execute_tool("outer")
    await session.execute_tool("inner")
    assert of(session.trace.tree()) == [
        ["call-1", ["call-1/1", "call-1/1/1"], "call-1/2"],
        "call-2",
    ]
    facts = {r.id: (r.parent_id, r.root_id, r.depth, r.index, r.origin) for r in session.trace}
    assert facts == {
        "call-1": (None, "call-1", 0, 1, "cell"),
        "call-1/1": ("call-1", "call-1", 1, 1, "tool"),
        "call-1/1/1": ("call-1/1", "call-1", 2, 1, "tool"),
        "call-1/2": ("call-1", "call-1", 1, 2, "tool"),
        "call-2": (None, "call-2", 0, 2, "cell"),
    }
    first = session.trace.calls()[0]
    assert first.children == ["call-1/1", "call-1/2"]
    assert first.usage == Usage(input=1)
    assert first.usage_total is not None
    assert first.usage_total.input == 21
    root = session.trace.tree()[0]
    assert [node.call.id for node in root.walk()] == [
        "call-1", "call-1/1", "call-1/1/1", "call-1/2",
    ]  # fmt: skip


async def test_a_models_calls_have_their_place_in_the_batch() -> None:
    fast_done = anyio.Event()

    async def slow(_params: dict[str, Any], _ctx: Any) -> str:
        await fast_done.wait()
        return "slow"

    def fast(_params: dict[str, Any], _ctx: Any) -> str:
        fast_done.set()
        return "fast"

    session = session_with(make_tool("slow", slow), make_tool("fast", fast))
    await session.prompt(
        "go", model=ScriptedModel([turn(call("slow"), call("fast")), call("fast"), say("x")])
    )
    assert [
        (r.id, r.index, r.completion_index, r.origin, r.turn_index, r.parent_id)
        for r in session.trace
    ] == [
        ("call_1", 1, 2, "model", 0, None),
        ("call_2", 2, 1, "model", 0, None),
        ("call_3", 1, 1, "model", 1, None),
    ]


async def test_the_calls_of_a_run_inside_a_tool_stand_below_the_tool() -> None:
    async def agent(_params: dict[str, Any], ctx: Any) -> str:
        model = ScriptedModel([call("inner"), say("sub done")])
        return str((await ctx.session.prompt("sub", model=model)).text)

    inner = make_tool("inner", lambda _p, _c: ToolResult("x", usage=Usage(input=5)))
    session = session_with(make_tool("agent", agent), inner)
    outcome = await session.execute_tool("agent")
    assert outcome.text == "sub done"
    assert of(session.trace.tree()) == [["call-1", "call_1"]]
    outer, lower = session.trace.calls()
    assert (lower.parent_id, lower.root_id, lower.depth) == ("call-1", "call-1", 1)
    assert outer.children == ["call_1"]
    assert outcome.usage is not None
    assert outcome.usage.input == 5


async def test_calls_with_one_id_are_two_records() -> None:
    session = session_with(make_tool("a"))
    await session.execute_batch([ToolCall(id="x", name="a"), ToolCall(id="x", name="a")])
    assert [record.id for record in session.trace] == ["x", "x"]
    assert of(session.trace.tree()) == ["x", "x"]


async def test_rows_have_the_wires_keys_and_no_empty_ones() -> None:
    session = session_with(make_tool("a"), session_id="s1")
    await session.execute_tool("a", {"n": 1})
    (row,) = session.trace.to_rows()
    assert row | {"startedAt": "", "durationMs": 0, "totalMs": 0, "toolVersion": ""} == {
        "id": "call-1",
        "rootId": "call-1",
        "depth": 0,
        "index": 1,
        "origin": "cell",
        "tool": "a",
        "toolVersion": "",
        "args": {"n": 1},
        "status": "ok",
        "isError": False,
        "startedAt": "",
        "durationMs": 0,
        "totalMs": 0,
        "content": [{"type": "text", "text": "a"}],
        "terminate": False,
        "updates": 0,
        "children": [],
        "sessionId": "s1",
    }
    assert datetime.fromisoformat(row["startedAt"]).tzinfo is not None
    assert row["startedAt"].endswith("Z")
    assert len(row["startedAt"]) == len("2026-01-01T00:00:00.000Z")


async def test_a_trace_that_was_taken_before_a_call_shows_it() -> None:
    session = session_with(make_tool("a"))
    trace = session.trace
    assert (len(trace), list(trace), trace.tree(), trace.to_rows()) == (0, [], [], [])
    assert repr(trace) == "<Trace: 0 calls, 0 failed>"
    await session.execute_tool("a")
    assert (len(trace), repr(trace)) == (1, "<Trace: 1 call, 0 failed>")
