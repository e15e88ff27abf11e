"""Replacing a file and taking down in the journal what was there before.

Everything here blocks: call it in a worker thread.
"""
# Names stay texts, as the tools have them.
# ruff: noqa: PTH116

from __future__ import annotations

import hashlib
import io
import os
import stat
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress

from pi_kernel.tools._atomic import write_atomically
from pi_kernel.tools._journal import ChangeMaker, FileChange, FileState, KeptContent, journal
from pi_kernel.tools._os_errors import error_code
from pi_kernel.tools._truncate import format_size

__all__ = ("file_state", "write_recorded")

MAX_CONTENT_IN_MEMORY_BYTES = 32 * 1024
"""Larger contents go to a temporary file that has no name, so that nobody else can open it and
nothing is left of it when the process dies."""
MAX_CONTENT_BYTES = 128 * 1024 * 1024
BLOCK_BYTES = 1024 * 1024

_READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe put in the file's place must not hang the thread
)


def write_recorded(
    path: str,
    data: bytes,
    *,
    check_stop: Callable[[], None],
    maker: ChangeMaker | None,
    made_folders: Sequence[str] = (),
) -> None:
    """Replace a file's content as `write_atomically` does, and take down what was there.

    Args:
        path: The file; its folder must exist.
        data: The content.
        check_stop: Called just before the change; raises to give up.
        maker: Whose change it is; None takes nothing down.
        made_folders: Folders that were made for the file, outermost first.
    """
    if maker is None:
        write_atomically(path, data, before_change=check_stop)
        return
    recording = _Recording(path, maker, check_stop)
    try:
        write_atomically(path, data, before_change=recording.look)
    except BaseException:
        recording.fail(made_folders)
        raise
    recording.finish(data, made_folders)


def file_state(path: str) -> FileState:
    """Return what a file is like now.

    Raises:
        OSError: If it is no file that can be read.
    """
    digest = hashlib.sha256()
    size_bytes = 0
    with io.FileIO(os.open(path, _READ_FLAGS), "rb") as file:
        mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
            size_bytes += len(block)
    return FileState(mode, size_bytes, digest.digest())


class _Recording:
    """Takes one change down while it is made."""

    def __init__(self, path: str, maker: ChangeMaker, check_stop: Callable[[], None]) -> None:
        self._path = path
        self._maker = maker
        self._check_stop = check_stop
        self._change: FileChange | None = None

    def look(self) -> None:
        """Keep what the file holds now; called again when the file could not be replaced."""
        self._check_stop()
        if self._change is not None and self._change.content is not None:
            self._change.content.close()
        self._change = FileChange(
            maker=self._maker, path=self._path, target=os.path.realpath(self._path)
        )
        _keep_content(self._change)

    def finish(self, data: bytes, made_folders: Sequence[str]) -> None:
        """Add the change to the journal."""
        change = self._change
        if change is None:
            return
        change.made_folders = made_folders
        try:
            mode = stat.S_IMODE(os.stat(change.target).st_mode)
        except OSError:  # it is gone already; then it cannot be taken back
            mode = 0
        change.after = FileState(mode, len(data), hashlib.sha256(data).digest())
        journal.add(change)

    def fail(self, made_folders: Sequence[str]) -> None:
        """Add it if the file was changed all the same, as a full disk can do in place."""
        change = self._change
        if change is None:
            return
        before, after = change.content, None
        with suppress(OSError):
            after = file_state(change.target)
        if before is not None and after is not None:
            is_changed = after.digest != hashlib.sha256(before.read()).digest()
        else:
            is_changed = change.lost is not None or (change.mode is None) != (after is None)
        if is_changed:
            change.after, change.made_folders = after, made_folders
            journal.add(change)
        elif before is not None:
            before.close()


def _keep_content(change: FileChange) -> None:
    """Take mode and content of the file as they are, or the reason why the content is lost."""
    try:
        descriptor = os.open(change.target, _READ_FLAGS)
    except FileNotFoundError:
        return
    except OSError as error:
        change.lost = _unkept(error)
        return
    with io.FileIO(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        change.mode = stat.S_IMODE(status.st_mode)
        if status.st_size <= MAX_CONTENT_BYTES:
            try:
                change.content = _kept(file)
            except OSError as error:
                change.lost = _unkept(error)
                return
        if change.content is None:
            size, limit = format_size(status.st_size), format_size(MAX_CONTENT_BYTES)
            change.lost = f"its old content of {size} was more than the {limit} that are kept"


def _unkept(error: OSError) -> str:
    return f"its old content could not be kept ({error_code(error)})"


def _kept(file: io.FileIO) -> KeptContent | None:
    """Return the content; None when there is more than is kept."""
    start = file.read(MAX_CONTENT_IN_MEMORY_BYTES + 1) or b""
    if len(start) <= MAX_CONTENT_IN_MEMORY_BYTES:
        return KeptContent(start, None, len(start))
    copy = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - it stays open
    try:
        size_bytes = 0
        block = start
        while block and size_bytes <= MAX_CONTENT_BYTES:
            rest = memoryview(block)
            while rest:
                rest = rest[copy.write(rest) :]
            size_bytes += len(block)
            block = file.read(BLOCK_BYTES) or b""
    except BaseException:
        copy.close()
        raise
    if block:
        copy.close()
        return None
    return KeptContent(None, copy, size_bytes)
