"""The edit tool: exact replacements in one file, all of them checked before anything is written."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

import anyio.to_thread

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import well_formed
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ToolAnnotations
from pi_kernel.registry.definition import OnUpdate, ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._atomic import SpecialFileError, special_file_kind, write_atomically
from pi_kernel.tools._diff import EditDiff, diff_replacements
from pi_kernel.tools._edit_match import Edit, find_replacements
from pi_kernel.tools._edit_splice import Replacement, lf_view, splice
from pi_kernel.tools._mutation_queue import with_file_mutation_queue
from pi_kernel.tools._operations import check_operations, perform
from pi_kernel.tools._os_errors import error_code, file_error, wording
from pi_kernel.tools._paths import resolve_to_cwd, working_directory
from pi_kernel.tools._threads import run_settled, settled

__all__ = ("EditOperations", "create", "prepare_arguments")

DESCRIPTION = (
    "Change one file by replacing exact pieces of its text. Every edits[].oldText must occur"
    " exactly once in the file as it is now, and must not overlap another edit. Changes to the same"
    " line or to neighbouring lines belong in one edit; do not include long unchanged stretches"
    " only to join changes that are far apart."
)
PARAMETERS = {
    "type": "object",
    "properties": {
        "path": {
            "type": "string",
            "description": "The file to change, relative to the working directory or absolute",
        },
        "edits": {
            "type": "array",
            "description": (
                "One or more replacements. All are looked up in the original file, not one after"
                " the other, and none may overlap another."
            ),
            "items": {
                "type": "object",
                "properties": {
                    "oldText": {
                        "type": "string",
                        "description": "The exact text to replace; it occurs once in the file",
                    },
                    "newText": {"type": "string", "description": "What takes its place"},
                },
                "required": ["oldText", "newText"],
            },
        },
    },
    "required": ["path", "edits"],
}
GUIDELINES = (
    "Use edit for targeted changes; each oldText must match the file exactly.",
    "Put several changes to one file into one edit call, as separate entries of edits.",
    "Keep each oldText as short as it can be while it occurs only once in the file.",
)
NO_EDITS = "Edit tool input is invalid. edits must contain at least one replacement."
BYTE_ORDER_MARK = "\ufeff"


class EditOperations(Protocol):
    """The file system behind edit, where it is not the local one. All may be async."""

    def access(self, path: str, /) -> object | Awaitable[object]:
        """Raise (an `OSError` with its ``errno``) unless the file can be read and written."""
        ...

    def read_file(self, path: str, /) -> bytes | str | Awaitable[bytes | str]:
        """Return the content of an absolute path."""
        ...

    def write_file(self, path: str, content: str, /) -> object | Awaitable[object]:
        """Replace the content, as UTF-8."""
        ...


def create(
    cwd: str | os.PathLike[str] | None = None, *, operations: EditOperations | None = None
) -> ToolDefinition:
    """Return the definition of edit.

    Args:
        cwd: The working directory of calls whose context has none; None: the process's own.
        operations: Replaces the local file system.

    Source:
        Pi 1.6.0, ``createEditToolDefinition``.
    """
    files = _LocalFiles() if operations is None else _RemoteFiles(operations)

    async def execute(
        _tool_call_id: str,
        params: dict[str, Any],
        signal: AbortSignal | None,
        _on_update: OnUpdate | None,
        ctx: object,
    ) -> ToolResult:
        given: object = params.get("edits")
        if not isinstance(given, Sequence) or isinstance(given, str) or not given:
            raise PiKernelError(NO_EDITS)
        edits = [_edit_of(item) for item in cast("Sequence[Mapping[str, str]]", given)]
        stop = signal or AbortSignal()
        stop.throw_if_aborted()
        path: str = params["path"]
        absolute = resolve_to_cwd(path, working_directory(ctx, cwd))

        async def edit_file() -> ToolResult:
            diff = await _edit_file(files, absolute, edits, shown_path=path, stop=stop)
            return ToolResult(
                f"Successfully replaced {len(edits)} block(s) in {path}.",
                details={
                    "diff": diff.diff,
                    "patch": diff.patch,
                    "firstChangedLine": diff.first_changed_line,
                },
            )

        return await with_file_mutation_queue(absolute, edit_file)

    return ToolDefinition(
        name="edit",
        description=DESCRIPTION,
        parameters=PARAMETERS,
        execute=execute,
        prompt_snippet="Change files by exact text replacement, several places in one call",
        prompt_guidelines=GUIDELINES,
        constrained_sampling={"type": "json_schema", "strict": "prefer"},
        render_shell="self",
        prepare_arguments=prepare_arguments,
        annotations=ToolAnnotations(destructive_hint=True),
        activity=lambda params: f"Editing {params.get('path', '')}",
    )


def prepare_arguments(raw: object) -> object:
    """Bring older and careless forms of the arguments into the form of the schema.

    ``edits`` may be JSON text or a single edit, and one pair of texts may stand at the top level.
    What cannot be understood is left for validation to report. The argument is not changed.

    Source:
        Pi 1.6.0, ``prepareEditArguments``.

    Example:
        >>> prepare_arguments({"path": "a.txt", "oldText": "b", "newText": "c"})
        {'path': 'a.txt', 'edits': [{'oldText': 'b', 'newText': 'c'}]}
    """
    if not isinstance(raw, Mapping):
        return raw
    arguments = dict(cast("Mapping[str, Any]", raw))
    edits: object = arguments.get("edits")
    if isinstance(edits, str):
        edits = _parsed(edits)
    if _is_pair(edits):
        edits = [edits]
    if isinstance(edits, list):
        arguments["edits"] = edits
    if _is_pair(arguments):
        pair = {name: arguments.pop(name) for name in ("oldText", "newText")}
        arguments["edits"] = [*arguments["edits"], pair] if isinstance(edits, list) else [pair]
    return arguments


def _parsed(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _is_pair(value: object) -> bool:
    if not isinstance(value, Mapping):
        return False
    fields = cast("Mapping[str, object]", value)
    return isinstance(fields.get("oldText"), str) and isinstance(fields.get("newText"), str)


def _edit_of(item: Mapping[str, str]) -> Edit:
    return Edit(old_text=item["oldText"], new_text=well_formed(item["newText"]))


class _Files(Protocol):
    """What one edit does with a file; each call returns only when its I/O has settled."""

    async def check_access(self, path: str) -> None: ...

    async def read(self, path: str) -> bytes: ...

    async def write(self, path: str, content: bytes, *, stop: AbortSignal) -> None: ...


class _LocalFiles:
    async def check_access(self, path: str) -> None:
        await run_settled(lambda: _check_local_access(path))

    async def read(self, path: str) -> bytes:
        return await run_settled(lambda: _read_local(path))

    async def write(self, path: str, content: bytes, *, stop: AbortSignal) -> None:
        await run_settled(
            lambda: write_atomically(path, content, before_change=stop.throw_if_aborted)
        )


class _RemoteFiles:
    def __init__(self, operations: EditOperations) -> None:
        check_operations(operations, "access", "read_file", "write_file", tool_name="edit")
        self._operations = operations

    async def check_access(self, path: str) -> None:
        await settled(lambda: perform(self._operations, "access", path, syscall="access"))

    async def read(self, path: str) -> bytes:
        content: bytes | str = await settled(
            lambda: perform(self._operations, "read_file", path, syscall="open")
        )
        return well_formed(content).encode() if isinstance(content, str) else bytes(content)

    async def write(self, path: str, content: bytes, *, stop: AbortSignal) -> None:
        stop.throw_if_aborted()
        text = content.decode()
        await settled(lambda: perform(self._operations, "write_file", path, text, syscall="open"))


def _check_local_access(path: str) -> None:
    with wording("access", path):
        kind = special_file_kind(Path(path).stat().st_mode)
        if not os.access(path, os.R_OK | os.W_OK):
            is_read_only = os.access(path, os.R_OK) and os.statvfs(path).f_flag & os.ST_RDONLY
            number = errno.EROFS if is_read_only else errno.EACCES
            raise OSError(number, os.strerror(number))
    if kind is not None:  # opening a pipe would wait for its other end
        raise SpecialFileError(f"It is {kind}, not a regular file")


def _read_local(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except IsADirectoryError as error:
        raise file_error(error, "read") from error
    except OSError as error:
        raise file_error(error, "open", path) from error


async def _edit_file(
    files: _Files,
    absolute: str,
    edits: Sequence[Edit],
    *,
    shown_path: str,
    stop: AbortSignal,
) -> EditDiff:
    stop.throw_if_aborted()
    try:
        await files.check_access(absolute)
    except Exception as error:
        stop.throw_if_aborted()
        reason = f"Error code: {error_code(error)}" if isinstance(error, OSError) else str(error)
        raise PiKernelError(f"Could not edit file: {shown_path}. {reason}.") from error
    stop.throw_if_aborted()
    content = await files.read(absolute)
    stop.throw_if_aborted()
    new_content, diff = await anyio.to_thread.run_sync(
        lambda: _apply(content, edits, path=shown_path), abandon_on_cancel=True
    )
    stop.throw_if_aborted()
    await files.write(absolute, new_content, stop=stop)
    stop.throw_if_aborted()
    return diff


def _apply(content: bytes, edits: Sequence[Edit], *, path: str) -> tuple[bytes, EditDiff]:
    """Return the content after the edits, and what changed."""
    text = content.decode("utf-8", "replace")
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    view = lf_view(text)
    replacements = find_replacements(view, edits, path=path)
    diff = diff_replacements(view, replacements, path=path)
    if view is text and not mark and text.isascii():
        return _splice_ascii(content, replacements), diff
    return (mark + splice(text, replacements)).encode(), diff


def _splice_ascii(content: bytes, replacements: Sequence[Replacement]) -> bytes:
    """Splice bytes that are one character each: the whole text is copied once, not three times."""
    whole = memoryview(content)
    pieces: list[bytes | memoryview] = []
    position = 0
    for replacement in replacements:
        pieces += (whole[position : replacement.start], replacement.new_text.encode())
        position = replacement.end
    pieces.append(whole[position:])
    return b"".join(pieces)
