"""Every public exception.

A tool's failure is a result, never an exception; these are raised for misuse of the API, for
values that a person asked for by attribute (`ctx.tools.read(...)`), and by tools that want to say
how they ended.
"""

from __future__ import annotations

import asyncio
import os
import traceback
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("PiKernelError", "ToolAborted", "ToolCallError", "ToolTimeout")


NOT_THE_PERSONS = (
    os.path.dirname(os.path.abspath(__file__)),  # noqa: PTH100, PTH120 - texts are compared
    os.path.dirname(asyncio.__file__),  # noqa: PTH120
)
"""Folders whose frames are left out of a tool's error."""


class PiKernelError(Exception):
    """Something was asked of pi_kernel that it cannot do; the message names the way out."""


class ToolCallError(PiKernelError):
    """A tool call failed where its value was wanted.

    ``str(error)`` is exactly the text that a model would read.
    """

    def __init__(
        self,
        text: str,
        *,
        tool_name: str | None = None,
        tool_call_id: str | None = None,
        outcome: ToolOutcome | None = None,
    ) -> None:
        super().__init__(text)
        self.tool_name = tool_name
        self.tool_call_id = tool_call_id
        self.outcome = outcome

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows: which call failed, and the person's own lines that made it."""
        lines = [f"{type(self).__name__}: {self}"]
        if self.tool_call_id is not None:
            status = f" ({self.outcome.status})" if self.outcome is not None else ""
            lines.append(f"  in the call {self.tool_call_id} of {self.tool_name}{status}")
        for frame in traceback.extract_tb(self.__traceback__):
            is_ours = frame.filename.startswith(NOT_THE_PERSONS)
            if not is_ours and f"{os.sep}IPython{os.sep}" not in frame.filename:
                is_cell = "ipykernel_" in frame.filename or frame.filename.startswith("<ipython")
                where = "cell" if is_cell else frame.filename
                lines.append(f"  {where}, line {frame.lineno}: {frame.line}")
        return lines


class ToolTimeout(PiKernelError):  # noqa: N818 - the name is the API's
    """Raised by a tool that ran out of time; the call ends with the status ``timeout``."""


class ToolAborted(PiKernelError):  # noqa: N818 - the name is the API's
    """Raised by a tool that stopped on request; the call ends with the status ``aborted``."""

    def __init__(self, message: str = "Operation aborted") -> None:
        super().__init__(message)
