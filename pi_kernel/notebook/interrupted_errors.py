"""Shows a cancellation that ends an interrupted cell as what it is to people."""

from __future__ import annotations

import asyncio
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

from pi_kernel.notebook.cells import CellInterrupted

__all__ = ("InterruptedErrors",)


class InterruptedErrors:
    """Takes over IPython's hook for exceptions from a cell's first stop to its end.

    Most cells end with `CellInterrupted` by themselves. A few end with a CancelledError of
    asyncio's own, such as one that never waits for anything but its turn.
    """

    def __init__(self, shell: InteractiveShell) -> None:
        self._shell: Any = shell
        self._held: tuple[Any, Any] | None = None

    def expect(self, _cell: object = None) -> None:
        """Take the hook over."""
        if self._held is None:
            shell = self._shell
            self._held = (shell.custom_exceptions, shell.CustomTB)
            shell.custom_exceptions = (asyncio.CancelledError, *shell.custom_exceptions)
            shell.CustomTB = self._show

    def _show(self, kind: Any, value: Any, trace: Any, tb_offset: int | None = None) -> Any:
        if isinstance(value, asyncio.CancelledError):
            return self._shell.showtraceback((CellInterrupted, CellInterrupted(), None))
        assert self._held is not None  # noqa: S101 - this hook is in place only then
        return self._held[1](kind, value, trace, tb_offset=tb_offset)

    def restore(self, result: Any = None) -> None:
        """Give the hook back; the cell's result names the interrupt too."""
        if self._held is None:
            return
        self._shell.custom_exceptions, self._shell.CustomTB = self._held
        self._held = None
        if isinstance(getattr(result, "error_in_exec", None), asyncio.CancelledError):
            result.error_in_exec = CellInterrupted()
