"""Before and after handlers: how answers chain and merge, and what bad ones do."""

from __future__ import annotations

import logging
from typing import Any

import anyio
import pytest

from pi_kernel import Block, ResultPatch, TextContent, ToolResult, ToolSession, Usage
from pi_kernel.protocol.results import ABSENT
from tests.support.calls import calls, error_wire, outer
from tests.support.engine import Log, Notes, make_tool, session_with

RESULT: dict[str, Any] = {
    "content": "c",
    "details": {"d": 1},
    "structured_content": {"s": 1},
    "usage": Usage(input=1),
}


def session_of(result: ToolResult | None = None) -> tuple[ToolSession, Notes]:
    """Return a session with one tool that keeps its arguments."""
    received = Notes()
    answer = result or ToolResult("ran")
    return session_with(make_tool("t", lambda params, _: received.add(params, answer))), received


async def patched(answer: Any) -> tuple[Any, Log]:
    """Return the outcome of a full result after one handler's answer, and the events."""
    session, _ = session_of(ToolResult(**RESULT))
    log = Log(session)
    session.on("tool_result", lambda _: answer)
    return await session.execute_tool("t"), log


# -- before ----------------------------------------------------------------------------------------


async def test_edits_in_place_add_up_and_reach_execute_without_another_check() -> None:
    session = session_with()
    received = Notes()
    schema = {"type": "object", "properties": {"s": {"type": "string"}}, "required": ["s"]}
    session.register(make_tool("t", lambda p, _: received.add(p, "ran"), parameters=schema))
    seen = Notes()

    @session.on("tool_call")
    async def first(event: Any) -> None:
        await anyio.lowlevel.checkpoint()
        event.input["s"] = 99

    @session.on("tool_call")
    def second(event: Any) -> None:
        seen.append(dict(event.input))
        event.input["extra"] = True

    log = Log(session)
    outcome = await session.execute_tool("t", {"s": "x"})
    assert seen == [{"s": 99}]
    assert received == [{"s": 99, "extra": True}]
    assert outcome.args == {"s": "x"}
    assert log.events[0].args == {"s": "x"}
    (record,) = session.trace.calls()
    assert (record.args, record.raw_args) == ({"s": 99, "extra": True}, {"s": "x"})


