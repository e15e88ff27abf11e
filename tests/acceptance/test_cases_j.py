"""Cases J of the acceptance list: files, and what bounds and hides a tool."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from pi_kernel import AbortSignal, ToolContext, ToolResult, ToolSession
from pi_kernel.models import ScriptedModel, call, say
from pi_kernel.tools import create_tool_definition
from tests.support.calls import calls, outer
from tests.support.engine import make_tool, session_with, texts


class HeldFiles:
    """Writes that start in order and end when they are told to."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.ended: list[str] = []
        self._gates: dict[str, anyio.Event] = {}

    async def mkdir(self, _path: str) -> None:
        pass

    async def write_file(self, _path: str, content: str) -> None:
        self.started.append(content)
        await self.gate(content).wait()
        self.ended.append(content)

    def gate(self, content: str) -> anyio.Event:
        return self._gates.setdefault(content, anyio.Event())

    async def until_started(self, content: str) -> None:
        with anyio.fail_after(5):
            while content not in self.started:  # noqa: ASYNC110 - the tool has no event to wait for
                await anyio.sleep(0.001)


def writing_session(folder: Path) -> tuple[ToolSession, HeldFiles]:
    files = HeldFiles()
    tool = create_tool_definition("write", operations=files)
    return session_with(tool, cwd=folder), files


def write(session: ToolSession, path: str, content: str, **options: Any) -> asyncio.Task[Any]:
    return asyncio.ensure_future(
        session.execute_tool("write", {"path": path, "content": content}, **options)
    )


async def test_j1_one_file_is_one_line_other_files_run_beside_it(tmp_path: Path) -> None:
    session, files = writing_session(tmp_path)
    first = write(session, "a.txt", "one")
    await files.until_started("one")
    second = write(session, "a.txt", "two")
    other = write(session, "b.txt", "other")
    files.gate("other").set()
    await other
    assert files.started == ["one", "other"]

    files.gate("one").set()
    files.gate("two").set()
    await asyncio.gather(first, second)
    assert files.ended == ["other", "one", "two"]


