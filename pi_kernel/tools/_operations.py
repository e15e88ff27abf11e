"""Calling I/O that somebody else supplies in place of the local file system.

A set of operations is an object with methods or a mapping of functions. Each may be async or
plain; plain ones run in a worker thread, because they may block.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

import anyio.to_thread

from pi_kernel.errors import PiKernelError
from pi_kernel.tools._os_errors import file_error

__all__ = ("check_operations", "find_operation", "perform")


def find_operation(operations: object, name: str) -> Callable[..., Any] | None:
    """Return the operation of that name, or None."""
    if isinstance(operations, Mapping):
        found = cast("Mapping[str, Any]", operations).get(name)
    else:
        found = getattr(operations, name, None)
    return found if callable(found) else None


def check_operations(operations: object, *names: str, tool_name: str) -> None:
    """Refuse operations that lack one which the tool cannot do without.

    Raises:
        PiKernelError: If one is missing; names it and the others.
    """
    for name in names:
        if find_operation(operations, name) is None:
            raise PiKernelError(
                f'the operations of tool "{tool_name}" must have {", ".join(names)};'
                f" {name} is missing"
            )


async def perform(operations: object, name: str, *arguments: object, syscall: str) -> Any:
    """Call one operation; a plain `OSError` is reworded as a failed ``syscall``.

    The first argument is the path.
    """
    operation = find_operation(operations, name)
    if operation is None:
        raise PiKernelError(f"the operation {name} is missing")
    try:
        if inspect.iscoroutinefunction(operation):
            return await operation(*arguments)
        result = await anyio.to_thread.run_sync(
            lambda: operation(*arguments), abandon_on_cancel=True
        )
        return await result if inspect.isawaitable(result) else result
    except OSError as error:
        raise file_error(error, syscall, str(arguments[0])) from error
