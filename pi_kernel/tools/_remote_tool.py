"""A tool that runs with another machine's directories, whatever those of its session are."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from pi_kernel.registry.definition import OnUpdate, ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._preview import Preview, Previewable

__all__ = ("Home", "starts_at_home", "tool_elsewhere")

Home = Callable[[], Awaitable[str]]
"""Returns the home directory there."""

_HOME = re.compile(r"@?~(?=/|\Z)")


def starts_at_home(path: str) -> bool:
    """Whether a path is the home directory or starts there."""
    return _HOME.match(path) is not None


def tool_elsewhere(definition: ToolDefinition, cwd: str, *, home: Home) -> ToolDefinition:
    """Return the tool with another working directory, which wins over that of a call's context.

    Args:
        definition: A tool whose operations work on the other machine.
        cwd: A directory there; ``~`` at its start is the home directory there.
        home: Asked when a path starts there.
    """
    is_previewable = isinstance(getattr(definition.execute, "__self__", None), Previewable)
    tool = (_PreviewableFarTool if is_previewable else _FarTool)(definition, cwd, home)
    return replace(definition, execute=tool.execute)


class _FarTool:
    """A tool with the directory and the home of another machine."""

    def __init__(self, definition: ToolDefinition, cwd: str, home: Home) -> None:
        self._definition = definition
        self._cwd = cwd
        self._home = home

    async def execute(
        self,
        tool_call_id: str,
        params: dict[str, Any],
        signal: AbortSignal | None = None,
        on_update: OnUpdate | None = None,
        ctx: object = None,
    ) -> Any:
        """Run the tool as if its context were there."""
        params, far_ctx = await self._over_there(params, ctx)
        execute: Any = self._definition.execute
        return await execute(tool_call_id, params, signal, on_update, far_ctx)

    async def _over_there(
        self, params: dict[str, Any], ctx: object
    ) -> tuple[dict[str, Any], _FarContext]:
        path: object = params.get("path")
        if isinstance(path, str) and _HOME.match(path):
            params = {**params, "path": await self._with_home(path)}
        return params, _FarContext(ctx, await self._with_home(self._cwd))

    async def _with_home(self, path: str) -> str:
        if not _HOME.match(path):
            return path
        home = await self._home()
        return _HOME.sub(lambda _: home, path, count=1)


class _PreviewableFarTool(_FarTool):
    async def preview(self, params: dict[str, Any], ctx: object) -> Preview:
        """Return what the call would change there."""
        params, far_ctx = await self._over_there(params, ctx)
        tool: Previewable = getattr(self._definition.execute, "__self__")  # noqa: B009 - a method's
        return await tool.preview(params, far_ctx)


class _FarContext:
    """A call's context, but for the directory."""

    def __init__(self, ctx: object, cwd: str) -> None:
        self._ctx = ctx
        self.cwd = cwd

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)