@pytest.mark.skipif(os.name == "nt", reason="links need leave there")
async def test_j1_a_link_shares_the_slot_of_its_file(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    (tmp_path / "link").symlink_to("a.txt")
    session, files = writing_session(tmp_path)
    first = write(session, "a.txt", "one")
    await files.until_started("one")
    second = write(session, "link", "two")
    other = write(session, "b.txt", "other")
    files.gate("other").set()
    await other
    assert files.started == ["one", "other"]
    files.gate("one").set()
    files.gate("two").set()
    await asyncio.gather(first, second)


def edit_call(call_id: str, old: str, new: str) -> dict[str, Any]:
    edits = [{"oldText": old, "newText": new}]
    return {"id": call_id, "name": "edit", "arguments": {"path": "a.txt", "edits": edits}}


async def test_j2_two_edits_of_different_places_in_one_batch_both_survive(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    session = ToolSession(tmp_path, tools="coding")
    outcomes = await session.execute_batch(
        [edit_call("A", "one", "1"), edit_call("B", "three", "3")]
    )
    assert [o.status for o in outcomes] == ["ok", "ok"]
    assert (tmp_path / "a.txt").read_text() == "1\ntwo\n3\n"


async def test_j2_the_second_edit_of_the_same_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    session = ToolSession(tmp_path, tools="coding")
    outcomes = await session.execute_batch([edit_call("A", "one", "1"), edit_call("B", "one", "2")])
    assert [o.status for o in outcomes] == ["ok", "error"]
    assert (tmp_path / "a.txt").read_text() == "1\n"


async def test_j3_edit_and_write_share_the_queue(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    files = HeldFiles()
    session = session_with(
        create_tool_definition("write", operations=files),
        create_tool_definition("edit"),
        cwd=tmp_path,
    )
    first = write(session, "a.txt", "held")
    await files.until_started("held")
    edits = {"path": "a.txt", "edits": [{"oldText": "one", "newText": "1"}]}
    second = asyncio.ensure_future(session.execute_tool("edit", edits))
    other = write(session, "b.txt", "other")
    files.gate("other").set()
    await other
    assert (tmp_path / "a.txt").read_text() == "one\n"
    files.gate("held").set()
    assert (await first).status == (await second).status == "ok"
    assert (tmp_path / "a.txt").read_text() == "1\n"


async def test_j3_an_aborted_write_holds_its_slot_until_its_input_output_has_settled(
    tmp_path: Path,
) -> None:
    session, files = writing_session(tmp_path)
    signal = AbortSignal()
    first = write(session, "a.txt", "one", signal=signal)
    await files.until_started("one")
    second = write(session, "a.txt", "two")
    files.gate("two").set()
    signal.abort()
    done, _ = await asyncio.wait({first, second}, timeout=0.5)
    assert done == set()
    assert files.started == ["one"]

    files.gate("one").set()
    assert (await first).status == "aborted"
    assert (await second).status == "ok"
    assert files.ended == ["one", "two"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"oldText": "one", "newText": "1"},
        {"edits": '[{"oldText": "one", "newText": "1"}]'},
    ],
)
async def test_j4_older_forms_of_edit_are_accepted_and_not_declared(
    tmp_path: Path, arguments: dict[str, Any]
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    session = ToolSession(tmp_path, tools="coding")
    assert sorted(session.registered["edit"].parameters["properties"]) == ["edits", "path"]
    outcome = await session.execute_tool("edit", {"path": "a.txt", **arguments})
    assert outcome.status == "ok", outcome.text
    assert (tmp_path / "a.txt").read_text() == "1\n"


async def test_j5_a_character_split_over_two_chunks_is_one_character() -> None:
    class Split:
        async def exec(
            self, _command: str, _cwd: str, *, on_data: Callable[[bytes], Any], **_: Any
        ) -> int:
            on_data(b"\xe2\x82")
            await anyio.lowlevel.checkpoint()
            on_data(b"\xac\n")
            return 0

    session = session_with(create_tool_definition("bash", operations=Split()))
    outcome = await session.execute_tool("bash", {"command": "printf euro"})
    assert outcome.text.strip() == "€"


def read_and_remove(path: Path) -> tuple[str, int]:
    text, mode = path.read_text(), path.stat().st_mode & 0o777
    path.unlink()
    return text, mode


async def test_j6_a_models_result_is_cut_to_its_limit_and_a_scripts_is_whole() -> None:
    whole = "".join(str(n % 10) for n in range(5000))
    inner = make_tool("long", lambda *_: ToolResult(whole), max_result_chars=1000)

    async def script(ctx: ToolContext) -> str:
        return str(len((await ctx.execute_tool("long")).text))

    session = session_with(inner, outer(script))
    cut, nested = await session.execute_batch(calls("long", "outer"))

    path = cut.details["fullOutputPath"]
    notice = f"[Output too long: 5000 characters, limit 1000. Full output: {path}]"
    assert cut.text == f"{whole[:500]}{whole[-500:]}\n{notice}"
    assert read_and_remove(Path(path)) == (whole, 0o600)
    assert nested.text == "5000"
    assert (await session.execute_tool("long")).text == whole


async def test_j7_a_tool_that_is_switched_off_goes_and_comes_back() -> None:
    is_on = True

    async def script(ctx: ToolContext) -> str:
        return (await ctx.execute_tool("flag")).text

    flag = make_tool("flag", is_enabled=lambda: is_on)

    def switch(_params: Any, _ctx: Any) -> str:
        nonlocal is_on
        is_on = not is_on
        return "switched"

    session = session_with(flag, outer(script), make_tool("switch", switch))
    model = ScriptedModel(
        [call("switch"), call("flag"), call("outer"), call("switch"), call("flag"), say("bye")]
    )
    run = await session.prompt("go", model=model)
    assert texts(run.messages) == [
        "system +flag +outer +switch",
        "user go",
        "assistant <switch>",
        "toolResult switched",
        "system -flag",
        "assistant <flag>",
        "toolResult Tool flag not found",
        "assistant <outer>",
        "toolResult Tool flag not found",
        "assistant <switch>",
        "toolResult switched",
        "system +flag",
        "assistant <flag>",
        "toolResult flag",
        "assistant bye",
    ]
