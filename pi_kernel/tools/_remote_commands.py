"""On the far machine: run one shell command and hand its output over while it comes.

It ends as a local command does: with the shell, once the output has ended or fallen silent, at the
deadline, or when somebody asks to stop. The module runs on Python 3.8.
"""
# It runs where nothing of ours is installed; names stay texts.
# ruff: noqa: PTH110, PTH116

from __future__ import annotations

import contextlib
import errno
import os
import selectors
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from pi_kernel.tools._remote_frames import PART_BYTES
from pi_kernel.tools._remote_guard import children, kill_command

__all__ = ("CommandCall", "CommandStartError", "run_command")

DEFAULT_SHELL = "/bin/bash"
QUIET_SECONDS = 0.1
"""After the shell's exit: how long a silent process may hold the pipe."""
DRAIN_SECONDS = 0.15
"""After a kill: how long a writer out of reach is listened to."""
DEATH_SECONDS = 1.0
"""After a kill: how long the shell's exit is waited for."""
LONGEST_WAIT_SECONDS = 3600.0
SIGNAL_EXIT_BASE = 128
SPAWN_ERRORS_WITH_FILE = ("EACCES", "EAGAIN", "EMFILE", "ENFILE", "ENOENT")
"""Node names the program in the message of these only."""


class CommandCall(Protocol):
    """The call that a command runs for."""

    @property
    def is_stopped(self) -> bool:
        """Whether the near end asked to stop."""
        ...

    def on_stop(self, callback: Callable[[], None], /) -> None:
        """Have the callback called when it does; at once if it has."""
        ...

    def send_part(self, data: bytes, /, *, deadline: float | None = None) -> None:
        """Send output, or drop it after a stop and when the deadline comes first."""
        ...


class CommandStartError(Exception):
    """The command could not be started; the text is the model's."""


def run_command(call: CommandCall, query: dict[str, Any]) -> dict[str, Any]:
    """Run a command to its end.

    Args:
        call: Takes the output and may be asked to stop.
        query: ``command`` is what the shell runs, ``cwd`` its working directory, ``timeout`` the
            seconds until the kill, or None. The environment is this machine's, without the names
            in ``removed`` and with the ``variables``.

    Returns:
        ``exit`` is the status, 128 + n after signal n. ``stopped`` or ``timeout`` is true after a
        kill; with ``timeout``, ``exit`` and ``after`` are there when the shell had exited before.
    """
    cwd: str = query["cwd"]
    try:
        os.stat(cwd)
    except (OSError, ValueError):
        raise CommandStartError(
            f"Working directory does not exist: {cwd}\nCannot execute bash commands."
        ) from None
    env = {name: value for name, value in os.environ.items() if name not in query["removed"]}
    env.update(query["variables"])
    shell = DEFAULT_SHELL if os.path.exists(DEFAULT_SHELL) else shutil.which("bash") or "sh"
    run = _Run(call, query["timeout"])
    try:
        run.start([shell, "-c", query["command"]], cwd, env)
    except OSError as error:
        code = errno.errorcode.get(error.errno or 0, "UNKNOWN")
        is_named = code in SPAWN_ERRORS_WITH_FILE
        text = f"spawn {shell} {code}" if is_named else f"spawn {code}"
        raise CommandStartError(text) from None
    return run.supervise()


