"""What a definition takes, and its two conversions."""

from __future__ import annotations

import dataclasses
import threading
from typing import Any

import pytest

from pi_kernel import (
    AgentTool,
    PiKernelError,
    ToolDefinition,
    ToolResult,
    create_tool_definition_from_agent_tool,
    wrap_tool_definition,
)
from tests.support.engine import ANYTHING, make_tool, session_with


async def echo(*args: Any) -> ToolResult:
    return ToolResult(repr(args))


def test_only_four_fields_are_required_and_the_rest_is_off() -> None:
    tool = ToolDefinition(name="a", description="d", parameters=ANYTHING, execute=echo)
    assert (tool.label, tool.exposure, tool.default_active) == ("a", "direct", True)
    assert (tool.render_shell, tool.interrupt_behavior) == ("default", "cancel")
    assert tool.prompt_guidelines == ()
    off = (
        "prompt_snippet", "constrained_sampling", "prepare_arguments", "output_schema",
        "namespace", "reaches_tools", "annotations", "prepare_loadout", "execution_mode",
        "render_call", "render_result", "describe", "is_enabled", "validate_input",
        "check_permissions", "is_read_only", "is_destructive", "max_result_chars", "activity",
    )  # fmt: skip
    assert {name: getattr(tool, name) for name in off} == dict.fromkeys(off)


def test_prompt_texts_are_tidied() -> None:
    tool = make_tool(
        "a",
        prompt_snippet="  reads\r\n\tone   file ",
        prompt_guidelines=[" b ", "a", "", "  ", "b"],
    )
    assert tool.prompt_snippet == "reads one file"
    assert tool.prompt_guidelines == ("b", "a")
    assert make_tool("a", prompt_snippet=" \n ").prompt_snippet is None


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"name": ""}, "a tool's name must be a text that is not empty, got ''"),
        ({"name": 3}, "a tool's name must be a text that is not empty, got 3"),
        ({"execute": 3}, 'Tool "a": execute must be callable'),
        ({"exposure": "open"}, 'Tool "a": exposure must be one of direct, model-only, codemode'),
        ({"execution_mode": "fast"}, 'Tool "a": execution_mode must be "sequential" or "parallel"'),
        ({"interrupt_behavior": "x"}, 'Tool "a": interrupt_behavior must be "cancel" or "block"'),
    ],
)
def test_wrong_fields_are_refused(fields: Any, text: str) -> None:
    with pytest.raises(PiKernelError) as caught:
        ToolDefinition(
            **{"name": "a", "description": "d", "parameters": ANYTHING, "execute": echo} | fields
        )
    assert str(caught.value).startswith(text)


SHARED: dict[str, Any] = {
    "name": "a",
    "label": "A",
    "description": "d",
    "parameters": {"type": "object", "properties": {"n": {}}},
    "output_schema": {"type": "string"},
    "constrained_sampling": False,
    "prepare_arguments": dict,
    "execution_mode": "sequential",
}


async def test_wrapping_keeps_the_shared_fields_and_makes_a_context_when_none_is_given() -> None:
    definition = ToolDefinition(**SHARED, execute=echo, exposure="deferred")
    made: list[Any] = []

    def context_for(tool_call_id: str, signal: Any) -> str:
        made.append((tool_call_id, signal))
        return "made"

    tool = wrap_tool_definition(definition, context_for)
    assert isinstance(tool, AgentTool)
    assert {name: getattr(tool, name) for name in SHARED} == SHARED
    assert tool.replay is None
    result = await tool.execute("x", {}, "signal", "update")
    assert result.content[0].text == "('x', {}, 'signal', 'update', 'made')"
    given = await tool.execute("x", {}, None, None, "given")
    assert given.content[0].text == "('x', {}, None, None, 'given')"
    assert made == [("x", "signal")]
    bare = await wrap_tool_definition(definition).execute("x", {})
    assert bare.content[0].text == "('x', {}, None, None, None)"


async def test_widening_leaves_every_other_field_at_its_default() -> None:
    tool = AgentTool(**SHARED, execute=echo, replay="safe")
    definition = create_tool_definition_from_agent_tool(tool)
    plain = ToolDefinition(**SHARED, execute=definition.execute)
    assert dataclasses.asdict(definition) == dataclasses.asdict(plain)
    assert not hasattr(definition, "replay")
    assert wrap_tool_definition(definition).replay is None
    result: Any = await definition.execute("x", {}, None, None, "ctx")  # type: ignore[misc]
    assert result.content[0].text == "('x', {}, None, None, 'ctx')"


async def test_a_plain_function_may_execute_too() -> None:
    def run(*_args: Any) -> str:
        return "plain"

    execute: Any = run
    definition = dataclasses.replace(make_tool("a"), execute=execute)
    assert (await session_with(definition).execute_tool("a")).text == "plain"
    assert await wrap_tool_definition(definition).execute("x", {}) == "plain"


def test_its_repr_is_short() -> None:
    definition = make_tool("read", exposure="codemode")
    assert repr(definition) == "ToolDefinition('read', exposure='codemode')"


@pytest.mark.parametrize("limit", [-1, True, 1.5, "many"])
def test_a_limit_that_is_no_number_of_characters_is_refused(limit: Any) -> None:
    with pytest.raises(PiKernelError, match="max_result_chars must be None or an integer from 0"):
        make_tool("a", max_result_chars=limit)


async def test_both_conversions_run_a_plain_function_in_a_thread() -> None:
    def execute(*_: Any) -> ToolResult:
        return ToolResult(str(threading.get_ident() != loop_thread))

    loop_thread = threading.get_ident()
    fields: dict[str, Any] = {"description": "d", "parameters": ANYTHING, "execute": execute}
    agent_tool = wrap_tool_definition(ToolDefinition(name="a", **fields))
    assert (await agent_tool.execute("1", {})).content[0].text == "True"
    widened = create_tool_definition_from_agent_tool(AgentTool(name="a", label="a", **fields))
    assert (await session_with(widened).execute_tool("a")).text == "True"
