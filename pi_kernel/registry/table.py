"""`ToolTable`: the registered tools, who brought them, and the order in which they stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from pi_kernel.registry.definition import ToolDefinition

__all__ = ("Source", "ToolTable")

Source = Literal["builtin", "extension", "custom"]
RANK: dict[Source, int] = {"builtin": 0, "extension": 1, "custom": 2}
"""Later sources win on equal names."""


class ToolTable:
    """Tools by name. Built-ins stand first, then tools of extensions, then a person's own.

    A replaced tool keeps the place of the first registration of its name.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, ToolDefinition] = {}
        """For look-ups; `tools` has the order."""
        self._sources: dict[str, tuple[Source, str | None]] = {}
        self._ranks: dict[str, int] = {}
        self._highest_rank = 0
        self._is_sorted = True

    def put(self, definition: ToolDefinition, source: Source, extension: str | None) -> bool:
        """Add or replace a tool, unless an earlier registration of its name wins.

        Of two extensions the first to register a name wins; one extension may replace its own.
        """
        name = definition.name
        held = self._sources.get(name)
        if held is None:
            self._ranks[name] = rank = RANK[source]
            self._is_sorted = self._is_sorted and rank >= self._highest_rank
            self._highest_rank = max(rank, self._highest_rank)
        elif source == held[0] == "extension":
            if held[1] != extension:
                return False
        elif RANK[source] < RANK[held[0]]:
            return False
        self.by_name[name] = definition
        self._sources[name] = (source, extension)
        return True

    @property
    def tools(self) -> Mapping[str, ToolDefinition]:
        """All tools in order; a live view."""
        if not self._is_sorted:
            in_order = sorted(self.by_name.items(), key=lambda item: self._ranks[item[0]])
            self.by_name.clear()
            self.by_name.update(in_order)
            self._is_sorted = True
        return self.by_name

    def source_of(self, name: str) -> tuple[Source, str | None] | None:
        """Return who registered a tool, and which extension."""
        return self._sources.get(name)

    def is_of_extension(self, name: str) -> bool:
        """Whether an extension brought the tool."""
        source = self._sources.get(name)
        return source is not None and source[0] == "extension"

    def is_builtin(self, name: str) -> bool:
        """Whether the name is a built-in's, replaced or not."""
        return self._ranks.get(name) == RANK["builtin"]
