"""Calls that tools make: ids, scopes, what they reach, late ones, and many at once."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import pytest

from pi_kernel import (
    AbortSignal,
    ToolContext,
    ToolOutcome,
    ToolResult,
    ToolSession,
    Usage,
    tool,
)
from pi_kernel.runtime.call import Caller
from pi_kernel.runtime.records import NestedCallRecorder
from tests.support.calls import Gate, outer
from tests.support.engine import Log, Notes, make_tool, session_with


async def test_ids_follow_the_order_of_calls_and_ends_that_of_completion() -> None:
    gates = [Gate(str(n)) for n in range(3)]

    async def run(ctx: ToolContext) -> str:
        outcomes = await asyncio.gather(*(ctx.execute_tool(f"t{n}") for n in range(3)))
        return " ".join(f"{o.id}={o.text}" for o in outcomes)

    session = session_with(outer(run), *(make_tool(f"t{n}", g) for n, g in enumerate(gates)))
    log = Log(session)
    task = asyncio.ensure_future(session.execute_tool("outer"))
    for gate in gates:
        await gate.started.wait()
    for number in (2, 0, 1):
        gates[number].open.set()
        await anyio.sleep(0.005)
    outcome = await task
    assert outcome.text == "call-1/1=0 call-1/2=1 call-1/3=2"
    assert [e.tool_call_id for e in log.of("tool_execution_end")] == [
        *("call-1/3", "call-1/1", "call-1/2", "call-1"),
    ]
    assert [c.id for c in outcome.nested_calls.calls] == ["call-1/1", "call-1/2", "call-1/3"]


async def test_a_session_numbers_its_calls_and_each_is_a_root() -> None:
    session = session_with(make_tool("t"))
    outcomes = [await session.execute_tool("t") for _ in range(2)]
    assert [(o.id, o.parent_tool_call_id) for o in outcomes] == [("call-1", None), ("call-2", None)]
    assert [r.origin for r in session.trace.calls()] == ["cell", "cell"]


async def test_a_call_on_the_session_inside_a_tool_is_nested_below_it() -> None:
    async def run(ctx: ToolContext) -> str:
        outcome = await ctx.session.execute_tool("leaf")
        return str(outcome.id)

    session = session_with(outer(run), make_tool("leaf"))
    assert (await session.execute_tool("outer")).text == "call-1/1"


async def test_the_caller_is_known_in_plain_functions_and_tasks_of_a_tool() -> None:
    seen = Notes()

    @tool
    async def plain() -> str:
        """Call the session, at once, after a wait and in a task."""
        ids = [(await session.execute_tool("leaf")).id]
        await anyio.lowlevel.checkpoint()
        ids.append((await session.execute_tool("leaf")).id)
        ids.append((await asyncio.ensure_future(session.execute_tool("leaf"))).id)
        return " ".join(ids)

    session = session_with(plain, make_tool("leaf", lambda *_: seen.add(1, "x")))
    assert (await session.execute_tool("plain")).text == "call-1/1 call-1/2 call-1/3"
    assert (await session.execute_tool("leaf")).id == "call-2"


@pytest.mark.parametrize(
    ("exposure", "is_active", "reaches"),
    [
        ("direct", True, True),
        ("direct", False, False),
        ("codemode", False, True),
        ("deferred", False, True),
        ("model-only", True, False),
        ("hidden", True, False),
    ],
)
async def test_nested_calls_reach_callable_tools(
    exposure: Any,
    is_active: bool,  # noqa: FBT001
    reaches: bool,  # noqa: FBT001
) -> None:
    async def run(ctx: ToolContext) -> str:
        outcome = await ctx.execute_tool("leaf")
        return f"{outcome.status}: {outcome.text}"

    session = session_with(outer(run), make_tool("leaf", exposure=exposure))
    session.set_active(["outer", *(["leaf"] if is_active else [])])
    expected = "ok: leaf" if reaches else "not_found: Tool leaf not found"
    assert (await session.execute_tool("outer")).text == expected
    person = await session.execute_tool("leaf")
    assert person.status == ("not_found" if exposure == "hidden" else "ok")


async def test_the_active_set_counts_as_it_is_at_each_call() -> None:
    async def run(ctx: ToolContext) -> str:
        before = await ctx.execute_tool("leaf")
        ctx.session.set_active(["outer"])
        after = await ctx.execute_tool("leaf")
        return f"{before.text}, {after.text}"

    session = session_with(outer(run), make_tool("leaf"))
    assert (await session.execute_tool("outer")).text == "leaf, Tool leaf not found"


async def test_structured_content_reaches_the_caller() -> None:
    async def run(ctx: ToolContext) -> Any:
        outcome = await ctx.execute_tool("leaf")
        return ToolResult(f"{outcome.structured_content} {outcome.has_structured_content}")

    leaf = make_tool("leaf", lambda *_: ToolResult("x", structured_content=None))
    assert (await session_with(outer(run), leaf).execute_tool("outer")).text == "None True"


async def test_another_calls_outcome_may_be_the_result() -> None:
    session = session_with(
        outer(lambda ctx: ctx.execute_tool("leaf")),
        make_tool("leaf", lambda *_: ToolResult("bad", details={"d": 1}, is_error=True)),
    )
    outcome = await session.execute_tool("outer")
    assert (outcome.text, outcome.details, outcome.status) == ("bad", {"d": 1}, "error")


async def test_many_calls_at_once_all_end() -> None:
    async def run(ctx: ToolContext) -> str:
        outcomes = await asyncio.gather(*(ctx.execute_tool("leaf", {"n": n}) for n in range(600)))
        assert [o.text for o in outcomes] == [str(n) for n in range(600)]
        return "done"

    session = session_with(outer(run), make_tool("leaf", lambda p, _: str(p["n"])))
    outcome = await session.execute_tool("outer")
    assert outcome.text == "done"
    assert (len(outcome.nested_calls.calls), outcome.nested_calls.complete) == (256, False)
    assert len(session.trace) == 601


async def test_a_late_call_of_a_nested_tool_is_refused_too() -> None:
    contexts: list[ToolContext] = []
    late: list[ToolOutcome] = []

    async def middle(ctx: ToolContext) -> str:
        contexts.append(ctx)
        return "done"

    async def run(ctx: ToolContext) -> str:
        await ctx.execute_tool("middle")
        late.append(await contexts[0].execute_tool("leaf"))
        return "done"

    session = session_with(outer(run), outer(middle, "middle"), make_tool("leaf"))
    await session.execute_tool("outer")
    assert late[0].text == "The calling tool has already finished"
    assert (late[0].id, late[0].status, late[0].duration_ms) == ("call-1/1/1", "error", None)


async def test_a_late_batch_is_refused_too() -> None:
    contexts: list[ToolContext] = []

    async def run(ctx: ToolContext) -> str:
        contexts.append(ctx)

        async def later() -> Any:
            await gate.open.wait()
            return await ctx.session.execute_batch([{"id": "A", "name": "leaf", "arguments": {}}])

        tasks.append(asyncio.ensure_future(later()))
        return "done"

    gate = Gate()
    tasks: list[asyncio.Task[Any]] = []
    session = session_with(outer(run), make_tool("leaf"))
    await session.execute_tool("outer")
    gate.open.set()
    (outcome,) = await tasks[0]
    assert outcome.text == "The calling tool has already finished"


class Watching(Caller):
    """A caller that is told of its calls and has a record of its own, as a cell."""

    owns_children = True
    is_watching = True
    child_reach = "person"
    child_origin = "cell"

    def __init__(self, session: ToolSession) -> None:
        super().__init__(session.host, "cell-1", AbortSignal())
        self.recorder: NestedCallRecorder = NestedCallRecorder()
        self.notes: list[str] = []

    def child_started(self) -> None:
        self.notes.append("started")

    def child_ended(self) -> None:
        self.notes.append("ended")

    async def stop_here(self) -> None:
        await super().stop_here()
        self.notes.append("stopped")
        raise KeyboardInterrupt


async def test_a_watching_caller_is_told_and_its_record_gathers_everything_below() -> None:
    session = session_with(
        outer(lambda ctx: ctx.execute_tool("leaf")),
        make_tool("leaf", lambda *_: ToolResult("x", usage=Usage(input=2))),
    )
    cell = Watching(session)
    outcomes = [await session.host.execute_tool("outer", caller=cell) for _ in range(2)]
    assert [o.id for o in outcomes] == ["cell-1/1", "cell-1/2"]
    assert [o.parent_tool_call_id for o in outcomes] == ["cell-1", "cell-1"]
    assert [o.usage for o in outcomes] == [Usage(input=2)] * 2
    assert cell.notes == ["started", "ended"] * 2
    record = cell.recorder.snapshot().record()
    assert [c.id for c in record.calls] == ["cell-1/1", "cell-1/1/1", "cell-1/2", "cell-1/2/1"]
    assert cell.recorder.usage is not None
    assert cell.recorder.usage.input == 4


async def test_the_code_of_an_interrupted_caller_ends_where_its_call_ends() -> None:
    session = session_with(make_tool("t"))
    cell = Watching(session)
    cell.is_interrupted = True
    with pytest.raises(KeyboardInterrupt):
        await session.host.execute_tool("t", caller=cell)
    assert cell.notes == ["started", "ended", "stopped"]


async def test_a_caller_has_a_recorder_only_when_it_is_given_one() -> None:
    session = session_with(make_tool("t"))
    await Caller(session.host, "x", AbortSignal()).stop_here()
    assert session.host.root.child_recorder() is None
    session.host.root.child_started()
    session.host.root.child_ended()


async def test_nothing_stays_with_the_signals_above() -> None:
    async def run(ctx: ToolContext) -> str:
        await ctx.execute_tool("leaf")
        return "done"

    @tool
    async def plain() -> str:
        """Call another tool without ever waiting."""
        return str((await session.execute_tool("add", {"a": 1, "b": 2})).text)

    @tool
    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    session = session_with(outer(run), make_tool("leaf"), plain, add)
    for name in ("outer", "plain", "nope"):
        await session.execute_tool(name)
    assert not session.host.root.signal._followers
    assert (await session.execute_tool("plain")).text == "3"


async def test_the_root_signal_of_an_aborted_session_is_renewed() -> None:
    session = session_with(make_tool("t"))
    session.abort()
    assert (await session.execute_tool("t")).status == "ok"


async def test_events_of_nested_calls_name_their_parent() -> None:
    session = session_with(outer(lambda ctx: ctx.execute_tool("leaf")), make_tool("leaf"))
    log = Log(session)
    await session.execute_tool("outer")
    wires = [event.to_wire() for event in log.events]
    assert [(w["toolCallId"], w.get("parentToolCallId")) for w in wires] == [
        ("call-1", None),
        ("call-1/1", "call-1"),
        ("call-1/1", "call-1"),
        ("call-1", None),
    ]
    end = wires[2]
    assert isinstance(end.pop("durationMs"), float)
    assert isinstance(end.pop("timestamp"), float)
    assert end == {
        "type": "tool_execution_end",
        "toolCallId": "call-1/1",
        "toolName": "leaf",
        "result": {"content": [{"type": "text", "text": "leaf"}]},
        "isError": False,
        "parentToolCallId": "call-1",
        "status": "ok",
    }
