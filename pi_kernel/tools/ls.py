"""The ``ls`` tool: the entries of a directory."""
# Names stay texts, so that messages show them as they were given.
# ruff: noqa: PTH116, PTH118

from __future__ import annotations

import math
import os
import stat
from dataclasses import dataclass
from itertools import islice
from typing import Any

from pi_kernel.protocol.json import well_formed
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ToolAnnotations
from pi_kernel.registry.definition import OnUpdate, ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._collation import sort_names
from pi_kernel.tools._numbers import format_number, to_double
from pi_kernel.tools._operations import check_operations, perform
from pi_kernel.tools._os_errors import node_message
from pi_kernel.tools._paths import resolve_to_cwd, working_directory
from pi_kernel.tools._threads import StopCheck, run_abortable, until_aborted
from pi_kernel.tools._truncate import (
    DEFAULT_MAX_BYTES,
    NO_LINE_LIMIT,
    format_size,
    truncate_head,
)

__all__ = ("create",)

DEFAULT_ENTRY_LIMIT = 500
ENTRIES_PER_CHECK = 256

DESCRIPTION = (
    "List a directory, dotfiles included, sorted by name; directories end in /. Cut after"
    f" {DEFAULT_ENTRY_LIMIT} entries or {DEFAULT_MAX_BYTES // 1024}KB, whichever comes first."
)

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The directory; default the cwd"},
        "limit": {
            "type": "number",
            "description": f"List at most this many entries; default {DEFAULT_ENTRY_LIMIT}",
        },
    },
}


@dataclass(frozen=True)
class _Listing:
    """The rows to show, and whether there were more entries."""

    rows: list[str]
    is_cut: bool


def create(cwd: str | None = None, *, operations: object | None = None) -> ToolDefinition:
    """Return the ``ls`` tool.

    Args:
        cwd: What relative paths refer to; None: the process's directory at each call. A context's
            own cwd wins.
        operations: I/O in place of the local directories: ``exists(path) -> bool``,
            ``readdir(path)``, the names, and ``stat(path)``, which tells whether it is a directory
            by ``is_directory()``, ``is_dir()`` or ``st_mode``.

    Raises:
        PiKernelError: If an operation is missing.

    Source:
        Pi 1.6.0, ``createLsToolDefinition``.
    """
    if operations is not None:
        check_operations(operations, "exists", "stat", "readdir", tool_name="ls")

    async def execute(
        tool_call_id: str,
        params: dict[str, Any],
        signal: AbortSignal | None = None,
        on_update: OnUpdate | None = None,
        ctx: object = None,
    ) -> ToolResult:
        del tool_call_id, on_update
        path = resolve_to_cwd(params.get("path") or ".", working_directory(ctx, cwd))
        asked = to_double(params.get("limit", DEFAULT_ENTRY_LIMIT))
        limit = max(1, math.floor(asked)) if math.isfinite(asked) else NO_LINE_LIMIT
        if operations is None:
            listing = await run_abortable(
                lambda check_stop: _list_local(path, limit, check_stop), signal
            )
        else:
            listing = await until_aborted(lambda: _list_remote(operations, path, limit), signal)
        return _result(listing, limit)

    return ToolDefinition(
        name="ls",
        description=DESCRIPTION,
        parameters=PARAMETERS,
        prompt_snippet="List a directory",
        annotations=ToolAnnotations(read_only_hint=True),
        is_read_only=lambda _: True,
        is_destructive=lambda _: False,
        activity=lambda params: f"Listing {params.get('path') or '.'}",
        execute=execute,
    )


def _list_local(path: str, limit: int, check_stop: StopCheck) -> _Listing:
    """List in the calling thread."""
    try:
        is_directory = stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, ValueError):  # ValueError: a NUL character
        raise FileNotFoundError(f"Path not found: {path}") from None
    if not is_directory:
        raise NotADirectoryError(f"Not a directory: {path}")
    entries: dict[str, os.DirEntry[str]] = {}
    try:
        with os.scandir(path) as found:
            while block := list(islice(found, ENTRIES_PER_CHECK)):
                entries.update((entry.name, entry) for entry in block)
                check_stop()
    except OSError as error:
        raise OSError(f"Cannot read directory: {node_message(error, 'scandir', path)}") from error

    rows: list[str] = []
    for number, name in enumerate(sort_names(entries)):
        if len(rows) >= limit:
            return _Listing(rows, is_cut=True)
        if number % ENTRIES_PER_CHECK == 0:
            check_stop()
        suffix = _suffix(entries[name])
        if suffix is not None:
            rows.append(name + suffix)
    return _Listing(rows, is_cut=False)


def _suffix(entry: os.DirEntry[str]) -> str | None:
    """Return the slash of a directory or of a link to one; None for links to nowhere."""
    try:
        is_directory = entry.is_dir()
        if not is_directory and entry.is_symlink():
            entry.stat()
    except OSError:
        return None
    return "/" if is_directory else ""


async def _list_remote(operations: object, path: str, limit: int) -> _Listing:
    if not await perform(operations, "exists", path, syscall="access"):
        raise FileNotFoundError(f"Path not found: {path}")
    if not _is_directory(await perform(operations, "stat", path, syscall="stat")):
        raise NotADirectoryError(f"Not a directory: {path}")
    try:
        names = list(await perform(operations, "readdir", path, syscall="scandir"))
    except Exception as error:
        raise OSError(f"Cannot read directory: {error}") from error
    rows: list[str] = []
    for name in sort_names(names):
        if len(rows) >= limit:
            return _Listing(rows, is_cut=True)
        try:
            status = await perform(operations, "stat", os.path.join(path, name), syscall="stat")
        except Exception:  # noqa: BLE001, S112 - an entry that cannot be looked at is left out
            continue
        rows.append(f"{name}/" if _is_directory(status) else name)
    return _Listing(rows, is_cut=False)


def _is_directory(status: object) -> bool:
    """Read what the ``stat`` operation gave, in any of the usual shapes."""
    mode = getattr(status, "st_mode", None)
    if isinstance(mode, int):
        return stat.S_ISDIR(mode)
    for name in ("is_directory", "is_dir"):
        answer = getattr(status, name, None)
        if answer is not None:
            return bool(answer() if callable(answer) else answer)
    return False


def _result(listing: _Listing, limit: int) -> ToolResult:
    if not listing.rows:
        return ToolResult("(empty directory)")
    details: dict[str, Any] = {}
    notices: list[str] = []
    if listing.is_cut:
        more = format_number(to_double(limit) * 2)
        notices.append(f"{limit} entries limit reached. Use limit={more} for more")
        details["entryLimitReached"] = limit
    text = truncate_head(well_formed("\n".join(listing.rows)), max_lines=NO_LINE_LIMIT)
    if text.truncated:
        notices.append(f"{format_size(DEFAULT_MAX_BYTES)} limit reached")
        details["truncation"] = text.to_wire()
    content = text.content
    if notices:
        content += f"\n\n[{'. '.join(notices)}]"
    return ToolResult(content, details=details or None)
