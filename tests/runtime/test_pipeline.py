"""The path of one call: the order of its steps, and what each says when it fails."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import anyio
import anyio.lowlevel
import pytest
from pydantic import Field

from pi_kernel import (
    AbortSignal,
    PiKernelError,
    TextContent,
    ToolCall,
    ToolContext,
    ToolDefinition,
    ToolOutcome,
    ToolResult,
    tool,
)
from tests.support.calls import LIMIT_SECONDS, error_wire, object_of, outer
from tests.support.engine import ANYTHING, Log, Notes, make_tool, session_with

LARGE_CHARS = 100_000_000


def fail_with(error: BaseException) -> Callable[..., Any]:
    def fail(*_: Any) -> None:
        raise error

    return fail


async def one(definition: ToolDefinition, args: Any = None, **options: Any) -> ToolOutcome:
    return await session_with(definition).execute_tool(definition.name, args, **options)


def executing(execute: Any, **fields: Any) -> ToolDefinition:
    return ToolDefinition(name="t", description="", parameters=ANYTHING, execute=execute, **fields)


# -- the order of the steps ------------------------------------------------------------------------


async def test_the_steps_come_in_order() -> None:
    notes = Notes()
    session = session_with(
        make_tool(
            "t",
            lambda params, _: notes.add(("execute", params), "done"),
            parameters=object_of("n", n="integer"),
            prepare_arguments=lambda raw: notes.add("prepare", raw | {"n": raw["m"]}),
            validate_input=lambda args, _: notes.append(("validate", dict(args))),
            check_permissions=lambda *_: notes.append("permissions"),
        )
    )
    session.on("tool_call", lambda _: notes.append("before"))
    session.on("tool_result", lambda _: notes.append("after"))
    session.on("tool_execution_start", lambda _: notes.append("start"))
    session.on("tool_execution_end", lambda _: notes.append("end"))
    outcome = await session.execute_tool("t", {"m": "1"})
    assert outcome.status == "ok"
    assert notes == [
        "start",
        "prepare",
        ("validate", {"m": "1", "n": 1}),
        "permissions",
        "before",
        ("execute", {"m": "1", "n": 1}),
        "after",
        "end",
    ]


async def test_names_are_exact() -> None:
    session = session_with(make_tool("Read"))
    assert (await session.execute_tool("read")).text == "Tool read not found"
    assert (await session.execute_tool("Read ")).text == "Tool Read  not found"


async def test_a_model_reaches_active_tools_only() -> None:
    session = session_with(make_tool("a"), make_tool("b"))
    session.set_active(["a"])
    batch = [ToolCall(id="A", name="a"), ToolCall(id="B", name="b")]
    outcomes = await session.execute_batch(batch)
    assert [o.text for o in outcomes] == ["a", "Tool b not found"]
    assert (await session.execute_tool("b")).text == "b"


@pytest.mark.parametrize(
    ("error", "status", "text"),
    [
        (ValueError("old form"), "invalid", "old form"),
        (KeyError(), "invalid", "KeyError"),
        (SystemExit("x"), "invalid", "x"),
        (KeyboardInterrupt(), "aborted", "Operation aborted"),
    ],
)
async def test_a_shim_that_raises_is_told(error: BaseException, status: str, text: str) -> None:
    outcome = await one(make_tool("t", prepare_arguments=fail_with(error)))
    assert outcome.result.to_wire() == error_wire(text)
    assert (outcome.status, outcome.error, outcome.duration_ms) == (status, error, None)


async def test_a_shim_gets_a_copy_of_the_raw_arguments() -> None:
    def change(raw: dict[str, Any]) -> dict[str, Any]:
        raw["list"].append(2)
        return raw

    given = {"list": [1]}
    outcome = await one(make_tool("t", lambda p, _: str(p), prepare_arguments=change), given)
    assert outcome.text == "{'list': [1, 2]}"
    assert outcome.args == given == {"list": [1]}


async def test_a_shim_that_returns_no_object_is_an_invalid_call() -> None:
    outcome = await one(make_tool("t", prepare_arguments=lambda _: "text"))
    assert outcome.status == "invalid"
    assert outcome.text == (
        'Validation failed for tool "t":\n  - root: expected object, got string\n\n'
        'Received arguments:\n"text"'
    )


async def test_an_error_in_the_models_argument_text_is_told_after_the_look_up() -> None:
    notes = Notes()
    session = session_with(make_tool("t", lambda *_: notes.add("ran", "x")))
    problem = "Tool arguments must be a JSON object\n\nReceived arguments:\n[1]"
    outcomes = await session.execute_batch(
        [
            ToolCall(id="A", name="t", arguments_error=problem),
            ToolCall(id="B", name="nope", arguments_error=problem),
        ]
    )
    assert [o.text for o in outcomes] == [
        f'Invalid arguments for tool "t": {problem}',
        "Tool nope not found",
    ]
    assert [o.status for o in outcomes] == ["invalid", "not_found"]
    assert notes == []


@pytest.mark.parametrize(
    ("args", "problem"),
    [
        ([1], "Tool arguments must be a JSON object"),
        ("text", "Tool arguments must be a JSON object"),
        ({"x": float("nan")}, "arguments.x: NaN cannot be written as JSON"),
        ({"x": b"x"}, "arguments.x: bytes cannot be written as JSON"),
        ({1: 2}, "arguments: the key 1 is not text"),
    ],
)
async def test_arguments_without_a_json_form_are_invalid(args: Any, problem: str) -> None:
    outcome = await one(make_tool("t"), args)
    assert (outcome.status, outcome.args) == ("invalid", {})
    assert outcome.text == f'Invalid arguments for tool "t": {problem}'


async def test_cyclic_arguments_are_invalid() -> None:
    cycle: dict[str, Any] = {}
    cycle["self"] = cycle
    outcome = await one(make_tool("t"), cycle)
    assert outcome.status == "invalid"
    assert "cycle" in outcome.text


async def test_execute_gets_its_own_copy_of_the_arguments() -> None:
    def change(params: dict[str, Any], _ctx: Any) -> str:
        params["list"].append(2)
        return "changed"

    given = {"list": [1]}
    outcome = await one(make_tool("t", change), given)
    assert outcome.args == given == {"list": [1]}


# -- the tool's own checks -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("no such file", "no such file"),
        (ValueError("bad range"), "bad range"),
        (ValueError(), "ValueError"),
        (False, 'Invalid input for tool "t"'),
        (["a"], "['a']"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_check_of_meaning_refuses_before_any_hook(
    answer: Any,
    text: str,
    is_async: bool,  # noqa: FBT001
) -> None:
    async def check(_args: Any, _ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return answer

    session = session_with(make_tool("t", validate_input=check if is_async else lambda *_: answer))
    asked = Notes()
    session.on("tool_call", asked.append)
    outcome = await session.execute_tool("t")
    assert outcome.result.to_wire() == error_wire(text)
    assert (outcome.status, outcome.duration_ms, asked) == ("invalid", None, [])


@pytest.mark.parametrize("answer", [None, True, ""])
async def test_a_check_of_meaning_that_finds_nothing_lets_pass(answer: Any) -> None:
    assert (await one(make_tool("t", validate_input=lambda *_: answer))).status == "ok"


@pytest.mark.parametrize("check", ["validate_input", "check_permissions"])
@pytest.mark.parametrize("error", [ValueError("boom"), SystemExit("boom")])
async def test_a_check_that_raises_refuses(check: str, error: BaseException) -> None:
    fields: dict[str, Any] = {check: fail_with(error)}
    outcome = await one(make_tool("t", **fields))
    if check == "validate_input":
        assert (outcome.status, outcome.text) == ("invalid", "boom")
    else:
        text = 'Permission denied for tool "t": boom'
        assert (outcome.status, outcome.text) == ("blocked", text)
    assert outcome.error is error


async def test_a_keyboard_interrupt_in_a_check_aborts_the_call() -> None:
    outcome = await one(make_tool("t", validate_input=fail_with(KeyboardInterrupt())))
    assert (outcome.status, outcome.text) == ("aborted", "Operation aborted")


@dataclass
class Answer:
    decision: str
    reason: str | None = None


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        ("deny", "the tool refused it"),
        (("deny", "outside"), "outside"),
        (["deny"], "the tool refused it"),
        ({"decision": "deny", "reason": "outside"}, "outside"),
        (Answer("deny", "outside"), "outside"),
        (Answer("deny"), "the tool refused it"),
    ],
)
@pytest.mark.parametrize("is_async", [False, True])
async def test_a_tool_may_deny_its_call(answer: Any, reason: str, is_async: bool) -> None:  # noqa: FBT001
    async def check(_args: Any, _ctx: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        return answer

    session = session_with(
        make_tool("t", check_permissions=check if is_async else lambda *_: answer)
    )
    outcome = await session.execute_tool("t")
    assert outcome.text == f'Permission denied for tool "t": {reason}'
    assert outcome.status == "blocked"
    assert session.trace.calls()[0].block_reason == reason


@pytest.mark.parametrize("answer", [None, "allow", "ask", ("ask", "sure?"), True, Answer("allow")])
async def test_without_permissions_only_a_denial_counts(answer: Any) -> None:
    assert (await one(make_tool("t", check_permissions=lambda *_: answer))).status == "ok"


# -- what execute returns --------------------------------------------------------------------------


async def test_a_tool_that_returns_nothing_is_an_error() -> None:
    async def execute(*_: Any) -> None:
        return None

    outcome = await one(executing(execute))
    assert outcome.result.to_wire() == error_wire('Tool "t" returned no result')
    assert outcome.status == "error"
    assert outcome.duration_ms is not None


async def test_a_decorated_function_that_returns_none_gives_null() -> None:
    @tool(name="t")
    async def nothing() -> None:
        """Return nothing."""

    outcome = await one(nothing)
    assert (outcome.text, outcome.value, outcome.status) == ("null", None, "ok")


@pytest.mark.parametrize(
    ("result", "wire"),
    [
        (ToolResult(), {"content": []}),
        ({"content": None, "details": 1}, {"content": [], "details": 1}),
        ({"content": "x"}, {"content": [{"type": "text", "text": "x"}]}),
        (
            {"content": ["x"], "structured_content": None, "is_error": True, "terminate": True},
            {
                "content": [{"type": "text", "text": "x"}],
                "structuredContent": None,
                "isError": True,
                "terminate": True,
            },
        ),
        (
            {"content": [], "structuredContent": {"s": 1}, "isError": True},
            {"content": [], "structuredContent": {"s": 1}, "isError": True},
        ),
        (
            {"rows": [1]},
            {
                "content": [{"type": "text", "text": '{"rows":[1]}'}],
                "structuredContent": {"rows": [1]},
            },
        ),
        ({}, {"content": [{"type": "text", "text": "{}"}], "structuredContent": {}}),
        ("text", {"content": [{"type": "text", "text": "text"}]}),
        (7, {"content": [{"type": "text", "text": "7"}], "structuredContent": 7}),
    ],
)
async def test_other_forms_of_a_result_are_read(result: Any, wire: dict[str, Any]) -> None:
    async def execute(*_: Any) -> Any:
        return result

    outcome = await one(executing(execute))
    assert outcome.result.to_wire() == wire


async def test_a_subclass_of_a_result_is_one() -> None:
    class Mine(ToolResult):
        pass

    outcome = await one(make_tool("t", lambda *_: Mine("mine")))
    assert outcome.text == "mine"


@pytest.mark.parametrize("result", [{"content": 5}, {"content": [{"type": "video"}]}])
async def test_a_result_whose_content_is_no_content_is_an_error(result: Any) -> None:
    async def execute(*_: Any) -> Any:
        return result

    outcome = await one(executing(execute))
    assert outcome.status == "error"
    assert outcome.text.startswith("content ")


@pytest.mark.parametrize("where", ["details", "structured_content", "value"])
async def test_a_cyclic_result_is_an_error(where: str) -> None:
    cycle: list[Any] = []
    cycle.append({"self": cycle})

    async def execute(*_: Any) -> Any:
        fields: dict[str, Any] = {where: cycle}
        return cycle if where == "value" else ToolResult("x", **fields)

    outcome = await one(executing(execute))
    text = "The result contains itself: a cycle cannot be written as JSON"
    assert (outcome.status, outcome.text) == ("error", text)


async def test_a_result_that_is_nested_too_deep_is_an_error() -> None:
    deep: Any = 1
    for _ in range(500):
        deep = [deep]
    outcome = await one(make_tool("t", lambda *_: ToolResult("x", details=deep)))
    assert outcome.status == "error"
    assert outcome.text == "The result is nested more than 200 levels deep"


async def test_what_json_cannot_say_is_replaced_on_the_wire() -> None:
    result = ToolResult(
        [TextContent("a\ud800b"), "c\udfffd"],
        details={"n": float("nan"), "bad\ud800key": "x\ud800"},
        structured_content=[float("inf"), 1.5],
    )
    outcome = await one(make_tool("t", lambda *_: result))
    assert outcome.result.to_wire() == {
        "content": [
            {"type": "text", "text": "a\ufffdb"},
            {"type": "text", "text": "c\ufffdd"},
        ],
        "details": {"n": None, "bad\ufffdkey": "x\ufffd"},
        "structuredContent": [None, 1.5],
    }


async def test_lone_surrogates_in_arguments_pass_and_are_replaced_on_the_wire() -> None:
    session = session_with(make_tool("t", lambda params, _: str(len(params["s"]))))
    log = Log(session)
    outcome = await session.execute_tool("t", {"s": "\ud800"})
    assert outcome.text == "1"
    assert log.events[0].to_wire()["args"] == {"s": "\ufffd"}


async def test_an_error_without_text_is_named_by_its_class() -> None:
    outcome = await one(make_tool("t", fail_with(ZeroDivisionError())))
    assert outcome.result.to_wire() == error_wire("ZeroDivisionError")


async def test_an_exception_stays_on_the_outcome_and_out_of_the_result() -> None:
    error = ValueError("boom")
    outcome = await one(make_tool("t", fail_with(error)))
    assert outcome.error is error
    assert error.__traceback__ is not None
    assert outcome.result.to_wire() == error_wire("boom")
    assert outcome.duration_ms is not None


async def test_an_exception_whose_text_fails_is_named_by_its_class() -> None:
    class Broken(Exception):  # noqa: N818
        def __str__(self) -> str:
            raise RuntimeError("no text either")

    outcome = await one(make_tool("t", fail_with(Broken())))
    assert (outcome.status, outcome.text) == ("error", "Broken")


# -- threads, waits, sizes -------------------------------------------------------------------------


async def test_a_plain_function_runs_in_a_worker_thread() -> None:
    def execute(*_: Any) -> ToolResult:
        return ToolResult(str(threading.get_ident() != loop_thread))

    loop_thread = threading.get_ident()
    assert (await one(executing(execute))).text == "True"


async def test_a_plain_function_may_return_an_awaitable() -> None:
    async def later() -> ToolResult:
        await anyio.lowlevel.checkpoint()
        return ToolResult(str(threading.get_ident() == loop_thread))

    loop_thread = threading.get_ident()
    assert (await one(executing(lambda *_: later()))).text == "True"
    future: asyncio.Future[ToolResult] = asyncio.get_running_loop().create_future()
    future.set_result(ToolResult("a future"))
    assert (await one(executing(lambda *_: future))).text == "a future"


async def test_many_tools_in_threads_may_wait_for_tools_in_threads() -> None:
    @tool
    def inner(n: int) -> int:
        """Return the number."""
        return n

    @tool
    def middle(n: int, ctx: ToolContext) -> int:
        """Ask another tool and wait for it."""
        all_are_here.wait(LIMIT_SECONDS)
        outcome: ToolOutcome = ctx.session.run(ctx.execute_tool("inner", {"n": n}))
        return int(outcome.value)

    threads = 40
    all_are_here = threading.Barrier(threads)
    session = session_with(inner, middle)
    with anyio.fail_after(LIMIT_SECONDS):
        outcomes = await asyncio.gather(
            *(session.execute_tool("middle", {"n": n}) for n in range(threads))
        )
    assert [o.value for o in outcomes] == list(range(threads))


async def test_the_duration_is_of_execute_alone() -> None:
    async def execute(*_: Any) -> ToolResult:
        await anyio.sleep(0.03)
        return ToolResult("done")

    session = session_with(executing(execute))

    async def slow(_event: Any) -> None:
        await anyio.sleep(0.03)

    session.subscribe(slow)
    outcome = await session.execute_tool("t")
    assert outcome.duration_ms is not None
    total_ms = session.trace.calls()[0].total_ms
    assert total_ms is not None
    assert outcome.duration_ms >= 25
    assert total_ms - outcome.duration_ms >= 25  # the start event's share


async def test_a_hundred_million_characters_pass_without_copies() -> None:
    text = "x" * LARGE_CHARS

    def echo(params: dict[str, Any], _ctx: Any) -> ToolResult:
        return ToolResult(params["text"])

    session = session_with(make_tool("t", echo, parameters=object_of("text", text="string")))
    log = Log(session)
    outcome = await session.execute_tool("t", {"text": text})
    assert outcome.text is text
    assert outcome.args["text"] is text
    assert log.of("tool_execution_end")[0].result.content[0].text is text
    assert len(repr(outcome)) < 200


async def test_a_tool_that_calls_itself_without_end_is_an_error_result() -> None:
    session = session_with(outer(lambda ctx: ctx.execute_tool("outer")))
    log = Log(session)
    with anyio.fail_after(LIMIT_SECONDS):
        outcome = await session.execute_tool("outer")
    assert outcome.is_error
    records = session.trace.calls()
    assert len(records) == 52
    assert {(record.status, record.text) for record in records} == {
        ("error", "Tool calls are nested more than 50 levels deep")
    }
    assert len(log.of("tool_execution_end")) == len(records)


@pytest.mark.parametrize("name", [None, 5, ["t"], b"t"])
async def test_a_name_that_is_no_text_is_misuse(name: Any) -> None:
    async def run(ctx: ToolContext) -> None:
        await ctx.execute_tool(name)

    session = session_with(outer(run))
    with pytest.raises(PiKernelError, match="a tool's name must be a text, got "):
        await session.execute_tool(name)
    assert (await session.execute_tool("outer")).text.startswith("a tool's name must be a text")
    assert [r.status for r in session.trace.calls()] == ["error"]


async def test_a_signal_that_is_none_of_ours_is_misuse() -> None:
    session = session_with(make_tool("t"))
    signal: Any = asyncio.Event()
    with pytest.raises(PiKernelError, match="signal must be an AbortSignal, got Event"):
        await session.execute_tool("t", signal=signal)

    class Signal(AbortSignal):
        pass

    class Name(str):
        __slots__ = ()

    assert (await session.execute_tool(Name("t"), signal=Signal())).status == "ok"
    assert len(session.trace) == 1


# -- functions as tools ----------------------------------------------------------------------------


@tool
async def halve(n: int) -> Any:
    """Halve an even number."""
    if n < 0:
        return ToolResult("negative", is_error=True)
    if n % 2:
        raise ValueError("odd")
    return n // 2


@tool
async def halve_later(n: int) -> Any:
    """Halve an even number, after a while."""
    await anyio.lowlevel.checkpoint()
    return await halve.function(n)


@pytest.mark.parametrize("definition", [halve, halve_later])
@pytest.mark.parametrize("is_hooked", [False, True])
@pytest.mark.parametrize(
    ("n", "status", "text"), [(4, "ok", "2"), (3, "error", "odd"), (-1, "error", "negative")]
)
async def test_a_function_gives_the_same_with_and_without_hooks(
    definition: ToolDefinition,
    is_hooked: bool,  # noqa: FBT001
    n: int,
    status: str,
    text: str,
) -> None:
    session = session_with(definition)
    if is_hooked:
        session.on("tool_call", lambda _: None)
        session.on("tool_result", lambda _: None)
    outcome = await session.execute_tool(definition.name, {"n": n})
    assert (outcome.status, outcome.text, outcome.is_error) == (status, text, status != "ok")
    assert outcome.duration_ms is not None


async def test_a_converter_of_a_functions_arguments_has_its_say() -> None:
    @tool
    async def weigh(item: Literal["a", "b"], at: Annotated[int, Field(gt=0)]) -> str:
        """Weigh an item."""
        return f"{item} {at}"

    session = session_with(weigh)
    assert (await session.execute_tool("weigh", {"item": "a", "at": "2"})).text == "a 2"
    assert (await session.execute_tool("weigh", {"item": "a", "at": 0})).status == "invalid"


async def test_a_typed_tool_converts_with_its_model() -> None:
    @tool
    async def when(day: dt.date) -> str:
        """Say which day it is."""
        return day.strftime("%d.%m.%Y")

    session = session_with(when)
    assert (await session.execute_tool("when", {"day": "2026-11-30"})).text == "30.11.2026"
    outcome = await session.execute_tool("when", {"day": "someday"})
    assert outcome.status == "invalid"
    assert outcome.text.startswith('Validation failed for tool "when":\n  - day: ')


async def test_a_hooks_extra_key_that_a_function_cannot_take_is_an_error_result() -> None:
    session = session_with(halve)
    session.on("tool_call", lambda event: event.input.update(extra=1))
    outcome = await session.execute_tool("halve", {"n": 4})
    assert outcome.status == "error"
    assert "extra" in outcome.text


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (False, "the tool refused it"),
        ("no", "check_permissions answered 'no', which is not allow, ask, deny or None"),
        (0, "check_permissions answered 0, which is not allow, ask, deny or None"),
    ],
)
async def test_an_answer_that_is_none_of_the_choices_refuses_the_call(
    answer: object, said: str
) -> None:
    session = session_with(make_tool("t", check_permissions=lambda *_: answer))
    outcome = await session.execute_tool("t")
    assert (outcome.status, outcome.text) == ("blocked", f'Permission denied for tool "t": {said}')
