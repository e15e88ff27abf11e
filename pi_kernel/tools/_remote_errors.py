"""From what the far end tells about a failure to the exception that the local tool would raise."""

from __future__ import annotations

import errno
from typing import Any

from pi_kernel.errors import PiKernelError
from pi_kernel.tools._os_errors import FileError

__all__ = ("raised_there",)


def raised_there(told: dict[str, Any]) -> Exception:
    """Return the error; codes count, because numbers differ from system to system."""
    code: str | None = told.get("code")
    if code is None:
        return PiKernelError(told["message"])
    number: int | None = getattr(errno, code, None)
    path: str | None = told.get("path")
    if "message" in told:
        return FileError(told["message"], number=number, code=code, path=path)
    return OSError(number, told["strerror"], path)
