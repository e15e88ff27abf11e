"""The order of a run: turns, messages, results, and what ends it."""

from __future__ import annotations

from typing import Any

import pytest

from pi_kernel import PiKernelError, TextContent, ToolCall, ToolResult
from pi_kernel.models import ModelContext, ModelEvent, ScriptedModel, call, say, turn
from pi_kernel.protocol.results import text_of
from tests.support.engine import Log, Notes, StreamModel, make_tool, reply, session_with, texts

CUT_OFF = (
    "the response hit the output token limit, so its arguments may be truncated."
    " Re-issue the tool call with complete arguments."
)
ALREADY = (
    "Agent is already processing a prompt."
    " Use steer() or followUp() to queue messages, or wait for completion."
)


async def test_a_run_without_calls_has_one_turn() -> None:
    session = session_with()
    log = Log(session)
    run = await session.prompt("hi", model=ScriptedModel([say("hello")]))
    assert (run.text, run.stop_reason, run.turns, run.error_message) == ("hello", "stop", 1, None)
    assert log.kinds("message_update") == [
        "agent_start",
        "turn_start",
        "message_start",
        "message_end",
        "message_start",
        "message_end",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]
    assert texts(run.messages) == texts(session.messages) == ["user hi", "assistant hello"]


async def test_the_first_request_declares_the_tools_before_the_user_speaks() -> None:
    session = session_with(make_tool("a"), make_tool("b"))
    log = Log(session)
    await session.prompt("hi", model=ScriptedModel([say("x")]))
    told = [(e.type, texts([e.message])[0]) for e in log.of("message_start", "message_end")]
    assert told[:4] == [
        ("message_start", "system +a +b"),
        ("message_end", "system +a +b"),
        ("message_start", "user hi"),
        ("message_end", "user hi"),
    ]
    assert session.messages[0].content == ""


