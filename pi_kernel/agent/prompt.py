"""What a model must be told before a request: prompt sections and changes of the declared tools."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from pi_kernel.models.system_prompt import replay_sections
from pi_kernel.protocol.messages import Message, SystemMessage
from pi_kernel.protocol.tools import ToolDeclaration
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.registry.loadout import declaration_changes, replay_declarations

__all__ = ("tool_sections", "with_system_changes")

MORE_TOOLS = "Additional tools may be available."
BASH_FOR_FILES = "Use bash for file operations such as listing and searching."
SEARCH_TOOLS = frozenset({"grep", "find", "ls"})
GENERAL_RULES = (
    "Keep answers short and to the point.",
    "Give the paths of the files that you work with.",
)


def tool_sections(tools: Iterable[ToolDefinition]) -> dict[str, str]:
    """Return the prompt sections that tools feed.

    ``tools`` lists the snippets; ``rules`` has the tools' guidelines in the order of the tools,
    then the general ones, each once. The texts stand in tags of their names.

    Args:
        tools: The tools that the request shows, in order.

    Source:
        Pi 1.6.0's layout, our words.
    """
    tools = list(tools)
    listed = [f"- {tool.name}: {tool.prompt_snippet}" for tool in tools if tool.prompt_snippet]
    rules = [rule for tool in tools for rule in tool.prompt_guidelines]
    names = {tool.name for tool in tools}
    if "bash" in names and not names & SEARCH_TOOLS:
        rules.append(BASH_FOR_FILES)
    bullets = dict.fromkeys([*rules, *GENERAL_RULES])
    sections = {
        "tools": "\n".join(listed or ["(none)"]) + f"\n\n{MORE_TOOLS}",
        "rules": "\n".join(f"- {rule}" for rule in bullets),
    }
    return {name: f"<{name}>\n{text}\n</{name}>" for name, text in sections.items()}


def with_system_changes(
    transcript: Sequence[Message],
    pending: list[Message],
    *,
    declarations: Mapping[str, ToolDeclaration],
    shown: Sequence[ToolDefinition],
) -> list[Message]:
    """Put what has changed for the model into the messages that are about to be appended.

    The last pending system message takes the changes, whatever tools it spoke of itself; without
    one a new message stands before the first message of another role. No change, no message.

    Args:
        transcript: What is there already.
        pending: What is about to be appended.
        declarations: What the model may call from now on.
        shown: The tools of the request, for the prompt's sections.
    """
    index = max((i for i, m in enumerate(pending) if isinstance(m, SystemMessage)), default=None)
    held = None if index is None else pending[index]
    before = [*transcript, *(m for m in pending if m is not held)]
    added, removed = declaration_changes(replay_declarations(before), declarations)
    sections = _changed_sections(replay_sections([*transcript, *pending]), shown)
    if not isinstance(held, SystemMessage):
        if not added and not removed and not sections:
            return pending
        held = SystemMessage()
        pending = [held, *pending]
    update = {
        "tools_added": added or None,
        "tools_removed": removed or None,
        "sections": {**(held.sections or {}), **sections} or None,
    }
    changed = held.model_copy(update=update)
    return [changed if message is held else message for message in pending]


def _changed_sections(
    current: Mapping[str, str], shown: Sequence[ToolDefinition]
) -> dict[str, str | None]:
    """Return the sections to send; none as long as no tool has anything to say in them."""
    if "tools" not in current and not any(t.prompt_snippet or t.prompt_guidelines for t in shown):
        return {}
    wanted = tool_sections(shown)
    return {name: text for name, text in wanted.items() if current.get(name) != text}
