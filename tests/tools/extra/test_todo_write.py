"""todo_write: the session's list of steps."""

from __future__ import annotations

import gc
from types import SimpleNamespace
from typing import Any

import pytest

from pi_kernel import PiKernelError, ToolSession
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools import create_tool_definition
from pi_kernel.tools.extra import todo_list
from tests.tools.extra.running import failure, run, text

TOOL = create_tool_definition("todo_write")
PLAN = [
    {"step": "Read the code", "status": "completed"},
    {"step": "Change\nit", "status": "in_progress"},
    {"step": "Run the tests", "status": "pending"},
]


def steps(*statuses: str) -> list[dict[str, str]]:
    return [{"step": "x", "status": status} for status in statuses]


async def test_the_text_counts_the_steps_and_lists_them_one_a_line() -> None:
    assert await text(TOOL, {"plan": PLAN}) == (
        "3 steps: 1 completed, 1 in progress, 1 pending\n"
        "[x] Read the code\n"
        "[>] Change it\n"
        "[ ] Run the tests"
    )


@pytest.mark.parametrize(
    ("plan", "first_line"),
    [
        ([], "The plan is empty."),
        (steps("pending"), "1 step: 1 pending"),
        (steps("in_progress", "in_progress"), "2 steps: 2 in progress"),
        (steps("pending", "completed"), "2 steps: 1 completed, 1 pending"),
    ],
)
async def test_only_states_that_occur_are_counted(
    plan: list[dict[str, str]], first_line: str
) -> None:
    assert (await text(TOOL, {"plan": plan})).split("\n")[0] == first_line


async def test_programs_get_the_list_without_what_does_not_belong_to_it() -> None:
    plan = [PLAN[1] | {"note": "mine"}]
    result = await run(TOOL, {"plan": plan})
    assert result.structured_content == [PLAN[1]]
    assert result.details is None


async def test_each_session_keeps_its_own_list_and_a_call_replaces_it() -> None:
    one, two = ToolSession(tools=[TOOL]), ToolSession(tools=[TOOL])
    await one.execute_tool("todo_write", {"plan": PLAN})
    await two.execute_tool("todo_write", {"plan": PLAN[:1]})
    assert (todo_list(one), todo_list(two)) == (PLAN, PLAN[:1])
    await one.execute_tool("todo_write", {"plan": PLAN[1:2]})
    assert todo_list(one) == PLAN[1:2]
    await one.execute_tool("todo_write", {"plan": []})
    assert (todo_list(one), todo_list(two)) == ([], PLAN[:1])


async def test_what_is_handed_out_cannot_change_the_list() -> None:
    session = ToolSession(tools=[TOOL])
    outcome = await session.execute_tool("todo_write", {"plan": PLAN})
    outcome.structured_content.clear()
    todo_list(session)[0]["step"] = "other"
    assert todo_list(session) == PLAN


async def test_without_a_session_nothing_is_kept() -> None:
    for ctx in (None, SimpleNamespace(session=None)):
        assert (await run(TOOL, {"plan": PLAN}, ctx=ctx)).structured_content == PLAN
    assert todo_list(None) == []


async def test_a_session_that_cannot_be_referred_to_weakly_still_gets_the_result() -> None:
    ctx = SimpleNamespace(session=("no", "weak", "reference"))
    assert (await run(TOOL, {"plan": PLAN}, ctx=ctx)).structured_content == PLAN
    assert todo_list(ctx.session) == []


async def test_a_list_goes_with_its_session() -> None:
    class Session:
        pass

    from pi_kernel.tools.extra import todo_write  # noqa: PLC0415 - its store is looked at

    gc.collect()
    before = len(todo_write._lists)
    session: Any = Session()
    await run(TOOL, {"plan": PLAN}, ctx=SimpleNamespace(session=session))
    assert len(todo_write._lists) == before + 1
    del session
    gc.collect()
    assert len(todo_write._lists) == before


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "plan: missing"),
        ({"plan": [{"step": "x"}]}, "plan.0.status: missing"),
        ({"plan": [{"status": "pending"}]}, "plan.0.step: missing"),
        ({"plan": steps("done")}, "plan.0.status: "),
        ({"plan": steps("pending") * 101}, "plan: "),
        ({"plan": [{"step": "x" * 501, "status": "pending"}]}, "plan.0.step: "),
        ({"plan": "x"}, "plan.0: expected object, got string"),
    ],
)
async def test_only_count_states_and_lengths_are_checked(
    arguments: dict[str, Any], problem: str
) -> None:
    session = ToolSession(tools=[TOOL])
    outcome = await session.execute_tool("todo_write", arguments)
    assert outcome.status == "invalid"
    assert outcome.text.split("\n")[1].startswith(f"  - {problem}")
    assert todo_list(session) == []


async def test_as_many_and_as_long_steps_as_allowed_are_kept_and_empty_ones_too() -> None:
    session = ToolSession(tools=[TOOL])
    plan = [{"step": "😀" * 500, "status": "pending"}, {"step": "", "status": "pending"}] * 50
    outcome = await session.execute_tool("todo_write", {"plan": plan})
    assert not outcome.is_error
    assert todo_list(session) == plan


async def test_an_aborted_call_changes_nothing() -> None:
    signal = AbortSignal()
    signal.abort()
    assert await failure(TOOL, {"plan": PLAN}, signal=signal) == "Operation aborted"


def test_the_tool_is_deferred_and_harmless() -> None:
    assert TOOL.exposure == "deferred"
    assert TOOL.annotations is not None
    assert TOOL.annotations.to_wire() == {
        "readOnlyHint": False,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": False,
    }
    with pytest.raises(PiKernelError):
        create_tool_definition("todo_write", operations={})
