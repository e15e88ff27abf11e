"""What loadout hooks see, what they may change, and what a transcript adds up to."""

from __future__ import annotations

from typing import Any

import pytest

from pi_kernel import ToolNamespace
from pi_kernel.protocol.messages import Message, SystemMessage, UserMessage
from pi_kernel.protocol.tools import ToolDeclaration
from pi_kernel.registry.loadout import (
    ToolLoadoutChanges,
    declaration_changes,
    project_messages,
    replay_declarations,
)
from pi_kernel.registry.registry import ToolRegistry
from tests.support.engine import Notes, make_tool

Reports = list[tuple[str, str]]


def registry_with(*tools: Any) -> tuple[ToolRegistry, Reports]:
    reports: Reports = []
    registry = ToolRegistry(report=lambda event, error: reports.append((event, str(error))))
    for tool in tools:
        registry.register(tool, announce=False)
    registry.apply_loadout()
    return registry, reports


def test_hooks_see_the_sets_with_their_original_descriptions() -> None:
    seen: list[Any] = []
    namespace = ToolNamespace(name="mcp__docs")

    def hook(loadout: Any) -> Any:
        seen.append(loadout)
        return {"descriptions": {"a": "changed"}}

    registry_with(
        make_tool("a", prepare_loadout=hook, prompt_guidelines=["Look."], namespace=namespace),
        make_tool("s", exposure="codemode"),
        make_tool("b", prepare_loadout=hook),
        make_tool("h", exposure="hidden"),
    )
    first, second = seen
    assert first is second
    assert [tool.name for tool in first.declared] == ["a", "b"]
    assert [tool.description for tool in first.declared] == ["The tool a.", "The tool b."]
    assert [tool.name for tool in first.callable] == ["a", "s", "b"]
    assert [tool.name for tool in first.registered] == ["a", "s", "b", "h"]
    assert first.get_exposure("s") == "codemode"
    assert first.get_namespace("a") == namespace
    assert first.get_prompt_guidelines("a") == ("Look.",)
    assert first.get_exposure("no") is first.get_namespace("no") is None
    assert first.get_prompt_guidelines("no") == ()


def test_the_lists_can_be_asked_by_name_and_by_place() -> None:
    seen: list[Any] = []
    registry_with(make_tool("a", prepare_loadout=seen.append), make_tool("b"))
    tools = seen[0].declared
    assert ("a" in tools, "c" in tools, tools["a"] in tools) == (True, False, True)
    assert tools[1] is tools["b"]
    assert (len(tools), tools[:1], repr(tools)) == (2, (tools["a"],), "[a, b]")


def test_hooks_run_in_active_order_and_a_later_description_wins() -> None:
    order = Notes()

    def hook(name: str) -> Any:
        return lambda _l: order.add(name, {"descriptions": {"x": name, name: name}})

    registry, _ = registry_with(
        make_tool("x"), *(make_tool(name, prepare_loadout=hook(name)) for name in "abc")
    )
    assert registry.declared["x"].description == "c"
    registry.set_active(["x", "b", "c"])
    registry.set_active(["x", "b", "c", "a"])
    assert order == [*"abc", *"bc", *"bca"]
    assert {name: tool.description for name, tool in registry.declared.items()} == {
        "x": "a", "b": "b", "c": "c", "a": "a",
    }  # fmt: skip


def test_hidden_names_add_up() -> None:
    registry, _ = registry_with(
        make_tool("x"),
        make_tool("y"),
        make_tool("a", prepare_loadout=lambda _l: {"hidden_declarations": ["x"]}),
        make_tool("b", prepare_loadout=lambda _l: ToolLoadoutChanges({}, ["y", "no"])),
    )
    assert list(registry.declared) == ["a", "b"]
    assert list(registry.active) == list(registry.callable) == ["x", "y", "a", "b"]
    assert registry.hidden_declarations == {"x", "y", "no"}


def test_only_active_tools_are_asked() -> None:
    asked: list[str] = []
    off = make_tool("off", default_active=False, prepare_loadout=lambda _l: asked.append("off"))
    registry, _ = registry_with(off)
    assert asked == []
    registry.set_active(["off"])
    assert asked == ["off"]
    registry.set_active([])
    assert asked == ["off"]


