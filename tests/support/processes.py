"""Processes that a test started somewhere below it."""

from __future__ import annotations

import time
from collections.abc import Iterable

import psutil

LOOK_SECONDS = 0.01


def below(pid: int) -> list[psutil.Process]:
    """Return the processes below one, however deep."""
    return list(psutil.Process(pid).children(recursive=True))


def is_alive(process: psutil.Process) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def still_alive(processes: Iterable[psutil.Process], *, seconds: float = 10) -> list[int]:
    """Wait until all processes have ended; return the ids of those that have not in time."""
    alive = list(processes)
    deadline = time.monotonic() + seconds
    while alive and time.monotonic() < deadline:
        alive = [process for process in alive if is_alive(process)]
        time.sleep(LOOK_SECONDS)
    return [process.pid for process in alive]
