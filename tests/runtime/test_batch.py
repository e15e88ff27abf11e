"""All calls of one reply: modes, the order of events and results, aborts, votes."""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from pi_kernel import AbortSignal, Block, ToolCall, ToolContext, ToolOutcome, ToolResult, Usage
from pi_kernel.models import ScriptedModel, call, say, turn
from pi_kernel.protocol.events import MessageEnd
from pi_kernel.runtime.batch import refuse_batch, run_batch, votes_to_end
from tests.support.calls import Gate, Meeting, calls, object_of, outer, signal_of
from tests.support.engine import Log, Notes, make_tool, session_with

ABORTED = "Operation aborted"
CUT_OFF = (
    'Tool call "{}" was not executed: the response hit the output token limit, so its arguments'
    " may be truncated. Re-issue the tool call with complete arguments."
)


async def test_prepared_calls_run_at_the_same_time() -> None:
    meeting = Meeting(5)
    session = session_with(*(make_tool(name, meeting) for name in "abcde"))
    with anyio.fail_after(5):
        outcomes = await session.execute_batch(calls(*"abcde"))
    assert [o.text for o in outcomes] == ["met"] * 5
    assert [o.id for o in outcomes] == list("ABCDE")


async def test_calls_start_and_are_asked_about_in_source_order() -> None:
    notes = Notes()
    session = session_with(*(make_tool(n, lambda p, _: notes.add(p["n"], "x")) for n in "abc"))
    session.on("tool_call", lambda event: notes.append(f"before {event.tool_name}"))
    batch = [ToolCall(id=n.upper(), name=n, arguments={"n": f"runs {n}"}) for n in "abc"]
    log = Log(session)
    await session.execute_batch(batch)
    assert notes == [f"before {n}" for n in "abc"] + [f"runs {n}" for n in "abc"]
    assert log.steps()[:3] == ["s A", "s B", "s C"]


async def test_immediate_results_end_in_the_first_phase() -> None:
    session = session_with(make_tool("a"), make_tool("b", parameters=object_of("n", n="integer")))
    session.on("tool_call", lambda e: Block() if e.tool_call_id == "C" else None)
    log = Log(session)
    batch = [*calls("a", "b", "nope"), {"id": "C", "name": "a", "arguments": {}}]
    outcomes = await session.execute_batch(batch)
    assert log.steps() == [
        *("s A", "s B", "e B", "s NOPE", "e NOPE", "s C", "e C", "e A"),
        *("m A", "m B", "m NOPE", "m C"),
    ]
    assert [o.status for o in outcomes] == ["ok", "invalid", "not_found", "blocked"]
    assert [r.completion_index for r in session.trace.calls()] == [4, 1, 2, 3]
    assert [r.index for r in session.trace.calls()] == [1, 2, 3, 4]


async def test_one_sequential_tool_makes_the_whole_batch_sequential() -> None:
    session = session_with(make_tool("a"), make_tool("b", execution_mode="sequential"))
    log = Log(session)
    await session.execute_batch(calls("a", "nope", "b"))
    assert log.steps() == [
        *("s A", "e A", "m A", "s NOPE", "e NOPE", "m NOPE", "s B", "e B", "m B"),
    ]
    assert [r.completion_index for r in session.trace.calls()] == [1, 2, 3]


async def test_an_unknown_tool_does_not_make_a_batch_sequential() -> None:
    session = session_with(make_tool("a"))
    log = Log(session)
    await session.execute_batch(calls("nope", "a", "a"))
    assert log.steps()[:4] == ["s NOPE", "e NOPE", "s A", "s A"]


async def test_a_parallel_override_keeps_a_sequential_run_sequential() -> None:
    session = session_with(
        make_tool("a", execution_mode="parallel"), make_tool("b"), tool_execution="sequential"
    )
    log = Log(session)
    await session.execute_batch(calls("a", "b"))
    assert log.steps() == ["s A", "e A", "m A", "s B", "e B", "m B"]


async def test_results_of_earlier_calls_are_told_before_the_next_one_starts() -> None:
    session = session_with(make_tool("a", execution_mode="sequential"), make_tool("b"))
    model = ScriptedModel([turn(call("a"), call("b")), say("bye")])
    seen = Notes()
    session.on(
        "tool_execution_start", lambda _: seen.append([m.role for m in session.messages][-2:])
    )
    await session.prompt("go", model=model)
    assert seen == [["user", "assistant"], ["assistant", "toolResult"]]


