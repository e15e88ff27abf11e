"""What bash and powershell share: from a command to a result with its notices."""

from __future__ import annotations

import inspect
import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from pi_kernel.errors import ToolAborted, ToolTimeout
from pi_kernel.protocol.content import TextContent
from pi_kernel.protocol.json import well_formed
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ToolAnnotations
from pi_kernel.registry.definition import OnUpdate, ToolDefinition
from pi_kernel.runtime._json_text import number_text
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._output import OutputAccumulator, OutputSnapshot
from pi_kernel.tools._paths import working_directory
from pi_kernel.tools._process import CommandTimeoutError
from pi_kernel.tools._shell_env import shell_environment
from pi_kernel.tools._truncate import DEFAULT_MAX_BYTES, format_size
from pi_kernel.tools._updates import ThrottledUpdates

__all__ = ("ShellOperations", "ShellTool", "SpawnHook")

MAX_TIMEOUT_SECONDS = 2147483.647
"""The longest timer of the reference's runtime: 2**31 - 1 ms."""
ABORTED = "Command aborted"
NO_OUTPUT = "(no output)"
TIMEOUT_PREFIX = "timeout:"

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "The command to run."},
        "timeout": {
            "type": "number",
            "description": "Seconds after which the command is killed; without it, never.",
        },
    },
    "required": ["command"],
}
OUTPUT_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "output": {
            "type": "string",
            "description": "stdout and stderr; the middle of very large output is left out.",
        },
        "truncated": {"type": "boolean", "description": "Whether the middle was left out."},
        "full_output_path": {
            "type": "string",
            "description": "File with everything, when the middle was left out.",
        },
        "exit_code": {"type": "number"},
        "wall_time_seconds": {"type": "number"},
    },
    "required": ["output", "truncated", "exit_code", "wall_time_seconds"],
}


class ShellOperations(Protocol):
    """How commands are run: here, on another host, in a container, in a test."""

    async def exec(  # noqa: PLR0913 - what a command needs
        self,
        command: str,
        cwd: str,
        *,
        on_data: Callable[[bytes], Any],
        signal: AbortSignal | None,
        timeout: float | None,  # noqa: ASYNC109 - the command's, not the task's
        env: Mapping[str, str],
    ) -> int | None:
        """Run one command.

        Args:
            command: What to run.
            cwd: Working directory.
            on_data: Takes output in order, one block at a time, from any thread.
            signal: Asks to stop; then raise an error with the message ``aborted``.
            timeout: Seconds; when they are over, raise an error with the message
                ``timeout:<seconds>``.
            env: The whole environment.

        Returns:
            The exit status; None when there is none.
        """
        ...


SpawnHook = Callable[[dict[str, Any]], Any]
"""Takes ``{"command", "cwd", "env"}`` and returns what to run instead, keys left out unchanged;
None changes nothing. May be async."""


@dataclass(frozen=True, kw_only=True)
class ShellTool:
    """A tool that runs commands of one shell."""

    name: str
    description: str
    prompt_snippet: str
    prompt_guidelines: tuple[str, ...]
    operations: ShellOperations
    cwd: str | None = None
    """Working directory when the context has none; None: the process's own."""
    command_prefix: str | None = None
    expose_session_environment: bool = True
    spawn_hook: SpawnHook | None = None

    def definition(self) -> ToolDefinition:
        """Return the tool."""
        return ToolDefinition(
            name=self.name,
            description=self.description,
            parameters=PARAMETERS,
            output_schema=OUTPUT_SCHEMA,
            execute=self.execute,
            prompt_snippet=self.prompt_snippet,
            prompt_guidelines=self.prompt_guidelines,
            constrained_sampling={"type": "json_schema", "strict": "prefer"},
            annotations=ToolAnnotations(destructive_hint=True, open_world_hint=True),
            activity=_activity,
        )

    async def execute(
        self,
        _tool_call_id: str,
        params: dict[str, Any],
        signal: AbortSignal | None = None,
        on_update: OnUpdate | None = None,
        ctx: object = None,
    ) -> ToolResult:
        """Run the command.

        Returns:
            Its output and status; an error result when the status is not 0.

        Raises:
            ToolAborted: If the signal was set.
            ToolTimeout: If the time ran out.
            Exception: If the command could not be run.
        """
        if signal is not None and signal.aborted:
            raise ToolAborted(ABORTED)
        timeout = _checked_timeout(params.get("timeout"))
        command, cwd, env = await self._spawn_facts(params["command"], ctx)
        output = OutputAccumulator(file_prefix=f"pi-{self.name}-")
        updates = ThrottledUpdates(lambda: _show(on_update, output.snapshot()))

        def on_data(block: bytes) -> None:
            output.append(block)
            if on_update is not None:
                updates.note()

        if on_update is not None:
            on_update(ToolResult())
        started_at = time.monotonic()
        try:
            exit_code = await self.operations.exec(
                command, cwd, on_data=on_data, signal=signal, timeout=timeout, env=env
            )
        except Exception as error:
            output.finish()
            updates.flush()
            failure = _failure(error, output.snapshot())
            if failure is None:
                raise
            raise failure from error
        else:
            seconds = time.monotonic() - started_at
            output.finish()
            updates.flush()
            return _result(output, exit_code=exit_code, seconds=seconds)
        finally:
            updates.close()
            output.finish()

    async def _spawn_facts(self, command: str, ctx: object) -> tuple[str, str, Mapping[str, str]]:
        """Return command, working directory and environment after prefix and hook."""
        if self.command_prefix:
            command = f"{self.command_prefix}\n{command}"
        directory = Path(working_directory(ctx, self.cwd))
        facts: dict[str, Any] = {
            "command": command,
            "cwd": str(directory if directory.is_absolute() else Path.cwd() / directory),
            "env": shell_environment(ctx, expose_session=self.expose_session_environment),
        }
        if self.spawn_hook is not None:
            answer = self.spawn_hook(dict(facts))
            facts.update((await answer if inspect.isawaitable(answer) else answer) or {})
        return well_formed(facts["command"]), str(facts["cwd"]), facts["env"]


