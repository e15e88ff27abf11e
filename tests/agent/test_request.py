"""What a model is sent of a transcript."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pi_kernel import TextContent, ToolCall, ToolResult, Usage
from pi_kernel.agent.request import Request
from pi_kernel.models import ScriptedModel, call, say
from pi_kernel.protocol.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    SystemMessage,
    ToolResultMessage,
    UserMessage,
)
from pi_kernel.protocol.tools import ToolDeclaration
from tests.support.engine import make_tool, session_with, texts

NONE: frozenset[str] = frozenset()


def request_messages(messages: Sequence[Message], hidden: frozenset[str] = NONE) -> list[Message]:
    return Request().messages(messages, hidden)


def user(text: str) -> UserMessage:
    return UserMessage(content=text)


def calls(*ids: str, **fields: Any) -> AssistantMessage:
    return AssistantMessage(content=[ToolCall(id=i, name=f"t{i}") for i in ids], **fields)


def result(call_id: str, text: str | None = None) -> ToolResultMessage:
    return ToolResultMessage(
        tool_call_id=call_id, tool_name=f"t{call_id}", content=[TextContent(text or call_id)]
    )


def sent(*messages: Message, hidden: frozenset[str] = NONE) -> list[str]:
    return texts(request_messages(messages, hidden))


def test_an_ordinary_transcript_is_sent_as_it_is() -> None:
    messages: list[Message] = [user("go"), calls("1", "2"), result("1"), result("2"), calls()]
    assert request_messages(messages) == messages


def test_a_call_without_a_result_gets_an_error_before_anything_else() -> None:
    request = request_messages([user("go"), calls("1", "2"), result("1"), user("more")])
    assert texts(request)[2:] == ["toolResult 1", "toolResult No result provided", "user more"]
    made = request[3]
    assert isinstance(made, ToolResultMessage)
    assert (made.tool_call_id, made.tool_name, made.is_error) == ("2", "t2", True)


def test_a_last_call_without_a_result_gets_one_too() -> None:
    assert sent(calls("1"))[1:] == ["toolResult No result provided"]


def test_results_stand_in_call_order_before_what_came_between() -> None:
    system = SystemMessage()
    sequence = sent(calls("1", "2"), result("2"), system, result("1"), user("x"), calls())
    assert sequence[1:5] == ["toolResult 1", "toolResult 2", "system", "user x"]


def test_each_of_two_calls_with_one_id_keeps_its_own_result() -> None:
    assert sent(calls("1", "1"), result("1", "first"), result("1", "second"))[1:] == [
        "toolResult first",
        "toolResult second",
    ]
    assert sent(calls("1", "1"), result("1", "first"))[1:] == [
        "toolResult first",
        "toolResult No result provided",
    ]


def test_an_id_that_is_used_again_later_keeps_the_results_apart() -> None:
    assert sent(calls("1"), result("1", "a"), calls("1"), result("1", "b"))[1::2] == [
        "toolResult a",
        "toolResult b",
    ]


def test_failed_and_aborted_replies_are_left_out() -> None:
    for reason in ("error", "aborted"):
        assert sent(user("go"), calls("1", stop_reason=reason), user("more")) == [
            "user go",
            "user more",
        ]


def test_messages_of_the_application_are_said_by_the_user() -> None:
    custom = CustomMessage(custom_type="note", content="seen", details={"x": 1}, timestamp=5)
    (message,) = request_messages([custom])
    assert message == UserMessage(content="seen", timestamp=5)


def test_results_carry_nothing_but_what_models_read() -> None:
    full = ToolResultMessage(
        tool_call_id="1",
        tool_name="t1",
        content=[TextContent("x")],
        details={"secret": 1},
        usage=Usage(input=1),
        duration_ms=3,
        is_error=True,
        timestamp=7,
    )
    wire = request_messages([calls("1"), full])[1].to_wire()
    assert wire == {
        "role": "toolResult",
        "toolCallId": "1",
        "toolName": "t1",
        "content": [{"type": "text", "text": "x"}],
        "isError": True,
        "timestamp": 7,
    }


async def test_details_usage_and_times_of_a_call_stay_with_the_session() -> None:
    tool = make_tool(
        "a",
        lambda _p, _c: ToolResult(
            "x", details={"d": 1}, structured_content={"s": 1}, usage=Usage(input=2)
        ),
    )
    session = session_with(tool)
    model = ScriptedModel([call("a"), say("done")])
    run = await session.prompt("go", model=model)
    kept = run.messages[3].to_wire()
    assert {"details", "usage", "durationMs"} <= kept.keys()
    assert not {"structuredContent", "terminate"} & kept.keys()
    seen = model.contexts[1].messages[3].to_wire()
    assert seen.keys() == {"role", "toolCallId", "toolName", "content", "isError", "timestamp"}


def test_hidden_tools_are_left_out_of_every_system_message() -> None:
    a, b = (ToolDeclaration(name=n, description=n, parameters={}) for n in "ab")
    first = SystemMessage(content="Be kind.", tools_added=[a, b])
    second = SystemMessage(tools_removed=[{"name": "a"}, {"name": "b"}], tools_added=[a])
    third = SystemMessage(sections={"rules": "x"})
    assert sent(first, second, third, hidden=frozenset("a")) == [
        "system +b",
        "system -b",
        "system",
    ]
    assert sent(first, second, third) == ["system +a +b", "system -a -b +a", "system"]
    projected = request_messages([first], frozenset("ab"))[0]
    assert projected.to_wire().keys() == {"role", "content", "timestamp"}


def test_a_second_request_has_the_same_short_results() -> None:
    request = Request()
    transcript: list[Message] = [user("go"), calls("1"), result("1")]
    first = request.messages(transcript, NONE)
    transcript += [calls("2"), result("2")]
    second = request.messages(transcript, NONE)
    assert second[2] is first[2]
    assert texts(second)[3:] == ["assistant <t2>", "toolResult 2"]
