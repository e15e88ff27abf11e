r"""Selecting lines of a text that is seen once, block by block, and never held as a whole.

Lines are separated by ``\n``, so a text has one line more than newlines. Everything before and
after the selection is only searched for newlines; of the selection a head that the result can show
is kept and the rest is counted.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass

from pi_kernel.tools._truncate import DEFAULT_MAX_BYTES, Truncation, head_of

__all__ = ("LineSelector", "Selection")

_KEPT_BYTES = DEFAULT_MAX_BYTES + 1


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The selected lines, cut for a model."""

    text: Truncation
    first_line_bytes: int
    """UTF-8 bytes of the first selected line, whole."""
    total_lines: int
    """Lines of the whole text."""


class LineSelector:
    """Takes a text's bytes block by block and keeps lines ``start`` to ``stop``.

    Args:
        start: Index of the first line, from 0.
        stop: Index after the last line; None: to the end.
    """

    def __init__(self, start: int, stop: int | None) -> None:
        self._start = start
        self._stop = stop
        self._newlines = 0
        self._selected = _SelectedText()

    @property
    def total_lines(self) -> int:
        """Lines seen so far; the last one may go on."""
        return self._newlines + 1

    def feed(self, block: bytes | bytearray) -> None:
        """Take the next bytes of the text. The block is not kept."""
        before = self._newlines
        after = self._newlines = before + block.count(b"\n")
        first_in_block = max(before, self._start)
        is_past = self._stop is not None and self._stop <= first_in_block
        if is_past or after < self._start:
            return
        begin = 0 if before >= self._start else _find_newline(block, self._start - before) + 1
        if self._stop is None or after < self._stop:
            end, newlines = len(block), after - first_in_block
        else:
            end, newlines = (
                _find_newline(block, self._stop - before),
                self._stop - 1 - first_in_block,
            )
        is_whole = begin == 0 and end == len(block)
        self._selected.feed(block if is_whole else block[begin:end], newlines)

    def finish(self) -> Selection:
        """Return what was selected; call it once, after the last block."""
        selected = self._selected
        selected.flush()
        return Selection(
            text=head_of(
                bytes(selected.head),
                total_lines=selected.lines,
                total_bytes=selected.total_bytes,
            ),
            first_line_bytes=selected.first_line_bytes,
            total_lines=self.total_lines,
        )


class _SelectedText:
    """Counts a text and keeps its head, both as the UTF-8 of the leniently decoded text."""

    def __init__(self) -> None:
        self.head = bytearray()
        self.total_bytes = 0
        self.first_line_bytes = 0
        self._newlines = 0
        self._is_first_line = True
        self._is_line_open = False
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._has_pending = False

    @property
    def lines(self) -> int:
        return self._newlines + self._is_line_open

    def feed(self, piece: bytes | bytearray, newlines: int) -> None:
        if not piece:
            return
        self._newlines += newlines
        self._is_line_open = not piece.endswith(b"\n")
        if piece.isascii() and not self._has_pending:
            self._add(piece)
        else:
            self._add(self._decoder.decode(bytes(piece)).encode())
            self._has_pending = bool(self._decoder.getstate()[0])

    def flush(self) -> None:
        self._add(self._decoder.decode(b"", final=True).encode())

    def _add(self, data: bytes | bytearray) -> None:
        self.total_bytes += len(data)
        if self._is_first_line:
            end = data.find(b"\n")
            self._is_first_line = end < 0
            self.first_line_bytes += len(data) if end < 0 else end
        room = _KEPT_BYTES - len(self.head)
        if room > 0:
            self.head += data[:room]


def _find_newline(block: bytes | bytearray, number: int) -> int:
    """Return the index of the ``number``-th newline, counted from 1; it must be there."""
    low, high = 0, len(block)
    while high - low > 1:
        middle = (low + high) // 2
        in_lower_half = block.count(b"\n", low, middle)
        if number <= in_lower_half:
            high = middle
        else:
            number -= in_lower_half
            low = middle
    return low
