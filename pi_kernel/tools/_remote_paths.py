"""On the far machine: the paths below a folder that match, sorted as the local find sorts them.

Where Python 3.11 runs, the local tool's own modules do it, which are sent along. An older Python
cannot run them: there the patterns count as regular expressions, and no ignore files do.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    _Search = tuple[Callable[[bytes], object], Iterator[tuple[bytes, bool]]]

__all__ = ("find_paths",)

PYTHON = tuple(sys.version_info[:2])
MODULES_NEED = (3, 11)
MAX_STARS_IN_A_ROW = 3
"""Each more takes `re` as many times longer as a name has characters, without atomic groups."""

_ANYTHING_BELOW = b"/_"


def find_paths(
    folder: str, query: dict[str, Any], *, check_stop: Callable[[], None]
) -> list[tuple[str, bool]]:
    """Return paths relative to the folder and whether they are folders.

    Args:
        folder: Absolute path of the folder.
        query: ``pattern``, and what was read from it: ``regex``, ``is_quick``, ``ignore_case``,
            ``by_name`` and ``prefix``; ``limit``, the most paths to return; ``leave_out``, pairs of
            a glob and its regular expression.
        check_stop: Called for each entry; raises to give up.
    """
    search = _with_modules if PYTHON >= MODULES_NEED else _without_modules
    matches, entries = search(os.fsencode(folder), query)
    found: list[tuple[str, bool]] = []
    for relative, is_folder in entries:
        check_stop()
        if matches(relative):
            found.append((os.fsdecode(relative), is_folder))
            if len(found) >= query["limit"]:
                break
    return found


def _with_modules(start: bytes, query: dict[str, Any]) -> _Search:
    from pi_kernel.tools._search.files import fd_files  # noqa: PLC0415 - not for older Pythons
    from pi_kernel.tools._search.ignore import Overrides  # noqa: PLC0415
    from pi_kernel.tools._search.path_pattern import read_path_pattern  # noqa: PLC0415
    from pi_kernel.tools._search.walk import EntryKind, walk  # noqa: PLC0415

    overrides = Overrides("!" + glob for glob, _ in query["leave_out"])
    entries = walk(start, fd_files(start), overrides=overrides)
    return (
        read_path_pattern(query["pattern"], start).matcher(),
        ((relative, kind is EntryKind.FOLDER) for relative, kind in entries),
    )


def _without_modules(start: bytes, query: dict[str, Any]) -> _Search:
    regex: str = query["regex"]
    if not query["is_quick"] or regex.count("(?>") > MAX_STARS_IN_A_ROW:
        raise ValueError(
            f"[fd error]: the pattern is too complex for Python {PYTHON[0]}.{PYTHON[1]} there"
        )
    matches = _compiled(regex, re.IGNORECASE if query["ignore_case"] else 0).fullmatch
    entries = _walk(start, query["leave_out"])
    if query["by_name"]:
        return (lambda relative: matches(relative.rpartition(b"/")[2])), entries
    prefix = os.fsencode(query["prefix"])
    return (lambda relative: matches(prefix + relative)), entries


def _compiled(regex: str, flags: int = 0) -> re.Pattern[bytes]:
    regex = regex.replace("(?>", "(?:")  # atomic groups only save time here
    return re.compile(regex.encode("latin-1"), re.DOTALL | flags)


def _walk(start: bytes, leave_out: list[tuple[str, str]]) -> Iterator[tuple[bytes, bool]]:
    left_out = [_compiled(regex).fullmatch for _, regex in leave_out]
    whole_folders = [_compiled(regex).fullmatch for glob, regex in leave_out if glob[-3:] == "/**"]

    def listing(relative: bytes) -> Iterator[tuple[bytes, bool]]:
        try:
            with os.scandir(os.path.join(start, relative)) as entries:  # noqa: PTH118 - bytes
                named = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError:
            named = []
        return iter(sorted(named))

    stack = [(b"", listing(b""))]
    while stack:
        prefix, rest = stack[-1]
        for name, is_folder in rest:
            relative = prefix + name
            if not any(matches(relative) for matches in left_out):
                yield relative, is_folder
            if is_folder and not any(m(relative + _ANYTHING_BELOW) for m in whole_folders):
                stack.append((relative + b"/", listing(relative)))
                break
        else:
            stack.pop()
