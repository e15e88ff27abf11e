"""What calls replaced: the old content of each changed file, kept so that it can be given back.

One journal per process. It is bounded: the oldest contents go first, and what is left of a change
then says so. Nothing of it is part of a result. A call without a session leaves no trace here.
"""
# Names stay texts, as the tools have them.
# ruff: noqa: PTH116

from __future__ import annotations

import hashlib
import io
import os
import stat
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._atomic import write_atomically
from pi_kernel.tools._os_errors import error_code
from pi_kernel.tools._truncate import format_size

__all__ = (
    "ChangeMaker",
    "FileChange",
    "FileState",
    "Journal",
    "digest_of",
    "journal",
    "write_recorded",
)

MAX_CONTENT_IN_MEMORY_BYTES = 32 * 1024
"""Larger contents go to a temporary file that has no name, so that nobody else can open it and
nothing is left of it when the process dies."""
MAX_CONTENT_BYTES = 128 * 1024 * 1024
MAX_KEPT_BYTES = 512 * 1024 * 1024
MAX_KEPT_CONTENTS = 1000
MAX_TEMPORARY_FILES = 64
MAX_REMEMBERED_CHANGES = 10_000
"""Changes whose content is gone are remembered still longer, to say that it is gone."""
BLOCK_BYTES = 1024 * 1024

_READ_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe put in the file's place must not hang the thread
)


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells whether a file is still as a call left it."""

    mode: int
    size_bytes: int
    digest: bytes


class KeptContent:
    """The bytes that a file had."""

    def __init__(self, data: bytes | None, file: IO[bytes] | None, size_bytes: int) -> None:
        self._data = data
        self._file = file
        self.size_bytes = size_bytes

    @property
    def is_in_file(self) -> bool:
        """Whether an open file is needed to keep it."""
        return self._file is not None

    def read(self) -> bytes:
        """Return all of it."""
        if self._file is None:
            return self._data or b""
        pieces: list[bytes] = []
        position = 0
        while piece := os.pread(self._file.fileno(), BLOCK_BYTES, position):
            pieces.append(piece)
            position += len(piece)
        return b"".join(pieces)

    def close(self) -> None:
        """Let it go."""
        self._data = None
        if self._file is not None:
            self._file.close()


@dataclass(frozen=True)
class ChangeMaker:
    """Which call makes a change."""

    owner: weakref.ref[object] | str
    """The session, or the id of one that exists by name only."""
    call_id: str
    signal: AbortSignal | None
    """The call's own signal; it tells calls apart whose ids a model has given twice."""


@dataclass(eq=False, kw_only=True)
class FileChange:
    """One file, before and after a call."""

    maker: ChangeMaker
    path: str
    """The absolute path that was asked for; it may lead through links."""
    target: str
    """The file itself."""
    mode: int | None = None
    """The permission bits before; None: there was no file."""
    content: KeptContent | None = None
    """The content before; None also when it was lost."""
    lost: str | None = None
    """Why the change cannot be taken back any more, in words that follow "because"."""
    after: FileState | None = None
    made_folders: Sequence[str] = ()
    """Folders that the call made for the file, outermost first."""
    is_undone: bool = False


