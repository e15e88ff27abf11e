"""Walk a folder as ripgrep and fd do: hidden entries too, ignore files heeded, links not followed.

Entries come in the order of their paths, component by component, so a walk that stops early has
seen the first ones.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from enum import Enum, auto

from pi_kernel.tools._search.ignore import Folder, IgnoreFiles, Overrides

__all__ = ("EntryKind", "walk")


class EntryKind(Enum):
    """What an entry is; a link is a link, whatever it points to."""

    FOLDER = auto()
    FILE = auto()
    OTHER = auto()


NO_OVERRIDES = Overrides([])


def walk(
    start: bytes,
    files: IgnoreFiles,
    *,
    overrides: Overrides = NO_OVERRIDES,
    problems: list[str] | None = None,
) -> Iterator[tuple[bytes, EntryKind]]:
    """Yield the path below ``start`` and the kind of every entry that is not ignored.

    A folder comes before its entries. The start itself is neither yielded nor ever ignored.

    Args:
        start: Absolute path of a folder, or of a link to one.
        files: Which ignore files count.
        overrides: Globs that win over the ignore files.
        problems: Gets ripgrep's texts about folders that cannot be read, which count as empty, and
            about what is not valid in ignore files above the start.
    """
    texts: list[str] = [] if problems is None else problems

    def listing(relative: bytes) -> dict[bytes, os.DirEntry[bytes]]:
        try:
            with os.scandir(start + b"/" + relative) as entries:
                return {entry.name: entry for entry in entries}
        except OSError as error:
            shown = f"./{relative.decode('utf-8', 'replace')}" if relative else "."
            texts.append(f"rg: {shown}: {error.strerror} (os error {error.errno})")
            return {}

    entries = listing(b"")
    invalid: list[str] = []
    folder = Folder.at_start(files, start, entries.keys(), problems=invalid)
    if invalid:
        texts.append("rg: " + "\n".join(invalid))
    stack = [(b"", folder, entries, iter(sorted(entries)))]
    while stack:
        prefix, folder, entries, names = stack[-1]
        for name in names:
            relative = prefix + name
            kind = _kind(entries[name])
            is_folder = kind is EntryKind.FOLDER
            left_out = overrides.verdict(relative, name, is_folder=is_folder)
            if left_out is None:
                left_out = folder.ignores(relative, name, is_folder=is_folder)
            if left_out:
                continue
            yield relative, kind
            if is_folder:
                inner = listing(relative)
                inside = folder.enter(start + b"/" + relative, relative, inner.keys())
                stack.append((relative + b"/", inside, inner, iter(sorted(inner))))
                break
        else:
            stack.pop()


def _kind(entry: os.DirEntry[bytes]) -> EntryKind:
    try:
        if entry.is_dir(follow_symlinks=False):
            return EntryKind.FOLDER
        if entry.is_file(follow_symlinks=False):
            return EntryKind.FILE
    except OSError:
        pass
    return EntryKind.OTHER
