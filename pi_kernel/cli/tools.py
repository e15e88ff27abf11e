"""``pi-kernel tools``: the registry of a new session as a table."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any, cast

from pi_kernel.cli.terminal import Terminal

__all__ = ("SUMMARY", "add_arguments", "run", "type_name")

SUMMARY = "list the tools of a new session"
TITLES = ("name", "exposure", "active", "callable", "declared", "description")
GAP = "  "
INDENT = " " * 4


def add_arguments(_parser: argparse.ArgumentParser) -> None:
    """Say what may follow the name of the command: nothing."""


def run(_options: argparse.Namespace, terminal: Terminal) -> None:
    """Print the table."""
    from pi_kernel import ToolSession  # noqa: PLC0415 - loads the engine

    session = ToolSession()
    active, reachable, declared = session.active, session.callable, session.declared
    rows = {
        name: (
            name,
            tool.exposure,
            *("yes" if name in names else "no" for names in (active, reachable, declared)),
        )
        for name, tool in session.registered.items()
    }
    columns = zip(TITLES, *((*row, "") for row in rows.values()), strict=True)
    widths = [max(map(len, column)) for column in columns][:-1]
    terminal.line(terminal.paint(_joined(TITLES, widths), "heading"))
    for name, tool in session.registered.items():
        terminal.line(terminal.one_line(_joined((*rows[name], tool.description), widths)))
        for parameter in _parameters(tool.parameters):
            terminal.line(terminal.one_line(INDENT + parameter))
    terminal.line()
    terminal.line(f"{len(rows)} tools. A parameter with ? may be left out.")


def _joined(cells: tuple[str, ...], widths: list[int]) -> str:
    padded = [cell.ljust(width) for cell, width in zip(cells, widths, strict=False)]
    return GAP.join([*padded, " ".join(cells[-1].split())])


def _parameters(schema: Mapping[str, Any]) -> list[str]:
    required = schema.get("required", ())
    rows: list[str] = []
    for name, described in schema.get("properties", {}).items():
        mark = "" if name in required else "?"
        text = " ".join(str(described.get("description", "")).split())
        rows.append(f"{name}{mark}: {type_name(described)}{GAP}{text}".rstrip())
    return rows


def type_name(schema: object) -> str:
    """Return the type that a JSON Schema describes, in short.

    Example:
        >>> type_name({"type": "array", "items": {"type": ["string", "null"]}})
        'array of string | null'
    """
    if not isinstance(schema, Mapping):
        return "any"
    schema = cast("Mapping[str, Any]", schema)
    if "const" in schema or "enum" in schema:
        return " | ".join(map(repr, schema.get("enum", [schema.get("const")])))
    for key in ("anyOf", "oneOf"):
        if key in schema:
            return " | ".join(map(type_name, schema[key]))
    kinds = schema.get("type", "any")
    if kinds == "array" and "items" in schema:
        return f"array of {type_name(schema['items'])}"
    if kinds == "object" and schema.get("properties"):
        return f"object {{{', '.join(schema['properties'])}}}"
    return kinds if isinstance(kinds, str) else " | ".join(kinds)
