"""The same tools on another machine: whatever starts a Python interpreter there is enough.

::

    there = SubprocessOperations(["ssh", "host", "python3", "-"])   # or docker exec -i, bwrap, ...
    tools = create_remote_tools("~/project", there)                 # a dict, by name
    session = ToolSession(tools=tools.values())
    ...
    await there.close()                                             # nothing stays behind there

Nothing has to be installed there but Python 3.8 or newer: a small server is sent as text and runs
from memory. All tools share one connection and many calls run at once; a connection that was lost
is made anew by the next call. read, bash, edit, write, find and ls give what they give locally:
files are replaced as a whole, commands stream their output and are killed with all their children
when a call is aborted, when its time is over, and when the connection ends. Of this process's
environment commands get nothing but what was set for the tool. find heeds ignore files where Python
3.11 runs. grep is not among the tools: its operations only tell files from folders, the search
itself is local; search there with bash. The file with a long output of bash is on this machine.
"""

from __future__ import annotations

import asyncio  # futures that the connection's threads settle
import contextlib
import contextvars
import os
import stat
import threading
import weakref
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self, cast

import anyio
import anyio.to_thread

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import well_formed
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._factories import create_tool_definition
from pi_kernel.tools._js_text import trim_end
from pi_kernel.tools._process import CommandAbortedError, CommandTimeoutError
from pi_kernel.tools._remote_link import Connection, PendingCall
from pi_kernel.tools._remote_tool import starts_at_home, tool_elsewhere
from pi_kernel.tools._search.globs import GlobError, parse_glob
from pi_kernel.tools._search.path_pattern import read_path_pattern
from pi_kernel.tools._shell_env import SESSION_VARIABLES, shell_environment

__all__ = ("REMOTE_TOOLS", "RemoteStatus", "SubprocessOperations", "create_remote_tools")

REMOTE_TOOLS = ("read", "bash", "edit", "write", "find", "ls")
STOP_SECONDS = 5.0
"""How long a command that was asked to stop may take to end before nobody waits any more."""
LATE_SECONDS = 10.0
"""How much later than its deadline a command may end: the way there and back, and the kill."""

_listing: contextvars.ContextVar[dict[str, int | None] | None] = contextvars.ContextVar(
    "pi_kernel_remote_listing", default=None
)
"""The modes that came with the names of the folder that the running call has just listed: ls asks
for one after the other, and each would be a way there and back."""


@dataclass(frozen=True)
class RemoteStatus:
    """What ``stat`` tells of a file there: its kind."""

    st_mode: int


