"""One tool, many arguments: bounded concurrency, results in the order of the arguments."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Literal

from pi_kernel.errors import PiKernelError
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("DEFAULT_LIMIT", "OnError", "map_calls", "read_items")

DEFAULT_LIMIT = 16
"""How many calls run at the same time unless told otherwise."""

OnError = Literal["keep", "stop"]


def read_items(list_of_args: Any) -> list[Any]:
    """Return the arguments of every call.

    Raises:
        PiKernelError: If it is no list of them, but one object or a text.
    """
    if isinstance(list_of_args, Mapping | str) or not isinstance(list_of_args, Iterable):
        raise PiKernelError("map() takes a list with one JSON object a call")
    return list(list_of_args)


async def map_calls(
    call: Callable[[Any], Awaitable[ToolOutcome]],
    list_of_args: Iterable[Any],
    *,
    limit: int | None = None,
    on_error: OnError = "keep",
    on_done: Callable[[ToolOutcome], object] | None = None,
) -> list[ToolOutcome]:
    """Make one call for each item.

    Args:
        call: Makes one call of its arguments.
        list_of_args: One item a call.
        limit: How many run at the same time; `DEFAULT_LIMIT` when None.
        on_error: ``keep`` goes on after failures; ``stop`` starts no more calls after one, and
            the result then ends with the last call that was started.
        on_done: Told of each outcome as it comes.

    Raises:
        PiKernelError: If the limit is not a positive integer or on_error is unknown.
    """
    if limit is not None and (type(limit) is not int or limit < 1):
        raise PiKernelError(f"limit must be a positive integer or None, got {limit!r}")
    if on_error not in ("keep", "stop"):
        raise PiKernelError(f'on_error must be "keep" or "stop", got {on_error!r}')
    items = read_items(list_of_args)
    outcomes: dict[int, ToolOutcome] = {}
    waiting = iter(enumerate(items))
    stopped = False

    async def work() -> None:
        nonlocal stopped
        for index, args in waiting:
            outcomes[index] = outcome = await call(args)
            if on_done is not None:
                on_done(outcome)
            stopped = stopped or (outcome.is_error and on_error == "stop")
            if stopped:
                return

    workers = min(limit or DEFAULT_LIMIT, len(items))
    tasks = [asyncio.ensure_future(work()) for _ in range(workers)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
    return [outcomes[index] for index in sorted(outcomes)]
