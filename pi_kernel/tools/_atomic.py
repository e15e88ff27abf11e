"""Replacing a file's content so that a crash leaves the old content or the new one.

The new content goes to a temporary file in the same folder, is flushed to the disk and renamed over
the target. Mode, owner and extended attributes stay; a symbolic link stays a link and its target is
replaced. Where renaming would lose something (other hard links, an owner that cannot be given back)
or cannot be done (no permission in the folder, a mount point), the file is written in place.

Everything here blocks: call it in a worker thread. The module also runs on far machines (`remote`),
so it keeps to what Python 3.8 knows.
"""
# Names stay texts, so that messages show them as they were given.
# ruff: noqa: PTH102, PTH105, PTH108, PTH112, PTH116, PTH118, PTH120

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from pi_kernel.tools._os_errors import file_error, wording

__all__ = ("SpecialFileError", "make_directories", "special_file_kind", "write_atomically")

TEMPORARY_PREFIX = ".pi-kernel-"
TEMPORARY_SUFFIX = ".tmp"
_TEMPORARY_NAME_BYTES = 8

_PRIVATE_MODE = 0o600
_NEW_FILE_MODE = 0o666
_OPEN_FLAGS = os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
_CREATE_FLAGS = _OPEN_FLAGS | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
_REPLACING_IS_REFUSED = frozenset(
    (errno.EACCES, errno.EBUSY, errno.ENAMETOOLONG, errno.EPERM, errno.EROFS, errno.EXDEV)
)
"""Failures after which writing in place may still work; never those of a full disk."""
_DROPPED_BY_A_WRITE = "security.capability"

if TYPE_CHECKING:
    BeforeChange = Callable[[], None]


class SpecialFileError(Exception):
    """A pipe, socket or device where a regular file is needed; the text is the model's."""


def write_atomically(
    path: str | os.PathLike[str],
    data: bytes,
    *,
    before_change: BeforeChange | None = None,
    mode: int | None = None,
) -> None:
    """Make ``data`` the whole content of the file at ``path``.

    A new file gets the mode that the umask leaves. Links are followed, also dangling ones.

    Args:
        path: The file; its folder must exist.
        data: The content.
        before_change: Called when all is prepared and the target is still untouched, maybe twice.
            What it raises ends the call: the temporary file is removed and the error passes on.
        mode: Permission bits that the file gets; None: it keeps its own.

    Raises:
        FileError: If the file cannot be written; worded as a failed ``open`` or ``write``.
        SpecialFileError: If the target is a pipe, a socket or a device.
    """
    shown = os.fspath(path)
    check = before_change or _nothing
    with wording("open", shown):
        current = _writable_target(shown)
        target = os.path.realpath(shown)
    has_other_names = current is not None and current.st_nlink > 1
    if has_other_names or not _replace(
        target, data, current=current, mode=mode, shown=shown, check=check
    ):
        _write_in_place(target, data, mode=mode, shown=shown, check=check)


def make_directories(path: str) -> list[str]:
    """Create a folder and its missing parents.

    Returns:
        The folders that were missing and that this call made, outermost first.

    Raises:
        FileError: Worded as the failed ``mkdir`` of the folder that could not be made.

    Source:
        Node 22, ``fs.mkdir`` with ``recursive``.
    """
    made: list[str] = []
    missing = [path]
    while missing and not os.path.isdir(missing[-1]):
        folder = missing[-1]
        with wording("mkdir", folder):
            try:
                os.mkdir(folder)
                made.append(folder)
            except FileNotFoundError:
                parent = os.path.dirname(folder)
                if os.path.isdir(parent):
                    raise
                missing.append(parent)
                continue
            except FileExistsError:
                if len(missing) > 1:
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
                os.stat(folder)  # a dangling link is reported as missing
                raise
        missing.pop()
    return made


def special_file_kind(mode: int) -> str | None:
    """Return in words what is neither a regular file nor a folder; None for these two."""
    for test, kind in (
        (stat.S_ISFIFO, "a named pipe (FIFO)"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a character device"),
        (stat.S_ISBLK, "a block device"),
    ):
        if test(mode):
            return kind
    return None


def _writable_target(path: str) -> os.stat_result | None:
    """Return what is at the path, or None; refuse what must not or cannot be written."""
    try:
        current = os.stat(path)
    except FileNotFoundError:
        return None
    if kind := special_file_kind(current.st_mode):
        raise SpecialFileError(f"Cannot write {path}: it is {kind}, not a regular file")
    os.close(os.open(path, _OPEN_FLAGS))
    return current


def _replace(  # noqa: PLR0913 - one step of write_atomically, all by keyword
    target: str,
    data: bytes,
    *,
    current: os.stat_result | None,
    mode: int | None,
    shown: str,
    check: BeforeChange,
) -> bool:
    """Write a temporary file and rename it; False when only writing in place can do it."""
    name = TEMPORARY_PREFIX + secrets.token_hex(_TEMPORARY_NAME_BYTES) + TEMPORARY_SUFFIX
    temporary = os.path.join(os.path.dirname(target), name)
    try:
        first_mode = _NEW_FILE_MODE if current is None else _PRIVATE_MODE
        descriptor = os.open(temporary, _CREATE_FLAGS, first_mode)
    except OSError as error:
        if error.errno in _REPLACING_IS_REFUSED:
            return False
        raise file_error(error, "open", shown) from error
    try:
        try:
            if current is not None and not _take_over_attributes(descriptor, target, current):
                return False
            _write_all(descriptor, data)
            _set_mode(descriptor, mode)
        finally:
            os.close(descriptor)
        check()
        try:
            os.replace(temporary, target)
        except OSError as error:
            if error.errno in _REPLACING_IS_REFUSED:
                return False
            raise file_error(error, "rename", shown) from error
        temporary = ""
        return True
    finally:
        if temporary:
            with suppress(OSError):
                os.unlink(temporary)


def _write_in_place(
    target: str, data: bytes, *, mode: int | None, shown: str, check: BeforeChange
) -> None:
    check()
    with wording("open", shown):
        descriptor = os.open(target, _OPEN_FLAGS | os.O_CREAT | os.O_TRUNC, _NEW_FILE_MODE)
    try:
        _write_all(descriptor, data)
        _set_mode(descriptor, mode)
    finally:
        os.close(descriptor)


def _set_mode(descriptor: int, mode: int | None) -> None:
    if mode is not None and mode != stat.S_IMODE(os.fstat(descriptor).st_mode):
        with wording("fchmod"):
            os.fchmod(descriptor, mode)


def _write_all(descriptor: int, data: bytes) -> None:
    with wording("write"):
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(descriptor, rest) :]
        os.fsync(descriptor)


def _take_over_attributes(descriptor: int, target: str, current: os.stat_result) -> bool:
    """Give the new file the old one's owner, mode and attributes; False when that fails."""
    try:
        new = os.fstat(descriptor)
        if (new.st_uid, new.st_gid) != (current.st_uid, current.st_gid):
            os.fchown(descriptor, current.st_uid, current.st_gid)
        for name in _attribute_names(target):
            if name != _DROPPED_BY_A_WRITE:
                os.setxattr(descriptor, name, os.getxattr(target, name))
        # Last: changing the owner clears special bits, an access list changes the group's.
        os.fchmod(descriptor, stat.S_IMODE(current.st_mode))
    except OSError:
        return False
    return True


def _attribute_names(path: str) -> list[str]:
    if not hasattr(os, "listxattr"):
        return []
    try:
        return os.listxattr(path)
    except OSError:
        return []


def _nothing() -> None:
    """Stand in for a check that nobody asked for."""