class SubprocessOperations:
    """The operations of all tools, carried out by an interpreter that a command starts.

    The command is started by the first call. Calls may come from any event loop.

    Args:
        command: Program and arguments, not a shell's line, that run Python with its input coming
            from here: ``["ssh", "host", "python3", "-"]``, ``["docker", "exec", "-i", "box",
            "python3", "-"]``. The ``-`` may be left out.

    Raises:
        PiKernelError: If the command is empty or one text.

    Source:
        Ours.
    """

    def __init__(self, command: Sequence[str]) -> None:
        if isinstance(command, str) or not command:
            raise PiKernelError("the command must be a list of a program and its arguments")
        self._link = _Link(tuple(command))
        self._finalizer = weakref.finalize(self, self._link.close, is_waited_for=False)

    def close_now(self) -> None:
        """End the connection and everything that runs there; blocks for seconds at most.

        Calls that are under way fail; so do later ones. Closing twice is fine.
        """
        self._link.close(is_waited_for=True)

    async def close(self) -> None:
        """Do what `close_now` does without blocking the event loop."""
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.close_now)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    # -- files ---------------------------------------------------------------------------------

    async def access(self, path: str) -> None:
        """Raise unless the file can be read; what read asks."""
        await self._call("access", path)

    async def check_editable(self, path: str) -> None:
        """Raise unless the file can be read and written; what edit asks as ``access``."""
        await self._call("check_editable", path)

    async def check_writable(self, path: str) -> None:
        """Raise unless a file can be put there; what a preview of write asks."""
        await self._call("check_writable", path)

    async def read_file(self, path: str) -> bytes:
        """Return the content of a file."""
        parts: list[bytes] = []

        def take(call: PendingCall, part: bytes) -> None:
            parts.append(part)
            call.acknowledge()

        await _answer(self._link.connection().call("read_file", path, on_part=take))
        return b"".join(parts)

    async def create_read_stream(self, path: str) -> AsyncGenerator[bytes, None]:
        """Yield the content of a file, no faster than it is taken."""
        loop = asyncio.get_running_loop()
        parts: asyncio.Queue[bytes | None] = asyncio.Queue()

        def put(part: bytes | None) -> None:
            with contextlib.suppress(RuntimeError):  # the loop was closed under the reader
                loop.call_soon_threadsafe(parts.put_nowait, part)

        call = self._link.connection().call("read_file", path, on_part=lambda _, part: put(part))
        call.future.add_done_callback(lambda _: put(None))
        try:
            while (part := await parts.get()) is not None:
                yield part
                call.acknowledge()
            call.future.result()
        finally:
            if not call.future.done():
                call.stop()

    async def write_file(self, path: str, content: str | bytes) -> None:
        """Replace the content of a file as a whole; text as UTF-8."""
        data = well_formed(content).encode() if isinstance(content, str) else bytes(content)
        await _answer(self._link.connection().call("write_file", path, data=data))

    async def mkdir(self, path: str) -> None:
        """Make a folder and its missing parents."""
        await self._call("mkdir", path)

    async def exists(self, path: str) -> bool:
        """Whether there is something."""
        return bool(await self._call("exists", path))

    async def is_directory(self, path: str) -> bool:
        """Whether there is a folder; raises when there is nothing."""
        return stat.S_ISDIR(await self._call("mode", path))

    async def stat(self, path: str) -> RemoteStatus:
        """Return the kind of what is there."""
        known = _listing.get()
        if known is not None and path in known:
            mode = known.pop(path)
            if mode is None:
                raise FileNotFoundError(path)
            return RemoteStatus(mode)
        return RemoteStatus(await self._call("mode", path))

    async def readdir(self, path: str) -> list[str]:
        """Return the names in a folder."""
        entries: list[tuple[str, int | None]] = await self._call("list", path)
        _listing.set({os.path.join(path, name): mode for name, mode in entries})  # noqa: PTH118 - as ls does
        return [name for name, _ in entries]

    async def glob(self, pattern: str, cwd: str, *, ignore: Iterable[str], limit: int) -> list[str]:
        """Return the first paths below a folder that match, folders with ``/`` at the end.

        Args:
            pattern: As find takes it.
            cwd: The folder.
            ignore: Globs of what is left out.
            limit: The most paths to return.
        """
        try:
            wanted = read_path_pattern(pattern, os.fsencode(cwd))
            leave_out = [(text, parse_glob(text).pattern().decode("latin-1")) for text in ignore]
        except GlobError as error:
            raise ValueError(f"[fd error]: {error}") from error
        query = {
            "pattern": pattern,
            "regex": wanted.glob.pattern().decode("latin-1"),
            "is_quick": wanted.glob.is_quick,
            "ignore_case": wanted.ignore_case,
            "by_name": wanted.by_name,
            "prefix": os.fsdecode(wanted.prefix),
            "leave_out": leave_out,
            "limit": limit,
        }
        try:
            found: list[tuple[str, bool]] = await self._call("glob", cwd, query)
        except NotADirectoryError:
            raise NotADirectoryError(
                f"[fd error]: Search path '{cwd}' is not a directory.\n"
                "[fd error]: No valid search paths given."
            ) from None
        return [_row(path, is_folder=is_folder) for path, is_folder in found]

    # -- commands ------------------------------------------------------------------------------

    async def exec(  # noqa: PLR0913 - the shape of ShellOperations.exec
        self,
        command: str,
        cwd: str,
        *,
        on_data: Callable[[bytes], Any],
        signal: AbortSignal | None,
        timeout: float | None,  # noqa: ASYNC109 - the command's, not the task's
        env: Mapping[str, str],
    ) -> int:
        """Run one command of bash, as `ShellOperations.exec` says.

        The environment is the one there, changed as ``env`` differs from what the tool makes of
        this process's: neither its paths nor its secrets are that machine's business.
        """
        if signal is not None and signal.aborted:
            raise CommandAbortedError

        def take(call: PendingCall, part: bytes) -> None:
            call.acknowledge()
            on_data(part)

        query = {"command": command, "cwd": cwd, "timeout": timeout, **_changes_of(env)}
        call = self._link.connection().call("exec", query, on_part=take)
        unsubscribe = signal.subscribe(lambda: _stop(call)) if signal is not None else None
        try:
            ending = await _ending(call, timeout)
        finally:
            if unsubscribe is not None:
                unsubscribe()
        if signal is not None and signal.aborted:
            raise CommandAbortedError
        if isinstance(ending, Exception):
            raise ending
        if "timeout" in ending and timeout is not None:
            raise CommandTimeoutError(
                timeout, exit_code=ending["exit"], exit_after_seconds=ending["after"]
            )
        return cast("int", ending["exit"])

    # -- the connection ------------------------------------------------------------------------

    async def home(self) -> str:
        """Return the home directory there."""
        facts = asyncio.wrap_future(self._link.connection().facts)
        # Shielded, because others wait for the same facts.
        return cast("str", (await asyncio.shield(facts))["home"])

    async def _call(self, operation: str, *arguments: object) -> Any:
        return await _answer(self._link.connection().call(operation, *arguments))


