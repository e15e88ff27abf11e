"""What a tool's context says and does."""

from __future__ import annotations

from typing import Any

import pytest

from pi_kernel import AbortSignal, ModelInfo, PiKernelError, ToolCall, ToolContext, ToolResult
from pi_kernel.models import ScriptedModel, call, say
from tests.support.engine import make_tool, session_with

FACTS = (
    "tool_call_id", "parent_tool_call_id", "session_id", "session_file", "turn_id", "turn_index",
    "cell_id", "cwd", "model", "thinking_level",
)  # fmt: skip


def look(seen: list[Any]) -> Any:
    def run(_params: dict[str, Any], ctx: Any) -> str:
        seen.append({name: getattr(ctx, name) for name in FACTS})
        return "ok"

    return run


async def test_the_facts_of_a_call_by_a_person_by_a_tool_and_by_a_model() -> None:
    seen: list[Any] = []

    async def outer(_params: dict[str, Any], ctx: Any) -> str:
        await ctx.execute_tool("look")
        return "outer"

    info = ModelInfo("lab", "m")
    session = session_with(
        make_tool("look", look(seen)),
        make_tool("outer", outer),
        cwd="/somewhere",
        model=info,
        session_id="s",
        thinking_level="low",
    )
    await session.execute_tool("look")
    await session.execute_tool("outer")
    await session.prompt("go", model=ScriptedModel([call("look", id="m1"), say("x")]))
    common = {
        "session_id": "s", "session_file": None, "turn_id": None, "cell_id": None,
        "cwd": "/somewhere", "model": info, "thinking_level": "low",
    }  # fmt: skip
    assert seen == [
        common | {"tool_call_id": "call-1", "parent_tool_call_id": None, "turn_index": None},
        common | {"tool_call_id": "call-2/1", "parent_tool_call_id": "call-2", "turn_index": None},
        common | {"tool_call_id": "m1", "parent_tool_call_id": None, "turn_index": 0},
    ]


async def test_the_default_signal_of_a_nested_call_is_the_callers() -> None:
    own = AbortSignal()

    async def outer(_params: dict[str, Any], ctx: Any) -> str:
        own.abort()
        first = await ctx.execute_tool("a", signal=own)
        second = await ctx.execute_tool("a")
        return f"{first.text}, {second.text}"

    session = session_with(make_tool("outer", outer), make_tool("a"))
    assert (await session.execute_tool("outer")).text == "Operation aborted, a"


async def test_updates_go_to_the_caller_and_to_listeners() -> None:
    got: list[str] = []
    told: list[str] = []

    async def inner(_params: dict[str, Any], ctx: Any) -> str:
        ctx.update("text")
        ctx.update(ToolResult("result"))
        return "done"

    async def outer(_params: dict[str, Any], ctx: Any) -> str:
        await ctx.execute_tool("inner", on_update=lambda part: got.append(part.content[0].text))
        return "outer"

    session = session_with(make_tool("outer", outer), make_tool("inner", inner))
    session.on("tool_execution_update", lambda e: told.append(e.partial_result.content[0].text))
    await session.execute_tool("outer")
    assert got == told == ["text", "result"]


async def test_headless_nobody_answers() -> None:
    answers: list[Any] = []

    async def ask(_params: dict[str, Any], ctx: Any) -> str:
        answers.append(await ctx.ui.confirm("Sure?"))
        answers.append(await ctx.ui.select("Which?", ["a", "b"]))
        answers.append(await ctx.ui.input("What?"))
        answers.append(await ctx.ui.notify("There."))
        return "ok"

    await session_with(make_tool("ask", ask)).execute_tool("ask")
    assert answers == [False, None, None, None]


async def test_nested_calls_reach_callable_tools_only() -> None:
    async def outer(_params: dict[str, Any], ctx: Any) -> str:
        names = ("direct", "off", "codemode", "deferred", "model-only", "hidden", "nope")
        return "; ".join([(await ctx.execute_tool(name)).text for name in names])

    exposures: tuple[Any, ...] = ("direct", "codemode", "deferred", "model-only", "hidden")
    session = session_with(
        make_tool("outer", outer),
        make_tool("off", default_active=False),
        *(make_tool(name, exposure=name) for name in exposures),
    )
    assert (await session.execute_tool("outer")).text == (
        "direct; Tool off not found; codemode; deferred; Tool model-only not found;"
        " Tool hidden not found; Tool nope not found"
    )
    (outcome,) = await session.execute_batch([ToolCall(id="x", name="codemode")])
    assert outcome.text == "Tool codemode not found"


async def test_a_context_without_a_session_says_so() -> None:
    context = ToolContext()
    assert {name: getattr(context, name) for name in FACTS} == dict.fromkeys(FACTS) | {
        "tool_call_id": ""
    }
    assert context.signal is context.session is None
    context.update("nobody listens")
    with pytest.raises(PiKernelError, match="no session, so there is nobody to ask"):
        _ = context.ui
    outcome = await context.execute_tool("read", {"path": "x"})
    assert (outcome.id, outcome.tool_name, outcome.status) == ("/0", "read", "error")
    assert outcome.text == "Nested tool calls are not available in this context"
    assert outcome.to_wire()["details"] == {}
