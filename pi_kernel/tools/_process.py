"""Run one command: both streams in one pipe, a session of its own, an end nothing can hold up.

A thread reads the pipe, because that is the fastest way for large outputs: one read a block, no
hop through the event loop, and the interpreter lock is free while it waits.
"""

from __future__ import annotations

import _thread
import asyncio
import atexit
import contextlib
import os
import selectors
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass

import anyio

from pi_kernel.runtime._json_text import number_text
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._os_errors import FileError, error_code
from pi_kernel.tools._process_tree import kill_tree

__all__ = ("CommandAbortedError", "CommandTimeoutError", "run_process")

READ_BLOCK_BYTES = 1024 * 1024
PIPE_BYTES = 1024 * 1024
"""Linux's limit for everybody; with its default of 64 KiB writer and reader wait for each other."""
QUIET_SECONDS = 0.1
"""After the shell's exit: how long a silent process may hold the pipe."""
DRAIN_SECONDS = 0.15
"""After a kill: how long a writer out of reach is listened to."""
DEATH_SECONDS = 1.0
"""After a kill: how long the shell's exit is waited for (it may hang inside the system)."""
LONGEST_WAIT_SECONDS = 3600.0
"""The system refuses waits of more than 2**31 - 1 ms."""

SIGNAL_EXIT_BASE = 128
SPAWN_ERRORS_WITH_FILE = frozenset({"EACCES", "EAGAIN", "EMFILE", "ENFILE", "ENOENT"})
"""Node names the program in the message of these only."""


class CommandAbortedError(Exception):
    """The command was killed because somebody asked to stop."""

    def __init__(self) -> None:
        super().__init__("aborted")


class CommandTimeoutError(Exception):
    """The command was killed at its deadline.

    Args:
        seconds: The time that it had.
        exit_code: Status of the shell, when it had exited before and only background jobs kept
            the call going.
        exit_after_seconds: When the shell exited.
    """

    def __init__(
        self,
        seconds: float,
        *,
        exit_code: int | None = None,
        exit_after_seconds: float | None = None,
    ) -> None:
        super().__init__(f"timeout:{number_text(seconds)}")
        self.exit_code = exit_code
        self.exit_after_seconds = exit_after_seconds


async def run_process(  # noqa: PLR0913 - what a process needs
    argv: Sequence[str] | Callable[[], Sequence[str]],
    *,
    cwd: str,
    env: Mapping[str, str],
    on_data: Callable[[bytes], object],
    signal: AbortSignal | None = None,
    timeout: float | None = None,  # noqa: ASYNC109 - a deadline for the process, not for the task
) -> int:
    """Run a program to its end and hand its output over while it comes.

    The call ends when the program has exited and its output ended or fell silent; background
    jobs go on. A timeout, an abort and a cancelled task kill everything that it started.

    Args:
        argv: Program and arguments, or a function that finds them; it runs in a thread, because it
            may have to wait for a file system. What it raises ends the call.
        cwd: Working directory.
        env: The whole environment.
        on_data: Takes each block of stdout and stderr, in the reading thread.
        signal: Asks to stop.
        timeout: Seconds until the kill.

    Returns:
        The exit status, 128 + n after signal n.

    Raises:
        CommandAbortedError: If the signal was set.
        CommandTimeoutError: If the time ran out.
        OSError: If the program could not be started, in Node's words.

    Source:
        Pi 1.6.0, ``createLocalBashOperations`` and ``waitForChildProcess``; killing descendants
        outside the group is ours.
    """
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()

    def announce() -> None:
        with contextlib.suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(ended.set)

    find_argv = argv if callable(argv) else lambda: argv
    run = _Run(
        find_argv=find_argv, cwd=cwd, env=env, on_data=on_data, timeout=timeout, on_end=announce
    )
    unsubscribe = signal.subscribe(run.stop) if signal is not None else None
    try:
        run.start()
        await ended.wait()
    except asyncio.CancelledError:
        run.stop()
        with anyio.CancelScope(shield=True):
            while not ended.is_set():  # it takes a second at most, however often we are cancelled
                with contextlib.suppress(asyncio.CancelledError):
                    await ended.wait()
        raise
    finally:
        run.stop()
        if unsubscribe is not None:
            unsubscribe()
    if signal is not None and signal.aborted:
        raise CommandAbortedError
    return run.result()