def create_remote_tools(
    cwd: str,
    command: Sequence[str] | SubprocessOperations,
    **per_tool_options: Mapping[str, Any],
) -> dict[str, ToolDefinition]:
    """Return read, bash, edit, write, find and ls of another machine, by name.

    Args:
        cwd: What relative paths refer to there, whatever the session's own directory is: absolute,
            or ``~`` with or without more.
        command: What starts Python there, or operations that are shared with other tools. Pass
            operations to be able to close them; else the connection ends with the tools or with
            this process.
        per_tool_options: For a tool's name its options, such as ``bash={"command_prefix": "..."}``.

    Raises:
        PiKernelError: If the directory is relative, or a tool or an option is unknown.

    Source:
        Ours.
    """
    if not cwd.startswith("/") and not starts_at_home(cwd):
        raise PiKernelError(f"the directory there must be absolute or start with ~, not {cwd!r}")
    there = command if isinstance(command, SubprocessOperations) else SubprocessOperations(command)
    for name in per_tool_options:
        if name not in REMOTE_TOOLS:
            listed = ", ".join(REMOTE_TOOLS)
            raise PiKernelError(f"options for {name} are given, but the tools there are {listed}")
    editing = {
        "access": there.check_editable,
        "read_file": there.read_file,
        "write_file": there.write_file,
    }
    tools: dict[str, ToolDefinition] = {}
    for name in REMOTE_TOOLS:
        definition = create_tool_definition(
            name,
            operations=editing if name == "edit" else there,
            **per_tool_options.get(name, {}),
        )
        tools[name] = tool_elsewhere(definition, cwd, home=there.home)
    return tools


class _Link:
    """The current connection; a lost one is replaced when it is needed."""

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._is_closed = False

    def connection(self) -> Connection:
        with self._lock:
            if self._is_closed:
                raise PiKernelError("The connection was closed")
            if self._connection is None or not self._connection.is_usable:
                self._connection = Connection(self._command)
            return self._connection

    def close(self, *, is_waited_for: bool) -> None:
        with self._lock:
            self._is_closed = True
            connection = self._connection
        if connection is not None:
            connection.close(is_waited_for=is_waited_for)


async def _answer(call: PendingCall) -> Any:
    """Await the far end's answer; when the task is cancelled the call is given up there."""
    try:
        return await asyncio.wrap_future(call.future)
    except asyncio.CancelledError:
        call.stop()
        raise


async def _ending(call: PendingCall, timeout: float | None) -> dict[str, Any] | Exception:  # noqa: ASYNC109 - the command's
    """Await the end of a command, whichever way it comes; a cancelled one is killed first."""
    waiter = asyncio.wrap_future(call.future)
    waiter.add_done_callback(lambda w: w.cancelled() or w.exception())  # nobody else may read it
    limit = None if timeout is None else timeout + LATE_SECONDS
    try:
        await asyncio.wait((waiter,), timeout=limit)
    except asyncio.CancelledError:
        _stop(call)
        with anyio.CancelScope(shield=True):
            while not waiter.done():  # seconds at most, however often we are cancelled
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.wait((waiter,))
        raise
    if not waiter.done():
        call.stop()
        return {"timeout": True, "exit": None, "after": None}
    error = waiter.exception()
    return waiter.result() if error is None else cast("Exception", error)


def _stop(call: PendingCall) -> None:
    """Ask a command to stop, and stop waiting when it does not end: the way there may be cut."""
    call.stop()
    timer = threading.Timer(STOP_SECONDS, call.fail, args=(CommandAbortedError(),))
    timer.daemon = True
    timer.start()
    call.future.add_done_callback(lambda _: timer.cancel())


def _changes_of(env: Mapping[str, str]) -> dict[str, Any]:
    """Return what was set for the tool, and what was taken away."""
    usual = shell_environment(None, expose_session=False)
    return {
        "variables": {name: value for name, value in env.items() if usual.get(name) != value},
        "removed": [*SESSION_VARIABLES, *(name for name in usual if name not in env)],
    }


def _row(path: str, *, is_folder: bool) -> str:
    """Return a path as find shows it."""
    text = os.fsencode(path).decode("utf-8", "replace")
    # The reference trims fd's lines; in a folder's line the slash comes after the blanks.
    return f"{text}/" if is_folder else trim_end(text) or text
