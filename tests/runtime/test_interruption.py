"""How calls end that are aborted, cancelled or left: what is recorded and what is left behind."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from pi_kernel import (
    AbortSignal,
    ToolAborted,
    ToolContext,
    ToolDefinition,
    ToolOutcome,
    ToolResult,
    ToolSession,
    ToolTimeout,
)
from tests.support.calls import (
    Gate,
    calls,
    error_wire,
    never,
    outer,
    signal_of,
    started,
    task_is_clean,
)
from tests.support.engine import ANYTHING, Log, Notes, make_tool, session_with

GRACE_SECONDS = 0.2


async def aborted(session: ToolSession, name: str, gate: Gate) -> tuple[ToolOutcome, float]:
    """Abort a call when its tool is running; returns its outcome and the seconds it took."""
    signal = AbortSignal()
    task = asyncio.ensure_future(session.execute_tool(name, signal=signal))
    await gate.started.wait()
    begin = time.perf_counter()
    signal.abort("enough")
    return await asyncio.wait_for(task, 5), time.perf_counter() - begin


# -- an abort --------------------------------------------------------------------------------------


async def test_a_running_tool_is_cancelled_after_the_grace() -> None:
    gate = Gate()
    session = session_with(make_tool("t", gate))
    log = Log(session)
    outcome, seconds = await aborted(session, "t", gate)

    assert outcome.result.to_wire() == error_wire("Operation aborted")
    assert (outcome.status, outcome.is_error) == ("aborted", True)
    assert GRACE_SECONDS <= seconds < GRACE_SECONDS + 1
    assert outcome.duration_ms is not None
    assert outcome.duration_ms >= GRACE_SECONDS * 1000
    assert log.kinds() == ["tool_execution_start", "tool_execution_end"]


async def test_the_text_of_the_last_update_stays_before_the_notice() -> None:
    gate = Gate()

    async def run(params: Any, ctx: ToolContext) -> Any:
        ctx.update("first")
        ctx.update(ToolResult("half\ndone"))
        return await gate(params, ctx)

    outcome, _ = await aborted(session_with(make_tool("t", run)), "t", gate)
    assert outcome.text == "half\ndone\n\nOperation aborted"


@pytest.mark.parametrize("is_error", [False, True])
async def test_what_a_tool_returns_within_the_grace_is_used(is_error: bool) -> None:  # noqa: FBT001
    gate = Gate()

    async def run(_params: Any, ctx: ToolContext) -> ToolResult:
        gate.started.set()
        await signal_of(ctx).wait()
        return ToolResult(f"stopped: {signal_of(ctx).reason}", is_error=is_error)

    outcome, seconds = await aborted(session_with(make_tool("t", run)), "t", gate)
    assert (outcome.text, outcome.status) == ("stopped: enough", "error" if is_error else "ok")
    assert seconds < GRACE_SECONDS


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (ToolAborted(), "aborted", "Operation aborted"),
        (ToolAborted("stopped at line 3"), "aborted", "stopped at line 3"),
        (ToolTimeout("took too long"), "timeout", "took too long"),
        (ToolTimeout(), "timeout", "ToolTimeout"),
        (TimeoutError("not ours"), "error", "not ours"),
    ],
)
async def test_a_tool_says_how_it_ended(error: Exception, status: str, text: str) -> None:
    async def run(_params: Any, _ctx: Any) -> None:
        raise error

    outcome = await session_with(make_tool("t", run)).execute_tool("t")
    assert (outcome.status, outcome.text, outcome.error) == (status, text, error)


async def test_what_a_tool_returns_after_it_swallowed_the_cancellation_is_used() -> None:
    gate = Gate()

    async def run(params: Any, ctx: ToolContext) -> str:
        try:
            await gate(params, ctx)
        except asyncio.CancelledError:
            return "saved what there was"
        return "never"

    session = session_with(make_tool("t", run))
    outcome, _ = await aborted(session, "t", gate)
    assert (outcome.status, outcome.text) == ("ok", "saved what there was")


async def test_a_tool_that_swallows_every_cancellation_is_left_behind() -> None:
    gate = Gate()
    swallowed = 0

    async def run(_params: Any, _ctx: ToolContext) -> None:
        nonlocal swallowed
        gate.started.set()
        while True:
            try:
                await anyio.sleep_forever()
            except asyncio.CancelledError:
                swallowed += 1

    outcome, seconds = await aborted(session_with(make_tool("t", run)), "t", gate)
    assert (outcome.status, outcome.text) == ("aborted", "Operation aborted")
    assert swallowed == 5
    assert seconds < 4
    assert task_is_clean()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
async def test_a_tool_that_does_not_even_close_is_left_behind() -> None:
    gate = Gate()

    async def run(_params: Any, _ctx: ToolContext) -> None:
        gate.started.set()
        while True:
            try:
                await anyio.sleep_forever()
            except BaseException:  # noqa: BLE001, S112 - the worst tool there is
                continue

    outcome, _ = await aborted(session_with(make_tool("t", run)), "t", gate)
    assert outcome.status == "aborted"


async def test_a_thread_is_abandoned() -> None:
    gate = Gate()
    may_end = threading.Event()
    loop = asyncio.get_running_loop()

    def execute(_id: str, _params: Any, _signal: Any, update: Any, _ctx: Any) -> ToolResult:
        update("in a thread")
        loop.call_soon_threadsafe(gate.started.set)
        may_end.wait(10)
        update("too late")
        return ToolResult("never seen")

    session = session_with(
        ToolDefinition(name="t", description="", parameters=ANYTHING, execute=execute)
    )
    log = Log(session)
    outcome, seconds = await aborted(session, "t", gate)
    may_end.set()
    assert outcome.text == "in a thread\n\nOperation aborted"
    assert seconds < GRACE_SECONDS + 1
    assert log.kinds() == ["tool_execution_start", "tool_execution_update", "tool_execution_end"]


async def test_an_abort_from_another_thread_reaches_a_waiting_tool() -> None:
    gate = Gate()
    session = session_with(make_tool("t", gate))
    signal = AbortSignal()
    task = asyncio.ensure_future(session.execute_tool("t", signal=signal))
    await gate.started.wait()
    threading.Thread(target=signal.abort).start()
    assert (await asyncio.wait_for(task, 5)).status == "aborted"


async def test_an_abort_while_a_tool_blocks_the_loop_is_heard_by_the_next_call() -> None:
    signal = AbortSignal()

    def block(_params: Any, _ctx: Any) -> str:
        thread = threading.Thread(target=signal.abort)
        thread.start()
        thread.join()
        time.sleep(0.05)
        return "done"

    session = session_with(make_tool("block", block), make_tool("t"))
    assert (await session.execute_tool("block", signal=signal)).text == "done"
    assert (await session.execute_tool("t", signal=signal)).status == "aborted"


async def test_blocking_interrupts_makes_an_abort_wait() -> None:
    gate = Gate("whole")
    seen: list[bool] = []

    async def run(params: Any, ctx: ToolContext) -> Any:
        answer = await gate(params, ctx)
        seen.append(signal_of(ctx).aborted)
        return answer

    session = session_with(
        make_tool("t", run, interrupt_behavior="block"),
        outer(lambda ctx: ctx.execute_tool("t")),
    )
    for name in ("t", "outer"):
        gate.started, gate.open = anyio.Event(), anyio.Event()
        signal = AbortSignal()
        task = asyncio.ensure_future(session.execute_tool(name, signal=signal))
        await gate.started.wait()
        signal.abort()
        done, _ = await asyncio.wait({task}, timeout=GRACE_SECONDS * 2)
        assert done == set()
        gate.open.set()
        assert (await task).text == "whole"
    assert seen == [True, True]


async def test_forcing_ends_a_call_that_an_abort_waits_for() -> None:
    gate = Gate()
    session = session_with(make_tool("t", gate, interrupt_behavior="block"))
    task = await started(session, "t", gate)
    (call,) = session.host.calls
    call.force()
    assert (await asyncio.wait_for(task, 5)).status == "aborted"
    call.force()
    await session.execute_tool("nope")
    session.host.calls[1].force()
    assert task_is_clean()


async def test_a_second_abort_changes_nothing() -> None:
    gate = Gate()
    session = session_with(make_tool("t", gate))
    task = await started(session, "t", gate)
    session.abort("first")
    session.abort("second")
    assert (await task).status == "aborted"
    gate.open.set()
    assert (await session.execute_tool("t")).text == "done"


async def test_an_abort_before_the_call_asks_nobody() -> None:
    asked: list[Any] = []
    session = session_with(make_tool("t"))
    session.on("tool_call", asked.append)
    signal = AbortSignal()
    signal.abort()
    outcome = await session.execute_tool("t", signal=signal)
    assert (outcome.text, outcome.status, outcome.duration_ms) == (
        "Operation aborted",
        "aborted",
        None,
    )
    assert (await session.execute_tool("unknown", signal=signal)).text == "Operation aborted"
    assert asked == []


# -- what hangs besides tools ----------------------------------------------------------------------


@pytest.mark.parametrize("point", ["tool_call", "tool_result", "tool_execution_start"])
async def test_a_handler_that_hangs_ends_by_abort(point: str) -> None:
    session = session_with(make_tool("t"))
    is_asked = anyio.Event()

    async def hang(_event: Any) -> None:
        is_asked.set()
        await anyio.sleep_forever()

    session.on(point, hang)
    log = Log(session)
    signal = AbortSignal()
    task = asyncio.ensure_future(session.execute_tool("t", signal=signal))
    await is_asked.wait()
    signal.abort()
    outcome = await asyncio.wait_for(task, 5)
    assert (outcome.text, outcome.status) == ("Operation aborted", "aborted")
    assert log.kinds() == ["tool_execution_start", "tool_execution_end"]


@pytest.mark.parametrize("check", ["validate_input", "check_permissions"])
async def test_a_check_of_the_tool_that_hangs_ends_by_abort(check: str) -> None:
    is_asked = anyio.Event()

    async def hang(_args: Any, _ctx: Any) -> None:
        is_asked.set()
        await anyio.sleep_forever()

    fields: dict[str, Any] = {check: hang}
    session = session_with(make_tool("t", **fields))
    signal = AbortSignal()
    task = asyncio.ensure_future(session.execute_tool("t", signal=signal))
    await is_asked.wait()
    signal.abort()
    outcome = await asyncio.wait_for(task, 5)
    assert (outcome.status, outcome.duration_ms) == ("aborted", None)


async def test_a_watcher_of_updates_that_hangs_ends_by_abort() -> None:
    is_told = anyio.Event()

    async def hang(_partial: ToolResult) -> None:
        is_told.set()
        await anyio.sleep_forever()

    def run(_params: Any, ctx: ToolContext) -> str:
        ctx.update("half")
        return "done"

    session = session_with(make_tool("t", run))
    signal = AbortSignal()
    task = asyncio.ensure_future(session.execute_tool("t", signal=signal, on_update=hang))
    await is_told.wait()
    signal.abort()
    outcome = await asyncio.wait_for(task, 5)
    assert (outcome.status, outcome.text) == ("aborted", "half\n\nOperation aborted")


async def test_no_update_is_told_after_the_end_of_an_aborted_call() -> None:
    gate = Gate()
    order: list[str] = []
    is_slow = anyio.Event()

    async def watch(event: Any) -> None:
        if event.type == "tool_execution_update":
            is_slow.set()
            await anyio.sleep(0.02)
        order.append(event.type)

    async def run(params: Any, ctx: ToolContext) -> Any:
        for _ in range(200):
            ctx.update("more")
        return await gate(params, ctx)

    session = session_with(make_tool("t", run))
    session.subscribe(watch)
    outcome, _ = await aborted(session, "t", gate)
    count = len(order)
    await anyio.sleep(0.1)
    assert outcome.status == "aborted"
    assert order[-1] == "tool_execution_end"
    assert len(order) == count


# -- nested calls ----------------------------------------------------------------------------------


async def test_aborting_a_parent_ends_its_children_in_a_gather() -> None:
    gates = [Gate(), Gate(), Gate()]

    async def fan_out(ctx: ToolContext) -> str:
        await asyncio.gather(*(ctx.execute_tool(f"leaf{n}") for n in range(3)))
        return "never"

    leaves = [make_tool(f"leaf{n}", gate) for n, gate in enumerate(gates)]
    session = session_with(outer(fan_out), *leaves)
    log = Log(session)
    task = asyncio.ensure_future(session.execute_tool("outer"))
    for gate in gates:
        await gate.started.wait()
    session.abort()
    outcome = await asyncio.wait_for(task, 5)

    assert outcome.status == "aborted"
    assert [r.status for r in session.trace.calls()] == ["aborted"] * 4
    assert [c.status for c in outcome.nested_calls.calls] == ["error"] * 3
    ends = [e.tool_call_id for e in log.of("tool_execution_end")]
    assert sorted(ends[:3]) == [f"{outcome.id}/{n}" for n in (1, 2, 3)]
    assert ends[3:] == [outcome.id]


def calling(name: str) -> Callable[[ToolContext], Awaitable[ToolOutcome]]:
    return lambda ctx: ctx.execute_tool(name)


async def test_a_deep_stack_of_calls_in_one_task_unwinds_at_once() -> None:
    gate = Gate()
    depth = 6
    tools = [outer(calling(f"t{n + 1}"), f"t{n}") for n in range(depth)]
    session = session_with(*tools, make_tool(f"t{depth}", gate))
    outcome, seconds = await aborted(session, "t0", gate)
    assert outcome.status in ("aborted", "error")
    assert [r.status for r in session.trace.calls()][-1] == "aborted"
    assert seconds < GRACE_SECONDS + 1
    assert task_is_clean()


async def test_a_child_with_its_own_signal_is_aborted_alone() -> None:
    gate = Gate()

    async def run(ctx: ToolContext) -> str:
        signal = AbortSignal()
        child = asyncio.ensure_future(ctx.execute_tool("leaf", signal=signal))
        await gate.started.wait()
        signal.abort()
        outcome = await child
        assert task_is_clean()
        return f"child {outcome.status}, parent {signal_of(ctx).aborted}"

    session = session_with(outer(run), make_tool("leaf", gate))
    assert (await session.execute_tool("outer")).text == "child aborted, parent False"


async def test_a_child_in_the_parents_own_task_leaves_no_cancellation_there() -> None:
    gate = Gate()
    signal = AbortSignal()

    async def run(ctx: ToolContext) -> str:
        outcome = await ctx.execute_tool("leaf", signal=signal)
        await anyio.lowlevel.checkpoint()
        return f"{outcome.status}, {task_is_clean()}"

    session = session_with(outer(run), make_tool("leaf", gate))
    task = await started(session, "outer", gate)
    signal.abort()
    assert (await asyncio.wait_for(task, 5)).text == "aborted, True"


async def test_ending_a_parent_does_not_abort_what_it_left_running() -> None:
    gate = Gate("late")
    tasks: list[asyncio.Task[ToolOutcome]] = []

    async def run(ctx: ToolContext) -> str:
        tasks.append(asyncio.ensure_future(ctx.execute_tool("leaf")))
        await gate.started.wait()
        return "done"

    session = session_with(outer(run), make_tool("leaf", gate))
    log = Log(session)
    outcome = await session.execute_tool("outer")
    assert [c.status for c in outcome.nested_calls.calls] == ["unfinished"]
    assert outcome.nested_calls.complete is False

    gate.open.set()
    late = await tasks[0]
    assert (late.status, late.text) == ("ok", "late")
    assert [e.tool_call_id for e in log.of("tool_execution_end")] == [outcome.id, late.id]
    assert [c.status for c in outcome.nested_calls.calls] == ["unfinished"]
    assert session.trace.calls()[1].status == "ok"


# -- cancellation by others ------------------------------------------------------------------------


async def by_task_cancel(call: Awaitable[Any], gate: Gate) -> None:
    task = asyncio.ensure_future(call)
    await gate.started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled()


async def by_wait_for(call: Awaitable[Any], _gate: Gate) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(call, 0.05)


async def by_asyncio_timeout(call: Awaitable[Any], _gate: Gate) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await call


async def by_move_on_after(call: Awaitable[Any], _gate: Gate) -> None:
    with anyio.move_on_after(0.05) as scope:
        await call
    assert scope.cancelled_caught


async def by_task_group(call: Awaitable[Any], gate: Gate) -> None:
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            await call

        group.start_soon(wait)
        await gate.started.wait()
        group.cancel_scope.cancel()


CANCELLERS = [by_task_cancel, by_wait_for, by_asyncio_timeout, by_move_on_after, by_task_group]
Canceller = Callable[[Awaitable[Any], Gate], Awaitable[None]]


@pytest.mark.parametrize("cancel", CANCELLERS)
@pytest.mark.parametrize("is_listened", [False, True])
async def test_a_cancelled_call_is_recorded_and_the_cancellation_goes_on(
    cancel: Canceller,
    is_listened: bool,  # noqa: FBT001
) -> None:
    gate = Gate()
    session = session_with(make_tool("t", gate))
    ended: list[tuple[str, str]] = []

    async def note(event: Any) -> None:
        await anyio.lowlevel.checkpoint()
        ended.append((event.type, event.status))

    if is_listened:
        session.on("tool_execution_end", note)
    await cancel(session.execute_tool("t"), gate)

    assert task_is_clean()
    await anyio.lowlevel.checkpoint()
    (record,) = session.trace.calls()
    assert (record.status, record.is_error, record.text) == ("aborted", True, "Operation aborted")
    assert ended == ([("tool_execution_end", "aborted")] if is_listened else [])


@pytest.mark.parametrize("cancel", CANCELLERS)
async def test_a_cancelled_parent_ends_all_calls_below_it(cancel: Canceller) -> None:
    gate = Gate()

    async def fan_out(ctx: ToolContext) -> str:
        apart = asyncio.ensure_future(ctx.execute_tool("apart"))
        await asyncio.gather(ctx.execute_tool("leaf"), ctx.execute_tool("leaf"))
        await apart
        return "never"

    session = session_with(outer(fan_out), make_tool("leaf", gate), make_tool("apart", never))
    log = Log(session)
    await cancel(session.execute_tool("outer"), gate)
    await asyncio.wait_for(_all_have_ended(session), 5)

    assert [r.status for r in session.trace.calls()] == ["aborted"] * 4
    assert len(log.of("tool_execution_end")) == 4
    assert task_is_clean()


async def _all_have_ended(session: ToolSession) -> None:
    while any(record.status == "unfinished" for record in session.trace.calls()):  # noqa: ASYNC110
        await anyio.sleep(0.01)


@pytest.mark.parametrize("cancel", CANCELLERS)
async def test_a_tool_that_swallows_somebodys_cancellation_does_not_keep_it(
    cancel: Canceller,
) -> None:
    gate = Gate()

    async def run(params: Any, ctx: ToolContext) -> str:
        try:
            await gate(params, ctx)
        except asyncio.CancelledError:
            return "went on"
        return "never"

    session = session_with(make_tool("t", run))
    log = Log(session)
    await cancel(session.execute_tool("t"), gate)
    assert [r.status for r in session.trace.calls()] == ["aborted"]
    assert [e.status for e in log.of("tool_execution_end")] == ["aborted"]
    assert task_is_clean()


async def test_a_nested_tool_that_swallows_the_cancellation_of_its_own_task_is_aborted() -> None:
    gate = Gate()

    async def swallow(params: Any, ctx: ToolContext) -> str:
        with contextlib.suppress(asyncio.CancelledError):
            await gate(params, ctx)
        await anyio.lowlevel.checkpoint()
        return "went on"

    async def run(ctx: ToolContext) -> str:
        child = asyncio.ensure_future(ctx.execute_tool("leaf"))
        await gate.started.wait()
        child.cancel()
        await asyncio.wait({child})
        return f"child cancelled: {child.cancelled()}"

    session = session_with(outer(run), make_tool("leaf", swallow))
    outcome = await session.execute_tool("outer")
    assert (outcome.status, outcome.text) == ("ok", "child cancelled: True")
    assert [r.status for r in session.trace.calls()] == ["ok", "aborted"]


async def test_a_tools_own_time_limits_do_not_disturb_its_call() -> None:
    async def run(_params: Any, _ctx: Any) -> str:
        with anyio.move_on_after(0.01):
            await anyio.sleep_forever()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await anyio.sleep_forever()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(anyio.sleep_forever(), 0.01)
        return "three limits"

    outcome = await session_with(make_tool("t", run)).execute_tool("t")
    assert (outcome.status, outcome.text) == ("ok", "three limits")
    assert task_is_clean()


async def test_a_cancelled_error_that_nobody_sent_is_a_failure_of_the_tool() -> None:
    async def run(_params: Any, _ctx: Any) -> None:
        own = asyncio.ensure_future(anyio.sleep_forever())
        own.cancel()
        await own

    async def hook(event: Any) -> None:
        if event.tool_name == "hooked":
            await run(None, None)

    session = session_with(make_tool("t", run), make_tool("hooked"))
    session.on("tool_call", hook)
    outcome = await session.execute_tool("t")
    assert (outcome.status, outcome.text) == ("error", "CancelledError")
    outcome = await session.execute_tool("hooked")
    assert outcome.status == "blocked"
    assert outcome.text == "Extension failed, blocking execution: CancelledError"


async def test_an_abort_and_a_cancellation_together_leave_one_cancellation() -> None:
    gate = Gate()
    session = session_with(make_tool("t", gate))
    signal = AbortSignal()
    task = asyncio.ensure_future(session.execute_tool("t", signal=signal))
    await gate.started.wait()
    signal.abort()
    loop = asyncio.get_running_loop()
    # At the very time at which the grace ends.
    loop.call_later(GRACE_SECONDS, task.cancel)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [r.status for r in session.trace.calls()] == ["aborted"]


async def test_a_cancellation_before_the_call_starts_leaves_no_trace() -> None:
    session = session_with(make_tool("t"))
    task = asyncio.ensure_future(session.execute_tool("t"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(session.trace) == 0


@pytest.mark.parametrize("point", ["tool_execution_start", "tool_call", "tool_result"])
@pytest.mark.parametrize("cancel", [by_task_cancel, by_move_on_after])
async def test_a_cancellation_while_a_handler_runs_ends_the_call(
    point: str, cancel: Canceller
) -> None:
    gate = Gate()
    session = session_with(make_tool("t"))

    async def hang(_event: Any) -> None:
        gate.started.set()
        await anyio.sleep_forever()

    session.on(point, hang)
    log = Log(session)
    session.subscribe(lambda _: anyio.lowlevel.checkpoint())
    await cancel(session.execute_tool("t"), gate)
    assert [r.status for r in session.trace.calls()] == ["aborted"]
    assert log.kinds() == ["tool_execution_start", "tool_execution_end"]
    assert task_is_clean()


@pytest.mark.parametrize("cancel", [by_task_cancel, by_move_on_after])
async def test_a_cancellation_while_the_end_is_told_still_tells_everybody(
    cancel: Canceller,
) -> None:
    gate = Gate()
    session = session_with(make_tool("t"))
    told = Notes()

    async def hang(_event: Any) -> None:
        gate.started.set()
        await anyio.sleep_forever()

    async def slow(event: Any) -> None:
        await anyio.lowlevel.checkpoint()
        told.append(event.type)

    session.on("tool_execution_end", hang)
    session.on("tool_execution_end", slow)
    await cancel(session.execute_tool("t"), gate)
    assert told == ["tool_execution_end"]
    assert [r.status for r in session.trace.calls()] == ["ok"]
    assert task_is_clean()


# -- the queue -------------------------------------------------------------------------------------


async def test_an_aborted_waiter_takes_its_turn_and_does_not_run() -> None:
    gate = Gate()
    ran = Notes()
    session = session_with(
        make_tool("first", gate, execution_mode="sequential"),
        make_tool("second", lambda *_: ran.add("second", "x"), execution_mode="sequential"),
        make_tool("third", lambda *_: ran.add("third", "x"), execution_mode="sequential"),
    )
    first = await started(session, "first", gate)
    signal = AbortSignal()
    second = asyncio.ensure_future(session.execute_tool("second", signal=signal))
    third = asyncio.ensure_future(session.execute_tool("third"))
    await anyio.lowlevel.checkpoint()
    signal.abort()
    done, _ = await asyncio.wait({second, third}, timeout=GRACE_SECONDS * 2)
    assert done == set()

    gate.open.set()
    outcomes = await asyncio.gather(first, second, third)
    assert [o.status for o in outcomes] == ["ok", "aborted", "ok"]
    assert outcomes[1].text == "Operation aborted"
    assert ran == ["third"]


async def test_a_cancelled_waiter_gives_its_turn_away() -> None:
    gate = Gate()
    session = session_with(
        make_tool("first", gate, execution_mode="sequential"),
        make_tool("other", execution_mode="sequential"),
    )
    log = Log(session)
    first = await started(session, "first", gate)
    second = asyncio.ensure_future(session.execute_tool("other"))
    third = asyncio.ensure_future(session.execute_tool("other"))
    await anyio.lowlevel.checkpoint()
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    gate.open.set()
    assert [(await first).status, (await third).status] == ["ok", "ok"]
    assert [r.status for r in session.trace.calls()] == ["ok", "aborted", "ok"]
    assert len(log.of("tool_execution_end")) == 3


async def test_a_waiter_that_is_cancelled_as_its_turn_comes_passes_it_on() -> None:
    gate = Gate()
    session = session_with(make_tool("t", gate, execution_mode="sequential"))
    first = await started(session, "t", gate)
    second = asyncio.ensure_future(session.execute_tool("t"))
    third = asyncio.ensure_future(session.execute_tool("t"))
    await anyio.lowlevel.checkpoint()
    first.add_done_callback(lambda _: second.cancel())
    gate.open.set()
    await asyncio.wait({first, second, third}, timeout=5)
    assert (first.result().status, third.result().status) == ("ok", "ok")
    assert second.done()


# -- batches ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("execution", ["parallel", "sequential"])
@pytest.mark.parametrize("cancel", CANCELLERS)
async def test_every_call_of_a_cancelled_batch_has_its_events_and_result(
    execution: Any, cancel: Canceller
) -> None:
    gate = Gate()
    session = session_with(
        make_tool("a"), make_tool("b", gate), make_tool("c", never), tool_execution=execution
    )
    log = Log(session)
    session.subscribe(lambda _: anyio.lowlevel.checkpoint())
    await cancel(session.execute_batch(calls("a", "b", "c")), gate)

    assert [(r.id, r.status) for r in session.trace.calls()] == [
        ("A", "ok"),
        ("B", "aborted"),
        ("C", "aborted"),
    ]
    assert [e.tool_call_id for e in log.of("tool_execution_end")] == ["A", "B", "C"]
    assert [step for step in log.steps() if step.startswith("m")] == ["m A", "m B", "m C"]
    assert session.pending_tool_calls == frozenset()
    assert task_is_clean()


@pytest.mark.parametrize("execution", ["parallel", "sequential"])
@pytest.mark.parametrize("cancel", [by_task_cancel, by_move_on_after])
@pytest.mark.parametrize("point", ["tool_execution_start", "tool_call", "tool_execution_end"])
async def test_a_batch_that_is_cancelled_while_a_handler_runs_gives_all_results(
    execution: Any, cancel: Canceller, point: str
) -> None:
    gate = Gate()
    tools = [make_tool("a"), make_tool("b"), make_tool("c")]
    session = session_with(*tools, tool_execution=execution)

    async def hang(event: Any) -> None:
        if event.tool_call_id == "B":
            gate.started.set()
            await anyio.sleep_forever()

    session.on(point, hang)
    log = Log(session)
    session.subscribe(lambda _: anyio.lowlevel.checkpoint())
    await cancel(session.execute_batch(calls("a", "b", "c")), gate)
    assert len(log.of("tool_execution_start")) == len(log.of("tool_execution_end")) == 3
    assert [step for step in log.steps() if step.startswith("m")] == ["m A", "m B", "m C"]
    assert all(r.status in ("ok", "aborted") for r in session.trace.calls())
    assert session.pending_tool_calls == frozenset()
    assert task_is_clean()


async def test_a_batch_that_is_cancelled_while_a_result_is_told_gives_all_results() -> None:
    gate = Gate()
    session = session_with(make_tool("a"), make_tool("b"))

    async def hang(event: Any) -> None:
        if event.message.tool_call_id == "A":
            gate.started.set()
            await anyio.sleep_forever()

    session.on("message_start", hang)
    log = Log(session)
    await by_task_cancel(session.execute_batch(calls("a", "b")), gate)
    assert "m B" in log.steps()


async def test_a_hook_that_swallows_the_cancellation_of_a_batch_does_not_keep_it() -> None:
    gate = Gate()
    session = session_with(make_tool("a"), make_tool("b"))

    async def swallow(_event: Any) -> None:
        with contextlib.suppress(asyncio.CancelledError):
            await gate(None, None)  # type: ignore[arg-type]  # it does not look
        await anyio.lowlevel.checkpoint()

    session.on("tool_call", swallow)
    await by_task_cancel(session.execute_batch(calls("a", "b")), gate)
    assert [r.status for r in session.trace.calls()] == ["aborted", "aborted"]


async def test_aborting_a_batch_ends_all_its_calls_without_raising() -> None:
    gate = Gate()
    session = session_with(make_tool("a"), make_tool("b", gate), make_tool("c", never))
    task = asyncio.ensure_future(session.execute_batch(calls("a", "b", "c")))
    await gate.started.wait()
    session.abort()
    outcomes = await asyncio.wait_for(task, 5)
    assert [o.status for o in outcomes] == ["ok", "aborted", "aborted"]


# -- exceptions that are no Exception --------------------------------------------------------------


class Foreign(BaseException):
    """Somebody's own way to stop everything."""


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (SystemExit(3), "error", "3"),
        (SystemExit(), "error", "SystemExit"),
        (GeneratorExit("gone"), "error", "gone"),
        (GeneratorExit(), "error", "GeneratorExit"),
        (Foreign("mine"), "error", "mine"),
        (BaseExceptionGroup("many", [Foreign()]), "error", "many (1 sub-exception)"),
        (KeyboardInterrupt(), "aborted", "Operation aborted"),
        (StopIteration("x"), "error", None),
        (asyncio.CancelledError("x"), "error", "x"),
    ],
)
@pytest.mark.parametrize("moment", ["at once", "after a wait", "in a thread"])
async def test_whatever_a_tool_raises_becomes_a_result(
    error: BaseException, status: str, text: str | None, moment: str
) -> None:
    async def run(_id: str, _params: Any, _signal: Any, _update: Any, _ctx: Any) -> ToolResult:
        if moment == "after a wait":
            await anyio.lowlevel.checkpoint()
        raise error

    def run_in_thread(*_: Any) -> ToolResult:
        raise error

    execute: Any = run_in_thread if moment == "in a thread" else run
    session = session_with(
        ToolDefinition(name="t", description="", parameters=ANYTHING, execute=execute)
    )
    log = Log(session)
    outcome = await session.execute_tool("t")
    assert outcome.status == status
    assert outcome.is_error is True
    if text is not None:
        assert outcome.text == text
    assert log.kinds() == ["tool_execution_start", "tool_execution_end"]
    assert task_is_clean()


async def test_a_keyboard_interrupt_stops_what_the_tool_left_running() -> None:
    gate = Gate()

    async def run(ctx: ToolContext) -> None:
        asyncio.ensure_future(ctx.execute_tool("leaf"))  # noqa: RUF006 - the session keeps it
        await gate.started.wait()
        raise KeyboardInterrupt

    session = session_with(outer(run), make_tool("leaf", gate))
    assert (await session.execute_tool("outer")).status == "aborted"
    await asyncio.wait_for(_all_have_ended(session), 5)
    assert [r.status for r in session.trace.calls()] == ["aborted", "aborted"]


async def test_closing_a_calls_coroutine_ends_its_tool() -> None:
    ended = Notes()

    async def run(_params: Any, _ctx: Any) -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("closed")

    session = session_with(make_tool("t", run))
    coroutine: Any = session.execute_tool("t")
    coroutine.send(None)
    coroutine.close()
    assert ended == ["closed"]