@dataclass(eq=False, kw_only=True)
class _Run:
    """One child process, its pipe, and the thread that looks after both."""

    find_argv: Callable[[], Sequence[str]]
    cwd: str
    env: Mapping[str, str]
    on_data: Callable[[bytes], object]
    timeout: float | None
    on_end: Callable[[], None]

    def __post_init__(self) -> None:
        # A signal handler may ask to stop while its thread holds the lock for the same reason.
        self._lock = threading.RLock()
        self._wake_fd: int | None = None
        self._stopping = False
        self._is_preparing = True
        self._process: subprocess.Popen[bytes] | None = None
        self._started_at = 0.0
        self._exited_at: float | None = None
        self._killed_at: float | None = None
        self._has_exit_watch = False
        self._is_over = False
        self._error: BaseException | None = None

    def start(self) -> None:
        """Start the thread, which starts the process."""
        _start_thread(self._main)

    def stop(self) -> None:
        """Have everything killed, if it still runs; from any thread, at any time."""
        with self._lock:
            self._stopping = True
            self._wake()
            if self._is_preparing:  # nothing was started yet, and nothing will be
                self.on_end()

    def kill(self) -> None:
        """Kill everything, in this thread."""
        if self._process is not None:
            kill_tree(self._process.pid)

    def result(self) -> int:
        """Return the exit status, or raise what the thread ended with."""
        if self._error is not None:
            raise self._error
        return self._exit_code()

    def _main(self) -> None:
        try:
            argv = self.find_argv()
            with self._lock:
                self._is_preparing = False
                if self._stopping:
                    raise CommandAbortedError  # noqa: TRY301 - like all that may be raised here
            with _node_wording(argv[0]):
                wake, self._wake_fd = os.pipe()
            os.set_blocking(self._wake_fd, False)
            try:
                self._supervise(argv, wake)
            finally:
                with self._lock:
                    os.close(self._wake_fd)
                    self._wake_fd = None
                os.close(wake)
        except BaseException as error:  # noqa: BLE001 - raised again by `result`, in the caller's task
            self._error = error
        finally:
            self.on_end()

    def _supervise(self, argv: Sequence[str], wake: int) -> None:
        with _node_wording(argv[0]):
            output = self._spawn(argv)
        _running.add(self)
        try:
            _start_thread(self._await_exit)
            self._has_exit_watch = True
            self._read(output, wake)
        except BaseException:
            kill_tree(self._child.pid, output=output)
            raise
        finally:
            _running.discard(self)
            os.close(output)
            self._reap()

    def _spawn(self, argv: Sequence[str]) -> int:
        """Start the process and return the end of its output to read from."""
        output, writer = os.pipe()
        try:
            _widen(output)
            with _spawning:
                self._started_at = time.monotonic()
                self._process = subprocess.Popen(  # noqa: S603 - running commands is the purpose
                    [part.encode("utf-8", "surrogateescape") for part in argv],
                    cwd=self.cwd,
                    env=self.env,
                    stdin=subprocess.DEVNULL,
                    stdout=writer,
                    stderr=writer,
                    start_new_session=True,
                )
        except BaseException:
            os.close(output)
            raise
        finally:
            os.close(writer)
        return output

    def _await_exit(self) -> None:
        """Note the exit but leave the zombie: it keeps the process id from being given away."""
        if hasattr(os, "waitid"):
            with contextlib.suppress(ChildProcessError):  # SIGCHLD is ignored: reaped already
                os.waitid(os.P_PID, self._child.pid, os.WEXITED | os.WNOWAIT)
        else:
            self._child.wait()
        with self._lock:
            self._exited_at = time.monotonic()
            self._wake()
        if self._is_over:
            self._child.wait()

    def _read(self, output: int, wake: int) -> None:
        """Take output until the end, whichever way it comes."""
        deadline = None if self.timeout is None else self._started_at + self.timeout
        is_open, quiet_since = True, self._started_at
        with selectors.DefaultSelector() as selector:
            selector.register(output, selectors.EVENT_READ)
            selector.register(wake, selectors.EVENT_READ)
            while True:
                if self._killed_at is None:
                    self._kill_when_due(deadline, output)
                until = self._end(quiet_since if is_open else None)
                if self._killed_at is None and deadline is not None:
                    until = deadline if until is None else min(until, deadline)
                left = LONGEST_WAIT_SECONDS if until is None else until - time.monotonic()
                wait = min(max(0.0, left), LONGEST_WAIT_SECONDS)
                ready = {key.fd for key, _ in selector.select(wait)}
                if wake in ready:
                    os.read(wake, READ_BLOCK_BYTES)
                if output in ready:
                    block = os.read(output, READ_BLOCK_BYTES)
                    if block:
                        self.on_data(block)
                        quiet_since = time.monotonic()
                        if self._killed_at is None:
                            continue
                    else:
                        selector.unregister(output)
                        is_open = False
                end = self._end(quiet_since if is_open else None)
                if end is not None and time.monotonic() >= end:
                    return

    def _kill_when_due(self, deadline: float | None, output: int) -> None:
        timed_out = deadline is not None and time.monotonic() >= deadline
        if not (timed_out or self._stopping):
            return
        exited_at = self._exited_at
        kill_tree(self._child.pid, output=output)
        self._killed_at = time.monotonic()
        if self._stopping or self.timeout is None:
            self._error = CommandAbortedError()
        elif exited_at is None:
            self._error = CommandTimeoutError(self.timeout)
        else:
            self._error = CommandTimeoutError(
                self.timeout,
                exit_code=self._exit_code(),
                exit_after_seconds=exited_at - self._started_at,
            )

    def _end(self, quiet_since: float | None) -> float | None:
        """Return when the run is over if nothing more happens; None: not before the exit.

        Args:
            quiet_since: When output came last; None once the pipe is closed.
        """
        if self._exited_at is None:
            return None if self._killed_at is None else self._killed_at + DEATH_SECONDS
        if quiet_since is None:
            return self._exited_at
        end = max(self._exited_at, quiet_since) + QUIET_SECONDS
        return end if self._killed_at is None else min(end, self._killed_at + DRAIN_SECONDS)

    def _exit_code(self) -> int:
        code = self._child.wait()
        return code if code >= 0 else SIGNAL_EXIT_BASE - code

    def _reap(self) -> None:
        with self._lock:
            self._is_over = True
            is_watched = self._has_exit_watch and self._exited_at is None
        if not is_watched:  # else the watching thread does it, whenever the exit comes
            self._child.wait()

    @property
    def _child(self) -> subprocess.Popen[bytes]:
        assert self._process is not None  # noqa: S101 - only used after _spawn
        return self._process

    def _wake(self) -> None:
        if self._wake_fd is not None:
            with contextlib.suppress(BlockingIOError):  # it is full of wake-ups
                os.write(self._wake_fd, b"\0")


