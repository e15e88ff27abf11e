"""User code that only has to type-check: mypy reads it in strict mode, nothing runs it."""

from __future__ import annotations

from typing import Any, assert_type

from pi_kernel.protocol.content import ImageContent, TextContent
from pi_kernel.protocol.results import ToolResult
from pi_kernel.registry.definition import AgentTool, ToolDefinition, wrap_tool_definition
from pi_kernel.runtime.abort import AbortSignal


async def greet(
    tool_call_id: str,
    params: dict[str, Any],
    signal: AbortSignal | None,
    on_update: object,
    ctx: object,
) -> ToolResult:
    del tool_call_id, on_update, ctx
    if signal is not None:
        signal.throw_if_aborted()
    return ToolResult(f"Hello, {params['name']}", details={"length": 5})


def a_definition_is_made_from_an_async_function_and_narrowed() -> AgentTool:
    definition = ToolDefinition(
        name="greet",
        description="Greet a person.",
        parameters={"type": "object", "properties": {"name": {"type": "string"}}},
        execute=greet,
        exposure="codemode",
    )
    assert_type(definition.tool_version, str)
    return wrap_tool_definition(definition)


def a_result_has_blocks_of_two_kinds(result: ToolResult) -> list[str]:
    assert_type(result.content, list[TextContent | ImageContent])
    return [block.text for block in result.content if isinstance(block, TextContent)]


async def a_signal_is_watched_and_combined(signal: AbortSignal) -> None:
    reasons: list[object] = []
    unsubscribe = signal.subscribe(lambda: reasons.append(signal.reason))
    await AbortSignal.any(signal, None, AbortSignal.timeout(1.5)).wait()
    assert_type(signal.aborted, bool)
    unsubscribe()
