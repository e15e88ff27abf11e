"""Search with Python where there is no ripgrep: the same files, the same rows.

The walk runs here and hands the paths to a child process (`child`), which searches them: a pattern
that takes forever cannot hold the kernel up and can be ended.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from pi_kernel.errors import PiKernelError
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._search import child
from pi_kernel.tools._search.files import ripgrep_files
from pi_kernel.tools._search.globs import GlobError
from pi_kernel.tools._search.ignore import Overrides
from pi_kernel.tools._search.program import Found, run_search
from pi_kernel.tools._search.query import MAX_LINE_BYTES, Query
from pi_kernel.tools._search.regex_error import RegexError
from pi_kernel.tools._search.regex_python import to_python
from pi_kernel.tools._search.regex_syntax import parse_literal, parse_regex
from pi_kernel.tools._search.walk import EntryKind, walk

__all__ = ("search_with_python",)

SECONDS_PER_BLOCK = 30
"""Longer than any honest pattern takes for a few megabytes."""
ENTRIES_PER_WRITE = 64


def search_with_python(
    query: Query, stop: AbortSignal, *, seconds_per_block: float = SECONDS_PER_BLOCK
) -> Found:
    """Search; a folder's rows have paths that start with ``./``.

    Args:
        query: What to search for.
        stop: Ends the search.
        seconds_per_block: How long the pattern may take for a few megabytes.

    Raises:
        PiKernelError: With ripgrep's words, if ripgrep would have met an error.
        ToolAborted: If ``stop`` was set.
    """
    job = _job(query, seconds_per_block)
    problems: list[str] = []

    def feed(stream: IO[bytes], is_over: threading.Event) -> None:
        stream.write(json.dumps(job).encode() + b"\n")
        for piece in _paths(query, problems):
            if is_over.is_set():
                break
            stream.write(piece)
            stream.flush()

    # Isolated and without site-packages: nothing of the user's runs, and it starts quickly.
    argv = [sys.executable, "-I", "-S", str(Path(child.__file__))]
    try:
        found = run_search(argv, query, stop, feed=feed)
    except (OSError, ValueError) as error:
        raise PiKernelError(f"Failed to run the search: {error}") from error
    if found.is_stopped:
        return found
    if any(line.startswith("Timeout (") for line in found.errors.split("\n")):
        raise PiKernelError(
            f"The pattern takes more than {seconds_per_block:g} seconds on one file with Python's"
            " regular expressions. Use a simpler pattern, or install ripgrep, which never takes"
            " long: pip install 'pi-kernel[search]'"
        )
    if problems or found.exit_code != child.EXIT_DONE:
        text = "\n".join([*problems, found.errors]).rstrip("\n")
        raise PiKernelError(text or f"the search exited with code {found.exit_code}")
    return found


def _job(query: Query, seconds_per_block: float) -> dict[str, Any]:
    """Return what the child is told.

    Raises:
        PiKernelError: If the glob or the pattern is not valid.
    """
    try:
        _overrides(query)
        parse = parse_literal if query.literal else parse_regex
        pattern = to_python(parse(query.pattern, ignore_case=query.ignore_case))
    except (GlobError, RegexError) as error:
        raise PiKernelError(f"rg: {error}") from error
    except RecursionError as error:
        raise PiKernelError(f"rg: the pattern is nested too deeply: {error}") from error
    return {
        "ascii": pattern.ascii,
        "unicode": pattern.unicode,
        "literal": pattern.literal,
        "is_literal": pattern.is_literal,
        "context": query.context,
        "max_count": query.max_count,
        "max_line_bytes": MAX_LINE_BYTES,
        "explicit": query.file is not None,
        "seconds": seconds_per_block,
    }


def _overrides(query: Query) -> Overrides:
    return Overrides([query.glob] if query.glob is not None else [])


def _paths(query: Query, problems: list[str]) -> Iterator[bytes]:
    """Yield the paths to search, each with a NUL byte after it; now and then an empty piece."""
    if query.file is not None:
        yield os.fsencode(query.target) + b"\0"
        return
    start = os.fsencode(query.folder)
    batch: list[bytes] = []
    entries = walk(start, ripgrep_files(), overrides=_overrides(query), problems=problems)
    for number, (relative, kind) in enumerate(entries):
        if kind is EntryKind.FILE:
            batch.append(b"./%s\0" % relative)
        if number % ENTRIES_PER_WRITE == 0:
            yield b"".join(batch)
            batch.clear()
    yield b"".join(batch)
