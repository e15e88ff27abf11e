"""The exclusive queue: first come first served, re-entrant by scope, released whatever happens."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from pi_kernel import ToolContext, ToolResult
from pi_kernel.runtime.queue import ExclusiveQueue
from tests.support.calls import Gate, Meeting, outer, started
from tests.support.engine import Notes, make_tool, session_with

LIMIT_SECONDS = 5


async def test_calls_run_one_after_another_in_call_order() -> None:
    notes = Notes()

    async def run(params: Any, _ctx: Any) -> str:
        notes.append(f"start {params['n']}")
        await anyio.lowlevel.checkpoint()
        notes.append(f"end {params['n']}")
        return "done"

    session = session_with(make_tool("t", run, execution_mode="sequential"))
    await asyncio.gather(*(session.execute_tool("t", {"n": n}) for n in range(20)))
    assert notes == [f"{word} {n}" for n in range(20) for word in ("start", "end")]


async def test_other_calls_do_not_wait() -> None:
    gate = Gate()
    session = session_with(make_tool("held", gate, execution_mode="sequential"), make_tool("free"))
    held = await started(session, "held", gate)
    assert (await session.execute_tool("free")).text == "free"
    gate.open.set()
    await held


async def test_the_wait_counts_in_the_record_and_not_in_the_outcome() -> None:
    async def run(_params: Any, _ctx: Any) -> str:
        await anyio.sleep(0.03)
        return "done"

    async def two(ctx: ToolContext) -> str:
        await asyncio.gather(ctx.execute_tool("t"), ctx.execute_tool("t"))
        return "done"

    session = session_with(make_tool("t", run, execution_mode="sequential"), outer(two))
    outcome = await session.execute_tool("outer")
    first, second = outcome.nested_calls.calls
    assert first.duration_ms is not None
    assert second.duration_ms is not None
    assert second.duration_ms >= 55
    records = session.trace.calls()
    assert [r.queued_ms is not None for r in records] == [False, True, True]
    assert records[2].queued_ms is not None
    assert records[2].queued_ms >= 25
    assert records[2].duration_ms is not None
    assert second.duration_ms - records[2].duration_ms >= 25  # the wait


async def test_a_sequential_session_queues_everything_but_a_models_calls() -> None:
    meeting = Meeting(2)
    notes = Notes()

    async def note(params: Any, _ctx: Any) -> str:
        notes.append(f"start {params['n']}")
        await anyio.lowlevel.checkpoint()
        notes.append(f"end {params['n']}")
        return "done"

    session = session_with(make_tool("t", note), tool_execution="sequential")
    await asyncio.gather(*(session.execute_tool("t", {"n": n}) for n in range(3)))
    assert notes == [f"{word} {n}" for n in range(3) for word in ("start", "end")]

    gate = Gate()
    session = session_with(
        make_tool("held", gate, execution_mode="sequential"),
        make_tool("t", meeting, execution_mode="parallel"),
        make_tool("s", execution_mode="sequential"),
    )
    held = await started(session, "held", gate)
    with anyio.fail_after(LIMIT_SECONDS):
        (outcome,) = await session.execute_batch([{"id": "A", "name": "s", "arguments": {}}])
    assert outcome.status == "ok"
    gate.open.set()
    await held


async def test_a_holder_may_gather_sequential_tools_without_waiting_for_itself() -> None:
    meeting = Meeting(3)

    async def fan_out(ctx: ToolContext) -> str:
        outcomes = await asyncio.gather(*(ctx.execute_tool("inner") for _ in range(3)))
        return " ".join(outcome.text for outcome in outcomes)

    session = session_with(
        outer(fan_out, execution_mode="sequential"),
        make_tool("inner", meeting, execution_mode="sequential"),
    )
    with anyio.fail_after(LIMIT_SECONDS):
        outcome = await session.execute_tool("outer")
    assert outcome.text == "met met met"


async def test_reentrancy_goes_through_parallel_tools_and_tasks() -> None:
    async def in_a_task(ctx: ToolContext) -> str:
        task = asyncio.ensure_future(ctx.execute_tool("leaf"))
        return (await task).text

    session = session_with(
        outer(lambda ctx: ctx.execute_tool("middle"), execution_mode="sequential"),
        outer(in_a_task, "middle"),
        make_tool("leaf", execution_mode="sequential"),
    )
    with anyio.fail_after(LIMIT_SECONDS):
        assert (await session.execute_tool("outer")).text == "leaf"


async def test_a_tool_that_does_not_hold_the_queue_waits_for_it() -> None:
    gate = Gate()
    session = session_with(
        make_tool("held", gate, execution_mode="sequential"),
        outer(lambda ctx: ctx.execute_tool("leaf")),
        make_tool("leaf", execution_mode="sequential"),
    )
    held = await started(session, "held", gate)
    waiting = asyncio.ensure_future(session.execute_tool("outer"))
    done, _ = await asyncio.wait({waiting}, timeout=0.05)
    assert done == set()
    gate.open.set()
    assert (await waiting).text == "leaf"
    await held


@pytest.mark.parametrize("failure", [ValueError("boom"), SystemExit(1)])
async def test_a_failure_releases_the_queue(failure: BaseException) -> None:
    def fail(_params: Any, _ctx: Any) -> ToolResult:
        raise failure

    session = session_with(
        make_tool("bad", fail, execution_mode="sequential"),
        make_tool("good", execution_mode="sequential"),
    )
    with anyio.fail_after(LIMIT_SECONDS):
        outcomes = await asyncio.gather(
            session.execute_tool("bad"), session.execute_tool("good"), session.execute_tool("bad")
        )
    assert [o.status for o in outcomes] == ["error", "ok", "error"]


async def test_invalid_and_unknown_calls_of_a_sequential_session_take_their_turn() -> None:
    gate = Gate()
    session = session_with(make_tool("held", gate), tool_execution="sequential")
    held = await started(session, "held", gate)
    unknown = asyncio.ensure_future(session.execute_tool("nope"))
    done, _ = await asyncio.wait({unknown}, timeout=0.05)
    assert done == set()
    gate.open.set()
    assert (await unknown).text == "Tool nope not found"
    await held


async def test_tools_are_looked_up_again_when_the_turn_comes() -> None:
    gate = Gate()
    session = session_with(
        make_tool("held", gate, execution_mode="sequential"),
        make_tool("t", lambda *_: "old", execution_mode="sequential"),
    )
    held = await started(session, "held", gate)
    waiting = asyncio.ensure_future(session.execute_tool("t"))
    await anyio.lowlevel.checkpoint()
    session.register(make_tool("t", lambda *_: "new", execution_mode="sequential"))
    gate.open.set()
    assert (await waiting).text == "new"
    await held


async def test_the_queue_itself_hands_the_turn_over_and_skips_who_left() -> None:
    queue = ExclusiveQueue()
    await queue.take()
    waiters = [asyncio.ensure_future(queue.take()) for _ in range(3)]
    await anyio.lowlevel.checkpoint()
    waiters[0].cancel()
    await asyncio.wait({waiters[0]})
    queue.release()
    waiters[1].cancel()  # its turn has come, and it does not know yet
    await asyncio.wait(waiters, timeout=LIMIT_SECONDS)
    assert [waiter.cancelled() for waiter in waiters] == [True, True, False]
    queue.release()
    with anyio.fail_after(LIMIT_SECONDS):
        await queue.take()
