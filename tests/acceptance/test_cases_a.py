"""Cases A of the acceptance list: validation and coercion."""

from __future__ import annotations

from typing import Any

import pytest

from pi_kernel.models import ScriptedModel, call, say
from tests.support.calls import Receiver, object_of
from tests.support.engine import Log, make_tool, session_with

INTEGER = object_of("n", n="integer")


async def test_a01_a_numeric_text_becomes_the_integer() -> None:
    assert await Receiver(INTEGER).args_for({"n": "42"}) == {"n": 42}


@pytest.mark.parametrize(("given", "received"), [(True, 1), (None, 0), (False, 0)])
async def test_a03_booleans_and_null_become_integers(given: Any, received: int) -> None:
    args = await Receiver(INTEGER).args_for({"n": given})
    assert args == {"n": received}
    assert type(args["n"]) is int


async def test_a05_a_text_that_is_no_number_is_refused_with_the_whole_frame() -> None:
    outcome = await Receiver(INTEGER).call({"n": "abc"})
    assert outcome.text == (
        'Validation failed for tool "t":\n  - n: expected integer, got string\n\n'
        'Received arguments:\n{\n  "n": "abc"\n}'
    )


async def test_a07_a_list_of_one_is_not_unwrapped() -> None:
    tool = Receiver(object_of("s", s="string"))
    assert await tool.problems_of({"s": ["a"]}) == ["  - s: expected string, got array"]


@pytest.mark.parametrize(("given", "received"), [("x", ["x"]), ('["x","y"]', ['["x","y"]'])])
async def test_a09_a_single_value_is_wrapped_and_json_text_is_not_parsed(
    given: str, received: list[str]
) -> None:
    tool = Receiver(object_of("a", a={"type": "array", "items": {"type": "string"}}))
    assert await tool.args_for({"a": given}) == {"a": received}


async def test_a11_enum_and_const() -> None:
    texts = Receiver(object_of("e", e={"enum": ["a", "b"]}))
    assert await texts.problems_of({"e": "c"}) == ['  - e: expected one of ["a","b"]']
    numbers = Receiver(object_of("e", e={"enum": [1, 2]}))
    assert await numbers.args_for({"e": "2"}) == {"e": 2}
    assert await Receiver(object_of("e", e={"const": True})).args_for({"e": "true"}) == {"e": True}


async def test_a13_missing_and_unknown_fields() -> None:
    assert await Receiver(object_of("a", a="string")).problems_of({}) == ["  - a: missing"]
    closed = Receiver(object_of("a", a="string") | {"additionalProperties": False})
    assert await closed.problems_of({"a": "x", "b": 1}) == ["  - b: unknown field"]
    edit = object_of("oldText", oldText="string")
    nested = Receiver(object_of("edits", edits={"type": "array", "items": edit}))
    assert await nested.problems_of({"edits": [{}]}) == ["  - edits.0.oldText: missing"]


async def test_a15_defaults_are_not_filled_in_and_unknown_keys_pass() -> None:
    tool = Receiver(object_of(a={"type": "string", "default": "z"}))
    assert await tool.args_for({"other": 1}) == {"other": 1}


async def test_a17_at_most_twenty_members_of_an_enum_are_listed() -> None:
    tool = Receiver(object_of("e", e={"enum": [f"v{n}" for n in range(25)]}))
    listed = ",".join(f'"v{n}"' for n in range(20))
    assert await tool.problems_of({"e": "x"}) == [
        f"  - e: expected one of [{listed}, ... and 5 more]"
    ]


async def test_a19_the_transcript_and_the_events_keep_the_raw_value() -> None:
    received: list[Any] = []

    def run(params: Any, ctx: Any) -> str:
        received.append(params)
        ctx.update("half")
        return "done"

    session = session_with(make_tool("t", run, parameters=INTEGER))
    log = Log(session)
    await session.prompt("go", model=ScriptedModel([call("t", n="42"), say("bye")]))

    assert received == [{"n": 42}]
    reply: Any = session.messages[2]
    assert [block.arguments for block in reply.tool_calls] == [{"n": "42"}]
    started, updated = log.of("tool_execution_start", "tool_execution_update")
    assert (started.args, updated.args) == ({"n": "42"}, {"n": "42"})
    (ended,) = log.of("tool_execution_end")
    assert ended.args == {"n": "42"}
