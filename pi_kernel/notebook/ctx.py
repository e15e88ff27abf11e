"""`ctx`: what a cell uses to call tools."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from pi_kernel.errors import PiKernelError
from pi_kernel.notebook.cells import Cell, CellRecord
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ModelInfo
from pi_kernel.registry.decorator import tool as make_tool
from pi_kernel.registry.namespace import ToolsNamespace
from pi_kernel.registry.ui import UI
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.call import Call, Caller, current_caller
from pi_kernel.runtime.outcome import ToolOutcome
from pi_kernel.scale.map import OnError, read_items
from pi_kernel.sessions.session import ToolSession
from pi_kernel.traces.trace import Trace

if TYPE_CHECKING:
    from pi_kernel.notebook.extension import Extension

__all__ = ("NotebookContext",)


class NotebookContext:
    """The tools of this notebook's session, called by the running cell.

    ``await ctx.execute_tool("read", {"path": "data.csv"})`` gives a `ToolOutcome`;
    ``await ctx.tools.read(path="data.csv")`` gives the value, or raises `ToolCallError`.
    """

    def __init__(self, extension: Extension, tools: ToolsNamespace) -> None:
        self._extension = extension
        # An attribute of the object, not a property: completion evaluates nothing else.
        self.tools = tools
        """Tools as functions: ``await ctx.tools.read(path="data.csv")`` gives the value."""

    # -- calls -------------------------------------------------------------------------------

    def execute_tool(
        self,
        name: str,
        args: Any = None,
        *,
        signal: AbortSignal | None = None,
        on_update: Callable[[ToolResult], object] | None = None,
    ) -> Coroutine[Any, Any, ToolOutcome]:
        """Call a tool; await it. Never raises for the tool's failure.

        Args:
            name: The exact name; `%tools` lists them.
            args: One JSON object.
            signal: Asks the call to stop; the cell's own signal when None.
            on_update: Gets the partial results.
        """
        return self.session.execute_tool(name, args, signal=signal, on_update=on_update)

    async def map(
        self,
        name: str,
        list_of_args: Iterable[Mapping[str, Any]],
        *,
        limit: int | None = None,
        on_error: OnError = "keep",
    ) -> list[ToolOutcome]:
        """Call one tool many times at once, with a progress bar.

        Args:
            name: The exact name of the tool.
            list_of_args: One JSON object a call.
            limit: How many run at the same time; 16 when None.
            on_error: ``keep`` keeps failed outcomes, ``stop`` starts no more calls after one.

        Returns:
            The outcomes in the order of the arguments.
        """
        from pi_kernel.notebook.progress import progress_bar  # noqa: PLC0415 - loads the display

        calls = read_items(list_of_args)
        with progress_bar(f"ctx.map {name}", len(calls)) as step:
            return await self.session.map(name, calls, limit=limit, on_error=on_error, on_done=step)

    def tool(self, function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
        """Make a tool of a function and register it: ``@ctx.tool`` or ``@ctx.tool(...)``.

        Takes the options of `pi_kernel.tool`. Running the cell again replaces the tool.
        """
        if function is None:
            return lambda given: self.tool(given, **options)
        return self.session.register(make_tool(function, **options))

    # -- facts -------------------------------------------------------------------------------

    @property
    def session(self) -> ToolSession:
        """The session of this notebook.

        Raises:
            PiKernelError: If the extension was unloaded.
        """
        session = self._extension.session
        if session is None:
            raise PiKernelError(f"this ctx was unloaded; {self._extension.way_back()}")
        return session

    @property
    def trace(self) -> Trace:
        """All calls so far."""
        return self.session.trace

    @property
    def last(self) -> ToolOutcome | None:
        """The outcome of the last finished call, or None."""
        ended = (call for call in self.session.host.calls if call.status is not None)
        last = max(ended, key=lambda call: call.started_perf + call.total_ms / 1000, default=None)
        return ToolOutcome(last).take_record() if last is not None else None

    def cell(self, n: int | None = None) -> CellRecord:
        """Return what a cell's calls came to: this cell, else the last one, or cell ``[n]``."""
        caller = self._caller
        while isinstance(caller, Call):
            caller = caller.caller
        if n is None and isinstance(caller, Cell) and caller.status == "running":
            return caller.record()
        return self._extension.cells.get(n).record()

    @property
    def _caller(self) -> Caller | None:
        caller = current_caller.get()
        return caller if caller is not None and caller.host is self.session.host else None

    @property
    def tool_call_id(self) -> str | None:
        """The id that this cell's calls have as their parent."""
        caller = self._caller
        return caller.id if caller is not None else None

    @property
    def parent_tool_call_id(self) -> None:
        """None: a cell has no caller."""
        return

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self.session.session_id

    @property
    def turn_id(self) -> None:
        """None: a cell belongs to no turn."""
        return

    @property
    def turn_index(self) -> None:
        """None: a cell belongs to no turn."""
        return

    @property
    def cell_id(self) -> str | None:
        """The notebook's id of the running cell, where the front end tells one."""
        caller = self._caller
        return caller.root.cell_id if caller is not None else None

    @property
    def cwd(self) -> str:
        """The working directory, read when the cell started."""
        caller = self._caller
        while isinstance(caller, Call):
            caller = caller.caller
        return (caller.cwd if caller is not None else None) or self.session.host.cwd

    @property
    def signal(self) -> AbortSignal:
        """Set when the running cell is interrupted."""
        return (self._caller or self.session.host.root).signal

    @property
    def model(self) -> ModelInfo | None:
        """The model of the session, or None."""
        return self.session.model

    @property
    def ui(self) -> UI:
        """Questions to the person."""
        return self.session.host.ui

    def update(self, partial_result: Any) -> None:
        """Tell how far the cell is, as a line under it; inside a tool, how far the call is."""
        caller = self._caller
        if isinstance(caller, Call):
            caller.update(partial_result)
        else:
            self._extension.show_update(caller, partial_result)

    def __repr__(self) -> str:
        if self._extension.session is None:
            return "<ctx: unloaded>"
        return f"<ctx: {self.session!r}>"
