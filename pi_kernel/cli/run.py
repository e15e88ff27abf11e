"""``pi-kernel run NOTEBOOK``: run a notebook from top to bottom, without a browser."""

from __future__ import annotations

import argparse
import importlib.util
import math
import sys
import warnings
from pathlib import Path
from typing import Any

from pi_kernel.cli.terminal import Terminal

__all__ = ("SUMMARY", "add_arguments", "run")

SUMMARY = "run a notebook from top to bottom"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what may follow the name of the command."""
    parser.add_argument("notebook", type=Path, help="an .ipynb file")
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--output", type=_target, metavar="FILE", help="write the notebook with its outputs here"
    )
    where.add_argument("--in-place", action="store_true", help="write the outputs back")
    parser.add_argument("--kernel", metavar="NAME", help="a kernel other than the notebook's own")
    parser.add_argument(
        "--timeout", type=_seconds, metavar="SECONDS", help="the most that one cell may take"
    )


def _target(text: str) -> Path:
    """Find out before the run what would fail after it."""
    path = Path(text)
    if path.is_dir():
        raise argparse.ArgumentTypeError(f"{text or '.'} is a folder")
    if not path.absolute().parent.is_dir():
        raise argparse.ArgumentTypeError(f"the folder of {text} does not exist")
    return path


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (0 < seconds < math.inf):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def run(options: argparse.Namespace, terminal: Terminal) -> str | None:
    """Run it; the outputs are kept up to the cell that failed."""
    if importlib.util.find_spec("nbclient") is None:
        return f"nbclient is not installed; run: {sys.executable} -m pip install 'pi-kernel[lab]'"
    from pi_kernel.cli.execute import execute  # noqa: PLC0415 - loads on first use

    path: Path = options.notebook
    try:
        notebook = _read(path)
    except FileNotFoundError:
        return f"no such notebook: {path}"
    except _NotANotebookError as error:
        return f"{path} is not a notebook: {error}"
    try:
        problem = execute(
            notebook, path=path, kernel=options.kernel, seconds=options.timeout, terminal=terminal
        )
    finally:
        target: Path | None = path if options.in_place else options.output
    if target is not None:
        _write(notebook, target)
        terminal.line(f"Wrote {target}")
    return problem
