"""`RunCaller`: a run as the caller of its model's calls."""

from __future__ import annotations

from pi_kernel.registry.host import ToolHost
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.call import Caller
from pi_kernel.runtime.records import NestedCallRecorder

__all__ = ("RunCaller",)


class RunCaller(Caller):
    """Makes a model's calls; their parent is the cell or tool call that started the run."""

    owns_children = True
    child_reach = "model"
    child_origin = "model"

    def __init__(self, host: ToolHost, outer: Caller | None, signal: AbortSignal) -> None:
        super().__init__(host, outer.id if outer is not None else "", signal)
        self.is_parent = outer is not None
        self._outer = outer
        if outer is not None:
            self.cell_call_id = outer.cell_call_id
            self.cell_id = outer.cell_id
            self.execution_count = outer.execution_count
            self.cwd = outer.cwd

    def child_recorder(self) -> NestedCallRecorder | None:
        """Return the recorder of the cell or tool call that started the run."""
        return self._outer.child_recorder() if self._outer is not None else None
