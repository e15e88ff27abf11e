r"""Cutting text for a model: by lines and bytes from either end, or one line by characters.

Bytes are UTF-8 bytes. Only ``\n`` ends a line; a final newline does not start another one. Cutting
works on the encoded text, so a caller that streams a file can keep a few kilobytes and still get
the record of the whole text (`head_of`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

__all__ = (
    "DEFAULT_MAX_BYTES",
    "DEFAULT_MAX_LINES",
    "GREP_MAX_LINE_LENGTH",
    "NO_LINE_LIMIT",
    "Truncation",
    "format_size",
    "head_of",
    "truncate_head",
    "truncate_line",
    "truncate_tail",
)

DEFAULT_MAX_LINES = 2000
DEFAULT_MAX_BYTES = 50 * 1024
GREP_MAX_LINE_LENGTH = 500
"""UTF-16 units, not code points: recorded results count an emoji as two."""
NO_LINE_LIMIT = 2**53 - 1
"""What tools with a limit of their own pass as ``max_lines``; it shows in their details."""
LINE_CUT_MARK = "... [truncated]"

_KIB = 1024
_MIB = 1024 * 1024
_UTF8_TOP_BITS = 0b1100_0000
_UTF8_CONTINUATION = 0b1000_0000
_UTF16_UNIT_BYTES = 2


@dataclass(frozen=True)
class Truncation:
    """What was kept of a text, why it was cut, and how large the whole was."""

    content: str
    truncated: bool
    truncated_by: Literal["lines", "bytes"] | None
    total_lines: int
    total_bytes: int
    output_lines: int
    output_bytes: int
    last_line_partial: bool
    first_line_exceeds_limit: bool
    max_lines: int
    max_bytes: int

    def to_wire(self) -> dict[str, Any]:
        """Return the record with the camelCase keys that ``details`` use."""
        return {
            "content": self.content,
            "truncated": self.truncated,
            "truncatedBy": self.truncated_by,
            "totalLines": self.total_lines,
            "totalBytes": self.total_bytes,
            "outputLines": self.output_lines,
            "outputBytes": self.output_bytes,
            "lastLinePartial": self.last_line_partial,
            "firstLineExceedsLimit": self.first_line_exceeds_limit,
            "maxLines": self.max_lines,
            "maxBytes": self.max_bytes,
        }


def format_size(size_bytes: int) -> str:
    """Return a size for people: ``512B``, ``50.0KB``, ``1.9MB``; never a larger unit.

    One decimal, exact ties upwards. Rounding happens inside a unit: 1048575 is ``1024.0KB``.

    Source:
        Pi 1.6.0, ``formatSize`` (JavaScript's ``toFixed(1)``).

    Example:
        >>> format_size(51200), format_size(1280)
        ('50.0KB', '1.3KB')
    """
    if size_bytes < _KIB:
        return f"{size_bytes}B"
    unit, label = (_KIB, "KB") if size_bytes < _MIB else (_MIB, "MB")
    tenths = (20 * size_bytes + unit) // (2 * unit)
    return f"{tenths // 10}.{tenths % 10}{label}"


def truncate_head(
    text: str, *, max_lines: int = DEFAULT_MAX_LINES, max_bytes: int = DEFAULT_MAX_BYTES
) -> Truncation:
    r"""Keep whole lines from the start; a line is never kept in part.

    A text within both limits is returned as it is, with its final newline; a cut one ends without.

    Args:
        text: The text.
        max_lines: The most lines to keep.
        max_bytes: The most UTF-8 bytes to keep, newlines between the lines included.

    Source:
        Pi 1.6.0, ``truncateHead``.

    Example:
        >>> truncate_head("one\ntwo\nthree\n", max_lines=2).content
        'one\ntwo'
    """
    data = _encode(text)
    return head_of(
        data,
        total_lines=_count_lines(data),
        total_bytes=len(data),
        max_lines=max_lines,
        max_bytes=max_bytes,
    )


def head_of(
    data: bytes,
    *,
    total_lines: int,
    total_bytes: int,
    max_lines: int = DEFAULT_MAX_LINES,
    max_bytes: int = DEFAULT_MAX_BYTES,
) -> Truncation:
    """Do what `truncate_head` does for a text of which only the start is at hand.

    Args:
        data: The text's first ``max_bytes + 1`` UTF-8 bytes at least, or all of them.
        total_lines: Lines of the whole text.
        total_bytes: UTF-8 bytes of the whole text.
        max_lines: The most lines to keep.
        max_bytes: The most bytes to keep.

    Returns:
        The record of the whole text.
    """

    def record(
        kept: bytes, lines: int, by: Literal["lines", "bytes"] | None, *, too_long: bool = False
    ) -> Truncation:
        return Truncation(
            content=_decode(kept),
            truncated=by is not None,
            truncated_by=by,
            total_lines=total_lines,
            total_bytes=total_bytes,
            output_lines=lines,
            output_bytes=len(kept),
            last_line_partial=False,
            first_line_exceeds_limit=too_long,
            max_lines=max_lines,
            max_bytes=max_bytes,
        )

    if total_lines <= max_lines and total_bytes <= max_bytes:
        return record(data, total_lines, None)
    if total_bytes > max_bytes and data.find(b"\n", 0, max_bytes + 1) < 0:
        return record(b"", 0, "bytes", too_long=True)
    kept_lines, kept_bytes, start = 0, 0, 0
    while kept_lines < min(max_lines, total_lines):
        end = data.find(b"\n", start, max_bytes + 1)
        if end < 0:
            end = total_bytes
        if end > max_bytes:
            return record(data[:kept_bytes], kept_lines, "bytes")
        kept_lines, kept_bytes, start = kept_lines + 1, end, end + 1
    return record(data[:kept_bytes], kept_lines, "lines")


def truncate_tail(
    text: str, *, max_lines: int = DEFAULT_MAX_LINES, max_bytes: int = DEFAULT_MAX_BYTES
) -> Truncation:
    r"""Keep whole lines from the end; of a last line that is too long, its end.

    Args:
        text: The text.
        max_lines: The most lines to keep.
        max_bytes: The most UTF-8 bytes to keep, newlines between the lines included.

    Source:
        Pi 1.6.0, ``truncateTail``.

    Example:
        >>> truncate_tail("one\ntwo\nthree\n", max_lines=2).content
        'two\nthree'
    """
    data = _encode(text)
    total_lines = _count_lines(data)
    by: Literal["lines", "bytes"] | None = None
    kept, kept_lines, is_partial = data, total_lines, False
    if total_lines > max_lines or len(data) > max_bytes:
        by = "lines"
        text_end = len(data) - data.endswith(b"\n")
        start, kept_lines = text_end, 0
        line_end = text_end
        while kept_lines < min(max_lines, total_lines):
            line_start = data.rfind(b"\n", 0, line_end) + 1
            if text_end - line_start > max_bytes:
                by = "bytes"
                if kept_lines == 0:
                    start, kept_lines, is_partial = (
                        _character_start(data, text_end, max_bytes),
                        1,
                        True,
                    )
                break
            start, kept_lines, line_end = line_start, kept_lines + 1, line_start - 1
        kept = data[start:text_end]
    return Truncation(
        content=_decode(kept),
        truncated=by is not None,
        truncated_by=by,
        total_lines=total_lines,
        total_bytes=len(data),
        output_lines=kept_lines,
        output_bytes=len(kept),
        last_line_partial=is_partial,
        first_line_exceeds_limit=False,
        max_lines=max_lines,
        max_bytes=max_bytes,
    )


def truncate_line(text: str, max_chars: int = GREP_MAX_LINE_LENGTH) -> tuple[str, bool]:
    """Cut one line to a number of UTF-16 units and mark the cut.

    A character outside the basic plane counts two and is never split.

    Returns:
        The line, and whether it was cut.

    Source:
        Pi 1.6.0, ``truncateLine``.

    Example:
        >>> truncate_line("abcdef", 3)
        ('abc... [truncated]', True)
    """
    units = text[: max_chars + 1].encode("utf-16-le", "surrogatepass")
    cut = max_chars * _UTF16_UNIT_BYTES
    if len(units) <= cut:
        return text, False
    if _is_inside_pair(units, cut):
        cut -= _UTF16_UNIT_BYTES
    return units[:cut].decode("utf-16-le", "surrogatepass") + LINE_CUT_MARK, True


def _is_inside_pair(units: bytes, cut: int) -> bool:
    """Whether the unit before the cut and the one after it are one character."""
    around = units[max(0, cut - _UTF16_UNIT_BYTES) : cut + _UTF16_UNIT_BYTES]
    is_two_units = len(around) == 2 * _UTF16_UNIT_BYTES
    return is_two_units and len(around.decode("utf-16-le", "surrogatepass")) == 1


def _character_start(data: bytes, end: int, max_bytes: int) -> int:
    start = max(0, end - max_bytes)
    while start < end and data[start] & _UTF8_TOP_BITS == _UTF8_CONTINUATION:
        start += 1
    return start


def _count_lines(data: bytes) -> int:
    return data.count(b"\n") + (bool(data) and not data.endswith(b"\n"))


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")
