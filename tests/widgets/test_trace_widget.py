from __future__ import annotations

import asyncio
import json
from typing import Any

from pi_kernel import ToolSession
from pi_kernel.widgets.trace import TraceWidget
from tests.support.engine import make_tool
from tests.widgets.conftest import Opened, until

HELLO = {"type": "hello", "try": 1}


async def outer(params: dict[str, Any], ctx: Any) -> str:
    """Call `inner` a number of times."""
    for n in range(params["n"]):
        await ctx.execute_tool("inner", {"n": n})
    return "done"


def inner(params: dict[str, Any], _ctx: Any) -> str:
    if params["n"] == 1:
        raise ValueError("<b>one</b>")
    return f"inner {params['n']}"


def make_session() -> ToolSession:
    return ToolSession(tools=[make_tool("outer", outer), make_tool("inner", inner)])


async def talk(widget: TraceWidget, *messages: dict[str, Any]) -> None:
    for message in messages:
        widget._handle_custom_msg(message, [])
    await asyncio.sleep(0)
    await asyncio.sleep(0)


async def test_rows_name_their_callers_and_how_they_ended(opened: Opened) -> None:
    session = make_session()
    await session.execute_tool("outer", {"n": 2})
    widget = TraceWidget(session.host.calls, "session", place="pi-at-test")
    sent = opened(widget)
    await talk(widget, HELLO)
    ack, rows = sent
    assert ack == {"type": "ack"}
    assert rows["from"] == 0
    assert [row[:6] for row in rows["rows"]] == [
        [-1, 0, "outer", "n=2", "ok", "ok"],
        [0, -1, "inner", "n=0", "ok", "ok"],
        [0, -1, "inner", "n=1", "error", "error"],
    ]
    assert rows["groups"] == [{"label": "Session", "parent": -1}]
    assert all(row[9] >= row[8] for row in rows["rows"])
    assert rows["title"] == "session"


async def test_calls_that_begin_and_end_are_told_as_they_do(opened: Opened) -> None:
    gate = asyncio.Event()

    async def wait(_params: dict[str, Any], _ctx: Any) -> str:
        await gate.wait()
        return "done"

    session = ToolSession(tools=[make_tool("wait", wait)])
    widget = TraceWidget(session.host.calls, "session", place="pi-at-test")
    sent = opened(widget)
    await talk(widget, HELLO)
    assert sent[-1]["rows"] == []
    task = asyncio.ensure_future(session.execute_tool("wait", {}))
    await until(lambda: session.host.calls and session.host.calls[0].executing_since)
    widget.flush()
    assert (sent[-1]["type"], sent[-1]["from"]) == ("rows", 0)
    assert sent[-1]["rows"][0][4:6] == ["running", "running"]
    assert sent[-1]["rows"][0][9] is None
    assert widget.is_busy
    before = len(sent)
    widget.flush()
    assert len(sent) == before
    gate.set()
    await task
    widget.flush()
    assert (sent[-1]["type"], sent[-1]["at"]) == ("changes", [0])
    assert sent[-1]["rows"][0][4] == "ok"
    assert not widget.is_busy


async def test_many_rows_come_in_blocks_the_first_one_small(opened: Opened) -> None:
    session = make_session()
    await session.execute_tool("outer", {"n": 7_000})
    widget = TraceWidget(session.host.calls, "session", place="pi-at-test")
    sent = opened(widget)
    await talk(widget, HELLO)
    for _ in range(4):
        widget.flush()
    blocks = [(m["from"], len(m["rows"])) for m in sent if m["type"] == "rows"]
    assert blocks == [(0, 500), (500, 5_000), (5_500, 1_501)]
    assert sum(len(json.dumps(message)) for message in sent) < 90 * 7_001
    sent.clear()
    await talk(widget, HELLO | {"page": "another"})
    widget.flush()
    widget.flush()
    assert [(m["from"], len(m["rows"])) for m in sent if m["type"] == "rows"] == blocks


async def test_details_are_told_when_somebody_asks(opened: Opened) -> None:
    session = make_session()
    await session.execute_tool("outer", {"n": 2})
    widget = TraceWidget(session.host.calls, "session", place="pi-at-test")
    sent = opened(widget)
    await talk(widget, HELLO, {"type": "details", "at": 2})
    details = sent[-1]
    assert (details["type"], details["at"], details["id"]) == ("details", 2, "call-1/2")
    facts = dict(details["facts"])
    assert facts["Called by"] == "call-1"
    assert facts["Status"] == "error"
    assert details["arguments"] == '{\n  "n": 1\n}'
    assert "&lt;b&gt;one&lt;/b&gt;" in details["html"]
    assert "<b>one" not in details["html"]
    assert '"toolCallId"' not in details["json"]
    assert '"tool": "inner"' in details["json"]
    before = len(sent)
    await talk(widget, *({"type": "details", "at": at} for at in (-1, 3, "x", None)))
    assert len(sent) == before


async def test_stop_ends_the_root_calls_that_run(opened: Opened) -> None:
    async def wait(_params: dict[str, Any], _ctx: Any) -> str:
        await asyncio.Event().wait()
        return "never"

    session = ToolSession(tools=[make_tool("wait", wait)])
    tasks = [asyncio.ensure_future(session.execute_tool("wait", {})) for _ in range(2)]
    widget = TraceWidget(session.host.calls, "session", place="pi-at-test")
    opened(widget)
    await until(lambda: len(session.host.calls) == 2)
    await talk(widget, HELLO, {"type": "stop"})
    assert [outcome.status for outcome in await asyncio.gather(*tasks)] == ["aborted"] * 2


async def test_a_part_of_a_trace_leaves_the_other_calls_out(opened: Opened) -> None:
    session = make_session()
    await session.execute_tool("inner", {"n": 5})
    await session.execute_tool("outer", {"n": 1})
    widget = TraceWidget(
        session.host.calls,
        "a part",
        place="pi-at-test",
        is_part=lambda call: call.root.id == "call-2",
    )
    sent = opened(widget)
    await talk(widget, HELLO)
    assert [row[2] for row in sent[-1]["rows"]] == ["outer", "inner"]
    assert sent[-1]["rows"][1][0] == 0
