"""Tools as attributes: names, arguments, values and errors."""

from __future__ import annotations

import asyncio
import copy
import inspect
import keyword
from typing import Any

import anyio
import anyio.lowlevel
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel import ImageContent, PiKernelError, ToolCallError, ToolContext, ToolResult
from pi_kernel.registry.identifiers import (
    close_names,
    identifier_for,
    identifiers,
    missing_text,
    resolve_name,
)
from pi_kernel.registry.namespace import ToolsNamespace
from tests.support.engine import Log, make_tool, session_with


def echo(name: str = "echo", **fields: Any) -> Any:
    return make_tool(name, lambda params, _ctx: ToolResult(str(params), value=params), **fields)


# -- identifiers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "identifier"),
    [
        ("read", "read"),
        ("read_file", "read_file"),
        ("mcp__git-hub__a.b", "mcp__git_hub__a_b"),
        ("2fa", "_fa"),
        ("a2", "a2"),
        ("", "_"),
        ("-", "_"),
        ("--", "__"),
        ("$x", "_x"),
        ("a$b", "a_b"),
        ("é", "_"),
        ("a é", "a__"),
        ("😀x", "_x"),
        ("class", "class_"),
        ("None", "None_"),
        ("match", "match"),
        ("type", "type"),
        ("Read", "Read"),
    ],
)
def test_every_name_has_an_identifier(name: str, identifier: str) -> None:
    assert identifier_for(name) == identifier


@given(st.text(max_size=8))
def test_an_identifier_can_be_written_after_a_dot(name: str) -> None:
    identifier = identifier_for(name)
    assert identifier.isidentifier()
    assert not keyword.iskeyword(identifier)


def test_of_two_names_with_one_identifier_the_first_keeps_it() -> None:
    assert identifiers(["a-b", "a.b", "a_b"]) == {"a_b": "a-b"}
    assert resolve_name("a_b", ["a-b", "a_b"]) == "a-b"
    assert resolve_name("a_b", ["a_b", "a-b"]) == "a_b"
    assert resolve_name("a.b", ["a-b", "a.b"]) == "a.b"
    assert resolve_name("c", ["a-b"]) is None


@pytest.mark.parametrize(
    ("key", "names", "close"),
    [
        ("Read", ["read", "read_file"], ["read"]),
        ("readfile", ["read_file", "ReadFile", "read"], ["read_file", "ReadFile"]),
        ("rea", ["read", "bread", "write"], ["read", "bread"]),
        ("read_all", ["read", "write"], ["read"]),
        ("x", [f"x{n}" for n in range(9)], ["x0", "x1", "x2", "x3", "x4"]),
        ("zzz", ["read"], []),
        ("_", ["read"], []),
        ("a_b", ["a-b"], ["a_b"]),
        ("x", ["-"], []),
    ],
)
def test_close_names_are_equal_but_for_case_and_punctuation_or_contain_each_other(
    key: str, names: list[str], close: list[str]
) -> None:
    assert close_names(key, names) == close


def test_a_missing_name_is_told_with_close_or_available_names() -> None:
    few, many = {"read": 1, "a-b": 2}, {f"t{n}": n for n in range(21)}
    assert missing_text("Read", few) == (
        "tools.Read does not exist. Did you mean tools.read?"
        ' Check for a member with "Read" in tools.'
    )
    assert missing_text("zzz", few) == (
        'tools.zzz does not exist. Available: read, a_b. Check for a member with "zzz" in tools.'
    )
    assert missing_text("zzz", many, "Search.") == (
        'tools.zzz does not exist. Search. Check for a member with "zzz" in tools.'
    )
    assert missing_text("zzz", {}) == (
        'tools.zzz does not exist. Check for a member with "zzz" in tools.'
    )


# -- access ----------------------------------------------------------------------------------------


def test_members_are_tools_by_identifier_or_raw_name() -> None:
    tools = session_with(echo("a-b"), echo("class"), echo("2fa")).tools
    assert tools.a_b.definition is tools["a-b"].definition is tools["a_b"].definition
    assert tools.class_.definition.name == "class"
    assert tools._fa.definition.name == "2fa"
    assert dir(tools) == ["_fa", "a_b", "class_"]
    assert list(tools) == tools._ipython_key_completions_() == ["a-b", "class", "2fa"]
    assert len(tools) == 3
    assert ("a-b" in tools, "a_b" in tools, "c" in tools, 3 in tools) == (True, True, False, False)


