"""Aligning the lines of two texts: which are kept, which removed, which added.

A greedy shortest-edit search (Myers) with a fixed rule for ties, so that a diff looks the same as
the ones that recordings and models know.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from itertools import count as count_from
from typing import Literal

__all__ = ("MAX_SEARCH_STEPS", "Run", "align")

Sign = Literal[" ", "-", "+"]
Run = tuple[Sign, int]
"""How many lines in a row are kept, removed or added."""

MAX_SEARCH_STEPS = 3_000_000
"""Half a second. Beyond it everything between the first and last change counts as replaced."""

_REMOVAL, _INSERTION = 0, 1
_UNREACHED = -1


def align(
    old: Sequence[Hashable],
    new: Sequence[Hashable],
    *,
    max_search_steps: int = MAX_SEARCH_STEPS,
) -> list[Run]:
    """Return the runs that turn the old lines into the new ones.

    Args:
        old: The lines before.
        new: The lines after.
        max_search_steps: A bound on the work; texts that differ too much are not searched further.

    Source:
        Pi 1.6.0 (jsdiff 8, ``Diff.diffWithOptionsObj``); the bound is ours.

    Example:
        >>> align(["a", "b", "c"], ["a", "x", "c", "d"])
        [(' ', 1), ('-', 1), ('+', 1), (' ', 1), ('+', 1)]
    """
    shortest = min(len(old), len(new))
    prefix = 0
    while prefix < shortest and old[prefix] == new[prefix]:
        prefix += 1
    suffix = 0
    while suffix < shortest - prefix and old[-1 - suffix] == new[-1 - suffix]:
        suffix += 1
    old_ids, new_ids = _as_numbers(old[prefix:], new[prefix:])
    removed, added = len(old_ids) - suffix, len(new_ids) - suffix
    path = None
    if not _has_nothing_to_match(old_ids, new_ids, suffix=suffix):
        path = _search(old_ids, new_ids, suffix=suffix, max_steps=max_search_steps)
    if path is None:
        return _merged([(" ", prefix), ("-", removed), ("+", added), (" ", suffix)])
    return _merged([(" ", prefix), *_replay(old_ids, new_ids, path)])


def _as_numbers(old: Sequence[Hashable], new: Sequence[Hashable]) -> tuple[list[int], list[int]]:
    numbers: dict[Hashable, int] = {}
    return (
        [numbers.setdefault(line, len(numbers)) for line in old],
        [numbers.setdefault(line, len(numbers)) for line in new],
    )


def _has_nothing_to_match(old: Sequence[int], new: Sequence[int], *, suffix: int) -> bool:
    """Whether no line of either middle occurs on the other side, suffix included."""
    return set(old[: len(old) - suffix]).isdisjoint(new) and set(
        new[: len(new) - suffix]
    ).isdisjoint(old)


def _search(
    old: Sequence[int], new: Sequence[int], *, suffix: int, max_steps: int
) -> list[int] | None:
    """Return the removals and insertions of the path, first to last, or None if it is too long.

    A diagonal k holds the points with ``old position - new position == k``; ``reached[k]`` is the
    furthest old position on it. Once a path runs along an edge of the grid, diagonals beyond it
    cannot be part of a shorter way to the corner. Both texts have lines and start differently.
    """
    old_count, new_count = len(old), len(new)
    corner = old_count - new_count
    suffix_start = old_count - suffix
    origin = new_count + 1
    reached = [_UNREACHED] * (old_count + new_count + 3)
    reached[origin] = 0
    lowest, highest = -new_count, old_count
    rounds: list[tuple[int, bytearray]] = []
    for distance in count_from(1):
        first, last = max(lowest, -distance), min(highest, distance)
        choices = bytearray()
        rounds.append((first, choices))
        max_steps -= (last - first) // 2 + 1
        if max_steps < 0:
            break
        for diagonal in range(first, last + 1, 2):
            before_removal = reached[origin + diagonal - 1]
            before_insertion = reached[origin + diagonal + 1]
            if before_removal < before_insertion:
                old_position = before_insertion
                choices.append(_INSERTION)
            else:
                old_position = before_removal + 1
                choices.append(_REMOVAL)
            new_position = old_position - diagonal
            old_stop = suffix_start if diagonal == corner else old_count
            while (
                old_position < old_stop
                and new_position < new_count
                and old[old_position] == new[new_position]
            ):
                old_position += 1
                new_position += 1
            if diagonal == corner and old_position >= suffix_start:
                return _trace_back(rounds, corner)
            reached[origin + diagonal] = old_position
            if old_position == old_count:
                highest = min(highest, diagonal - 1)
            if new_position == new_count:
                lowest = max(lowest, diagonal + 1)
    return None


def _trace_back(rounds: Sequence[tuple[int, bytearray]], diagonal: int) -> list[int]:
    path: list[int] = []
    for first, choices in reversed(rounds):
        choice = choices[(diagonal - first) // 2]
        path.append(choice)
        diagonal += 1 if choice == _INSERTION else -1
    path.reverse()
    return path


def _replay(old: Sequence[int], new: Sequence[int], path: Sequence[int]) -> list[Run]:
    """Walk the path, keeping all lines that can be kept before each removal or insertion."""
    runs: list[Run] = []
    old_position = new_position = 0
    for choice in path:
        start = old_position
        while (
            old_position < len(old)
            and new_position < len(new)
            and old[old_position] == new[new_position]
        ):
            old_position += 1
            new_position += 1
        runs.append((" ", old_position - start))
        if choice == _REMOVAL:
            runs.append(("-", 1))
            old_position += 1
        else:
            runs.append(("+", 1))
            new_position += 1
    runs.append((" ", len(old) - old_position))
    return runs


def _merged(runs: Sequence[Run]) -> list[Run]:
    merged: list[Run] = []
    for sign, count in runs:
        if count and merged and merged[-1][0] == sign:
            merged[-1] = (sign, merged[-1][1] + count)
        elif count:
            merged.append((sign, count))
    return merged
