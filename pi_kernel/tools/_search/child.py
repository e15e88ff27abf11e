"""The program that searches files in Python: a pattern that never ends can be killed with it.

It imports nothing of the package, so that it starts quickly. The first line of its input is the job
as JSON, then come the paths, each with a NUL byte after it. It prints rows as ripgrep does with
``--null`` (see `rows`) and writes errors about files in ripgrep's words.

Source:
    ripgrep 15.2.0, crate grep-searcher: what is binary, what a byte order mark means, which lines
    are context.
"""

from __future__ import annotations

import errno
import faulthandler
import json
import os
import re
import stat
import sys
import time
from collections.abc import Callable, Iterator
from typing import IO, Any

BLOCK_BYTES = 4 << 20
MAX_LINE_BYTES = 256 << 20
"""A line is searched as a whole and takes several times its size. What is UTF-16 is one block."""
HEAD_BYTES = 1 << 16
"""Most binary files show in so many bytes that they are."""
READ_BYTES = 1 << 16
OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
STDIN = 0
REARM_SECONDS = 1.0
UTF_8_MARK = b"\xef\xbb\xbf"
UTF_16_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
EXIT_DONE = 0
EXIT_FILE_ERROR = 2
"""Python itself ends with 1 when something goes wrong."""

Find = Callable[[str, int], int]
"""Where the next match in a text starts, from a place on; negative for nowhere."""


class Matcher:
    """Finds the lines of a block that match."""

    def __init__(self, job: dict[str, Any]) -> None:
        flags = re.MULTILINE | re.ASCII
        self._ascii = re.compile(job["ascii"], flags)
        self._job = job
        self._unicode: re.Pattern[str] | None = None
        self._literal: str = job["literal"]
        self._needed: bytes = job["literal"].encode("utf-8", "surrogateescape")

    def lines(self, block: bytes, start: int) -> Iterator[tuple[int, int]]:
        """Yield where each line that matches starts and ends, its newline left out."""
        if self._needed and block.find(self._needed, start) < 0:
            return
        is_ascii = block.isascii()
        text = block.decode("latin-1" if is_ascii else "utf-8", "surrogateescape")
        find = self._finder(is_ascii=is_ascii)
        at = start if is_ascii else len(block[:start].decode("utf-8", "surrogateescape"))
        done_chars, done_bytes = at, start
        while at < len(text):
            found = find(text, at)
            if found < 0 or (found == len(text) and text.endswith("\n")):
                return
            line = text.rfind("\n", 0, found) + 1
            end = text.find("\n", found)
            end = len(text) if end < 0 else end
            if is_ascii:
                yield line, end
            else:
                first = done_bytes + _size(text[done_chars:line])
                last = first + _size(text[line:end])
                yield first, last
                done_chars, done_bytes = end, last
            at = end + 1

    def _finder(self, *, is_ascii: bool) -> Find:
        if self._job["is_literal"] and self._literal:
            return lambda text, at: text.find(self._literal, at)
        if not is_ascii and self._unicode is None:
            self._unicode = re.compile(self._job["unicode"], re.MULTILINE | re.ASCII)
        pattern = self._ascii if is_ascii or self._unicode is None else self._unicode

        def find(text: str, at: int) -> int:
            match = pattern.search(text, at)
            return -1 if match is None else match.start()

        return find


def _size(text: str) -> int:
    return len(text.encode("utf-8", "surrogateescape"))


class FileSearch:
    """The search of one file, block by block, with the context around the matches."""

    def __init__(
        self, matcher: Matcher, *, context: int, max_count: int, max_line_bytes: int
    ) -> None:
        self.rows: list[tuple[int, bytes, bytes]] = []
        """Line number, mark and text."""
        self._matcher = matcher
        self._context = context
        self._left = max_count
        self._max_line_bytes = max_line_bytes
        self._after = 0
        """How many lines of context are still to come."""
        self._carried = b""
        """Lines of the blocks before that may be context of a match to come."""
        self._number = 1
        """The number of the first line that is carried, or else comes next."""

    def add(self, block: bytes) -> bool:
        """Search whole lines; False when nothing more is wanted."""
        data = self._carried + block
        done = 0
        if self._left > 0:
            for first, last in self._matcher.lines(data, len(self._carried)):
                done = self._show_after(data, done, first)
                before = _back(data, first, self._context, done)
                self._number += data.count(b"\n", done, before)
                self._show(data, before, first, b"-")
                done = min(last + 1, len(data))
                self._show(data, first, done, b":")
                self._after = self._context
                self._left -= 1
                if self._left == 0:
                    break
        done = self._show_after(data, done, len(data))
        keep = _back(data, len(data), self._context, done)
        self._number += data.count(b"\n", done, keep)
        self._carried = data[keep:]
        return self._left > 0 or self._after > 0

    def _show_after(self, data: bytes, start: int, end: int) -> int:
        """Show what is left of the context after the match before; return where it ends."""
        while self._after > 0 and start < end:
            line_end = data.find(b"\n", start, end)
            after = end if line_end < 0 else line_end + 1
            self._show(data, start, after, b"-")
            self._after -= 1
            start = after
        return start

    def _show(self, data: bytes, start: int, end: int, mark: bytes) -> None:
        """Add the rows of some whole lines."""
        if start == end:
            return
        for line in data[start:end].removesuffix(b"\n").split(b"\n"):
            self.rows.append((self._number, mark, line[: self._max_line_bytes]))
            self._number += 1


