"""Taking back what a call did to files: the exact bytes and the mode, or a clear refusal.

A change is taken back only while the file is as the call left it. It goes through the same queue
and the same all-or-nothing replacement as the change itself.
"""
# Names stay texts, so that messages show them as they were given.
# ruff: noqa: PTH106, PTH108, PTH114

from __future__ import annotations

import os
import stat

from pi_kernel.errors import PiKernelError
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.call import Call
from pi_kernel.tools._atomic import SpecialFileError, special_file_kind, write_atomically
from pi_kernel.tools._journal import FileChange, journal
from pi_kernel.tools._mutation_queue import with_file_mutation_queue
from pi_kernel.tools._os_errors import file_error
from pi_kernel.tools._recorded_write import file_state
from pi_kernel.tools._threads import run_settled

__all__ = ("undo", "undo_call")

NOTHING_TO_UNDO = "Nothing to undo: no change of a file by {} is known."


async def undo(session: object, call_id: str, *, signal: AbortSignal | None = None) -> str:
    """Take back what a call of write or edit did to its file.

    The file gets its old bytes and mode; a file that the call created is removed, and so are the
    folders that it made for it, if nothing else is in them. An undo cannot be undone.

    Args:
        session: The session of the call, or its host.
        call_id: The id of the call. Where a model has used it twice, the last one counts.
        signal: The call's own signal, to mean exactly this call.

    Returns:
        One line that says what was restored.

    Raises:
        PiKernelError: If nothing is known of such a change, it was taken back already, its old
            content is gone, or the file is not as the call left it. Then nothing was touched.

    Source:
        Ours.
    """
    changes = journal.find(session, call_id, signal=signal)
    if not changes:
        raise PiKernelError(NOTHING_TO_UNDO.format(call_id))
    done: list[str] = []
    for change in reversed(changes):
        try:
            done.append(await _queued(change))
        except PiKernelError as error:
            if not done:
                raise
            raise PiKernelError(f"{error} (Before that: {' '.join(done)})") from error
    return " ".join(done)


async def undo_call(call: Call) -> str:
    """Take back what exactly this call did; see `undo`."""
    host: object = getattr(call, "host", None)
    if host is None:  # it was made in a context without a session
        raise PiKernelError(NOTHING_TO_UNDO.format(call.id))
    return await undo(host, call.id, signal=call.signal)


async def _queued(change: FileChange) -> str:
    async def take_back() -> str:
        return await run_settled(lambda: _take_back(change))

    return await with_file_mutation_queue(change.path, take_back)


def _take_back(change: FileChange) -> str:
    """Do it in the calling thread."""
    call_id = change.maker.call_id
    if change.is_undone:
        raise PiKernelError(f"{call_id} was undone already.")
    if change.lost is not None:
        raise PiKernelError(f"Cannot undo {call_id}: {change.path}: {change.lost}.")
    try:
        _check_unchanged(change)
        text = _remove(change) if change.mode is None else _restore(change)
    except OSError as error:
        reason = file_error(error, "open", change.path)
        raise PiKernelError(f"Cannot undo {call_id}: {reason}.") from error
    except SpecialFileError as error:
        raise PiKernelError(f"Cannot undo {call_id}: {error}.") from error
    change.is_undone = True
    journal.release(change)
    return text


def _restore(change: FileChange) -> str:
    content = change.content
    assert content is not None  # noqa: S101 - there was a file, and its content is not lost
    write_atomically(
        change.target,
        content.read(),
        before_change=lambda: _check_unchanged(change),
        mode=change.mode,
    )
    return (
        f"Restored {change.path} as it was before {change.maker.call_id}"
        f" ({content.size_bytes} bytes)."
    )


def _remove(change: FileChange) -> str:
    shown = change.target if os.path.islink(change.path) else change.path
    os.unlink(change.target)
    removed: list[str] = []
    for folder in reversed(change.made_folders):
        try:
            os.rmdir(folder)
        except OSError:  # something else is in it, or somebody was faster
            break
        removed.append(folder)
    folders = f", and the empty folder {removed[-1]}" if removed else ""
    return f"Removed {shown}, which {change.maker.call_id} had created{folders}."


def _check_unchanged(change: FileChange) -> None:
    """Refuse unless the file is as the call left it."""
    problem = _difference(change)
    if problem is None:
        return
    later = [c.maker.call_id for c in journal.later_changes(change)]
    advice = f" {later[-1]} changed it later; undo that first." if later else ""
    raise PiKernelError(
        f"Cannot undo {change.maker.call_id}: {change.path} {problem} since then.{advice}"
    )


def _difference(change: FileChange) -> str | None:
    """Say in words how the file differs from what the call left; None when it does not."""
    after = change.after
    try:
        status = os.lstat(change.target)
    except (FileNotFoundError, NotADirectoryError):
        return "was removed"
    kind = "a folder" if stat.S_ISDIR(status.st_mode) else special_file_kind(status.st_mode)
    if stat.S_ISLNK(status.st_mode):
        kind = "a symbolic link"
    if kind is not None:
        return f"was replaced by {kind}"
    if os.path.realpath(change.path) != change.target:
        return "was made to lead to another file"
    mode = stat.S_IMODE(status.st_mode)
    if after is None or (status.st_size != after.size_bytes):
        return "was changed"
    if mode != after.mode:
        return f"got the mode {mode:04o} instead of {after.mode:04o}"
    return None if file_state(change.target).digest == after.digest else "was changed"
