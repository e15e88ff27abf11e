"""What IPython and ipykernel do not tell their hooks about the cell that is running."""

from __future__ import annotations

import asyncio
import inspect
import re
from collections.abc import Callable
from types import FrameType
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

__all__ = ("cell_numbers", "cell_task", "execution_count", "front_end_cell_id", "is_in_cell")

RUN_FUNCTION = "run_cell_async"
SYNC_RUNNER = "_pseudo_sync_runner"
"""Drives a cell without an await; it runs inside the kernel's own task."""


def _run_frame() -> FrameType | None:
    """Return the frame of the function that runs the innermost cell."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != RUN_FUNCTION:
        frame = frame.f_back
    return frame


def is_in_cell() -> bool:
    """Whether a cell is running here; false while a configuration is being loaded."""
    return _run_frame() is not None


def execution_count(shell: InteractiveShell) -> int:
    """Return the number of the running cell.

    ``shell.execution_count`` is the next cell's in newer versions of IPython, and in older ones
    the running cell's until it ends.
    """
    frame = _run_frame()
    result: Any = frame.f_locals.get("result") if frame is not None else None
    count = getattr(result, "execution_count", None)
    return count if isinstance(count, int) else shell.execution_count


def cell_numbers(shell: InteractiveShell) -> Callable[[str], int | None]:
    """Return what finds the number of the cell whose code IPython compiled under a file name."""

    def number_of(file_name: str) -> int | None:
        label = shell.compile.format_code_name(file_name)
        match = re.fullmatch(r"In\[(\d+)\]", label[1]) if label is not None else None
        return int(match[1]) if match is not None else None

    return number_of


def cell_task() -> asyncio.Task[Any] | None:
    """Return the task of the running cell's code; None for a cell that is not async."""
    frame = _run_frame()
    if frame is None or (frame.f_back and frame.f_back.f_code.co_name == SYNC_RUNNER):
        return None
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def front_end_cell_id(shell: InteractiveShell) -> str | None:
    """Return the notebook's own id of the running cell, where the front end sends one."""
    kernel = getattr(shell, "kernel", None)
    parent = kernel.get_parent() if kernel is not None else None
    cell_id = ((parent or {}).get("metadata") or {}).get("cellId")
    return cell_id if isinstance(cell_id, str) else None
