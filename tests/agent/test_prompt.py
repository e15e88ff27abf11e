"""The prompt sections that tools feed, and how changes are merged into system messages."""

from __future__ import annotations

import dataclasses
from typing import Any

from pi_kernel.agent.prompt import tool_sections, with_system_changes
from pi_kernel.models import ScriptedModel, say
from pi_kernel.protocol.messages import Message, SystemMessage, UserMessage
from pi_kernel.protocol.tools import ToolDeclaration
from tests.support.engine import make_tool, session_with, texts

GENERAL = (
    "- Keep answers short and to the point.\n- Give the paths of the files that you work with."
)


def declare(*names: str, description: str = "d") -> dict[str, ToolDeclaration]:
    return {
        name: ToolDeclaration(name=name, description=description, parameters={}) for name in names
    }


def changed(
    transcript: list[Message], pending: list[Message], now: dict[str, ToolDeclaration]
) -> list[Message]:
    return with_system_changes(transcript, pending, declarations=now, shown=[])


def test_snippets_are_listed_and_tools_without_one_are_not() -> None:
    tools = [make_tool("a", prompt_snippet=" reads\n  files "), make_tool("b")]
    assert tool_sections(tools)["tools"] == (
        "<tools>\n- a: reads files\n\nAdditional tools may be available.\n</tools>"
    )


def test_without_snippets_the_list_says_so() -> None:
    assert tool_sections([make_tool("a")])["tools"] == (
        "<tools>\n(none)\n\nAdditional tools may be available.\n</tools>"
    )


def test_rules_stand_in_the_order_of_the_tools_each_once_then_the_general_ones() -> None:
    tools = [
        make_tool("b", prompt_guidelines=[" two ", "", "one"]),
        make_tool("a", prompt_guidelines=["one", "three"]),
    ]
    assert tool_sections(tools)["rules"] == (f"<rules>\n- two\n- one\n- three\n{GENERAL}\n</rules>")


def test_bash_is_named_for_files_only_while_no_search_tool_is_there() -> None:
    hint = "Use bash for file operations"
    assert hint in tool_sections([make_tool("bash")])["rules"]
    for name in ("grep", "find", "ls"):
        assert hint not in tool_sections([make_tool("bash"), make_tool(name)])["rules"]
    assert hint not in tool_sections([make_tool("read")])["rules"]


async def test_sections_are_sent_once_and_again_when_they_change() -> None:
    a = make_tool("a", prompt_snippet="reads", prompt_guidelines=["Look first."])
    session = session_with(a)
    model = ScriptedModel([say("x")] * 4)
    await session.prompt("one", model=model)
    first = session.messages[0].sections  # type: ignore[union-attr]
    assert first == tool_sections([a])
    await session.prompt("two", model=model)
    assert texts(session.messages)[3:] == ["user two", "assistant x"]
    session.register(dataclasses.replace(a, prompt_snippet="reads files"))
    await session.prompt("three", model=model)
    patch: Any = session.messages[5]
    assert list(patch.sections) == ["tools"]
    assert patch.tools_added is patch.tools_removed is None
    session.set_active([])
    await session.prompt("four", model=model)
    last: Any = session.messages[8]
    assert texts([last]) == ["system -a"]
    assert last.sections == tool_sections([])
    assert model.contexts[-1].system_prompt == (
        "<tools>\n(none)\n\nAdditional tools may be available.\n</tools>\n\n"
        f"<rules>\n{GENERAL}\n</rules>"
    )


async def test_a_session_whose_tools_say_nothing_has_no_sections() -> None:
    session = session_with(make_tool("a"))
    await session.prompt("go", model=ScriptedModel([say("x")]))
    assert session.messages[0].sections is None  # type: ignore[union-attr]


async def test_hidden_tools_are_left_out_of_the_sections() -> None:
    a = make_tool("a", prompt_snippet="reads", prompt_guidelines=["Look first."])
    hide = make_tool(
        "hide",
        prompt_snippet="hides",
        prepare_loadout=lambda _l: {"hidden_declarations": ["a"]},
    )
    session = session_with(a, hide)
    await session.prompt("go", model=ScriptedModel([say("x")]))
    assert session.messages[0].sections == tool_sections([hide])  # type: ignore[union-attr]


# -- merging ---------------------------------------------------------------------------------------


def test_no_change_leaves_the_pending_messages_alone() -> None:
    pending: list[Message] = [UserMessage(content="x")]
    assert changed(
        [SystemMessage(tools_added=[*declare("a").values()])], pending, declare("a")
    ) is (pending)


def test_a_new_message_stands_before_the_others_or_at_the_end() -> None:
    assert texts(changed([], [UserMessage(content="x")], declare("a"))) == ["system +a", "user x"]
    assert texts(changed([], [], declare("a"))) == ["system +a"]


def test_the_last_pending_system_message_takes_the_change_whatever_it_said_of_tools() -> None:
    pending: list[Message] = [
        SystemMessage(content="one"),
        UserMessage(content="x"),
        SystemMessage(
            content="two", tools_added=[*declare("z").values()], tools_removed=[{"name": "y"}]
        ),
        UserMessage(content="y"),
    ]
    result = changed([], pending, declare("a"))
    assert texts(result) == ["system", "user x", "system +a", "user y"]
    assert [m.content for m in result] == ["one", "x", "two", "y"]


def test_a_pending_system_message_that_is_right_already_keeps_its_fields() -> None:
    told = SystemMessage(content="x", tools_added=[*declare("a").values()])
    assert changed([], [told], declare("a")) == [told]
    empty = SystemMessage(content="x", tools_added=[*declare("z").values()])
    assert changed([], [empty], {}) == [empty.model_copy(update={"tools_added": None})]


def test_an_earlier_pending_system_message_counts_as_told() -> None:
    first = SystemMessage(tools_added=[*declare("a").values()])
    result = changed([], [first, SystemMessage(content="two")], declare("a", "b"))
    assert texts(result) == ["system +a", "system +b"]


def test_a_changed_declaration_is_removed_and_added() -> None:
    before: list[Message] = [SystemMessage(tools_added=[*declare("a", "b").values()])]
    now = declare("b") | declare("a", description="new")
    assert texts(changed(before, [], now)) == ["system -a +a"]
    gone = declare("c")
    assert texts(changed(before, [], gone)) == ["system -a -b +c"]
