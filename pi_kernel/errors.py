"""Every public exception.

A tool's failure is a result, never an exception; these are raised for misuse of the API, for
values that a person asked for by attribute (`ctx.tools.read(...)`), and by tools that want to say
how they ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("PiKernelError", "ToolAborted", "ToolCallError", "ToolTimeout")


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


class ToolTimeout(PiKernelError):  # noqa: N818 - the name is the API's
    """Raised by a tool that ran out of time; the call ends with the status ``timeout``."""


class ToolAborted(PiKernelError):  # noqa: N818 - the name is the API's
    """Raised by a tool that stopped on request; the call ends with the status ``aborted``."""

    def __init__(self, message: str = "Operation aborted") -> None:
        super().__init__(message)
