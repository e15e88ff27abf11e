"""The `bash` tool: run one shell command in the working directory."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._process import run_process
from pi_kernel.tools._shell import ShellOperations, ShellTool, SpawnHook

__all__ = ("create",)

NAME = "bash"
SHOWN_ARGUMENT_CHARS = 128
DEFAULT_SHELL = "/bin/bash"
DESCRIPTION = (
    "Run one bash command in the working directory. stdout and stderr come back together, cut to"
    " the last 2000 lines or 50KB, whichever is less; when cut, a temporary file has all of it."
    " Nothing is kept between calls: no cd, no variables. An optional timeout in seconds ends it."
)
SNIPPET = "run shell commands"
SESSION_GUIDELINE = (
    "The environment variables PI_SESSION_ID, PI_SESSION_FILE, PI_PROVIDER, PI_MODEL and"
    " PI_REASONING_LEVEL tell a bash command its session and model."
)


def create(  # noqa: PLR0913 - the tool's options
    cwd: str | os.PathLike[str] | None = None,
    *,
    operations: ShellOperations | None = None,
    command_prefix: str | None = None,
    shell_path: str | None = None,
    expose_session_environment: bool = True,
    spawn_hook: SpawnHook | None = None,
) -> ToolDefinition:
    """Return the bash tool.

    Args:
        cwd: Working directory when the context has none; None: the process's own.
        operations: Runs the commands elsewhere; an object with ``exec``.
        command_prefix: A line put before every command.
        shell_path: The shell, instead of ``/bin/bash``.
        expose_session_environment: Whether commands get the ``PI_*`` variables.
        spawn_hook: May replace command, working directory and environment of each call.

    Source:
        Pi 1.6.0, ``createBashToolDefinition``.
    """
    return ShellTool(
        name=NAME,
        description=DESCRIPTION,
        prompt_snippet=SNIPPET,
        prompt_guidelines=(SESSION_GUIDELINE,) if expose_session_environment else (),
        operations=operations or _LocalBash(shell_path),
        cwd=None if cwd is None else os.fspath(cwd),
        command_prefix=command_prefix,
        expose_session_environment=expose_session_environment,
        spawn_hook=spawn_hook,
    ).definition()


class _LocalBash:
    """Runs commands as child processes of this one."""

    def __init__(self, shell_path: str | None) -> None:
        self._shell_path = shell_path

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
        """Run one command, as `ShellOperations.exec` says."""

        def find_argv() -> list[str]:
            shell = _find_shell(self._shell_path)
            _check_directory(cwd)
            _check_argument(command)
            return [shell, "-c", command]

        return await run_process(
            find_argv,
            cwd=cwd,
            env=env,
            on_data=on_data,
            signal=signal,
            timeout=timeout,
        )


def _find_shell(shell_path: str | None) -> str:
    if shell_path:
        if not Path(shell_path).exists():
            raise FileNotFoundError(f"Custom shell path not found: {shell_path}")
        return shell_path
    if Path(DEFAULT_SHELL).exists():
        return DEFAULT_SHELL
    return shutil.which("bash") or "sh"


def _check_directory(cwd: str) -> None:
    try:
        Path(cwd).stat()
    except (OSError, ValueError) as error:
        raise FileNotFoundError(
            f"Working directory does not exist: {cwd}\nCannot execute bash commands."
        ) from error


def _check_argument(command: str) -> None:
    """Refuse what no program can be given, in the words of the reference's runtime."""
    if "\0" not in command:
        return
    shown = repr(command)
    if len(shown) > SHOWN_ARGUMENT_CHARS:
        shown = f"{shown[:SHOWN_ARGUMENT_CHARS]}..."
    raise ValueError(
        f"The argument 'args[1]' must be a string without null bytes. Received {shown}"
    )
