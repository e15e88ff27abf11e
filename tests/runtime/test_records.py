"""The bounded record of nested calls: what is kept, what is only counted, and when it is taken."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel import ToolContext, ToolResult, Usage
from pi_kernel.protocol.calls import (
    MAX_ARGUMENT_BYTES_PER_CALL,
    MAX_ARGUMENT_BYTES_PER_RECORD,
    MAX_ERROR_CHARS,
    NestedToolCalls,
)
from pi_kernel.protocol.json import compact_json
from pi_kernel.runtime.records import round_half_up
from tests.support.calls import Gate, outer
from tests.support.engine import make_tool, session_with


async def record_of(*arguments: Any, error: str | None = None) -> NestedToolCalls:
    """Return the record of a tool that calls another with each of the arguments."""

    async def run(ctx: ToolContext) -> str:
        for args in arguments:
            await ctx.execute_tool("leaf", args)
        return "done"

    def leaf(_params: Any, _ctx: Any) -> ToolResult:
        return ToolResult(error or "fine", is_error=error is not None)

    session = session_with(outer(run), make_tool("leaf", leaf))
    return (await session.execute_tool("outer")).nested_calls


async def test_a_call_is_recorded_with_its_arguments_and_without_its_result() -> None:
    record = await record_of({"path": "a"}, None)
    first, second = record.to_wire()["calls"]
    duration_ms = first.pop("durationMs")
    assert isinstance(duration_ms, int)
    assert first == {
        "id": "call-1/1",
        "name": "leaf",
        "arguments": {"path": "a"},
        "status": "ok",
    }
    assert second["arguments"] == {}
    assert record.complete is True


def padded(size: int, fill: str = "x") -> dict[str, str]:
    """Return arguments whose compact JSON has so many bytes."""
    rest = size - len(compact_json({"t": ""}))
    return {"t": fill * (rest // len(fill.encode()))}


async def test_the_limit_of_one_call_is_inclusive() -> None:
    fits, too_large = padded(MAX_ARGUMENT_BYTES_PER_CALL), padded(MAX_ARGUMENT_BYTES_PER_CALL + 1)
    record = await record_of(fits)
    assert (record.calls[0].arguments, record.complete) == (fits, True)
    record = await record_of(too_large)
    assert (record.calls[0].arguments, record.calls[0].arguments_bytes) == (None, 8193)
    assert record.complete is False


async def test_bytes_are_of_compact_utf_8() -> None:
    record = await record_of({"t": "€" * 2729, "n": [1, 2]})
    assert record.calls[0].arguments_bytes == len('{"t":"","n":[1,2]}') + 2729 * 3
    record = await record_of({"t": "\ud800" * 3000})
    assert record.calls[0].arguments_bytes == len('{"t":""}') + 3000 * 3


async def test_only_recorded_arguments_count_towards_the_total() -> None:
    large, quarter = padded(9000), padded(MAX_ARGUMENT_BYTES_PER_RECORD // 4)
    record = await record_of(large, quarter, quarter, large, quarter, quarter, {"n": 1})
    assert [call.arguments is not None for call in record.calls] == [
        False,
        True,
        True,
        False,
        True,
        True,
        False,
    ]
    assert record.calls[-1].arguments_bytes == 7


async def test_a_small_call_after_one_that_did_not_fit_is_kept() -> None:
    record = await record_of(*[padded(8000)] * 4, padded(1000), {"n": 1})
    assert [call.arguments is not None for call in record.calls] == [True] * 4 + [False, True]


async def test_an_error_is_cut_plainly_and_absent_when_empty() -> None:
    record = await record_of({}, error="x" * (MAX_ERROR_CHARS + 1))
    assert (record.calls[0].status, record.calls[0].error) == ("error", "x" * MAX_ERROR_CHARS)


async def test_the_error_joins_text_blocks_and_is_absent_when_there_are_none() -> None:
    async def run(ctx: ToolContext) -> str:
        await ctx.execute_tool("two")
        await ctx.execute_tool("none")
        return "done"

    session = session_with(
        outer(run),
        make_tool("two", lambda *_: ToolResult(["a", "b"], is_error=True)),
        make_tool("none", lambda *_: ToolResult(is_error=True)),
    )
    two, none = (await session.execute_tool("outer")).nested_calls.calls
    assert (two.error, none.error) == ("a\nb", None)
    assert "error" not in none.to_wire()


async def test_a_call_that_ends_after_the_record_was_taken_changes_nothing_in_it() -> None:
    gate = Gate(ToolResult("late", usage=Usage(input=7)))
    tasks = []

    async def run(ctx: ToolContext) -> ToolResult:
        tasks.append(asyncio.ensure_future(ctx.execute_tool("leaf", {"n": 1})))
        await gate.started.wait()
        return ToolResult("done", usage=Usage(input=1))

    session = session_with(outer(run), make_tool("leaf", gate))
    outcome = await session.execute_tool("outer")
    before = outcome.to_message().to_wire()
    assert before["nestedCalls"] == {
        "calls": [
            {"id": "call-1/1", "name": "leaf", "arguments": {"n": 1}, "status": "unfinished"}
        ],
        "complete": False,
    }
    gate.open.set()
    assert (await tasks[0]).status == "ok"
    after = outcome.to_message().to_wire()
    assert (after["nestedCalls"], after["usage"]) == (before["nestedCalls"], before["usage"])
    assert after["usage"]["input"] == 1


async def test_the_usage_of_a_dropped_call_counts() -> None:
    async def run(ctx: ToolContext) -> str:
        for number in range(257):
            await ctx.execute_tool("last" if number == 256 else "leaf")
        return "done"

    session = session_with(
        outer(run),
        make_tool("leaf"),
        make_tool("last", lambda *_: ToolResult("x", usage=Usage(input=3))),
    )
    outcome = await session.execute_tool("outer")
    assert outcome.usage == Usage(input=3)
    assert {call.name for call in outcome.nested_calls.calls} == {"leaf"}


async def test_a_record_of_no_calls_is_empty_and_left_off_the_wire() -> None:
    outcome = await session_with(make_tool("t")).execute_tool("t")
    assert outcome.nested_calls == NestedToolCalls()
    assert "nestedCalls" not in outcome.to_wire()
    assert "nestedCalls" not in outcome.to_message().to_wire()


async def test_usage_of_every_depth_is_summed_once() -> None:
    def using(name: str, amount: int, *below: str) -> Any:
        async def run(_params: Any, ctx: ToolContext) -> ToolResult:
            for inner in below:
                await ctx.execute_tool(inner)
            return ToolResult(name, usage=Usage(input=amount))

        return make_tool(name, run)

    session = session_with(
        using("root", 1, "middle", "leaf"), using("middle", 10, "leaf", "leaf"), using("leaf", 100)
    )
    outcome = await session.execute_tool("root")
    assert outcome.usage is not None
    assert outcome.usage.input == 1 + 10 + 300
    assert outcome.result.usage == Usage(input=1)


async def test_usage_of_one_side_only_is_passed_on() -> None:
    session = session_with(
        outer(lambda ctx: ctx.execute_tool("leaf")),
        make_tool("leaf", lambda *_: ToolResult("x", usage=Usage(output=3, reasoning=2))),
    )
    outcome = await session.execute_tool("outer")
    assert outcome.usage == Usage(output=3, reasoning=2)


@pytest.mark.parametrize(
    ("value", "rounded"), [(0.0, 0), (0.4999, 0), (0.5, 1), (1.5, 2), (2.5, 3), (2.49, 2)]
)
def test_halves_are_rounded_up(value: float, rounded: int) -> None:
    assert round_half_up(value) == rounded


@given(st.floats(min_value=0, max_value=1e12))
def test_rounding_is_never_further_than_a_half(value: float) -> None:
    assert abs(round_half_up(value) - value) <= 0.5
