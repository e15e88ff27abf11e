"""Python identifiers for tool names, and what to say about a name that does not exist."""

from __future__ import annotations

import functools
import keyword
import re
from collections.abc import Iterable, Mapping

__all__ = ("close_names", "identifier_for", "identifiers", "missing_text", "resolve_name")

MAX_SUGGESTIONS = 5
MAX_LISTED = 20

_NOT_FIRST = re.compile(r"[^A-Za-z_]")
_NOT_LATER = re.compile(r"[^A-Za-z0-9_]")
_NOT_COMPARED = re.compile(r"[^a-z0-9]")


@functools.lru_cache(maxsize=65_536)
def identifier_for(name: str) -> str:
    """Return the identifier of a tool name: other characters become ``_``, keywords get one more.

    Source:
        Pi 1.6.0, ``toCodemodeIdentifier``, with ``$`` and keywords as Python needs them.

    Example:
        >>> [identifier_for(name) for name in ("mcp__git-hub__x", "2fa", "class", "")]
        ['mcp__git_hub__x', '_fa', 'class_', '_']
    """
    if not name:
        return "_"
    text = _NOT_FIRST.sub("_", name[0]) + _NOT_LATER.sub("_", name[1:])
    return f"{text}_" if keyword.iskeyword(text) else text


def identifiers(names: Iterable[str]) -> dict[str, str]:
    """Map identifiers to names; of two names with one identifier the first keeps it."""
    table: dict[str, str] = {}
    for name in names:
        table.setdefault(identifier_for(name), name)
    return table


def resolve_name(key: str, names: Iterable[str]) -> str | None:
    """Return the tool that a raw name or an identifier means; the earlier registration wins."""
    for name in names:
        if key in (name, identifier_for(name)):
            return name
    return None


def _compared(name: str) -> str:
    return _NOT_COMPARED.sub("", name.lower())


def close_names(key: str, names: Iterable[str]) -> list[str]:
    """Return at most five identifiers close to a name that does not exist.

    Close is what differs only in case and punctuation; without any, what contains the name or is
    contained in it.
    """
    compared = {name: _compared(name) for name in identifiers(names)}
    wanted = _compared(key)
    close = [name for name, text in compared.items() if text == wanted]
    if not close and wanted:
        close = [n for n, text in compared.items() if wanted in text or (text and text in wanted)]
    return close[:MAX_SUGGESTIONS]


def missing_text(key: str, names: Mapping[str, object], hint: str = "") -> str:
    """Return what is said about a name that does not exist.

    Args:
        key: The name that was asked for.
        names: The names that there are.
        hint: How to find tools, in the middle.

    Source:
        Pi 1.6.0's texts.

    Example:
        >>> missing_text("Ls", {"ls": 1, "bash": 2})
        'tools.Ls does not exist. Did you mean tools.ls? Check for a member with "Ls" in tools.'
    """
    close = close_names(key, names)
    parts = [f"tools.{key} does not exist."]
    if close:
        parts.append("Did you mean " + ", ".join(f"tools.{name}" for name in close) + "?")
    elif 0 < len(names) <= MAX_LISTED:
        parts.append(f"Available: {', '.join(identifiers(names))}.")
    if hint:
        parts.append(hint)
    parts.append(f'Check for a member with "{key}" in tools.')
    return " ".join(parts)
