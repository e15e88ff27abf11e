"""Allow and deny lists of tool names."""

from __future__ import annotations

import re
from collections.abc import Iterable

from pi_kernel.errors import PiKernelError

__all__ = ("NameFilter", "NameMatcher", "apply_modifiers", "is_mcp_name")

MCP_PREFIX = "mcp__"
MCP_RESOURCE_TOOLS = frozenset(
    {"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"}
)
MODIFIERS = ("+", "-")


class NameMatcher:
    """Matches names against exact ones and patterns, in which ``*`` is any run of characters."""

    def __init__(self, entries: Iterable[str]) -> None:
        entries = list(entries)
        self._exact = frozenset(entry for entry in entries if "*" not in entry)
        self._patterns = [_pattern(entry) for entry in dict.fromkeys(entries) if "*" in entry]

    def __call__(self, name: str) -> bool:
        """Whether any entry fits the whole name."""
        return name in self._exact or any(p.fullmatch(name) for p in self._patterns)


def _pattern(entry: str) -> re.Pattern[str]:
    # Possessive: what a part needs is found at its first place, so `*a*a*a*b` takes no long search.
    first, *rest = (re.escape(part) for part in re.sub(r"\*+", "*", entry).split("*"))
    last = rest.pop()
    middle = "".join(f"(?>.*?{part})" for part in rest)
    return re.compile(f"{first}{middle}.*{last}", re.DOTALL)


def is_mcp_name(name: str) -> bool:
    """Whether a tool comes from an MCP server, by its name."""
    return name.startswith(MCP_PREFIX) or name in MCP_RESOURCE_TOOLS


def apply_modifiers(base: Iterable[str], entries: Iterable[str]) -> list[str]:
    """Read a selection: plain names replace the base, then ``+name`` adds and ``-name`` removes.

    Example:
        >>> apply_modifiers(["read", "bash"], ["-bash", "+grep"])
        ['read', 'grep']
        >>> apply_modifiers(["read", "bash"], ["edit"])
        ['edit']
    """
    entries = list(entries)
    plain, modifiers = _split(entries)
    selected = dict.fromkeys(base if modifiers and not plain else plain)
    for sign, name in modifiers:
        if sign == "+":
            selected.setdefault(name)
        else:
            selected.pop(name, None)
    return list(selected)


def _split(entries: Iterable[str]) -> tuple[list[str], list[tuple[str, str]]]:
    plain: list[str] = []
    modifiers: list[tuple[str, str]] = []
    for entry in entries:
        if entry.startswith(MODIFIERS):
            if entry[1:] in ("", "*"):
                raise PiKernelError(f"+name and -name need the name of a tool, got {entry!r}")
            modifiers.append((entry[0], entry[1:]))
        else:
            plain.append(entry)
    return plain, modifiers


class NameFilter:
    """Decides which names may be registered, and which of those may be active.

    Args:
        allow: Names or ``*`` patterns; None means everything. A list of ``+name`` and ``-name``
            alone allows everything too: it switches tools on and off. Next to plain entries
            ``+name`` is one more entry and ``-name`` takes a name out.
        deny: Names or patterns that may not be registered; deny beats allow. ``-name`` takes a
            name out of this list.
    """

    def __init__(self, allow: Iterable[str] | None = None, deny: Iterable[str] = ()) -> None:
        plain, modifiers = _split(() if allow is None else allow)
        added = [name for sign, name in modifiers if sign == "+"]
        removed = [name for sign, name in modifiers if sign == "-"]
        denied, changes = _split(deny)
        denied += [name for sign, name in changes if sign == "+"]
        self.has_allow_list = allow is not None and (bool(plain) or not modifiers)
        """Whether only some names are let in."""
        if self.has_allow_list:
            plain, denied = plain + added, denied + removed
            added = removed = []
        self._allows = NameMatcher(plain)
        self._denies = NameMatcher(denied)
        self._spares = NameMatcher(name for sign, name in changes if sign == "-")
        self.is_switched_on = NameMatcher(added)
        """Whether ``+name`` makes a tool active that would not be by itself."""
        self.is_switched_off = NameMatcher(removed)
        """Whether ``-name`` keeps a tool from becoming active by itself."""
        self._keeps_mcp = bool(plain) and not any(e.startswith(MCP_PREFIX) for e in plain)

    def is_allowed_by_name(self, name: str) -> bool:
        """Whether an entry of the allow list matches."""
        return self.has_allow_list and self._allows(name)

    def may_register(self, name: str) -> bool:
        """Whether the name may be in the registry at all."""
        if self._denies(name) and not self._spares(name):
            return False
        if not self.has_allow_list or self._allows(name):
            return True
        return self._keeps_mcp and is_mcp_name(name)

    def is_kept_mcp(self, name: str) -> bool:
        """Whether the name is there only because MCP tools outlive an allow list without them."""
        return self.has_allow_list and not self._allows(name)
