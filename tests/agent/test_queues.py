"""Steering and follow-up: when queued messages go in, and in which order."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from pi_kernel import PiKernelError, TextContent
from pi_kernel.models import ModelContext, ScriptedModel, call, say, turn
from tests.support.engine import Log, make_tool, session_with, texts


async def test_steering_goes_in_after_the_results_and_follow_up_at_the_end() -> None:
    def queue_both(_params: dict[str, Any], ctx: Any) -> str:
        ctx.session.follow_up("later")
        ctx.session.steer("now")
        return "result"

    session = session_with(make_tool("a", queue_both))

    log = Log(session)
    model = ScriptedModel([call("a"), say("two"), say("three")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages)[1:] == [
        "user go",
        "assistant <a>",
        "toolResult result",
        "user now",
        "assistant two",
        "user later",
        "assistant three",
    ]
    assert log.steps().count("agent_end") == 1


async def test_steering_never_cancels_or_splits_a_batch() -> None:
    session = session_with(make_tool("a", lambda _p, ctx: ctx.session.steer("now") or "ok"))
    batch = turn(call("a"), call("a"), call("a"))
    model = ScriptedModel([batch, say("x"), say("y"), say("z")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages)[3:] == [
        "toolResult ok", "toolResult ok", "toolResult ok",
        "user now", "assistant x",
        "user now", "assistant y",
        "user now", "assistant z",
    ]  # fmt: skip


async def test_queued_steering_joins_the_first_request() -> None:
    session = session_with()
    session.steer("before")
    run = await session.prompt("go", model=ScriptedModel([say("x")]))
    assert texts(run.messages) == ["user go", "user before", "assistant x"]


async def test_steering_that_comes_while_the_prompt_is_told_joins_the_first_request() -> None:
    session = session_with()
    once = iter([1])
    session.on("message_end", lambda _event: session.steer("now") if next(once, None) else None)
    model = ScriptedModel([say("x")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages) == ["user go", "user now", "assistant x"]


async def test_one_at_a_time_gives_each_message_a_turn() -> None:
    session = session_with()
    for text in ("s1", "s2"):
        session.steer(text)
    for text in ("f1", "f2"):
        session.follow_up(text)
    run = await session.prompt("go", model=ScriptedModel([say("r")] * 4))
    assert texts(run.messages) == [
        "user go", "user s1", "assistant r",
        "user s2", "assistant r",
        "user f1", "assistant r",
        "user f2", "assistant r",
    ]  # fmt: skip


async def test_all_at_once_gives_each_queue_one_turn() -> None:
    session = session_with(steering_mode="all", follow_up_mode="all")
    for text in ("s1", "s2"):
        session.steer(text)
    for text in ("f1", "f2"):
        session.follow_up(text)
    run = await session.prompt("go", model=ScriptedModel([say("r")] * 2))
    assert texts(run.messages) == [
        "user go", "user s1", "user s2", "assistant r",
        "user f1", "user f2", "assistant r",
    ]  # fmt: skip


async def test_the_two_modes_are_independent() -> None:
    session = session_with(follow_up_mode="all")
    for text in ("s1", "s2"):
        session.steer(text)
    for text in ("f1", "f2"):
        session.follow_up(text)
    run = await session.prompt("go", model=ScriptedModel([say("r")] * 3))
    assert texts(run.messages) == [
        "user go", "user s1", "assistant r",
        "user s2", "assistant r",
        "user f1", "user f2", "assistant r",
    ]  # fmt: skip


async def test_steering_goes_before_follow_up_that_was_queued_earlier() -> None:
    session = session_with()
    session.follow_up("f")

    def steer(_context: Any) -> Any:
        session.steer("s")
        return say("one")

    model = ScriptedModel([steer, say("two"), say("three")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages) == [
        "user go", "assistant one", "user s", "assistant two", "user f", "assistant three",
    ]  # fmt: skip


async def test_steering_queued_at_the_start_of_a_turn_waits_when_the_drain_gave_something() -> None:
    """A second drain at the same boundary would put two messages into one turn."""
    session = session_with()
    session.steer("s1")
    session.steer("s2")
    model = ScriptedModel([say("one"), say("two"), say("three")])
    started: list[Any] = []

    def on_start(event: Any) -> None:
        started.append(event.turn_index)
        if event.turn_index == 1:
            session.steer("s3")

    session.on("turn_start", on_start)
    run = await session.prompt("go", model=model)
    assert texts(run.messages) == [
        "user go", "user s1", "assistant one",
        "user s2", "assistant two",
        "user s3", "assistant three",
    ]  # fmt: skip


async def test_steering_that_comes_while_a_follow_up_is_taken_waits_for_the_next_turn() -> None:
    session = session_with()
    session.follow_up("f")

    def on_queue(event: Any) -> None:
        if texts(event.follow_up) == texts(event.steering) == [] and len(session.messages) == 2:
            session.steer("s")

    session.on("queue_update", on_queue)
    model = ScriptedModel([say("one"), say("two"), say("three")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages) == [
        "user go", "assistant one", "user f", "assistant two", "user s", "assistant three",
    ]  # fmt: skip


async def test_a_failed_run_keeps_what_is_queued_for_the_next_one() -> None:
    session = session_with()

    def fail(_context: ModelContext) -> Any:
        session.steer("s")
        session.follow_up("f")
        return turn("x", stop_reason="error", error_message="broken")

    await session.prompt("go", model=ScriptedModel([fail]))
    run = await session.prompt("again", model=ScriptedModel([say("r")] * 2))
    assert texts(run.messages) == [
        "user again", "user s", "assistant r", "user f", "assistant r",
    ]  # fmt: skip


async def test_queue_updates_tell_both_queues_as_they_are() -> None:
    session = session_with()
    log = Log(session)
    session.steer("s1")
    session.steer("s2")
    session.follow_up("f")
    await session.prompt("go", model=ScriptedModel([say("r")] * 3))
    told = [(texts(e.steering), texts(e.follow_up)) for e in log.of("queue_update")]
    s1, s2, f = "user s1", "user s2", "user f"
    assert told == [
        ([s1], []),
        ([s1, s2], []),
        ([s1, s2], [f]),
        ([s2], [f]),
        ([], [f]),
        ([], []),
    ]


async def test_queued_content_may_be_blocks() -> None:
    session = session_with()
    session.steer([TextContent("a"), "b"])
    run = await session.prompt("go", model=ScriptedModel([say("x")]))
    assert run.messages[1].to_wire()["content"] == [
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]


@pytest.mark.parametrize("content", [None, 3, {"type": "video"}, [object()]])
async def test_content_of_another_kind_is_refused(content: Any) -> None:
    session = session_with()
    for take in (session.steer, session.follow_up):
        with pytest.raises(PiKernelError, match=r"^a prompt must be a text, a content block"):
            take(content)
    with pytest.raises(PiKernelError, match=r"^a prompt must be a text, a content block"):
        await session.prompt(content, model=ScriptedModel([]))
    assert session.messages == []


@pytest.mark.parametrize("mode", ["one", "", None, ["all"]])
def test_an_unknown_mode_is_refused(mode: Any) -> None:
    with pytest.raises(PiKernelError, match='queue mode must be "one-at-a-time" or "all"'):
        session_with(steering_mode=mode)


async def test_steering_from_another_thread_reaches_the_run_and_its_listeners() -> None:
    session = session_with()
    log = Log(session)
    threads: list[int] = []
    session.on("queue_update", lambda _event: threads.append(threading.get_ident()))

    async def wait(_context: ModelContext) -> Any:
        import anyio.to_thread  # noqa: PLC0415 - only here

        await anyio.to_thread.run_sync(session.steer, "from a thread")
        return say("one")

    run = await session.prompt("go", model=ScriptedModel([wait, say("two")]))
    assert texts(run.messages) == [
        "user go",
        "assistant one",
        "user from a thread",
        "assistant two",
    ]
    assert set(threads) == {threading.get_ident()}
    assert len(log.of("queue_update")) == 2


async def test_an_async_listener_is_told_of_the_queues() -> None:
    session = session_with()
    told: list[Any] = []

    async def listen(event: Any) -> None:
        if event.type == "queue_update":
            told.append(texts(event.steering))

    session.subscribe(listen)
    session.steer("s")
    await session.prompt("go", model=ScriptedModel([say("x")]))
    assert told == [["user s"], []]


def test_queueing_without_a_loop_is_told_when_the_run_takes_the_message() -> None:
    session = session_with()
    told: list[Any] = []

    async def listen(event: Any) -> None:
        if event.type == "queue_update":
            told.append(texts(event.steering))

    session.subscribe(listen)
    session.steer("s")
    run = session.run(session.prompt("go", model=ScriptedModel([say("x")])))
    assert texts(run.messages) == ["user go", "user s", "assistant x"]
    assert told == [["user s"], []]
    session.run(session.close())
