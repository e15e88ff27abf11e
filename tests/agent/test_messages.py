"""Handlers of `message_end`: they may replace a message, with one of the same role."""

from __future__ import annotations

from typing import Any

import pytest

from pi_kernel import TextContent
from pi_kernel.models import ScriptedModel, call, say
from pi_kernel.protocol.messages import AssistantMessage, UserMessage
from tests.support.engine import Log, make_tool, session_with, texts


async def test_a_handler_replaces_a_message_everywhere() -> None:
    session = session_with()

    def shorten(event: Any) -> Any:
        if event.message.role == "user":
            return {"message": UserMessage(content="replaced")}
        return None

    session.on("message_end", shorten)
    log = Log(session)
    model = ScriptedModel([say("x")])
    run = await session.prompt("original", model=model)
    assert texts(run.messages) == texts(session.messages) == ["user replaced", "assistant x"]
    assert texts(model.contexts[0].messages) == ["user replaced"]
    assert texts([log.of("message_start")[0].message]) == ["user original"]
    assert texts([log.of("message_end")[0].message]) == ["user replaced"]
    assert texts(log.of("agent_end")[0].messages) == texts(run.messages)


@pytest.mark.parametrize(
    "answer",
    [
        UserMessage(content="new"),
        {"message": {"role": "user", "content": "new", "timestamp": 1}},
        {"role": "user", "content": "new", "timestamp": 1},
    ],
)
async def test_a_handler_may_answer_with_a_message_or_its_wire_form(answer: Any) -> None:
    session = session_with()

    async def replace(event: Any) -> Any:
        return answer if event.message.role == "user" else None

    session.on("message_end", replace)
    run = await session.prompt("old", model=ScriptedModel([say("x")]))
    assert texts(run.messages)[0] == "user new"


async def test_a_later_handler_sees_what_an_earlier_one_made() -> None:
    session = session_with()
    seen: list[str] = []

    def add(event: Any) -> Any:
        seen.append(event.message.content)
        return UserMessage(content=event.message.content + "!")

    def only_users(event: Any) -> Any:
        return add(event) if event.message.role == "user" else None

    session.on("message_end", only_users)
    session.on("message_end", only_users)
    run = await session.prompt("hi", model=ScriptedModel([say("x")]))
    assert seen == ["hi", "hi!"]
    assert texts(run.messages)[0] == "user hi!!"


@pytest.mark.parametrize(
    "answer",
    [
        AssistantMessage(content=[TextContent("x")]),
        {"message": AssistantMessage(content=[])},
        {"message": {"role": "assistant", "content": []}},
        {"message": "text"},
        "text",
        True,
    ],
)
async def test_a_message_of_another_role_is_reported_and_ignored(answer: Any) -> None:
    session = session_with()
    session.on("message_end", lambda event: answer if event.message.role == "user" else None)
    log = Log(session)
    run = await session.prompt("hi", model=ScriptedModel([say("x")]))
    assert texts(run.messages)[0] == "user hi"
    assert log.errors() == [
        ("message_end", "message_end handlers must return a message with the same role")
    ]


async def test_a_handler_that_raises_is_reported_and_the_others_go_on() -> None:
    session = session_with()

    def fail(_event: Any) -> Any:
        raise ValueError("bad handler")

    session.on("message_end", fail)
    session.on(
        "message_end", lambda e: UserMessage(content="new") if e.message.role == "user" else None
    )
    log = Log(session)
    run = await session.prompt("hi", model=ScriptedModel([say("x")]))
    assert texts(run.messages)[0] == "user new"
    assert log.errors() == [("message_end", "bad handler")] * 2


async def test_a_dict_without_a_message_changes_nothing() -> None:
    session = session_with()
    session.on("message_end", lambda _event: {"other": 1})
    log = Log(session)
    run = await session.prompt("hi", model=ScriptedModel([say("x")]))
    assert texts(run.messages) == ["user hi", "assistant x"]
    assert log.errors() == []


async def test_calls_come_from_the_reply_that_handlers_left() -> None:
    session = session_with(make_tool("a"), make_tool("b"))

    def redirect(event: Any) -> Any:
        message = event.message
        if message.role != "assistant" or not message.tool_calls:
            return None
        return message.model_copy(update={"content": call("b", id="B").blocks})

    session.on("message_end", redirect)
    run = await session.prompt("go", model=ScriptedModel([call("a"), say("x")]))
    assert texts(run.messages)[2:] == ["assistant <b>", "toolResult b", "assistant x"]


async def test_a_result_that_a_handler_replaces_is_what_the_turn_tells() -> None:
    session = session_with(make_tool("a"))

    def replace(event: Any) -> Any:
        if event.message.role == "toolResult":
            return event.message.model_copy(update={"content": [TextContent("new")]})
        return None

    session.on("message_end", replace)
    log = Log(session)
    model = ScriptedModel([call("a"), say("x")])
    await session.prompt("go", model=model)
    assert texts(log.of("turn_end")[0].tool_results) == ["toolResult new"]
    assert texts(model.contexts[1].messages)[-1] == "toolResult new"


async def test_a_listener_finds_the_message_in_the_transcript() -> None:
    session = session_with()
    found: list[bool] = []

    def look(event: Any) -> None:
        if event.type == "message_end":
            found.append(session.messages[-1] is event.message)

    session.subscribe(look)
    await session.prompt("hi", model=ScriptedModel([say("x")]))
    assert found == [True, True]


async def test_the_order_is_handlers_then_listeners() -> None:
    session = session_with()
    order: list[str] = []

    async def listener(event: Any) -> None:
        if event.type == "message_end":
            order.append("listener")

    session.subscribe(listener)
    session.on("message_end", lambda _event: order.append("handler"))
    await session.prompt("hi", model=ScriptedModel([say("x")]))
    assert order == ["handler", "listener"] * 2