@pytest.mark.parametrize(
    ("answer", "text", "terminate"),
    [
        (Block(), "Tool execution was blocked", None),
        (Block(""), "Tool execution was blocked", None),
        (Block("no"), "no", None),
        (Block("no", terminate=True), "no", True),
        (Block(17), "17", None),  # type: ignore[arg-type]  # as a careless hook would
        ({"block": True}, "Tool execution was blocked", None),
        ({"block": True, "reason": ""}, "Tool execution was blocked", None),
        ({"block": True, "reason": None}, "Tool execution was blocked", None),
        ({"block": True, "reason": "no", "terminate": True}, "no", True),
        ({"block": True, "reason": "no", "terminate": "yes"}, "no", None),
        ({"block": 1, "reason": "no"}, "no", None),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_block_is_an_error_result_that_ran_nothing(
    answer: Any,
    text: str,
    terminate: bool | None,  # noqa: FBT001
    is_async: bool,  # noqa: FBT001
) -> None:
    session, received = session_of()
    asked = Notes()

    async def hook(_event: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return answer

    session.on("tool_call", hook if is_async else lambda _: answer)
    session.on("tool_call", asked.append)
    session.on("tool_result", asked.append)
    log = Log(session)
    outcome = await session.execute_tool("t")

    wire = error_wire(text) | ({} if terminate is None else {"terminate": True})
    assert outcome.result.to_wire() == wire
    assert (outcome.status, outcome.terminate, outcome.duration_ms) == ("blocked", terminate, None)
    assert (received, asked) == ([], [])
    assert log.events[-1].block_reason == text
    assert session.trace.calls()[0].block_reason == text


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (True, "expected None, Block(...) or a dict, got bool; ignored"),
        (False, "expected None, Block(...) or a dict, got bool; ignored"),
        ("no", "expected None, Block(...) or a dict, got str; ignored"),
        (Block, "expected None, Block(...) or a dict, got type; ignored"),
        ({"blocked": True}, "the answer has none of block, reason, terminate: blocked; ignored"),
        ({1: 2}, "the answer has none of block, reason, terminate: 1; ignored"),
    ],
)
async def test_rubbish_is_reported_and_ignored(answer: Any, problem: str) -> None:
    session, received = session_of()
    log = Log(session)
    session.on("tool_call", lambda _: answer)
    assert (await session.execute_tool("t")).status == "ok"
    assert received == [{}]
    assert log.errors() == [("tool_call", problem)]


@pytest.mark.parametrize(
    "answer", [None, {}, {"block": False}, {"block": False, "reason": "x"}, {"terminate": True}]
)
async def test_answers_that_do_not_block_say_nothing(answer: Any) -> None:
    session, received = session_of()
    log = Log(session)
    session.on("tool_call", lambda _: answer)
    assert (await session.execute_tool("t")).terminate is None
    assert received == [{}]
    assert log.errors() == []


async def test_replacing_the_input_is_reported_and_has_no_effect() -> None:
    session, received = session_of()
    log = Log(session)
    seen = Notes()

    @session.on("tool_call")
    def replace(event: Any) -> None:
        event.input = {"n": 2}

    session.on("tool_call", lambda event: seen.append(event.input))
    await session.execute_tool("t", {"n": 1})
    assert received == seen == [{"n": 1}]
    assert log.errors() == [("tool_call", "input was replaced; edit it in place; ignored")]


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (ValueError("boom"), "blocked", "boom"),
        (ValueError(), "blocked", "ValueError"),
        (SystemExit(2), "blocked", "Extension failed, blocking execution: 2"),
        (KeyboardInterrupt(), "aborted", "Operation aborted"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_before_handler_that_raises_stops_the_call(
    error: BaseException,
    status: str,
    text: str,
    is_async: bool,  # noqa: FBT001
) -> None:
    session, received = session_of()
    asked = Notes()

    def fail(_event: Any) -> None:
        raise error

    async def fail_later(_event: Any) -> None:
        await anyio.lowlevel.checkpoint()
        raise error

    session.on("tool_call", fail_later if is_async else fail)
    session.on("tool_call", asked.append)
    outcome = await session.execute_tool("t")
    assert (outcome.status, outcome.text, outcome.error) == (status, text, error)
    assert (received, asked) == ([], [])


async def test_an_abort_wins_over_a_handler_that_raises() -> None:
    session, received = session_of()

    @session.on("tool_call")
    def hook(_event: Any) -> None:
        session.abort()
        raise ValueError("boom")

    outcome = await session.execute_tool("t")
    assert (outcome.status, outcome.text) == ("aborted", "Operation aborted")
    assert received == []


async def test_a_handler_is_told_the_facts_of_the_call() -> None:
    seen = Notes()
    session = session_with(
        outer(lambda ctx: ctx.execute_tool("leaf", {"n": 1})), make_tool("leaf"), session_id="s"
    )

    @session.on("tool_call")
    @session.on("tool_result")
    def hook(event: Any) -> None:
        seen.append((event.type, event.tool_name, event.parent_tool_call_id, event.signal.aborted))

    @session.on("tool_result")
    def wires(event: Any) -> None:
        if event.tool_name == "leaf":
            seen.append(event.to_wire())
            assert (event.cell_id, event.turn_id, event.turn_index) == (None, None, None)
            assert repr(event) == "<tool_result leaf call-1/1>"

    await session.execute_tool("outer")
    assert seen == [
        ("tool_call", "outer", None, False),
        ("tool_call", "leaf", "call-1", False),
        ("tool_result", "leaf", "call-1", False),
        {
            "type": "tool_result",
            "toolName": "leaf",
            "toolCallId": "call-1/1",
            "parentToolCallId": "call-1",
            "input": {"n": 1},
            "sessionId": "s",
            "content": [{"type": "text", "text": "leaf"}],
            "isError": False,
        },
        ("tool_result", "outer", None, False),
    ]


async def test_a_handler_that_comes_while_a_tool_runs_is_for_later_calls() -> None:
    asked = Notes()

    async def run(ctx: Any) -> str:
        ctx.session.on("tool_call", lambda event: asked.append(event.tool_call_id))
        await anyio.lowlevel.checkpoint()
        return "done"

    session = session_with(outer(run))
    await session.execute_tool("outer")
    await session.execute_tool("outer")
    assert asked == ["call-2"]


# -- after -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("as_patch", [False, True])
@pytest.mark.parametrize(
    ("answer", "changed"),
    [
        ({}, {}),
        ({"content": None, "details": None, "is_error": None, "terminate": None}, {}),
        (
            {"content": "new"},
            {"content": [{"type": "text", "text": "new"}], "structuredContent": ABSENT},
        ),
        ({"content": []}, {"content": [], "structuredContent": ABSENT}),
        (
            {"content": [TextContent("x"), {"type": "text", "text": "y"}, "z"]},
            {
                "content": [{"type": "text", "text": t} for t in "xyz"],
                "structuredContent": ABSENT,
            },
        ),
        (
            {"content": [], "structured_content": [2]},
            {"content": [], "structuredContent": [2]},
        ),
        ({"structured_content": {"s": 2}}, {"structuredContent": {"s": 2}}),
        ({"structured_content": False}, {"structuredContent": False}),
        ({"structured_content": None}, {}),
        ({"details": {"e": 2}}, {"details": {"e": 2}}),
        ({"details": 0}, {"details": 0}),
        ({"usage": {"input": 9}}, {"usage": Usage(input=9).to_wire()}),
        ({"terminate": True}, {"terminate": True}),
    ],
)
async def test_a_field_that_is_given_replaces_and_the_rest_stays(
    answer: dict[str, Any],
    changed: dict[str, Any],
    as_patch: bool,  # noqa: FBT001
) -> None:
    outcome, log = await patched(ResultPatch(**answer) if as_patch else answer)
    expected = ToolResult(**RESULT).to_wire() | changed
    expected = {key: value for key, value in expected.items() if value is not ABSENT}
    assert outcome.result.to_wire() == expected
    assert log.errors() == []
    assert log.of("tool_execution_end")[0].result.to_wire() == expected


async def test_a_success_can_become_an_error_and_the_flags_differ() -> None:
    outcome, log = await patched({"is_error": True})
    assert (outcome.is_error, outcome.status, outcome.result.is_error) == (True, "error", False)
    assert outcome.to_wire()["isError"] is True
    (end,) = log.of("tool_execution_end")
    assert (end.is_error, end.status) == (True, "error")


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        ("text", "expected None, ResultPatch(...) or a dict, got str; ignored"),
        (ToolResult("x"), "expected None, ResultPatch(...) or a dict, got ToolResult; ignored"),
        ({"isError": True}, "no such field of a result: isError; the answer was ignored"),
        ({"content": 5}, "content must be a text or a list of text and image blocks, got int"),
        ({"content": [5]}, "content block must be a text or image block, got int"),
        ({"is_error": "no"}, "is_error must be True or False; the answer was ignored"),
        ({"terminate": 1}, "terminate must be True or False; the answer was ignored"),
        ({"usage": 5}, "usage must be a Usage or a dict, got int"),
    ],
)
async def test_a_bad_answer_is_reported_and_nothing_of_it_applied(
    answer: Any, problem: str
) -> None:
    if isinstance(answer, dict):
        answer = {"details": {"never": "seen"}, **answer} if "isError" not in answer else answer
    outcome, log = await patched(answer)
    assert outcome.result.to_wire() == ToolResult(**RESULT).to_wire()
    assert outcome.status == "ok"
    assert log.errors() == [("tool_result", problem)]


