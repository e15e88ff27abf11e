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
from pi_kernel.errors import PiKernelError

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
    parser.add_argument(
        "--kernel", type=_name, metavar="NAME", help="a kernel other than the notebook's own"
    )
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


def _name(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("the name of the kernel is empty")
    return text


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
    path: Path = options.notebook
    try:
        notebook = _read(path)
    except FileNotFoundError:
        return f"no such notebook: {path}"
    except _NotANotebookError as error:
        return f"{path} is not a notebook: {error}"
    from pi_kernel.cli.execute import execute  # noqa: PLC0415 - loads on first use

    # Ctrl-C leaves here: nothing is written then.
    problem = execute(
        notebook, path=path, kernel=options.kernel, seconds=options.timeout, terminal=terminal
    )
    target: Path | None = path if options.in_place else options.output
    if target is not None:
        _write(notebook, target)
        terminal.line(f"Wrote {target}")
    return problem


class _NotANotebookError(ValueError):
    """The file can be read and is something else."""


def _read(path: Path) -> Any:
    import nbformat  # noqa: PLC0415 - loads on first use

    data = path.read_bytes()
    try:
        with warnings.catch_warnings(action="ignore"):  # cells without an id get one
            text = data.decode("utf-8-sig")
            return nbformat.reads(text, as_version=4)
    except Exception as error:  # it raises nearly anything for JSON of another form
        reason = str(error).splitlines() or [type(error).__name__]
        raise _NotANotebookError(reason[0]) from error


def _write(notebook: Any, path: Path) -> None:
    """Write as a whole or not at all, so that a full disk leaves the old file."""
    import nbformat  # noqa: PLC0415 - loads on first use

    from pi_kernel.tools._atomic import SpecialFileError, write_atomically  # noqa: PLC0415
    from pi_kernel.tools._os_errors import FileError  # noqa: PLC0415

    text = nbformat.writes(notebook)
    try:
        write_atomically(path, f"{text}\n".encode())
    except (FileError, SpecialFileError) as error:
        raise PiKernelError(str(error)) from error
