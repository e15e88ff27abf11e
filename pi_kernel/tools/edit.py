"""The edit tool: exact replacements in one file, all of them checked before anything is written."""

from __future__ import annotations

import json
import os
from collections.abc import Awaitable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import anyio.to_thread

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import well_formed
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ToolAnnotations
from pi_kernel.registry.definition import OnUpdate, ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._access import check_editable
from pi_kernel.tools._diff import EditDiff, diff_replacements
from pi_kernel.tools._edit_match import Edit, find_replacements
from pi_kernel.tools._edit_splice import Replacement, lf_view, splice
from pi_kernel.tools._journal import ChangeMaker, journal
from pi_kernel.tools._mutation_queue import with_file_mutation_queue
from pi_kernel.tools._operations import check_operations, perform
from pi_kernel.tools._os_errors import error_code, file_error
from pi_kernel.tools._paths import resolve_to_cwd, working_directory
from pi_kernel.tools._preview import Preview, preview_of
from pi_kernel.tools._recorded_write import write_recorded
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
    directory = None if cwd is None else os.fspath(cwd)
    tool = _EditTool(directory, _LocalFiles() if operations is None else _RemoteFiles(operations))
    return ToolDefinition(
        name="edit",
        description=DESCRIPTION,
        parameters=PARAMETERS,
        execute=tool.execute,
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


class _Plan(NamedTuple):
    """An edit that was checked and not yet made."""

    content: bytes
    """The whole file afterwards."""
    diff: EditDiff


class _EditTool:
    """The tool: all edits are looked up first, then the file is written or only shown."""

    def __init__(self, cwd: str | None, files: _Files) -> None:
        self._cwd = cwd
        self._files = files

    async def execute(
        self,
        tool_call_id: str,
        params: dict[str, Any],
        signal: AbortSignal | None = None,
        on_update: OnUpdate | None = None,
        ctx: object = None,
    ) -> ToolResult:
        """Change the file."""
        del on_update
        edits = _edits_of(params)
        stop = signal or AbortSignal()
        stop.throw_if_aborted()
        path: str = params["path"]
        absolute = resolve_to_cwd(path, working_directory(ctx, self._cwd))
        maker = journal.maker(ctx, tool_call_id, signal)

        async def edit_file() -> EditDiff:
            plan = await self._plan(absolute, edits, shown_path=path, stop=stop)
            stop.throw_if_aborted()
            await self._files.write(absolute, plan.content, stop=stop, maker=maker)
            stop.throw_if_aborted()
            return plan.diff

        diff = await with_file_mutation_queue(absolute, edit_file)
        return ToolResult(
            f"Successfully replaced {len(edits)} block(s) in {path}.",
            details={
                "diff": diff.diff,
                "patch": diff.patch,
                "firstChangedLine": diff.first_changed_line,
            },
        )

    async def preview(self, params: dict[str, Any], ctx: object) -> Preview:
        """Return what the call would change."""
        path: str = params["path"]

        async def look(absolute: str) -> Preview:
            edits = _edits_of(params)
            plan = await self._plan(absolute, edits, shown_path=path, stop=AbortSignal())
            return Preview(
                path=absolute,
                diff=plan.diff.diff,
                patch=plan.diff.patch,
                first_changed_line=plan.diff.first_changed_line,
                new_text=plan.content.decode(),
            )

        return await preview_of(path, ctx, self._cwd, look=look)

    async def _plan(
        self, absolute: str, edits: Sequence[Edit], *, shown_path: str, stop: AbortSignal
    ) -> _Plan:
        stop.throw_if_aborted()
        try:
            await self._files.check_access(absolute)
        except Exception as error:
            stop.throw_if_aborted()
            reason = f"Error code: {error_code(error)}" if isinstance(error, OSError) else error
            raise PiKernelError(f"Could not edit file: {shown_path}. {reason}.") from error
        stop.throw_if_aborted()
        content = await self._files.read(absolute)
        stop.throw_if_aborted()
        return await anyio.to_thread.run_sync(
            lambda: _apply(content, edits, path=shown_path), abandon_on_cancel=True
        )


def _edits_of(params: Mapping[str, Any]) -> list[Edit]:
    given: object = params.get("edits")
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise PiKernelError(NO_EDITS)
    return [_edit_of(item) for item in cast("Sequence[Mapping[str, str]]", given)]


class _Files(Protocol):
    """What one edit does with a file; each call returns only when its I/O has settled."""

    async def check_access(self, path: str) -> None: ...

    async def read(self, path: str) -> bytes: ...

    async def write(
        self, path: str, content: bytes, *, stop: AbortSignal, maker: ChangeMaker | None
    ) -> None: ...


class _LocalFiles:
    async def check_access(self, path: str) -> None:
        await run_settled(lambda: check_editable(path))

    async def read(self, path: str) -> bytes:
        return await run_settled(lambda: _read_local(path))

    async def write(
        self, path: str, content: bytes, *, stop: AbortSignal, maker: ChangeMaker | None
    ) -> None:
        await run_settled(
            lambda: write_recorded(path, content, check_stop=stop.throw_if_aborted, maker=maker)
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

    async def write(
        self, path: str, content: bytes, *, stop: AbortSignal, maker: ChangeMaker | None
    ) -> None:
        stop.throw_if_aborted()
        text = content.decode()
        await settled(lambda: perform(self._operations, "write_file", path, text, syscall="open"))
        journal.add_elsewhere(maker, path)


def _read_local(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except IsADirectoryError as error:
        raise file_error(error, "read") from error
    except OSError as error:
        raise file_error(error, "open", path) from error


def _apply(content: bytes, edits: Sequence[Edit], *, path: str) -> _Plan:
    """Return the content after the edits, and what changed."""
    text = content.decode("utf-8", "replace")
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    view = lf_view(text)
    replacements = find_replacements(view, edits, path=path)
    diff = diff_replacements(view, replacements, path=path)
    if view is text and not mark and text.isascii():
        return _Plan(_splice_ascii(content, replacements), diff)
    return _Plan((mark + splice(text, replacements)).encode(), diff)


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
