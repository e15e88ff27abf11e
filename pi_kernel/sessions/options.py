"""What people pass to a session, checked, with errors that name the way out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pi_kernel.errors import PiKernelError
from pi_kernel.models.stream import Model
from pi_kernel.protocol.content import ToolCall
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.registry.registry import Source
from pi_kernel.tools import create_all_tools, create_coding_tools, create_read_only_tools

__all__ = (
    "ToolSet",
    "check_callback",
    "check_choice",
    "check_handler",
    "check_max_turns",
    "check_model",
    "check_names",
    "check_system_prompt",
    "read_calls",
    "read_cwd",
    "read_tools",
)

ToolSet = Literal["all", "coding", "read_only", "none"]


def _all_tools(cwd: str) -> Mapping[str, ToolDefinition]:
    """Return every built-in that can work here: powershell is for Windows."""
    tools = create_all_tools(cwd)
    if sys.platform != "win32":
        del tools["powershell"]
    return tools


TOOL_SETS: dict[str, Callable[[str], Mapping[str, ToolDefinition]]] = {
    "all": _all_tools,
    "coding": create_coding_tools,
    "read_only": create_read_only_tools,
    "none": lambda _cwd: {},
}


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a value that is none of the choices."""
    if value not in choices:
        raise PiKernelError(f"{name} must be one of {', '.join(choices)}, got {value!r}")


def check_names(what: str, names: Any) -> list[str]:
    """Read a list of names."""
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise PiKernelError(f"{what} must be a list of names, got {names!r}")
    read: list[str] = []
    for name in names:
        if not isinstance(name, str):
            raise PiKernelError(f"{what} must be a list of names, got {name!r} in it")
        read.append(name)
    return read


def check_model(model: Any) -> Model:
    """Refuse what cannot answer a prompt."""
    if model is None:
        raise PiKernelError(
            "there is no model to ask: give prompt(model=...) or ToolSession(model=...)"
        )
    if not callable(getattr(model, "stream", None)):
        raise PiKernelError(f"model must have .info and .stream(), got {type(model).__name__}")
    found: Model = model
    return found


def check_max_turns(max_turns: object) -> None:
    """Refuse what is no positive integer and not None."""
    if max_turns is not None and (type(max_turns) is not int or max_turns < 1):
        raise PiKernelError(f"max_turns must be a positive integer or None, got {max_turns!r}")


def check_system_prompt(text: object) -> None:
    """Refuse what is no text and not None."""
    if text is not None and not isinstance(text, str):
        raise PiKernelError(f"system_prompt must be a text, got {type(text).__name__}")


def check_handler(event_type: object, handler: object) -> None:
    """Refuse what `on` cannot use; without a handler it decorates one."""
    if not isinstance(event_type, str) or (handler is not None and not callable(handler)):
        raise PiKernelError("on() takes the name of an event and a function")


def check_callback(callback: object) -> None:
    """Refuse what `subscribe` cannot use."""
    if not callable(callback):
        raise PiKernelError("subscribe() takes a function")


def read_cwd(cwd: Any) -> str:
    """Return the absolute path of a directory; it may be made later."""
    try:
        path = Path(os.fspath(cwd))
        return str(path.expanduser().absolute())
    except (TypeError, RuntimeError) as error:  # RuntimeError: no home for ~somebody
        raise PiKernelError(f"cwd must be the path of a directory, got {cwd!r}") from error


def read_tools(tools: Any, cwd: str) -> tuple[list[ToolDefinition], Source]:
    """Read the tools that a session starts with: the name of a set, or definitions.

    Returns:
        The definitions, and who brings them.
    """
    if isinstance(tools, str):
        make = TOOL_SETS.get(tools)
        if make is not None:
            return list(make(cwd).values()), "builtin"
    elif isinstance(tools, Mapping):
        return list(tools.values()), "custom"
    elif isinstance(tools, Iterable):
        return list(tools), "custom"
    choices = ", ".join(repr(name) for name in TOOL_SETS)
    raise PiKernelError(
        f"tools must be one of {choices} or a list of ToolDefinition, got {tools!r}"
    )


def read_calls(calls: Any) -> list[ToolCall]:
    """Read the calls of a batch: `ToolCall` values or their wire forms."""
    if isinstance(calls, str | Mapping | ToolCall) or not isinstance(calls, Iterable):
        raise PiKernelError(f"a batch is a list of ToolCall values, got {type(calls).__name__}")
    return [_read_call(call) for call in calls]


def _read_call(given: Any) -> ToolCall:
    if isinstance(given, ToolCall):
        return given
    if isinstance(given, Mapping):
        try:
            return ToolCall.from_wire(given)
        except ValueError as error:
            raise PiKernelError(f"not a tool call: {error}") from error
    raise PiKernelError(f"a batch is made of ToolCall values, got {type(given).__name__}")
