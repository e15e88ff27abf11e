"""The sink of events: order, waiting, and receivers that fail."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from pi_kernel.protocol.events import AgentSettled, HookError
from pi_kernel.runtime.events import EventSink
from tests.support.calls import outer, task_is_clean
from tests.support.engine import Log, Notes, make_tool, session_with

EVENT = AgentSettled(aborted=False)


def failing(error: BaseException) -> Any:
    def fail(_event: Any) -> None:
        raise error

    return fail


def failing_later(error: BaseException) -> Any:
    async def fail(_event: Any) -> None:
        await anyio.lowlevel.checkpoint()
        raise error

    return fail


def slow(notes: Notes, name: str) -> Any:
    async def receive(_event: Any) -> None:
        notes.append(f"{name} begins")
        await anyio.lowlevel.checkpoint()
        notes.append(f"{name} ends")

    return receive


async def test_handlers_come_first_then_listeners_one_after_another() -> None:
    sink, notes = EventSink(), Notes()
    sink.subscribe(slow(notes, "listener"))
    sink.subscribe(lambda _: notes.append("second listener"))
    sink.on("agent_settled", slow(notes, "handler"))
    sink.on("other", lambda _: notes.append("never"))
    await sink.emit(EVENT)
    assert notes == [
        "handler begins",
        "handler ends",
        "listener begins",
        "listener ends",
        "second listener",
    ]


async def test_the_call_waits_for_delivery() -> None:
    session, notes = session_with(make_tool("t", lambda *_: notes.add("ran", "x"))), Notes()
    session.on("tool_execution_start", slow(notes, "start"))
    session.on("tool_execution_end", slow(notes, "end"))
    await session.execute_tool("t")
    assert notes == ["start begins", "start ends", "ran", "end begins", "end ends"]


async def test_emitting_to_listeners_leaves_handlers_out() -> None:
    sink, notes = EventSink(), Notes()
    sink.on("agent_settled", lambda _: notes.append("handler"))
    sink.subscribe(lambda _: notes.append("listener"))
    await sink.emit_to_listeners(EVENT)
    sink.subscribe(slow(notes, "slow"))
    await sink.emit_to_listeners(EVENT)
    assert notes == ["listener", "listener", "slow begins", "slow ends"]


async def test_subscriptions_can_be_taken_back_once_each() -> None:
    sink, notes = EventSink(), Notes()
    first = sink.subscribe(notes.append)
    second = sink.subscribe(notes.append)
    assert (sink.listened, sink.wants("agent_settled")) == (True, True)
    first()
    first()
    await sink.emit(EVENT)
    assert len(notes) == 1
    second()
    assert (sink.listened, sink.wants("agent_settled")) == (False, False)


def test_the_sink_knows_who_wants_what() -> None:
    sink = EventSink()
    off = sink.on("tool_call", lambda _: None)
    sink.on("tool_result", lambda _: None)
    assert (sink.has_before, sink.has_after, sink.listened) == (True, True, False)
    off()
    assert (sink.has_before, sink.has_after) == (False, True)
    sink.on("tool_execution_end", lambda _: None)
    assert sink.listened
    assert sink.wants("tool_execution_end")
    assert not sink.wants("tool_execution_start")
    assert len(sink.handlers_of("tool_result")) == 1
    assert sink.handlers_of("nothing") == []


async def test_who_subscribes_or_leaves_while_an_event_is_told_counts_from_the_next_on() -> None:
    sink, notes = EventSink(), Notes()

    def change(_event: Any) -> None:
        leave()
        sink.subscribe(lambda _: notes.append("new"))

    sink.subscribe(change)
    leave = sink.subscribe(lambda _: notes.append("old"))
    await sink.emit(EVENT)
    assert notes == ["old"]


@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit("boom")])
@pytest.mark.parametrize("fail", [failing, failing_later])
async def test_a_receiver_that_fails_is_reported_and_harms_nobody(
    error: BaseException, fail: Any
) -> None:
    sink, notes = EventSink(), Notes()
    sink.on("agent_settled", fail(error))
    sink.subscribe(fail(error))
    sink.subscribe(lambda event: notes.append((event.type, getattr(event, "error", ""))))
    with anyio.fail_after(5):
        await sink.emit(EVENT)
        await anyio.sleep(0.01)
    assert notes.count(("agent_settled", "")) == 1
    assert notes.count(("hook_error", "boom")) == 2


async def test_a_keyboard_interrupt_of_a_receiver_passes() -> None:
    for fail in (failing, failing_later):
        sink = EventSink()
        sink.subscribe(fail(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            await sink.emit(EVENT)


async def test_a_report_says_what_failed_where() -> None:
    sink, reports = EventSink(), Notes()
    sink.on("hook_error", reports.append)
    sink.on("agent_settled", failing(ValueError()))
    await sink.emit(EVENT)
    (report,) = reports
    assert isinstance(report, HookError)
    assert (report.event, report.error) == ("agent_settled", "ValueError")
    assert "in fail" in report.stack


async def test_an_async_receiver_is_told_of_failures_too() -> None:
    session, log = session_with(make_tool("t")), Notes()
    is_told = anyio.Event()

    async def receive(event: Any) -> None:
        await anyio.lowlevel.checkpoint()
        log.append(event.type)
        if event.type == "hook_error":
            is_told.set()

    session.subscribe(receive)
    session.on("tool_call", lambda _: "rubbish")
    await session.execute_tool("t")
    with anyio.fail_after(5):
        await is_told.wait()
    assert sorted(log) == ["hook_error", "tool_execution_end", "tool_execution_start"]


def test_without_a_loop_an_async_receiver_of_failures_is_left_out(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink = EventSink()

    class Report:
        def __await__(self) -> Any:
            raise AssertionError("nobody can wait here")

    sink.on("hook_error", lambda _: Report())
    with caplog.at_level(logging.WARNING, "pi_kernel"):
        sink.report("prepare_loadout", ValueError("boom"))
    assert "nobody could be told" in caplog.text


async def test_a_failure_in_telling_of_a_failure_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    sink = EventSink()
    sink.subscribe(failing(ValueError("boom")))
    with caplog.at_level(logging.WARNING, "pi_kernel"):
        await sink.emit(EVENT)
    assert "a handler of agent_settled failed and was skipped: boom" in caplog.text


async def test_a_listener_that_fails_on_every_event_harms_no_call() -> None:
    session = session_with(outer(lambda ctx: ctx.execute_tool("leaf")), make_tool("leaf"))
    session.subscribe(failing(ValueError("boom")))
    session.subscribe(failing_later(SystemExit("boom")))
    log = Log(session)
    outcome = await session.execute_tool("outer")
    assert outcome.status == "ok"
    assert log.kinds("hook_error") == ["tool_execution_start"] * 2 + ["tool_execution_end"] * 2


async def test_a_receiver_whose_own_task_was_cancelled_is_reported() -> None:
    sink, notes = EventSink(), Notes()

    async def wait_for_nothing(_event: Any) -> None:
        own = asyncio.ensure_future(anyio.sleep_forever())
        own.cancel()
        await own

    sink.on("agent_settled", wait_for_nothing)
    sink.on("hook_error", lambda event: notes.append(event.error))
    await sink.emit(EVENT)
    assert notes == ["CancelledError"]
    assert task_is_clean()


async def test_closing_a_delivery_ends_the_receiver() -> None:
    sink, notes = EventSink(), Notes()

    async def receive(_event: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            notes.append("closed")

    sink.subscribe(receive)
    waiting = sink.deliver(EVENT)
    assert waiting is not None
    waiting.send(None)
    waiting.close()
    assert notes == ["closed"]


async def test_listener_to_everything_that_fails_is_told_of_by_the_event_where_it_failed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    session = session_with(make_tool("t"))

    def fail(_event: object) -> None:
        raise ValueError("listener boom")

    session.subscribe(fail)
    assert (await session.execute_tool("t")).status == "ok"
    assert [record.getMessage() for record in caplog.records] == [
        "a handler of tool_execution_start failed and was skipped: listener boom",
        "a handler of tool_execution_end failed and was skipped: listener boom",
    ]
