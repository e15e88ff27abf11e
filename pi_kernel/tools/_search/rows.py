"""Read what a search prints: ``<path>NUL<line>:<text>`` for a match, ``-`` for a line of context.

That is ripgrep's plain output with ``--null``; `child` prints the same. The rows of one file come
together. A path may hold newlines, a text may hold NUL bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ("FileRows", "Row", "RowReader")

NUMBER_AND_MARK = re.compile(rb"\d+([:-])")
NUMBER_AND_TEXT = re.compile(rb"(\d+)([:-])([^\n]*)\n")
BINARY_MESSAGE = re.compile(
    rb": WARNING: stopped searching binary file after match"
    rb" \(found [^\n]* byte around offset \d+\)\n"
)

Row = tuple[int, bool, bytes]
"""Line number, whether it is a match, and the line without its newline."""


@dataclass(slots=True)
class FileRows:
    """The rows of one file."""

    path: bytes
    """As the search printed it."""
    printed: list[bytes] = field(default_factory=list)
    """The rows as they were printed, in pieces of whole ones: that needs the least memory."""
    match_count: int = 0
    is_binary: bool = False
    """Whether the search stopped in it because of a NUL byte."""

    def rows(self) -> Iterator[Row]:
        """Yield the rows."""
        path_bytes = len(self.path) + 1
        for piece in self.printed:
            at = 0
            while row := NUMBER_AND_TEXT.match(piece, at + path_bytes):
                yield int(row[1]), row[2] == b":", row[3]
                at = row.end()


class RowReader:
    """Takes the output in pieces of any size and gives whole files."""

    def __init__(self) -> None:
        self._file: FileRows | None = None
        self._pieces: list[bytes] = []

    def feed(self, data: bytes) -> Iterator[FileRows]:
        """Take a piece; yield the files that are complete now."""
        self._pieces.append(data)
        if b"\n" not in data:
            return
        data = b"".join(self._pieces)
        at, end = 0, data.rfind(b"\n") + 1
        while at < end:
            at = self._take_rows(data, at, end)
            if self._file is not None and data.startswith(self._file.path, at):
                message = BINARY_MESSAGE.match(data, at + len(self._file.path), end)
                if message is not None:
                    self._file.is_binary = True
                    at = message.end()
                    continue
            nul = data.find(b"\0", at, end)
            if nul < 0 or data.find(b"\n", nul, end) < 0:
                break
            yield from self.finish()
            self._file = FileRows(data[at:nul])
        self._pieces = [data[at:]]

    def finish(self) -> Iterator[FileRows]:
        """Yield the last file, if there is one."""
        if self._file is not None:
            yield self._file

    def _take_rows(self, data: bytes, start: int, end: int) -> int:
        """Take rows of the current file; return where something else starts."""
        file = self._file
        if file is None:
            return start
        at, head = start, file.path + b"\0"
        while data.startswith(head, at):
            mark = NUMBER_AND_MARK.match(data, at + len(head), end)
            newline = -1 if mark is None else data.find(b"\n", mark.end(), end)
            if mark is None or newline < 0:
                break
            file.match_count += mark[1] == b":"
            at = newline + 1
        if at > start:
            file.printed.append(data[start:at])
        return at
