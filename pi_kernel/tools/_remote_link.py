"""The near end of a connection to a far machine: one child process, many calls at once.

Three threads serve a connection: one starts the child and reads, one writes, one keeps the end of
what the child prints as errors. Calls may come from any event loop and any thread.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import shlex
import subprocess
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from typing import IO, Any

from pi_kernel.errors import PiKernelError
from pi_kernel.tools._process_tree import kill_tree
from pi_kernel.tools._remote_errors import raised_there
from pi_kernel.tools._remote_frames import FrameError, pack_frame, read_frame
from pi_kernel.tools._remote_outbox import Outbox, Upload
from pi_kernel.tools._remote_program import INTERPRETER_OPTIONS, MINIMUM_PYTHON, far_program

__all__ = ("Connection", "PendingCall")

OnPart = Callable[["PendingCall", bytes], object]
"""Takes the bytes that come back, in the reading thread; must call ``acknowledge`` for each part,
now or later, or the far end stops sending."""

START_SECONDS = 30.0
"""How long the interpreter may take to answer; ssh included."""
CLOSE_SECONDS = 3.0
"""How long the child may take to end by itself once its input is closed."""
MAX_NOISE_BYTES = 64 * 1024
"""What login scripts may print before the interpreter answers."""
KEPT_ERROR_BYTES = 4 * 1024
PROMPT = ">>> "


class PendingCall:
    """A call that was sent, or will be; its future gets what the far end answers."""

    def __init__(self, connection: Connection, call_id: int, on_part: OnPart | None) -> None:
        self.future: Future[Any] = Future()
        self.id = call_id
        self._connection = connection
        self._on_part = on_part

    def stop(self) -> None:
        """Tell the far end that nobody waits any more; from any thread, at any time."""
        self._connection.stop(self)

    def take_part(self, data: bytes) -> None:
        """Hand data over to whoever made the call."""
        try:
            if self._on_part is not None:
                self._on_part(self, data)
        except Exception as error:  # noqa: BLE001 - the caller's own; it gets it back
            self.fail(error)
            self.stop()

    def acknowledge(self, parts: int = 1) -> None:
        """Tell the far end that it may send so many more parts."""
        self._connection.send_control({"id": self.id, "more": parts})

    def succeed(self, result: object) -> None:
        """Give the call its result."""
        with contextlib.suppress(InvalidStateError):  # it was cancelled
            self.future.set_result(result)

    def fail(self, error: Exception) -> None:
        """Let the call fail."""
        with contextlib.suppress(InvalidStateError):
            self.future.set_exception(error)


class Connection:
    """One child process from its start to its end; never started a second time.

    Args:
        command: What starts the interpreter; ``-`` at its end may be there or not.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._owner_pid = os.getpid()
        self._outbox = Outbox()
        self._lock = threading.Lock()
        self._calls: dict[int, PendingCall] = {}
        self._call_count = 0
        self._process: subprocess.Popen[bytes] | None = None
        self._is_closing = False
        self._is_late = False
        self._is_written_to = False
        """Whether a thread writes, which also closes the child's input."""
        self._ended = threading.Event()
        self._failure: str | None = None
        self._errors = bytearray()
        self.facts: Future[dict[str, Any]] = Future()
        """What the far end says about itself: ``python`` and ``home``."""
        _open.add(self)
        threading.Thread(target=self._serve, name="pi-kernel remote", daemon=True).start()

    @property
    def is_usable(self) -> bool:
        """Whether new calls can be made."""
        return self._failure is None and not self._is_closing and os.getpid() == self._owner_pid

    def call(
        self,
        operation: str,
        *arguments: object,
        data: bytes = b"",
        on_part: OnPart | None = None,
    ) -> PendingCall:
        """Begin a call.

        Args:
            operation: Its name there.
            arguments: JSON values.
            data: Bytes that belong to it.
            on_part: Takes the bytes that come back.
        """
        with self._lock:
            self._call_count += 1
            pending = PendingCall(self, self._call_count, on_part)
            if self._failure is None:
                self._calls[pending.id] = pending
                self._outbox.put(pending.id, Upload(pending.id, operation, arguments, data))
                return pending
        pending.fail(PiKernelError(self._failure))
        return pending

    def stop(self, pending: PendingCall) -> None:
        """Have a call given up there; one that was not sent as a whole yet ends at once."""
        rest = self._outbox.drop(pending.id)
        if rest is None or rest.is_begun:
            self.send_control({"id": pending.id, "stop": True})
        if rest is not None:
            with self._lock:
                self._calls.pop(pending.id, None)
            pending.fail(PiKernelError("stopped"))

    def send_control(self, message: dict[str, Any]) -> None:
        """Send a message ahead of all data."""
        self._outbox.put_control(pack_frame(message))

    def close(self, *, is_waited_for: bool = True) -> None:
        """End the child and, with it, everything that runs there.

        Args:
            is_waited_for: Whether to return only when the child has ended, seconds at most.
        """
        self._is_closing = True
        self._outbox.close()
        if os.getpid() != self._owner_pid:
            return
        if is_waited_for and not self._ended.wait(CLOSE_SECONDS):
            self._kill()
            self._ended.wait(CLOSE_SECONDS)

    # -- the threads ---------------------------------------------------------------------------

    def _serve(self) -> None:
        """Start the child, read until it ends, and settle every call."""
        reason = ""
        process = None
        try:
            # In this thread, because a child may be bound to the life of the thread it came from.
            process = self._process = self._start()
            output = process.stdout
            assert output is not None  # noqa: S101 - a pipe
            self._greet(process, output)
            while (frame := read_frame(output)) is not None:
                self._take(*frame)
        except FrameError as error:
            reason = f"{self._shown}: something else writes to its output: {error}"
        except PiKernelError as error:
            reason = str(error)
        except OSError:
            reason = ""  # it reads no more; how it ended says more than that
        finally:
            self._outbox.close()
            if reason:  # it would not end by itself
                self._kill()
            status = "" if process is None else self._end_of(process)
            self._fail_all(reason or status)
            _open.discard(self)
            self._ended.set()

    def _start(self) -> subprocess.Popen[bytes]:
        command = self._command[:-1] if self._command[-1:] == ["-"] else self._command
        try:
            return subprocess.Popen(  # noqa: S603 - the person's own command
                [*command, *INTERPRETER_OPTIONS],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,  # an interrupt of the kernel is not the child's
            )
        except (OSError, ValueError) as error:
            raise PiKernelError(f"{self._shown} cannot be started: {error}") from error

    def _greet(self, process: subprocess.Popen[bytes], output: IO[bytes]) -> None:
        """Have the interpreter read our program; then calls may be written."""
        assert process.stdin is not None and process.stderr is not None  # noqa: S101, PT018
        errors = threading.Thread(target=self._keep_errors, args=(process.stderr,), daemon=True)
        errors.start()
        timer = threading.Timer(START_SECONDS, self._give_up)
        timer.daemon = True
        timer.start()
        try:
            program = far_program()
            _write(process.stdin, program.first_line)
            version = self._version_after(program.mark, output)
            if version < MINIMUM_PYTHON:
                there, least = _dotted(version), _dotted(MINIMUM_PYTHON)
                raise PiKernelError(f"{self._shown} runs Python {there}; {least} is needed")
            _write(process.stdin, program.rest)
            hello = read_frame(output)
        finally:
            timer.cancel()
        if hello is None:
            raise PiKernelError("")
        self.facts.set_result(hello[0]["hello"])
        self._is_written_to = True
        writer = threading.Thread(target=self._write_all, args=(process.stdin,), daemon=True)
        writer.start()

    def _version_after(self, mark: bytes, output: IO[bytes]) -> tuple[int, ...]:
        noise = 0
        while line := output.readline(MAX_NOISE_BYTES):
            before, found, version = line.partition(mark)
            if found:
                return tuple(map(int, version.split()))
            noise += len(before)
            if noise > MAX_NOISE_BYTES:
                raise PiKernelError(f"{self._shown} does not start Python")
        raise PiKernelError("")

    def _take(self, message: dict[str, Any], data: bytes) -> None:
        with self._lock:
            pending = self._calls.get(message["id"])
            if pending is not None and "part" not in message:
                del self._calls[pending.id]
        if pending is None:
            return
        if "part" in message:
            pending.take_part(data)
        elif "error" in message:
            pending.fail(raised_there(message["error"]))
        else:
            pending.succeed(message["result"])

    def _write_all(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError):  # the child is gone; the reader tells
            for frame in self._outbox.frames():
                _write(stream, frame)
        with contextlib.suppress(OSError):
            stream.close()

    def _keep_errors(self, stream: IO[bytes]) -> None:
        with contextlib.suppress(OSError, ValueError), stream:
            while piece := os.read(stream.fileno(), KEPT_ERROR_BYTES):
                self._errors += piece
                del self._errors[:-KEPT_ERROR_BYTES]

    def _give_up(self) -> None:
        self._is_late = True
        self._kill()

    def _kill(self) -> None:
        process = self._process
        if process is not None and process.poll() is None:
            kill_tree(process.pid)

    # -- the end -------------------------------------------------------------------------------

    def _end_of(self, process: subprocess.Popen[bytes]) -> str:
        """See to it that the child has ended, and return in words how."""
        if process.stdin is not None and not self._is_written_to:
            with contextlib.suppress(OSError):
                process.stdin.close()
        try:
            code = process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._kill()
            code = process.wait()
        if process.stdout is not None:
            process.stdout.close()
        if self._is_late:
            return f"{self._shown} did not answer within {START_SECONDS:g} seconds"
        how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
        errors = bytes(self._errors).decode("utf-8", "replace").replace(PROMPT, "").strip()
        return f"{self._shown} {how}" + (f": {errors}" if errors else "")

    def _fail_all(self, reason: str) -> None:
        with self._lock:
            text = "The connection was closed" if self._is_closing else reason
            self._failure = text
            calls = list(self._calls.values())
            self._calls.clear()
        with contextlib.suppress(InvalidStateError):
            self.facts.set_exception(PiKernelError(text))
        for pending in calls:
            pending.fail(PiKernelError(text))

    @property
    def _shown(self) -> str:
        return f"The connection ({shlex.join(self._command)})"


def _write(stream: IO[bytes], data: bytes) -> None:
    stream.write(data)
    stream.flush()


def _dotted(version: Sequence[int]) -> str:
    return ".".join(map(str, version))


_open: weakref.WeakSet[Connection] = weakref.WeakSet()


def _close_all() -> None:
    """Leave nothing behind when the interpreter ends."""
    for connection in list(_open):
        connection.close(is_waited_for=False)
    for connection in list(_open):
        connection.close()


atexit.register(_close_all)
