"""What the model is shown for the active tools, and what a transcript says about them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, overload

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.messages import Message, SystemMessage
from pi_kernel.protocol.tools import ToolDeclaration, ToolNamespace
from pi_kernel.registry.definition import Exposure, ToolDefinition

__all__ = (
    "Loadout",
    "ToolList",
    "ToolLoadout",
    "ToolLoadoutChanges",
    "compute_loadout",
    "declaration_changes",
    "project_messages",
    "replay_declarations",
)


class _ToolSets(Protocol):
    """The sets of tools that a loadout shows; a registry has them."""

    @property
    def active(self) -> Mapping[str, ToolDefinition]: ...
    @property
    def callable(self) -> Mapping[str, ToolDefinition]: ...
    @property
    def registered(self) -> Mapping[str, ToolDefinition]: ...
    def get(self, name: str) -> ToolDefinition | None: ...


class ToolList(Sequence[ToolDefinition]):
    """Tools in order, that can be asked for by name too."""

    def __init__(self, tools: Mapping[str, ToolDefinition]) -> None:
        self._by_name = dict(tools)
        self._tools = tuple(tools.values())

    @overload
    def __getitem__(self, key: int | str) -> ToolDefinition: ...
    @overload
    def __getitem__(self, key: slice) -> Sequence[ToolDefinition]: ...
    def __getitem__(self, key: int | str | slice) -> ToolDefinition | Sequence[ToolDefinition]:
        return self._by_name[key] if isinstance(key, str) else self._tools[key]

    def __contains__(self, item: object) -> bool:
        return item in self._by_name if isinstance(item, str) else item in self._tools

    def __len__(self) -> int:
        return len(self._tools)

    def __repr__(self) -> str:
        return f"[{', '.join(self._by_name)}]"


class ToolLoadout:
    """What a ``prepare_loadout`` hook sees: the tools with their original descriptions.

    The lists are made when they are asked for, so that hooks which need none cost little.
    """

    def __init__(self, sets: _ToolSets) -> None:
        self._sets = sets

    @cached_property
    def declared(self) -> ToolList:
        """The active tools, in order."""
        return ToolList(self._sets.active)

    @cached_property
    def callable(self) -> ToolList:
        """The tools that nested calls can reach, in registry order."""
        return ToolList(self._sets.callable)

    @cached_property
    def registered(self) -> ToolList:
        """Every tool, hidden ones included."""
        return ToolList(self._sets.registered)

    def get_exposure(self, name: str) -> Exposure | None:
        """Return how a registered tool can be reached, or None when there is none."""
        tool = self._sets.get(name)
        return tool.exposure if tool else None

    def get_namespace(self, name: str) -> ToolNamespace | None:
        """Return the namespace of a registered tool."""
        tool = self._sets.get(name)
        return tool.namespace if tool else None

    def get_prompt_guidelines(self, name: str) -> Sequence[str]:
        """Return the guidelines of a registered tool."""
        tool = self._sets.get(name)
        return tool.prompt_guidelines if tool else ()


@dataclass(frozen=True)
class ToolLoadoutChanges:
    """What a ``prepare_loadout`` hook may change."""

    descriptions: Mapping[str, str] = field(default_factory=dict)
    hidden_declarations: Sequence[str] = ()


@dataclass(frozen=True)
class Loadout:
    """The outcome of all hooks: changed descriptions and names left out of requests."""

    descriptions: Mapping[str, str] = field(default_factory=dict)
    hidden: frozenset[str] = frozenset()


def compute_loadout(
    hooked: Sequence[ToolDefinition],
    given: ToolLoadout,
    report: Callable[[str, BaseException], None],
) -> Loadout:
    """Run the hooks of the active tools that have one, in active order.

    Hooks do not see each other's changes. For descriptions a later hook wins, hidden names add
    up. A hook that raises, or answers with rubbish, is reported and contributes nothing.
    """
    descriptions: dict[str, str] = {}
    hidden: set[str] = set()
    for tool in hooked:
        assert tool.prepare_loadout is not None  # noqa: S101 - only tools with a hook come here
        try:
            changes = _read_changes(tool.prepare_loadout(given))
        except Exception as error:  # noqa: BLE001 - one hook must not harm the others
            report("prepare_loadout", error)
            continue
        descriptions |= changes.descriptions
        hidden |= set(changes.hidden_declarations)
    return Loadout(descriptions, frozenset(hidden))


def _read_changes(answer: Any) -> ToolLoadoutChanges:
    if answer is None:
        return ToolLoadoutChanges()
    if inspect.isawaitable(answer):
        if inspect.iscoroutine(answer):
            answer.close()
        raise PiKernelError("prepare_loadout must be a plain function, not an async one")
    if isinstance(answer, Mapping):
        answer = ToolLoadoutChanges(
            answer.get("descriptions") or {},
            answer.get("hidden_declarations", answer.get("hiddenDeclarations")) or (),
        )
    if not isinstance(answer, ToolLoadoutChanges):
        raise PiKernelError(
            "prepare_loadout must return None, a dict or ToolLoadoutChanges,"
            f" got {type(answer).__name__}"
        )
    descriptions: Any = answer.descriptions
    hidden: Any = answer.hidden_declarations
    if not isinstance(descriptions, Mapping) or not _are_texts(
        *descriptions, *descriptions.values()
    ):
        raise PiKernelError("prepare_loadout: descriptions must map names to texts")
    if isinstance(hidden, str) or not _are_texts(*hidden):
        raise PiKernelError("prepare_loadout: hidden_declarations must be a list of names")
    return answer


def _are_texts(*values: object) -> bool:
    return all(isinstance(value, str) for value in values)


def replay_declarations(messages: Iterable[Message]) -> dict[str, ToolDeclaration]:
    """Return the tools that a transcript declares, by applying its changes in order."""
    declared: dict[str, ToolDeclaration] = {}
    for message in messages:
        if isinstance(message, SystemMessage):
            for removed in message.tools_removed or ():
                declared.pop(removed["name"], None)
            for added in message.tools_added or ():
                declared[added.name] = added
    return declared


def declaration_changes(
    before: Mapping[str, ToolDeclaration], now: Mapping[str, ToolDeclaration]
) -> tuple[list[ToolDeclaration], list[dict[str, str]]]:
    """Return what was added and removed; a changed declaration is both."""
    removed = [{"name": n} for n, tool in before.items() if not _are_equal(tool, now.get(n))]
    added = [tool for name, tool in now.items() if not _are_equal(tool, before.get(name))]
    return added, removed


def _are_equal(one: ToolDeclaration, other: ToolDeclaration | None) -> bool:
    return one is other or one.same_as(other)


def project_messages(messages: Iterable[Message], hidden: frozenset[str]) -> list[Message]:
    """Return the messages of a request: declarations of hidden names are left out everywhere."""
    if not hidden:
        return list(messages)
    projected: list[Message] = []
    for message in messages:
        if isinstance(message, SystemMessage) and (message.tools_added or message.tools_removed):
            added = [tool for tool in message.tools_added or () if tool.name not in hidden]
            removed = [tool for tool in message.tools_removed or () if tool["name"] not in hidden]
            message = message.model_copy(  # noqa: PLW2901 - the projected form takes its place
                update={"tools_added": added or None, "tools_removed": removed or None}
            )
        projected.append(message)
    return projected
