"""End a session leader together with everything that came out of it.

A group alone is not enough: jobs get groups of their own and ``setsid`` leaves the session. So the
family is frozen first (a stopped process cannot fork or exit), collected while its parent links
still stand, and only then killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from pathlib import Path

__all__ = ("kill_tree",)

FREEZE_ROUNDS = 5
"""Looks for relatives born between a look and their parent's freeze; one round is the rule."""


def kill_tree(leader: int, *, output: int | None = None) -> None:
    """SIGKILL the group and the session of a leader and all descendants that can be found.

    A process that left the session, lost its parent and let go of the output made itself a daemon
    on purpose and stays.

    Args:
        leader: Process id of a session leader that nobody has reaped yet, so that its number
            cannot belong to somebody else.
        output: Descriptor of the pipe that the leader writes to. On Linux a daemon that still
            writes there is found by it.
    """
    pipe = f"pipe:[{os.fstat(output).st_ino}]" if output is not None else None
    family: set[int] = set()
    try:
        _signal_group(leader, signal.SIGSTOP)
        for _ in range(FREEZE_ROUNDS):
            newcomers = _family(leader, family, pipe) - family
            if not newcomers:
                break
            for pid in newcomers:
                _signal(pid, signal.SIGSTOP)
            family |= newcomers
    finally:
        _signal_group(leader, signal.SIGKILL)
        for pid in family:
            _signal(pid, signal.SIGKILL)


def _family(leader: int, known: set[int], pipe: str | None) -> set[int]:
    """Return the leader, its session, the pipe's writers, and the descendants of all of them."""
    import psutil  # noqa: PLC0415 - only a kill needs it

    children: dict[int, list[int]] = {}
    found = {leader, *known}
    for process in psutil.process_iter(["ppid"]):
        pid, parent = process.pid, process.info["ppid"]
        children.setdefault(parent, []).append(pid)
        # A fork of our own process may hold a copy of the pipe and is none of the family.
        is_ours = os.getpid() in (pid, parent) and pid != leader
        if not is_ours and (_session_of(pid) == leader or _writes_to(pid, pipe)):
            found.add(pid)
    unread = list(found)
    while unread:
        newcomers = set(children.get(unread.pop(), ())) - found
        found |= newcomers
        unread.extend(newcomers)
    return found


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _writes_to(pid: int, pipe: str | None) -> bool:
    if pipe is None or sys.platform != "linux":
        return False
    for stream in (1, 2):
        with contextlib.suppress(OSError):
            if str(Path(f"/proc/{pid}/fd/{stream}").readlink()) == pipe:
                return True
    return False


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _signal_group(leader: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)
