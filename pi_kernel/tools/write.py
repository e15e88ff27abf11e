"""The ``write`` tool: a whole file, new or in place of an old one."""

from __future__ import annotations

import os
from typing import Any

from pi_kernel.protocol.json import well_formed
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ToolAnnotations
from pi_kernel.registry.definition import OnUpdate, ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._atomic import make_directories, write_atomically
from pi_kernel.tools._mutation_queue import with_file_mutation_queue
from pi_kernel.tools._operations import check_operations, perform
from pi_kernel.tools._paths import resolve_to_cwd, working_directory
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
            ``mkdir(path)``, which makes missing parents and accepts a folder that is there.

    Raises:
        PiKernelError: If an operation is missing.

    Source:
        Pi 1.6.0, ``createWriteToolDefinition``; the replacement as a whole is ours.
    """
    if operations is not None:
        check_operations(operations, "write_file", "mkdir", tool_name="write")

    async def execute(
        tool_call_id: str,
        params: dict[str, Any],
        signal: AbortSignal | None = None,
        on_update: OnUpdate | None = None,
        ctx: object = None,
    ) -> ToolResult:
        del tool_call_id, on_update
        given: str = params["path"]
        text = well_formed(params["content"])
        wanted = signal or AbortSignal()
        wanted.throw_if_aborted()
        path = resolve_to_cwd(given, working_directory(ctx, cwd))

        async def change() -> None:
            wanted.throw_if_aborted()
            if operations is None:
                await run_settled(lambda: _write_local(path, text, wanted))
            else:
                await settled(lambda: _write_remote(operations, path, text, wanted))
            wanted.throw_if_aborted()

        await with_file_mutation_queue(path, change)
        return ToolResult(f"Successfully wrote to {given}")

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
        execute=execute,
    )


def _write_local(path: str, text: str, signal: AbortSignal) -> None:
    """Write in the calling thread, checking between the steps."""
    make_directories(os.path.dirname(path))  # noqa: PTH120 - the text that messages show
    signal.throw_if_aborted()
    write_atomically(path, text.encode(), before_change=signal.throw_if_aborted)


async def _write_remote(operations: object, path: str, text: str, signal: AbortSignal) -> None:
    folder = os.path.dirname(path)  # noqa: PTH120 - the text that messages show
    await perform(operations, "mkdir", folder, syscall="mkdir")
    signal.throw_if_aborted()
    await perform(operations, "write_file", path, text, syscall="open")
