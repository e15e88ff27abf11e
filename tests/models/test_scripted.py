"""`ScriptedModel`: turns in Python, deterministic ids, streamed as a real model would."""

from __future__ import annotations

from typing import Any

import pytest

from pi_kernel import AbortSignal, ModelInfo, PiKernelError, Usage
from pi_kernel.models import (
    Model,
    ModelContext,
    ModelEvent,
    ScriptedModel,
    call,
    say,
    think,
    turn,
)
from pi_kernel.protocol.messages import AssistantMessage, UserMessage

EMPTY = ModelContext([UserMessage(content="hi")])


async def events_of(
    model: ScriptedModel, context: ModelContext = EMPTY, signal: AbortSignal | None = None
) -> list[ModelEvent]:
    stream = model.stream(context, signal=signal or AbortSignal(), options={})
    return [event async for event in stream]


async def reply_of(model: ScriptedModel) -> AssistantMessage:
    message = (await events_of(model))[-1].message
    assert message is not None
    return message


def test_it_is_a_model() -> None:
    model = ScriptedModel([], model_id="lesson")
    assert isinstance(model, Model)
    assert model.info == ModelInfo("scripted", "lesson")


async def test_turns_are_played_one_after_another() -> None:
    model = ScriptedModel([say("one"), "two", turn("three", " and more")])
    assert [(await reply_of(model)).text for _ in range(3)] == ["one", "two", "three\n and more"]
    assert repr(model) == "ScriptedModel(3 turns, next 3)"


async def test_ids_are_counted_unless_given() -> None:
    model = ScriptedModel([turn(call("a"), call("b", id="mine"), call("a")), call("c")])
    first, second = await reply_of(model), await reply_of(model)
    assert [block.id for block in first.tool_calls] == ["call_1", "mine", "call_2"]
    assert [block.id for block in second.tool_calls] == ["call_3"]


async def test_arguments_are_keywords_and_one_mapping() -> None:
    model = ScriptedModel([call("a", {"from": 1, "n": 1}, n=2, name="x")])
    (block,) = (await reply_of(model)).tool_calls
    assert (block.name, block.arguments) == ("a", {"from": 1, "n": 2, "name": "x"})


@pytest.mark.parametrize(
    ("step", "reason"),
    [
        (say("x"), "stop"),
        (call("a"), "toolUse"),
        (turn("x", call("a")), "toolUse"),
        (turn(call("a"), stop_reason="length"), "length"),
        (turn(call("a"), stop_reason="stop"), "stop"),
    ],
)
async def test_the_stop_reason_follows_from_the_blocks_unless_given(step: Any, reason: str) -> None:
    events = await events_of(ScriptedModel([step]))
    assert events[-1].type == "done"
    assert events[-1].reason == reason
    assert events[-1].message is not None
    assert events[-1].message.stop_reason == reason


@pytest.mark.parametrize("reason", ["error", "aborted"])
async def test_a_turn_may_fail(reason: Any) -> None:
    step = turn("half", stop_reason=reason, error_message="broken")
    events = await events_of(ScriptedModel([step]))
    last = events[-1]
    assert (last.type, last.reason) == ("error", reason)
    assert last.message is not None
    assert (last.message.text, last.message.error_message) == ("half", "broken")


async def test_usage_is_what_the_turn_says() -> None:
    model = ScriptedModel([turn("x", usage=Usage(input=3))])
    assert (await reply_of(model)).usage == Usage(input=3)


async def test_a_turn_may_be_a_function_of_the_context() -> None:
    async def later(context: ModelContext) -> Any:
        return f"{len(context.messages)} messages"

    model = ScriptedModel([lambda c: say(c.messages[0].to_wire()["content"]), later])
    assert (await reply_of(model)).text == "hi"
    assert (await reply_of(model)).text == "1 messages"
    assert model.contexts == [EMPTY, EMPTY]


