"""Run a program that prints rows until it is done, has printed enough or is not wanted any more."""

from __future__ import annotations

import contextlib
import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from pi_kernel.errors import PiKernelError
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._search.plain_file import open_plain
from pi_kernel.tools._search.query import Query
from pi_kernel.tools._search.rows import FileRows, RowReader
from pi_kernel.tools._truncate import format_size

__all__ = ("Found", "run_search")

READ_BYTES = 1 << 20
MAX_ERROR_BYTES = 64 * 1024
MAX_OUTPUT_BYTES = 64 * 1024 * 1024
"""More than anybody reads; it takes a few times as much memory until it is sorted."""
UTF_16_MARKS = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Found:
    """What a search printed."""

    files: list[FileRows]
    """In the order in which they came."""
    is_stopped: bool
    """Whether it was ended because it had found more than the limit."""
    exit_code: int
    errors: str


def run_search(
    argv: Sequence[str],
    query: Query,
    stop: AbortSignal,
    *,
    feed: Callable[[IO[bytes], threading.Event], object] | None = None,
) -> Found:
    """Start the program and read its rows.

    Args:
        argv: The program and its arguments.
        query: What it searches for; it runs in the query's folder.
        stop: Ends the program when it is set.
        feed: Writes to the program's input, in a thread of its own, until the event is set.

    Raises:
        OSError: If the program cannot be started.
        PiKernelError: If it prints far more than anybody reads.
        ToolAborted: If ``stop`` was set.
    """
    process = subprocess.Popen(  # noqa: S603 - the caller chose the program
        argv,
        cwd=query.folder,
        stdin=subprocess.PIPE if feed is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,  # an interrupt of the kernel is not the child's
    )
    assert process.stdout is not None and process.stderr is not None  # noqa: S101, PT018 - pipes
    errors: list[bytes] = []
    failures: list[Exception] = []
    is_over = threading.Event()
    helpers = [threading.Thread(target=_drain, args=(process.stderr, errors), daemon=True)]
    if feed is not None and process.stdin is not None:
        args = (process.stdin, feed, is_over, failures)
        helpers.append(threading.Thread(target=_feed, args=args, daemon=True))
    with process:
        unsubscribe = stop.subscribe(process.kill)
        for helper in helpers:
            helper.start()
        try:
            files, is_stopped = _collect(process.stdout, query)
            if is_stopped:
                process.kill()
            process.wait()
        finally:
            unsubscribe()
            process.kill()
            is_over.set()
            for helper in helpers:
                helper.join()
    stop.throw_if_aborted()
    if failures:
        raise failures[0]
    text = b"".join(errors)[:MAX_ERROR_BYTES].decode("utf-8", "replace").strip()
    return Found(files, is_stopped, process.returncode, text)


def _collect(output: IO[bytes], query: Query) -> tuple[list[FileRows], bool]:
    """Read until the end or until there are more matches than the limit."""
    reader = RowReader()
    files: list[FileRows] = []
    count = 0

    def is_enough(complete: Iterator[FileRows]) -> bool:
        nonlocal count
        for file in complete:
            if query.file is None and (file.is_binary or _is_binary_after_all(file, query)):
                continue
            files.append(file)
            count += file.match_count
            if count > query.limit:
                return True
        return False

    printed_bytes = 0
    while piece := os.read(output.fileno(), READ_BYTES):
        printed_bytes += len(piece)
        if printed_bytes > MAX_OUTPUT_BYTES:
            raise PiKernelError(
                f"The lines found are more than {format_size(MAX_OUTPUT_BYTES)}."
                " Refine pattern, or ask for fewer matches or less context"
            )
        if is_enough(reader.feed(piece)):
            return files, True
    return files, is_enough(reader.finish())


def _is_binary_after_all(file: FileRows, query: Query) -> bool:
    """Whether there is a NUL byte in a file that was not read to its end."""
    if file.match_count < query.max_count:
        return False
    try:
        with open_plain(query.absolute(file.path)) as stream:
            piece = stream.read(READ_BYTES)
            if piece.startswith(UTF_16_MARKS):
                return False
            while piece:
                if b"\0" in piece:
                    return True
                piece = stream.read(READ_BYTES)
    except OSError:
        return False
    return False


def _drain(stream: IO[bytes], into: list[bytes]) -> None:
    kept = 0
    while piece := os.read(stream.fileno(), READ_BYTES):
        if kept < MAX_ERROR_BYTES:
            into.append(piece)
            kept += len(piece)


def _feed(
    stream: IO[bytes],
    feed: Callable[[IO[bytes], threading.Event], object],
    is_over: threading.Event,
    failures: list[Exception],
) -> None:
    try:
        with contextlib.suppress(BrokenPipeError), stream:
            feed(stream, is_over)
    except Exception as error:  # noqa: BLE001 - the thread that waits for this one raises it
        failures.append(error)
