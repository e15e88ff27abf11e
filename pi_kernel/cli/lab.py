"""``pi-kernel lab``: JupyterLab on the quick-start notebook."""

from __future__ import annotations

import argparse
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

from pi_kernel.cli.terminal import Terminal

__all__ = ("SUMMARY", "add_arguments", "run")

SUMMARY = "open JupyterLab on the quick-start notebook"
FOLDER = "pi-kernel-notebooks"
MAX_PORT = 65_535


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what may follow the name of the command."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=_folder,
        metavar="DIR",
        help="where the notebooks are, or are copied to (default: ./notebooks in a checkout,"
        f" else ./{FOLDER})",
    )
    parser.add_argument("--no-browser", action="store_true", help="print the address only")
    parser.add_argument("--port", type=_port, help="the port to listen on")


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("the name of the folder is empty")
    return Path(text).expanduser().absolute()


def _port(text: str) -> int:
    if not text.isdecimal() or not 0 < int(text) <= MAX_PORT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port")
    return int(text)


def run(options: argparse.Namespace, terminal: Terminal) -> str | None:
    """Start JupyterLab and stay until it ends."""
    from pi_kernel.cli.notebooks import FIRST, own_copy  # noqa: PLC0415 - loads on first use

    if importlib.util.find_spec("jupyterlab") is None:
        return f"JupyterLab is not installed; run: {sys.executable} -m pip install 'pi-kernel[lab]'"
    checkout = Path("notebooks").absolute()
    default = checkout if (checkout / FIRST).is_file() else Path(FOLDER).absolute()
    folder: Path = options.folder or default
    first = own_copy(folder)
    terminal.line(f"Notebooks in {folder}")
    # -P: a file of the person's own such as random.py must not take a library's place.
    command = [sys.executable, "-P", "-m", "jupyterlab", str(first)]
    if options.no_browser:
        command.append("--no-browser")
    if os.name == "posix" and os.geteuid() == 0:
        # Who is root already, as in a container, has nothing to gain from a refusal.
        terminal.line("JupyterLab runs as root here")
        command.append("--allow-root")
    if options.port is not None:
        command.append(f"--port={options.port}")
    if terminal.stream is not None:
        terminal.stream.flush()  # nothing does it after the next line
    return _become(command, folder)


def _become(command: list[str], folder: Path) -> str | None:
    """Let JupyterLab take this process's place: it alone gets Ctrl-C, which it asks about."""
    if os.name == "posix":
        os.chdir(folder)
        os.execv(command[0], command)  # noqa: S606 - our own command
    code = subprocess.run(command, cwd=folder, check=False).returncode  # noqa: S603 - as above
    return f"JupyterLab ended with code {code}" if code else None
