"""The grep tool: lines that match a pattern, with path and line number.

ripgrep searches where it is installed, Python elsewhere; both give the same rows. Which one it is
is not part of a result: `engine_of` tells.
"""
# A path stays the text that messages show; Path would normalise it its own way.
# ruff: noqa: PTH116, PTH119, PTH120

from __future__ import annotations

import math
import os
import stat
from collections.abc import Iterator
from typing import Any, Literal

from pi_kernel.errors import PiKernelError, ToolAborted
from pi_kernel.protocol.json import well_formed
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ToolAnnotations
from pi_kernel.registry.definition import OnUpdate, ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._atomic import SpecialFileError, special_file_kind
from pi_kernel.tools._numbers import format_number, to_double
from pi_kernel.tools._operations import check_operations, perform
from pi_kernel.tools._paths import resolve_to_cwd, working_directory
from pi_kernel.tools._search.fallback import search_with_python
from pi_kernel.tools._search.job import run_job
from pi_kernel.tools._search.plain_file import open_plain
from pi_kernel.tools._search.program import Found
from pi_kernel.tools._search.query import Query
from pi_kernel.tools._search.ripgrep import find_ripgrep, search_with_ripgrep
from pi_kernel.tools._search.rows import FileRows
from pi_kernel.tools._threads import until_aborted
from pi_kernel.tools._truncate import (
    DEFAULT_MAX_BYTES,
    GREP_MAX_LINE_LENGTH,
    NO_LINE_LIMIT,
    Truncation,
    format_size,
    head_of,
    truncate_line,
)

__all__ = ("Engine", "create", "engine_of")

Engine = Literal["auto", "ripgrep", "python"]

DEFAULT_LIMIT = 100
NOTHING_FOUND = "No matches found"
UTF_8_MARK = b"\xef\xbb\xbf"
UTF_16_MARKS = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}
SHORT_LINE_CHARS = GREP_MAX_LINE_LENGTH // 2
"""A line of so many characters is within the limit, whatever they are."""

LOCAL_OPERATIONS = {"is_directory": lambda path: stat.S_ISDIR(os.stat(path).st_mode)}

DESCRIPTION = (
    "Search the contents of files for a pattern. Gives the matching lines with path and line"
    " number. Respects .gitignore and searches hidden files. Shows at most"
    f" {DEFAULT_LIMIT} matches or {format_size(DEFAULT_MAX_BYTES)}, whichever comes first; long"
    f" lines are cut to {GREP_MAX_LINE_LENGTH} characters."
)
PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "pattern": {"type": "string", "description": "Regular expression, or literal text"},
        "path": {
            "type": "string",
            "description": "Directory or file to search (default: the working directory)",
        },
        "glob": {
            "type": "string",
            "description": (
                "Which files to search, relative to path, such as '*.py' or 'src/**/*.ts'. Without"
                " / it matches names at any depth; ! at the start leaves files out."
            ),
        },
        "ignoreCase": {"type": "boolean", "description": "Ignore case (default: false)"},
        "literal": {
            "type": "boolean",
            "description": "Take the pattern as text, not as a regular expression (default: false)",
        },
        "context": {
            "type": "number",
            "description": "Lines to show before and after each match (default: 0)",
        },
        "limit": {
            "type": "number",
            "description": f"The most matches to show (default: {DEFAULT_LIMIT})",
        },
    },
    "required": ["pattern"],
}


