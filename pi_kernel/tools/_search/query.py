"""What is searched for and where: the same for every engine."""

from __future__ import annotations

import os
from dataclasses import dataclass

__all__ = ("Query",)


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
        """What a program is told to search; a name never looks like an option or like ``-``."""
        return "." if self.file is None else f"./{self.file}"

    def path_of(self, found: bytes) -> str:
        """Return how a path that a program printed is shown."""
        return found.removeprefix(b"./").decode("utf-8", "replace")

    def absolute(self, found: bytes) -> bytes:
        """Return where a path that a program printed can be opened."""
        return os.fsencode(self.folder) + b"/" + found
