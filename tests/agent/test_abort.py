"""Aborting a run, at every place where it can be: all calls get results, the run ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import anyio
import pytest

from pi_kernel import AbortSignal, TextContent
from pi_kernel.models import ModelContext, ModelEvent, ScriptedModel, call, say, turn
from tests.support.engine import Log, Notes, StreamModel, make_tool, reply, session_with, texts

ABORTED = "toolResult Operation aborted"


async def test_aborting_in_a_batch_answers_every_call_and_asks_once_more() -> None:
    """A hanging tool is cancelled, a finished one keeps its result; the model then says aborted."""

    async def hang(_params: dict[str, Any], ctx: Any) -> str:
        ctx.session.abort("enough")
        await anyio.sleep_forever()
        return "never"

    session = session_with(make_tool("fast"), make_tool("hang", hang))
    log = Log(session)
    model = ScriptedModel([turn(call("fast"), call("hang")), say("never")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages)[-3:] == ["toolResult fast", ABORTED, "assistant"]
    assert (run.stop_reason, run.error_message) == ("aborted", "Request was aborted")
    assert len(model.contexts) == 2
    assert log.of("agent_settled")[0].aborted is True
    assert log.steps()[-3:] == ["m assistant", "turn_end", "agent_end"]


async def test_a_tool_that_returns_although_aborted_keeps_its_result() -> None:
    def finish(_params: dict[str, Any], ctx: Any) -> str:
        ctx.session.abort()
        return "done anyway"

    session = session_with(make_tool("a", finish), tool_execution="sequential")
    model = ScriptedModel([turn(call("a"), call("a")), say("never")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages)[3:] == ["toolResult done anyway", ABORTED, "assistant"]
    assert len(model.contexts) == 2


async def test_aborting_in_a_hook_stops_the_calls_before_and_after_it() -> None:
    ran = Notes()
    asked: list[str] = []
    session = session_with(make_tool("a", lambda _p, _c: ran.add("a", "a")))

    def hook(event: Any) -> None:
        asked.append(event.tool_call_id)
        if event.tool_call_id == "B":
            session.abort()

    session.on("tool_call", hook)
    log = Log(session)
    batch = turn(call("a", id="A"), call("a", id="B"), call("a", id="C"))
    run = await session.prompt("go", model=ScriptedModel([batch, say("never")]))
    assert (ran, asked) == ([], ["A", "B"])
    start = log.steps().index("s A")
    assert log.steps()[start : start + 9] == [
        "s A", "s B", "e B", "s C", "e C", "e A", "m A", "m B", "m C",
    ]  # fmt: skip
    assert texts(run.messages)[3:6] == [ABORTED] * 3


async def test_a_hanging_hook_ends_by_abort() -> None:
    session = session_with(make_tool("a"))

    async def hang(_event: Any) -> None:
        session.abort()
        await anyio.sleep_forever()

    session.on("tool_call", hang)
    run = await session.prompt("go", model=ScriptedModel([call("a"), say("never")]))
    assert texts(run.messages)[3:] == [ABORTED, "assistant"]


async def test_aborting_while_the_model_streams_keeps_what_it_had_said() -> None:
    session = session_with(make_tool("a"))
    log = Log(session)

    def on_update(event: Any) -> None:
        if event.message.text:
            session.abort()

    session.on("message_update", on_update)
    model = ScriptedModel([turn("x" * 100, call("a")), say("never")])
    run = await session.prompt("go", model=model)
    assert run.stop_reason == "aborted"
    assert 0 < len(run.text) < 100
    assert run.replies[-1].tool_calls == []
    assert [e.message.role for e in log.of("message_start")].count("assistant") == 1
    assert [e.message.role for e in log.of("message_end")].count("assistant") == 1


async def test_a_model_that_hangs_is_left_after_an_abort() -> None:
    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        yield ModelEvent("start", partial=reply(TextContent("half"), stop_reason="pending"))
        session.abort()
        await anyio.sleep_forever()

    session = session_with()
    log = Log(session)
    run = await session.prompt("go", model=StreamModel(stream))
    assert (run.stop_reason, run.text) == ("aborted", "half")
    assert run.error_message == "Request was aborted"
    assert len(log.of("message_start")) == len(log.of("message_end")) == 2


async def test_a_model_that_swallows_its_cancellation_is_left_too() -> None:
    released = anyio.Event()

    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        session.abort()
        while not released.is_set():
            try:
                await released.wait()
            except asyncio.CancelledError:
                continue
        yield ModelEvent("start", partial=reply(TextContent("late"), stop_reason="pending"))
        yield ModelEvent("done", message=reply(TextContent("late")))

    session = session_with()
    log = Log(session)
    run = await session.prompt("go", model=StreamModel(stream))
    assert (run.stop_reason, run.text) == ("aborted", "")
    told = len(log.events)
    released.set()
    await anyio.sleep(0.01)
    assert len(log.events) == told
    assert texts(session.messages) == ["user go", "assistant"]


async def test_a_model_that_ignores_the_signal_and_answers_at_once_cannot_go_on_for_ever() -> None:
    async def stream(context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        yield ModelEvent("done", message=reply(call("a", id=str(len(context.messages))).blocks[0]))

    session = session_with(make_tool("a", lambda _p, ctx: ctx.session.abort() or "ok"))
    model = StreamModel(stream)
    run = await session.prompt("go", model=model)
    assert len(model.contexts) == 2
    assert texts(run.messages)[-1] == ABORTED


async def test_a_failure_of_an_aborted_model_counts_as_aborted() -> None:
    async def stream(_context: ModelContext, signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        session.abort()
        signal.throw_if_aborted()
        yield ModelEvent("done", message=reply())

    session = session_with()
    run = await session.prompt("go", model=StreamModel(stream))
    assert (run.stop_reason, run.error_message) == ("aborted", "Operation aborted")


async def test_a_signal_of_the_caller_aborts_the_run() -> None:
    signal = AbortSignal()
    session = session_with()
    session.on("message_update", lambda _event: signal.abort("mine"))
    run = await session.prompt("go", model=ScriptedModel([say("x" * 100)]), signal=signal)
    assert run.stop_reason == "aborted"


async def test_a_signal_that_is_set_already_lets_the_prompt_be_recorded() -> None:
    signal = AbortSignal()
    signal.abort()
    model = ScriptedModel([say("never")])
    run = await session_with().prompt("go", model=model, signal=signal)
    assert texts(run.messages) == ["user go", "assistant"]
    assert run.stop_reason == "aborted"
    again = await session_with().prompt("go", model=model)
    assert again.text == "never"


async def test_an_abort_counts_for_the_run_that_is_going_on_only() -> None:
    session = session_with(make_tool("a"))
    session.abort("nothing is running")
    run = await session.prompt("go", model=ScriptedModel([call("a"), say("x")]))
    assert texts(run.messages)[-2:] == ["toolResult a", "assistant x"]


async def test_an_abort_reaches_nested_calls() -> None:
    started = anyio.Event()

    async def inner(_params: dict[str, Any], ctx: Any) -> str:
        started.set()
        await ctx.signal.wait()
        return "inner saw it"

    async def outer(_params: dict[str, Any], ctx: Any) -> str:
        return str((await ctx.execute_tool("inner")).text)

    session = session_with(make_tool("outer", outer), make_tool("inner", inner))
    model = ScriptedModel([call("outer"), say("never")])
    async with anyio.create_task_group() as group:
        group.start_soon(abort_when, session, started)
        run = await session.prompt("go", model=model)
    assert texts(run.messages)[-2] == "toolResult inner saw it"


async def abort_when(session: Any, event: anyio.Event) -> None:
    await event.wait()
    session.abort()


# -- cancellation of whoever awaits the run --------------------------------------------------------


async def start(session: Any, model: Any) -> asyncio.Task[Any]:
    """Return a task that runs a prompt, once a tool or model has said that it waits."""
    return asyncio.get_running_loop().create_task(session.prompt("go", model=model))


async def test_cancelling_the_awaiting_task_in_a_batch_answers_every_call() -> None:
    waiting = anyio.Event()

    async def hang(_params: dict[str, Any], _ctx: Any) -> str:
        waiting.set()
        await anyio.sleep_forever()
        return "never"

    session = session_with(make_tool("fast"), make_tool("hang", hang))
    log = Log(session)
    task = await start(session, ScriptedModel([turn(call("fast"), call("hang"), call("fast"))]))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert texts(session.messages)[3:] == [
        "toolResult fast",
        ABORTED,
        "toolResult fast",
        "assistant",
    ]
    assert log.steps()[-3:] == ["m assistant", "turn_end", "agent_end"]
    assert log.kinds()[-1] == "agent_settled"
    assert not session.is_running
    assert session.pending_tool_calls == frozenset()


async def test_cancelling_the_awaiting_task_while_the_model_streams_ends_the_message() -> None:
    waiting = anyio.Event()

    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        yield ModelEvent("start", partial=reply(TextContent("half"), stop_reason="pending"))
        waiting.set()
        await anyio.sleep_forever()

    session = session_with()
    log = Log(session)
    task = await start(session, StreamModel(stream))
    await waiting.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert texts(session.messages) == ["user go", "assistant half"]
    assert session.messages[-1].to_wire()["stopReason"] == "aborted"
    assert len(log.of("message_start")) == len(log.of("message_end")) == 2
    assert log.of("agent_settled")[0].aborted is True
    assert session.streaming_message is None
    fine = await session.prompt("again", model=ScriptedModel([say("x")]))
    assert fine.text == "x"


async def test_a_time_limit_around_a_prompt_ends_it() -> None:
    session = session_with(make_tool("hang", lambda _p, _c: anyio.sleep_forever()))
    with anyio.move_on_after(0.05) as scope:
        await session.prompt("go", model=ScriptedModel([call("hang")]))
    assert scope.cancelled_caught
    assert texts(session.messages)[-2:] == [ABORTED, "assistant"]
    assert not session.is_running


async def test_a_listener_that_hangs_cannot_hold_a_cancelled_run_for_ever() -> None:
    session = session_with()

    async def hang(event: Any) -> None:
        if event.type == "agent_end":
            await anyio.sleep_forever()

    session.subscribe(hang)
    with anyio.move_on_after(0.05) as scope:
        await session.prompt("go", model=ScriptedModel([say("x")]))
    assert scope.cancelled_caught
    assert texts(session.messages) == ["user go", "assistant x"]
    assert not session.is_running


@pytest.mark.parametrize("kind", ["turn_start", "message_end", "turn_end", "agent_end"])
async def test_a_handler_that_hangs_ends_by_abort(kind: str, monkeypatch: Any) -> None:
    monkeypatch.setattr("pi_kernel.agent.state.HANDLER_GRACE_SECONDS", 0.01)
    session = session_with()
    once = iter([1])

    async def hang(_event: Any) -> None:
        if next(once, None):
            asyncio.get_running_loop().call_soon(session.abort)
            await anyio.sleep_forever()

    session.on(kind, hang)
    log = Log(session)
    with anyio.fail_after(5):
        run = await session.prompt("go", model=ScriptedModel([say("x")]))
    assert run.turns == 1
    assert log.kinds()[-2:] == ["agent_end", "agent_settled"] or kind == "agent_end"
    assert log.errors() == [(kind, "a handler did not end after an abort")]


async def test_handlers_may_take_their_time_without_an_abort(monkeypatch: Any) -> None:
    monkeypatch.setattr("pi_kernel.agent.state.HANDLER_GRACE_SECONDS", 0.0)
    session = session_with()
    told: list[str] = []

    async def slow(event: Any) -> None:
        await anyio.sleep(0.005)
        told.append(event.type)

    session.subscribe(slow)
    log = Log(session)
    await session.prompt("go", model=ScriptedModel([say("x")]))
    assert told == log.kinds()


# -- streams ---------------------------------------------------------------------------------------


async def test_a_stream_gives_the_events_of_the_run() -> None:
    session = session_with(make_tool("a"))
    log = Log(session)
    model = ScriptedModel([call("a"), say("x")])
    events = [event async for event in session.stream("go", model=model)]
    assert [event.type for event in events] == log.kinds()
    assert events[-1].type == "agent_settled"


async def test_leaving_a_stream_aborts_the_run() -> None:
    session = session_with(make_tool("hang", lambda _p, _c: anyio.sleep_forever()))
    events = session.stream("go", model=ScriptedModel([call("hang"), say("never")]))
    async for event in events:
        if event.type == "tool_execution_start":
            break
    await events.aclose()  # type: ignore[attr-defined]  # it is a generator
    assert not session.is_running
    assert texts(session.messages)[-2:] == [ABORTED, "assistant"]


async def test_a_stream_raises_what_the_prompt_raises() -> None:
    from pi_kernel import PiKernelError  # noqa: PLC0415 - only here

    with pytest.raises(PiKernelError, match="there is no model"):
        async for _event in session_with().stream("go"):
            pass
