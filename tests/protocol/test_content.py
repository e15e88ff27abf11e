"""Content blocks, messages, usage and events as they are written and read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pi_kernel import ImageContent, ModelInfo, TextContent, ToolCall, ToolResult, Usage
from pi_kernel.protocol import events
from pi_kernel.protocol.content import ThinkingContent
from pi_kernel.protocol.messages import (
    AssistantMessage,
    CustomMessage,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
    message_from_wire,
    now_ms,
    user_message,
)
from pi_kernel.protocol.tools import ToolAnnotations, ToolDeclaration, ToolNamespace
from pi_kernel.protocol.usage import Cost, add_usage


def test_blocks_have_their_wire_forms() -> None:
    assert TextContent("a").to_wire() == {"type": "text", "text": "a"}
    assert TextContent(text="a", text_signature="s").to_wire()["textSignature"] == "s"
    assert ImageContent(data="aGk=", mime_type="image/png").to_wire() == {
        "type": "image",
        "data": "aGk=",
        "mimeType": "image/png",
    }
    assert ThinkingContent(thinking="hm").to_wire() == {"type": "thinking", "thinking": "hm"}
    wire = {"type": "toolCall", "id": "1", "name": "t", "arguments": {"a": None}}
    call = ToolCall(id="1", name="t", arguments={"a": None})
    assert call.to_wire() == wire
    assert ToolCall.from_wire(wire | {"argumentsError": "bad"}).arguments_error == "bad"


def test_texts_are_well_formed_and_needed() -> None:
    assert TextContent("a\ud800").text == "a\ufffd"
    assert TextContent.from_wire({"text": "\udfff"}).text == "\ufffd"
    for fields in ({}, {"text": 5}, {"text": None}):
        with pytest.raises(ValidationError):
            TextContent(**fields)


def test_messages_are_read_by_their_role() -> None:
    for message in (
        SystemMessage(content="be brief", sections={"tools": None}),
        UserMessage(content=[TextContent("hi")]),
        AssistantMessage(content=[TextContent("a"), ToolCall(id="1", name="t")]),
        ToolResultMessage(tool_call_id="1", tool_name="t", content=[TextContent("x")]),
        CustomMessage(custom_type="note", content="x"),
    ):
        assert message_from_wire(message.to_wire()) == message
    with pytest.raises(ValueError, match="role"):
        message_from_wire({"role": "nobody"})


def test_the_wire_of_a_system_message_keeps_deleted_sections() -> None:
    wire = SystemMessage(sections={"tools": None}, timestamp=1).to_wire()
    assert wire == {"role": "system", "content": "", "sections": {"tools": None}, "timestamp": 1}


def test_an_assistant_message_knows_its_text_and_calls() -> None:
    call = ToolCall(id="1", name="t")
    message = AssistantMessage(
        content=[TextContent("a"), call, ThinkingContent(thinking="hm"), TextContent("b")]
    )
    assert (message.text, message.tool_calls) == ("a\nb", [call])
    assert message.to_wire()["stopReason"] == "stop"


def test_user_messages_are_made_of_many_things() -> None:
    picture = ImageContent(data="aGk=", mime_type="image/png")
    assert user_message("hi").content == "hi"
    assert user_message(picture).content == [picture]
    assert user_message(["hi", picture]).content == [TextContent("hi"), picture]
    message = UserMessage(content="x")
    assert user_message(message) is message


def test_time_is_in_unix_milliseconds() -> None:
    assert 1_600_000_000_000 < now_ms() < 10_000_000_000_000


def test_declarations_are_equal_when_they_are_written_alike() -> None:
    one = ToolDeclaration(name="t", description="d", parameters={"type": "object"})
    same = ToolDeclaration.from_wire(one.to_wire())
    assert one.same_as(same)
    assert not one.same_as(None)
    assert not one.same_as(one.model_copy(update={"description": "e"}))


def test_small_types_have_their_wire_forms() -> None:
    assert ToolAnnotations(read_only_hint=True).to_wire() == {"readOnlyHint": True}
    assert ToolNamespace(name="mcp__x", aliases=("x",)).to_wire() == {
        "name": "mcp__x",
        "aliases": ["x"],
    }
    model = ModelInfo("p", "m", image_resize={"max_width": 10})
    assert (model.provider, model.id, model.input) == ("p", "m", ("text", "image"))
    assert ModelInfo(provider="p", id="m") == ModelInfo("p", "m")


# -- usage -----------------------------------------------------------------------------------------


def test_a_sum_adds_every_field_and_says_that_its_cost_is_computed() -> None:
    one = Usage(input=1, output=2, cache_read=3, cache_write=4, total_tokens=10, reasoning=1)
    two = Usage(input=10, output=20, cache_read=30, cache_write=40, total_tokens=100)
    total = add_usage(one, two)
    assert total is not None
    assert total.to_wire() == {
        "input": 11,
        "output": 22,
        "cacheRead": 33,
        "cacheWrite": 44,
        "reasoning": 1,
        "totalTokens": 110,
        "cost": {
            "input": 0,
            "output": 0,
            "cacheRead": 0,
            "cacheWrite": 0,
            "total": 0,
            "totalFromProvider": False,
        },
    }


@pytest.mark.parametrize(
    ("left", "right", "total"),
    [
        (None, None, False),
        (True, None, False),
        (True, False, False),
        (False, True, False),
        (True, True, True),
    ],
)
def test_a_cost_is_the_providers_only_when_both_are(left: Any, right: Any, total: bool) -> None:  # noqa: FBT001
    one, two = (Usage(cost=Cost(total=1, total_from_provider=flag)) for flag in (left, right))
    added = add_usage(one, two)
    assert added is not None
    assert (added.cost.total, added.cost.total_from_provider) == (2, total)


def test_optional_splits_appear_when_either_side_has_them() -> None:
    added = add_usage(Usage(cache_write_1h=0), Usage(reasoning=2))
    assert added is not None
    assert (added.cache_write_1h, added.reasoning) == (0, 2)
    assert added.to_wire()["cacheWrite1h"] == 0
    plain = add_usage(Usage(), Usage())
    assert plain is not None
    assert (plain.cache_write_1h, plain.reasoning) == (None, None)


def test_no_usage_is_neutral() -> None:
    usage = Usage(input=1)
    assert add_usage(None, None) is None
    assert add_usage(usage, None) is usage
    assert add_usage(None, usage) is usage


COUNTS = st.integers(0, 10**9)
USAGES = st.builds(Usage, input=COUNTS, output=COUNTS, total_tokens=COUNTS)


@given(st.lists(USAGES, min_size=2, max_size=6))
def test_sums_do_not_depend_on_the_order(usages: list[Usage]) -> None:
    forward = backward = None
    for usage in usages:
        forward = add_usage(forward, usage)
    for usage in reversed(usages):
        backward = add_usage(backward, usage)
    assert forward == backward


# -- events ----------------------------------------------------------------------------------------


def test_events_are_written_without_absent_fields() -> None:
    assert events.AgentSettled(aborted=False).to_wire() == {
        "type": "agent_settled",
        "aborted": False,
    }
    start = events.ToolExecutionStart("1", "t", {"a": None}, timestamp=1.0)
    assert start.to_wire() == {
        "type": "tool_execution_start",
        "toolCallId": "1",
        "toolName": "t",
        "args": {"a": None},
        "timestamp": 1.0,
    }
    end = events.ToolExecutionEnd("1", "t", {}, ToolResult("x"), is_error=False, timestamp=1.0)
    assert end.to_wire() == {
        "type": "tool_execution_end",
        "toolCallId": "1",
        "toolName": "t",
        "result": {"content": [{"type": "text", "text": "x"}]},
        "isError": False,
        "timestamp": 1.0,
    }


def test_a_streaming_update_is_written_as_the_change_alone() -> None:
    message = AssistantMessage(content=[TextContent("Hel")], usage=Usage(input=1))
    change = {"type": "text_delta", "contentIndex": 0, "delta": "l", "partial": message}
    update = events.MessageUpdate(message, change)
    assert update.to_wire() == {
        "type": "message_update",
        "assistantMessageEvent": {"type": "text_delta", "contentIndex": 0, "delta": "l"},
        "usage": Usage(input=1).to_wire(),
    }
    assert "partial" in change
    other = events.MessageUpdate(UserMessage(content="x"), {"type": "text_delta"})
    assert "usage" not in other.to_wire()


def test_every_event_names_its_type() -> None:
    kinds = [cls for name, cls in vars(events).items() if name in events.__all__]
    assert len({cls.type for cls in kinds}) == len(kinds) == 15
    assert events.AgentStart().timestamp <= events.TurnStart(0).timestamp
