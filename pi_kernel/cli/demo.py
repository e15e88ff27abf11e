"""``pi-kernel demo [DIR] [--json]``: the main job in the terminal, without a key or a network."""

from __future__ import annotations

import argparse
import json
import stat
from pathlib import Path
from typing import Any

from pi_kernel.cli.terminal import Terminal

__all__ = ("SUMMARY", "add_arguments", "run")

SUMMARY = "make real tool calls on copies of a folder's text files and show the trace"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Say what may follow the name of the command."""
    parser.add_argument(
        "folder",
        nargs="?",
        type=_folder,
        metavar="DIR",
        help="any folder; it is only read (default: a small data set of the package)",
    )
    parser.add_argument("--json", action="store_true", help="print data instead of a report")


def _folder(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("the name of the folder is empty")
    path = Path(text)
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise argparse.ArgumentTypeError(f"cannot use {text}: {reason}") from error
    if not is_folder:
        raise argparse.ArgumentTypeError(f"{text} is not a folder")
    return path


def run(options: argparse.Namespace, terminal: Terminal) -> str | None:
    """Run the demo; return what went wrong, or None."""
    from pi_kernel.demo import DEMO_DATA, report_lines, run_demo  # noqa: PLC0415 - loads the engine

    done = run_demo(options.folder or DEMO_DATA)
    if options.json:
        terminal.line(_json_text(done.to_wire(), is_unicode=terminal.is_unicode))
    else:
        for line in report_lines(done, terminal):
            terminal.line(line)
    if not done.unexpected:
        return None
    return f"not everything went as it should: {'; '.join(done.unexpected)}"


def _json_text(data: dict[str, Any], *, is_unicode: bool) -> str:
    """Return JSON that any reader takes: names that are no Unicode have U+FFFD in them."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2)
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text if is_unicode else json.dumps(json.loads(text), indent=2)
