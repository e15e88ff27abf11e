"""Read what a search prints: ``<path>NUL<line>:<text>`` for a match, ``-`` for a line of context.

That is ripgrep's plain output with ``--null``; `child` prints the same. The rows of one file come
together. A path may hold newlines, a text may hold NUL bytes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ("FileRows", "Row", "RowReader")

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
    rows: list[Row] = field(default_factory=list)
    match_count: int = 0
    is_binary: bool = False
    """Whether the search stopped in it because of a NUL byte."""


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
            after = self._take(data, at, end)
            if after is None:
                nul = data.find(b"\0", at, end)
                if nul < 0 or data.find(b"\n", nul, end) < 0:
                    break
                yield from self.finish()
                self._file = FileRows(data[at:nul])
                continue
            at = after
        self._pieces = [data[at:]]

    def finish(self) -> Iterator[FileRows]:
        """Yield the last file, if there is one."""
        if self._file is not None:
            yield self._file

    def _take(self, data: bytes, at: int, end: int) -> int | None:
        """Take one row of the current file; return where the next one starts."""
        file = self._file
        if file is None or not data.startswith(file.path, at):
            return None
        at += len(file.path)
        if data[at : at + 1] == b"\0":
            row = NUMBER_AND_TEXT.match(data, at + 1, end)
            if row is None:
                return None
            is_match = row[2] == b":"
            file.rows.append((int(row[1]), is_match, row[3]))
            file.match_count += is_match
            return row.end()
        message = BINARY_MESSAGE.match(data, at, end)
        if message is None:
            return None
        file.is_binary = True
        return message.end()