async def test_unknown_fields_beside_known_ones_are_ignored() -> None:
    outcome, log = await patched({"details": 1, "colour": "red"})
    assert outcome.details == 1
    assert log.errors() == []


async def test_cyclic_details_of_a_handler_are_reported_and_ignored() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    outcome, log = await patched({"details": cycle})
    assert outcome.details == {"d": 1}
    assert [event for event, _ in log.errors()] == ["tool_result"]


async def test_each_handler_sees_what_the_earlier_ones_left() -> None:
    session, _ = session_of(ToolResult(**RESULT))
    log = Log(session)
    seen = Notes()

    @session.on("tool_result")
    def first(_event: Any) -> None:
        raise ValueError("boom")

    @session.on("tool_result")
    async def second(_event: Any) -> dict[str, Any]:
        await anyio.lowlevel.checkpoint()
        return {"content": "new", "is_error": True}

    @session.on("tool_result")
    def third(event: Any) -> None:
        seen.append((event.content, event.structured_content, event.is_error))
        seen.append((event.details, event.usage))

    outcome = await session.execute_tool("t")
    assert seen == [([TextContent("new")], None, True), ({"d": 1}, Usage(input=1))]
    assert (outcome.text, outcome.status) == ("new", "error")
    assert log.errors() == [("tool_result", "boom")]


