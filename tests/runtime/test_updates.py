"""Partial results: who gets them, in which order, from which thread, and when they are dropped."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from pi_kernel import ToolContext, ToolDefinition, ToolResult
from pi_kernel.protocol.events import AgentSettled
from pi_kernel.protocol.results import text_of
from pi_kernel.runtime.events import EventSink
from pi_kernel.runtime.updates import UpdateDelivery
from tests.support.calls import Gate, outer
from tests.support.engine import ANYTHING, Log, Notes, make_tool, session_with


def updating(*partials: Any, name: str = "t") -> ToolDefinition:
    """Return a tool that sends these updates before it waits for anything."""

    async def execute(_id: str, _params: Any, _signal: Any, update: Any, _ctx: Any) -> ToolResult:
        for partial in partials:
            update(partial)
        return ToolResult("done")

    return ToolDefinition(name=name, description="", parameters=ANYTHING, execute=execute)


async def test_updates_go_to_the_caller_first_and_then_out_as_events() -> None:
    session, notes = session_with(updating(ToolResult("one"), "two", {"n": 3})), Notes()
    session.on("tool_execution_update", lambda e: notes.append(f"event {partial_text(e)}"))
    outcome = await session.execute_tool(
        "t", {"a": 1}, on_update=lambda partial: notes.append(text_of(partial.content))
    )
    assert notes == ["one", "event one", "two", "event two", '{"n":3}', 'event {"n":3}']
    assert outcome.text == "done"


def partial_text(event: Any) -> str:
    return text_of(event.partial_result.content)


async def test_an_update_event_has_the_raw_arguments_and_the_parent() -> None:
    session = session_with(outer(lambda ctx: ctx.execute_tool("t", {"n": 1})), updating("half"))
    log = Log(session)
    await session.execute_tool("outer")
    (event,) = log.of("tool_execution_update")
    wire = event.to_wire()
    del wire["timestamp"]
    assert wire == {
        "type": "tool_execution_update",
        "toolCallId": "call-1/1",
        "toolName": "t",
        "args": {"n": 1},
        "partialResult": {"content": [{"type": "text", "text": "half"}]},
        "parentToolCallId": "call-1",
    }


async def test_the_end_waits_for_slow_watchers_and_the_order_stays() -> None:
    session, notes = session_with(updating("one", "two", "three")), Notes()

    async def watch(partial: ToolResult) -> None:
        text = text_of(partial.content)
        notes.append(f"{text} begins")
        await anyio.lowlevel.checkpoint()
        notes.append(f"{text} ends")

    async def listen(event: Any) -> None:
        await anyio.lowlevel.checkpoint()
        notes.append(event.type)

    session.subscribe(listen)
    await session.execute_tool("t", on_update=watch)
    expected = ["tool_execution_start"]
    for text in ("one", "two", "three"):
        expected += [f"{text} begins", f"{text} ends", "tool_execution_update"]
    assert notes == [*expected, "tool_execution_end"]


async def test_updates_from_a_thread_arrive_on_the_loop_in_order() -> None:
    loop_thread = threading.get_ident()
    notes = Notes()

    def execute(_id: str, _params: Any, _signal: Any, update: Any, _ctx: Any) -> ToolResult:
        assert threading.get_ident() != loop_thread
        for number in range(50):
            update(str(number))
        return ToolResult("done")

    tool = ToolDefinition(name="t", description="", parameters=ANYTHING, execute=execute)

    def watch(partial: ToolResult) -> None:
        assert threading.get_ident() == loop_thread
        notes.append(text_of(partial.content))

    session = session_with(tool)
    log = Log(session)
    await session.execute_tool("t", on_update=watch)
    assert notes == [str(number) for number in range(50)]
    assert len(log.of("tool_execution_update")) == 50
    assert log.kinds()[-1] == "tool_execution_end"


async def test_a_thread_that_the_tool_started_may_update_before_the_tool_waits() -> None:
    async def execute(_id: str, _params: Any, _signal: Any, update: Any, _ctx: Any) -> ToolResult:
        thread = threading.Thread(target=update, args=("from a thread",))
        thread.start()
        thread.join()
        return ToolResult("done")

    tool = ToolDefinition(name="t", description="", parameters=ANYTHING, execute=execute)
    session = session_with(tool)
    log = Log(session)
    await session.execute_tool("t")
    assert [partial_text(e) for e in log.of("tool_execution_update")] == ["from a thread"]


@pytest.mark.parametrize("from_thread", [False, True])
async def test_updates_after_the_end_are_dropped(from_thread: bool) -> None:  # noqa: FBT001
    kept: list[Any] = []

    async def execute(_id: str, _params: Any, _signal: Any, update: Any, _ctx: Any) -> ToolResult:
        kept.append(update)
        update("in time")
        return ToolResult("done")

    session = session_with(
        ToolDefinition(name="t", description="", parameters=ANYTHING, execute=execute)
    )
    log = Log(session)
    await session.execute_tool("t")
    if from_thread:
        thread = threading.Thread(target=kept[0], args=("late",))
        thread.start()
        thread.join()
    else:
        kept[0]("late")
    await anyio.sleep(0.01)
    assert [partial_text(e) for e in log.of("tool_execution_update")] == ["in time"]
    assert session.trace.calls()[0].updates == 1


async def test_a_thread_that_updates_all_the_time_never_gets_past_the_end() -> None:
    stop = threading.Event()
    threads: list[threading.Thread] = []

    async def execute(_id: str, _params: Any, _signal: Any, update: Any, _ctx: Any) -> ToolResult:
        def work() -> None:
            while not stop.is_set():
                update("more")

        threads.append(threading.Thread(target=work))
        threads[0].start()
        await anyio.sleep(0.005)
        return ToolResult("done")

    session = session_with(
        ToolDefinition(name="t", description="", parameters=ANYTHING, execute=execute)
    )
    log = Log(session)
    await session.execute_tool("t")
    await anyio.sleep(0.005)
    stop.set()
    threads[0].join()
    await anyio.lowlevel.checkpoint()
    kinds = log.kinds()
    assert kinds[-1] == "tool_execution_end"
    assert kinds.count("tool_execution_end") == 1


async def test_a_watcher_that_raises_is_reported_and_harms_nobody() -> None:
    session = session_with(updating("one", "two"))
    log = Log(session)

    def fail(_partial: ToolResult) -> None:
        raise ValueError("boom")

    async def fail_later(_partial: ToolResult) -> None:
        await anyio.lowlevel.checkpoint()
        raise SystemExit("later")

    assert (await session.execute_tool("t", on_update=fail)).status == "ok"
    assert (await session.execute_tool("t", on_update=fail_later)).status == "ok"
    assert log.errors() == [("on_update", "boom")] * 2 + [("on_update", "later")] * 2
    assert len(log.of("tool_execution_update")) == 4


async def test_without_watchers_updates_are_counted_only() -> None:
    session = session_with(updating("one", "two"))
    await session.execute_tool("t")
    assert session.trace.calls()[0].updates == 2


async def test_a_watcher_that_comes_while_the_tool_runs_gets_the_rest() -> None:
    gate = Gate()

    async def run(params: Any, ctx: ToolContext) -> Any:
        ctx.update("early")
        await gate(params, ctx)
        ctx.update("late")
        return "done"

    session = session_with(make_tool("t", run))
    task = asyncio.ensure_future(session.execute_tool("t"))
    await gate.started.wait()
    log = Log(session)
    gate.open.set()
    await task
    assert [partial_text(e) for e in log.of("tool_execution_update")] == ["late"]


async def test_an_update_that_is_no_result_fails_the_tool_that_sent_it() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    outcome = await session_with(updating(cycle)).execute_tool("t")
    assert outcome.status == "error"
    assert "contains itself" in outcome.text


async def test_updates_of_a_nested_call_go_to_its_caller() -> None:
    notes = Notes()

    async def run(ctx: ToolContext) -> str:
        await ctx.execute_tool("t", on_update=lambda p: notes.append(text_of(p.content)))
        return "done"

    session = session_with(outer(run), updating("half"))
    log = Log(session)
    await session.execute_tool("outer", on_update=lambda _: notes.append("never"))
    assert notes == ["half"]
    assert [e.tool_call_id for e in log.of("tool_execution_update")] == ["call-1/1"]


async def test_an_update_for_a_loop_that_is_gone_is_dropped() -> None:
    kept: list[Any] = []

    async def execute(_id: str, _params: Any, _signal: Any, update: Any, _ctx: Any) -> ToolResult:
        kept.append(update)
        await anyio.sleep_forever()
        return ToolResult("never")

    session = session_with(
        ToolDefinition(name="t", description="", parameters=ANYTHING, execute=execute)
    )
    Log(session)

    def leave_behind() -> None:
        loop = asyncio.new_event_loop()
        task = loop.create_task(session.execute_tool("t"))
        loop.run_until_complete(asyncio.sleep(0.01))
        task._log_destroy_pending = False  # type: ignore[attr-defined]  # it is meant to be left
        loop.close()
        kept.append(task)

    await anyio.to_thread.run_sync(leave_behind)
    kept[0]("too late")
    session.abort()
    assert session.trace.calls()[0].status == "unfinished"
    kept[1].get_coro().close()


async def test_a_watcher_alone_needs_no_listener() -> None:
    notes = Notes()
    session = session_with(updating("one", "two", "three"))

    async def watch(partial: ToolResult) -> None:
        await anyio.lowlevel.checkpoint()
        notes.append(text_of(partial.content))

    def watch_the_first_only(partial: ToolResult) -> Any:
        return watch(partial) if text_of(partial.content) == "one" else notes.append("plain")

    await session.execute_tool("t", on_update=watch)
    await session.execute_tool("t", on_update=watch_the_first_only)
    await session.execute_tool("t", on_update=lambda _: notes.append("sync"))
    assert notes == ["one", "two", "three", "one", "plain", "plain", *["sync"] * 3]


async def test_a_keyboard_interrupt_of_a_watcher_stops_the_tool() -> None:
    def stop(_partial: ToolResult) -> None:
        raise KeyboardInterrupt

    outcome = await session_with(updating("one")).execute_tool("t", on_update=stop)
    assert (outcome.status, outcome.text) == ("aborted", "one\n\nOperation aborted")


async def test_an_update_that_a_thread_was_making_at_the_end_is_dropped() -> None:
    is_converting, may_convert = threading.Event(), threading.Event()

    class Slow:
        def __repr__(self) -> str:
            is_converting.set()
            may_convert.wait(10)
            return "slow"

    threads: list[threading.Thread] = []

    async def execute(_id: str, _params: Any, _signal: Any, update: Any, _ctx: Any) -> ToolResult:
        threads.append(threading.Thread(target=update, args=(Slow(),)))
        threads[0].start()
        await anyio.to_thread.run_sync(is_converting.wait)
        return ToolResult("done")

    session = session_with(
        ToolDefinition(name="t", description="", parameters=ANYTHING, execute=execute)
    )
    log = Log(session)
    await session.execute_tool("t")
    may_convert.set()
    threads[0].join()
    await anyio.lowlevel.checkpoint()
    assert log.kinds() == ["tool_execution_start", "tool_execution_end"]


@pytest.mark.parametrize("end", ["finish", "stop"])
async def test_a_delivery_that_has_ended_drops_what_a_thread_had_scheduled(end: str) -> None:
    notes = Notes()
    delivery = UpdateDelivery(EventSink(), notes.append, lambda _: AgentSettled(aborted=False))
    await getattr(delivery, end)()
    delivery.send(ToolResult("late"))
    assert notes == []


async def test_a_cancellation_while_updates_are_ended_goes_on() -> None:
    is_told = anyio.Event()
    gate = Gate()

    async def never_ends(_partial: ToolResult) -> None:
        while True:
            is_told.set()
            try:
                await anyio.sleep_forever()
            except asyncio.CancelledError:
                if gate.open.is_set():
                    raise

    async def run(params: Any, ctx: ToolContext) -> Any:
        ctx.update("half")
        return await gate(params, ctx)

    session = session_with(make_tool("t", run))
    before = asyncio.all_tasks()
    task = asyncio.ensure_future(session.execute_tool("t", on_update=never_ends))
    await is_told.wait()
    await gate.started.wait()
    session.abort()
    asyncio.get_running_loop().call_later(0.25, task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert session.trace.calls()[0].status == "aborted"
    gate.open.set()
    left = asyncio.all_tasks() - before
    for pump in left:
        pump.cancel()
    await asyncio.wait(left)