async def test_an_abort_in_the_preflight_leaves_nothing_to_run() -> None:
    ran = Notes()
    session = session_with(*(make_tool(n, lambda *_: ran.add("ran", "x")) for n in "abc"))
    asked = Notes()

    @session.on("tool_call")
    def hook(event: Any) -> None:
        asked.append(event.tool_call_id)
        if event.tool_call_id == "B":
            session.abort()

    log = Log(session)
    outcomes = await session.execute_batch(calls("a", "b", "c"))
    assert log.steps() == [
        *("s A", "s B", "e B", "s C", "e C", "e A", "m A", "m B", "m C"),
    ]
    assert [(o.text, o.status) for o in outcomes] == [(ABORTED, "aborted")] * 3
    assert (ran, asked) == ([], ["A", "B"])


async def test_an_abort_while_calls_run_keeps_what_they_return() -> None:
    both = Meeting(2)

    async def polite(params: Any, ctx: ToolContext) -> str:
        await both(params, ctx)
        await signal_of(ctx).wait()
        return "stopped"

    async def last(params: Any, ctx: ToolContext) -> str:
        await both(params, ctx)
        ctx.session.abort()
        return "last"

    session = session_with(make_tool("a", polite), make_tool("b", last))
    outcomes = await session.execute_batch(calls("a", "b"))
    assert [(o.text, o.status) for o in outcomes] == [("stopped", "ok"), ("last", "ok")]


async def test_a_batch_of_an_aborted_signal_gives_every_call_its_result() -> None:
    session = session_with(make_tool("a"))
    signal = AbortSignal()
    signal.abort()
    log = Log(session)
    outcomes = await session.execute_batch(calls("a", "nope"), signal=signal)
    assert [o.text for o in outcomes] == [ABORTED, ABORTED]
    assert log.steps() == ["s A", "e A", "s NOPE", "e NOPE", "m A", "m NOPE"]


@pytest.mark.parametrize("mode", ["parallel", "sequential"])
async def test_an_empty_batch_is_fine(mode: Any) -> None:
    assert await session_with(tool_execution=mode).execute_batch([]) == []


async def test_calls_with_the_same_id_all_get_results() -> None:
    session = session_with(make_tool("a"))
    batch = [ToolCall(id="same", name="a"), ToolCall(id="same", name="a")]
    outcomes = await session.execute_batch(batch)
    assert [o.text for o in outcomes] == ["a", "a"]
    assert session.pending_tool_calls == frozenset()


async def test_pending_calls_are_those_between_start_and_end() -> None:
    gate = Gate()
    session = session_with(make_tool("a", gate), make_tool("b"))
    seen = Notes()
    session.on("tool_execution_end", lambda _: seen.append(set(session.pending_tool_calls)))
    task = asyncio.ensure_future(session.execute_batch(calls("a", "b")))
    await gate.started.wait()
    await anyio.sleep(0.01)
    assert session.pending_tool_calls == {"A"}
    gate.open.set()
    await task
    assert seen == [{"A"}, set()]


async def test_arguments_that_cannot_be_json_are_an_invalid_call_of_the_batch() -> None:
    session = session_with(make_tool("a"))
    batch = [ToolCall(id="A", name="a", arguments={"n": float("nan")})]
    (outcome,) = await session.execute_batch(batch)
    assert outcome.status == "invalid"
    assert outcome.text == (
        'Invalid arguments for tool "a": arguments.n: NaN cannot be written as JSON'
    )


async def test_nested_calls_of_a_batch_have_the_models_id_as_their_root() -> None:
    session = session_with(
        outer(lambda ctx: ctx.execute_tool("leaf")),
        make_tool("leaf", lambda *_: ToolResult("x", usage=Usage(input=2))),
    )
    messages = Notes()
    session.on("message_end", lambda event: messages.append(event.message.to_wire()))
    (outcome,) = await session.execute_batch(calls("outer"))
    (recorded,) = outcome.nested_calls.calls
    assert (recorded.id, recorded.name) == ("OUTER/1", "leaf")
    assert messages[0]["nestedCalls"]["calls"][0]["id"] == "OUTER/1"
    assert messages[0]["usage"]["input"] == 2
    assert session.trace.calls()[1].parent_id == "OUTER"


async def test_nested_calls_between_the_end_and_the_message_are_still_recorded() -> None:
    gate, inner = Gate(), Gate()

    async def run(ctx: ToolContext) -> str:
        async def later() -> None:
            await inner.open.wait()
            await ctx.execute_tool("leaf")
            gate.open.set()

        ctx.session.later = asyncio.ensure_future(later())
        return "done"

    session = session_with(outer(run), make_tool("leaf"), make_tool("slow", gate))
    session.on(
        "tool_execution_end", lambda e: inner.open.set() if e.tool_call_id == "OUTER" else None
    )
    first, _ = await session.execute_batch(calls("outer", "slow"))
    assert [c.status for c in first.nested_calls.calls] == ["ok"]


