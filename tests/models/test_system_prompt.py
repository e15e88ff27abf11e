"""What system messages add up to."""

from __future__ import annotations

from pi_kernel import TextContent
from pi_kernel.models import ModelContext
from pi_kernel.models.system_prompt import replay_sections, system_prompt
from pi_kernel.protocol.messages import Message, SystemMessage, UserMessage

FIRST = SystemMessage(content="Be kind.", sections={"tools": "T1", "rules": "R1"})
SECOND = SystemMessage(content="", sections={"tools": "T2", "extra": "E", "rules": None})
THIRD = SystemMessage(content=[TextContent("Be"), TextContent("short.")], sections={"no": None})


def test_contents_are_joined_and_sections_follow_as_they_are_at_the_end() -> None:
    messages: list[Message] = [FIRST, UserMessage(content="hi"), SECOND, THIRD]
    assert system_prompt(messages) == "Be kind.\n\nBe\nshort.\n\nT2\n\nE"
    assert ModelContext(messages).system_prompt == system_prompt(messages)


def test_a_section_is_replaced_in_its_place_and_none_deletes_it() -> None:
    assert replay_sections([FIRST, SECOND]) == {"tools": "T2", "extra": "E"}
    assert list(replay_sections([FIRST, SystemMessage(sections={"tools": "T3"})])) == [
        "tools",
        "rules",
    ]


def test_without_system_messages_there_is_no_text() -> None:
    assert system_prompt([UserMessage(content="hi"), SystemMessage()]) == ""
