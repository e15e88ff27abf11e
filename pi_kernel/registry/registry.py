"""`ToolRegistry`: what is registered, active, callable and declared."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.tools import ToolDeclaration
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.registry.filters import NameFilter, apply_modifiers
from pi_kernel.registry.loadout import Loadout, ToolLoadout, compute_loadout
from pi_kernel.registry.table import Source, ToolTable

__all__ = ("Source", "ToolRegistry")

SHOWN = frozenset({"direct", "model-only"})
SCRIPTED = frozenset({"codemode", "deferred"})
TOOL_SEARCH = "tool_search"
"""The tool that makes MCP tools usable which an allow list does not name."""

Report = Callable[[str, BaseException], None]


class ToolRegistry:
    """Holds tools by name and the ordered set of active ones.

    Tools cannot be unregistered: register the name again with ``exposure="hidden"``. A
    registration costs the same however many tools there are.

    Args:
        name_filter: Which names may be registered; None lets everything in.
        report: Told when a loadout hook or a tool's ``is_enabled`` fails: what it was, and how.
    """

    def __init__(self, name_filter: NameFilter | None = None, report: Report | None = None) -> None:
        self._filter = name_filter or NameFilter()
        self._report = report or (lambda _event, _error: None)
        self._table = ToolTable()
        self._tools = self._table.by_name
        self._active: dict[str, int] = {}
        """Active names in order, each with a number that grows along it."""
        self._next_place = 0
        self._auto: set[str] = set()
        self._pending: dict[str, None] = {}
        self._restored: frozenset[str] = frozenset()
        self._is_narrowed = False
        """Whether tools that the allow list wants may be missing in the active set."""
        self._loadout = Loadout()
        self._with_loadout_hook: set[str] = set()
        self._declarations: dict[str, tuple[ToolDefinition, ToolDeclaration]] = {}

    # -- registration ------------------------------------------------------------------------

    def register(
        self,
        definition: ToolDefinition,
        *,
        source: Source = "custom",
        extension: str | None = None,
        announce: bool = True,
    ) -> bool:
        """Add or replace a tool, and activate it when its exposure says so.

        Args:
            definition: The tool.
            source: Who brings it; a later source wins. Of two extensions the first wins.
            extension: Which extension brings it.
            announce: Whether loadout hooks run; False while many are added.

        Returns:
            Whether the tool is registered: a filter or another source may keep it out.

        Raises:
            PiKernelError: If it is not a `ToolDefinition`.
        """
        if not isinstance(definition, ToolDefinition):
            raise PiKernelError(
                f"register() takes a ToolDefinition, got {type(definition).__name__};"
                " decorate a function with @tool or use define_tool()"
            )
        name = definition.name
        is_in = self._filter.may_register(name) and self._table.put(definition, source, extension)
        if self._is_narrowed or (name == TOOL_SEARCH and self._pending):
            wanted = dict.fromkeys(self._active) | self._allowed_names() | self._pending
            self._replace_active(wanted)
        if is_in:
            _note(name, self._with_loadout_hook, definition.prepare_loadout is not None)
            self._reconsider(name)
        if announce:
            self.apply_loadout()
        return is_in

    def _reconsider(self, name: str) -> None:
        """Bring one name's place in the active set up to date after its registration."""
        tool = self._tools[name]
        was_auto = name in self._auto
        is_auto = self._is_activated_on_registration(tool)
        _note(name, self._auto, is_auto)
        if not self._may_be_active(tool):
            self._active.pop(name, None)
            return
        is_wanted = is_auto and not was_auto
        if self._filter.has_allow_list:
            is_wanted = self._is_allowed(tool)
        if is_wanted or name in self._pending:
            self._activate(name)
        if name in self._active:
            self._pending.pop(name, None)

    def _is_activated_on_registration(self, tool: ToolDefinition) -> bool:
        if self._filter.is_switched_off(tool.name):
            return False
        is_shown = tool.exposure in SHOWN and tool.default_active
        return is_shown or self._filter.is_switched_on(tool.name)

    def _is_allowed(self, tool: ToolDefinition) -> bool:
        """Whether the allow list makes the tool active, also against its ``default_active``."""
        return tool.exposure in SHOWN and self._filter.is_allowed_by_name(tool.name)

    def _allowed_names(self) -> dict[str, None]:
        return {name: None for name, tool in self._table.tools.items() if self._is_allowed(tool)}

    def _may_be_active(self, tool: ToolDefinition) -> bool:
        if tool.exposure == "hidden":
            return False
        if self._filter.is_kept_mcp(tool.name):
            return tool.exposure != "direct" and TOOL_SEARCH in self._tools
        return True

    # -- the active set ----------------------------------------------------------------------

    def _activate(self, name: str) -> None:
        if name not in self._active:
            self._active[name] = self._next_place
            self._next_place += 1

    def _replace_active(self, wanted: Mapping[str, object]) -> None:
        """Make the wanted names the active set; what stays active keeps its position."""
        kept = [name for name in self._active if name in wanted]
        self._active = {}
        for name in (*kept, *wanted):
            tool = self._tools.get(name)
            if tool is not None and self._may_be_active(tool):
                self._activate(name)
                self._pending.pop(name, None)
        self._is_narrowed = False

    def set_active(self, names: Iterable[str]) -> None:
        """Replace the active set; unknown and hidden names are ignored.

        Tools that stay active keep their position, new ones are appended in the given order.
        ``+name`` and ``-name`` change the current set instead.
        """
        before = self._active
        self._replace_active(dict.fromkeys(apply_modifiers(before, names)))
        self._is_narrowed = self._filter.has_allow_list
        if any(name in self._restored and name not in self._active for name in before):
            self._pending.clear()
        self.apply_loadout()

    def refresh(
        self, names: Iterable[str] | None = None, *, include_extensions: bool = False
    ) -> None:
        """Compute the next active set from the given or the current one.

        Args:
            names: The names to start from; None starts from the active set.
            include_extensions: Add every extension tool that is activated on registration.
        """
        start = self._active if names is None else apply_modifiers(self._active, names)
        wanted = dict.fromkeys(start)
        if self._filter.has_allow_list:
            wanted |= self._allowed_names()
        elif include_extensions:
            wanted |= {
                name: None
                for name, tool in self._table.tools.items()
                if self._table.is_of_extension(name) and self._is_activated_on_registration(tool)
            }
        self._replace_active(wanted | self._pending)
        self.apply_loadout()

    def restore(self, declared: Iterable[str], mentioned: Iterable[str]) -> None:
        """Take over the tools that a resumed branch declares.

        Names that cannot be active yet become pending: they activate when they register.

        Args:
            declared: Names that the branch declares at its end.
            mentioned: Names that the branch mentions anywhere; tools that it never mentions, that
                are no built-ins and that are activated on registration are added.
        """
        known = set(mentioned)
        names = dict.fromkeys(name for name in declared if not self._filter.is_switched_off(name))
        self._restored = frozenset(names)
        for name, tool in self._table.tools.items():
            is_new = name not in known and not self._table.is_builtin(name)
            is_added = self._filter.is_switched_on(name)
            if is_added or (is_new and self._is_activated_on_registration(tool)):
                names.setdefault(name)
        self._pending = {name: None for name in names if self._filter.may_register(name)}
        self._replace_active(names)
        self._is_narrowed = self._filter.has_allow_list
        self.apply_loadout()

    def clear_pending(self) -> None:
        """Forget names that did not register in time: a run starts."""
        self._pending.clear()

    @property
    def pending(self) -> tuple[str, ...]:
        """Names that activate when they register."""
        return tuple(self._pending)

    # -- the four sets -----------------------------------------------------------------------

    @property
    def registered(self) -> dict[str, ToolDefinition]:
        """Everything, hidden tools included."""
        return dict(self._table.tools)

    @property
    def active(self) -> dict[str, ToolDefinition]:
        """The ordered set that the session holds."""
        return {name: self._tools[name] for name in self._active}

    @property
    def callable(self) -> dict[str, ToolDefinition]:
        """What nested calls can reach, in registry order."""
        return {name: tool for name, tool in self._table.tools.items() if self._is_callable(tool)}

    @property
    def reachable(self) -> dict[str, ToolDefinition]:
        """What a person can reach: everything but hidden and disabled tools."""
        return {
            name: tool
            for name, tool in self._table.tools.items()
            if tool.exposure != "hidden" and self.is_enabled(tool)
        }

    @property
    def executable(self) -> dict[str, ToolDefinition]:
        """The active and enabled tools: what a model's calls of the next request can reach."""
        return {name: tool for name, tool in self.active.items() if self.is_enabled(tool)}

    @property
    def declared(self) -> dict[str, ToolDefinition]:
        """What the next request shows: executable tools, described as loadout hooks say."""
        return {
            name: self._described(tool)
            for name, tool in self.executable.items()
            if name not in self._loadout.hidden
        }

    @property
    def hidden_declarations(self) -> frozenset[str]:
        """Active names that requests leave out."""
        return self._loadout.hidden

    def _described(self, tool: ToolDefinition) -> ToolDefinition:
        text = self._loadout.descriptions.get(tool.name)
        if text is None or text == tool.description:
            return tool
        return dataclasses.replace(tool, description=text)

    def declarations(self, tools: Mapping[str, ToolDefinition]) -> dict[str, ToolDeclaration]:
        """Return what the transcript stores about the given tools.

        A tool that has not changed gives the same object each time.
        """
        return {name: self._declaration(name, tool) for name, tool in tools.items()}

    def _declaration(self, name: str, tool: ToolDefinition) -> ToolDeclaration:
        text = self._loadout.descriptions.get(name, tool.description)
        held = self._declarations.get(name)
        if held is not None and held[0] is tool and held[1].description == text:
            return held[1]
        declaration = _json_copy(tool.declaration(text))
        self._declarations[name] = (tool, declaration)
        return declaration

    # -- look-ups ----------------------------------------------------------------------------

    def get(self, name: str) -> ToolDefinition | None:
        """Return a registered tool."""
        return self._tools.get(name)

    def source_of(self, name: str) -> tuple[Source, str | None] | None:
        """Return who registered a tool, and which extension."""
        return self._table.source_of(name)

    def get_callable(self, name: str) -> ToolDefinition | None:
        """Return a tool that nested calls can reach."""
        tool = self._tools.get(name)
        if tool is None or (tool.exposure == "direct" and tool.is_enabled is None):
            return tool if name in self._active else None  # most nested calls end here
        return tool if self._is_callable(tool) else None

    def get_reachable(self, name: str) -> ToolDefinition | None:
        """Return a tool that a person can reach."""
        tool = self._tools.get(name)
        if tool is None or tool.exposure == "hidden" or not self.is_enabled(tool):
            return None
        return tool

    def _is_callable(self, tool: ToolDefinition) -> bool:
        exposure = tool.exposure
        if exposure == "direct":
            if tool.name not in self._active:
                return False
        elif exposure not in SCRIPTED:
            return False
        return tool.is_enabled is None or self.is_enabled(tool)

    def is_enabled(self, tool: ToolDefinition) -> bool:
        """Ask the tool, each time; one that raises is reported and counts as disabled."""
        if tool.is_enabled is None:
            return True
        try:
            return bool(tool.is_enabled())
        except Exception as error:  # noqa: BLE001 - a tool's question must not harm a look-up
            self._report("is_enabled", error)
            return False

    # -- loadout -----------------------------------------------------------------------------

    def apply_loadout(self) -> None:
        """Run the loadout hooks of the active tools, in active order."""
        names = [name for name in self._with_loadout_hook if name in self._active]
        hooked = [self._tools[name] for name in sorted(names, key=self._active.__getitem__)]
        self._loadout = compute_loadout(hooked, ToolLoadout(self), self._report)


def _note(name: str, names: set[str], present: bool) -> None:  # noqa: FBT001 - private
    if present:
        names.add(name)
    else:
        names.discard(name)


def _json_copy(declaration: ToolDeclaration) -> ToolDeclaration:
    """Return a declaration as it comes back from a file, sharing nothing with the tool."""
    parameters = json.loads(json.dumps(declaration.parameters, default=str))
    return declaration.model_copy(update={"parameters": parameters})