def create(
    cwd: str | os.PathLike[str] | None = None,
    *,
    operations: object | None = None,
    engine: Engine = "auto",
) -> ToolDefinition:
    """Return the ``grep`` tool.

    Args:
        cwd: What relative paths refer to; None: the process's directory at each call. A context's
            own cwd wins.
        operations: I/O in place of the local directories: ``is_directory(path) -> bool``, which
            raises when there is nothing.
        engine: What searches; by default ripgrep where it is installed.

    Raises:
        PiKernelError: If the operation is missing.

    Source:
        Pi 1.6.0, ``createGrepToolDefinition``; ripgrep 15.2.0.
    """
    if operations is not None:
        check_operations(operations, "is_directory", tool_name="grep")
    files = operations if operations is not None else LOCAL_OPERATIONS

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
        path = resolve_to_cwd(params.get("path") or ".", working_directory(ctx, cwd))
        try:
            is_folder = await until_aborted(
                lambda: perform(files, "is_directory", path, syscall="stat"), signal
            )
        except ToolAborted:
            raise
        except Exception as error:
            raise FileNotFoundError(f"Path not found: {path}") from error
        query = _query(params, path, is_folder=is_folder)
        return await run_job(lambda stop: _search(query, engine, stop), signal)

    return ToolDefinition(
        name="grep",
        description=DESCRIPTION,
        parameters=PARAMETERS,
        execute=execute,
        prompt_snippet="Search file contents for patterns (respects .gitignore)",
        annotations=ToolAnnotations(read_only_hint=True),
        is_read_only=lambda _: True,
        is_destructive=lambda _: False,
        activity=lambda params: f"Searching for {params.get('pattern') or 'every line'}",
    )


def engine_of(engine: Engine = "auto") -> str:
    """Return what grep searches with here, such as ``ripgrep 15.2.0 (/usr/bin/rg)`` or ``python``.

    Raises:
        PiKernelError: If ripgrep is asked for and is not there.
    """
    program = None if engine == "python" else find_ripgrep()
    if program is not None:
        return f"ripgrep {program.version} ({program.path})"
    if engine == "ripgrep":
        raise PiKernelError(
            "ripgrep (rg) is not available; install it with: pip install 'pi-kernel[search]'"
        )
    return "python"


def _query(params: dict[str, Any], path: str, *, is_folder: bool) -> Query:
    glob = params.get("glob")
    if glob:
        mark = "!" if glob.startswith("!") else ""
        glob = glob.removeprefix("!")
        while glob.startswith("./"):
            glob = glob.removeprefix("./")
        glob = well_formed(mark + glob)
    return Query(
        pattern=well_formed(params["pattern"]),
        folder=path if is_folder else os.path.dirname(path),
        file=None if is_folder else os.path.basename(path),
        glob=glob or None,
        ignore_case=bool(params.get("ignoreCase")),
        literal=bool(params.get("literal")),
        context=max(0, _whole(params.get("context", 0))),
        limit=max(1, _whole(params.get("limit", DEFAULT_LIMIT))),
    )


def _whole(number: float) -> int:
    number = to_double(number)
    if math.isfinite(number):
        return math.floor(number)
    return NO_LINE_LIMIT if number > 0 else -NO_LINE_LIMIT


def _search(query: Query, engine: Engine, stop: AbortSignal) -> ToolResult:
    program = None if engine == "python" else find_ripgrep()
    if query.file is not None and not _tells_its_size(query.target):
        found = search_with_python(query, stop)  # ripgrep would wait for more, as in /proc/kmsg
    elif program is not None:
        found = search_with_ripgrep(program, query, stop)
    elif engine == "ripgrep":
        raise PiKernelError("ripgrep (rg) is not available and could not be downloaded")
    else:
        found = search_with_python(query, stop)
    return _result(query, found)


def _tells_its_size(path: str) -> bool:
    """Whether a file has a known end.

    Raises:
        SpecialFileError: If it is none: a pipe would be waited for, a device may never end.
    """
    try:
        status = os.stat(path)
    except OSError:
        return True  # the search says it better
    if kind := special_file_kind(status.st_mode):
        raise SpecialFileError(f"Cannot search {path}: it is {kind}, not a regular file")
    return status.st_size > 0


