"""The rows of a change: of a unified diff, or of the numbered form that people read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

__all__ = ("PatchRow", "count_changes", "read_patch")

Sign = Literal[" ", "-", "+", "@", "\\"]
_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.{0,200})")

_NUMBERED = re.compile(r"([-+ ])(?: *(\d{1,9})(?: |$)| +\.\.\.$)", re.MULTILINE)
"""A sign, the number of a line and the line; blanks and dots stand for lines left out."""


@dataclass(frozen=True, slots=True)
class PatchRow:
    r"""One row; ``@`` stands for unchanged lines between hunks, ``\`` for a missing newline."""

    sign: Sign
    text: str
    old: int | None = None
    new: int | None = None


def read_patch(patch: str, max_rows: int) -> tuple[list[PatchRow], bool]:
    """Return the rows of either form, and whether these are all."""
    rows: list[PatchRow] = []
    for row in _rows(patch):
        if len(rows) >= max_rows:
            return rows, False
        rows.append(row)
    return rows, True


def count_changes(patch: str) -> tuple[int, int]:
    """Return how many lines were added and removed."""
    added = removed = 0
    for row in _rows(patch):
        added += row.sign == "+"
        removed += row.sign == "-"
    return added, removed


def _rows(patch: str) -> Iterator[PatchRow]:
    is_numbered = _NUMBERED.match(patch) is not None and not patch.startswith("---")
    return _numbered_rows(patch) if is_numbered else _hunk_rows(patch)


def _numbered_rows(diff: str) -> Iterator[PatchRow]:
    for line in diff.split("\n"):
        match = _NUMBERED.match(line)
        if match is None:
            continue
        if match[2] is None:
            yield PatchRow("@", "unchanged lines")
            continue
        number, text = int(match[2]), line[match.end() :]
        if match[1] == "-":
            yield PatchRow("-", text, old=number)
        elif match[1] == "+":
            yield PatchRow("+", text, new=number)
        else:
            yield PatchRow(" ", text, old=number)


def _hunk_rows(patch: str) -> Iterator[PatchRow]:
    old = new = 1
    old_left = new_left = 0
    for line in patch.split("\n"):
        if line[:1] == "\\":
            yield PatchRow("\\", "no newline at the end of the file")
        elif old_left <= 0 and new_left <= 0:
            match = _HUNK.match(line)
            if match is None:
                continue  # the file's names
            first_old, first_new = int(match[1]), int(match[3])
            old_left, new_left = int(match[2] or 1), int(match[4] or 1)
            first_old += old_left == 0
            first_new += new_left == 0
            between = first_old - old
            if between > 0:
                where = match[5].rstrip(" :{")
                where = f", {where}" if where else ""
                yield PatchRow("@", f"{between:,} unchanged line{'s' * (between > 1)}{where}")
            old, new = first_old, first_new
        elif line[:1] == "-":
            yield PatchRow("-", line[1:], old=old)
            old, old_left = old + 1, old_left - 1
        elif line[:1] == "+":
            yield PatchRow("+", line[1:], new=new)
            new, new_left = new + 1, new_left - 1
        else:
            yield PatchRow(" ", line[1:], old, new)
            old, old_left, new, new_left = old + 1, old_left - 1, new + 1, new_left - 1
