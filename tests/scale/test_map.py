"""One tool, many arguments."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from pi_kernel import PiKernelError, ToolResult, ToolSession
from tests.support.engine import make_tool, session_with


class Tool:
    """Counts how many calls run at once; a call with ``fail`` fails, one with ``wait`` waits."""

    def __init__(self) -> None:
        self.running = self.most = self.started = 0
        self.gate = anyio.Event()

    async def run(self, params: dict[str, Any], _ctx: Any) -> ToolResult:
        self.started += 1
        self.running += 1
        self.most = max(self.most, self.running)
        if params.get("wait"):
            await self.gate.wait()
        else:
            await anyio.lowlevel.checkpoint()
        self.running -= 1
        return ToolResult(str(params.get("n")), is_error=bool(params.get("fail")))

    def session(self) -> ToolSession:
        return session_with(make_tool("work", self.run))


async def test_outcomes_come_in_the_order_of_the_arguments() -> None:
    tool = Tool()
    session = tool.session()
    session.on("tool_execution_end", lambda _event: tool.gate.set())
    outcomes = await session.map("work", [{"n": 0, "wait": True}, {"n": 1}, {"n": 2}])
    assert [o.text for o in outcomes] == ["0", "1", "2"]


@pytest.mark.parametrize(("limit", "most"), [(1, 1), (3, 3), (None, 16), (100, 40)])
async def test_no_more_calls_than_the_limit_run_at_once(limit: int | None, most: int) -> None:
    tool = Tool()
    outcomes = await tool.session().map("work", [{"n": n} for n in range(40)], limit=limit)
    assert (len(outcomes), tool.most) == (40, most)


async def test_failures_are_kept_in_their_places() -> None:
    calls = [{"n": 0}, {"n": 1, "fail": True}, {"n": 2}]
    outcomes = await Tool().session().map("work", calls)
    assert [(o.text, o.status) for o in outcomes] == [("0", "ok"), ("1", "error"), ("2", "ok")]


async def test_stop_starts_no_more_calls_after_a_failure() -> None:
    tool = Tool()
    calls = [{"n": 0}, {"n": 1, "fail": True}, {"n": 2}, {"n": 3}]
    outcomes = await tool.session().map("work", calls, limit=1, on_error="stop")
    assert ([o.text for o in outcomes], tool.started) == (["0", "1"], 2)


async def test_stop_waits_for_the_calls_that_run() -> None:
    tool = Tool()
    session = tool.session()
    session.on("tool_execution_end", lambda _event: tool.gate.set())
    calls = [{"n": 0, "wait": True}, {"n": 1, "fail": True}, {"n": 2}]
    outcomes = await session.map("work", calls, limit=2, on_error="stop")
    assert [o.text for o in outcomes] == ["0", "1"]


async def test_arguments_of_the_wrong_kind_are_invalid_calls() -> None:
    given: list[Any] = [{"n": 1}, 5, None]
    outcomes = await Tool().session().map("work", given)
    assert [o.status for o in outcomes] == ["ok", "invalid", "ok"]


async def test_an_unknown_tool_is_told_for_each_call() -> None:
    outcomes = await Tool().session().map("missing", [{}, {}])
    assert [o.text for o in outcomes] == ["Tool missing not found"] * 2


async def test_any_iterable_is_taken_once() -> None:
    def numbers() -> Iterator[dict[str, int]]:
        yield from ({"n": n} for n in range(3))

    outcomes = await Tool().session().map("work", numbers())
    assert [o.text for o in outcomes] == ["0", "1", "2"]
    assert await Tool().session().map("work", []) == []


async def test_each_outcome_is_told_as_it_comes() -> None:
    tool = Tool()
    session = tool.session()
    session.on("tool_execution_end", lambda _event: tool.gate.set())
    told: list[str] = []
    await session.map(
        "work", [{"n": 0, "wait": True}, {"n": 1}], on_done=lambda o: told.append(o.text)
    )
    assert told == ["1", "0"]


@pytest.mark.parametrize(
    ("given", "options", "text"),
    [
        ({"n": 1}, {}, "map() takes a list with one JSON object a call"),
        ("text", {}, "map() takes a list with one JSON object a call"),
        (5, {}, "map() takes a list with one JSON object a call"),
        ([], {"limit": 0}, "limit must be a positive integer or None, got 0"),
        ([], {"limit": True}, "limit must be a positive integer or None, got True"),
        ([], {"limit": 1.5}, "limit must be a positive integer or None, got 1.5"),
        ([], {"on_error": "raise"}, 'on_error must be "keep" or "stop", got \'raise\''),
    ],
)
async def test_misuse_is_refused_before_any_call(
    given: Any, options: dict[str, Any], text: str
) -> None:
    session = Tool().session()
    with pytest.raises(PiKernelError) as caught:
        await session.map("work", given, **options)
    assert str(caught.value) == text
    assert len(session.trace) == 0


async def test_a_map_that_is_cancelled_cancels_its_calls() -> None:
    tool = Tool()
    session = tool.session()
    with anyio.move_on_after(0.05):
        await session.map("work", [{"wait": True}] * 3)
    assert [call.status for call in session.trace] == ["aborted"] * 3
