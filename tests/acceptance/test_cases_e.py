"""Cases E of the acceptance list: nested calls."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pi_kernel import ToolCallError, ToolContext, ToolOutcome, ToolResult, Usage
from tests.support.calls import Gate, outer
from tests.support.engine import Log, make_tool, session_with


async def test_e69_ids_grow_by_level_and_one_record_has_them_all() -> None:
    session = session_with(
        outer(lambda ctx: ctx.execute_tool("middle"), "top"),
        outer(lambda ctx: ctx.execute_tool("leaf"), "middle"),
        make_tool("leaf"),
    )
    log = Log(session)
    outcome = await session.execute_tool("top")

    root = outcome.id
    started = [(e.tool_call_id, e.parent_tool_call_id) for e in log.of("tool_execution_start")]
    assert started == [(root, None), (f"{root}/1", root), (f"{root}/1/1", f"{root}/1")]
    assert [(c.id, c.name, c.status) for c in outcome.nested_calls.calls] == [
        (f"{root}/1", "middle", "ok"),
        (f"{root}/1/1", "leaf", "ok"),
    ]


async def test_e71_a_sequential_tool_may_call_a_sequential_tool() -> None:
    session = session_with(
        outer(lambda ctx: ctx.execute_tool("inner"), execution_mode="sequential"),
        make_tool("inner", execution_mode="sequential"),
    )
    outcome = await asyncio.wait_for(session.execute_tool("outer"), 5)
    assert outcome.text == "inner"


async def test_e73_the_record_holds_256_calls_and_usage_counts_them_all() -> None:
    async def many(ctx: ToolContext) -> str:
        for number in range(258):
            await ctx.execute_tool("leaf", {"n": number})
        return "done"

    leaf = make_tool("leaf", lambda *_: ToolResult("x", usage=Usage(input=1)))
    outcome = await session_with(outer(many), leaf).execute_tool("outer")
    record = outcome.nested_calls
    assert (len(record.calls), record.complete) == (256, False)
    assert [c.arguments for c in record.calls][-1] == {"n": 255}
    assert outcome.usage is not None
    assert outcome.usage.input == 258


async def test_e75_arguments_beyond_the_total_are_replaced_by_their_size() -> None:
    arguments = {"t": "x" * 8000}  # {"t":"..."} is 8 bytes more

    async def six(ctx: ToolContext) -> str:
        for _ in range(6):
            await ctx.execute_tool("leaf", arguments)
        return "done"

    outcome = await session_with(outer(six), make_tool("leaf")).execute_tool("outer")
    record = outcome.nested_calls
    assert [c.arguments for c in record.calls] == [arguments] * 4 + [None] * 2
    assert [c.arguments_bytes for c in record.calls] == [None] * 4 + [8008] * 2
    assert record.complete is False
    wire = outcome.to_wire()["nestedCalls"]["calls"]
    assert [c.get("argumentsBytes") for c in wire] == [None] * 4 + [8008] * 2
    assert "arguments" not in wire[-1]


async def test_e77_an_unknown_nested_tool_is_an_outcome_and_does_not_raise() -> None:
    seen: list[ToolOutcome] = []

    async def run(ctx: ToolContext) -> str:
        seen.append(await ctx.execute_tool("zzz", {"a": 1}))
        return "done"

    outcome = await session_with(outer(run)).execute_tool("outer")
    assert (seen[0].text, seen[0].status, seen[0].is_error) == (
        "Tool zzz not found",
        "not_found",
        True,
    )
    (recorded,) = outcome.nested_calls.calls
    assert (recorded.status, recorded.error) == ("error", "Tool zzz not found")
    assert outcome.nested_calls.complete is True


async def test_e79_usage_is_summed_into_the_message() -> None:
    async def run(ctx: ToolContext) -> ToolResult:
        await ctx.execute_tool("leaf")
        await ctx.execute_tool("leaf")
        return ToolResult("done", usage=Usage(input=1))

    leaf = make_tool("leaf", lambda *_: ToolResult("x", usage=Usage(input=2)))
    outcome = await session_with(outer(run), leaf).execute_tool("outer")
    usage = outcome.to_message().to_wire()["usage"]
    assert usage["input"] == 5
    assert usage["cost"]["totalFromProvider"] is False


async def test_e81_a_hook_sees_the_parent_and_blocks_a_nested_call() -> None:
    seen: list[Any] = []
    texts: list[str] = []

    async def run(ctx: ToolContext) -> str:
        texts.append((await ctx.execute_tool("write")).text)
        with pytest.raises(ToolCallError) as refused:
            await ctx.tools.write()
        texts.append(str(refused.value))
        return "done"

    session = session_with(outer(run), make_tool("write"))

    @session.on("tool_call")
    def hook(event: Any) -> dict[str, Any] | None:
        if event.tool_name != "write":
            return None
        seen.append(event.to_wire()["parentToolCallId"])
        return {"block": True, "reason": "no"}

    outcome = await session.execute_tool("outer")
    assert outcome.status == "ok"
    assert texts == ["no", "no"]
    assert seen == [outcome.id, outcome.id]


async def test_e83_a_late_call_is_refused_and_no_id_is_used_again() -> None:
    gate = Gate()
    late: list[ToolOutcome] = []
    contexts: list[ToolContext] = []

    async def run(ctx: ToolContext) -> str:
        contexts.append(ctx)
        await ctx.execute_tool("leaf")
        return "done"

    session = session_with(outer(run), make_tool("leaf"), make_tool("gate", gate))
    log = Log(session)
    outcome = await session.execute_tool("outer")
    before = len(log.events)
    late.extend([await contexts[0].execute_tool("leaf") for _ in range(2)])

    assert [o.text for o in late] == ["The calling tool has already finished"] * 2
    assert [o.is_error for o in late] == [True, True]
    ids = [call.id for call in outcome.nested_calls.calls] + [o.id for o in late]
    assert ids == [f"{outcome.id}/{n}" for n in (1, 2, 3)]
    assert len(log.events) == before
    assert len(outcome.nested_calls.calls) == 1
