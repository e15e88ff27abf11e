"""A run as the caller of its model's calls."""

from __future__ import annotations

from typing import Any

from pi_kernel import AbortSignal, ToolSession
from pi_kernel.models import ScriptedModel, call, say
from pi_kernel.runtime.call import Caller, current_caller
from pi_kernel.runtime.records import NestedCallRecorder
from tests.support.engine import make_tool, session_with


class Cell(Caller):
    """As a notebook's cell is."""

    owns_children = True
    child_reach = "person"
    child_origin = "cell"

    def __init__(self, session: ToolSession) -> None:
        super().__init__(session.host, "cell-3", AbortSignal())
        self.recorder = self.calls = NestedCallRecorder()
        self.cell_call_id, self.cell_id, self.execution_count = "cell-3", "abc", 3
        self.cwd = "/from/the/cell"
        self.notes: list[str] = []

    def child_started(self) -> None:
        self.notes.append("started")

    def child_ended(self) -> None:
        self.notes.append("ended")


async def test_a_cell_that_prompts_is_the_parent_of_the_models_calls() -> None:
    session = session_with(make_tool("a", lambda _p, ctx: f"{ctx.cwd} {ctx.cell_id}"))
    cell = Cell(session)
    token = current_caller.set(cell)
    run = await session.prompt("go", model=ScriptedModel([call("a", id="m1"), say("x")]))
    current_caller.reset(token)
    assert run.messages[3].to_wire()["content"][0]["text"] == "/from/the/cell abc"
    (record,) = session.trace.calls()
    assert (record.id, record.parent_id, record.cell_call_id, record.cell_id) == (
        "m1", None, "cell-3", "abc",
    )  # fmt: skip
    assert (record.execution_count, record.origin, record.depth) == (3, "model", 0)
    assert [each.id for each in cell.calls.snapshot().record().calls] == ["m1"]
    assert cell.notes == ["started", "ended"]


async def test_a_run_inside_a_tool_of_a_cell_keeps_the_cells_facts() -> None:
    async def agent(_params: dict[str, Any], ctx: Any) -> str:
        await ctx.session.prompt("sub", model=ScriptedModel([call("a", id="m1"), say("x")]))
        return "ok"

    session = session_with(
        make_tool("agent", agent), make_tool("a", lambda _p, ctx: f"{ctx.cwd} {ctx.cell_id}")
    )
    outcome = await session.host.execute_tool("agent", caller=Cell(session))
    assert outcome.status == "ok"
    lower = session.trace.calls()[1]
    assert (lower.id, lower.parent_id, lower.text) == (
        "m1", "cell-3/1", "/from/the/cell abc",
    )  # fmt: skip
    assert (lower.cell_call_id, lower.execution_count) == ("cell-3", 3)
    assert [each.id for each in outcome.nested_calls.calls] == ["m1"]


async def test_an_abort_of_the_cell_aborts_the_run_it_started() -> None:
    session = session_with()
    cell = Cell(session)
    session.on("message_update", lambda _event: cell.signal.abort())
    token = current_caller.set(cell)
    run = await session.prompt("go", model=ScriptedModel([say("x" * 100)]))
    current_caller.reset(token)
    assert run.stop_reason == "aborted"
