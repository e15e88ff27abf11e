"""What is searched for and where: the same for every engine."""
# Paths are texts and bytes here: names need not be UTF-8.
# ruff: noqa: PTH118

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ("MAX_LINE_BYTES", "Query")

MAX_LINE_BYTES = 2000
"""A program need not print more of a line: so many bytes are never less than what can be shown."""


@dataclass(frozen=True, kw_only=True)
class Query:
    """One search.

    ``file`` is the name of a file in ``folder``; None searches the folder.
    """

    pattern: str
    folder: str
    file: str | None
    glob: str | None
    ignore_case: bool
    literal: bool
    context: int
    limit: int

    @property
    def max_count(self) -> int:
        """How many matches of one file are looked for: one more than the limit proves more."""
        return self.limit + 1

    @property
    def target(self) -> str:
        """What a program is told to search: ``.`` or an absolute path, never like an option."""
        return "." if self.file is None else os.path.join(self.folder, self.file)

    def shown_path(self, found: bytes) -> str:
        """Return how a path that a program printed is shown."""
        if self.file is not None:
            found = os.fsencode(self.file)
        return found.removeprefix(b"./").decode("utf-8", "replace")

    def absolute(self, found: bytes) -> bytes:
        """Return where a path that a program printed can be opened."""
        return os.path.join(os.fsencode(self.folder), found)
