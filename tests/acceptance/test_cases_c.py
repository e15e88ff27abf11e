"""Cases C of the acceptance list: batches, and the loop around them."""

from __future__ import annotations

from typing import Any

import anyio

from pi_kernel import ToolContext, ToolResult
from pi_kernel.models import ScriptedModel, call, say, turn
from tests.support.calls import Gate, calls
from tests.support.engine import Log, make_tool, session_with, texts


async def test_c41_ends_in_completion_order_messages_in_source_order() -> None:
    fast_is_done = anyio.Event()

    async def slow(_params: Any, _ctx: Any) -> str:
        await fast_is_done.wait()
        return "slow"

    session = session_with(make_tool("a", slow), make_tool("c"))
    log = Log(session)

    @session.on("tool_execution_end")
    def note(event: Any) -> None:
        if event.tool_call_id == "C":
            fast_is_done.set()

    await session.execute_batch(calls("a", "b", "c"))
    assert log.steps() == ["s A", "s B", "e B", "s C", "e C", "e A", "m A", "m B", "m C"]


async def test_c43_a_sequential_run_is_not_made_parallel_by_its_tools() -> None:
    async def run(_params: Any, _ctx: ToolContext) -> str:
        await anyio.lowlevel.checkpoint()
        return "done"

    tools = [make_tool(name, run, execution_mode="parallel") for name in "ab"]
    session = session_with(*tools, tool_execution="sequential")
    log = Log(session)
    await session.execute_batch(calls("a", "b"))
    assert log.steps() == ["s A", "e A", "m A", "s B", "e B", "m B"]


async def test_c45_an_abort_in_a_sequential_batch_skips_what_follows() -> None:
    def abort(_params: Any, ctx: ToolContext) -> str:
        ctx.session.abort()
        return "a is fine"

    session = session_with(make_tool("a", abort), make_tool("b"), tool_execution="sequential")
    model = ScriptedModel([turn(call("a"), call("b")), say("never said")])
    run = await session.prompt("go", model=model)

    assert texts(run.messages)[-3:] == [
        "toolResult a is fine",
        "toolResult Operation aborted",
        "assistant",
    ]
    results: list[Any] = [m for m in run.messages if m.role == "toolResult"]
    assert [m.is_error for m in results] == [False, True]
    assert len(model.contexts) == 2
    assert run.stop_reason == "aborted"


async def test_c47_two_votes_end_the_run_after_the_turn() -> None:
    session = session_with(make_tool("a", lambda *_: ToolResult("bye", terminate=True)))
    log = Log(session)
    model = ScriptedModel([turn(call("a"), call("a")), say("never said")])
    await session.prompt("go", model=model)
    assert len(model.contexts) == 1
    assert log.kinds()[-3:] == ["turn_end", "agent_end", "agent_settled"]


async def test_c49_a_block_that_votes_ends_the_run_when_it_is_alone() -> None:
    session = session_with(make_tool("a"))
    session.on("tool_call", lambda _: {"block": True, "terminate": True})
    model = ScriptedModel([call("a"), say("never said")])
    run = await session.prompt("go", model=model)
    assert len(model.contexts) == 1
    assert texts(run.messages)[-1] == "toolResult Tool execution was blocked"


async def test_c51_results_then_steering_then_follow_up() -> None:
    gate = Gate("result")
    session = session_with(make_tool("a", gate))
    log = Log(session)
    model = ScriptedModel([call("a"), say("steered"), say("followed")])

    @session.on("tool_execution_start")
    def queue(_event: Any) -> None:
        session.follow_up("later")
        session.steer("now")
        gate.open.set()

    run = await session.prompt("go", model=model)
    assert texts(run.messages)[1:] == [
        "user go",
        "assistant <a>",
        "toolResult result",
        "user now",
        "assistant steered",
        "user later",
        "assistant followed",
    ]
    assert log.kinds().count("agent_end") == 1


async def test_c53_the_first_request_announces_the_tools_before_the_user() -> None:
    session = session_with(make_tool("a"), make_tool("b"))
    log = Log(session)
    await session.prompt("go", model=ScriptedModel([say("hello")]))
    messages = [event.message for event in log.of("message_start")]
    assert texts(messages) == ["system +a +b", "user go", "assistant"]


async def test_c55_calls_of_a_failed_or_aborted_reply_do_not_run() -> None:
    for stop_reason in ("error", "aborted"):
        session = session_with(make_tool("a"))
        log = Log(session)
        await session.prompt("go", model=ScriptedModel([turn(call("a"), stop_reason=stop_reason)]))
        assert log.of("tool_execution_start", "tool_execution_end") == []
        (ended,) = log.of("turn_end")
        assert ended.tool_results == []
        assert log.kinds()[-3:] == ["turn_end", "agent_end", "agent_settled"]
