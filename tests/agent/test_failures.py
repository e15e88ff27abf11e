"""A model that fails, in every way: the run ends with a reply that says so."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from pi_kernel import PiKernelError, TextContent, ToolCall, ToolSession
from pi_kernel.models import ModelContext, ModelEvent, ScriptedModel, call, say, turn
from pi_kernel.runtime.abort import AbortSignal
from tests.support.engine import Log, StreamModel, make_tool, reply, session_with, texts

Streaming = Callable[[ModelContext, AbortSignal], AsyncIterator[ModelEvent]]


async def ask(session: ToolSession, stream: Streaming) -> Any:
    return await session.prompt("go", model=StreamModel(stream))


@pytest.mark.parametrize("reason", ["error", "aborted"])
async def test_the_calls_of_a_failed_reply_do_not_run(reason: Any) -> None:
    session = session_with(make_tool("a"))
    log = Log(session)
    failed = turn("half", call("a"), stop_reason=reason, error_message="broken")
    model = ScriptedModel([failed, say("never")])
    run = await session.prompt("go", model=model)
    assert not [kind for kind in log.kinds() if kind.startswith("tool_execution")]
    assert log.of("turn_end")[0].tool_results == []
    assert log.steps()[-3:] == ["m assistant", "turn_end", "agent_end"]
    assert (run.stop_reason, run.error_message, len(model.contexts)) == (reason, "broken", 1)
    assert repr(run) == f"<AgentRun: 1 turn, {reason}: 'broken'>"


async def test_a_model_that_raises_at_once_gives_a_failed_reply() -> None:
    class Broken:
        info = StreamModel(None).info  # type: ignore[arg-type]

        def stream(self, *_args: Any, **_options: Any) -> Any:
            raise ConnectionError("no network")

    session = session_with()
    log = Log(session)
    run = await session.prompt("go", model=Broken())
    last = run.replies[-1]
    assert last.to_wire()["content"] == [{"type": "text", "text": ""}]
    assert (last.stop_reason, last.error_message) == ("error", "no network")
    assert (last.provider, last.model) == ("test", "stream")
    assert log.kinds()[-5:] == [
        "message_start",
        "message_end",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]


async def test_a_model_that_raises_in_the_middle_ends_the_message_it_began() -> None:
    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        yield ModelEvent("start", partial=reply(stop_reason="pending"))
        yield ModelEvent("text_delta", partial=reply(TextContent("ha"), stop_reason="pending"))
        raise ValueError

    session = session_with()
    log = Log(session)
    run = await ask(session, stream)
    assert (run.stop_reason, run.error_message, run.text) == ("error", "ValueError", "")
    started = [e.message.role for e in log.of("message_start")]
    assert started == ["user", "assistant"]
    assert session.streaming_message is None


@pytest.mark.parametrize(
    "events",
    [
        [],
        [ModelEvent("start", partial=reply(stop_reason="pending"))],
        [ModelEvent("done", reason="stop")],
        [ModelEvent("error", reason="error", message={"role": "assistant"})],  # type: ignore[arg-type]
    ],
)
async def test_a_stream_without_a_final_message_is_a_failed_reply(events: list[ModelEvent]) -> None:
    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        for event in events:
            yield event

    run = await ask(session_with(), stream)
    assert run.stop_reason == "error"
    assert run.error_message == "The model's stream ended without a final message"


async def test_events_of_another_kind_are_a_failed_reply() -> None:
    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[Any]:
        yield {"type": "done"}

    run = await ask(session_with(), stream)
    assert run.stop_reason == "error"
    assert run.error_message == "'dict' object has no attribute 'type'"


async def test_a_final_message_without_a_start_starts_and_ends_at_once() -> None:
    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        yield ModelEvent("text_delta", partial=reply(TextContent("early")), delta="early")
        yield ModelEvent("done", reason="stop", message=reply(TextContent("hello")))

    session = session_with()
    log = Log(session)
    run = await ask(session, stream)
    assert run.text == "hello"
    assert log.of("message_update") == []
    assert [e.message.text for e in log.of("message_start")[1:]] == ["hello"]


async def test_a_second_start_does_not_start_a_second_message() -> None:
    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        yield ModelEvent("start", partial=reply(stop_reason="pending"))
        yield ModelEvent("start", partial=reply(stop_reason="pending"))
        yield ModelEvent("done", reason="stop", message=reply(TextContent("x")))

    session = session_with()
    log = Log(session)
    await ask(session, stream)
    assert len(log.of("message_start")) == len(log.of("message_end")) == 2


@pytest.mark.parametrize(
    ("event", "expected"),
    [
        (ModelEvent("error", reason="error", message=reply(TextContent("x"))), "error"),
        (ModelEvent("error", reason="aborted", message=reply(TextContent("x"))), "aborted"),
        (ModelEvent("done", message=reply(TextContent("x"), stop_reason="pending")), "stop"),
    ],
)
async def test_a_reply_is_kept_with_the_reason_that_its_stream_gave(
    event: ModelEvent, expected: str
) -> None:
    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        yield event

    run = await ask(session_with(), stream)
    assert (run.stop_reason, run.text) == (expected, "x")


async def test_a_pending_final_message_with_calls_runs_them() -> None:
    replies = iter([reply(ToolCall(id="A", name="a"), stop_reason="pending"), reply()])

    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        yield ModelEvent("done", message=next(replies))

    run = await ask(session_with(make_tool("a")), stream)
    assert [answer.stop_reason for answer in run.replies] == ["toolUse", "stop"]


async def test_a_stream_that_is_an_awaitable_works() -> None:
    class Awaitable(StreamModel):
        async def stream(self, *_args: Any, **_options: Any) -> Any:  # type: ignore[override]
            return super().stream(*_args, **_options)

    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        yield ModelEvent("done", message=reply(TextContent("x")))

    run = await session_with().prompt("go", model=Awaitable(stream))  # type: ignore[arg-type]
    assert run.text == "x"


async def test_the_stream_is_closed_when_its_reply_is_there() -> None:
    closed: list[bool] = []

    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        try:
            yield ModelEvent("done", message=reply(TextContent("x")))
            yield ModelEvent("done", message=reply(TextContent("never")))
        finally:
            closed.append(True)

    run = await ask(session_with(), stream)
    assert (run.text, closed) == ("x", [True])


async def test_failed_replies_are_in_the_transcript_but_not_in_the_next_request() -> None:
    session = session_with()
    broken = turn("half", stop_reason="error", error_message="broken")
    model = ScriptedModel([broken, say("fine")])
    await session.prompt("go", model=model)
    await session.prompt("again", model=model)
    assert texts(session.messages) == [
        "user go", "assistant half", "user again", "assistant fine",
    ]  # fmt: skip
    assert texts(model.contexts[1].messages) == ["user go", "user again"]


async def test_a_script_that_has_ended_fails_with_a_hint() -> None:
    run = await session_with().prompt("go", model=ScriptedModel([]))
    assert run.error_message == "The script of 0 turns has ended; add a turn for this request"


async def test_handlers_and_listeners_that_raise_do_not_harm_the_run() -> None:
    session = session_with(make_tool("a"))

    def fail(_event: Any) -> None:
        raise RuntimeError("listener")

    log = Log(session)
    kinds = ("agent_start", "turn_start", "message_start", "message_update", "message_end")
    for kind in (*kinds, "turn_end", "agent_end"):
        session.on(kind, fail)
    stop = session.subscribe(fail)
    run = await session.prompt("go", model=ScriptedModel([call("a"), say("x")]))
    stop()
    assert texts(run.messages)[-2:] == ["toolResult a", "assistant x"]
    assert {text for _event, text in log.errors()} == {"listener"}


async def test_without_a_model_a_prompt_is_refused() -> None:
    with pytest.raises(PiKernelError, match="there is no model to ask"):
        await session_with().prompt("go")


@pytest.mark.parametrize("model", ["demo", 3, object()])
async def test_what_is_no_model_is_refused(model: Any) -> None:
    with pytest.raises(PiKernelError, match=r"model must have \.info and \.stream\(\)"):
        await session_with().prompt("go", model=model)


async def test_the_sessions_own_model_answers() -> None:
    session = session_with(model=ScriptedModel([say("mine")]))
    assert (await session.prompt("go")).text == "mine"
    assert session.model is not None
    assert session.model.id == "scripted"


async def test_a_model_or_a_handler_that_exits_does_not_end_the_process() -> None:
    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        yield ModelEvent("start", partial=reply(stop_reason="pending"))
        raise SystemExit("bye")

    session = session_with()
    log = Log(session)

    def leave(_event: Any) -> None:
        raise SystemExit("me too")

    session.on("message_end", leave)
    run = await ask(session, stream)
    assert (run.stop_reason, run.error_message) == ("error", "bye")
    assert log.errors() == [("message_end", "me too")] * 2


async def test_a_model_that_cancels_itself_is_a_failed_reply() -> None:
    async def stream(_context: ModelContext, _signal: AbortSignal) -> AsyncIterator[ModelEvent]:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future
        yield ModelEvent("done", message=reply())

    run = await ask(session_with(), stream)
    assert (run.stop_reason, run.error_message) == ("error", "The model's stream was cancelled")
