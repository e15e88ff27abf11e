"""A session looks before it writes, and takes back what a call did."""

from __future__ import annotations

from pathlib import Path

import pytest

from pi_kernel import PiKernelError, ToolSession

EDIT = {"path": "note.txt", "edits": [{"oldText": "two", "newText": "2"}]}


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.txt"
    path.write_bytes(b"one\r\ntwo\r\n")
    path.chmod(0o640)
    return path


async def test_preview_shows_the_diff_and_changes_nothing(note: Path) -> None:
    session = ToolSession(note.parent)
    before = await session.preview("edit", EDIT)
    assert before.diff == " 1 one\n-2 two\n+2 2"
    assert note.read_bytes() == b"one\r\ntwo\r\n"
    assert session.trace.calls() == []


async def test_preview_of_an_edit_that_would_fail_says_what_the_tool_would_say(note: Path) -> None:
    session = ToolSession(note.parent)
    wrong = {"path": "note.txt", "edits": [{"oldText": "three", "newText": "3"}]}
    outcome = await session.execute_tool("edit", wrong)
    assert (await session.preview("edit", wrong)).problem == outcome.text


async def test_outcome_takes_back_what_its_call_did_to_the_byte(note: Path) -> None:
    session = ToolSession(note.parent)
    outcome = await session.execute_tool("edit", EDIT)
    assert note.read_bytes() == b"one\r\n2\r\n"
    assert "note.txt" in await outcome.undo()
    assert note.read_bytes() == b"one\r\ntwo\r\n"
    assert note.stat().st_mode & 0o777 == 0o640


async def test_session_takes_back_a_call_by_its_id_and_only_once(note: Path) -> None:
    session = ToolSession(note.parent)
    outcome = await session.execute_tool("write", {"path": "new.txt", "content": "new"})
    await session.undo(outcome.id)
    assert not (note.parent / "new.txt").exists()
    with pytest.raises(PiKernelError):
        await session.undo(outcome.id)


async def test_undo_leaves_a_file_alone_that_has_changed_since(note: Path) -> None:
    session = ToolSession(note.parent)
    outcome = await session.execute_tool("edit", EDIT)
    note.write_bytes(b"somebody else's")
    with pytest.raises(PiKernelError, match="changed"):
        await outcome.undo()
    assert note.read_bytes() == b"somebody else's"
