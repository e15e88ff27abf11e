"""The calls of a trace as lines of a tree, and which of very many are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

from pi_kernel.render._status import SHELLS, word_of

__all__ = ("CallLine", "Gap", "TraceNodeLike", "flatten", "shown_items")

EDGE_ROWS = 100
"""Of the beginning and of the end."""
MAX_FAILED_BETWEEN = 50


class TraceNodeLike(Protocol):
    """A call and the calls that it made, in start order; a trace's nodes are such."""

    @property
    def call(self) -> Any:
        """What is known of the call: ``id``, ``tool``, ``args``, ``status``, times, the result."""
        ...

    @property
    def children(self) -> Sequence[TraceNodeLike]:
        """The calls it made."""
        ...


@dataclass(frozen=True, slots=True)
class CallLine:
    """One call and how many calls are above it."""

    call: Any
    depth: int

    @property
    def is_failed(self) -> bool:
        """Whether the model was told that the call failed."""
        return bool(self.call.is_error)

    @property
    def word(self) -> str:
        """How it ended."""
        call = self.call
        # Looked at only where it tells the word: it may have to be made of a large table.
        is_shell = call.status == "error" and call.tool in SHELLS
        return word_of(call.status, call.tool, call.structured if is_shell else None)


@dataclass(frozen=True, slots=True)
class Gap:
    """Lines that are not shown."""

    n_calls: int
    n_failed: int


def flatten(nodes: Sequence[TraceNodeLike]) -> list[CallLine]:
    """Return every call below its caller; however deep, nothing recurses."""
    lines: list[CallLine] = []
    waiting = [(node, 0) for node in reversed(nodes)]
    while waiting:
        node, depth = waiting.pop()
        lines.append(CallLine(node.call, depth))
        waiting += [(child, depth + 1) for child in reversed(node.children)]
    return lines


def wanted(lines: Sequence[CallLine]) -> list[int]:
    """Return the indexes to show, the most wanted first: failures, then from both ends."""
    n_lines = len(lines)
    edges = min(n_lines, 2 * EDGE_ROWS)
    from_ends = [
        index // 2 if index % 2 == 0 else n_lines - 1 - index // 2 for index in range(edges)
    ]
    failed = [index for index, line in enumerate(lines) if line.is_failed]
    if n_lines > edges:
        between = [index for index in failed if EDGE_ROWS <= index < n_lines - EDGE_ROWS]
        at_edges = [index for index in failed if not EDGE_ROWS <= index < n_lines - EDGE_ROWS]
        failed = [*at_edges, *between[:MAX_FAILED_BETWEEN]]
    return list(dict.fromkeys([*failed, *from_ends]))


def shown_items(
    lines: Sequence[CallLine], sizes: dict[int, int], *, room_bytes: int, gap_bytes: int
) -> Iterator[CallLine | Gap]:
    """Give the lines that fit, in order, with a gap where others are left out.

    Args:
        lines: All lines.
        sizes: Bytes of each wanted line, by index; the most wanted first.
        room_bytes: What lines and gaps may use.
        gap_bytes: What one gap uses.
    """
    spent = gap_bytes
    kept: list[int] = []
    places = pairwise([-1, *sorted(sizes), len(lines)])
    n_gaps = sum(following - index > 1 for index, following in places)
    fits = sum(sizes.values()) + gap_bytes * (n_gaps + 1) <= room_bytes
    for index, n_bytes in sizes.items():
        # When not all of them fit, a gap may come after any of them.
        spent += n_bytes + (0 if fits else gap_bytes)
        if spent > room_bytes:
            break
        kept.append(index)
    kept.sort()
    previous = -1
    for index in [*kept, len(lines)]:
        left_out = lines[previous + 1 : index]
        if left_out:
            yield Gap(len(left_out), sum(line.is_failed for line in left_out))
        if index < len(lines):
            yield lines[index]
        previous = index