def _start_thread(function: Callable[[], None]) -> None:
    """Run a function in a daemon thread, without waiting for the thread as `threading` does.

    Where a thousand are started at once, each wait is for a turn among all of them.
    """
    _thread.start_new_thread(function, ())


def _widen(pipe: int) -> None:
    if sys.platform == "linux":
        import fcntl  # noqa: PLC0415 - not on every system

        with contextlib.suppress(OSError):  # the user's share of pipe memory may be spent
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, PIPE_BYTES)


@contextlib.contextmanager
def _node_wording(program: str) -> Generator[None]:
    """Word a failed start as the reference's runtime does, such as ``spawn /bin/bash ENOENT``."""
    try:
        yield
    except OSError as error:
        code = error_code(error)
        message = f"spawn {program} {code}" if code in SPAWN_ERRORS_WITH_FILE else f"spawn {code}"
        raise FileError(message, number=error.errno, code=code, path=None) from error


_spawning = threading.Lock()
"""One start at a time: each holds the interpreter lock until the program runs, and many threads
that wait for their turn with that would keep the event loop from its own."""
_running: set[_Run] = set()
_owner_pid = os.getpid()


def _kill_running() -> None:
    """Leave no command behind when the interpreter ends; a fork of it owns none."""
    if os.getpid() == _owner_pid:
        for run in tuple(_running):
            run.kill()


atexit.register(_kill_running)
