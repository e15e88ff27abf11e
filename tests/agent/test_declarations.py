"""What a model is told about tools, and when it is told of a change."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from pi_kernel import PiKernelError
from pi_kernel.models import ScriptedModel, call, say, turn
from tests.support.engine import Log, Notes, make_tool, session_with, texts


def declared(model: ScriptedModel, request: int = -1) -> list[str]:
    return [tool.name for tool in model.contexts[request].tools]


async def test_without_a_change_nothing_is_announced_again() -> None:
    session = session_with(make_tool("a"))
    model = ScriptedModel([call("a"), say("x"), say("y")])
    await session.prompt("go", model=model)
    await session.prompt("more", model=model)
    assert [line for line in texts(session.messages) if line.startswith("system")] == ["system +a"]
    assert [declared(model, n) for n in range(3)] == [["a"]] * 3


async def test_an_announcement_has_no_empty_lists() -> None:
    session = session_with(make_tool("a"))
    model = ScriptedModel([say("x"), say("y")])
    await session.prompt("go", model=model)
    session.set_active([])
    await session.prompt("more", model=model)
    systems = [m.to_wire() for m in session.messages if m.role == "system"]
    assert [sorted(wire) for wire in systems] == [
        ["content", "role", "timestamp", "toolsAdded"],
        ["content", "role", "timestamp", "toolsRemoved"],
    ]
    assert systems[1]["toolsRemoved"] == [{"name": "a"}]
    assert systems[0]["toolsAdded"] == [
        {"name": "a", "description": "The tool a.", "parameters": {"type": "object"}}
    ]


async def test_a_change_during_a_batch_is_seen_from_the_next_request_on() -> None:
    def switch(_params: dict[str, Any], ctx: Any) -> str:
        ctx.session.set_active(["b"])
        return "switched"

    session = session_with(
        make_tool("switch", switch), make_tool("a"), make_tool("b"), tool_execution="sequential"
    )
    session.set_active(["switch", "a"])
    batch = turn(call("switch"), call("a"), call("b"))
    model = ScriptedModel([batch, turn(call("a"), call("b")), say("x")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages) == [
        "system +switch +a",
        "user go",
        "assistant <switch> <a> <b>",
        "toolResult switched",
        "toolResult a",
        "toolResult Tool b not found",
        "system -switch -a +b",
        "assistant <a> <b>",
        "toolResult Tool a not found",
        "toolResult b",
        "assistant x",
    ]
    assert [declared(model, n) for n in range(3)] == [["switch", "a"], ["b"], ["b"]]


async def test_a_nested_call_sees_the_change_at_once() -> None:
    async def switch(_params: dict[str, Any], ctx: Any) -> str:
        before = await ctx.execute_tool("b")
        ctx.session.set_active(["b"])
        after = await ctx.execute_tool("b")
        return f"{before.text}, then {after.text}"

    session = session_with(make_tool("switch", switch), make_tool("b"))
    session.set_active(["switch"])
    run = await session.prompt("go", model=ScriptedModel([call("switch"), say("x")]))
    assert texts(run.messages)[3] == "toolResult Tool b not found, then b"


async def test_a_changed_description_is_removed_and_added() -> None:
    tool = make_tool("a")
    session = session_with(tool, make_tool("b"))
    model = ScriptedModel([say("x"), say("y")])
    await session.prompt("go", model=model)
    session.register(dataclasses.replace(tool, description="Other."))
    await session.prompt("more", model=model)
    assert texts(session.messages)[3:] == ["system -a +a", "user more", "assistant y"]
    added = session.messages[3].tools_added  # type: ignore[union-attr]  # a system message
    assert [each.description for each in added or ()] == ["Other."]
    assert declared(model) == ["a", "b"]


async def test_changed_parameters_are_a_change_and_an_equal_definition_is_none() -> None:
    session = session_with(make_tool("a"))
    model = ScriptedModel([say("x")] * 3)
    await session.prompt("go", model=model)
    session.register(make_tool("a"))
    await session.prompt("equal", model=model)
    assert texts(session.messages)[3:] == ["user equal", "assistant x"]
    session.register(make_tool("a", parameters={"type": "object", "properties": {"n": {}}}))
    await session.prompt("other", model=model)
    assert texts(session.messages)[5] == "system -a +a"


async def test_changing_a_schema_in_place_does_not_change_the_transcript() -> None:
    schema = {"type": "object", "properties": {"n": {"enum": [1]}}}
    session = session_with(make_tool("a", parameters=schema))
    await session.prompt("go", model=ScriptedModel([say("x")]))
    schema["properties"]["n"]["enum"].append(2)  # type: ignore[index]
    added = session.messages[0].tools_added  # type: ignore[union-attr]
    assert (added or [])[0].parameters == {"type": "object", "properties": {"n": {"enum": [1]}}}


async def test_constrained_sampling_is_declared() -> None:
    hint = {"type": "json_schema", "strict": "prefer"}
    session = session_with(make_tool("a", constrained_sampling=hint))
    await session.prompt("go", model=ScriptedModel([say("x")]))
    assert session.messages[0].to_wire()["toolsAdded"][0]["constrainedSampling"] == hint


async def test_instructions_and_tools_share_the_first_system_message() -> None:
    session = session_with(make_tool("a"))
    model = ScriptedModel([say("x")] * 3)
    run = await session.prompt("go", model=model, system_prompt="Be kind.")
    assert texts(run.messages) == ["system +a", "user go", "assistant x"]
    assert run.messages[0].content == "Be kind."
    run = await session.prompt("again", model=model, system_prompt="Be kind.")
    assert texts(run.messages) == ["user again", "assistant x"]
    run = await session.prompt("changed", model=model, system_prompt="Be short.")
    assert texts(run.messages) == ["system", "user changed", "assistant x"]
    assert model.contexts[2].system_prompt == "Be kind.\n\nBe short."


@pytest.mark.parametrize("value", [3, ["x"], b"x"])
async def test_instructions_must_be_text(value: Any) -> None:
    with pytest.raises(PiKernelError, match="system_prompt must be a text"):
        await session_with().prompt("go", model=ScriptedModel([]), system_prompt=value)


async def test_a_tool_that_is_registered_while_the_prompt_is_told_waits_for_the_next_request() -> (
    None
):
    session = session_with(make_tool("a"))
    once = iter([1])

    def register(event: Any) -> None:
        if event.message.role == "user" and next(once, None):
            session.register(make_tool("b"))

    session.on("message_end", register)
    model = ScriptedModel([turn(call("a"), call("b")), say("x")])
    run = await session.prompt("go", model=model)
    assert declared(model, 0) == ["a"]
    assert texts(run.messages)[3:6] == ["toolResult a", "toolResult Tool b not found", "system +b"]


# -- is_enabled ------------------------------------------------------------------------------------


async def test_a_disabled_tool_goes_and_comes_back_by_itself() -> None:
    on = {"a": True}

    async def look(params: dict[str, Any], ctx: Any) -> str:
        on["a"] = params["on"]
        return str((await ctx.execute_tool("a")).text)

    session = session_with(make_tool("a", is_enabled=lambda: on["a"]), make_tool("look", look))
    calls = [call("look", on=False), call("a"), call("look", on=True), call("a"), say("x")]
    model = ScriptedModel(calls)
    run = await session.prompt("go", model=model)
    assert texts(run.messages) == [
        "system +a +look",
        "user go",
        "assistant <look>",
        "toolResult Tool a not found",
        "system -a",
        "assistant <a>",
        "toolResult Tool a not found",
        "assistant <look>",
        "toolResult a",
        "system +a",
        "assistant <a>",
        "toolResult a",
        "assistant x",
    ]
    assert [declared(model, n) for n in (0, 1, 2, 3)] == [
        ["a", "look"], ["look"], ["look"], ["a", "look"],
    ]  # fmt: skip
    assert list(session.active) == ["a", "look"]


async def test_is_enabled_is_asked_once_for_a_request() -> None:
    asked = Notes()
    session = session_with(make_tool("a", is_enabled=lambda: asked.add(1, answer=True)))
    model = ScriptedModel([say("x"), say("y")])
    await session.prompt("go", model=model)
    assert len(asked) == 1
    await session.prompt("more", model=model)
    assert len(asked) == 2


async def test_an_is_enabled_that_raises_is_reported_and_disables() -> None:
    def fail() -> bool:
        raise RuntimeError("no flag")

    session = session_with(make_tool("a", is_enabled=fail))
    log = Log(session)
    model = ScriptedModel([say("x")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages) == ["user go", "assistant x"]
    assert log.errors() == [("is_enabled", "no flag")]


async def test_a_tool_that_is_disabled_when_its_call_comes_is_not_found() -> None:
    on = {"a": True}

    def switch_off(_context: Any) -> Any:
        on["a"] = False
        return call("a")

    session = session_with(make_tool("a", is_enabled=lambda: on["a"]))
    model = ScriptedModel([switch_off, say("x")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages)[3:] == ["toolResult Tool a not found", "system -a", "assistant x"]


# -- loadout ---------------------------------------------------------------------------------------


async def test_hidden_declarations_are_filtered_from_requests_but_not_from_the_transcript() -> None:
    def hide(_loadout: Any) -> Any:
        return {"hidden_declarations": ["a"]}

    async def orchestrate(_params: dict[str, Any], ctx: Any) -> str:
        return "nested " + str((await ctx.execute_tool("a")).text)

    session = session_with(make_tool("a"), make_tool("orch", orchestrate, prepare_loadout=hide))
    model = ScriptedModel([turn(call("orch"), call("a")), say("x")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages) == [
        "system +a +orch",
        "user go",
        "assistant <orch> <a>",
        "toolResult nested a",
        "toolResult a",
        "assistant x",
    ]
    assert texts(model.contexts[0].messages) == ["system +orch", "user go"]
    assert declared(model) == ["orch"]
    assert list(session.active) == ["a", "orch"]
    assert list(session.declared) == ["orch"]
    assert list(session.callable) == ["a", "orch"]


async def test_every_system_message_is_filtered_with_the_current_hidden_set() -> None:
    hidden: list[str] = []
    session = session_with(
        make_tool("a"),
        make_tool("orch", prepare_loadout=lambda _l: {"hidden_declarations": hidden}),
    )
    model = ScriptedModel([say("x")] * 3)
    await session.prompt("one", model=model)
    hidden.append("a")
    await session.prompt("two", model=model)
    session.set_active(["orch"])
    await session.prompt("three", model=model)
    systems = [m for m in model.contexts[2].messages if m.role == "system"]
    assert texts(systems) == ["system +orch", "system"]
    assert texts([m for m in session.messages if m.role == "system"]) == [
        "system +a +orch",
        "system -a",
    ]


async def test_a_description_that_a_hook_changes_is_announced_and_told() -> None:
    words = {"a": "First."}
    session = session_with(
        make_tool("a"), make_tool("orch", prepare_loadout=lambda _l: {"descriptions": dict(words)})
    )

    def change(_context: Any) -> Any:
        words["a"] = "Second."
        return call("a")

    model = ScriptedModel([change, say("x")])
    run = await session.prompt("go", model=model)
    assert texts(run.messages)[4] == "system -a +a"
    described = [[t.description for t in context.tools] for context in model.contexts]
    assert described == [["First.", "The tool orch."], ["Second.", "The tool orch."]]
    assert session.declared["a"].description == "Second."
    assert session.active["a"].description == "The tool a."


async def test_a_loadout_hook_that_raises_is_reported_and_the_others_apply() -> None:
    def fail(_loadout: Any) -> Any:
        raise ValueError("bad hook")

    session = session_with(
        make_tool("a"),
        make_tool("bad", prepare_loadout=fail),
        make_tool("orch", prepare_loadout=lambda _l: {"descriptions": {"a": "Told."}}),
    )
    log = Log(session)
    session.set_active(["a", "bad", "orch"])
    assert log.errors() == [("prepare_loadout", "bad hook")]
    assert "ValueError: bad hook" in log.of("hook_error")[0].stack
    assert list(session.active) == ["a", "bad", "orch"]
    assert session.declared["a"].description == "Told."
    await session.prompt("go", model=ScriptedModel([say("x")]))
    assert set(log.errors()) == {("prepare_loadout", "bad hook")}