def test_a_raw_name_can_always_be_reached_by_index() -> None:
    tools = session_with(echo("a-b"), echo("a_b")).tools
    assert tools.a_b.definition.name == "a-b"
    assert tools["a_b"].definition.name == "a_b"


def test_names_with_two_leading_underscores_are_reached_by_index_only() -> None:
    tools = session_with(echo("__init"), echo("_x")).tools
    assert tools["__init"].definition.name == "__init"
    assert tools._x.definition.name == "_x"
    assert not hasattr(tools, "__init")
    assert dir(tools) == ["_x"]


@pytest.mark.parametrize("name", ["start", "call", "caller", "reach", "keys", "get", "_missing"])
async def test_no_name_of_ours_stands_in_the_way_of_a_tool(name: str) -> None:
    session = session_with(make_tool(name))
    assert await getattr(session.tools, name)() == name


def test_a_missing_member_is_an_attribute_error_with_the_way_out() -> None:
    tools = session_with(echo("read")).tools
    text = (
        "tools.Read does not exist. Did you mean tools.read?"
        ' Check for a member with "Read" in tools.'
    )
    with pytest.raises(AttributeError) as attribute_error:
        _ = tools.Read
    assert str(attribute_error.value) == text
    with pytest.raises(KeyError) as key_error:
        _ = tools["Read"]
    assert key_error.value.args == (text,)
    assert not hasattr(tools, "Read")
    assert getattr(tools, "Read", 5) == 5


def test_a_tool_cannot_be_hidden_by_setting_its_name() -> None:
    tools = session_with(echo()).tools
    with pytest.raises(AttributeError, match=r"^tools\.echo cannot be set; make a tool"):
        tools.echo = 5
    assert callable(tools.echo)


def test_members_come_and_go_with_the_registry() -> None:
    session = session_with(echo("a"))
    tools = session.tools
    session.register(echo("b"))
    assert dir(tools) == ["a", "b"]
    session.register(echo("a", exposure="hidden"))
    assert dir(tools) == ["b"]
    session.register(echo("c", exposure="deferred"))
    session.set_active([])
    assert dir(tools) == ["b", "c"]


def test_a_namespace_can_be_copied_and_shown() -> None:
    tools = session_with(echo("a")).tools
    assert dir(copy.copy(tools)) == ["a"]
    assert repr(tools) == "<1 tool: a>"
    many = session_with(*(echo(f"t{n}") for n in range(30))).tools
    assert repr(many).startswith("<30 tools: t0, t1, ")
    assert repr(many).endswith("t19, ...>")


# -- arguments -------------------------------------------------------------------------------------


async def test_arguments_are_keywords_or_one_mapping() -> None:
    tools = session_with(echo()).tools
    assert await tools.echo(a=1) == {"a": 1}
    assert await tools.echo({"a": 1}) == {"a": 1}
    assert await tools.echo() == {}
    assert await tools.echo({}) == {}
    assert await tools.echo({"self": 1, "from": 2, "a b": 3}) == {"self": 1, "from": 2, "a b": 3}


@pytest.mark.parametrize(
    ("args", "kwargs"),
    [
        (({},), {"a": 1}),
        (({}, {}), {}),
        ((1,), {}),
        (("text",), {}),
        (([("a", 1)],), {}),
        ((None,), {}),
    ],
)
async def test_any_other_form_is_a_type_error_before_any_event(args: Any, kwargs: Any) -> None:
    session = session_with(echo())
    log = Log(session)
    with pytest.raises(TypeError, match=r"^tools\.echo\(\) takes keyword arguments or one mapping"):
        session.tools.echo(*args, **kwargs)
    await anyio.lowlevel.checkpoint()
    assert log.events == []
    assert len(session.trace) == 0


async def test_the_mapping_is_taken_over_when_the_call_is_made() -> None:
    tools = session_with(echo()).tools
    arguments = {"a": 1}
    task = tools.echo(arguments)
    arguments["a"] = 2
    assert await task == {"a": 1}


async def test_keys_that_are_no_text_are_an_invalid_call() -> None:
    with pytest.raises(ToolCallError, match="the key 1 is not text"):
        await session_with(echo()).tools.echo({1: 2})


# -- values ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "value"),
    [
        (ToolResult("text", structured_content={"s": 1}, value=[1]), [1]),
        (ToolResult("text", structured_content={"s": 1}), {"s": 1}),
        (ToolResult("text", structured_content=None), None),
        (ToolResult(["a", "b"]), "a\nb"),
        (ToolResult([]), ""),
        (
            ToolResult([ImageContent(data="AAAA", mime_type="image/png")]),
            ImageContent(data="AAAA", mime_type="image/png"),
        ),
    ],
)
async def test_a_call_resolves_to_the_live_object_or_the_next_best_thing(
    result: ToolResult, value: Any
) -> None:
    assert await session_with(make_tool("a", lambda _p, _c: result)).tools.a() == value