def _checked_timeout(timeout: float | None) -> float | None:
    if timeout is None:
        return None
    try:
        seconds = float(timeout)
    except OverflowError:
        seconds = math.inf
    if not math.isfinite(seconds) or seconds <= 0:
        raise ValueError("Invalid timeout: must be a finite number of seconds")
    if seconds > MAX_TIMEOUT_SECONDS:
        limit = number_text(MAX_TIMEOUT_SECONDS)
        raise ValueError(f"Invalid timeout: maximum is {limit} seconds")
    return seconds


def _show(on_update: OnUpdate | None, snapshot: OutputSnapshot) -> None:
    if on_update is not None:
        content = [TextContent(snapshot.truncation.content)]
        on_update(ToolResult(content, details=_details(snapshot)))


def _result(output: OutputAccumulator, *, exit_code: int | None, seconds: float) -> ToolResult:
    snapshot = output.snapshot()
    text = _text(snapshot, empty=NO_OUTPUT)
    if exit_code is None:
        raise RuntimeError(f"{text}\n\nCommand terminated without an exit code")
    if exit_code != 0:
        text += f"\n\nCommand exited with code {exit_code}"
    whole = output.whole()
    structured: dict[str, Any] = {"output": whole.text, "truncated": whole.is_truncated}
    if whole.is_truncated and snapshot.full_output_path is not None:
        structured["full_output_path"] = snapshot.full_output_path
    structured["exit_code"] = exit_code
    structured["wall_time_seconds"] = _tenths(seconds)
    return ToolResult(
        [TextContent(text)],
        details=_details(snapshot) if snapshot.truncation.truncated else None,
        structured_content=structured,
        is_error=exit_code != 0,
    )


def _failure(error: Exception, snapshot: OutputSnapshot) -> Exception | None:
    """Return what a timeout or an abort is told as, with the output so far; else None."""
    message = str(error)
    text = _text(snapshot, empty="")
    output = f"{text}\n\n" if text else ""
    if isinstance(error, ToolAborted) or message == "aborted":
        return ToolAborted(f"{output}{ABORTED}")
    if not message.startswith(TIMEOUT_PREFIX):
        return None
    seconds = message.split(":")[1]
    status = f"Command timed out after {seconds} seconds"
    if isinstance(error, CommandTimeoutError) and error.exit_after_seconds is not None:
        exit_after = number_text(_tenths(error.exit_after_seconds))
        status += (
            f". The shell exited with code {error.exit_code} after {exit_after} seconds, but"
            " background processes it started kept writing output until the timeout."
        )
    return ToolTimeout(f"{output}{status}")


def _text(snapshot: OutputSnapshot, *, empty: str) -> str:
    """Return the shown output and the notice of what is missing."""
    shown = snapshot.truncation
    text = shown.content or empty
    if not shown.truncated:
        return text
    first, total = shown.total_lines - shown.output_lines + 1, shown.total_lines
    if shown.last_line_partial:
        size, line_size = format_size(shown.output_bytes), format_size(snapshot.last_line_bytes)
        what = f"Showing last {size} of line {total} (line is {line_size})"
    elif shown.truncated_by == "lines":
        what = f"Showing lines {first}-{total} of {total}"
    else:
        limit = format_size(DEFAULT_MAX_BYTES)
        what = f"Showing lines {first}-{total} of {total} ({limit} limit)"
    where = snapshot.full_output_path or f"not saved ({snapshot.save_error})"
    return f"{text}\n\n[{what}. Full output: {where}]"


def _details(snapshot: OutputSnapshot) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if snapshot.truncation.truncated:
        details["truncation"] = snapshot.truncation.to_wire()
    if snapshot.full_output_path is not None:
        details["fullOutputPath"] = snapshot.full_output_path
    return details


def _tenths(seconds: float) -> float:
    """Round to 0.1, half up; a whole number is an int, as it is in JSON."""
    tenths = math.floor(seconds * 10 + 0.5)
    return tenths // 10 if tenths % 10 == 0 else tenths / 10


def _activity(params: Mapping[str, Any]) -> str:
    return f"Running {params.get('command', '')}"
