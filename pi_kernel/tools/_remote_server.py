"""On the far machine: answer calls, several at once, until the connection ends.

It is sent there as text and runs on Python 3.8 with nothing but the standard library; what it
shares with the local tools is sent along (`_remote_program`).
"""
# It runs where nothing of ours is installed; names stay texts.
# ruff: noqa: PTH110, PTH112, PTH116

from __future__ import annotations

import errno
import os
import platform
import stat
import threading
import time
from collections.abc import Callable
from typing import IO, Any

from pi_kernel.tools._access import check_editable, check_writable
from pi_kernel.tools._atomic import (
    SpecialFileError,
    make_directories,
    special_file_kind,
    write_atomically,
)
from pi_kernel.tools._os_errors import FileError, error_code, wording
from pi_kernel.tools._read_local import open_local_file
from pi_kernel.tools._remote_commands import run_command
from pi_kernel.tools._remote_frames import PART_BYTES, WINDOW_PARTS, pack_frame, read_frame
from pi_kernel.tools._remote_guard import children, start_guarded
from pi_kernel.tools._remote_paths import find_paths

__all__ = ("FarCall", "StoppedError", "serve")

_CHECK_FLAGS = os.O_RDONLY | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_NONBLOCK", 0)


class StoppedError(Exception):
    """Nobody waits for the call any more."""


class FarCall:
    """One call of the near end, while it is answered here in a thread of its own."""

    def __init__(self, server: _Server, message: dict[str, Any]) -> None:
        self.is_stopped = False
        self.data = bytearray()
        self._server = server
        self._id: int = message["id"]
        self._operation: str = message["op"]
        self._arguments: list[Any] = message["args"]
        self._expected_bytes: int = message["size"]
        self._credit_parts = WINDOW_PARTS
        self._changed = threading.Condition()
        self._stop: Callable[[], None] | None = None

    @property
    def is_complete(self) -> bool:
        """Whether all data that belongs to the call has come."""
        return len(self.data) >= self._expected_bytes

    def run(self) -> None:
        """Answer the call."""
        try:
            result = OPERATIONS[self._operation](self, *self._arguments)
            answer = {"id": self._id, "result": result}
        except BaseException as error:  # noqa: BLE001 - the near end raises it
            answer = {"id": self._id, "error": _describe(error)}
        self._server.finish(self._id, answer)

    def check_stop(self) -> None:
        """Raise when nobody waits any more."""
        if self.is_stopped:
            raise StoppedError("stopped")

    def on_stop(self, callback: Callable[[], None]) -> None:
        """Have the callback called when the near end asks to stop; at once if it has."""
        with self._changed:
            self._stop = callback
            is_late = self.is_stopped
        if is_late:
            callback()

    def stop(self) -> None:
        """Note that the near end asks to stop."""
        with self._changed:
            self.is_stopped = True
            self._changed.notify_all()
            callback = self._stop
        if callback is not None:
            callback()

    def grant(self, parts: int) -> None:
        """Note that the near end has taken some parts."""
        with self._changed:
            self._credit_parts += parts
            self._changed.notify_all()

    def send_part(self, data: bytes, *, deadline: float | None = None) -> None:
        """Send data, once the near end has taken most of what came before.

        After a stop, and when the deadline comes first, the data is dropped.
        """
        with self._changed:
            while self._credit_parts <= 0 and not self.is_stopped:
                left = None if deadline is None else deadline - time.monotonic()
                if left is not None and left <= 0:
                    return
                self._changed.wait(left)
            if self.is_stopped:
                return
            self._credit_parts -= 1
        self._server.send({"id": self._id, "part": True}, data)


