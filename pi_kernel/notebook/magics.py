"""The magics: ``%tools`` and ``%trace``."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, NoReturn

from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.display import display

if TYPE_CHECKING:
    from pi_kernel.notebook.extension import Extension

__all__ = ("MAGIC_NAMES", "PiMagics")

MAGIC_NAMES = ("tools", "trace")
MAX_NAMED = 10


class _Parser(argparse.ArgumentParser):
    """Says what is wrong with a magic's line instead of leaving the kernel."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{self.prog}: {message}")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise UsageError(message or f"{self.prog}: status {status}")


def _tools_parser() -> _Parser:
    parser = _Parser(prog="%tools", add_help=False)
    parser.add_argument("pattern", nargs="?", default="", help="part of a name or description")
    parser.add_argument("--all", action="store_true", help="hidden tools too")
    return parser


def _trace_parser() -> _Parser:
    parser = _Parser(prog="%trace", add_help=False)
    parser.add_argument("cell", nargs="?", help="a cell's number, an id such as cell-2b, or all")
    return parser


@magics_class
class PiMagics(Magics):
    """Line magics of the loaded extension."""

    def __init__(self, shell: InteractiveShell, extension: Extension) -> None:
        super().__init__(shell)
        self._extension = extension

    @line_magic
    def tools(self, line: str) -> None:
        """Show the registered tools: who can reach each, its parameters, where it came from.

        Usage:
            %tools [PATTERN] [--all]
        """
        from pi_kernel.render.tools import tools_bundle  # noqa: PLC0415 - loads on first use

        options = _tools_parser().parse_args(_split("%tools", line))
        registry = self._extension.ctx.session.registry
        wanted = options.pattern.lower()
        rows = [
            tool
            for tool in registry.registered.values()
            if (options.all or tool.exposure != "hidden")
            and wanted in f"{tool.name} {tool.description}".lower()
        ]
        display(tools_bundle(rows, registry), raw=True)

    @line_magic
    def trace(self, line: str) -> None:
        """Show the calls of the last cell that made any, of a cell by number or id, or of all.

        Usage:
            %trace [CELL | all]
        """
        from pi_kernel.notebook.live import show_trace  # noqa: PLC0415 - loads on first use

        options = _trace_parser().parse_args(_split("%trace", line))
        trace = self._extension.ctx.trace
        if options.cell == "all":
            show_trace(trace, "session")
            return
        cell_call_id = self._cell_call_id(options.cell)
        show_trace(trace, cell_call_id or "no cell", cell_call_id or "")

    def _cell_call_id(self, given: str | None) -> str | None:
        cells = self._extension.cells
        if given is None:
            made_calls = [cell for cell in cells if cell.is_used]
            if not made_calls:
                return None
            return str(max(made_calls, key=lambda cell: cell.started).id)
        if given.isdecimal():
            return str(cells.get(int(given)).id)
        known = [str(cell.id) for cell in cells if cell.is_used]
        if given in known:
            return given
        last = ", ".join(known[-MAX_NAMED:]) or "none"
        raise UsageError(f"%trace: no calls of a cell {given!r}; the last cells with calls: {last}")


def _split(name: str, line: str) -> list[str]:
    try:
        return shlex.split(line)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from error
