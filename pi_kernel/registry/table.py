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

    A replaced tool keeps its place, which is that of the first registration of its name by the
    earliest of these sources.
    """

    def __init__(self) -> None:
        self.by_name: dict[str, ToolDefinition] = {}
        """For look-ups; `tools` has the order."""
        self._sources: dict[str, tuple[Source, str | None]] = {}
        self._places: dict[str, tuple[int, int]] = {}
        self._taken = 0
        self._last_place = (0, 0)
        self._is_sorted = True

    def put(self, definition: ToolDefinition, source: Source, extension: str | None) -> bool:
        """Add or replace a tool, unless an earlier registration of its name wins.

        Of two extensions the first to register a name wins; one extension may replace its own.
        """
        name, rank = definition.name, RANK[source]
        held = self._places.get(name)
        if held is None or rank < held[0]:
            self._taken += 1
            self._take_place(name, (rank, self._taken), is_new=held is None)
        if held is not None:
            winner, its_extension = self._sources[name]
            if source == winner == "extension" and extension != its_extension:
                return False
            if rank < RANK[winner]:
                return False
        self.by_name[name] = definition
        self._sources[name] = (source, extension)
        return True

    def _take_place(self, name: str, place: tuple[int, int], *, is_new: bool) -> None:
        self._is_sorted = self._is_sorted and is_new and place > self._last_place
        self._last_place = max(place, self._last_place)
        self._places[name] = place

    @property
    def tools(self) -> Mapping[str, ToolDefinition]:
        """All tools in order; a live view."""
        if not self._is_sorted:
            in_order = sorted(self.by_name.items(), key=lambda item: self._places[item[0]])
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
        place = self._places.get(name)
        return place is not None and place[0] == RANK["builtin"]
