"""`ToolHost`: the door for every call, whoever makes it. Wiring only."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Sequence
from typing import Any, Literal

from pi_kernel.protocol.content import ToolCall
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ModelInfo
from pi_kernel.registry.budget import bound_result
from pi_kernel.registry.context import ToolContext
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.registry.registry import ToolRegistry
from pi_kernel.registry.ui import UI, HeadlessUI
from pi_kernel.registry.values import to_result
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.batch import OnResult, run_batch
from pi_kernel.runtime.call import Call, Caller
from pi_kernel.runtime.events import EventSink
from pi_kernel.runtime.hooks import Hooks
from pi_kernel.runtime.nested import execute_nested_call
from pi_kernel.runtime.outcome import ToolOutcome
from pi_kernel.runtime.queue import ExclusiveQueue

__all__ = ("RootCaller", "ToolHost")


class RootCaller(Caller):
    """A session as a caller, with no cell and no tool above: its calls are ``call-<n>``."""

    is_parent = False
    owns_children = True
    child_reach = "person"
    child_origin = "cell"

    def next_id(self) -> str:
        """Return ``call-<n>``."""
        self.counter += 1
        return f"call-{self.counter}"


class ToolHost:
    """Implements the runtime's `CallHost` over a registry, a sink and the facts of a session."""

    to_result = staticmethod(to_result)

    def __init__(  # noqa: PLR0913 - the facts of a session, by keyword
        self,
        *,
        registry: ToolRegistry,
        events: EventSink,
        cwd: str | None = None,
        session: Any = None,
        session_id: str | None = None,
        execution: Literal["parallel", "sequential"] = "parallel",
    ) -> None:
        self.registry = registry
        self._get_callable = registry.get_callable
        self.events = events
        self.hooks = Hooks(events)
        self.queue = ExclusiveQueue()
        self.cwd = cwd or os.getcwd()  # noqa: PTH109 - a plain text is wanted
        self.session = session
        self.session_id = session_id or str(uuid.uuid4())
        self.is_sequential = execution == "sequential"
        self.model: ModelInfo | None = None
        self.thinking_level: str | None = None
        self.ui: UI = HeadlessUI()
        self.calls: list[Call] = []
        """Every call, in start order."""
        self.pending: dict[str, Call] = {}
        """A model's calls between their start and end."""
        self.root = RootCaller(self, "", AbortSignal())

    def find_tool(self, call: Call) -> ToolDefinition | None:
        """Return the tool that the call's caller can reach by this name, or None."""
        reach = call.reach
        if reach == "nested":
            return self._get_callable(call.name)
        if reach == "person":
            return self.registry.get_reachable(call.name)
        tool: ToolDefinition | None = call.tools.get(call.name)
        return tool if tool is not None and self.registry.is_enabled(tool) else None

    def context_for(self, call: Call) -> ToolContext:
        """Return what execute gets as ``ctx``."""
        return ToolContext(self, call)

    def bound(self, call: Call, result: ToolResult) -> ToolResult:
        """Cut a result that is too long for a model."""
        if call.tool is None or call.tool.max_result_chars is None:
            return result
        return bound_result(result, call.tool.max_result_chars)

    async def execute_tool(
        self,
        name: str,
        args: Any = None,
        *,
        caller: Caller | None = None,
        signal: AbortSignal | None = None,
        on_update: Callable[[ToolResult], object] | None = None,
    ) -> ToolOutcome:
        """Make one call for a caller, or for a person when it is None."""
        return await execute_nested_call(
            caller or self.root, name, args, signal=signal, on_update=on_update
        )

    async def execute_batch(
        self,
        calls: Sequence[ToolCall],
        *,
        caller: Caller | None = None,
        signal: AbortSignal,
        on_result: OnResult,
    ) -> list[ToolOutcome]:
        """Run the calls of one model reply on the active tools as they are now."""
        return await run_batch(
            caller or self.root,
            calls,
            self.registry.executable,
            signal=signal,
            on_result=on_result,
        )
