"""`ToolContext`: what a tool's execute receives."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, cast

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.results import ToolResult, error_result
from pi_kernel.protocol.tools import ModelInfo
from pi_kernel.registry.namespace import ToolsNamespace
from pi_kernel.registry.ui import UI
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.call import Call, Caller
from pi_kernel.runtime.nested import execute_nested_call
from pi_kernel.runtime.outcome import ToolOutcome

if TYPE_CHECKING:
    from pi_kernel.registry.host import ToolHost

__all__ = ("ToolContext",)

NO_SESSION = "Nested tool calls are not available in this context"


class ToolContext:
    """The facts of one call, and the way to make further calls below it.

    Without arguments it is a context with no session: it has no tools, and every call it makes is
    an error outcome.
    """

    __slots__ = ("_call", "_host")

    def __init__(self, host: ToolHost | None = None, call: Call | None = None) -> None:
        self._host = host
        self._call = call

    @property
    def tool_call_id(self) -> str:
        """The id of this call."""
        return self._call.id if self._call else ""

    @property
    def parent_tool_call_id(self) -> str | None:
        """The id of the calling tool call or cell."""
        return self._call.parent_id if self._call else None

    @property
    def session_id(self) -> str | None:
        """The id of the session."""
        return self._host.session_id if self._host else None

    @property
    def session_file(self) -> Any:
        """The path of the session's file, or None."""
        return getattr(self.session, "session_file", None)

    @property
    def turn_id(self) -> str | None:
        """The entry id of the assistant message that the call belongs to; None for a cell."""
        return self._call.root.turn_id if self._call else None

    @property
    def turn_index(self) -> int | None:
        """The number of the turn, from 0; None for a cell."""
        return self._call.root.turn_index if self._call else None

    @property
    def cell_id(self) -> str | None:
        """The id of the notebook cell, where the front end tells one."""
        return self._call.root.cell_id if self._call else None

    @property
    def cwd(self) -> str | None:
        """The working directory of the call."""
        if self._host is None:
            return None
        call: Any = self._call
        while isinstance(call, Call):
            call = call.caller
        return getattr(call, "cwd", None) or self._host.cwd

    @property
    def signal(self) -> AbortSignal | None:
        """The signal that asks this call to stop."""
        return self._call.signal if self._call else None

    @property
    def session(self) -> Any:
        """The session, or None."""
        return self._host.session if self._host else None

    @property
    def model(self) -> ModelInfo | None:
        """The model that reads the result, or None."""
        return self._host.model if self._host else None

    @property
    def thinking_level(self) -> str | None:
        """How much the model thinks, or None."""
        return self._host.thinking_level if self._host else None

    @property
    def ui(self) -> UI:
        """Questions to the person; without one they answer False or None."""
        if self._host is None:
            raise PiKernelError("this context has no session, so there is nobody to ask")
        return self._host.ui

    @property
    def tools(self) -> ToolsNamespace:
        """The tools that this call may call, looked up at each access."""
        host, call = self._host, self._call
        if host is None or call is None:
            return ToolsNamespace(lambda: cast("Caller", call), dict)  # no tools: nobody calls
        return ToolsNamespace(lambda: call, lambda: host.registry.callable)

    def execute_tool(
        self,
        name: str,
        args: Any = None,
        *,
        signal: AbortSignal | None = None,
        on_update: Callable[[ToolResult], object] | None = None,
    ) -> Coroutine[Any, Any, ToolOutcome]:
        """Call another tool below this call; await it. Never raises for the tool's failure.

        Args:
            name: The exact name of a callable tool.
            args: One JSON object; None is an empty one.
            signal: Asks the call to stop; this call's own signal when None.
            on_update: Gets the partial results.
        """
        if self._call is None:
            return _outcome_without_session(self, name)
        return execute_nested_call(self._call, name, args, signal=signal, on_update=on_update)

    def update(self, partial_result: Any) -> None:
        """Tell how far the call is: a `ToolResult`, a text or another value, from any thread."""
        if self._call is not None:
            self._call.update(partial_result)

    def __repr__(self) -> str:
        return f"ToolContext({self.tool_call_id!r})"


async def _outcome_without_session(context: ToolContext, name: str) -> ToolOutcome:
    """Return the error outcome of a call that has no session to run in."""
    call = Call.__new__(Call)
    call.id = f"{context.tool_call_id}/0"
    call.name = name
    call.raw = {}
    call.parent_id = context.tool_call_id or None
    call.finish("error", error_result(NO_SESSION), is_error=True)
    return ToolOutcome(call)
