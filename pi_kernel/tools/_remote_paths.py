"""On the far machine: the paths below a folder that match, sorted as the local find sorts them.

The patterns come as regular expressions. Ignore files count where Python 3.11 runs, with the rules
of the local tool, whose modules are sent along; they need its regular expressions. On an older
Python nothing but what the caller leaves out is left out.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ("find_paths",)

HAS_ATOMIC_GROUPS = tuple(sys.version_info[:2]) >= (3, 11)

_ANYTHING_BELOW = b"/_"


def find_paths(
    folder: str, query: dict[str, Any], *, check_stop: Callable[[], None]
) -> list[tuple[str, bool]]:
    """Return paths relative to the folder and whether they are folders.

    Args:
        folder: Absolute path of the folder.
        query: ``regex``, ``ignore_case``, ``by_name`` and ``prefix`` of a `PathPattern`; ``limit``,
            the most paths to return; ``leave_out``, pairs of a glob and its regular expression.
        check_stop: Called for each entry; raises to give up.
    """
    matches = _matcher(query)
    start = os.fsencode(folder)
    leave_out: list[tuple[str, str]] = query["leave_out"]
    entries = _walk_with_ignore_files if HAS_ATOMIC_GROUPS else _walk
    found: list[tuple[str, bool]] = []
    for relative, is_folder in entries(start, leave_out):
        check_stop()
        if matches(relative):
            found.append((os.fsdecode(relative), is_folder))
            if len(found) >= query["limit"]:
                break
    return found


def _matcher(query: dict[str, Any]) -> Callable[[bytes], object]:
    matches = _compiled(query["regex"], re.IGNORECASE if query["ignore_case"] else 0).fullmatch
    if query["by_name"]:
        return lambda relative: matches(relative.rpartition(b"/")[2])
    prefix = os.fsencode(query["prefix"])
    return lambda relative: matches(prefix + relative)


def _compiled(regex: str, flags: int = 0) -> re.Pattern[bytes]:
    if not HAS_ATOMIC_GROUPS:  # they only save time here
        regex = regex.replace("(?>", "(?:")
    return re.compile(regex.encode("latin-1"), re.DOTALL | flags)


def _walk_with_ignore_files(
    start: bytes, leave_out: list[tuple[str, str]]
) -> Iterator[tuple[bytes, bool]]:
    from pi_kernel.tools._search.files import fd_files  # noqa: PLC0415 - needs Python 3.11
    from pi_kernel.tools._search.ignore import Overrides  # noqa: PLC0415
    from pi_kernel.tools._search.walk import EntryKind, walk  # noqa: PLC0415

    overrides = Overrides("!" + glob for glob, _ in leave_out)
    for relative, kind in walk(start, fd_files(start), overrides=overrides):
        yield relative, kind is EntryKind.FOLDER


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
