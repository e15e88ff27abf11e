"""The find tool: paths by glob, ignore files honoured.

The walk and the globs are our own and give fd's results, so that no program has to be there. The
rows are sorted by path, component by component, and a limited search gives the first ones.
"""
# A path stays the text that messages show; Path would normalise it its own way.
# ruff: noqa: PTH112

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable
from typing import Any

import anyio.to_thread

from pi_kernel.protocol.json import well_formed
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ToolAnnotations
from pi_kernel.registry.definition import OnUpdate, ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._js_text import trim_end
from pi_kernel.tools._numbers import format_number, to_double
from pi_kernel.tools._operations import check_operations, find_operation, perform
from pi_kernel.tools._paths import resolve_to_cwd, working_directory
from pi_kernel.tools._search.files import fd_files
from pi_kernel.tools._search.globs import GlobError, parse_glob
from pi_kernel.tools._search.job import run_job
from pi_kernel.tools._search.walk import EntryKind, walk
from pi_kernel.tools._threads import until_aborted
from pi_kernel.tools._truncate import DEFAULT_MAX_BYTES, NO_LINE_LIMIT, format_size, truncate_head

__all__ = ("create",)

DEFAULT_LIMIT = 1000
IGNORED_REMOTELY = ("**/node_modules/**", "**/.git/**")
"""What the operation ``glob`` is asked to leave out."""
NOTHING_FOUND = "No files found matching pattern"

DESCRIPTION = (
    "Find files and folders by glob. Gives one path a line, sorted, relative to the search"
    " directory, folders with a / at the end. Respects .gitignore and finds hidden files. Shows at"
    f" most {DEFAULT_LIMIT} results or {format_size(DEFAULT_MAX_BYTES)}, whichever comes first."
)
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {
            "type": "string",
            "description": (
                "Glob relative to the search directory, such as '*.py', 'src/**/*.test.ts' or"
                " '*.{yml,yaml}'. Without / it matches names at any depth. All in lower case it"
                " ignores case."
            ),
        },
        "path": {
            "type": "string",
            "description": "Directory to search (default: the working directory)",
        },
        "limit": {
            "type": "number",
            "description": f"The most results to show (default: {DEFAULT_LIMIT})",
        },
    },
    "required": ["pattern"],
}


def create(
    cwd: str | os.PathLike[str] | None = None, *, operations: object | None = None
) -> ToolDefinition:
    """Return the ``find`` tool.

    Args:
        cwd: What relative paths refer to; None: the process's directory at each call. A context's
            own cwd wins.
        operations: I/O in place of the local directories: ``exists(path) -> bool`` and
            ``glob(pattern, cwd, *, ignore, limit)``, which gives at most ``limit`` paths below
            ``cwd``, absolute or relative to it, without what the globs in ``ignore`` match.

    Raises:
        PiKernelError: If an operation is missing.

    Source:
        Pi 1.6.0, ``createFindToolDefinition``; fd 10.2.0.
    """
    if operations is not None:
        check_operations(operations, "exists", "glob", tool_name="find")

    async def execute(
        tool_call_id: str,
        params: dict[str, Any],
        signal: AbortSignal | None = None,
        on_update: OnUpdate | None = None,
        ctx: object = None,
    ) -> ToolResult:
        del tool_call_id, on_update
        if signal is not None:
            signal.throw_if_aborted()
        folder = resolve_to_cwd(params.get("path") or ".", working_directory(ctx, cwd))
        asked = to_double(params.get("limit", DEFAULT_LIMIT))
        limit = max(1, math.floor(asked)) if math.isfinite(asked) else NO_LINE_LIMIT
        pattern = well_formed(params["pattern"])
        if operations is None:
            rows = await run_job(lambda stop: _local_rows(pattern, folder, limit, stop), signal)
        else:
            rows = await until_aborted(
                lambda: _remote_rows(operations, pattern, folder, limit), signal
            )
        return _result(rows, limit, has_advice=operations is None)

    return ToolDefinition(
        name="find",
        description=DESCRIPTION,
        parameters=PARAMETERS,
        execute=execute,
        prompt_snippet="Find files by glob (respects .gitignore)",
        annotations=ToolAnnotations(read_only_hint=True),
        is_read_only=lambda _: True,
        is_destructive=lambda _: False,
        activity=lambda params: f"Finding {params.get('pattern') or 'everything'}",
    )