class Journal:
    """The changes of all sessions, oldest first. Any thread may use it.

    Args:
        max_kept_bytes: How much content is kept at most.
        max_kept_contents: The contents of how many files.
        max_temporary_files: How many of them in temporary files.
        max_remembered: How many changes are remembered with or without content.
    """

    def __init__(
        self,
        *,
        max_kept_bytes: int = MAX_KEPT_BYTES,
        max_kept_contents: int = MAX_KEPT_CONTENTS,
        max_temporary_files: int = MAX_TEMPORARY_FILES,
        max_remembered: int = MAX_REMEMBERED_CHANGES,
    ) -> None:
        self._max_kept_bytes = max_kept_bytes
        self._max_kept_contents = max_kept_contents
        self._max_temporary_files = max_temporary_files
        self._max_remembered = max_remembered
        self._lock = threading.RLock()
        self._changes: deque[FileChange] = deque()
        self._kept: deque[FileChange] = deque()
        """Those with content."""
        self._kept_bytes = 0
        self._temporary_files = 0
        self._has_gone_owner = False

    def maker(self, ctx: object, call_id: str, signal: AbortSignal | None) -> ChangeMaker | None:
        """Return who a call is to the journal; None when it belongs to no session.

        Args:
            ctx: The call's context, or None.
            call_id: The call's id.
            signal: The call's signal.
        """
        owner = _session_of(ctx)
        if owner is None:
            return None
        if isinstance(owner, str):
            return ChangeMaker(owner, call_id, signal)
        return ChangeMaker(weakref.ref(owner, self._note_gone), call_id, signal)

    def add(self, change: FileChange) -> None:
        """Take a change down; older contents may have to go."""
        with self._lock:
            self._forget_gone_owners()
            self._changes.append(change)
            if change.content is not None:
                self._kept.append(change)
                self._kept_bytes += change.content.size_bytes
                self._temporary_files += change.content.is_in_file
            while self._is_over():
                oldest = self._kept[0]
                oldest.lost = (
                    "its old content was dropped to make room for that of later changes (at most"
                    f" {self._max_kept_contents} files and {format_size(self._max_kept_bytes)}"
                    " are kept)"
                )
                self.release(oldest)
            while len(self._changes) > self._max_remembered:
                self.release(self._changes.popleft())

    def add_elsewhere(self, maker: ChangeMaker | None, path: str) -> None:
        """Take down that a call changed a file through supplied operations."""
        if maker is not None:
            reason = "it was written through the tool's own operations, which keep no old content"
            self.add(FileChange(maker=maker, path=path, target=path, lost=reason))

    def release(self, change: FileChange) -> None:
        """Let the content of a change go."""
        with self._lock:
            content, change.content = change.content, None
            if content is None:
                return
            self._kept.remove(change)  # nearly always the first or the last one
            self._kept_bytes -= content.size_bytes
            self._temporary_files -= content.is_in_file
            content.close()

    def find(
        self, holder: object, call_id: str, *, signal: AbortSignal | None = None
    ) -> list[FileChange]:
        """Return the changes of a call, oldest first.

        Args:
            holder: The session, or its host.
            call_id: The call's id.
            signal: The call's own signal; None: of the calls with that id the last one counts.
        """
        owner = _session_of(holder) if hasattr(holder, "session") else holder
        with self._lock:
            found = [
                change
                for change in self._changes
                if change.maker.call_id == call_id and _is(change.maker.owner, owner)
            ]
        if not found:
            return []
        wanted = found[-1].maker.signal if signal is None else signal
        return [change for change in found if change.maker.signal is wanted]

    def later_changes(self, change: FileChange) -> list[FileChange]:
        """Return the changes of the same file that came after one and were not taken back."""
        with self._lock:
            changes = iter(list(self._changes))
        for earlier in changes:
            if earlier is change:
                break
        return [c for c in changes if c.target == change.target and not c.is_undone]

    def _is_over(self) -> bool:
        return bool(self._kept) and (
            len(self._kept) > self._max_kept_contents
            or self._kept_bytes > self._max_kept_bytes
            or self._temporary_files > self._max_temporary_files
        )

    def _note_gone(self, _owner: object) -> None:
        # Called by the garbage collector, wherever a thread happens to be: no more than a mark.
        self._has_gone_owner = True

    def _forget_gone_owners(self) -> None:
        if not self._has_gone_owner:
            return
        self._has_gone_owner = False
        gone = [change for change in self._changes if _is_gone(change.maker.owner)]
        for change in gone:
            self.release(change)
        self._changes = deque(c for c in self._changes if not _is_gone(c.maker.owner))


journal = Journal()


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


def digest_of(blocks: Iterator[bytes]) -> tuple[int, bytes]:
    """Return size and digest of what comes."""
    digest = hashlib.sha256()
    size_bytes = 0
    for block in blocks:
        digest.update(block)
        size_bytes += len(block)
    return size_bytes, digest.digest()


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
        before, after = change.content, _state(change.target)
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


def _state(path: str) -> FileState | None:
    """Return the state of a file; None when it cannot be read."""
    try:
        with io.FileIO(os.open(path, _READ_FLAGS), "rb") as file:
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
            return FileState(mode, *digest_of(iter(lambda: file.read(BLOCK_BYTES) or b"", b"")))
    except OSError:
        return None


def _session_of(holder: object) -> object | None:
    """Return the session of a context or a host; its id when there is nothing but that."""
    session: object = getattr(holder, "session", None)
    if session is not None and hasattr(session, "__weakref__"):
        return session
    session_id: object = getattr(holder, "session_id", None)
    return session_id if isinstance(session_id, str) else None


def _is(owner: weakref.ref[object] | str, wanted: object | None) -> bool:
    return owner == wanted if isinstance(owner, str) else owner() is wanted and wanted is not None


def _is_gone(owner: weakref.ref[object] | str) -> bool:
    return not isinstance(owner, str) and owner() is None
