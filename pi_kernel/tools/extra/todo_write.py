"""The ``todo_write`` tool: the session's list of steps, replaced as a whole."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from typing import Any
from weakref import WeakKeyDictionary

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ToolAnnotations
from pi_kernel.registry.definition import OnUpdate, ToolDefinition
from pi_kernel.runtime.abort import AbortSignal

__all__ = ("create", "todo_list")

MAX_STEPS = 100
MAX_STEP_CHARS = 500
MARKS = {"completed": "[x]", "in_progress": "[>]", "pending": "[ ]"}
"""In the order in which they are counted."""

DESCRIPTION = (
    "Write down the plan of the work at hand as a list of steps with their states. The list given"
    " replaces the one before, so send all steps each time. Use it for work of several steps, and"
    " again whenever a step starts or is done."
)
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "plan": {
            "type": "array",
            "maxItems": MAX_STEPS,
            "description": "All steps, in order; an empty list clears the plan",
            "items": {
                "type": "object",
                "properties": {
                    "step": {
                        "type": "string",
                        "maxLength": MAX_STEP_CHARS,
                        "description": "What is done in this step",
                    },
                    "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
                },
                "required": ["step", "status"],
            },
        },
    },
    "required": ["plan"],
}
OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {"step": {"type": "string"}, "status": {"type": "string"}},
        "required": ["step", "status"],
    },
}

# A list lives as long as its session; the session itself stays free of what one tool keeps.
_lists: WeakKeyDictionary[Any, list[dict[str, str]]] = WeakKeyDictionary()


def todo_list(session: object) -> list[dict[str, str]]:
    """Return a copy of a session's list: steps as ``{"step", "status"}``, empty without one.

    Source:
        Ours.
    """
    with contextlib.suppress(TypeError):  # a session that cannot be referred to weakly has no list
        return [dict(step) for step in _lists.get(session, ())]
    return []


def create(cwd: str | os.PathLike[str] | None = None, *, operations: None = None) -> ToolDefinition:
    """Return the ``todo_write`` tool.

    Args:
        cwd: Not used.
        operations: There are none.

    Raises:
        PiKernelError: If ``operations`` are given.

    Source:
        Ours, with the parameters of another published tool system.
    """
    del cwd
    if operations is not None:
        raise PiKernelError('tool "todo_write" has no operations')

    async def execute(
        tool_call_id: str,
        params: dict[str, Any],
        signal: AbortSignal | None = None,
        on_update: OnUpdate | None = None,
        ctx: object = None,
    ) -> ToolResult:
        del tool_call_id, on_update
        if signal is not None:
            signal.throw_if_aborted()
        plan = [{"step": item["step"], "status": item["status"]} for item in params["plan"]]
        session: object = getattr(ctx, "session", None)
        if session is not None:
            with contextlib.suppress(TypeError):  # it cannot be referred to weakly
                _lists[session] = [dict(step) for step in plan]
        return ToolResult(_summary(plan), structured_content=plan)

    return ToolDefinition(
        name="todo_write",
        description=DESCRIPTION,
        parameters=PARAMETERS,
        output_schema=OUTPUT_SCHEMA,
        execute=execute,
        exposure="deferred",
        prompt_snippet="Keep a list of the steps of the work at hand",
        annotations=ToolAnnotations(
            read_only_hint=False,
            destructive_hint=False,
            idempotent_hint=True,
            open_world_hint=False,
        ),
        is_destructive=lambda _: False,
        activity=lambda _: "Updating the plan",
    )


def _summary(plan: list[dict[str, str]]) -> str:
    if not plan:
        return "The plan is empty."
    counts = Counter(step["status"] for step in plan)
    parts = [f"{counts[status]} {status.replace('_', ' ')}" for status in MARKS if counts[status]]
    head = f"{len(plan)} {'step' if len(plan) == 1 else 'steps'}: {', '.join(parts)}"
    # One line a step, whatever is in its text.
    lines = [f"{MARKS[step['status']]} {' '.join(step['step'].split())}" for step in plan]
    return "\n".join([head, *lines])
