"""The ``write`` tool: a whole file, new or in place of an old one."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

import anyio.to_thread

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import well_formed
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ToolAnnotations
from pi_kernel.registry.definition import OnUpdate, ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._access import check_writable
from pi_kernel.tools._atomic import make_directories
from pi_kernel.tools._journal import ChangeMaker, journal
from pi_kernel.tools._mutation_queue import with_file_mutation_queue
from pi_kernel.tools._operations import check_operations, find_operation, perform
from pi_kernel.tools._os_errors import error_code
from pi_kernel.tools._paths import resolve_to_cwd, working_directory
from pi_kernel.tools._preview import Preview, check_preview_size, diff_of_texts, preview_of
from pi_kernel.tools._recorded_write import write_recorded
from pi_kernel.tools._threads import run_settled, settled

__all__ = ("create",)

DESCRIPTION = (
    "Write a whole file: create it, or overwrite what is there. Missing parent directories are"
    " created."
)

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or relative to the cwd"},
        "content": {"type": "string", "description": "The complete new content"},
    },
    "required": ["path", "content"],
}


def create(cwd: str | None = None, *, operations: object | None = None) -> ToolDefinition:
    """Return the ``write`` tool.

    A file is replaced as a whole or not at all. Calls for the same file run one after the other.

    Args:
        cwd: What relative paths refer to; None: the process's directory at each call. A context's
            own cwd wins.
        operations: I/O in place of the local files: ``write_file(path, text)`` and
            ``mkdir(path)``, which makes missing parents and accepts a folder that is there. A
            preview also needs ``read_file(path) -> bytes``, and foresees failures with
            ``check_writable(path)``, which raises them.

    Raises:
        PiKernelError: If an operation is missing.

    Source:
        Pi 1.6.0, ``createWriteToolDefinition``; the replacement as a whole is ours.
    """
    if operations is not None:
        check_operations(operations, "write_file", "mkdir", tool_name="write")
    return ToolDefinition(
        name="write",
        description=DESCRIPTION,
        parameters=PARAMETERS,
        prompt_snippet="Create or overwrite a file",
        prompt_guidelines=(
            "Use write only for new files and complete rewrites; change parts of a file with edit.",
        ),
        constrained_sampling={"type": "json_schema", "strict": "prefer"},
        annotations=ToolAnnotations(destructive_hint=True),
        is_read_only=lambda _: False,
        is_destructive=lambda _: True,
        activity=lambda params: f"Writing {params.get('path', '')}",
        execute=_WriteTool(cwd, operations).execute,
    )


class _WriteTool:
    """The tool: a file is written, or only compared with what it would become."""

    def __init__(self, cwd: str | None, operations: object | None) -> None:
        self._cwd = cwd
        self._operations = operations

    async def execute(
        self,
        tool_call_id: str,
        params: dict[str, Any],
        signal: AbortSignal | None = None,
        on_update: OnUpdate | None = None,
        ctx: object = None,
    ) -> ToolResult:
        """Write the file."""
        del on_update
        operations = self._operations
        given: str = params["path"]
        text = well_formed(params["content"])
        wanted = signal or AbortSignal()
        wanted.throw_if_aborted()
        path = resolve_to_cwd(given, working_directory(ctx, self._cwd))
        maker = journal.maker(ctx, tool_call_id, signal)

        async def change() -> None:
            wanted.throw_if_aborted()
            if operations is None:
                await run_settled(lambda: _write_local(path, text, wanted, maker=maker))
            else:
                await settled(lambda: _write_remote(operations, path, text, wanted))
                journal.add_elsewhere(maker, path)
            wanted.throw_if_aborted()

        await with_file_mutation_queue(path, change)
        return ToolResult(f"Successfully wrote to {given}")

    async def preview(self, params: dict[str, Any], ctx: object) -> Preview:
        """Return what the call would change.

        Raises:
            PiKernelError: If the operations cannot read.
        """
        operations = self._operations
        given: str = params["path"]
        text = well_formed(params["content"])
        if operations is not None and find_operation(operations, "read_file") is None:
            raise PiKernelError("a preview of write needs the operation read_file")

        async def look(path: str) -> Preview:
            if operations is None:
                old = await anyio.to_thread.run_sync(_look_local, path, abandon_on_cancel=True)
            else:
                old = await _look_remote(operations, path)
            return await anyio.to_thread.run_sync(_compare, path, given, old, text)

        return await preview_of(given, ctx, self._cwd, look=look)


def _write_local(path: str, text: str, signal: AbortSignal, *, maker: ChangeMaker | None) -> None:
    """Write in the calling thread, checking between the steps."""
    made = make_directories(os.path.dirname(path))  # noqa: PTH120 - the text that messages show
    signal.throw_if_aborted()
    check = signal.throw_if_aborted
    write_recorded(path, text.encode(), check_stop=check, maker=maker, made_folders=made)


async def _write_remote(operations: object, path: str, text: str, signal: AbortSignal) -> None:
    folder = os.path.dirname(path)  # noqa: PTH120 - the text that messages show
    await perform(operations, "mkdir", folder, syscall="mkdir")
    signal.throw_if_aborted()
    await perform(operations, "write_file", path, text, syscall="open")


class _Old(NamedTuple):
    """The content that would be overwritten; None when there is no file."""

    content: bytes | None


def _look_local(path: str) -> _Old:
    """Return the present content; raise what writing would raise."""
    check_writable(path)
    try:
        check_preview_size(path, os.stat(path).st_size)  # noqa: PTH116 - as above
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            return _Old(file.read())
    except FileNotFoundError:
        return _Old(None)


async def _look_remote(operations: object, path: str) -> _Old:
    if find_operation(operations, "check_writable") is not None:
        await perform(operations, "check_writable", path, syscall="open")
    try:
        content: bytes | str = await perform(operations, "read_file", path, syscall="open")
    except OSError as error:
        if error_code(error) in ("ENOENT", "ENOTDIR"):
            return _Old(None)
        raise
    data = content.encode("utf-8", "replace") if isinstance(content, str) else bytes(content)
    check_preview_size(path, len(data))
    return _Old(data)


def _compare(path: str, given: str, old: _Old, new_text: str) -> Preview:
    """Return the diff, in the calling thread."""
    before = b"" if old.content is None else old.content
    diff = diff_of_texts(before.decode("utf-8", "replace"), new_text, path=given)
    return Preview(
        path=path,
        diff="" if diff is None else diff.diff,
        patch="" if diff is None else diff.patch,
        first_changed_line=None if diff is None else diff.first_changed_line,
        new_text=new_text,
        is_new_file=old.content is None,
    )
