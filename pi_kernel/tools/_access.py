"""Whether a file could be changed, told without touching it and in the words of a real attempt.

Everything here blocks: call it in a worker thread. The module also runs on far machines (`remote`),
so it keeps to what Python 3.8 knows.
"""
# Names stay texts, so that messages show them as they were given.
# ruff: noqa: PTH112, PTH114, PTH116, PTH120

from __future__ import annotations

import errno
import os
import stat

from pi_kernel.tools._atomic import SpecialFileError, special_file_kind
from pi_kernel.tools._os_errors import wording

__all__ = ("check_editable", "check_writable")


def check_editable(path: str) -> None:
    """Refuse a file that cannot be read and written.

    Raises:
        FileError: Worded as a failed ``access``.
        SpecialFileError: If it is a pipe, a socket or a device.
    """
    with wording("access", path):
        kind = special_file_kind(os.stat(path).st_mode)
        _check_permission(path, os.R_OK | os.W_OK)
    if kind is not None:  # opening a pipe would wait for its other end
        raise SpecialFileError(f"It is {kind}, not a regular file")


def check_writable(path: str) -> None:
    """Refuse a path where a file cannot be put, missing folders made first.

    What only the attempt can tell, such as a full disk, is not foreseen.

    Raises:
        FileError: Worded as a failed ``mkdir`` or ``open``.
        SpecialFileError: If a pipe, a socket or a device is there.
    """
    folder = os.path.dirname(path)
    _check_folder_can_be_there(folder)
    with wording("open", path):
        try:
            status = os.stat(path)
        except FileNotFoundError:
            home = os.path.dirname(os.path.realpath(path)) if os.path.islink(path) else folder
            if home != folder or os.path.isdir(folder):
                os.stat(home)
                _check_permission(home, os.W_OK | os.X_OK)
            return
        if kind := special_file_kind(status.st_mode):
            raise SpecialFileError(f"Cannot write {path}: it is {kind}, not a regular file")
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        _check_permission(path, os.W_OK)


def _check_folder_can_be_there(path: str) -> None:
    """Fail as making the folder and its missing parents would."""
    folder = path
    while not os.path.isdir(folder):
        with wording("mkdir", folder):
            try:
                os.stat(folder)
            except FileNotFoundError:
                is_dangling_link = os.path.lexists(folder)
                if is_dangling_link and folder == path:
                    raise
                if is_dangling_link:
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from None
            else:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
            parent = os.path.dirname(folder)
            if os.path.isdir(parent):
                _check_permission(parent, os.W_OK | os.X_OK)
                return
        folder = parent


def _check_permission(path: str, wanted: int) -> None:
    if _may(path, wanted):
        return
    is_readable = _may(path, wanted & ~os.W_OK)
    is_read_only = is_readable and os.statvfs(path).f_flag & os.ST_RDONLY
    number = errno.EROFS if is_read_only else errno.EACCES
    raise OSError(number, os.strerror(number))


def _may(path: str, wanted: int) -> bool:
    # The attempt itself is made as the effective user; access() asks for the real one.
    if os.access in os.supports_effective_ids and os.geteuid() != os.getuid():
        return os.access(path, wanted, effective_ids=True)
    return os.access(path, wanted)
