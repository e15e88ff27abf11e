"""One queue of changes per file, for all sessions, threads and event loops of the process.

The queue guarantees order, not meaning: a write after an edit overwrites it. It does not reach
other processes, and reading does not join. A module-level map is right here, because the files
are the process's too.
"""

from __future__ import annotations

import asyncio  # futures that another loop's thread wakes
import os
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

from pi_kernel.tools._os_errors import wording
from pi_kernel.tools._threads import run_settled

__all__ = ("with_file_mutation_queue",)

T = TypeVar("T")

_lock = threading.RLock()
"""Reentrant: collecting an abandoned call as garbage runs its clean-up wherever that happens."""
_slots: dict[str, deque[_Turn]] = {}
"""For each file the turns in order; the first one runs."""
_registrations: deque[_Turn] = deque()
"""Calls whose file is being looked up, in call order; the first one looks."""


class _Turn:
    """A place in a line, woken when it becomes the first."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._came = self._loop.create_future()

    def join(self, line: deque[_Turn]) -> None:
        """Take the last place; the lock is held."""
        line.append(self)
        if line[0] is self:
            self._came.set_result(None)

    async def wait(self) -> None:
        await self._came

    def wake(self) -> bool:
        """Tell the turn that it came; False when its loop is gone."""
        try:
            self._loop.call_soon_threadsafe(self._settle)
        except RuntimeError:
            return False
        return True

    def _settle(self) -> None:
        if not self._came.done():
            self._came.set_result(None)


def _leave(line: deque[_Turn], turn: _Turn) -> None:
    """Give a place up and wake the next turn if it was the first one; the lock is held."""
    if turn not in line:  # it was passed over, or this is a forked child
        return
    was_first = line[0] is turn
    line.remove(turn)
    if was_first:
        while line and not line[0].wake():
            line.popleft()


async def with_file_mutation_queue(
    path: str | os.PathLike[str], fn: Callable[[], Awaitable[T]]
) -> T:
    """Run ``fn`` while no other queued change of the same file runs.

    Changes of one file run in call order; different files run in parallel. Files are the same when
    they resolve to the same real path. A tool that changes files joins by wrapping its whole
    read-change-write. Do not call it for the same file from within ``fn``: it would wait for
    itself.

    Args:
        path: The file; it need not exist.
        fn: The change: an async function without arguments.

    Returns:
        What ``fn`` returned.

    Raises:
        FileError: If the path cannot be resolved, for another reason than that it does not exist.

    Source:
        Pi 1.6.0, ``withFileMutationQueue``.
    """
    turn = _Turn()
    key = await _register(turn, _absolute(path))
    try:
        await turn.wait()
        return await fn()
    finally:
        with _lock:
            line = _slots.get(key)
            if line is not None:
                _leave(line, turn)
                if not line:
                    del _slots[key]


async def _register(turn: _Turn, path: str) -> str:
    """Put the turn into its file's line, in the order of the calls, and return the line's key."""
    registration = _Turn()
    with _lock:
        registration.join(_registrations)
    try:
        await registration.wait()
        key = await run_settled(lambda: _key_of(path))
        with _lock:
            turn.join(_slots.setdefault(key, deque()))
        return key
    finally:
        with _lock:
            _leave(_registrations, registration)


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - lexical, links are resolved later


def _key_of(path: str) -> str:
    with wording("realpath", path):
        try:
            return os.path.realpath(path, strict=True)
        except (FileNotFoundError, NotADirectoryError):
            # Two spellings of a file that is about to be made should meet, too.
            return os.path.realpath(path)


def _forget() -> None:
    """Start empty in a forked child, where nobody is left to leave a line."""
    global _lock  # noqa: PLW0603 - the parent may have held it
    _lock = threading.RLock()
    _slots.clear()
    _registrations.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
