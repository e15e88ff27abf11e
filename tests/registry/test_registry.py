"""Registered, active, callable, declared: what each registration and activation changes."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pi_kernel import PiKernelError
from pi_kernel.registry.filters import NameFilter
from pi_kernel.registry.registry import ToolRegistry
from tests.support.engine import make_tool

EXPOSURES = ("direct", "model-only", "codemode", "deferred", "hidden")


def registry_with(*tools: Any, allow: Any = None, deny: Any = ()) -> ToolRegistry:
    registry = ToolRegistry(NameFilter(allow, deny))
    for tool in tools:
        registry.register(make_tool(tool) if isinstance(tool, str) else tool)
    return registry


def one_of_each() -> ToolRegistry:
    return registry_with(*(make_tool(exposure, exposure=exposure) for exposure in EXPOSURES))


# -- exposure --------------------------------------------------------------------------------------


def test_exposure_decides_what_registering_does() -> None:
    registry = one_of_each()
    assert list(registry.registered) == list(EXPOSURES)
    assert list(registry.active) == ["direct", "model-only"]
    assert list(registry.declared) == ["direct", "model-only"]
    assert list(registry.callable) == ["direct", "codemode", "deferred"]
    assert list(registry.reachable) == ["direct", "model-only", "codemode", "deferred"]


def test_activating_everything_declares_all_but_hidden_and_changes_little_of_what_is_callable() -> (
    None
):
    registry = one_of_each()
    registry.set_active(EXPOSURES)
    assert list(registry.active) == ["direct", "model-only", "codemode", "deferred"]
    assert list(registry.declared) == ["direct", "model-only", "codemode", "deferred"]
    assert list(registry.callable) == ["direct", "codemode", "deferred"]


def test_deactivating_everything_leaves_codemode_and_deferred_callable() -> None:
    registry = one_of_each()
    registry.set_active([])
    assert list(registry.active) == []
    assert list(registry.callable) == ["codemode", "deferred"]
    assert [name for name in EXPOSURES if registry.get_callable(name)] == ["codemode", "deferred"]


@pytest.mark.parametrize("exposure", ["direct", "model-only"])
def test_default_active_false_waits_to_be_switched_on(exposure: Any) -> None:
    registry = registry_with(make_tool("a", exposure=exposure, default_active=False))
    assert list(registry.active) == list(registry.callable) == []
    registry.set_active(["a"])
    assert list(registry.active) == ["a"]


@pytest.mark.parametrize("exposure", ["codemode", "deferred"])
def test_default_active_means_nothing_for_other_exposures(exposure: Any) -> None:
    registry = registry_with(make_tool("a", exposure=exposure, default_active=True))
    assert list(registry.active) == []
    assert list(registry.callable) == ["a"]


# -- order -----------------------------------------------------------------------------------------


def test_tools_that_stay_active_keep_their_position() -> None:
    registry = registry_with("a", "b", "c", "d")
    registry.set_active(["a", "b"])
    registry.set_active(["b", "a", "c"])
    assert list(registry.active) == ["a", "b", "c"]
    registry.set_active(["c", "b", "a"])
    assert list(registry.active) == ["a", "b", "c"]
    registry.set_active(["d", "c", "a"])
    assert list(registry.active) == ["a", "c", "d"]
    registry.set_active(["b", "a", "c", "d"])
    assert list(registry.active) == ["a", "c", "d", "b"]


def test_unknown_names_and_repetitions_are_ignored() -> None:
    registry = registry_with("a", "b")
    registry.set_active(["b", "nope", "b"])
    assert list(registry.active) == ["b"]
    registry.register(make_tool("nope", exposure="codemode"))
    assert list(registry.active) == ["b"]


def test_modifiers_change_the_current_set() -> None:
    registry = registry_with("a", "b", make_tool("c", exposure="deferred"))
    registry.set_active(["-a", "+c"])
    assert list(registry.active) == ["b", "c"]
    registry.set_active(["+a"])
    assert list(registry.active) == ["b", "c", "a"]


def test_a_replaced_tool_keeps_its_places() -> None:
    registry = registry_with("a", "b", make_tool("c", exposure="codemode"), "d")
    new = make_tool("a", description="new")
    registry.register(new)
    registry.register(make_tool("c", exposure="codemode", description="new"))
    assert list(registry.registered) == ["a", "b", "c", "d"]
    assert list(registry.active) == ["a", "b", "d"]
    assert list(registry.callable) == ["a", "b", "c", "d"]
    assert registry.active["a"] is new


# -- sources ---------------------------------------------------------------------------------------


def described(registry: ToolRegistry) -> dict[str, str]:
    return {name: tool.description for name, tool in registry.registered.items()}


def test_later_sources_win_and_stand_later() -> None:
    registry = ToolRegistry()
    registry.register(make_tool("mine", description="custom"), source="custom")
    registry.register(make_tool("theirs", description="extension"), source="extension")
    registry.register(make_tool("ours", description="builtin"), source="builtin")
    registry.register(make_tool("ours", description="extension"), source="extension")
    registry.register(make_tool("ours", description="custom"), source="custom")
    assert described(registry) == {"ours": "custom", "theirs": "extension", "mine": "custom"}
    assert list(registry.registered) == ["ours", "theirs", "mine"]
    assert list(registry.callable) == ["ours", "theirs", "mine"]


@pytest.mark.parametrize("source", ["builtin", "extension"])
def test_an_earlier_source_does_not_replace_a_later_one(source: Any) -> None:
    registry = registry_with(make_tool("a", description="custom"))
    assert registry.register(make_tool("a", description="other"), source=source) is False
    assert described(registry) == {"a": "custom"}
    assert registry.source_of("a") == ("custom", None)


def test_of_two_extensions_the_first_to_register_a_name_wins() -> None:
    registry = ToolRegistry()
    for extension, text in (("x", "first"), ("y", "other"), ("x", "second")):
        registry.register(make_tool("a", description=text), source="extension", extension=extension)
    assert described(registry) == {"a": "second"}
    assert registry.source_of("a") == ("extension", "x")


@pytest.mark.parametrize("thing", [None, "read", print, {"name": "a"}])
def test_only_definitions_can_be_registered(thing: Any) -> None:
    with pytest.raises(PiKernelError, match=r"^register\(\) takes a ToolDefinition"):
        ToolRegistry().register(thing)


@pytest.mark.parametrize("schema", [None, [], "object", True])
def test_a_schema_must_be_an_object(schema: Any) -> None:
    with pytest.raises(
        PiKernelError,
        match=r'^Tool "a" registered by extension "\S+" must define an object parameter schema\.$',
    ):
        make_tool("a", parameters=schema)


# -- re-activation ---------------------------------------------------------------------------------


def test_a_tool_that_was_switched_off_stays_off() -> None:
    registry = registry_with("a", "b")
    registry.set_active(["b"])
    registry.refresh()
    registry.register(make_tool("c"))
    registry.register(make_tool("a", description="new"))
    assert list(registry.active) == ["b", "c"]


def test_a_tool_that_becomes_hidden_drops_out_and_comes_back_with_direct() -> None:
    registry = registry_with("a", "b")
    registry.register(make_tool("a", exposure="hidden"))
    assert list(registry.active) == ["b"]
    assert list(registry.registered) == ["a", "b"]
    registry.refresh(["a", "b"])
    assert list(registry.active) == ["b"]
    registry.register(make_tool("a"))
    assert list(registry.active) == ["b", "a"]


@pytest.mark.parametrize("before", ["codemode", "deferred", "hidden"])
@pytest.mark.parametrize("after", ["direct", "model-only"])
def test_a_tool_that_becomes_shown_is_activated_like_a_new_one(before: Any, after: Any) -> None:
    registry = registry_with(make_tool("a", exposure=before))
    registry.register(make_tool("a", exposure=after))
    assert list(registry.active) == ["a"]


def test_a_tool_that_was_switched_off_does_not_come_back_with_another_shown_exposure() -> None:
    registry = registry_with("a")
    registry.set_active([])
    registry.register(make_tool("a", exposure="model-only"))
    assert list(registry.active) == []


def test_an_active_tool_that_becomes_deferred_stays_active() -> None:
    registry = registry_with("a")
    registry.register(make_tool("a", exposure="deferred"))
    assert list(registry.active) == ["a"]


def test_refreshing_from_given_names_adds_nothing_of_itself() -> None:
    registry = registry_with("a", "b", make_tool("off", default_active=False))
    registry.refresh(["off", "nope", "b"])
    assert list(registry.active) == ["b", "off"]
    registry.refresh(["+a"])
    assert list(registry.active) == ["b", "off", "a"]


def test_refreshing_may_include_every_tool_of_extensions() -> None:
    registry = registry_with("mine")
    tools: dict[str, dict[str, Any]] = {
        "e": {},
        "off": {"default_active": False},
        "script": {"exposure": "codemode"},
    }
    for name, fields in tools.items():
        registry.register(make_tool(name, **fields), source="extension", extension="x")
    registry.set_active([])
    registry.refresh(["mine"], include_extensions=True)
    assert list(registry.active) == ["mine", "e"]


# -- filters ---------------------------------------------------------------------------------------


def test_denied_tools_are_not_registered_and_deny_beats_allow() -> None:
    registry = registry_with("xa", "xb", "a", deny=["x*"])
    assert list(registry.registered) == ["a"]
    registry = registry_with("xa", "a", allow=["xa", "a"], deny=["x*"])
    assert list(registry.registered) == ["a"]
    registry = registry_with("read", "reread", allow=["re*"], deny=["read"])
    assert list(registry.registered) == ["reread"]


def test_an_allow_list_activates_what_it_names_also_against_default_active() -> None:
    off = make_tool("off", default_active=False)
    mcp = [
        make_tool(f"mcp__s__{kind}", exposure=kind) for kind in ("direct", "deferred", "codemode")
    ]
    registry = registry_with("read", off, "write", *mcp, allow=["read", "off"])
    assert list(registry.registered) == ["read", "off", *(tool.name for tool in mcp)]
    assert list(registry.active) == ["read", "off"]


def test_an_allow_list_does_not_activate_scripted_tools() -> None:
    registry = registry_with(make_tool("a", exposure="codemode"), "b", allow=["*"])
    assert list(registry.active) == ["b"]


def test_an_allow_list_that_names_mcp_tools_keeps_no_others() -> None:
    registry = registry_with(
        "read", "mcp__a__x", "mcp__b__x", "read_mcp_resource", allow=["read", "mcp__a__*"]
    )
    assert list(registry.registered) == list(registry.active) == ["read", "mcp__a__x"]


def test_an_empty_allow_list_registers_nothing() -> None:
    registry = registry_with("a", "mcp__a__x", allow=[])
    assert list(registry.registered) == []


def test_kept_mcp_tools_need_tool_search_and_an_indirect_exposure_to_be_active() -> None:
    deferred = make_tool("mcp__s__deferred", exposure="deferred")
    direct = make_tool("mcp__s__direct")
    names = [deferred.name, direct.name]
    without = registry_with(deferred, direct, allow=["read"])
    without.set_active(names)
    assert list(without.active) == []
    search = make_tool("tool_search", exposure="model-only")
    with_search = registry_with(deferred, direct, search, allow=["tool_search"])
    with_search.set_active(["+mcp__s__deferred", "+mcp__s__direct"])
    assert list(with_search.active) == ["tool_search", "mcp__s__deferred"]
    assert list(with_search.callable) == ["mcp__s__deferred"]


def test_every_registration_activates_again_what_an_allow_list_names() -> None:
    registry = registry_with("a", "b", allow=["*"])
    registry.set_active(["a"])
    assert list(registry.active) == ["a"]
    registry.register(make_tool("c"))
    assert list(registry.active) == ["a", "b", "c"]
    registry.set_active(["a"])
    registry.refresh()
    assert list(registry.active) == ["a", "b", "c"]


def test_plus_and_minus_change_what_is_active_and_register_everything() -> None:
    tools = ["a", "b", make_tool("off", default_active=False), make_tool("s", exposure="codemode")]
    registry = registry_with(*tools, allow=["-a", "+off", "+s"])
    assert list(registry.registered) == ["a", "b", "off", "s"]
    assert list(registry.active) == ["b", "off", "s"]
    registry.register(make_tool("a", description="new"))
    assert "a" not in registry.active
    registry.set_active(["a"])
    assert list(registry.active) == ["a"]


# -- pending names ---------------------------------------------------------------------------------


def test_restored_names_activate_when_they_register_whatever_their_exposure() -> None:
    registry = registry_with("a", "b")
    registry.restore(["a", "late", "script"], ["a", "b", "late", "script"])
    assert list(registry.active) == ["a"]
    assert list(registry.pending) == ["late", "script"]
    registry.register(make_tool("script", exposure="codemode"))
    registry.register(make_tool("late", default_active=False))
    assert list(registry.active) == ["a", "script", "late"]
    assert list(registry.pending) == []


def test_a_restored_branch_gets_new_tools_that_are_no_built_ins() -> None:
    registry = ToolRegistry()
    for name, source in (("built", "builtin"), ("ext", "extension"), ("mine", "custom")):
        registry.register(make_tool(name), source=source)  # type: ignore[arg-type]
    registry.register(make_tool("off", default_active=False))
    registry.register(make_tool("known"))
    registry.restore([], ["known"])
    assert list(registry.active) == ["ext", "mine"]


def test_names_that_a_filter_keeps_out_do_not_become_pending() -> None:
    registry = registry_with(deny=["x*"])
    registry.restore(["xa", "late"], ["xa", "late"])
    assert registry.pending == ("late",)


def test_a_pending_name_that_registers_hidden_waits_on() -> None:
    registry = registry_with()
    registry.restore(["late"], ["late"])
    registry.register(make_tool("late", exposure="hidden"))
    assert (list(registry.active), registry.pending) == ([], ("late",))
    registry.register(make_tool("late", exposure="deferred"))
    assert (list(registry.active), registry.pending) == (["late"], ())


def test_pending_names_are_forgotten_when_a_run_starts() -> None:
    registry = registry_with("a")
    registry.restore(["a", "late"], ["a", "late"])
    registry.clear_pending()
    registry.register(make_tool("late", exposure="deferred"))
    assert list(registry.active) == ["a"]


def test_switching_a_restored_tool_off_forgets_pending_names_and_adding_keeps_them() -> None:
    registry = registry_with("a", "b", make_tool("c", default_active=False))
    registry.restore(["a", "late"], ["a", "b", "late"])
    registry.set_active(["+c"])
    registry.set_active(["-c"])
    assert list(registry.pending) == ["late"]
    registry.set_active(["-a"])
    assert list(registry.pending) == []


def test_plus_and_minus_apply_to_a_restored_branch() -> None:
    registry = registry_with("a", "b", "c", allow=["-a", "+c"])
    registry.restore(["a", "b"], ["a", "b", "c"])
    assert list(registry.active) == ["b", "c"]


# -- is_enabled ------------------------------------------------------------------------------------


def test_a_disabled_tool_is_active_but_neither_executable_nor_callable_nor_reachable() -> None:
    on = {"a": False}
    registry = registry_with(make_tool("a", is_enabled=lambda: on["a"]), "b")
    assert list(registry.active) == ["a", "b"]
    assert list(registry.executable) == list(registry.declared) == ["b"]
    assert list(registry.callable) == list(registry.reachable) == ["b"]
    assert registry.get_callable("a") is None
    assert registry.get_reachable("a") is None
    on["a"] = True
    assert list(registry.executable) == list(registry.callable) == ["a", "b"]
    assert registry.get_reachable("a") is registry.registered["a"]


# -- the mappings ----------------------------------------------------------------------------------


def test_what_the_registry_returns_cannot_change_it() -> None:
    registry = registry_with("a")
    for mapping in (registry.registered, registry.active, registry.callable, registry.declared):
        mapping.clear()
    assert list(registry.registered) == list(registry.active) == ["a"]


def test_declarations_of_an_unchanged_tool_are_the_same_object() -> None:
    registry = registry_with("a")
    first = registry.declarations(registry.executable)["a"]
    assert registry.declarations(registry.executable)["a"] is first
    registry.register(dataclasses.replace(registry.registered["a"], description="new"))
    assert registry.declarations(registry.executable)["a"].description == "new"


def test_declarations_hold_what_json_can() -> None:
    registry = registry_with(make_tool("a", parameters={"type": ("object",), "default": {1: {2}}}))
    declared = registry.declarations(registry.executable)["a"].parameters
    assert declared == {"type": ["object"], "default": {"1": "{2}"}}


# -- many ------------------------------------------------------------------------------------------


@pytest.mark.timeout(15)  # the limit that a cost in proportion to the square would pass
@pytest.mark.parametrize(
    "fields", [{}, {"exposure": "codemode"}, {"allow": ["t*", "hook"]}], ids=str
)
def test_ten_thousand_tools_are_registered_and_activated(fields: Any) -> None:
    count = 10_000
    given = dict(fields)
    registry = ToolRegistry(NameFilter(given.pop("allow", None)))
    registry.register(make_tool("hook", prepare_loadout=lambda _l: {"descriptions": {"hook": "x"}}))
    names = [f"t{n}" for n in range(count)]
    for name in names:
        registry.register(make_tool(name, **given))
    registry.set_active(names)
    assert len(registry.registered) == count + 1
    assert list(registry.active) == names
