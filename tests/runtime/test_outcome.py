"""What one call gave: its values, its message, its wire form, its repr."""

from __future__ import annotations

from typing import Any

import pytest

from pi_kernel import ImageContent, TextContent, ToolCall, ToolOutcome, ToolResult, Usage
from pi_kernel.runtime.call import Call
from tests.support.calls import outer
from tests.support.engine import make_tool, session_with

PICTURE = ImageContent(data="aGk=", mime_type="image/png")


async def outcome_of(result: Any, args: Any = None) -> ToolOutcome:
    return await session_with(make_tool("t", lambda *_: result)).execute_tool("t", args)


async def test_it_has_every_field_of_the_result() -> None:
    result = ToolResult(
        ["a", PICTURE, "b"],
        details={"d": 1},
        structured_content=[1],
        usage=Usage(input=1),
        terminate=True,
    )
    outcome = await outcome_of(result, {"n": 1})
    assert (outcome.id, outcome.tool_name, outcome.args) == ("call-1", "t", {"n": 1})
    assert outcome.parent_tool_call_id is None
    assert outcome.content == [TextContent("a"), PICTURE, TextContent("b")]
    assert outcome.text == "a\nb"
    assert (outcome.details, outcome.structured_content) == ({"d": 1}, [1])
    assert (outcome.usage, outcome.terminate) == (Usage(input=1), True)
    assert (outcome.status, outcome.is_error, outcome.error) == ("ok", False, None)
    assert outcome.tool_call == ToolCall(id="call-1", name="t", arguments={"n": 1})
    assert outcome.call.name == "t"
    assert outcome.result is result


@pytest.mark.parametrize(
    ("result", "value"),
    [
        (ToolResult("text", structured_content=1, value="live"), "live"),
        (ToolResult("text", structured_content=1, value=None), None),
        (ToolResult("text", structured_content=None), None),
        (ToolResult("text", structured_content={"s": 1}), {"s": 1}),
        (ToolResult(["text", PICTURE]), "text"),
        (ToolResult(PICTURE), PICTURE),
        (ToolResult([PICTURE, ""]), PICTURE),
        (ToolResult(), ""),
    ],
)
async def test_its_value_is_the_best_there_is(result: ToolResult, value: Any) -> None:
    assert (await outcome_of(result)).value == value


async def test_its_message_has_what_the_transcript_stores() -> None:
    result = ToolResult(
        "c", details={"d": None}, structured_content=1, usage=Usage(input=1), terminate=True
    )
    wire = (await outcome_of(result)).to_message().to_wire()
    assert isinstance(wire.pop("timestamp"), int)
    assert isinstance(wire.pop("durationMs"), int)
    assert wire == {
        "role": "toolResult",
        "toolCallId": "call-1",
        "toolName": "t",
        "content": [{"type": "text", "text": "c"}],
        "details": {"d": None},
        "usage": Usage(input=1).to_wire(),
        "isError": False,
    }


async def test_the_message_of_a_call_that_did_not_run_has_no_duration() -> None:
    outcome = await session_with().execute_tool("nope")
    wire = outcome.to_message().to_wire()
    assert "durationMs" not in wire
    assert (wire["isError"], wire["details"]) == (True, {})


async def test_its_wire_form_leaves_out_what_is_absent() -> None:
    session = session_with(outer(lambda ctx: ctx.execute_tool("leaf")), make_tool("leaf"))
    outcome = await session.execute_tool("outer")
    wire = outcome.to_wire()
    assert isinstance(wire.pop("durationMs"), float)
    nested = wire.pop("nestedCalls")
    assert [c["id"] for c in nested["calls"]] == ["call-1/1"]
    assert wire == {
        "toolCallId": "call-1",
        "toolName": "outer",
        "status": "ok",
        "content": [{"type": "text", "text": "leaf"}],
        "isError": False,
    }
    inner = ToolOutcome(session.host.calls[1])
    assert inner.to_wire()["parentToolCallId"] == "call-1"
    assert "nestedCalls" not in inner.to_wire()


async def test_its_wire_form_of_an_error_made_by_the_pipeline() -> None:
    outcome = await session_with().execute_tool("nope", {"n": 1})
    assert outcome.to_wire() == {
        "toolCallId": "call-1",
        "toolName": "nope",
        "status": "not_found",
        "content": [{"type": "text", "text": "Tool nope not found"}],
        "details": {},
        "isError": True,
    }
    assert outcome.structured_content is None
    assert outcome.has_structured_content is False


async def test_combined_usage_is_on_the_wire() -> None:
    session = session_with(
        outer(lambda ctx: ctx.execute_tool("leaf")),
        make_tool("leaf", lambda *_: ToolResult("x", usage=Usage(input=2))),
    )
    assert (await session.execute_tool("outer")).to_wire()["usage"]["input"] == 2


async def test_the_record_is_taken_once() -> None:
    session = session_with(outer(lambda ctx: ctx.execute_tool("leaf")), make_tool("leaf"))
    outcome = await session.execute_tool("outer")
    record = outcome.nested_calls
    session.host.calls[0].recorder.calls.clear()  # type: ignore[union-attr]  # it has one
    assert outcome.take_record().nested_calls == record


async def test_a_call_that_has_not_ended_is_unfinished() -> None:
    session = session_with(make_tool("t"))
    call = Call(session.host, "x", session.host.root, "t")
    assert ToolOutcome(call).status == "unfinished"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("short", "'short'"),
        ("x" * 80, repr("x" * 80)),
        ("x" * 81, repr("x" * 79 + "…")),
        ("first\nsecond", "'first …'"),
        ("first\n", "'first'"),
        ("", "''"),
    ],
)
async def test_its_repr_is_one_line(text: str, shown: str) -> None:
    outcome = await outcome_of(ToolResult(text))
    head, _, end = repr(outcome).partition(" ms: ")
    assert head.startswith("<t call-1: ok, ")
    assert end == f"{shown}>"
    assert "\n" not in repr(outcome)


async def test_the_repr_of_a_call_that_did_not_run_says_so() -> None:
    outcome = await session_with().execute_tool("nope")
    assert repr(outcome) == "<nope call-1: not_found, did not run: 'Tool nope not found'>"


async def test_a_notebook_gets_what_the_rendering_layer_makes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    outcome = await outcome_of(ToolResult("x"))
    monkeypatch.setattr(ToolOutcome, "render", None)
    assert outcome._repr_mimebundle_(include=None) == {"text/plain": repr(outcome)}
    monkeypatch.setattr(ToolOutcome, "render", staticmethod(lambda o: {"text/html": o.id}))
    assert outcome._repr_mimebundle_() == {"text/html": "call-1"}
