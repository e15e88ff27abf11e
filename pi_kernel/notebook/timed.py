"""``%%time`` over a cell that awaits, which IPython's own magic cannot run.

The line becomes a statement that starts a clock, and the rest stays an ordinary cell: awaits, last
expressions, magics and tracebacks are IPython's own.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import time
from collections.abc import Callable

from IPython.core.interactiveshell import InteractiveShell

from pi_kernel.render.formats import duration

__all__ = ("START_NAME", "Stopwatch", "TimedCells")

START_NAME = "__pi_start_clock__"
TIME_LINE = re.compile(r"%%time\s*$")


class Stopwatch:
    """Measures from its making to `report`."""

    def __init__(self) -> None:
        self._times = time.process_time(), time.perf_counter()

    def report(self) -> None:
        """Print what IPython's magic prints."""
        cpu = time.process_time() - self._times[0]
        wall = time.perf_counter() - self._times[1]
        sys.stdout.write(f"CPU time: {duration(cpu * 1000)}\nWall time: {duration(wall * 1000)}\n")


class TimedCells:
    """The input transformer that replaces the ``%%time`` line.

    Args:
        start: Called where the line was.
    """

    def __init__(self, shell: InteractiveShell, start: Callable[[], object]) -> None:
        self._shell = shell
        self._start = start

    def attach(self) -> None:
        """Let the shell use it; after IPython's own, so that leading empty lines are gone."""
        self._shell.input_transformers_cleanup.append(self.transform)
        self._shell.push({START_NAME: self._start}, interactive=False)

    def detach(self) -> None:
        """Take it back."""
        if self.transform in self._shell.input_transformers_cleanup:
            self._shell.input_transformers_cleanup.remove(self.transform)
        self._shell.drop_by_id({START_NAME: self._start})

    def transform(self, lines: list[str]) -> list[str]:
        """Replace the first line, for line numbers by one line, where the cell awaits."""
        if not lines or not TIME_LINE.match(lines[0]) or not self._awaits(lines[1:]):
            return lines
        return [f"{START_NAME}()\n", *lines[1:]]

    def _awaits(self, lines: list[str]) -> bool:
        if not any("await" in line or "async" in line for line in lines):
            return False
        try:
            source = self._shell.transform_cell("".join(lines))
            code = compile(source, "<timed>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
        except (SyntaxError, ValueError):
            return False
        return bool(code.co_flags & inspect.CO_COROUTINE)
