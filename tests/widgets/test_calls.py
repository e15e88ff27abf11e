from __future__ import annotations

import asyncio
from typing import Any

import pytest

from pi_kernel import ToolResult, ToolSession
from pi_kernel.runtime.call import Call
from pi_kernel.widgets.calls import CallsWidget
from pi_kernel.widgets.place import placed
from tests.support.engine import make_tool
from tests.widgets.conftest import Opened, until

HELLO = {"type": "hello", "page": "a", "try": 1}


class Gate:
    """A tool that tells how far it is and waits until it may end."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.contexts: list[Any] = []

    async def run(self, params: dict[str, Any], ctx: Any) -> str:
        self.contexts.append(ctx)
        if "say" in params:
            ctx.update(ToolResult(params["say"]))
        await self.opened.wait()
        if params.get("fails"):
            raise ValueError("it failed")
        return "ended"


def session_with(gate: Gate, name: str = "gate") -> ToolSession:
    return ToolSession(tools=[make_tool(name, gate.run)])


def say(widget: CallsWidget, message: dict[str, Any]) -> None:
    widget._handle_custom_msg(message, [])


def shown(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """The last message about calls."""
    return [message for message in messages if message["type"] == "calls"][-1]


def started(session: ToolSession, *all_args: dict[str, Any]) -> list[asyncio.Task[Any]]:
    return [asyncio.ensure_future(session.execute_tool("gate", args)) for args in all_args]


def widget_of(session: ToolSession, **options: Any) -> CallsWidget:
    calls: list[Call] = session.host.calls
    return CallsWidget(lambda: calls, place="pi-at-test", **options)


async def test_a_page_that_says_hello_gets_every_call(opened: Opened) -> None:
    gate = Gate()
    session = session_with(gate)
    tasks = started(session, {"a": 1, "say": "one\ntwo\n"})
    await until(lambda: gate.contexts)
    widget = widget_of(session)
    sent = opened(widget)
    assert not widget.is_live
    say(widget, HELLO)
    await until(lambda: widget.is_live)
    assert sent[0] == {"type": "ack"}
    message = shown(sent)
    assert message["counts"] == {"calls": 1, "running": 1, "failed": 0}
    assert message["shown"] == ["call-1"]
    call = message["calls"][0]
    assert (call["tool"], call["line"], call["kind"]) == (
        "gate",
        'a=1 say="one\\ntwo\\n"',
        "running",
    )
    assert call["tail"] == {
        "text": "one\ntwo\n",
        "earlier": 0,
        "lines": 2,
        "bytes": 8,
        "terminal": False,
    }
    gate.opened.set()
    await asyncio.gather(*tasks)
    widget.flush()
    call = shown(sent)["calls"][0]
    assert (call["kind"], call["word"]) == ("ok", "ok")
    assert "tail" not in call


async def test_a_page_that_says_hello_again_is_not_told_everything_twice(opened: Opened) -> None:
    widget = widget_of(session_with(Gate()))
    sent = opened(widget)
    say(widget, HELLO)
    say(widget, HELLO | {"try": 2})
    await until(lambda: len(sent) == 3)
    assert [message["type"] for message in sent] == ["ack", "calls", "ack"]
    say(widget, HELLO | {"page": "b"})
    await until(lambda: len(sent) > 3)
    assert [message["type"] for message in sent[3:]] == ["ack", "calls"]


async def test_nothing_is_sent_when_nothing_changed(opened: Opened) -> None:
    gate = Gate()
    session = session_with(gate)
    tasks = started(session, {})
    await until(lambda: gate.contexts)
    widget = widget_of(session)
    sent = opened(widget)
    say(widget, HELLO)
    await until(lambda: widget.is_live)
    before = len(sent)
    widget.flush()
    assert len(sent) == before
    gate.contexts[0].update(ToolResult("more"))
    widget.flush()
    widget.flush()
    assert len(sent) == before + 1
    gate.opened.set()
    await asyncio.gather(*tasks)


async def test_stop_ends_that_call_alone_and_only_once(opened: Opened) -> None:
    gate = Gate()
    session = session_with(gate)
    tasks = started(session, {"n": 1}, {"n": 2})
    await until(lambda: len(gate.contexts) == 2)
    widget = widget_of(session)
    opened(widget)
    say(widget, {"type": "stop", "id": "call-1"})
    say(widget, {"type": "stop", "id": "call-1"})
    say(widget, {"type": "stop", "id": "no such call"})
    say(widget, {"type": "stop"})
    first = await tasks[0]
    assert first.status == "aborted"
    assert session.host.calls[1].status is None
    gate.opened.set()
    assert (await tasks[1]).status == "ok"


async def test_a_message_of_another_thread_is_handled_on_the_loop(opened: Opened) -> None:
    gate = Gate()
    session = session_with(gate)
    tasks = started(session, {})
    await until(lambda: gate.contexts)
    widget = widget_of(session)
    opened(widget)
    await asyncio.to_thread(say, widget, {"type": "stop", "id": "call-1"})
    assert (await tasks[0]).status == "aborted"


async def test_the_body_of_a_result_is_told_when_somebody_opens_it(opened: Opened) -> None:
    gate = Gate()
    session = session_with(gate)
    gate.opened.set()
    await asyncio.gather(*started(session, {"fails": True}))
    widget = widget_of(session)
    sent = opened(widget)
    say(widget, HELLO)
    say(widget, {"type": "open", "id": "call-1"})
    await until(lambda: sent and sent[-1]["type"] == "result")
    assert "it failed" in sent[-1]["html"]
    assert shown(sent)["counts"]["failed"] == 1


async def test_of_many_calls_those_that_run_failed_or_were_opened_are_shown(opened: Opened) -> None:
    gate = Gate()
    session = session_with(gate)
    gate.opened.set()
    args = [{"n": n, "fails": n in (2, 3)} for n in range(1, 31)]
    await asyncio.gather(*started(session, *args))
    widget = widget_of(session)
    sent = opened(widget)
    say(widget, HELLO)
    await until(lambda: sent)
    assert shown(sent)["shown"] == [f"call-{n}" for n in (2, 3, 28, 29, 30)]
    say(widget, {"type": "open", "id": "call-9"})
    await until(lambda: sent[-1]["type"] == "result")
    widget.flush()
    assert shown(sent)["shown"] == [f"call-{n}" for n in (2, 3, 9, 28, 29, 30)]


async def test_live_text_is_a_bounded_well_formed_tail(opened: Opened) -> None:
    gate = Gate()
    session = session_with(gate)
    text = "x" * 5_000_000 + "\n" + "\ud800 last\n" * 3_000
    tasks = started(session, {"say": text})
    await until(lambda: gate.contexts)
    widget = widget_of(session)
    sent = opened(widget)
    say(widget, HELLO)
    await until(lambda: sent)
    tail = shown(sent)["calls"][0]["tail"]
    assert len(tail["text"].encode()) <= 16 * 1024
    assert tail["text"].startswith("\ufffd last\n")
    assert tail["lines"] == 3_001
    assert tail["earlier"] == 3_001 - tail["text"].count("\n")
    assert len(shown(sent)["calls"][0]["line"]) <= 400
    gate.opened.set()
    await asyncio.gather(*tasks)


async def test_the_tails_of_many_running_calls_share_the_room_of_a_message(opened: Opened) -> None:
    gate = Gate()
    session = session_with(gate)
    tasks = started(session, *({"say": "y\n" * 20_000, "n": n} for n in range(20)))
    await until(lambda: len(gate.contexts) == 20)
    widget = widget_of(session)
    sent = opened(widget)
    say(widget, HELLO)
    await until(lambda: sent)
    total = sum(len(call["tail"]["text"]) for call in shown(sent)["calls"])
    assert 16 * 1024 < total <= 32 * 1024
    gate.opened.set()
    await asyncio.gather(*tasks)


async def test_a_note_of_the_cell_is_told(opened: Opened) -> None:
    session = session_with(Gate())
    widget = widget_of(session)
    sent = opened(widget)
    say(widget, HELLO)
    await until(lambda: sent)
    widget.note("half\nway")
    widget.flush()
    assert shown(sent)["note"] == "half⏎ way"


async def test_an_unloaded_widget_says_so_and_answers_no_more(opened: Opened) -> None:
    gate = Gate()
    session = session_with(gate)
    tasks = started(session, {})
    await until(lambda: gate.contexts)
    widget = widget_of(session)
    sent = opened(widget)
    say(widget, HELLO)
    await until(lambda: widget.is_live)
    widget.unload()
    assert sent[-1] == {"type": "unloaded"}
    assert not widget.is_live
    before = len(sent)
    say(widget, {"type": "stop", "id": "call-1"})
    await asyncio.sleep(0)
    assert session.host.calls[0].status is None
    assert len(sent) == before
    gate.opened.set()
    await asyncio.gather(*tasks)


async def test_a_hidden_page_is_sent_nothing_until_it_is_back(opened: Opened) -> None:
    session = session_with(Gate())
    widget = widget_of(session)
    sent = opened(widget)
    say(widget, HELLO)
    await until(lambda: widget.is_live)
    say(widget, {"type": "hidden"})
    await until(lambda: not widget.is_live)
    before = len(sent)
    widget.note("unseen")
    widget.flush()
    assert len(sent) == before
    say(widget, {"type": "hello"})
    await until(lambda: widget.is_live)
    assert shown(sent)["note"] == "unseen"


async def test_a_displayed_widget_object_has_the_static_form_beside_its_view() -> None:
    session = session_with(Gate())
    static = {"text/html": "<b>static</b>", "text/plain": "static"}
    widget = widget_of(session, bundle=lambda: static)
    data, _ = widget._repr_mimebundle_() or ({}, {})
    assert data["application/vnd.jupyter.widget-view+json"]["model_id"] == widget.model_id
    assert {kind: data[kind] for kind in static} == static
    widget.close()


async def test_idle_is_told_once_all_calls_have_ended(opened: Opened) -> None:
    gate = Gate()
    session = session_with(gate)
    tasks = started(session, {})
    await until(lambda: gate.contexts)
    idle: list[str] = []
    widget = widget_of(session, on_idle=lambda: idle.append("idle"))
    opened(widget)
    widget._tick()
    assert idle == []
    gate.opened.set()
    await asyncio.gather(*tasks)
    widget._tick()
    widget._tick()
    assert idle == ["idle"]


@pytest.mark.parametrize("message", [None, 5, [], {}, {"type": "open", "id": "call-1"}])
async def test_messages_of_no_use_do_nothing(opened: Opened, message: Any) -> None:
    gate = Gate()
    session = session_with(gate)
    tasks = started(session, {})
    await until(lambda: gate.contexts)
    widget = widget_of(session)
    sent = opened(widget)
    say(widget, message)
    await asyncio.sleep(0)
    assert sent == []
    gate.opened.set()
    await asyncio.gather(*tasks)


def test_a_placed_bundle_keeps_its_text() -> None:
    assert placed("pi-at-1", {"text/html": "<i>x</i>", "text/plain": "x"}) == {
        "text/html": '<div class="pi-at-1"><i>x</i></div>',
        "text/plain": "x",
    }
