"""What the system messages of a transcript add up to: the instructions that a model reads."""

from __future__ import annotations

from collections.abc import Iterable

from pi_kernel.protocol.messages import Message, SystemMessage

__all__ = ("replay_sections", "system_prompt")


def replay_sections(messages: Iterable[Message]) -> dict[str, str]:
    """Return the prompt's sections by name, as the system messages leave them.

    A later text replaces an earlier one in its place; None deletes the section.
    """
    sections: dict[str, str] = {}
    for message in messages:
        if isinstance(message, SystemMessage):
            for name, text in (message.sections or {}).items():
                if text is None:
                    sections.pop(name, None)
                else:
                    sections[name] = text
    return sections


def system_prompt(messages: Iterable[Message]) -> str:
    r"""Return the whole text: the contents, then the sections, with blank lines between.

    Source:
        Pi 1.6.0's rules of replay.

    Example:
        >>> rules = "<rules>\n- Ask first.\n</rules>"
        >>> system_prompt([SystemMessage(content="Be kind.", sections={"rules": rules})])
        'Be kind.\n\n<rules>\n- Ask first.\n</rules>'
    """
    messages = list(messages)
    contents = [_text(m) for m in messages if isinstance(m, SystemMessage)]
    texts = [*contents, *replay_sections(messages).values()]
    return "\n\n".join(text for text in texts if text)


def _text(message: SystemMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(block.text for block in message.content)