async def test_results_follow_the_reply_and_lead_to_the_next_request() -> None:
    session = session_with(make_tool("a"))
    log = Log(session)
    model = ScriptedModel([turn(call("a"), call("a")), say("done")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages)[1:] == [
        "user go",
        "assistant <a> <a>",
        "toolResult a",
        "toolResult a",
        "assistant done",
    ]
    assert texts(model.contexts[1].messages) == texts(run.messages)[:-1]
    ends = log.of("turn_end")
    assert [len(end.tool_results) for end in ends] == [2, 0]
    assert [end.turn_index for end in ends] == [0, 1]
    assert [start.turn_index for start in log.of("turn_start")] == [0, 1]
    assert texts(log.of("agent_end")[0].messages) == texts(run.messages)


async def test_a_parallel_batch_ends_in_completion_order_and_answers_in_source_order() -> None:
    import anyio  # noqa: PLC0415 - only here

    fast_done = anyio.Event()

    async def slow(_params: dict[str, Any], _ctx: Any) -> str:
        await fast_done.wait()
        return "slow"

    def fast(_params: dict[str, Any], _ctx: Any) -> str:
        fast_done.set()
        return "fast"

    session = session_with(make_tool("slow", slow), make_tool("fast", fast))
    log = Log(session)
    batch = turn(call("slow", id="A"), call("nope", id="B"), call("fast", id="C"))
    await session.prompt("go", model=ScriptedModel([batch, say("x")]))
    steps = log.steps()
    start = steps.index("s A")
    assert steps[start : start + 9] == [
        "s A", "s B", "e B", "s C", "e C", "e A", "m A", "m B", "m C",
    ]  # fmt: skip


@pytest.mark.parametrize("mode", ["parallel", "sequential", None])
async def test_a_sequential_run_ignores_what_tools_say(mode: Any) -> None:
    session = session_with(make_tool("a", execution_mode=mode), tool_execution="sequential")
    log = Log(session)
    batch = turn(call("a", id="A"), call("a", id="B"))
    await session.prompt("go", model=ScriptedModel([batch, say("x")]))
    steps = log.steps()
    start = steps.index("s A")
    assert steps[start : start + 6] == ["s A", "e A", "m A", "s B", "e B", "m B"]


async def test_one_sequential_tool_makes_the_whole_batch_sequential() -> None:
    session = session_with(make_tool("a"), make_tool("b", execution_mode="sequential"))
    log = Log(session)
    batch = turn(call("a", id="A"), call("b", id="B"))
    await session.prompt("go", model=ScriptedModel([batch, say("x")]))
    steps = log.steps()
    start = steps.index("s A")
    assert steps[start : start + 6] == ["s A", "e A", "m A", "s B", "e B", "m B"]


async def test_earlier_results_are_in_the_transcript_before_the_next_sequential_call() -> None:
    seen: list[list[str]] = []

    def look(_params: dict[str, Any], ctx: Any) -> str:
        seen.append(texts(ctx.session.messages))
        return "ok"

    session = session_with(make_tool("look", look), tool_execution="sequential")
    model = ScriptedModel([turn(call("look"), call("look")), say("x")])
    await session.prompt("go", model=model)
    assert [line[-1] for line in seen] == ["assistant <look> <look>", "toolResult ok"]


async def test_a_reply_of_200_calls_answers_each_in_order() -> None:
    session = session_with(make_tool("a", lambda params, _ctx: str(params["n"])))
    calls = [call("a", n=n) for n in range(200)]
    run = await session.prompt("go", model=ScriptedModel([turn(*calls), say("x")]))
    results = [m for m in run.messages if m.role == "toolResult"]
    assert [text_of(m.content) for m in results] == [str(n) for n in range(200)]
    assert [m.tool_call_id for m in results] == [f"call_{n}" for n in range(1, 201)]


async def test_calls_with_one_id_each_get_a_result() -> None:
    session = session_with(make_tool("a", lambda params, _ctx: str(params["n"])))
    batch = turn(call("a", id="x", n=1), call("a", id="x", n=2))
    model = ScriptedModel([batch, say("done")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages)[2:] == [
        "assistant <a> <a>",
        "toolResult 1",
        "toolResult 2",
        "assistant done",
    ]
    assert texts(model.contexts[1].messages)[2:] == texts(run.messages)[2:-1]
    assert session.pending_tool_calls == frozenset()


async def test_calls_run_whatever_the_stop_reason_says() -> None:
    session = session_with(make_tool("a"))
    model = ScriptedModel([turn(call("a"), stop_reason="stop"), say("done")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages)[-2:] == ["toolResult a", "assistant done"]


# -- length ----------------------------------------------------------------------------------------


async def test_a_reply_that_was_cut_off_runs_none_of_its_calls() -> None:
    ran = Notes()
    asked: list[str] = []
    session = session_with(make_tool("a", lambda _p, _c: ran.add("a", "a")))
    session.on("tool_call", lambda event: asked.append(event.tool_call_id))
    log = Log(session)
    batch = turn(call("a", id="A"), call("nope", id="B"), stop_reason="length")
    model = ScriptedModel([batch, say("done")])
    run = await session.prompt("go", model=model)
    assert ran == asked == []
    start = log.steps().index("s A")
    assert log.steps()[start : start + 7] == [
        "s A", "e A", "m A", "s B", "e B", "m B", "turn_end",
    ]  # fmt: skip
    results = [m for m in run.messages if m.role == "toolResult"]
    assert [(m.is_error, m.duration_ms, text_of(m.content)) for m in results] == [
        (
            True,
            None,
            f'Tool call "{name}" was not executed: {CUT_OFF}',
        )
        for name in ("a", "nope")
    ]
    assert len(model.contexts) == 2


# -- terminate -------------------------------------------------------------------------------------


def stopper(name: str = "stop", **fields: Any) -> Any:
    return make_tool(name, lambda _p, _c: ToolResult("bye", terminate=True, **fields))


async def test_a_batch_in_which_all_vote_ends_the_run() -> None:
    session = session_with(stopper())
    log = Log(session)
    model = ScriptedModel([turn(call("stop"), call("stop")), say("never")])
    await session.prompt("go", model=model)
    assert len(model.contexts) == 1
    assert log.steps()[-2:] == ["turn_end", "agent_end"]


@pytest.mark.parametrize("other", ["a", "nope"])
async def test_one_result_without_a_vote_goes_on(other: str) -> None:
    session = session_with(stopper(), make_tool("a"))
    model = ScriptedModel([turn(call("stop"), call(other)), say("x")])
    await session.prompt("go", model=model)
    assert len(model.contexts) == 2


async def test_an_error_that_the_tool_returned_may_vote() -> None:
    session = session_with(stopper(is_error=True))
    model = ScriptedModel([call("stop"), say("never")])
    await session.prompt("go", model=model)
    assert len(model.contexts) == 1


async def test_a_blocked_call_votes_through_its_hook() -> None:
    session = session_with(make_tool("a"))
    session.on("tool_call", lambda _event: {"block": True, "reason": "no", "terminate": True})
    log = Log(session)
    model = ScriptedModel([call("a"), say("never")])
    run = await session.prompt("go", model=model)
    assert len(model.contexts) == 1
    assert texts(run.messages)[-1] == "toolResult no"
    assert log.steps()[-2:] == ["turn_end", "agent_end"]


async def test_a_block_without_a_vote_goes_on() -> None:
    session = session_with(make_tool("a"))
    session.on("tool_call", lambda _event: {"block": True, "reason": "no"})
    model = ScriptedModel([call("a"), say("x")])
    await session.prompt("go", model=model)
    assert len(model.contexts) == 2


@pytest.mark.parametrize("queue", ["steer", "follow_up"])
async def test_queued_messages_continue_a_run_that_was_voted_to_end(queue: str) -> None:
    session = session_with(stopper())
    model = ScriptedModel([call("stop"), say("x")])
    getattr(session, queue)("more")
    if queue == "steer":  # Drained at the start; the vote comes after.
        session.on("tool_execution_end", lambda _event: session.steer("again"))
    run = await session.prompt("go", model=model)
    assert len(model.contexts) == 2
    assert texts(run.messages)[-2:] == [
        f"user {'again' if queue == 'steer' else 'more'}",
        "assistant x",
    ]


# -- finish_turn -----------------------------------------------------------------------------------


async def test_finish_turn_sees_reply_and_results_before_the_turn_ends() -> None:
    session = session_with(make_tool("a"))
    log = Log(session)
    seen: list[Any] = []

    def finish(answer: Any, results: list[Any]) -> None:
        seen.append((texts([answer])[0], texts(results), log.kinds().count("turn_end")))

    model = ScriptedModel([call("a"), say("x")])
    await session.prompt("go", model=model, finish_turn=finish)
    assert seen == [("assistant <a>", ["toolResult a"], 0), ("assistant x", [], 1)]


async def test_finish_turn_ends_a_run_that_would_go_on() -> None:
    session = session_with(make_tool("a"))
    session.follow_up("later")
    log = Log(session)
    model = ScriptedModel([call("a"), say("never")])

    async def finish(_answer: Any, _results: list[Any]) -> Any:
        return "end"

    await session.prompt("go", model=model, finish_turn=finish)
    assert len(model.contexts) == 1
    assert log.steps()[-2:] == ["turn_end", "agent_end"]


async def test_finish_turn_asks_for_one_more_request() -> None:
    session = session_with()
    log = Log(session)
    decisions = iter(["continue", None])
    model = ScriptedModel([say("one"), say("two"), say("never")])
    run = await session.prompt("go", model=model, finish_turn=lambda _a, _r: next(decisions))  # type: ignore[arg-type]
    assert texts(run.messages) == ["user go", "assistant one", "assistant two"]
    assert log.steps().count("agent_end") == 1
    assert [start.turn_index for start in log.of("turn_start")] == [0, 1]


async def test_a_continuation_that_something_else_brings_is_not_doubled() -> None:
    session = session_with()
    session.follow_up("more")
    decisions = iter(["continue", None])
    model = ScriptedModel([say("one"), say("two"), say("never")])
    run = await session.prompt("go", model=model, finish_turn=lambda _a, _r: next(decisions))  # type: ignore[arg-type]
    assert texts(run.messages) == ["user go", "assistant one", "user more", "assistant two"]


async def test_finish_turn_is_asked_after_a_failed_reply_and_cannot_continue_it() -> None:
    asked: list[str] = []

    def finish(answer: Any, _results: list[Any]) -> Any:
        asked.append(answer.stop_reason)
        return "continue"

    session = session_with()
    model = ScriptedModel([turn("x", stop_reason="error", error_message="broken"), say("never")])
    run = await session.prompt("go", model=model, finish_turn=finish)
    assert asked == ["error"]
    assert (run.turns, run.error_message) == (1, "broken")


async def test_a_finish_turn_that_raises_ends_the_run_with_a_failed_reply() -> None:
    def finish(_answer: Any, _results: list[Any]) -> Any:
        raise ValueError("no idea")

    session = session_with()
    log = Log(session)
    run = await session.prompt("go", model=ScriptedModel([say("one")]), finish_turn=finish)
    last = run.replies[-1]
    assert (last.stop_reason, last.error_message, last.text) == ("error", "no idea", "")
    assert last.to_wire()["content"] == [{"type": "text", "text": ""}]
    assert log.kinds()[-5:] == [
        "message_start",
        "message_end",
        "turn_end",
        "agent_end",
        "agent_settled",
    ]
    assert not session.is_running


# -- max_turns -------------------------------------------------------------------------------------


async def test_max_turns_ends_the_run_with_every_call_answered() -> None:
    session = session_with(make_tool("a"))
    model = ScriptedModel([call("a"), call("a"), say("never")])
    run = await session.prompt("go", model=model, max_turns=2)
    assert texts(run.messages)[-2:] == ["assistant <a>", "toolResult a"]
    assert run.turns == 2


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "2"])
async def test_max_turns_must_be_a_positive_integer(value: Any) -> None:
    with pytest.raises(PiKernelError, match="max_turns must be a positive integer or None"):
        await session_with().prompt("go", model=ScriptedModel([]), max_turns=value)


# -- starting --------------------------------------------------------------------------------------


async def test_a_second_prompt_while_one_runs_is_refused() -> None:
    refused: list[str] = []

    async def again(_context: ModelContext) -> Any:
        try:
            await session.prompt("me too", model=ScriptedModel([]))
        except PiKernelError as error:
            refused.append(str(error))
        return say("done")

    session = session_with()
    run = await session.prompt("go", model=ScriptedModel([again]))
    assert run.text == "done"
    assert refused == [ALREADY]


async def test_a_run_is_running_until_its_end_is_told() -> None:
    session = session_with()
    seen: dict[str, bool] = {}
    session.subscribe(lambda event: seen.update({event.type: session.is_running}))
    assert not session.is_running
    await session.prompt("go", model=ScriptedModel([say("x")]))
    assert seen.pop("agent_settled") is False
    assert set(seen.values()) == {True}
    assert not session.is_running


async def test_a_new_prompt_may_start_when_the_run_has_settled() -> None:
    session = session_with()
    model = ScriptedModel([say("one"), say("two")])
    runs: list[str] = []

    async def again(_event: Any) -> None:
        if not runs:
            runs.append("again")
            runs.append((await session.prompt("more", model=model)).text)

    session.on("agent_settled", again)
    assert (await session.prompt("go", model=model)).text == "one"
    assert runs == ["again", "two"]


async def test_continuing_needs_messages_that_do_not_end_with_a_reply() -> None:
    session = session_with()
    with pytest.raises(PiKernelError, match=r"^Cannot continue: no messages in context$"):
        await session.continue_run(model=ScriptedModel([]))
    await session.prompt("go", model=ScriptedModel([say("x")]))
    with pytest.raises(PiKernelError, match=r"^Cannot continue from message role: assistant$"):
        await session.continue_run(model=ScriptedModel([]))


async def test_continuing_asks_again_without_a_new_message() -> None:
    session = session_with(make_tool("a"))
    await session.prompt("go", model=ScriptedModel([call("a")]), max_turns=1)
    log = Log(session)
    run = await session.continue_run(model=ScriptedModel([say("done")]))
    assert texts(run.messages) == ["assistant done"]
    assert log.steps() == ["agent_start", "turn_start", "m assistant", "turn_end", "agent_end"]


# -- facts while it runs ---------------------------------------------------------------------------


async def test_pending_tool_calls_are_those_between_start_and_end() -> None:
    seen: list[tuple[str, frozenset[str]]] = []

    def look(_params: dict[str, Any], ctx: Any) -> str:
        seen.append(("run", ctx.session.pending_tool_calls))
        return "x"

    session = session_with(make_tool("look", look), tool_execution="sequential")
    for kind in ("tool_execution_start", "tool_execution_end"):
        session.on(kind, lambda event: seen.append((event.type, session.pending_tool_calls)))
    await session.prompt("go", model=ScriptedModel([call("look", id="A"), say("x")]))
    assert seen == [
        ("tool_execution_start", frozenset({"A"})),
        ("run", frozenset({"A"})),
        ("tool_execution_end", frozenset()),
    ]


async def test_the_streaming_message_grows_and_is_gone_at_the_end() -> None:
    session = session_with()
    seen: list[str | None] = []

    def look(_event: Any) -> None:
        message = session.streaming_message
        seen.append(None if message is None else message.text)

    session.on("message_update", look)
    session.on("message_end", look)
    text = "x" * 40
    await session.prompt("go", model=ScriptedModel([say(text)]))
    assert seen == [None, "", "x" * 24, text, text, None]
    assert session.streaming_message is None


async def test_model_calls_know_their_turn() -> None:
    seen = Notes()
    session = session_with(make_tool("a", lambda _p, ctx: seen.add(ctx.turn_index, "x")))
    await session.prompt("go", model=ScriptedModel([call("a"), call("a"), say("x")]))
    assert seen == [0, 1]


# -- hooks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer", [{"input": {"n": 2}}, {"args": {"n": 2}}, {"block": False, "reason": "x"}, {}]
)
async def test_a_hook_changes_arguments_in_place_only(answer: Any) -> None:
    session = session_with(make_tool("a", lambda params, _ctx: str(params)))
    session.on("tool_call", lambda _event: answer)
    run = await session.prompt("go", model=ScriptedModel([call("a", n=1), say("x")]))
    assert texts(run.messages)[3] == "toolResult {'n': 1}"