def _local_rows(pattern: str, folder: str, limit: int, stop: AbortSignal) -> list[str]:
    """Return one row more than the limit at most."""
    if not os.path.isdir(folder):
        raise NotADirectoryError(
            f"[fd error]: Search path '{folder}' is not a directory.\n"
            "[fd error]: No valid search paths given."
        )
    try:
        matches = _matcher(pattern, os.fsencode(folder))
    except GlobError as error:
        raise ValueError(f"[fd error]: {error}") from error
    start = os.fsencode(folder)
    rows: list[str] = []
    for relative, kind in walk(start, fd_files(start)):
        stop.throw_if_aborted()
        if matches(relative):
            rows.append(_row(relative, is_folder=kind is EntryKind.FOLDER))
            if len(rows) > limit:
                break
    return rows


def _matcher(pattern: str, folder: bytes) -> Callable[[bytes], object]:
    """Return the test of a path below the folder.

    Raises:
        GlobError: If the pattern is not a valid glob.
    """
    while pattern.startswith("./"):
        pattern = pattern.removeprefix("./")
    if "/" not in pattern:
        glob = parse_glob(pattern or "**", skip_unopened_brace=True)
        by_name = glob.compile(ignore_case=not glob.has_uppercase).fullmatch
        return lambda relative: by_name(relative.rpartition(b"/")[2])
    # fd matches whole paths: a pattern that is not absolute comes after the folder's own path. Any
    # folder does here; without one `**/` at the start would mean something else.
    prefix = "" if pattern.startswith("/") else "./"
    try:
        glob = parse_glob(prefix + pattern, skip_unopened_brace=True)
    except GlobError as error:
        raise GlobError(pattern, error.reason) from error
    by_path = glob.compile(ignore_case=not glob.has_uppercase).fullmatch
    parent = prefix.encode() or folder.rstrip(b"/") + b"/"
    return lambda relative: by_path(parent + relative)


def _row(relative: bytes, *, is_folder: bool) -> str:
    text = relative.decode("utf-8", "replace")
    # The reference trims fd's lines; in a folder's line the slash comes after the blanks.
    return f"{text}/" if is_folder else trim_end(text) or text


async def _remote_rows(operations: object, pattern: str, folder: str, limit: int) -> list[str]:
    if not await perform(operations, "exists", folder, syscall="access"):
        raise FileNotFoundError(f"Path not found: {folder}")
    glob = find_operation(operations, "glob")
    assert glob is not None  # noqa: S101 - create checked it
    found = await anyio.to_thread.run_sync(
        lambda: glob(pattern, folder, ignore=list(IGNORED_REMOTELY), limit=limit + 1)
    )
    if inspect.isawaitable(found):
        found = await found
    return sorted((_relative(path, folder) for path in found), key=lambda row: row.split("/"))


def _relative(path: str, folder: str) -> str:
    if not path.startswith("/"):
        return path
    tail = "/" if path.endswith("/") else ""
    return os.path.relpath(path, folder) + tail


def _result(rows: list[str], limit: int, *, has_advice: bool) -> ToolResult:
    if not rows:
        return ToolResult(NOTHING_FOUND)
    cut = truncate_head(well_formed("\n".join(rows[:limit])), max_lines=NO_LINE_LIMIT)
    notices: list[str] = []
    details: dict[str, Any] = {}
    if len(rows) > limit:
        more = format_number(to_double(limit) * 2)
        advice = f". Use limit={more} for more, or refine pattern" if has_advice else ""
        notices.append(f"{limit} results limit reached{advice}")
        details["resultLimitReached"] = limit
    if cut.truncated:
        notices.append(f"{format_size(DEFAULT_MAX_BYTES)} limit reached")
        details["truncation"] = cut.to_wire()
    notice = f"\n\n[{'. '.join(notices)}]" if notices else ""
    return ToolResult(cut.content + notice, details=details or None)
