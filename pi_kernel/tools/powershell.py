"""The `powershell` tool: what `bash` is elsewhere, for Windows.

Commands run through `operations`. Without them the tool says why it cannot run: processes of its
own are started by `_process`, which needs the sessions and groups of a POSIX system.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from pi_kernel.errors import PiKernelError
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._shell import ShellOperations, ShellTool, SpawnHook

__all__ = ("create",)

NAME = "powershell"
EXECUTABLES = ("pwsh.exe", "powershell.exe")
DESCRIPTION = (
    "Run one PowerShell command in the working directory (Windows only). Output and errors come"
    " back together, cut to the last 2000 lines or 50KB, whichever is less; when cut, a temporary"
    " file has all of it. Nothing is kept between calls. An optional timeout in seconds ends it."
)
SNIPPET = "run PowerShell commands on Windows"
SESSION_GUIDELINE = (
    "The environment variables PI_SESSION_ID, PI_SESSION_FILE, PI_PROVIDER, PI_MODEL and"
    " PI_REASONING_LEVEL tell a PowerShell command its session and model."
)
ONLY_ON_WINDOWS = "The powershell tool is only available on Windows."
NO_EXECUTABLE = (
    "No PowerShell executable found. Install PowerShell or add powershell.exe/pwsh.exe to PATH."
)
NEEDS_OPERATIONS = "The powershell tool needs operations= to run commands on Windows."


def create(  # noqa: PLR0913 - the tool's options
    cwd: str | os.PathLike[str] | None = None,
    *,
    operations: ShellOperations | None = None,
    command_prefix: str | None = None,
    shell_path: str | None = None,
    expose_session_environment: bool = True,
    spawn_hook: SpawnHook | None = None,
) -> ToolDefinition:
    """Return the powershell tool.

    Args:
        cwd: Working directory when the context has none; None: the process's own.
        operations: Runs the commands, on any system; an object with ``exec``.
        command_prefix: A line put before every command.
        shell_path: The executable, instead of the one on PATH.
        expose_session_environment: Whether commands get the ``PI_*`` variables.
        spawn_hook: May replace command, working directory and environment of each call.

    Source:
        Pi 1.6.0, ``createPowershellToolDefinition``.
    """
    return ShellTool(
        name=NAME,
        description=DESCRIPTION,
        prompt_snippet=SNIPPET,
        prompt_guidelines=(SESSION_GUIDELINE,) if expose_session_environment else (),
        operations=operations or _LocalPowerShell(shell_path),
        cwd=None if cwd is None else os.fspath(cwd),
        command_prefix=command_prefix,
        expose_session_environment=expose_session_environment,
        spawn_hook=spawn_hook,
    ).definition()


class _LocalPowerShell:
    """Says what is missing."""

    def __init__(self, shell_path: str | None) -> None:
        self._shell_path = shell_path

    async def exec(  # noqa: PLR0913 - the shape of ShellOperations.exec
        self,
        command: str,  # noqa: ARG002
        cwd: str,  # noqa: ARG002
        *,
        on_data: Callable[[bytes], Any],  # noqa: ARG002
        signal: AbortSignal | None,  # noqa: ARG002
        timeout: float | None,  # noqa: ARG002, ASYNC109
        env: Mapping[str, str],  # noqa: ARG002
    ) -> NoReturn:
        """Raise."""
        if os.name != "nt":
            raise PiKernelError(ONLY_ON_WINDOWS)
        if not self._shell_path and not any(shutil.which(name) for name in EXECUTABLES):
            raise PiKernelError(NO_EXECUTABLE)
        raise PiKernelError(NEEDS_OPERATIONS)