async def test_the_transcript_keeps_the_raw_arguments() -> None:
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    session = session_with(make_tool("a", lambda params, _ctx: str(params), parameters=schema))
    session.on("tool_call", lambda event: event.input.update(more=True))
    log = Log(session)
    run = await session.prompt("go", model=ScriptedModel([call("a", n="42"), say("x")]))
    assert texts(run.messages)[3] == "toolResult {'n': 42, 'more': True}"
    assert run.replies[0].tool_calls[0].arguments == {"n": "42"}
    told = log.of("tool_execution_start")
    assert [event.args for event in told] == [{"n": "42"}]


async def test_arguments_that_were_no_object_are_told_to_the_model() -> None:
    broken = ToolCall(
        id="A",
        name="a",
        arguments_error="Tool arguments must be a JSON object\n\nReceived arguments:\n[1]",
    )
    replies = iter([reply(broken, stop_reason="toolUse"), reply(TextContent("x"))])

    async def stream(_context: Any, _signal: Any) -> Any:
        yield ModelEvent("done", message=next(replies))

    run = await session_with(make_tool("a")).prompt("go", model=StreamModel(stream))
    assert texts(run.messages)[3] == (
        'toolResult Invalid arguments for tool "a": Tool arguments must be a JSON object'
        "\n\nReceived arguments:\n[1]"
    )