async def test_a_running_batch_keeps_the_set_that_it_was_issued_with() -> None:
    def switch(_params: Any, ctx: ToolContext) -> str:
        ctx.session.set_active(["switch", "late"])
        return "switched"

    session = session_with(
        make_tool("switch", switch, execution_mode="sequential"), make_tool("b"), make_tool("late")
    )
    session.set_active(["switch", "b"])
    outcomes = await session.execute_batch(calls("switch", "b", "late"))
    assert [o.text for o in outcomes] == ["switched", "b", "Tool late not found"]
    (outcome,) = await session.execute_batch(calls("late"))
    assert outcome.text == "late"


async def test_large_batches_keep_order() -> None:
    session = session_with(make_tool("t", lambda p, _: str(p["n"])))
    batch = [ToolCall(id=str(n), name="t", arguments={"n": n}) for n in range(300)]
    outcomes = await session.execute_batch(batch)
    assert [o.text for o in outcomes] == [str(n) for n in range(300)]


# -- replies that hit the token limit --------------------------------------------------------------


async def test_no_call_of_a_cut_off_reply_runs() -> None:
    ran = Notes()
    session = session_with(make_tool("a", lambda *_: ran.add("ran", "x")))
    session.on("tool_call", ran.append)
    log = Log(session)
    model = ScriptedModel([turn(call("a"), call("nope"), stop_reason="length"), say("bye")])
    run = await session.prompt("go", model=model)

    results: list[Any] = [m for m in run.messages if m.role == "toolResult"]
    assert [m.is_error for m in results] == [True, True]
    assert [m.content[0].text for m in results] == [CUT_OFF.format(n) for n in ("a", "nope")]
    steps = log.steps()
    first = steps.index("s call_1")
    assert steps[first : first + 6] == [
        *("s call_1", "e call_1", "m call_1", "s call_2", "e call_2", "m call_2"),
    ]
    assert ran == []
    assert len(model.contexts) == 2


async def test_refusing_goes_on_to_the_last_call_when_it_is_cancelled() -> None:
    session = session_with(make_tool("a"))
    is_told = anyio.Event()
    outcomes: list[ToolOutcome] = []

    async def hang(event: Any) -> None:
        if event.tool_call_id == "A":
            is_told.set()
            await anyio.sleep_forever()

    async def on_result(outcome: ToolOutcome) -> None:
        outcomes.append(outcome)

    session.on("tool_execution_start", hang)
    session.on("tool_execution_start", lambda _: anyio.lowlevel.checkpoint())
    batch = [ToolCall(id="A", name="a"), ToolCall(id="B", name="a")]
    task = asyncio.ensure_future(
        refuse_batch(session.host.root, batch, signal=AbortSignal(), on_result=on_result)
    )
    await is_told.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [(o.id, o.status) for o in outcomes] == [("A", "aborted"), ("B", "error")]


# -- who makes the message -------------------------------------------------------------------------


async def test_a_sink_of_results_that_raises_fails_the_run() -> None:
    session = session_with(make_tool("a"))

    async def on_result(_outcome: ToolOutcome) -> None:
        raise ValueError("disk full")

    with pytest.raises(ValueError, match="disk full"):
        await run_batch(
            session.host.root,
            [ToolCall(id="A", name="a")],
            session.registry.executable,
            signal=AbortSignal(),
            on_result=on_result,
        )


async def test_messages_of_a_batch_do_not_enter_the_transcript() -> None:
    session = session_with(make_tool("a"))
    log = Log(session)
    await session.execute_batch(calls("a"))
    assert session.messages == []
    (end,) = [event for event in log.events if isinstance(event, MessageEnd)]
    assert end.message.role == "toolResult"


# -- votes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("votes", "ends"),
    [
        ([], False),
        ([True], True),
        ([True, True], True),
        ([True, None], False),
        ([True, False], False),
        ([None], False),
    ],
)
async def test_all_results_must_vote(votes: list[Any], ends: bool) -> None:  # noqa: FBT001
    session = session_with(
        *(
            make_tool(f"t{n}", lambda *_, vote=vote: ToolResult("x", terminate=vote))
            for n, vote in enumerate(votes)
        )
    )
    outcomes = await session.execute_batch(calls(*(f"t{n}" for n in range(len(votes)))))
    assert votes_to_end(outcomes) is ends


async def test_an_error_made_by_the_pipeline_does_not_vote() -> None:
    session = session_with(make_tool("a", lambda *_: ToolResult("x", terminate=True)))
    assert not votes_to_end(await session.execute_batch(calls("a", "nope")))


async def test_a_hook_may_take_a_vote_back_or_give_one() -> None:
    session = session_with(
        make_tool("a", lambda *_: ToolResult("x", terminate=True)), make_tool("b")
    )
    session.on("tool_result", lambda e: {"terminate": e.tool_name == "b"})
    a, b = await session.execute_batch(calls("a", "b"))
    assert (a.terminate, b.terminate) == (False, True)
    assert not votes_to_end([a, b])
