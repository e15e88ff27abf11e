"""A bounded copy of a folder's text files, so that the demo never works on a person's own.

Copies get plain names in one flat folder: any tool and any shell command can name them, whatever
the originals are called. Long files are copied up to a line end within the limits, so that one
read shows a whole copy.
"""

from __future__ import annotations

import codecs
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import JsonObject, well_formed

__all__ = ("CopiedFile", "copy_text_files")

MAX_COPIED_FILES = 8
MAX_COPY_BYTES = 48 * 1024
"""Below the 50 KB of one read."""
MAX_COPY_LINES = 1_999
"""Below the 2000 lines of one read."""
MAX_ENTRIES = 200_000
"""How many directory entries are looked at, all folders together."""
MAX_OPENED_FILES = 1_000
"""How many files are opened to see whether they are text."""
MAX_DEPTH = 4
MAX_NAME_BYTES = 200
"""Leaves room for what makes a name unique; file systems allow 255."""

LIKELY_TEXT = frozenset(
    {".csv", ".json", ".md", ".py", ".r", ".rst", ".tex", ".tsv", ".txt", ".yml"}
)
"""Looked at first, because a folder may hold more files than are opened."""
CONTROLS_IN_TEXT = frozenset(b"\t\n\f\r\x1b")
FIRST_PRINTABLE = 0x20
MAX_CHARACTER_BYTES = 4


@dataclass(frozen=True, slots=True)
class CopiedFile:
    """One copy.

    Attributes:
        name: The name in the folder of copies.
        source: The path of the original, relative to the folder that was given.
        size_bytes: The size of the original.
        is_whole: False when only the beginning was copied.
        text: What was copied.
    """

    name: str
    source: str
    size_bytes: int
    is_whole: bool
    text: str

    def to_wire(self) -> JsonObject:
        """Return plain JSON with camelCase keys, without the text."""
        return {
            "name": self.name,
            "source": well_formed(self.source),
            "sizeBytes": self.size_bytes,
            "isWhole": self.is_whole,
        }


def copy_text_files(folder: Path, target: Path) -> list[CopiedFile]:
    """Copy the first few text files of a folder, its own before those of the folders below.

    Hidden entries, blank files, binary files, files that cannot be read and linked folders are
    left out.

    Args:
        folder: Only read.
        target: A new folder for the copies; it must not exist yet.

    Raises:
        PiKernelError: If the folder cannot be listed or holds no text file.
        OSError: If a copy cannot be written.
    """
    heads = _text_heads(folder)
    if not heads:
        raise PiKernelError(
            f"{folder} holds no text file that the demo could work on"
            " (hidden, blank, binary and unreadable files are left out); give another folder"
        )
    target.mkdir()
    copies: list[CopiedFile] = []
    taken: set[str] = set()
    for source, head in heads.items():
        name = _free_name(_plain_name(source), taken)
        (target / name).write_bytes(head.content)
        text = head.content.decode("utf-8", "replace")
        copies.append(CopiedFile(name, source, head.size_bytes, head.is_whole, text))
    return copies


@dataclass(frozen=True, slots=True)
class _Head:
    content: bytes
    size_bytes: int
    is_whole: bool


def _text_heads(folder: Path) -> dict[str, _Head]:
    """Return what is copied, by the path of the original, relative to the folder."""
    heads: dict[str, _Head] = {}
    for _, path in zip(range(MAX_OPENED_FILES), _files_below(folder), strict=False):
        head = _read_text_head(path)
        if head is not None:
            heads[os.path.relpath(path, folder)] = head
            if len(heads) == MAX_COPIED_FILES:
                break
    return heads


def _files_below(folder: Path) -> Iterator[str]:
    """Yield regular files, the folder's own first, likely text files before others."""
    level = [os.fspath(folder)]
    left = MAX_ENTRIES
    for depth in range(MAX_DEPTH + 1):
        below: list[str] = []
        for directory in level:
            files: list[str] = []
            folders: list[str] = []
            try:
                left -= _list_into(directory, files, folders, limit=left)
            except OSError as error:
                if depth == 0:
                    reason = error.strerror or str(error)
                    raise PiKernelError(f"cannot read {folder}: {reason}") from error
            yield from sorted(files, key=_likely_text_first)
            below += sorted(folders)
            if left <= 0:
                return
        level = below


def _list_into(directory: str, files: list[str], folders: list[str], *, limit: int) -> int:
    seen = 0
    with os.scandir(directory) as entries:
        for entry in entries:
            seen += 1
            if not entry.name.startswith("."):
                try:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.is_file():
                        files.append(entry.path)
                except OSError:  # a link that leads in a circle
                    pass
            if seen >= limit:
                break
    return seen


def _likely_text_first(path: str) -> tuple[bool, str]:
    return os.path.splitext(path)[1].lower() not in LIKELY_TEXT, path  # noqa: PTH122 - many paths


def _read_text_head(path: str) -> _Head | None:
    """Return what is copied of a text file; None for anything else."""
    try:
        # Without blocking: what was a file a moment ago may be a pipe, and some files of the
        # system wait for ever.
        descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(descriptor, "rb") as file:
            facts = os.fstat(descriptor)
            if not stat.S_ISREG(facts.st_mode):
                return None
            content = file.read(MAX_COPY_BYTES + 1) or b""
    except OSError:
        return None
    is_whole = len(content) <= MAX_COPY_BYTES
    content = content[:MAX_COPY_BYTES]
    if not content.strip() or not _is_text(content, is_whole=is_whole):
        return None
    if not is_whole:
        kept = _up_to_a_line_end(content)
        return _Head(kept, facts.st_size, is_whole=False)
    # The size that was read: some files of the system claim another one.
    kept = b"".join(content.splitlines(keepends=True)[:MAX_COPY_LINES])
    return _Head(kept, len(content), is_whole=len(kept) == len(content))


def _is_text(content: bytes, *, is_whole: bool) -> bool:
    if b"\0" in content:
        return False
    try:
        codecs.getincrementaldecoder("utf-8")().decode(content, final=is_whole)
    except UnicodeDecodeError:
        # Another encoding of text, such as Latin-1, or no text.
        return all(byte >= FIRST_PRINTABLE or byte in CONTROLS_IN_TEXT for byte in content)
    return True


def _up_to_a_line_end(content: bytes) -> bytes:
    lines = content.splitlines(keepends=True)
    if len(lines) > 1:
        return b"".join(lines[:-1][:MAX_COPY_LINES])
    for end in range(len(content), len(content) - MAX_CHARACTER_BYTES, -1):
        try:
            return content[:end].decode().encode()
        except UnicodeDecodeError:
            continue
    return content


def _plain_name(source: str) -> str:
    """Return a name that needs no care in a path or a command line, like the original."""
    name = "".join(c if c.isprintable() and c not in "/\\" else "_" for c in source).strip()
    if not name or name[0] in "@~-.":
        name = "_" + name[1:]
    while len(name.encode()) > MAX_NAME_BYTES:
        name = name[1:]
    return name


def _free_name(name: str, taken: set[str]) -> str:
    """Return the name, numbered when another copy has it; file systems may ignore case."""
    free, number = name, 1
    while free.casefold() in taken:
        number += 1
        free = f"{number}-{name}"
    taken.add(free.casefold())
    return free