def _result(query: Query, found: Found) -> ToolResult:
    if not found.files:
        return ToolResult(NOTHING_FOUND)
    rows = _Rows()
    left = query.limit
    for file in sorted(found.files, key=lambda file: file.path.split(b"/")):
        left = rows.add_file(query, file, left)
        if left == 0:
            break
    notices: list[str] = []
    details: dict[str, Any] = {}
    if sum(file.match_count for file in found.files) > query.limit:
        more = format_number(to_double(query.limit) * 2)
        advice = f"Use limit={more} for more, or refine pattern"
        notices.append(f"{query.limit} matches limit reached. {advice}")
        details["matchLimitReached"] = query.limit
    cut = rows.truncated()
    if cut.truncated:
        notices.append(f"{format_size(DEFAULT_MAX_BYTES)} limit reached")
        details["truncation"] = cut.to_wire()
    if rows.has_cut_lines:
        notices.append(
            f"Some lines truncated to {GREP_MAX_LINE_LENGTH} chars. Use read tool to see full lines"
        )
        details["linesTruncated"] = True
    notice = f"\n\n[{'. '.join(notices)}]" if notices else ""
    return ToolResult(cut.content + notice, details=details or None)


class _Rows:
    """The rows so far: what can be shown is kept, the rest is only counted."""

    def __init__(self) -> None:
        self.has_cut_lines = False
        self._kept: list[bytes] = []
        self._lines = 0
        self._bytes = -1
        """One less than the sum of rows and newlines: none comes before the first row."""

    def add_file(self, query: Query, file: FileRows, left: int) -> int:
        """Add the rows of a file; return how many matches are left to show."""
        path = query.shown_path(file.path)
        last_line: float = math.inf
        for number, is_match, text in _texts(query, file):
            if number > last_line:
                break
            if is_match and left > 0:
                left -= 1
                mark = ":"
                if left == 0:
                    last_line = number + query.context
            else:
                mark = "-"
            self._add(f"{path}{mark}{number}{mark} {self._cut(text)}")
        return left

    def _cut(self, text: str) -> str:
        if len(text) <= SHORT_LINE_CHARS:
            return text
        text, was_cut = truncate_line(text, GREP_MAX_LINE_LENGTH)
        self.has_cut_lines = self.has_cut_lines or was_cut
        return text

    def _add(self, row: str) -> None:
        data = row.encode("utf-8", "surrogatepass")
        if self._bytes <= DEFAULT_MAX_BYTES:
            self._kept.append(data)
        self._bytes += len(data) + 1
        self._lines += row.count("\n") + 1

    def truncated(self) -> Truncation:
        """Return what can be shown, with the totals of all rows."""
        return head_of(
            b"\n".join(self._kept),
            total_lines=self._lines,
            total_bytes=self._bytes,
            max_lines=NO_LINE_LIMIT,
        )


def _texts(query: Query, file: FileRows) -> Iterator[tuple[int, bool, str]]:
    rows = file.rows()
    row = next(rows, None)
    while row is not None:
        number, is_match, data = row
        row = next(rows, None)
        if data.endswith(b"\r") and (row or not _ends_without_newline(query, file, data)):
            data = data[:-1]
        yield number, is_match, data.decode("utf-8", "replace")


def _ends_without_newline(query: Query, file: FileRows, row: bytes) -> bool:
    """Whether the last row is the file's last line and has no newline.

    The carriage return at its end is part of such a line; the search prints a newline after it.
    """
    try:
        with open_plain(query.absolute(file.path)) as stream:
            mark = stream.read(2)
            encoding = UTF_16_MARKS.get(mark)
            newline = b"\n"
            if encoding is not None:
                row = row.decode("utf-8", "replace").encode(encoding)
                newline = newline.decode().encode(encoding)
            end = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, end - len(newline + row)))
            tail = stream.read()
            stream.seek(0)
            whole = stream.read(len(row) + len(UTF_8_MARK) + 1)
    except OSError:
        return False
    return tail == newline + row or whole in (row, UTF_8_MARK + row, mark + row)
