"""A search pattern for marking matches, unless matching it could take very long.

Python's engine backtracks: some patterns take exponential time, and both the pattern and the text
come from outside. Only patterns whose cost has a small bound are compiled; matches of others are
not marked.
"""

from __future__ import annotations

import re

__all__ = ("safe_pattern",)

MAX_PATTERN_CHARS = 300
MAX_REPEATS = 2
"""Unbounded repeats of one pattern: a line of n characters costs at most some n to the third."""
MAX_CHOICES = 6
"""Optional parts and alternatives inside of groups: each may double the cost."""
MAX_CHOICES_WITH_ALL_REPEATS = 1
MAX_BRANCHES = 40
_PIECE = re.compile(
    r"\\."  # an escape
    r"|\[\^?\]?(?:\\.|\[:\^?\w+:\]|[^\]\\])*\]"  # a class
    r"|\(\?(?:P<\w+>|<\w+>|:|[is]+\)|[is]+:)|\("  # a group, named, without number or with flags
    r"|[*+?]|\{\d*,?\d*\}"  # a repeat
    r"|.",
    re.DOTALL,
)
_UNCLEAR_SET = re.compile(r"\[|--|&&|~~|\|\|")
"""Means one thing to ripgrep and another to Python."""
_NAMED_GROUP = re.compile(r"\(\?<(\w+)>")


def safe_pattern(pattern: str, *, literal: bool, ignore_case: bool) -> re.Pattern[str] | None:
    """Return the compiled pattern, or None when it is not valid here or could take long."""
    if not pattern or len(pattern) > MAX_PATTERN_CHARS:
        return None
    flags = re.IGNORECASE if ignore_case else re.NOFLAG
    if literal:
        return re.compile(re.escape(pattern), flags)
    if not _is_cheap(pattern):
        return None
    try:
        return re.compile(_NAMED_GROUP.sub(r"(?P<\1>", pattern), flags)
    except (re.error, OverflowError, RecursionError):
        return None


def _is_cheap(pattern: str) -> bool:
    repeats = choices = branches = depth = 0
    previous = ""
    for piece in _PIECE.findall(pattern):
        if _is_refused(piece, previous):
            return False
        if _is_repeat(piece):
            repeats += 1
        elif piece == "?":
            choices += previous not in ("*", "+")
        elif piece == "|":
            branches += depth == 0
            choices += depth > 0
        elif piece == ")":
            depth -= 1
        elif piece[0] == "(" and piece[-1] != ")":
            depth += 1
        previous = piece
    allowed = MAX_CHOICES if repeats < MAX_REPEATS else MAX_CHOICES_WITH_ALL_REPEATS
    return repeats <= MAX_REPEATS and choices <= allowed and branches <= MAX_BRANCHES


def _is_repeat(piece: str) -> bool:
    return piece in ("*", "+") or (piece[0] == "{" and piece[-1] == "}")


def _is_refused(piece: str, previous: str) -> bool:
    if _is_repeat(piece):
        # A repeated group may match one text in many ways, a repeated repeat even more.
        return previous in ("", ")", "?") or _is_repeat(previous)
    if piece == "?":  # after a bracket: looks around, or depends on a group
        return previous == "("
    if piece[0] == "\\":  # refers back to a group
        return piece[-1].isdigit()
    return piece == "[" or (piece[0] == "[" and _UNCLEAR_SET.search(piece, 1) is not None)
