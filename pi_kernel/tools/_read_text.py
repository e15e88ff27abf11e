"""Which lines a call of ``read`` asks for, and the result's text for what was found.

The numbers may be negative or have fractions; they then mean what JavaScript's ``slice`` makes of
them, and notices print them unrounded. Recorded results hold that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pi_kernel.protocol.results import ToolResult
from pi_kernel.tools._numbers import format_number, to_double
from pi_kernel.tools._text_select import LineSelector, Selection
from pi_kernel.tools._truncate import DEFAULT_MAX_BYTES, format_size

__all__ = ("LineRange", "select_lines", "text_result")

_LIMIT_LABEL = format_size(DEFAULT_MAX_BYTES)
_UNREACHABLE_LINE = 2**63


@dataclass(frozen=True)
class LineRange:
    """The call's ``offset`` (first line, from 1) and ``limit`` (number of lines)."""

    offset: float | None = None
    limit: float | None = None

    @property
    def start(self) -> float:
        """Lines before the first one."""
        return max(0, to_double(self.offset) - 1) if self.offset else 0

    @property
    def counts_from_end(self) -> bool:
        """Whether the total must be known before lines can be chosen."""
        stop = self._stop
        return stop is not None and stop < 0

    @property
    def _stop(self) -> int | None:
        """The index after the last line; negative ones count from the end, None is the end."""
        if self.limit is None:
            return None
        stop = self.start + to_double(self.limit)
        return math.trunc(stop) if math.isfinite(stop) else None

    def selector(self, total_lines: int | None = None) -> LineSelector:
        """Return what picks the lines; ``total_lines`` is needed if they count from the end."""
        start = math.trunc(self.start) if math.isfinite(self.start) else _UNREACHABLE_LINE
        stop = self._stop
        if stop is not None and stop < 0 and total_lines is not None:
            stop = max(0, total_lines + stop)
        return LineSelector(start, stop)


def select_lines(blocks: Callable[[], Iterable[bytes]], lines: LineRange) -> Selection:
    """Select from a text that ``blocks()`` yields, each time from the start."""
    total_lines = None
    if lines.counts_from_end:
        total_lines = 1 + sum(block.count(b"\n") for block in blocks())
    selector = lines.selector(total_lines)
    for block in blocks():
        selector.feed(block)
    return selector.finish()


def text_result(selection: Selection, lines: LineRange, shown: str) -> ToolResult:
    """Return the result for the selected lines, with the notice that tells how to go on.

    Args:
        selection: What was selected by ``lines``.
        lines: What was asked for.
        shown: The path as the caller gave it.

    Raises:
        ValueError: If the first line is behind the end.
    """
    total = selection.total_lines
    start = lines.start
    if start >= total:
        offset = format_number(lines.offset or 0)
        raise ValueError(f"Offset {offset} is beyond end of file ({total} lines total)")
    text, notice = selection.text, None
    first = format_number(start + 1)
    if text.first_line_exceeds_limit:
        content = (
            f"[Line {first} is {format_size(selection.first_line_bytes)}, exceeds {_LIMIT_LABEL}"
            f" limit. Use bash: sed -n '{first}p' {shown} | head -c {DEFAULT_MAX_BYTES}]"
        )
    else:
        content = text.content
        if text.truncated:
            last = start + text.output_lines
            reason = f" ({_LIMIT_LABEL} limit)" if text.truncated_by == "bytes" else ""
            notice = (
                f"[Showing lines {first}-{format_number(last)} of {total}{reason}."
                f" Use offset={format_number(last + 1)} to continue.]"
            )
        elif lines.limit is not None:
            stop = start + (min(start + to_double(lines.limit), total) - start)
            if stop < total:
                notice = (
                    f"[{format_number(total - stop)} more lines in file."
                    f" Use offset={format_number(stop + 1)} to continue.]"
                )
    if notice is not None:
        content = f"{content}\n\n{notice}"
    return ToolResult(
        content,
        details={"truncation": text.to_wire()} if text.truncated else None,
        structured_content=content,
    )
