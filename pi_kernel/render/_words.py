"""Which parts of two lines differ, word by word."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

__all__ = ("Ranges", "changed_words")

Ranges = list[tuple[int, int]]
"""Starts and ends of the changed parts of a line."""

MAX_LINE_CHARS = 400
MIN_ALIKE = 0.4
"""Below this two lines are different lines, not a changed one."""
MAX_JOINED_GAP_CHARS = 2
_WORD = re.compile(r"\d+(?:\.\d+)*|\w+|\s+|.", re.DOTALL)


def changed_words(old: str, new: str) -> tuple[Ranges, Ranges] | None:
    """Return the changed ranges of both lines, or None when they are too different or too long.

    A number is one word; gaps of at most two characters between changes are closed.

    Example:
        >>> changed_words("x = round(1.50)", "x = round(1.75)")
        ([(10, 14)], [(10, 14)])
    """
    if max(len(old), len(new)) > MAX_LINE_CHARS:
        return None
    old_words, new_words = _WORD.findall(old), _WORD.findall(new)
    matcher = SequenceMatcher(None, old_words, new_words, autojunk=False)
    same = sum(
        sum(len(word) for word in old_words[block.a : block.a + block.size])
        for block in matcher.get_matching_blocks()
    )
    if 2 * same <= MIN_ALIKE * (len(old) + len(new)):
        return None
    removed: Ranges = []
    added: Ranges = []
    old_starts, new_starts = _starts(old_words), _starts(new_words)
    for kind, old_first, old_last, new_first, new_last in matcher.get_opcodes():
        if kind != "equal":
            _add(removed, old_starts[old_first], old_starts[old_last])
            _add(added, new_starts[new_first], new_starts[new_last])
    return removed, added


def _starts(words: list[str]) -> list[int]:
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word))
    return starts


def _add(ranges: Ranges, start: int, end: int) -> None:
    if start == end:
        return
    if ranges and start - ranges[-1][1] <= MAX_JOINED_GAP_CHARS:
        ranges[-1] = (ranges[-1][0], end)
    else:
        ranges.append((start, end))