@pytest.mark.parametrize(
    ("step", "text"),
    [
        (lambda _c: 1 / 0, "division by zero"),
        (lambda _c: None, "a scripted turn must be say(), call() or turn(), got None"),
        (3, "a scripted turn must be say(), call() or turn(), got 3"),
    ],
)
async def test_a_turn_that_cannot_be_played_is_a_failed_reply(step: Any, text: str) -> None:
    events = await events_of(ScriptedModel([step]))
    assert [event.type for event in events] == ["error"]
    assert events[0].message is not None
    assert events[0].message.error_message == text


@pytest.mark.parametrize(
    ("turns", "kind"), [("Done.", "str"), (say("x"), "Turn"), (None, "NoneType")]
)
def test_a_script_is_a_list_of_turns(turns: Any, kind: str) -> None:
    with pytest.raises(PiKernelError, match=rf"takes a list of turns.*, got {kind}$"):
        ScriptedModel(turns)


async def test_the_end_of_the_script_is_a_failed_reply() -> None:
    model = ScriptedModel([say("x")])
    await reply_of(model)
    message = await reply_of(model)
    assert message.stop_reason == "error"
    assert message.error_message == ("The script of 1 turns has ended; add a turn for this request")


async def test_an_aborted_signal_plays_nothing() -> None:
    signal = AbortSignal()
    signal.abort()
    model = ScriptedModel([say("x")])
    (event,) = await events_of(model, signal=signal)
    assert (event.type, event.reason) == ("error", "aborted")
    assert (await reply_of(model)).text == "x"


async def test_an_abort_in_the_middle_cuts_the_reply_off() -> None:
    signal = AbortSignal()
    events = []
    stream = ScriptedModel([say("x" * 100)]).stream(EMPTY, signal=signal, options={})
    async for event in stream:
        events.append(event)
        if event.type == "text_delta":
            signal.abort()
    assert [event.type for event in events] == ["start", "text_start", "text_delta", "error"]
    last = events[-1].message
    assert last is not None
    assert (last.stop_reason, last.error_message) == ("aborted", "Request was aborted")
    assert 24 <= len(last.text) < 100


async def test_texts_thoughts_and_calls_stream_in_pieces() -> None:
    step = turn(think("hm"), "x" * 30, call("a", n=1))
    events = await events_of(ScriptedModel([step]))
    assert [(event.type, event.content_index, event.delta) for event in events] == [
        ("start", None, None),
        ("thinking_start", 0, None),
        ("thinking_delta", 0, "hm"),
        ("thinking_end", 0, None),
        ("text_start", 1, None),
        ("text_delta", 1, "x" * 24),
        ("text_delta", 1, "x" * 6),
        ("text_end", 1, None),
        ("toolcall_start", 2, None),
        ("toolcall_delta", 2, '{"n": 1}'),
        ("toolcall_end", 2, None),
        ("done", None, None),
    ]
    ends = {event.type: event for event in events}
    assert (ends["thinking_end"].content, ends["text_end"].content) == ("hm", "x" * 30)
    assert ends["toolcall_end"].tool_call is not None
    assert ends["toolcall_end"].tool_call.arguments == {"n": 1}
    partials = [event.partial for event in events[:-1]]
    assert all(p is not None and p.stop_reason == "pending" for p in partials)
    assert [len(p.text) for p in partials if p is not None] == [
        0,
        0,
        0,
        0,
        0,
        24,
        30,
        30,
        30,
        30,
        30,
    ]


def test_events_have_a_wire_form_without_the_growing_message() -> None:
    opened = call("a", id="A", n=1).blocks[0]
    partial = AssistantMessage()
    start = ModelEvent("toolcall_start", partial=partial, content_index=2, tool_call=opened)  # type: ignore[arg-type]
    assert start.to_wire() == {
        "type": "toolcall_start", "contentIndex": 2, "id": "A", "toolName": "a",
    }  # fmt: skip
    delta = ModelEvent("text_delta", partial=partial, content_index=0, delta="x")
    assert delta.to_wire() == {"type": "text_delta", "contentIndex": 0, "delta": "x"}
    end = ModelEvent("toolcall_end", partial=partial, content_index=2, tool_call=opened)  # type: ignore[arg-type]
    assert end.to_wire()["toolCall"] == {
        "type": "toolCall", "id": "A", "name": "a", "arguments": {"n": 1},
    }  # fmt: skip
