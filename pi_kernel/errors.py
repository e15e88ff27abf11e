"""Every public exception.

A tool's failure is a result, never an exception; these are raised for misuse of the API, for
values that a person asked for by attribute (`ctx.tools.read(...)`), and by tools that want to say
how they ended.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 - only where it lies is asked
import os
import sysconfig
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("PiKernelError", "ToolAborted", "ToolCallError", "ToolTimeout")

OUR_FOLDER = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120 - texts are compared
STANDARD_LIBRARY = os.path.dirname(os.path.dirname(asyncio.__file__))  # noqa: PTH120 - as above
INSTALLED = sysconfig.get_path("purelib")
SHELLS = (f"{os.sep}IPython{os.sep}", f"{os.sep}ipykernel{os.sep}")


def _plain_place(file_name: str, line: int) -> str:
    return f"{file_name}, line {line}"


class PiKernelError(Exception):
    """Something was asked of pi_kernel that it cannot do; the message names the way out."""

    place_of: ClassVar[Callable[[str, int], str]] = staticmethod(_plain_place)
    """Names a place in code for people; set by whoever can say it better."""

    def _render_traceback_(self) -> list[str]:
        """Return what IPython shows: what went wrong, and the person's own lines that led there."""
        places = []
        for frame in traceback.extract_tb(self.__traceback__):
            if _is_a_persons(frame.filename):
                place = PiKernelError.place_of(frame.filename, frame.lineno or 0)
                places.append(f"  {place}: {frame.line}" if frame.line else f"  {place}")
        return [f"{type(self).__name__}: {self}", *self._facts(), *places, *self._hints()]

    def _facts(self) -> list[str]:
        return []

    def _hints(self) -> list[str]:
        return []


def _is_a_persons(file_name: str) -> bool:
    """Whether code is neither ours, nor Python's, nor IPython's."""
    if file_name.startswith(OUR_FOLDER) or any(shell in file_name for shell in SHELLS):
        return False
    return file_name.startswith(INSTALLED) or not file_name.startswith(STANDARD_LIBRARY)


class ToolCallError(PiKernelError):
    """A tool call failed where its value was wanted.

    ``str(error)`` is exactly the text that a model would read.
    """

    hint_of: ClassVar[Callable[[ToolOutcome], str] | None] = None
    """Says what a person may do about a failed call; set by the rendering layer."""

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

    def _facts(self) -> list[str]:
        if self.tool_call_id is None:
            return []
        status = f" ({self.outcome.status})" if self.outcome is not None else ""
        return [f"  in the call {self.tool_call_id} of {self.tool_name}{status}"]

    def _hints(self) -> list[str]:
        if self.outcome is None or ToolCallError.hint_of is None:
            return []
        hint = ToolCallError.hint_of(self.outcome)
        return [f"  {hint}"] if hint else []


class ToolTimeout(PiKernelError):  # noqa: N818 - the name is the API's
    """Raised by a tool that ran out of time; the call ends with the status ``timeout``."""


class ToolAborted(PiKernelError):  # noqa: N818 - the name is the API's
    """Raised by a tool that stopped on request; the call ends with the status ``aborted``."""

    def __init__(self, message: str = "Operation aborted") -> None:
        super().__init__(message)
