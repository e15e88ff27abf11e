"""On the far machine: no process of ours outlives the connection, however it ends.

The server runs as the child of a keeper. On Linux it adopts whatever loses its parent below it, and
the keeper does when the server is gone. When the server ends, for whatever reason, the keeper kills
all that is left; when the keeper is killed, the server hears of it and does the same. Elsewhere a
server that is killed outright leaves its commands behind.

The module runs on Python 3.8.
"""
# It runs where nothing of ours is installed; names stay texts.
# ruff: noqa: PTH208, PTH115, PTH123

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from typing import NamedTuple, NoReturn

__all__ = ("children", "kill_command", "kill_descendants", "start_guarded")

FREEZE_ROUNDS = 5
"""Looks for processes born between a look and their parent's freeze; one round is the rule."""
CLEAN_UP_SECONDS = 5.0
LOOK_SECONDS = 0.01
COMMANDS_PER_REAPING = 16
SIGNAL_EXIT_BASE = 128

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class _Process(NamedTuple):
    parent: int
    session: int
    """Where it is not known, the group: a command leads both."""
    is_zombie: bool


def start_guarded() -> None:
    """Go on in a child process; this one stays behind as its keeper and never returns."""
    keeper = os.getpid()
    _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    server = os.fork()
    if server == 0:
        signal.signal(signal.SIGTERM, _end_server)
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
        if os.getppid() != keeper:
            os._exit(1)
        return
    _keep(server)


class ChildList:
    """The children of the server that somebody waits for; the others were adopted.

    Those are waited for here, once in a while, so that they do not stay as zombies.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        """Held while a child is started and added."""
        self._own: set[int] = set()
        self._removed_count = 0

    def add(self, pid: int) -> None:
        """Take note of a child; the lock is held."""
        self._own.add(pid)

    def kill_groups(self) -> None:
        """SIGKILL their groups, for where nobody tells what else is below them."""
        for pid in list(self._own):
            _signal_group(pid, signal.SIGKILL)

    def remove(self, pid: int) -> None:
        """Forget a child that was waited for."""
        with self.lock:
            if pid not in self._own:
                return
            self._own.remove(pid)
            self._removed_count += 1
            if self._removed_count % COMMANDS_PER_REAPING:
                return
            for child, process in _processes().items():
                if process.parent == os.getpid() and process.is_zombie and child not in self._own:
                    with contextlib.suppress(ChildProcessError):
                        os.waitpid(child, os.WNOHANG)


children = ChildList()


def kill_command(leader: int, output: int) -> None:
    """SIGKILL a command: its group, its session, their descendants and who writes to its output.

    They are frozen first, because a stopped process cannot fork or exit, and collected while the
    links to their parents still stand.

    Args:
        leader: The shell, leader of its session, that nobody has reaped yet.
        output: The end of the pipe that the command writes to.
    """
    pipe = f"pipe:[{os.fstat(output).st_ino}]"
    found: set[int] = set()
    try:
        _signal_group(leader, signal.SIGSTOP)
        for _ in range(FREEZE_ROUNDS):
            newcomers = _family(leader, pipe) - found
            if not newcomers:
                break
            for pid in newcomers:
                _signal(pid, signal.SIGSTOP)
            found |= newcomers
    finally:
        _signal_group(leader, signal.SIGKILL)
        for pid in found:
            _signal(pid, signal.SIGKILL)


def kill_descendants() -> None:
    """SIGKILL everything below this process."""
    deadline = time.monotonic() + CLEAN_UP_SECONDS
    while time.monotonic() < deadline:
        table = _processes()
        living = [pid for pid in _below({os.getpid()}, table) if not table[pid].is_zombie]
        if not living:
            return
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in living:
                _signal(pid, number)
        time.sleep(LOOK_SECONDS)


def _keep(server: int) -> NoReturn:
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: _signal(server, signal.SIGKILL))
    _let_go_of_connection()  # only the server holds it, so that its end is seen
    code = 1
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == server:
                is_signal = os.WIFSIGNALED(status)
                code = SIGNAL_EXIT_BASE + os.WTERMSIG(status) if is_signal else status >> 8
                break
    kill_descendants()
    os._exit(code)


def _end_server(*_: object) -> None:
    _let_go_of_connection()  # that its commands are killed is not an answer to anybody
    kill_descendants()
    children.kill_groups()
    os._exit(SIGNAL_EXIT_BASE + signal.SIGTERM)


def _let_go_of_connection() -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):
        os.dup2(nothing, stream)


def _family(leader: int, pipe: str) -> set[int]:
    table = _processes()
    own = {os.getpid(), os.getppid()}
    found = {
        pid
        for pid, process in table.items()
        if pid not in own and (process.session == leader or _writes_to(pid, pipe))
    }
    return {leader} | found | _below(found | {leader}, table)


def _below(roots: set[int], table: dict[int, _Process]) -> set[int]:
    children: dict[int, list[int]] = {}
    for pid, process in table.items():
        children.setdefault(process.parent, []).append(pid)
    found: set[int] = set()
    unread = list(roots)
    while unread:
        newcomers = set(children.get(unread.pop(), ())) - found - roots
        found |= newcomers
        unread.extend(newcomers)
    return found


def _processes() -> dict[int, _Process]:
    if sys.platform == "linux" and os.path.isdir("/proc/self"):  # noqa: PTH112 - as above
        return _linux_processes()
    table: dict[int, _Process] = {}
    command = ["ps", "-A", "-o", "pid=,ppid=,pgid=,state="]
    try:
        listing = subprocess.check_output(command, stderr=subprocess.DEVNULL)  # noqa: S603 - fixed
    except (OSError, subprocess.SubprocessError):  # groups can be killed all the same
        return table
    for line in listing.decode("ascii", "replace").splitlines():
        pid, parent, group, state = line.split()[:4]
        table[int(pid)] = _Process(int(parent), int(group), state.startswith("Z"))
    return table


def _linux_processes() -> dict[int, _Process]:
    table: dict[int, _Process] = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        with contextlib.suppress(OSError, ValueError, IndexError):  # it has ended meanwhile
            with open(f"/proc/{name}/stat", "rb") as file:
                # The name in the middle may hold anything, blanks and brackets too.
                fields = file.read().rpartition(b")")[2].split()
            state, parent, _, session = fields[:4]
            table[int(name)] = _Process(int(parent), int(session), state in (b"Z", b"X"))
    return table


def _writes_to(pid: int, pipe: str) -> bool:
    for stream in (1, 2):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/fd/{stream}") == pipe:
                return True
    return False


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _signal_group(leader: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader, number)


def _prctl(option: int, value: int) -> None:
    if sys.platform != "linux":
        return
    with contextlib.suppress(ImportError, OSError, AttributeError):  # a Python without ctypes
        import ctypes  # noqa: PLC0415 - not everywhere

        ctypes.CDLL(None).prctl(option, value, 0, 0, 0)
