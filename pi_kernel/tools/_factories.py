"""Making tools by name, alone or in the usual groups.

A tool's module is imported when the tool is first made. Layers above add names of theirs with
`register_factory`, so nothing here imports upwards.
"""

from __future__ import annotations

import importlib
import inspect
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pi_kernel.errors import PiKernelError
from pi_kernel.registry.definition import ToolDefinition

__all__ = (
    "ALIASES",
    "ALL_TOOLS",
    "CODING_TOOLS",
    "EXTRA_TOOLS",
    "READ_ONLY_TOOLS",
    "ToolFactory",
    "create_all_tools",
    "create_coding_tools",
    "create_read_only_tools",
    "create_tool_definition",
    "register_factory",
)

ALL_TOOLS = ("read", "bash", "powershell", "edit", "write", "grep", "find", "ls")
CODING_TOOLS = ("read", "bash", "edit", "write")
READ_ONLY_TOOLS = ("read", "grep", "find", "ls")
EXTRA_TOOLS = ("todo_write", "fetch_url", "web_search")
"""Made only on request, and then ``deferred``."""
ALIASES = {
    "read_file": "read",
    "write_file": "write",
    "edit_file": "edit",
    "search_code": "grep",
    "search_files": "find",
    "execute_command": "bash",
}
"""Other names of built-in tools, made only on request, and the tools that they stand for."""
EVERY_ALIAS = "aliases"
"""What ``extra`` takes for all of them."""


ToolFactory = Callable[..., ToolDefinition]
"""``factory(cwd=None, *, operations=None, **options)``: makes one tool.

Its keyword parameters besides ``operations`` are the options that the tool has; one that takes any
keyword judges them itself.
"""

_extra_factories: dict[str, ToolFactory] = {}
"""Names that other layers added; a built-in's name is never looked up here."""


def register_factory(name: str, factory: ToolFactory) -> None:
    """Let `create_tool_definition` make one more tool.

    Args:
        name: The tool's name; a later factory for it replaces an earlier one.
        factory: Makes it.

    Raises:
        PiKernelError: If the name is a built-in's.

    Source:
        Ours.
    """
    if name in ALL_TOOLS:
        raise PiKernelError(f"the factory of the built-in tool {name} cannot be replaced")
    _extra_factories[name] = factory


def create_tool_definition(
    name: str,
    cwd: str | os.PathLike[str] | None = None,
    *,
    operations: object | None = None,
    **options: Any,
) -> ToolDefinition:
    """Return the tool of that name.

    Args:
        name: A built-in tool, one of `EXTRA_TOOLS` and `ALIASES`, or a name that a layer above has
            added.
        cwd: What relative paths refer to; None: the process's directory at the time of each call.
            The context of a call wins over both.
        operations: I/O in place of the local one: a remote host, a container, a test.
        options: The tool's own settings.

    Raises:
        PiKernelError: If the tool or an option is unknown, or an operation is missing.

    Source:
        Pi 1.6.0, ``createToolDefinition``.

    Example:
        >>> create_tool_definition("ls", "/tmp").name
        'ls'
    """
    factory = _factory_of(name)
    valid = _option_names(factory)
    unknown = [] if valid is None else [key for key in options if key not in valid]
    if unknown:
        listed = ", ".join(valid or ()) or "none"
        raise PiKernelError(
            f'Unknown option {unknown[0]!r} for tool "{name}"; its options: {listed}'
        )
    directory = None if cwd is None else os.fspath(cwd)
    return factory(directory, operations=operations, **options)


def create_all_tools(
    cwd: str | os.PathLike[str] | None = None,
    *,
    extra: Iterable[str | ToolDefinition] = (),
    **per_tool_options: Mapping[str, Any],
) -> dict[str, ToolDefinition]:
    """Return every built-in tool by name.

    Args:
        cwd: What relative paths refer to.
        extra: More tools: names of `EXTRA_TOOLS` and `ALIASES`, ``aliases`` for all of those,
            names that a layer above has added, definitions.
        per_tool_options: For a tool's name its options, ``operations`` among them:
            ``bash={"shell_path": "/bin/sh"}``.

    Raises:
        PiKernelError: If a tool or an option is unknown.

    Source:
        Pi 1.6.0, ``createAllToolDefinitions``.
    """
    return _create_group(ALL_TOOLS, cwd, extra=extra, per_tool_options=per_tool_options)


def create_coding_tools(
    cwd: str | os.PathLike[str] | None = None,
    *,
    extra: Iterable[str | ToolDefinition] = (),
    **per_tool_options: Mapping[str, Any],
) -> dict[str, ToolDefinition]:
    """Return read, bash, edit and write; the arguments are those of `create_all_tools`."""
    return _create_group(CODING_TOOLS, cwd, extra=extra, per_tool_options=per_tool_options)


def create_read_only_tools(
    cwd: str | os.PathLike[str] | None = None,
    *,
    extra: Iterable[str | ToolDefinition] = (),
    **per_tool_options: Mapping[str, Any],
) -> dict[str, ToolDefinition]:
    """Return read, grep, find and ls; the arguments are those of `create_all_tools`."""
    return _create_group(READ_ONLY_TOOLS, cwd, extra=extra, per_tool_options=per_tool_options)


def _create_group(
    names: tuple[str, ...],
    cwd: str | os.PathLike[str] | None,
    *,
    extra: Iterable[str | ToolDefinition],
    per_tool_options: Mapping[str, Mapping[str, Any]],
) -> dict[str, ToolDefinition]:
    given = (extra,) if isinstance(extra, str) else tuple(extra)
    wanted = (*names, *(name for item in given if isinstance(item, str) for name in _extra(item)))
    for name in per_tool_options:
        if name not in wanted:
            _factory_of(name)  # an unknown name is reported as such
            raise PiKernelError(f"options for {name} are given, but it is not among the tools")
    tools = {
        name: create_tool_definition(name, cwd, **per_tool_options.get(name, {})) for name in wanted
    }
    for item in given:
        if isinstance(item, ToolDefinition):
            tools[item.name] = item
    return tools


def _extra(name: str) -> tuple[str, ...]:
    """Return the tools that one name in ``extra`` stands for."""
    if name == EVERY_ALIAS:
        return tuple(ALIASES)
    choices = dict.fromkeys((*EXTRA_TOOLS, EVERY_ALIAS, *ALIASES, *_extra_factories))
    if name not in choices and name not in ALL_TOOLS:
        raise PiKernelError(f"Unknown extra tool: {name}; the choices: {', '.join(choices)}")
    return (name,)


def _factory_of(name: str) -> ToolFactory:
    create: ToolFactory
    if name in ALL_TOOLS:
        create = importlib.import_module(f"pi_kernel.tools.{name}").create
        return create
    if name in _extra_factories:
        return _extra_factories[name]
    if name in EXTRA_TOOLS:
        create = importlib.import_module(f"pi_kernel.tools.extra.{name}").create
        return create
    if name in ALIASES:
        create = importlib.import_module("pi_kernel.tools.extra.aliases").factory_of(name)
        return create
    raise PiKernelError(f"Unknown tool name: {name}")


def _option_names(factory: ToolFactory) -> list[str] | None:
    """Return the options that a factory takes; None when it judges them itself."""
    parameters = inspect.signature(factory).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return None
    return [
        parameter.name
        for parameter in parameters
        if parameter.kind is parameter.KEYWORD_ONLY and parameter.name != "operations"
    ]
