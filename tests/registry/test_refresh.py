"""The registry against a plain reading of the rules, in which every change rebuilds everything."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.registry.filters import NameFilter, is_mcp_name
from pi_kernel.registry.registry import ToolRegistry
from tests.support.engine import make_tool

NAMES = ("a", "b", "tool_search", "mcp__s__t", "list_mcp_resources")
EXPOSURES = ("direct", "model-only", "codemode", "deferred", "hidden")
SHOWN = ("direct", "model-only")
RANKS = {"builtin": 0, "extension": 1, "custom": 2}


class Plain:
    """The rules as sentences; slow, with nothing remembered but what they name."""

    def __init__(self, allow: list[str] | None, deny: list[str]) -> None:
        self.allow, self.deny = allow, deny
        self.registrations: list[tuple[str, Any, str]] = []
        self.active: list[str] = []
        self.pending: list[str] = []
        self.restored: list[str] = []
        self.registry: dict[str, Any] = {}

    def may_register(self, name: str) -> bool:
        if name in self.deny:
            return False
        if self.allow is None or name in self.allow:
            return True
        has_mcp_entry = any(entry.startswith("mcp__") for entry in self.allow)
        return is_mcp_name(name) and bool(self.allow) and not has_mcp_entry

    def may_be_active(self, name: str) -> bool:
        tool = self.registry.get(name)
        if tool is None or tool.exposure == "hidden":
            return False
        if self.allow is None or name in self.allow:
            return True
        return tool.exposure != "direct" and "tool_search" in self.registry

    def is_activated(self, name: str, registry: dict[str, Any]) -> bool:
        return registry[name].exposure in SHOWN and registry[name].default_active

    def register(self, tool: Any, source: str) -> None:
        self.registrations.append((tool.name, tool, source))
        self.refresh()

    def refresh(self, names: list[str] | None = None) -> None:
        before = self.registry
        self.registry = {}
        for source in RANKS:
            for name, tool, its_source in self.registrations:
                if its_source == source and self.may_register(name):
                    self.registry[name] = tool
        wanted = list(self.active if names is None else names)
        if self.allow is not None:
            wanted += [
                n for n, t in self.registry.items() if n in self.allow and t.exposure in SHOWN
            ]
        elif names is None:
            wanted += [
                name
                for name in self.registry
                if self.is_activated(name, self.registry)
                and not (name in before and self.is_activated(name, before))
            ]
        self.apply([*wanted, *self.pending])

    def apply(self, wanted: list[str]) -> None:
        kept = [name for name in self.active if name in wanted]
        self.active = [n for n in dict.fromkeys([*kept, *wanted]) if self.may_be_active(n)]
        self.pending = [name for name in self.pending if name not in self.active]

    def set_active(self, names: list[str]) -> None:
        before = self.active
        self.apply(names)
        if any(name in self.restored and name not in self.active for name in before):
            self.pending = []

    def restore(self, declared: list[str], mentioned: list[str]) -> None:
        built_in = {name for name, _tool, source in self.registrations if source == "builtin"}
        new = [
            name
            for name in self.registry
            if name not in mentioned
            and name not in built_in
            and self.is_activated(name, self.registry)
        ]
        self.restored = declared
        self.pending = [n for n in dict.fromkeys([*declared, *new]) if self.may_register(n)]
        self.apply([*declared, *new])

    @property
    def callable(self) -> list[str]:
        return [
            name
            for name, tool in self.registry.items()
            if tool.exposure in ("codemode", "deferred")
            or (tool.exposure == "direct" and name in self.active)
        ]


names = st.lists(st.sampled_from(NAMES), max_size=4)
tools = st.builds(
    lambda name, exposure, default_active: make_tool(
        name, exposure=exposure, default_active=default_active
    ),
    st.sampled_from(NAMES),
    st.sampled_from(EXPOSURES),
    st.booleans(),
)
changes = st.lists(
    st.one_of(
        st.tuples(st.just("register"), tools, st.sampled_from(tuple(RANKS))),
        st.tuples(st.just("set_active"), names),
        st.tuples(st.just("refresh"), st.none() | names),
        st.tuples(st.just("restore"), names.map(lambda n: list(dict.fromkeys(n))), names),
        st.tuples(st.just("clear_pending")),
    ),
    max_size=12,
)


@given(st.none() | names, names, changes)
def test_small_steps_come_to_what_the_rules_say(
    allow: list[str] | None, deny: list[str], steps: list[tuple[Any, ...]]
) -> None:
    plain, registry = Plain(allow, deny), ToolRegistry(NameFilter(allow, deny))
    for step, *arguments in steps:
        if step == "register":
            tool, source = arguments
            plain.register(tool, source)
            registry.register(tool, source=source)
        elif step == "clear_pending":
            plain.pending = []
            registry.clear_pending()
        else:
            getattr(plain, step)(*arguments)
            getattr(registry, step)(*arguments)
        assert list(registry.registered) == list(plain.registry)
        assert registry.registered == plain.registry
        assert list(registry.active) == plain.active
        assert list(registry.callable) == plain.callable
        assert list(registry.pending) == plain.pending
