"""Cases B of the acceptance list: one call."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from pi_kernel import AbortSignal, Block, ResultPatch, ToolResult, ToolSession
from tests.support.calls import error_wire, object_of
from tests.support.engine import Log, Notes, make_tool, session_with


def count_hooks(session: ToolSession) -> list[str]:
    asked: list[str] = []
    session.on("tool_call", lambda event: asked.append(event.type))
    session.on("tool_result", lambda event: asked.append(event.type))
    return asked


async def test_b21_an_unknown_name_is_an_error_without_duration_and_after_hook() -> None:
    session = session_with()
    asked = count_hooks(session)
    outcome = await session.execute_tool("nope", {})

    assert outcome.result.to_wire() == error_wire("Tool nope not found")
    assert (outcome.status, outcome.is_error, outcome.duration_ms) == ("not_found", True, None)
    assert "durationMs" not in outcome.to_wire()
    assert asked == []


async def test_b23_a_refused_argument_asks_no_hook_and_emits_the_end() -> None:
    session = session_with(make_tool("t", parameters=object_of("n", n="integer")))
    log, asked = Log(session), count_hooks(session)
    outcome = await session.execute_tool("t", {})

    assert outcome.status == "invalid"
    assert asked == []
    assert log.kinds() == ["tool_execution_start", "tool_execution_end"]
    assert log.events[-1].is_error is True
    assert log.events[-1].to_wire()["isError"] is True


async def test_b25_a_before_hook_that_raises_blocks_with_its_text() -> None:
    ran = Notes()
    session = session_with(make_tool("t", lambda *_: ran.add(1, "ran")))

    @session.on("tool_call")
    def hook(_event: Any) -> None:
        raise RuntimeError("hook boom")

    outcome = await session.execute_tool("t", {})
    assert outcome.result.to_wire() == error_wire("hook boom")
    assert (outcome.status, outcome.duration_ms, ran) == ("blocked", None, [])


async def test_b27_only_edits_in_place_reach_execute() -> None:
    received = Notes()
    session = session_with(make_tool("t", lambda params, _: received.add(dict(params), "ran")))

    @session.on("tool_call")
    def hook(event: Any) -> dict[str, Any]:
        arguments = dict(event.input)
        arguments["n"] = 2
        return arguments

    @session.on("tool_call")
    def second(event: Any) -> None:
        event.input = {"n": 3}

    assert (await session.execute_tool("t", {"n": 1})).status == "ok"
    assert received == [{"n": 1}]


async def test_b29_an_abort_inside_a_before_hook_wins_over_its_block() -> None:
    session = session_with(make_tool("t"))
    signal = AbortSignal()

    @session.on("tool_call")
    def hook(_event: Any) -> Block:
        signal.abort()
        return Block("x")

    outcome = await session.execute_tool("t", {}, signal=signal)
    assert outcome.result.to_wire() == error_wire("Operation aborted")
    assert outcome.status == "aborted"


async def test_b31_a_returned_error_keeps_its_content_and_structured_content() -> None:
    result = ToolResult("c", structured_content={"s": 1}, is_error=True)
    session = session_with(make_tool("t", lambda *_: result))
    seen: list[Any] = []
    session.on("tool_result", lambda event: seen.append(event.is_error))
    outcome = await session.execute_tool("t", {})

    assert (outcome.is_error, outcome.status) == (True, "error")
    assert (outcome.text, outcome.structured_content) == ("c", {"s": 1})
    assert seen == [True]


@pytest.mark.parametrize("patch", [{"details": {"d": 2}}, ResultPatch(details={"d": 2})])
async def test_b33_new_details_alone_keep_the_rest(patch: Any) -> None:
    result = ToolResult("c", details={"d": 1}, structured_content={"s": 1})
    session = session_with(make_tool("t", lambda *_: result))
    session.on("tool_result", lambda _: patch)
    outcome = await session.execute_tool("t", {})
    assert outcome.result.to_wire() == {
        "content": [{"type": "text", "text": "c"}],
        "details": {"d": 2},
        "structuredContent": {"s": 1},
    }


async def test_b35_an_empty_content_counts_and_drops_structured_content() -> None:
    session = session_with(make_tool("t", lambda *_: ToolResult("c", structured_content=1)))
    session.on("tool_result", lambda _: {"content": []})
    outcome = await session.execute_tool("t", {})
    assert outcome.content == []
    assert outcome.has_structured_content is False
    assert outcome.result.to_wire() == {"content": []}


async def test_b37_an_after_hook_makes_a_success_of_a_tool_that_raised() -> None:
    def fail(*_: Any) -> None:
        raise ValueError("boom")

    session = session_with(make_tool("t", fail))
    session.on("tool_result", lambda _: {"is_error": False})
    outcome = await session.execute_tool("t", {})
    assert (outcome.is_error, outcome.status, outcome.text) == (False, "ok", "boom")
    assert outcome.result.is_error is True
    assert outcome.to_message().to_wire()["isError"] is False


async def test_b39_the_duration_leaves_the_hooks_out() -> None:
    session = session_with(make_tool("t"))

    async def slow(_event: Any) -> None:
        await anyio.sleep(0.05)

    session.on("tool_call", slow)
    session.on("tool_result", slow)
    outcome = await session.execute_tool("t", {})
    assert outcome.duration_ms is not None
    total_ms = session.trace.calls()[0].total_ms
    assert total_ms is not None
    assert total_ms - outcome.duration_ms >= 98
    assert total_ms >= 90
