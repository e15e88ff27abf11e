"""`RunCaller`: a run as the caller of its model's calls."""

from __future__ import annotations

from pi_kernel.registry.host import ToolHost
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.call import Call, Caller
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
        self.outer = outer
        """The cell or tool call that started the run."""
        if outer is not None:
            root = outer.root
            self.cell_call_id = root.cell_call_id
            self.cell_id = root.cell_id
            self.execution_count = root.execution_count
            self.cwd = root.caller.cwd if isinstance(root, Call) else root.cwd

    def child_recorder(self) -> NestedCallRecorder | None:
        """Return the recorder of the cell or tool call that started the run."""
        return self.outer.child_recorder() if self.outer is not None else None
