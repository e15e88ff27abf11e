"""Who can call a tool, in a word, and why, in sentences with the code that works."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.registry.registry import ToolRegistry
from pi_kernel.render._schema_types import parameters_of
from pi_kernel.render._text import in_one_line

__all__ = ("Reach", "ReachOf")

SEARCH = "tool_search"
MAX_NAME_CHARS = 80
SHOWN = ("direct", "model-only")
NOT_ACTIVE, SWITCHED_OFF = "no, not active", "no, switched off"


@dataclass(frozen=True, slots=True)
class Reach:
    """Who can call a tool now."""

    model: str
    scripts: str
    why: str


class ReachOf:
    """Answers for many tools of one registry, which is asked once."""

    def __init__(self, registry: ToolRegistry) -> None:
        self._active = registry.active
        self._executable = registry.executable
        self._callable = registry.callable

    def __call__(self, tool: ToolDefinition) -> Reach:
        """Return who can call the tool."""
        name = tool.name
        is_off = name in self._active and name not in self._executable
        if name in self._executable:
            model = "yes"
        elif tool.exposure == "hidden":
            model = "no"
        elif is_off:
            model = SWITCHED_OFF
        elif tool.exposure in SHOWN:
            model = NOT_ACTIVE
        elif tool.exposure == "deferred" and SEARCH in self._executable:
            model = f"after {SEARCH}"
        else:
            model = "no"
        if name in self._callable:
            scripts = "yes"
        elif tool.exposure == "direct":
            scripts = SWITCHED_OFF if is_off else NOT_ACTIVE
        else:
            scripts = "no" if tool.exposure in ("hidden", "model-only") else SWITCHED_OFF
        return Reach(model, scripts, self._why(tool, model, scripts))

    def _why(self, tool: ToolDefinition, model: str, scripts: str) -> str:
        if tool.exposure != "hidden" and SWITCHED_OFF in (model, scripts):
            return "It is switched off at the moment: its is_enabled() says no."
        return _REASONS[tool.exposure](tool, model)


def _hidden(_tool: ToolDefinition, _model: str) -> str:
    return (
        "Its exposure is hidden, so nothing can call it."
        " Register it again with another exposure to bring it back."
    )


def _direct(tool: ToolDefinition, model: str) -> str:
    if model == "yes":
        return f"It is active, so the model, scripts and other tools can call it. {cells(tool)}"
    return f"It is not active, so only your cells can call it: {code_of(tool)}. {activate(tool)}"


def _model_only(tool: ToolDefinition, model: str) -> str:
    start = "Its exposure is model-only, so scripts and other tools cannot call it."
    return f"{start} {cells(tool)}" + ("" if model == "yes" else f" {activate(tool)}")


def _codemode(tool: ToolDefinition, model: str) -> str:
    start = "Its exposure is codemode: scripts and other tools can call it."
    if model == "yes":
        return f"{start} It is active, so the model can call it too. {cells(tool)}"
    return f'{start} {cells(tool)} To offer it to the model as well, set exposure="direct".'


def _deferred(tool: ToolDefinition, model: str) -> str:
    start = "Its exposure is deferred: scripts and other tools can call it."
    if model == "yes":
        return f"{start} It is active, so the model can call it too. {cells(tool)}"
    found = f"The model can call it once it has found it with {SEARCH}"
    if model == "no":
        found += f', which is not active: ctx.session.set_active(["+{SEARCH}"])'
    return f"{start} {found}. {cells(tool)}"


_REASONS: dict[str, Callable[[ToolDefinition, str], str]] = {
    "direct": _direct,
    "model-only": _model_only,
    "codemode": _codemode,
    "deferred": _deferred,
    "hidden": _hidden,
}


def cells(tool: ToolDefinition) -> str:
    """Return how a cell calls the tool, as a sentence."""
    return f"Your cells call it with {code_of(tool)}."


def code_of(tool: ToolDefinition) -> str:
    """Return the code that calls the tool in a cell."""
    required = [item.name for item in parameters_of(tool.parameters) if item.is_required]
    name = in_one_line(tool.name, MAX_NAME_CHARS)
    if not name.isidentifier():
        return f"await ctx.execute_tool({name!r}, {{...}})"
    given = ", ".join(f"{in_one_line(item, MAX_NAME_CHARS)}=..." for item in required[:3])
    return f"await ctx.tools.{name}({given})"


def activate(tool: ToolDefinition) -> str:
    """Return how the tool becomes active."""
    name = in_one_line(tool.name, MAX_NAME_CHARS)
    return f'To activate it: ctx.session.set_active(["+{name}"]).'
