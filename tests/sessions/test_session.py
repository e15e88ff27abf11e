"""A session: what it takes, what it refuses, its events, its end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import pi_kernel
from pi_kernel import (
    ModelInfo,
    PiKernelError,
    ToolCall,
    ToolResult,
    ToolSession,
)
from pi_kernel.models import ScriptedModel, call, say
from tests.support.engine import Log, make_tool, session_with, texts

# -- making one ------------------------------------------------------------------------------------


def test_a_session_starts_with_the_given_tools_in_their_order() -> None:
    session = session_with(make_tool("b"), make_tool("a", exposure="codemode"))
    assert list(session.registered) == ["b", "a"]
    assert (list(session.active), list(session.callable)) == (["b"], ["b", "a"])
    assert list(session.declared) == ["b"]
    assert session.registered["b"].name == "b"


def test_tools_may_be_a_mapping_or_a_generator() -> None:
    tools = {"key": make_tool("a")}
    assert list(ToolSession(tools=tools).active) == ["a"]  # type: ignore[arg-type]
    assert list(ToolSession(tools=(make_tool(n) for n in "xy")).active) == ["x", "y"]
    assert list(ToolSession(tools="none").registered) == []


def test_of_two_tools_with_one_name_the_last_wins_in_the_first_place() -> None:
    session = session_with(make_tool("a"), make_tool("b"), make_tool("a", description="second"))
    assert list(session.active) == ["a", "b"]
    assert session.active["a"].description == "second"


def test_filters_apply_to_a_session() -> None:
    tools = [make_tool(name) for name in ("read", "reread", "write")]
    assert list(ToolSession(tools=tools, allow=["re*"], deny=["read"]).registered) == ["reread"]
    assert list(ToolSession(tools=tools, allow=["-read"]).active) == ["reread", "write"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"tools": "al"}, "tools must be one of 'all', 'coding', 'read_only', 'none' or a list"),
        ({"tools": 3}, "tools must be one of"),
        ({"tools": None}, "tools must be one of"),
        ({"tools": ["read"]}, "register() takes a ToolDefinition, got str"),
        ({"tools": make_tool("a")}, "tools must be one of"),
        ({"cwd": 3}, "cwd must be the path of a directory, got 3"),
        ({"cwd": None}, "cwd must be the path of a directory, got None"),
        ({"tool_execution": "fast"}, "tool_execution must be one of parallel, sequential"),
        ({"allow": "read"}, "allow must be a list of names, got 'read'"),
        ({"allow": [1]}, "allow must be a list of names, got 1 in it"),
        ({"deny": 3}, "deny must be a list of names, got 3"),
        ({"steering_mode": "some"}, 'queue mode must be "one-at-a-time" or "all"'),
        ({"model": "demo"}, "model must be a ModelInfo or a Model with .info and .stream()"),
    ],
)
def test_wrong_options_are_refused_with_the_way_out(options: Any, text: str) -> None:
    with pytest.raises(PiKernelError) as caught:
        ToolSession(**({"tools": "none"} | options))
    assert str(caught.value).startswith(text)
    assert "\n" not in str(caught.value)


def test_the_facts_of_a_session(tmp_path: Path) -> None:
    info = ModelInfo("lab", "m1")
    session = ToolSession(tmp_path, "none", model=info, session_id="s1", thinking_level="high")
    assert (session.cwd, session.session_id, session.session_file) == (str(tmp_path), "s1", None)
    assert (session.model, session.thinking_level) == (info, "high")
    assert repr(session) == f"<ToolSession {tmp_path}: 0 active tools, 0 calls>"
    assert ToolSession(tools="none").session_id != ToolSession(tools="none").session_id


def test_a_relative_directory_becomes_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "/home/somebody")
    assert ToolSession("sub", "none").cwd == str(tmp_path / "sub")
    assert ToolSession("~/x", "none").cwd == "/home/somebody/x"


def test_making_a_session_writes_nothing(tmp_path: Path) -> None:
    session = ToolSession(tmp_path, [make_tool("a")])
    session.run(session.execute_tool("a"))
    session.run(session.close())
    assert list(tmp_path.iterdir()) == []


# -- registering -----------------------------------------------------------------------------------


def test_registering_returns_the_definition_and_replaces_a_name() -> None:
    session = session_with(make_tool("a"))
    new = make_tool("a", description="new")
    assert session.register(new) is new
    assert session.registered["a"] is new


@pytest.mark.parametrize("thing", [None, print, "read", {"name": "a"}])
def test_only_definitions_can_be_registered(thing: Any) -> None:
    with pytest.raises(PiKernelError, match=r"^register\(\) takes a ToolDefinition"):
        session_with().register(thing)


def test_a_shadowed_built_in_gives_one_warning() -> None:
    session = session_with()
    session.registry.register(make_tool("read"), source="builtin")
    with pytest.warns(UserWarning, match='^tool "read" replaces the built-in tool$'):
        session.register(make_tool("read"))
    session.register(make_tool("read"))
    session.register(make_tool("other"))


@pytest.mark.parametrize("names", ["a", [1], None, 3, ["+"]])
def test_the_active_set_takes_a_list_of_names(names: Any) -> None:
    session = session_with(make_tool("a"))
    with pytest.raises(PiKernelError, match=r"names must be a list of names|need the name"):
        session.set_active(names)
    assert list(session.active) == ["a"]


def test_the_mappings_are_read_only() -> None:
    session = session_with(make_tool("a"))
    for mapping in (session.registered, session.active, session.callable, session.declared):
        with pytest.raises(TypeError):
            mapping["b"] = make_tool("b")  # type: ignore[index]


# -- calls -----------------------------------------------------------------------------------------


async def test_calls_of_a_session_are_roots_with_ids_in_order() -> None:
    session = session_with(make_tool("a"))
    outcomes = [await session.execute_tool("a"), await session.execute_tool("nope")]
    assert [outcome.id for outcome in outcomes] == ["call-1", "call-2"]
    assert [outcome.parent_tool_call_id for outcome in outcomes] == [None, None]
    assert [outcome.status for outcome in outcomes] == ["ok", "not_found"]
    assert outcomes[1].text == "Tool nope not found"
    assert session.messages == []


async def test_a_person_reaches_everything_but_hidden_tools() -> None:
    exposures = ("direct", "model-only", "codemode", "deferred", "hidden")
    session = session_with(*(make_tool(e, exposure=e, default_active=False) for e in exposures))
    session.set_active([])
    statuses = {name: (await session.execute_tool(name)).status for name in exposures}
    assert statuses == dict.fromkeys(exposures, "ok") | {"hidden": "not_found"}


async def test_inside_a_tool_the_session_calls_for_the_tool() -> None:
    async def outer(_params: dict[str, Any], ctx: Any) -> str:
        outcome = await ctx.session.execute_tool("inner")
        unreachable = await ctx.session.execute_tool("model")
        return f"{outcome.id} {outcome.parent_tool_call_id} {unreachable.status}"

    session = session_with(
        make_tool("outer", outer), make_tool("inner"), make_tool("model", exposure="model-only")
    )
    outcome = await session.execute_tool("outer")
    assert outcome.text == "call-1/1 call-1 not_found"
    assert [record.id for record in outcome.nested_calls.calls] == ["call-1/1", "call-1/2"]


@pytest.mark.parametrize("name", [None, 3, b"a", ["a"]])
async def test_a_tools_name_must_be_text(name: Any) -> None:
    session = session_with(make_tool("a"))
    with pytest.raises(PiKernelError, match="a tool's name must be a text"):
        await session.execute_tool(name)
    assert len(session.trace) == 0


async def test_a_batch_keeps_the_models_ids_and_reaches_active_tools() -> None:
    session = session_with(make_tool("a"), make_tool("off", default_active=False))
    log = Log(session)
    outcomes = await session.execute_batch(
        [ToolCall(id="x", name="a"), {"id": "y", "name": "off", "arguments": {}}]
    )
    assert [(o.id, o.status, o.text) for o in outcomes] == [
        ("x", "ok", "a"),
        ("y", "not_found", "Tool off not found"),
    ]
    assert log.steps() == ["s x", "s y", "e y", "e x", "m x", "m y"]
    assert session.messages == []
    assert await session.execute_batch([]) == []


@pytest.mark.parametrize(
    ("calls", "text"),
    [
        (None, "a batch is a list of ToolCall values, got NoneType"),
        ("a", "a batch is a list of ToolCall values, got str"),
        (ToolCall(id="x", name="a"), "a batch is a list of ToolCall values, got ToolCall"),
        ([3], "a batch is made of ToolCall values, got int"),
        ([{"name": "a"}], "not a tool call: "),
    ],
)
async def test_what_is_no_batch_is_refused_before_anything_runs(calls: Any, text: str) -> None:
    session = session_with(make_tool("a"))
    log = Log(session)
    with pytest.raises(PiKernelError) as caught:
        await session.execute_batch(calls)
    assert str(caught.value).startswith(text)
    assert log.events == []


# -- events ----------------------------------------------------------------------------------------


async def test_on_works_as_a_method_and_as_a_decorator() -> None:
    session = session_with(make_tool("a"))
    seen: list[str] = []
    stop = session.on("tool_execution_end", lambda event: seen.append(event.tool_name))

    @session.on("tool_execution_end")
    async def also(event: Any) -> None:
        seen.append("also " + event.tool_name)

    await session.execute_tool("a")
    stop()
    stop()
    await session.execute_tool("a")
    assert seen == ["a", "also a", "also a"]
    assert also.__name__ == "also"


async def test_a_subscription_ends_alone() -> None:
    session = session_with(make_tool("a"))
    seen: list[str] = []

    def listen(event: Any) -> None:
        seen.append(event.type)

    first, second = session.subscribe(listen), session.subscribe(listen)
    first()
    await session.execute_tool("a")
    assert seen == ["tool_execution_start", "tool_execution_end"]
    second()
    await session.execute_tool("a")
    assert len(seen) == 2


@pytest.mark.parametrize(("event_type", "handler"), [(3, print), (None, print), ("x", 3)])
def test_on_takes_a_name_and_a_function(event_type: Any, handler: Any) -> None:
    with pytest.raises(PiKernelError, match=r"^on\(\) takes the name of an event and a function$"):
        session_with().on(event_type, handler)
    with pytest.raises(PiKernelError, match=r"^subscribe\(\) takes a function$"):
        session_with().subscribe(3)  # type: ignore[arg-type]


# -- abort -----------------------------------------------------------------------------------------


async def test_abort_reaches_calls_that_run_and_none_that_come_later() -> None:
    started = anyio.Event()

    async def wait(_params: dict[str, Any], ctx: Any) -> str:
        started.set()
        await ctx.signal.wait()
        return f"stopped: {ctx.signal.reason}"

    session = session_with(make_tool("wait", wait), make_tool("a"))
    running = session.tools.wait()
    await started.wait()
    session.abort("enough")
    assert await running == "stopped: enough"
    assert (await session.execute_tool("a")).status == "ok"


# -- the end ---------------------------------------------------------------------------------------


async def test_a_closed_session_refuses_everything_that_would_act() -> None:
    session = session_with(make_tool("a"))
    await session.close()
    await session.close()
    model = ScriptedModel([])
    for act in (
        lambda: session.register(make_tool("b")),
        lambda: session.set_active([]),
        session.refresh,
        lambda: session.steer("x"),
        lambda: session.follow_up("x"),
    ):
        with pytest.raises(
            PiKernelError, match=r"^this session is closed; make a new ToolSession$"
        ):
            act()
    for start in (
        lambda: session.execute_tool("a"),
        lambda: session.execute_batch([]),
        lambda: session.prompt("x", model=model),
        lambda: session.continue_run(model=model),
        session.__aenter__,
    ):
        with pytest.raises(
            PiKernelError, match=r"^this session is closed; make a new ToolSession$"
        ):
            await start()
    assert list(session.registered) == ["a"]
    assert repr(session).endswith(": closed, 0 calls>")


async def test_leaving_a_session_stops_what_runs_and_waits_for_it() -> None:
    ended: list[str] = []

    async def wait(_params: dict[str, Any], ctx: Any) -> str:
        await ctx.signal.wait()
        await anyio.sleep(0.02)
        ended.append(ctx.signal.reason)
        return "stopped"

    async with session_with(make_tool("wait", wait)) as session:
        task = session.tools.wait()
        await anyio.lowlevel.checkpoint()
    assert ended == ["the session was closed"]
    assert await task == "stopped"


async def test_closing_aborts_a_run() -> None:
    async def wait(_params: dict[str, Any], ctx: Any) -> str:
        await ctx.signal.wait()
        return "stopped"

    session = session_with(make_tool("wait", wait))
    run = asyncio.get_running_loop().create_task(
        session.prompt("go", model=ScriptedModel([call("wait"), say("never")]))
    )
    while not session.pending_tool_calls:
        await anyio.lowlevel.checkpoint()
    await session.close()
    assert (await run).stop_reason == "aborted"
    assert texts(session.messages)[-1] == "assistant"


async def test_a_tool_may_close_its_session() -> None:
    async def close(_params: dict[str, Any], ctx: Any) -> str:
        await ctx.session.close()
        return "closed"

    session = session_with(make_tool("close", close))
    with anyio.fail_after(2):
        assert (await session.execute_tool("close")).text == "closed"


# -- many ------------------------------------------------------------------------------------------


def test_a_session_of_10_000_tools_is_made_and_asked_in_linear_time() -> None:
    def make_and_close(count: int) -> None:
        tools = [make_tool(f"t{n}") for n in range(count)]
        session = ToolSession(tools=tools)
        for n in range(count // 10):
            session.register(make_tool(f"more{n}"))
        outcome = session.run(session.execute_tool(f"t{count - 1}"))
        session.run(session.close())
        assert outcome.status == "ok"

    make_and_close(10_000)


async def test_a_request_with_10_000_tools_is_made_in_reasonable_time() -> None:
    session = ToolSession(tools=[make_tool(f"t{n}") for n in range(10_000)])
    model = ScriptedModel([call("t9999"), say("x")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages)[-2:] == ["toolResult t9999", "assistant x"]
    assert len(model.contexts[1].tools) == 10_000


# -- the light import ------------------------------------------------------------------------------


def test_the_session_has_the_names_of_the_public_api() -> None:
    for name in (
        "execute_tool", "execute_batch", "register", "set_active", "refresh", "registered",
        "active", "callable", "declared", "on", "subscribe", "trace", "prompt", "stream",
        "messages", "is_running", "pending_tool_calls", "streaming_message", "steer",
        "follow_up", "abort", "run", "session_id", "session_file", "model", "thinking_level",
        "cwd", "tools", "close",
    ):  # fmt: skip
        assert hasattr(pi_kernel.ToolSession, name), name


async def test_the_trace_is_live() -> None:
    session = session_with(make_tool("a", lambda _p, _c: ToolResult("x")))
    trace = session.trace
    assert len(trace) == 0
    await session.execute_tool("a")
    assert [record.id for record in trace] == ["call-1"]
