"""The command line ``pi-kernel``: one module a subcommand.

Exit codes: 0 done, 1 the job failed, 2 wrong usage, 130 stopped by Ctrl-C. An error is one line on
stderr. The modules of the subcommands import what they need when they run, so that
``pi-kernel --version`` loads next to nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

from pi_kernel import __version__
from pi_kernel.cli.terminal import escaped, standard_output
from pi_kernel.errors import PiKernelError

__all__ = ("main",)

PROGRAM = "pi-kernel"
DONE = 0
FAILED = 1
WRONG_USAGE = 2
STOPPED = 130
MAX_ERROR_CHARS = 1_000
DEBUG_VARIABLE = "PI_KERNEL_DEBUG"
"""When set, an error of our own also prints its traceback."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """End with one line instead of the whole usage."""
        _tell(f"{message}; see {self.prog} --help")
        self.exit(WRONG_USAGE)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line.

    Args:
        arguments: Without the program's name; those of the process when None.

    Returns:
        The exit code.
    """
    try:
        code = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
    except KeyboardInterrupt:
        return STOPPED
    except BrokenPipeError:
        _drop_output()  # whoever read it wanted no more of it
        return DONE
    except PiKernelError as error:
        _tell(str(error))
    except OSError as error:
        _drop_output()
        reason = error.strerror or str(error)
        _tell(f"{reason}: {os.fsdecode(error.filename)}" if error.filename else reason)
    except Exception as error:  # noqa: BLE001 - people get one line, never a traceback
        _tell(f"internal error, please report it: {type(error).__name__}: {error}")
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exception(error)
    else:
        return code
    return FAILED


def _run(arguments: Sequence[str] | None) -> int:
    terminal = standard_output()
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else DONE
    problem: str | None = options.run(options, terminal)
    if problem is None:
        return DONE
    _tell(problem)
    return FAILED


def _parser() -> argparse.ArgumentParser:
    # Here, so that Ctrl-C while they load is as quiet as later.
    from pi_kernel.cli import demo, doctor, install, lab, run, tools  # noqa: PLC0415

    parser = _Parser(prog=PROGRAM, description="Tools for models and people: the command line.")
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    commands = parser.add_subparsers(
        title="commands", dest="command", metavar="COMMAND", required=True, parser_class=_Parser
    )
    modules = {
        "lab": lab,
        "demo": demo,
        "run": run,
        "tools": tools,
        "install": install,
        "doctor": doctor,
    }
    for name, command in modules.items():
        subparser = commands.add_parser(name, help=command.SUMMARY, description=command.SUMMARY)
        command.add_arguments(subparser)
        subparser.set_defaults(run=command.run)
    return parser


def _tell(text: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{PROGRAM}: {escaped(text[:MAX_ERROR_CHARS])}\n")


def _drop_output() -> None:
    """Let what is still buffered go nowhere, so that the interpreter's last flush is quiet."""
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
    except (AttributeError, OSError, ValueError):  # no such stream: nothing is buffered
        return
