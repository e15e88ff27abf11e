"""Open a file that a search has come across, without waiting for anything.

Names can mean something else by the time they are opened, and a repository may have a pipe where a
text file belongs: opening that would wait for its other end, and reading a device might never end.
"""

from __future__ import annotations

import os
import stat
from typing import BinaryIO

__all__ = ("open_plain",)

_FLAGS = os.O_RDONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)


def open_plain(path: bytes) -> BinaryIO:
    """Open a regular file.

    Raises:
        OSError: If it cannot be opened or is something else.
    """
    descriptor = os.open(path, _FLAGS)
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return os.fdopen(descriptor, "rb")
    os.close(descriptor)
    raise OSError("not a regular file")
