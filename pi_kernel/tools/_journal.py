"""What calls replaced: the old content of each changed file, kept so that it can be given back.

One journal per process. It is bounded: the oldest contents go first, and what is left of a change
then says so. Nothing of it is part of a result. A call without a session leaves no trace here.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO

from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._truncate import format_size

__all__ = (
    "ChangeMaker",
    "FileChange",
    "FileState",
    "Journal",
    "journal",
)

MAX_KEPT_BYTES = 512 * 1024 * 1024
MAX_KEPT_CONTENTS = 1000
MAX_TEMPORARY_FILES = 64
MAX_REMEMBERED_CHANGES = 10_000
"""Changes whose content is gone are remembered still longer, to say that it is gone."""
READ_BYTES = 1024 * 1024


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
        while piece := os.pread(self._file.fileno(), READ_BYTES, position):
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