async def test_an_error_raises_with_the_text_that_a_model_would_read() -> None:
    session = session_with(make_tool("a", lambda _p, _c: ToolResult(["x", "y"], is_error=True)))
    with pytest.raises(ToolCallError) as caught:
        await session.tools.a(n=1)
    error = caught.value
    assert str(error) == "x\ny"
    assert (error.tool_name, error.tool_call_id) == ("a", "call-1")
    assert error.outcome is not None
    assert (error.outcome.args, error.outcome.status) == ({"n": 1}, "error")


async def test_an_error_without_text_names_the_tool() -> None:
    session = session_with(make_tool("a-b", lambda _p, _c: ToolResult(is_error=True)))
    with pytest.raises(ToolCallError, match=r'^Tool "a-b" failed$'):
        await session.tools.a_b()


@pytest.mark.parametrize("structured", [{"exit_code": 1}, None])
async def test_structured_content_of_an_output_schema_is_the_value_also_of_an_error(
    structured: Any,
) -> None:
    result = ToolResult("failed", structured_content=structured, is_error=True)
    declared = make_tool("a", lambda _p, _c: result, output_schema={})
    assert await session_with(declared).tools.a() == structured
    undeclared = make_tool("a", lambda _p, _c: result)
    with pytest.raises(ToolCallError, match=r"^failed$"):
        await session_with(undeclared).tools.a()


async def test_a_failure_before_the_tool_runs_raises_too() -> None:
    strict = make_tool("a", parameters={"type": "object", "required": ["n"]})
    session = session_with(strict)
    with pytest.raises(ToolCallError, match=r'^Validation failed for tool "a":\n  - n: missing'):
        await session.tools.a()
    session.on("tool_call", lambda _event: {"block": True, "reason": "no"})
    with pytest.raises(ToolCallError, match=r"^no$"):
        await session.tools.a(n=1)


# -- tasks -----------------------------------------------------------------------------------------


async def test_a_call_starts_at_once_and_may_be_awaited_later_or_twice() -> None:
    started = anyio.Event()

    async def run(_params: dict[str, Any], _ctx: Any) -> str:
        started.set()
        await anyio.lowlevel.checkpoint()
        return "x"

    task = session_with(make_tool("a", run)).tools.a()
    await started.wait()
    assert (await task, await task) == ("x", "x")


async def test_calls_can_be_gathered() -> None:
    def run(params: dict[str, Any], _ctx: Any) -> ToolResult:
        return ToolResult(str(params["n"]), is_error=params["n"] == 2)

    tools = session_with(make_tool("a", run)).tools
    first, second, third = await asyncio.gather(
        *(tools.a(n=n) for n in (1, 2, 3)), return_exceptions=True
    )
    assert (first, third) == ("1", "3")
    assert isinstance(second, ToolCallError)


async def test_a_call_can_be_given_to_whatever_makes_tasks_of_coroutines() -> None:
    session = session_with(make_tool("a", lambda params, _ctx: str(params["n"])))
    task = asyncio.create_task(session.tools.a(n=1))
    async with asyncio.TaskGroup() as group:
        grouped = group.create_task(session.tools.a(n=2))
    assert (await task, grouped.result()) == ("1", "2")
    assert "coro=<started_call()>" in repr(task)
    assert [call.status for call in session.trace.calls()] == ["ok", "ok"]


async def test_a_task_made_of_a_call_raises_and_cancels_as_the_call_does() -> None:
    async def run(params: dict[str, Any], _ctx: Any) -> ToolResult:
        await anyio.sleep(params["seconds"])
        return ToolResult("no", is_error=True)

    session = session_with(make_tool("a", run))
    with pytest.raises(ToolCallError, match="no"):
        await asyncio.create_task(session.tools.a(seconds=0))
    task = asyncio.create_task(session.tools.a(seconds=60))
    await anyio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [call.status for call in session.trace.calls()] == ["error", "aborted"]


async def test_a_failed_call_of_a_task_group_ends_the_others() -> None:
    async def run(params: dict[str, Any], _ctx: Any) -> ToolResult:
        await anyio.sleep(params["seconds"])
        return ToolResult("no", is_error=True)

    session = session_with(make_tool("a", run))

    async def run_group() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(session.tools.a(seconds=60))
            group.create_task(session.tools.a(seconds=0.01))

    with pytest.raises(ExceptionGroup) as caught:
        await run_group()
    assert [str(error) for error in caught.value.exceptions] == ["no"]
    assert [call.status for call in session.trace.calls()] == ["aborted", "error"]