@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit("boom")])
async def test_an_after_handler_that_raises_later_is_reported_too(error: BaseException) -> None:
    session, _ = session_of()
    log = Log(session)

    async def fail(_event: Any) -> None:
        await anyio.lowlevel.checkpoint()
        raise error

    session.on("tool_result", fail)
    assert (await session.execute_tool("t")).status == "ok"
    assert log.errors() == [("tool_result", "boom")]


async def test_a_keyboard_interrupt_in_an_after_handler_aborts_the_call() -> None:
    session, _ = session_of()

    @session.on("tool_result")
    def stop(_event: Any) -> None:
        raise KeyboardInterrupt

    assert (await session.execute_tool("t")).status == "aborted"


async def test_the_after_handler_is_asked_about_tools_that_raised_and_not_about_others() -> None:
    def fail(*_: Any) -> None:
        raise ValueError("boom")

    session = session_with(make_tool("bad", fail), make_tool("good"))
    seen = Notes()
    session.on("tool_result", lambda event: seen.append((event.tool_name, event.is_error)))
    for name in ("bad", "good", "nope"):
        await session.execute_tool(name)
    assert seen == [("bad", True), ("good", False)]


async def test_handlers_are_asked_about_each_call_of_a_batch() -> None:
    session, received = session_of()
    seen = Notes()
    session.on("tool_call", lambda event: seen.append(event.tool_call_id))
    session.on("tool_result", lambda event: seen.append(event.tool_call_id))
    await session.execute_batch(calls("t", "nope"))
    assert (seen, received) == (["T", "T"], [{}])


async def test_a_live_value_goes_with_the_content_that_a_handler_replaces() -> None:
    live = object()
    session, _ = session_of(ToolResult("c", structured_content=1, value=live))
    assert (await session.execute_tool("t")).value is live
    session.on("tool_result", lambda _: {"details": 1})
    assert (await session.execute_tool("t")).value is live
    session.on("tool_result", lambda _: {"content": "new"})
    assert (await session.execute_tool("t")).value == "new"


async def test_without_listeners_a_failure_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    session, _ = session_of()
    session.on("tool_call", lambda _: "rubbish")
    with caplog.at_level(logging.WARNING, "pi_kernel"):
        assert (await session.execute_tool("t")).status == "ok"
    assert "a handler of tool_call failed and was skipped" in caplog.text