class _Server:
    """Reads calls from one stream and writes answers to another."""

    def __init__(self, source: IO[bytes], sink: int) -> None:
        self._source = source
        self._sink = sink
        self._lock = threading.Lock()
        self._calls: dict[int, FarCall] = {}

    def run(self) -> None:
        hello = {"python": platform.python_version(), "home": os.path.expanduser("~")}  # noqa: PTH111
        self.send({"hello": hello})
        while True:
            frame = read_frame(self._source)
            if frame is None:
                return
            self._take(*frame)

    def _take(self, message: dict[str, Any], data: bytes) -> None:
        call_id: int = message["id"]
        if "op" in message:
            call = self._calls[call_id] = FarCall(self, message)
        elif call_id in self._calls:
            call = self._calls[call_id]
        else:  # it has ended meanwhile
            return
        if "more" in message:
            call.grant(message["more"])
        elif "stop" in message:
            if call.is_complete:
                call.stop()
            else:  # its data will never come
                del self._calls[call_id]
        else:
            call.data += data
            if call.is_complete:
                self._start(call_id, call)

    def _start(self, call_id: int, call: FarCall) -> None:
        try:
            threading.Thread(target=call.run, daemon=True).start()
        except RuntimeError as error:
            self.finish(call_id, {"id": call_id, "error": _describe(error)})

    def finish(self, call_id: int, answer: dict[str, Any]) -> None:
        self._calls.pop(call_id, None)
        self.send(answer)

    def send(self, message: dict[str, Any], data: bytes = b"") -> None:
        rest = memoryview(pack_frame(message, data))
        with self._lock:
            try:
                while rest:
                    rest = rest[os.write(self._sink, rest) :]
            except OSError:  # the near end is gone, and with it the reason to be here
                os._exit(1)


def serve() -> None:
    """Answer calls on the standard streams until the input ends; never returns."""
    start_guarded()
    os.chdir("/")  # no folder is kept from being unmounted
    try:
        with open(0, "rb", closefd=False) as source:
            _Server(source, 1).run()
    finally:
        children.kill_groups()
        os._exit(0)  # the keeper kills what still runs


def _describe(error: BaseException) -> dict[str, Any]:
    """Return what the near end needs to raise the same error."""
    if isinstance(error, FileError):
        return {"code": error.code, "message": error.message, "path": error.filename}
    if isinstance(error, OSError):
        code = error_code(error)
        return {"code": code, "strerror": error.strerror or "", "path": _text(error.filename)}
    return {"message": str(error) or type(error).__name__}


def _text(path: object) -> str | None:
    return os.fsdecode(path) if isinstance(path, (str, bytes)) else None


# -- operations: each takes its call and what the near end sent along --------------------------


def _access(_call: FarCall, path: str) -> None:
    with wording("access", path):
        if kind := special_file_kind(os.stat(path).st_mode):
            raise SpecialFileError(f"Cannot read {path}: it is {kind}, not a regular file")
        os.close(os.open(path, _CHECK_FLAGS))


def _read_file(call: FarCall, path: str) -> None:
    with open_local_file(path, shown=path, check_stop=call.check_stop) as file:
        for block in file.blocks():
            for start in range(0, len(block), PART_BYTES):
                call.send_part(block[start : start + PART_BYTES])


def _write_file(call: FarCall, path: str) -> None:
    write_atomically(path, bytes(call.data), before_change=call.check_stop)


def _make_folders(_call: FarCall, path: str) -> None:
    make_directories(path)


def _check_editable(_call: FarCall, path: str) -> None:
    check_editable(path)


def _check_writable(_call: FarCall, path: str) -> None:
    check_writable(path)


def _exists(_call: FarCall, path: str) -> bool:
    return os.path.exists(path)


def _mode(_call: FarCall, path: str) -> int:
    return os.stat(path).st_mode


def _list_folder(call: FarCall, path: str) -> list[tuple[str, int | None]]:
    """Return the names and modes of a folder's entries; None for a link to nowhere."""
    entries: list[tuple[str, int | None]] = []
    with os.scandir(path) as found:
        for entry in found:
            call.check_stop()
            mode: int | None = None
            try:
                # The kind is all that is wanted, and mostly known without another look.
                if entry.is_symlink():
                    mode = entry.stat().st_mode
                else:
                    mode = stat.S_IFDIR if entry.is_dir() else stat.S_IFREG
            except OSError:
                mode = None
            entries.append((entry.name, mode))
    return entries


def _glob(call: FarCall, folder: str, query: dict[str, Any]) -> list[tuple[str, bool]]:
    if not os.path.isdir(folder):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
    return find_paths(folder, query, check_stop=call.check_stop)


OPERATIONS: dict[str, Callable[..., Any]] = {
    "access": _access,
    "check_editable": _check_editable,
    "check_writable": _check_writable,
    "exec": run_command,
    "exists": _exists,
    "glob": _glob,
    "list": _list_folder,
    "mkdir": _make_folders,
    "mode": _mode,
    "read_file": _read_file,
    "write_file": _write_file,
}
"""By the name that the near end uses."""
