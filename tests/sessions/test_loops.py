"""Which loop a session runs on, and calls from threads."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
from collections.abc import Callable
from typing import Any

import anyio
import anyio.to_thread
import pytest

from pi_kernel import PiKernelError, ToolOutcome, ToolSession
from pi_kernel.models import ScriptedModel, call, say
from tests.support.engine import Notes, make_tool, session_with


def in_thread(function: Callable[[], Any]) -> Any:
    """Run a function in a new thread, with an empty context, and return what it returns."""
    box: list[Any] = []

    def run() -> None:
        try:
            box.append(function())
        except BaseException as error:  # noqa: BLE001 - the test looks at it
            box.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert box, "the thread hangs"
    return box[0]


async def from_thread(function: Callable[[], Any]) -> Any:
    """Do the same while the loop goes on."""
    return await anyio.to_thread.run_sync(in_thread, function)


# -- scripts without a loop ------------------------------------------------------------------------


def test_a_script_runs_calls_on_a_private_loop_that_stays_the_same() -> None:
    loops: list[Any] = []

    async def look(_params: dict[str, Any], _ctx: Any) -> str:
        loops.append(asyncio.get_running_loop())
        return "ok"

    session = session_with(make_tool("look", look))
    for _ in range(2):
        assert session.run(session.execute_tool("look")).text == "ok"
    assert loops[0] is loops[1]
    session.run(session.close())
    assert loops[0].is_closed()


def test_a_private_loop_does_not_become_the_threads_loop() -> None:
    session = session_with(make_tool("a"))
    session.run(session.execute_tool("a"))
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
    session.run(session.close())


def test_a_forgotten_session_closes_its_loop_without_a_warning() -> None:
    loops = Notes()
    session: ToolSession | None = session_with(
        make_tool("look", lambda _p, _c: loops.add(asyncio.get_running_loop(), "x"))
    )
    assert session is not None
    session.run(session.execute_tool("look"))
    session = None
    gc.collect()
    assert loops[0].is_closed()


def test_what_the_coroutine_raises_comes_out() -> None:
    session = session_with()

    async def fail() -> None:
        raise LookupError("mine")

    with pytest.raises(LookupError, match="mine"):
        session.run(fail())
    session.run(session.close())


@pytest.mark.parametrize("thing", [None, 3, "x", print, make_tool])
def test_run_takes_a_coroutine(thing: Any) -> None:
    with pytest.raises(PiKernelError, match=r"^session\.run\(\) takes a coroutine, such as"):
        session_with().run(thing)


def test_a_script_can_prompt() -> None:
    session = session_with(make_tool("a"))
    run = session.run(session.prompt("go", model=ScriptedModel([call("a"), say("x")])))
    assert run.text == "x"
    session.run(session.close())


def test_threads_of_a_script_share_the_private_loop() -> None:
    session = session_with(make_tool("a", lambda params, _c: str(params["n"])))
    outcomes: dict[int, ToolOutcome] = {}

    def work(n: int) -> None:
        for _ in range(5):
            outcomes[n] = session.run(session.execute_tool("a", {"n": n}))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert {n: outcome.text for n, outcome in outcomes.items()} == {n: str(n) for n in range(8)}
    assert {record.id for record in session.trace} == {f"call-{n}" for n in range(1, 41)}
    session.run(session.close())


def test_a_call_goes_on_when_the_thread_that_drove_the_loop_has_its_own_result() -> None:
    """The second thread's call runs on the first one's loop, which stops under it."""
    inside = threading.Event()
    go_on = threading.Event()

    async def slow(_params: dict[str, Any], _ctx: Any) -> str:
        inside.set()
        await anyio.sleep(0.1)
        return "slow"

    async def first() -> str:
        await anyio.to_thread.run_sync(go_on.wait)
        return "first"

    session = session_with(make_tool("slow", slow))
    box: list[Any] = []
    driver = threading.Thread(target=lambda: box.append(session.run(first())))
    driver.start()
    rider = threading.Thread(
        target=lambda: box.append(session.run(session.execute_tool("slow")).text)
    )
    rider.start()
    assert inside.wait(5)
    go_on.set()
    driver.join(5)
    rider.join(5)
    assert box == ["first", "slow"]
    session.run(session.close())


# -- inside a loop ---------------------------------------------------------------------------------


async def test_run_on_the_sessions_own_thread_names_await() -> None:
    session = session_with(make_tool("a"))
    await session.execute_tool("a")
    with pytest.raises(PiKernelError, match=r"use: await \.\.\.$"):
        session.run(session.execute_tool("a"))
    assert len(session.trace) == 1


async def test_run_inside_a_loop_that_the_session_never_used_names_await_too() -> None:
    session = session_with(make_tool("a"))
    with pytest.raises(PiKernelError, match=r"use: await \.\.\.$"):
        session.run(session.execute_tool("a"))


async def test_a_thread_without_a_copied_context_makes_root_calls() -> None:
    async def outer(_params: dict[str, Any], ctx: Any) -> str:
        outcome = await from_thread(lambda: ctx.session.run(ctx.session.execute_tool("inner")))
        return f"{outcome.id} {outcome.parent_tool_call_id}"

    session = session_with(make_tool("outer", outer), make_tool("inner"))
    outcome = await session.execute_tool("outer")
    assert outcome.text == "call-2 None"


async def test_a_thread_with_a_copied_context_calls_for_its_tool() -> None:
    async def outer(_params: dict[str, Any], ctx: Any) -> str:
        context = contextvars.copy_context()
        outcome = await from_thread(
            lambda: context.run(ctx.session.run, ctx.session.execute_tool("inner"))
        )
        return f"{outcome.id} {outcome.parent_tool_call_id}"

    session = session_with(make_tool("outer", outer), make_tool("inner"))
    assert (await session.execute_tool("outer")).text == "call-1/1 call-1"


async def test_a_sync_tool_can_call_through_run_for_itself() -> None:
    def outer(_id: str, _params: Any, _signal: Any, _update: Any, ctx: Any) -> Any:
        outcome = ctx.session.run(ctx.session.execute_tool("inner"))
        return f"{outcome.id} {outcome.text}"

    import dataclasses  # noqa: PLC0415 - only here

    session = session_with(
        dataclasses.replace(make_tool("outer"), execute=outer), make_tool("inner")
    )
    assert (await session.execute_tool("outer")).text == "call-1/1 inner"


async def test_an_exception_reaches_the_thread_that_waits() -> None:
    session = session_with(make_tool("a"))
    await session.execute_tool("a")

    async def fail() -> None:
        raise TimeoutError("mine")

    error = await from_thread(lambda: session.run(fail()))
    assert isinstance(error, TimeoutError)
    assert str(error) == "mine"


async def test_a_cancelled_call_does_not_leave_the_thread_waiting() -> None:
    session = session_with(make_tool("a"))
    await session.execute_tool("a")

    async def give_up() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await anyio.sleep(1)

    error = await from_thread(lambda: session.run(give_up()))
    assert isinstance(error, asyncio.CancelledError)


async def test_two_loops_at_once_are_refused_with_the_way_in() -> None:
    session = session_with(make_tool("a"))
    await session.execute_tool("a")
    error = await from_thread(lambda: asyncio.run(session.execute_tool("a")))
    assert isinstance(error, PiKernelError)
    assert str(error) == (
        "this session runs on another thread's event loop; use session.run(...) from this thread"
    )


async def test_a_loop_of_another_thread_may_wait_for_the_session() -> None:
    session = session_with(make_tool("a"))
    await session.execute_tool("a")

    async def elsewhere() -> Any:
        return session.run(session.execute_tool("a"))

    outcome = await from_thread(lambda: asyncio.run(elsewhere()))
    assert outcome.id == "call-2"


def test_a_session_may_be_used_on_one_loop_after_another() -> None:
    session = session_with(make_tool("a"))
    ids = [asyncio.run(session.execute_tool("a")).id for _ in range(2)]
    ids.append(session.run(session.execute_tool("a")).id)
    ids.append(asyncio.run(session.execute_tool("a")).id)
    assert ids == ["call-1", "call-2", "call-3", "call-4"]
    session.run(session.close())


def test_a_loop_that_stops_for_good_releases_the_thread() -> None:
    session = session_with(make_tool("a"))
    inside = threading.Event()
    box: list[Any] = []
    loop = asyncio.new_event_loop()

    async def hang() -> None:
        inside.set()
        await anyio.sleep_forever()

    def ride() -> None:
        try:
            session.run(hang())
        except PiKernelError as error:
            box.append(str(error))

    async def main() -> None:
        await session.execute_tool("a")
        thread.start()
        await anyio.to_thread.run_sync(inside.wait)

    thread = threading.Thread(target=ride)
    loop.run_until_complete(main())
    thread.join(5)
    assert box == ["the event loop of this session stopped before the call had ended"]
    for task in asyncio.all_tasks(loop):
        task.cancel()
    loop.run_until_complete(asyncio.sleep(0))
    loop.close()