async def test_a_failure_that_nobody_awaits_is_not_reported(caplog: Any) -> None:
    session = session_with(make_tool("a", lambda _p, _c: ToolResult("x", is_error=True)))
    session.tools.a()
    while not len(session.trace) or session.trace.calls()[0].status == "unfinished":
        await anyio.lowlevel.checkpoint()
    await anyio.lowlevel.checkpoint()
    assert caplog.records == []


def test_a_call_without_a_loop_says_what_to_do() -> None:
    session = session_with(make_tool("a"))
    with pytest.raises(PiKernelError, match=r"^tools\.a\(\) needs a running event loop"):
        session.tools.a()


async def test_a_closed_session_refuses_calls() -> None:
    session = session_with(make_tool("a"))
    bound = session.tools.a
    await session.close()
    with pytest.raises(PiKernelError, match="this session is closed"):
        bound()


# -- reach -----------------------------------------------------------------------------------------


async def test_inside_a_tool_the_namespace_reaches_callable_tools_only() -> None:
    async def look(_params: dict[str, Any], ctx: Any) -> str:
        names = dir(ctx.tools)
        inner = ctx.tools.inner()
        await inner
        return " ".join(names)

    session = session_with(
        make_tool("look", look),
        make_tool("inner"),
        make_tool("script", exposure="codemode"),
        make_tool("model", exposure="model-only"),
        make_tool("hidden", exposure="hidden"),
        make_tool("off", default_active=False),
    )
    assert dir(session.tools) == ["inner", "look", "model", "off", "script"]
    outcome = await session.execute_tool("look")
    assert outcome.text == "inner look script"
    assert [(c.id, c.parent_id) for c in session.trace.calls()] == [
        ("call-1", None),
        ("call-1/1", "call-1"),
    ]


async def test_a_context_without_a_session_has_no_tools() -> None:
    context = ToolContext()
    assert list(context.tools) == []
    assert not hasattr(context.tools, "read")
    outcome = await context.execute_tool("read", {"path": "x"})
    assert outcome.text == "Nested tool calls are not available in this context"
    assert (outcome.id, outcome.is_error, outcome.tool_call.arguments) == ("/0", True, {})


# -- help ------------------------------------------------------------------------------------------


def test_the_signature_comes_from_the_schema() -> None:
    schema = {
        "type": "object",
        "required": ["sql"],
        "properties": {
            "limit": {"type": "integer", "default": 5},
            "sql": {"type": "string"},
            "from": {"type": "string"},
            "a b": {},
            "flag": True,
        },
    }
    tool = make_tool("query", parameters=schema, description="Run it.")
    bound = session_with(tool).tools.query
    assert str(inspect.signature(bound)) == "(*, sql: str, limit: int = 5, flag=...)"
    assert str(bound.__doc__).startswith("Run it.")
    assert repr(bound).startswith("<function tools.query at ")


@pytest.mark.parametrize(
    "schema", [{}, {"properties": []}, {"properties": {1: {}}, "required": "x"}]
)
def test_odd_schemas_have_an_empty_signature(schema: Any) -> None:
    bound = session_with(make_tool("a", parameters=schema)).tools.a
    assert str(inspect.signature(bound)) == "()"


def test_a_namespace_of_10_000_tools_is_quick_to_ask() -> None:
    definitions = {f"t-{n}": make_tool(f"t-{n}") for n in range(10_000)}
    tools = ToolsNamespace(lambda: None, lambda: definitions)  # type: ignore[arg-type, return-value]
    assert tools.t_9999.definition.name == "t-9999"
    assert "t_9999" in tools


async def test_ids_follow_the_order_in_which_calls_are_made_not_that_of_their_tasks() -> None:
    session = session_with(make_tool("first"), make_tool("second"))
    started = session.tools.first()
    second = await session.execute_tool("second")
    await started
    assert second.id == "call-2"
    assert [(call.id, call.tool) for call in session.trace.calls()] == [
        ("call-1", "first"),
        ("call-2", "second"),
    ]


async def test_call_cancelled_before_its_task_began_is_recorded_as_aborted() -> None:
    session = session_with(make_tool("first"))
    started = session.tools.first()
    started.cancel()
    with pytest.raises(asyncio.CancelledError):
        await started
    assert [(call.id, call.status) for call in session.trace.calls()] == [("call-1", "aborted")]
