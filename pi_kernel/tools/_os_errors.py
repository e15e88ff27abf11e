"""Failures of the operating system in the words that recordings and models know (Node's).

``ENOENT: no such file or directory, open '/abs/path'``: a code, a fixed description, the system
call and, where the call was about a path, the absolute path.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager

from pi_kernel.protocol.json import well_formed

__all__ = ("FileError", "error_code", "file_error", "node_message", "null_byte_message", "wording")

_DESCRIPTIONS = {
    "EACCES": "permission denied",
    "EAGAIN": "resource temporarily unavailable",
    "EBUSY": "resource busy or locked",
    "EEXIST": "file already exists",
    "EFBIG": "file too large",
    "EINVAL": "invalid argument",
    "EIO": "i/o error",
    "EISDIR": "illegal operation on a directory",
    "ELOOP": "too many symbolic links encountered",
    "EMFILE": "too many open files",
    "ENAMETOOLONG": "name too long",
    "ENFILE": "file table overflow",
    "ENODEV": "no such device",
    "ENOENT": "no such file or directory",
    "ENOMEM": "not enough memory",
    "ENOSPC": "no space left on device",
    "ENOTDIR": "not a directory",
    "ENOTEMPTY": "directory not empty",
    "ENXIO": "no such device or address",
    "EPERM": "operation not permitted",
    "EROFS": "read-only file system",
    "ETIMEDOUT": "connection timed out",
    "ETXTBSY": "text file is busy",
    "EXDEV": "cross-device link not permitted",
}
"""libuv's words; other codes take the system's own."""

INVALID_ARGUMENT_CODE = "ERR_INVALID_ARG_VALUE"


class FileError(OSError):
    """A failed system call whose text is the one that a model reads.

    ``errno``, ``filename`` and ``code`` (``"ENOENT"``) are there for programs.
    """

    def __init__(self, message: str, *, number: int | None, code: str, path: str | None) -> None:
        super().__init__(number, message, path)
        self.message = message
        self.code = code

    def __str__(self) -> str:
        return self.message


def error_code(error: OSError) -> str:
    """Return the symbolic code of an error, such as ``ENOENT``; ``UNKNOWN`` without a number."""
    code = getattr(error, "code", None)
    if isinstance(code, str):
        return code
    return errno.errorcode.get(error.errno or 0, "UNKNOWN")


def node_message(error: OSError, syscall: str, path: str | None = None) -> str:
    """Return the text of a failed system call.

    Args:
        error: What Python raised.
        syscall: The call's name, such as ``open`` or ``access``.
        path: The absolute path, or None for calls on an open file (``read``, ``write``).

    Source:
        Node 22, ``UVException``.

    Example:
        >>> node_message(FileNotFoundError(2, "No such file"), "access", "/tmp/x")
        "ENOENT: no such file or directory, access '/tmp/x'"
    """
    code = error_code(error)
    words = _DESCRIPTIONS.get(code)
    if words is None:
        words = (error.strerror or os.strerror(error.errno or 0)).lower()
    text = f"{code}: {words}, {syscall}"
    return well_formed(text if path is None else f"{text} '{path}'")


def file_error(error: OSError, syscall: str, path: str | None = None) -> FileError:
    """Return the error to raise for a failed system call; one that is worded already stays."""
    if isinstance(error, FileError):
        return error
    return FileError(
        node_message(error, syscall, path),
        number=error.errno,
        code=error_code(error),
        path=path,
    )


def null_byte_message(path: str) -> str:
    """Return the text for a path that holds a NUL character, which no system call takes."""
    quote = '"' if "'" in path else "'"
    shown = path.replace("\\", "\\\\").replace("\0", "\\x00").replace("\n", "\\n")
    return well_formed(
        "The argument 'path' must be a string, Uint8Array, or URL without null bytes."
        f" Received {quote}{shown}{quote}"
    )


@contextmanager
def wording(syscall: str, path: str | None = None) -> Generator[None]:
    """Reword what the block raises as failures of one system call on one path."""
    try:
        yield
    except OSError as error:
        raise file_error(error, syscall, path) from error
    except ValueError as error:
        if path is None or "\0" not in path:
            raise
        raise FileError(
            null_byte_message(path), number=errno.EINVAL, code=INVALID_ARGUMENT_CODE, path=path
        ) from error
