"""Reading a file of this machine block by block: regular files only, and never without end.

Everything here blocks: call it in a worker thread.
"""
# Names stay texts, so that messages show them as they were given.
# ruff: noqa: PTH116

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Iterator
from contextlib import contextmanager

from pi_kernel.tools._atomic import SpecialFileError, special_file_kind
from pi_kernel.tools._os_errors import wording
from pi_kernel.tools._threads import StopCheck

__all__ = ("EndlessFileError", "LocalFile", "open_local_file")

BLOCK_BYTES = 256 * 1024
STAT_BLOCK_BYTES = 512
MAX_UNSIZED_BYTES = 256 * 1024 * 1024
"""How much is read of a file that tells no size, such as those in ``/proc``."""

_OPEN_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOCTTY", 0)
    | getattr(os, "O_NONBLOCK", 0)  # a pipe put in the file's place must not hang the thread
)


_ZEROS = bytes(BLOCK_BYTES)


class EndlessFileError(Exception):
    """A file without a size that goes on and on; the text is the model's."""


class LocalFile:
    """An open regular file. What is added to it after opening is not read."""

    def __init__(self, descriptor: int, *, status: os.stat_result, check_stop: StopCheck) -> None:
        self._descriptor = descriptor
        self._check_stop = check_stop
        self._is_fresh = True
        self._position = 0
        self._hole_end = 0
        self.size_bytes = status.st_size if stat.S_ISREG(status.st_mode) else 0
        """At opening; 0 for files that tell no size and are read to their end."""
        allocated_bytes = getattr(status, "st_blocks", self.size_bytes) * STAT_BLOCK_BYTES
        self._has_holes = allocated_bytes < self.size_bytes and hasattr(os, "SEEK_DATA")
        self.first_block = self._read(self.size_bytes or BLOCK_BYTES)

    def blocks(self) -> Iterator[bytes]:
        """Yield the content from the start; again each time it is called."""
        left = self.size_bytes or MAX_UNSIZED_BYTES
        if self._is_fresh:
            self._is_fresh = False
            block = self.first_block
        else:
            with wording("read"):
                os.lseek(self._descriptor, 0, os.SEEK_SET)
            self._position = self._hole_end = 0
            block = self._read(left)
        while block:
            yield block
            left -= len(block)
            self._check_stop()
            block = self._read(left) if left > 0 else b""
        if left <= 0 and not self.size_bytes and self._read(1):
            raise EndlessFileError(
                f"The file tells no size and does not end within {MAX_UNSIZED_BYTES} bytes"
            )

    def _read(self, size_bytes: int) -> bytes:
        size_bytes = min(size_bytes, BLOCK_BYTES)
        with wording("read"):
            hole_bytes = self._find_hole() if self._has_holes else 0
            if hole_bytes > 0:
                block = _ZEROS[: min(size_bytes, hole_bytes)]
            else:
                block = os.read(self._descriptor, size_bytes)
        self._position += len(block)
        return block

    def _find_hole(self) -> int:
        """Return how many bytes from here on were never written and need not be read.

        Each hole is looked up once: a system call for every block would keep the interpreter lock
        from the other threads, by taking it back sooner than they wake up.
        """
        if self._position >= self._hole_end:
            try:
                # Leaves the descriptor where the data starts, so where the hole ends.
                self._hole_end = os.lseek(self._descriptor, self._position, os.SEEK_DATA)
            except OSError as error:
                if error.errno == errno.ENXIO:  # a hole up to the end
                    self._hole_end = self.size_bytes
        return self._hole_end - self._position


@contextmanager
def open_local_file(path: str, *, shown: str, check_stop: StopCheck) -> Generator[LocalFile]:
    """Open a regular file for reading.

    Args:
        path: The absolute path.
        shown: The path as the caller gave it, for messages.
        check_stop: Called after each block; raises to give up.

    Raises:
        FileError: If the file cannot be opened (worded as ``access``) or is a folder (``read``).
        SpecialFileError: If it is a pipe, a socket or a device.
    """
    with wording("access", path):
        _refuse_special(os.stat(path), shown)
        descriptor = os.open(path, _OPEN_FLAGS)
    try:
        status = os.fstat(descriptor)
        _refuse_special(status, shown)
        yield LocalFile(descriptor, status=status, check_stop=check_stop)
    finally:
        os.close(descriptor)


def _refuse_special(status: os.stat_result, shown: str) -> None:
    if kind := special_file_kind(status.st_mode):
        raise SpecialFileError(f"Cannot read {shown}: it is {kind}, not a regular file")