def _back(data: bytes, end: int, count: int, start: int) -> int:
    """Return where the last ``count`` lines before ``end`` begin, not before ``start``."""
    at = end
    for _ in range(count):
        if at <= start:
            break
        newline = data.rfind(b"\n", start, at - 1)
        at = start if newline < 0 else newline + 1
    return at


def blocks(head: bytes, stream: IO[bytes]) -> Iterator[bytes]:
    """Yield a file as UTF-8 or as it is, in pieces of whole lines, without a byte order mark.

    Args:
        head: What was read of it already.
        stream: The rest.

    Raises:
        OSError: If a line is too large.
    """
    encoding = UTF_16_MARKS.get(head[:2])
    if encoding is not None:
        content = head[2:] + stream.read(MAX_LINE_BYTES)
        _check_size(len(content))
        text = content.decode(encoding, "replace")
        yield text.encode("utf-8", "replace")
        return
    pieces = [head.removeprefix(UTF_8_MARK)]
    size = len(head)
    while piece := stream.read(BLOCK_BYTES):
        cut = piece.rfind(b"\n") + 1
        if cut:
            pieces.append(piece[:cut])
            yield b"".join(pieces)
            pieces, size = [], 0
        pieces.append(piece[cut:])
        size += len(piece) - cut
        _check_size(size)
    if rest := b"".join(pieces):
        yield rest


def _check_size(size_bytes: int) -> None:
    if size_bytes >= MAX_LINE_BYTES:
        raise OSError(errno.EFBIG, os.strerror(errno.EFBIG))


def search_file(path: bytes, job: dict[str, Any], matcher: Matcher, watch: Watch) -> FileSearch:
    """Search one file; a binary one has no rows unless it was asked for by name."""
    search = FileSearch(
        matcher,
        context=job["context"],
        max_count=job["max_count"],
        max_line_bytes=job["max_line_bytes"],
    )
    is_wanted, is_explicit = True, job["explicit"]
    descriptor = os.open(path, OPEN_FLAGS)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)  # it took the place of a file since the walk
        return search
    with os.fdopen(descriptor, "rb") as stream:
        head = stream.read(HEAD_BYTES) or b""  # None: nothing now, and nothing is waited for
        if not is_explicit and b"\0" in head and head[:2] not in UTF_16_MARKS:
            return search
        for block in blocks(head, stream):
            watch.start()
            if not is_explicit and b"\0" in block:
                search.rows = []
                break
            is_wanted = is_wanted and search.add(block)
            if not is_wanted and is_explicit:
                break
    return search


class Watch:
    """Ends the program when a block takes too long, even inside the regular expression engine."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._armed_at: float | None = None

    def start(self) -> None:
        """Start the time anew; what began just now counts as new."""
        now = time.monotonic()
        if self._armed_at is None or now - self._armed_at >= REARM_SECONDS:
            faulthandler.dump_traceback_later(self._seconds, exit=True)
            self._armed_at = now

    def stop(self) -> None:
        """Stop the time: what comes now may take as long as it likes."""
        faulthandler.cancel_dump_traceback_later()
        self._armed_at = None


def read_job() -> tuple[dict[str, Any], bytes]:
    """Read the first line of the input; return the job and what was read beyond."""
    data = b""
    while b"\n" not in data:
        piece = os.read(STDIN, READ_BYTES)
        if not piece:
            sys.exit(EXIT_FILE_ERROR)
        data += piece
    line, _, rest = data.partition(b"\n")
    return json.loads(line), rest


def paths_of(rest: bytes, watch: Watch) -> Iterator[bytes]:
    """Yield the paths as they come.

    Args:
        rest: What was read of them already.
        watch: Does not run while there is nothing to do.
    """
    while True:
        *complete, rest = rest.split(b"\0")
        yield from complete
        watch.stop()
        piece = os.read(STDIN, READ_BYTES)
        if not piece:
            break
        rest += piece


def main() -> int:
    """Search all files; return the exit code."""
    job, rest = read_job()
    matcher = Matcher(job)
    watch = Watch(job["seconds"])
    code = EXIT_DONE
    for path in paths_of(rest, watch):
        try:
            rows = search_file(path, job, matcher, watch).rows
        except OSError as error:
            shown = path.decode("utf-8", "replace")
            text = f"rg: {shown}: {error.strerror} (os error {error.errno})\n"
            sys.stderr.buffer.write(text.encode("utf-8", "replace"))
            code = EXIT_FILE_ERROR
            continue
        if rows:
            sys.stdout.buffer.writelines(b"%s\0%d%s%s\n" % (path, *row) for row in rows)
            sys.stdout.buffer.flush()
    return code


if __name__ == "__main__":
    sys.exit(main())
