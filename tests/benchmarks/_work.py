"""What is measured in a process of its own: a tool, and the same work by hand.

Each function takes the path of a sample and returns the seconds that its work took.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pi_kernel import ToolOutcome, ToolSession
from pi_kernel.tools import create_tool_definition

PIPE_BYTES = READ_BYTES = 1024 * 1024
TAIL_BYTES = 200 * 1024
SCAN_BYTES = 256 * 1024
OFFSET, LIMIT = 1_000_000, 100


def call(
    name: str, arguments: Mapping[str, Any], options: Mapping[str, Any] | None = None
) -> tuple[float, ToolOutcome]:
    """Return the seconds of one call in a session, and what came of it."""

    async def measure() -> tuple[float, ToolOutcome]:
        session = ToolSession(tools=[create_tool_definition(name, **(options or {}))])
        start = time.perf_counter()
        outcome = await session.execute_tool(name, dict(arguments))
        return time.perf_counter() - start, outcome

    seconds, outcome = asyncio.run(measure())
    if outcome.is_error:
        raise RuntimeError(f"{name} failed: {outcome.text}")
    return seconds, outcome


def bash(path: str) -> float:
    """Print a file with the tool."""
    seconds, outcome = call("bash", {"command": f"cat '{path}'"})
    Path(outcome.details["fullOutputPath"]).unlink()
    return seconds


def bash_by_hand(path: str) -> float:
    """Print a file; count newlines, keep the end, save everything."""
    start = time.perf_counter()
    process = subprocess.Popen(  # noqa: S603 - our own command
        ["/bin/bash", "-c", f"cat '{path}'"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None
    output = process.stdout.fileno()
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - not on every system

        with contextlib.suppress(OSError):
            fcntl.fcntl(output, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    newlines = 0
    tail = bytearray()
    spill, name = tempfile.mkstemp()
    while block := os.read(output, READ_BYTES):
        newlines += block.count(b"\n")
        tail += block
        if len(tail) > 2 * TAIL_BYTES:
            del tail[:-TAIL_BYTES]
        os.write(spill, block)
    process.stdout.close()
    process.wait()
    os.close(spill)
    seconds = time.perf_counter() - start
    Path(name).unlink()
    return seconds


def read(path: str) -> float:
    """Read a hundred lines far into a file with the tool."""
    return call("read", {"path": path, "offset": OFFSET, "limit": LIMIT})[0]


def read_by_hand(path: str) -> float:
    """Find the lines block by block, and count all."""
    start = time.perf_counter()
    newlines, first, stop = 0, OFFSET - 1, OFFSET - 1 + LIMIT
    kept: list[bytes] = []
    newlines_before_kept = 0
    with Path(path).open("rb", buffering=0) as file:
        while block := file.read(SCAN_BYTES):
            before = newlines
            newlines += block.count(b"\n")
            if newlines >= first and before < stop:
                newlines_before_kept = newlines_before_kept if kept else before
                kept.append(block)
    lines = b"".join(kept).split(b"\n")
    start_line = first - newlines_before_kept
    text = b"\n".join(lines[start_line : start_line + LIMIT]).decode("utf-8", "replace")
    if text.count("\n") != LIMIT - 1:
        raise RuntimeError("the lines were not found")
    return time.perf_counter() - start
