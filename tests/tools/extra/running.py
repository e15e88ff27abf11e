"""Running one tool without a session."""

from __future__ import annotations

from typing import Any

import pytest

from pi_kernel import ToolDefinition, ToolResult
from pi_kernel.protocol.results import text_of
from pi_kernel.runtime.abort import AbortSignal


async def run(
    tool: ToolDefinition,
    params: dict[str, Any],
    *,
    signal: AbortSignal | None = None,
    ctx: object = None,
) -> ToolResult:
    """Return the tool's result."""
    answer: Any = tool.execute("call-1", params, signal, None, ctx)
    result = await answer
    assert isinstance(result, ToolResult)
    return result


async def text(tool: ToolDefinition, params: dict[str, Any], **options: Any) -> str:
    """Return the text of the tool's result."""
    return text_of((await run(tool, params, **options)).content)


async def failure(tool: ToolDefinition, params: dict[str, Any], **options: Any) -> str:
    """Return what the tool's error says, which is one line."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - its text is what counts
        await run(tool, params, **options)
    message = str(caught.value)
    assert "\n" not in message
    return message
