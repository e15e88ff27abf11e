"""``pi-kernel install``: the "Pi" kernel, the stock Python kernel with the extension loaded."""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pi_kernel
from pi_kernel.cli.terminal import Terminal

__all__ = ("SUMMARY", "add_arguments", "run")

SUMMARY = 'install the "Pi" kernel for Jupyter'
NAME = "pi"
SPEC_FILE = "kernel.json"
LOADS_US = "--IPKernelApp.extra_extensions=pi_kernel"
VALID_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
"""Jupyter's rule, less a leading period: ``..`` is the folder above that of all kernels."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what may follow the name of the command."""
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--user", action="store_true", help="for the current user")
    where.add_argument(
        "--sys-prefix", action="store_true", help="in this Python environment (the default)"
    )
    where.add_argument(
        "--prefix", type=_path, metavar="DIR", help="under DIR/share/jupyter/kernels"
    )
    parser.add_argument(
        "--name", type=_name, default=NAME, help="the kernel's name, %(default)s when not given"
    )
    parser.add_argument("--remove", action="store_true", help="remove it again")


def _path(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("the name of the folder is empty")
    return Path(text).expanduser().absolute()


def _name(text: str) -> str:
    if not VALID_NAME.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} cannot be a kernel's name: it may have letters of ASCII, digits, - and _,"
            " and periods that do not come first"
        )
    return text.lower()  # as Jupyter does


def run(options: argparse.Namespace, terminal: Terminal) -> str | None:
    """Write the kernelspec, with this very Python in it, or remove it."""
    from jupyter_client.kernelspec import KernelSpecManager  # noqa: PLC0415 - loads on first use

    manager = KernelSpecManager()
    prefix: Path = options.prefix or Path(sys.prefix)
    kernels = Path(manager.user_kernel_dir) if options.user else prefix / "share/jupyter/kernels"
    folder = kernels / options.name
    is_there = folder.is_symlink() or folder.exists()
    if is_there and not _is_ours(folder):
        return f"{folder} is not a kernel of pi_kernel; it was left alone"
    if options.remove:
        if not is_there:
            return f"no kernel named {options.name!r} in {kernels}"
        _delete(folder)
        terminal.line(f"Removed {folder}")
        return None
    spec = _spec(options.name)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SPEC_FILE).write_text(f"{json.dumps(spec, indent=1)}\n", encoding="utf-8")
    terminal.line(f'Installed the kernel "{spec["display_name"]}" in {folder}')
    if str(kernels) not in manager.kernel_dirs:
        terminal.line(f"Jupyter finds it when JUPYTER_PATH names {kernels.parent}")
    return None


def _spec(name: str) -> dict[str, Any]:
    shipped = Path(pi_kernel.__file__).parent / "kernelspec" / SPEC_FILE
    spec: dict[str, Any] = json.loads(shipped.read_text(encoding="utf-8"))
    spec["argv"][0] = sys.executable
    if name != NAME:
        spec["display_name"] += f" ({name})"
    return spec


def _is_ours(folder: Path) -> bool:
    """Whether a kernelspec is one of ours: it loads the extension."""
    try:
        spec = json.loads((folder / SPEC_FILE).read_text(encoding="utf-8"))
        return LOADS_US in spec["argv"]
    except (KeyError, OSError, TypeError, ValueError):
        return False


def _delete(folder: Path) -> None:
    if folder.is_symlink():
        folder.unlink()
    else:
        shutil.rmtree(folder)