class _Run:
    """One child process and its pipe."""

    def __init__(self, call: CommandCall, timeout: float | None) -> None:
        self._call = call
        self._timeout = timeout
        self._started_at = self._exited_at = self._killed_at = 0.0
        """Zero: it has not happened."""
        self._ending: dict[str, Any] = {}
        self._lock = threading.RLock()
        self._is_over = False

    def start(self, argv: list[str], cwd: str, env: dict[str, str]) -> None:
        self._output, writer = os.pipe()
        self._wake, self._wake_writer = os.pipe()
        os.set_blocking(self._wake_writer, False)
        self._started_at = time.monotonic()
        try:
            with children.lock:
                self._child = subprocess.Popen(  # noqa: S603 - running commands is the purpose
                    argv,
                    cwd=cwd,
                    env=env,
                    stdin=subprocess.DEVNULL,
                    stdout=writer,
                    stderr=writer,
                    start_new_session=True,
                )
                children.add(self._child.pid)
        except BaseException:
            for descriptor in (self._output, self._wake, self._wake_writer):
                os.close(descriptor)
            raise
        finally:
            os.close(writer)

    def supervise(self) -> dict[str, Any]:
        """Hand the output over until the end, whichever way it comes."""
        threading.Thread(target=self._await_exit, daemon=True).start()
        self._call.on_stop(self._stop)
        try:
            self._read()
        except BaseException:
            kill_command(self._child.pid, self._output)
            raise
        finally:
            os.close(self._output)
            with self._lock:
                self._is_over = True
                os.close(self._wake)
                os.close(self._wake_writer)
            if self._exited_at:  # else the watching thread does it, whenever the exit comes
                self._wait()
        return self._ending or {"exit": self._exit_code()}

    def _await_exit(self) -> None:
        """Note the exit but leave the zombie: it keeps the process id from being given away."""
        if hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):
                os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._wait()
        with self._lock:
            self._exited_at = time.monotonic()
            if not self._is_over:
                self._wake_up()
                return
        self._wait()

    def _stop(self) -> None:
        with self._lock:
            if not self._is_over:
                self._wake_up()

    def _wake_up(self) -> None:
        with contextlib.suppress(BlockingIOError):  # it is full of wake-ups
            os.write(self._wake_writer, b"\0")

    def _read(self) -> None:
        deadline = None if self._timeout is None else self._started_at + self._timeout
        is_open, quiet_since = True, self._started_at
        with selectors.DefaultSelector() as selector:
            selector.register(self._output, selectors.EVENT_READ)
            selector.register(self._wake, selectors.EVENT_READ)
            while True:
                self._kill_when_due(deadline)
                until = self._end(quiet_since if is_open else None)
                if not self._killed_at and deadline is not None:
                    until = deadline if until is None else min(until, deadline)
                left = LONGEST_WAIT_SECONDS if until is None else until - time.monotonic()
                wait = min(max(0.0, left), LONGEST_WAIT_SECONDS)
                ready = {key.fd for key, _ in selector.select(wait)}
                if self._wake in ready:
                    os.read(self._wake, PART_BYTES)
                if self._output in ready:
                    block = os.read(self._output, PART_BYTES)
                    if block:
                        self._call.send_part(block, deadline=deadline)
                        quiet_since = time.monotonic()
                        if not self._killed_at:
                            continue
                    else:
                        selector.unregister(self._output)
                        is_open = False
                end = self._end(quiet_since if is_open else None)
                if end is not None and time.monotonic() >= end:
                    return

    def _kill_when_due(self, deadline: float | None) -> None:
        timed_out = deadline is not None and time.monotonic() >= deadline
        if self._killed_at or not (timed_out or self._call.is_stopped):
            return
        exited_at = self._exited_at
        kill_command(self._child.pid, self._output)
        self._killed_at = time.monotonic()
        if self._call.is_stopped:
            self._ending = {"stopped": True}
        elif exited_at:
            after = exited_at - self._started_at
            self._ending = {"timeout": True, "exit": self._exit_code(), "after": after}
        else:
            self._ending = {"timeout": True, "exit": None, "after": None}

    def _end(self, quiet_since: float | None) -> float | None:
        """Return when the run is over if nothing more happens; None: not before the exit.

        Args:
            quiet_since: When output came last; None once the pipe is closed.
        """
        if not self._exited_at:
            return self._killed_at + DEATH_SECONDS if self._killed_at else None
        if quiet_since is None:
            return self._exited_at
        end = max(self._exited_at, quiet_since) + QUIET_SECONDS
        return min(end, self._killed_at + DRAIN_SECONDS) if self._killed_at else end

    def _wait(self) -> int:
        code = self._child.wait()
        children.remove(self._child.pid)
        return code

    def _exit_code(self) -> int:
        code = self._wait()
        return code if code >= 0 else SIGNAL_EXIT_BASE - code