def test_what_a_hook_changed_goes_with_its_tool() -> None:
    registry, _ = registry_with(
        make_tool("x"),
        make_tool(
            "a",
            prepare_loadout=lambda _l: {"descriptions": {"x": "new"}, "hidden_declarations": ["a"]},
        ),
    )
    assert registry.declared["x"].description == "new"
    registry.set_active(["x"])
    assert registry.declared["x"].description == "The tool x."
    assert registry.hidden_declarations == frozenset()


def test_every_application_asks_again() -> None:
    asked: list[int] = []
    registry, _ = registry_with(make_tool("a", prepare_loadout=lambda _l: asked.append(1)))
    registry.register(make_tool("b"))
    registry.set_active(["a"])
    registry.refresh()
    registry.restore(["a"], ["a", "b"])
    assert len(asked) == 5


@pytest.mark.parametrize(
    "answer",
    [
        "text",
        3,
        ["a"],
        {"descriptions": ["a"]},
        {"descriptions": {"a": 1}},
        {"descriptions": {1: "a"}},
        {"hidden_declarations": "a"},
        {"hidden_declarations": [1]},
    ],
)
def test_rubbish_is_reported_and_ignored(answer: Any) -> None:
    registry, reports = registry_with(
        make_tool("a", prepare_loadout=lambda _l: answer),
        make_tool("b", prepare_loadout=lambda _l: {"descriptions": {"a": "b"}}),
    )
    assert [event for event, _text in reports] == ["prepare_loadout"]
    assert list(registry.declared) == ["a", "b"]
    assert registry.declared["a"].description == "b"


def test_an_async_hook_is_reported() -> None:
    async def hook(_loadout: Any) -> None: ...

    _registry, reports = registry_with(make_tool("a", prepare_loadout=hook))
    assert reports == [
        ("prepare_loadout", "prepare_loadout must be a plain function, not an async one")
    ]


def test_hidden_declarations_may_have_the_wires_name() -> None:
    registry, _ = registry_with(
        make_tool("a", prepare_loadout=lambda _l: {"hiddenDeclarations": ["a"]})
    )
    assert list(registry.declared) == []


# -- transcripts -----------------------------------------------------------------------------------


def declaration(name: str, **fields: Any) -> ToolDeclaration:
    return ToolDeclaration(**{"name": name, "description": name, "parameters": {}} | fields)


def test_a_transcript_is_replayed_removed_then_added() -> None:
    a, b, new = declaration("a"), declaration("b"), declaration("a", description="new")
    messages: list[Message] = [
        SystemMessage(tools_added=[a, b]),
        UserMessage(content="x"),
        SystemMessage(tools_removed=[{"name": "a"}, {"name": "no"}], tools_added=[new]),
    ]
    assert replay_declarations(messages) == {"b": b, "a": new}
    assert list(replay_declarations(messages)) == ["b", "a"]


def test_declarations_are_equal_when_their_wire_forms_are() -> None:
    plain = declaration("a", parameters={"type": "object"})
    same = declaration("a", parameters={"type": "object"}, constrained_sampling=None)
    assert declaration_changes({"a": plain}, {"a": same}) == ([], [])
    for other in (
        declaration("a", parameters={"type": "object"}, constrained_sampling=False),
        declaration("a", parameters={"type": "object", "x": 1}),
        declaration("a", parameters={"type": "object"}, description="other"),
    ):
        assert declaration_changes({"a": plain}, {"a": other}) == ([other], [{"name": "a"}])


def test_the_order_of_tools_is_no_change() -> None:
    a, b = declaration("a"), declaration("b")
    assert declaration_changes({"a": a, "b": b}, {"b": b, "a": a}) == ([], [])


def test_without_hidden_names_messages_are_the_same_objects() -> None:
    messages: list[Message] = [SystemMessage(tools_added=[declaration("a")])]
    assert project_messages(messages, frozenset())[0] is messages[0]
