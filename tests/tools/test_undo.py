"""Undo: exact bytes and mode come back, or a refusal says why; the file is never half of either."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import gc
import os
import stat
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_kernel import AbortSignal, PiKernelError, ToolCall, ToolContext, ToolSession
from pi_kernel.runtime.outcome import ToolOutcome
from pi_kernel.tools import _recorded_write, create_tool_definition, with_file_mutation_queue
from pi_kernel.tools._atomic import write_atomically
from pi_kernel.tools._journal import FileChange, Journal, KeptContent, journal
from pi_kernel.tools._recorded_write import write_recorded
from pi_kernel.tools._undo import undo, undo_call

ALL_BYTES = bytes(range(256))
"""No text at all in UTF-8."""


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


async def write(session: ToolSession, path: str, content: str = "new") -> ToolOutcome:
    outcome = await session.execute_tool("write", {"path": path, "content": content})
    assert outcome.status == "ok", outcome.text
    return outcome


async def edit(session: ToolSession, path: str, old: str, new: str) -> ToolOutcome:
    edits = [{"oldText": old, "newText": new}]
    outcome = await session.execute_tool("edit", {"path": path, "edits": edits})
    assert outcome.status == "ok", outcome.text
    return outcome


async def refusal(session: object, call_id: str) -> str:
    with anyio.fail_after(10):
        with pytest.raises(PiKernelError) as refused:
            await undo(session, call_id)
    return str(refused.value)


def names_in(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def everything(folder: Path) -> dict[Path, tuple[int, ...]]:
    """Return what tells of a change of any entry; to look counts as none."""
    found: dict[Path, tuple[int, ...]] = {}
    for path in folder.rglob("*"):
        status = path.lstat()
        found[path] = (status.st_mode, status.st_ino, status.st_size, status.st_ctime_ns)
    return found


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# -- what comes back ---------------------------------------------------------------------------


@pytest.mark.parametrize("size_bytes", [0, 1, 32 * 1024, 32 * 1024 + 1, 3_000_000])
async def test_undo_of_a_write_restores_bytes_and_mode(tmp_path: Path, size_bytes: int) -> None:
    target = tmp_path / "a.bin"
    old = (ALL_BYTES * (size_bytes // 256 + 1))[:size_bytes]
    target.write_bytes(old)
    target.chmod(0o4751)
    async with ToolSession(tmp_path) as session:
        await write(session, "a.bin", "new")
        assert target.read_bytes() == b"new"
        text = await undo(session, "call-1")
    assert text == f"Restored {target} as it was before call-1 ({size_bytes} bytes)."
    assert (target.read_bytes() == old, mode_of(target)) == (True, 0o4751)
    assert names_in(tmp_path) == ["a.bin"]


async def test_undo_of_an_edit_restores_bytes_that_the_edit_had_to_replace(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"\xef\xbb\xbfone\r\n\xff\xfe two\r")
    async with ToolSession(tmp_path) as session:
        outcome = await edit(session, "a.txt", "one", "1")
        assert target.read_bytes() == b"\xef\xbb\xbf1\r\n" + "\ufffd\ufffd two\r".encode()
        await undo(session.host, outcome.id)
    assert target.read_bytes() == b"\xef\xbb\xbfone\r\n\xff\xfe two\r"


async def test_results_do_not_show_that_there_is_an_undo(tmp_path: Path) -> None:
    async with ToolSession(tmp_path) as session:
        outcome = await write(session, "a.txt")
    assert outcome.result.to_wire() == {
        "content": [{"type": "text", "text": "Successfully wrote to a.txt"}]
    }


async def test_undo_of_a_new_file_removes_it_and_the_folders_made_for_it(tmp_path: Path) -> None:
    (tmp_path / "x").mkdir()
    async with ToolSession(tmp_path) as session:
        await write(session, "x/y/z/a.txt")
        text = await undo(session, "call-1")
    assert text == (
        f"Removed {tmp_path}/x/y/z/a.txt, which call-1 had created,"
        f" and the empty folder {tmp_path}/x/y."
    )
    assert names_in(tmp_path) == ["x"]


async def test_undo_of_a_new_file_keeps_folders_with_something_in_them(tmp_path: Path) -> None:
    async with ToolSession(tmp_path) as session:
        await write(session, "x/y/a.txt")
        await write(session, "x/b.txt")
        text = await undo(session, "call-1")
    assert text.endswith(f", and the empty folder {tmp_path}/x/y.")
    assert names_in(tmp_path) == ["x", "x/b.txt"]


async def test_undo_of_a_new_file_in_a_folder_that_was_there_leaves_the_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "x").mkdir()
    async with ToolSession(tmp_path) as session:
        await write(session, "x/a.txt")
        assert await undo(session, "call-1") == (
            f"Removed {tmp_path}/x/a.txt, which call-1 had created."
        )
    assert names_in(tmp_path) == ["x"]


async def test_undo_through_a_link_restores_the_target_and_keeps_the_link(tmp_path: Path) -> None:
    (tmp_path / "real.txt").write_text("old")
    (tmp_path / "link").symlink_to("real.txt")
    async with ToolSession(tmp_path) as session:
        await write(session, "link")
        assert (tmp_path / "real.txt").read_text() == "new"
        await undo(session, "call-1")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real.txt").read_text() == "old"


async def test_undo_of_a_file_made_through_a_dangling_link_leaves_the_link_dangling(
    tmp_path: Path,
) -> None:
    (tmp_path / "link").symlink_to("real.txt")
    async with ToolSession(tmp_path) as session:
        await write(session, "link")
        text = await undo(session, "call-1")
    assert text == f"Removed {tmp_path}/real.txt, which call-1 had created."
    assert names_in(tmp_path) == ["link"]


async def test_undo_keeps_other_names_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("old")
    os.link(tmp_path / "a", tmp_path / "b")
    async with ToolSession(tmp_path) as session:
        await write(session, "a")
        await undo(session, "call-1")
    assert (tmp_path / "b").read_text() == "old"
    assert (tmp_path / "a").samefile(tmp_path / "b")


async def test_changes_are_taken_back_one_after_the_other(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    async with ToolSession(tmp_path) as session:
        await write(session, "a.txt", "one")
        await edit(session, "a.txt", "one", "two")
        await write(session, "a.txt", "three")
        for call_id, text in (("call-3", "two"), ("call-2", "one")):
            await undo(session, call_id)
            assert target.read_text() == text
        await undo(session, "call-1")
    assert names_in(tmp_path) == []


async def test_a_file_that_was_rewritten_with_the_same_bytes_is_unchanged(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    async with ToolSession(tmp_path) as session:
        await write(session, "a.txt")
        target.unlink()
        target.write_text("new")
        await undo(session, "call-1")
    assert target.read_text() == "old"


async def test_undo_works_after_the_session_was_closed(tmp_path: Path) -> None:
    async with ToolSession(tmp_path) as session:
        await write(session, "a.txt")
    await undo(session, "call-1")
    assert names_in(tmp_path) == []


async def test_a_call_that_was_aborted_after_the_change_can_be_undone(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    signal = AbortSignal()
    ctx = SimpleNamespace(cwd=str(tmp_path), session=None, session_id="late abort")

    real_replace = os.replace

    def replace_and_abort(source: str, destination: str) -> None:
        real_replace(source, destination)
        signal.abort()

    tool: Any = create_tool_definition("write", tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "replace", replace_and_abort)
        with pytest.raises(PiKernelError, match=r"^Operation aborted$"):
            await tool.execute("c", {"path": "a.txt", "content": "new"}, signal, None, ctx)
    assert target.read_text() == "new"
    await undo("late abort", "c")
    assert target.read_text() == "old"


def test_a_write_in_place_that_failed_half_way_can_be_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"old content")
    os.link(target, tmp_path / "b")  # so that it is written in place
    real_write = os.write

    def write_three_bytes(descriptor: int, data: bytes) -> int:
        if len(data) < len(b"new content"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real_write(descriptor, bytes(data[:3]))

    ctx = SimpleNamespace(session=None, session_id="full disk")
    maker = journal.maker(ctx, "c", None)
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write_three_bytes)
        with pytest.raises(OSError, match="ENOSPC"):
            write_recorded(str(target), b"new content", check_stop=lambda: None, maker=maker)
    assert target.read_bytes() == b"new"
    asyncio.run(undo("full disk", "c"))
    assert (tmp_path / "b").read_bytes() == b"old content"


def test_a_write_that_failed_before_the_change_leaves_nothing_to_undo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a"
    target.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    maker = journal.maker(SimpleNamespace(session=None, session_id="bad disk"), "c", None)
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="EIO"):
            write_recorded(str(target), b"new", check_stop=lambda: None, maker=maker)
    assert journal.find("bad disk", "c") == []


@settings(max_examples=30)
@given(old=st.none() | st.binary(max_size=200), new=st.text(max_size=50), size=st.integers(0, 3))
async def test_undo_gives_back_whatever_there_was(
    tmp_path_factory: pytest.TempPathFactory, old: bytes | None, new: str, size: int
) -> None:
    folder = tmp_path_factory.mktemp("any")
    if old is not None:
        old *= 10**size
        (folder / "a").write_bytes(old)
    async with ToolSession(folder) as session:
        await write(session, "a", new)
        await undo(session, "call-1")
    if old is None:
        assert names_in(folder) == []
    else:
        assert (folder / "a").read_bytes() == old


# -- refusals ----------------------------------------------------------------------------------


def change_bytes(target: Path) -> str:
    target.write_text("NEW")
    return "was changed"


def change_size(target: Path) -> str:
    target.write_text("new and more")
    return "was changed"


def change_mode(target: Path) -> str:
    target.chmod(0o600)
    return "got the mode 0600 instead of 0644"


def remove(target: Path) -> str:
    target.unlink()
    return "was removed"


def replace_by_folder(target: Path) -> str:
    target.unlink()
    target.mkdir()
    return "was replaced by a folder"


def replace_by_link_to_the_same_bytes(target: Path) -> str:
    target.rename(target.with_name("elsewhere"))
    target.symlink_to("elsewhere")
    return "was replaced by a symbolic link"


def replace_by_pipe(target: Path) -> str:
    target.unlink()
    os.mkfifo(target)
    return "was replaced by a named pipe (FIFO)"


def replace_folder_by_link(target: Path) -> str:
    target.parent.rename(target.parent.with_name("moved"))
    target.parent.symlink_to("moved")
    return "was made to lead to another file"


def remove_folder(target: Path) -> str:
    target.unlink()
    target.parent.rmdir()
    return "was removed"


def replace_folder_by_file(target: Path) -> str:
    target.unlink()
    target.parent.rmdir()
    target.parent.write_text("")
    return "was removed"


CHANGES = [
    change_bytes,
    change_size,
    change_mode,
    remove,
    replace_by_folder,
    replace_by_link_to_the_same_bytes,
    replace_by_pipe,
    replace_folder_by_link,
    remove_folder,
    replace_folder_by_file,
]


@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("change", CHANGES)
async def test_a_file_that_changed_since_is_left_alone(
    tmp_path: Path, change: Callable[[Path], str], *, is_new: bool
) -> None:
    target = tmp_path / "x" / "a.txt"
    target.parent.mkdir()
    if not is_new:
        target.write_text("old")
    async with ToolSession(tmp_path) as session:
        await write(session, "x/a.txt", "new")
        problem = change(target)
        before = everything(tmp_path)
        text = await refusal(session, "call-1")
        assert everything(tmp_path) == before
    assert text == f"Cannot undo call-1: {target} {problem} since then."


async def test_refusal_names_the_later_call_that_has_to_be_undone_first(tmp_path: Path) -> None:
    async with ToolSession(tmp_path) as session:
        await write(session, "a.txt", "one")
        await write(session, "a.txt", "two")
        await write(session, "a.txt", "three")
        assert await refusal(session, "call-1") == (
            f"Cannot undo call-1: {tmp_path}/a.txt was changed since then."
            " call-3 changed it later; undo that first."
        )


async def test_undo_twice_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    async with ToolSession(tmp_path) as session:
        await write(session, "a.txt")
        await undo(session, "call-1")
        assert await refusal(session, "call-1") == "call-1 was undone already."
    assert (tmp_path / "a.txt").read_text() == "old"


async def test_two_undos_at_once_restore_once(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    async with ToolSession(tmp_path) as session:
        await write(session, "a.txt")
        both = await asyncio.gather(
            undo(session, "call-1"), undo(session, "call-1"), return_exceptions=True
        )
    assert [isinstance(answer, PiKernelError) for answer in both] == [False, True]


@pytest.mark.parametrize("call_id", ["call-1", "call-2", "call-99", ""])
async def test_a_call_that_changed_no_file_has_nothing_to_undo(
    tmp_path: Path, call_id: str
) -> None:
    async with ToolSession(tmp_path) as session:
        await session.execute_tool("ls", {})
        await session.execute_tool("write", {"path": ".", "content": ""})
        assert await refusal(session, call_id) == (
            f"Nothing to undo: no change of a file by {call_id} is known."
        )


async def test_sessions_do_not_see_each_other_s_changes_even_with_one_id(tmp_path: Path) -> None:
    first = ToolSession(tmp_path, session_id="same")
    second = ToolSession(tmp_path, session_id="same")
    await write(first, "a.txt")
    assert "no change of a file by call-1" in await refusal(second, "call-1")
    await write(second, "b.txt")
    await undo(second, "call-1")
    assert names_in(tmp_path) == ["a.txt"]


async def test_undo_of_an_outcome_means_exactly_its_call(tmp_path: Path) -> None:
    async with ToolSession(tmp_path) as session:
        first = await write(session, "a.txt")
        failed = await session.execute_tool("write", {"path": ".", "content": ""})
        text = await undo_call(first.call)
        assert text == f"Removed {tmp_path}/a.txt, which call-1 had created."
        with pytest.raises(PiKernelError, match=r"^Nothing to undo: no change of a file by call-2"):
            await undo_call(failed.call)


async def test_undo_of_an_outcome_without_a_session_is_refused() -> None:
    outcome = await ToolContext().execute_tool("write", {"path": "a.txt", "content": ""})
    with pytest.raises(PiKernelError, match=r"^Nothing to undo: no change of a file"):
        await undo_call(outcome.call)


async def test_an_id_that_a_model_gives_twice_means_the_last_call_or_the_one_of_the_signal(
    tmp_path: Path,
) -> None:
    async with ToolSession(tmp_path) as session:
        outcomes = []
        for path in ("a.txt", "b.txt"):
            args = {"path": path, "content": "x"}
            call = ToolCall(id="same", name="write", arguments=args)
            outcomes += await session.execute_batch([call])
        assert names_in(tmp_path) == ["a.txt", "b.txt"]
        await undo(session, "same", signal=outcomes[0].call.signal)
        assert names_in(tmp_path) == ["b.txt"]
        await undo(session, "same")
    assert names_in(tmp_path) == []


async def test_all_changes_of_one_call_are_taken_back_newest_first(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old")
    maker = journal.maker(SimpleNamespace(session=None, session_id="both"), "c", None)
    for name, data in (("a.txt", b"1"), ("a.txt", b"2"), ("b.txt", b"3")):
        path = str(tmp_path / name)
        write_recorded(path, data, check_stop=lambda: None, maker=maker)
    assert await undo("both", "c") == (
        f"Removed {tmp_path}/b.txt, which c had created."
        f" Restored {tmp_path}/a.txt as it was before c (1 bytes)."
        f" Restored {tmp_path}/a.txt as it was before c (3 bytes)."
    )
    assert names_in(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"


async def test_a_call_without_a_session_leaves_nothing_to_undo(tmp_path: Path) -> None:
    tool: Any = create_tool_definition("write", tmp_path)
    for ctx in (None, SimpleNamespace(cwd=str(tmp_path))):
        await tool.execute("alone", {"path": "a.txt", "content": "x"}, None, None, ctx)
        assert "no change of a file" in await refusal(ctx, "alone")


async def test_a_change_through_operations_is_refused_with_its_reason(tmp_path: Path) -> None:
    operations = {"write_file": lambda *_: None, "mkdir": lambda _: None}
    tool = create_tool_definition("write", "/far", operations=operations)
    async with ToolSession(tmp_path, tools=[tool]) as session:
        await session.execute_tool("write", {"path": "/far/a.txt", "content": "x"})
        assert await refusal(session, "call-1") == (
            "Cannot undo call-1: /far/a.txt: it was written through the tool's own operations,"
            " which keep no old content."
        )


async def test_an_undo_that_cannot_write_says_so_and_can_be_tried_again(
    unprivileged_folder: Path,
) -> None:
    folder = unprivileged_folder / "f"
    folder.mkdir()
    (folder / "a.txt").write_text("old")
    async with ToolSession(folder) as session:
        await write(session, "a.txt")
        (folder / "a.txt").chmod(0o444)
        change = journal.find(session, "call-1")[0]
        assert change.after is not None
        folder.chmod(0o555)
        text = await refusal(session, "call-1")
        assert text.endswith("got the mode 0444 instead of 0644 since then.")
        (folder / "a.txt").chmod(0o644)
        os.link(folder / "a.txt", unprivileged_folder / "b.txt")
        await undo(session, "call-1")
        folder.chmod(0o755)
    assert (unprivileged_folder / "b.txt").read_text() == "old"


async def test_a_new_file_in_a_folder_that_became_read_only_stays_and_the_reason_is_told(
    unprivileged_folder: Path,
) -> None:
    folder = unprivileged_folder / "f"
    folder.mkdir()
    async with ToolSession(folder) as session:
        await write(session, "a.txt")
        folder.chmod(0o555)
        assert await refusal(session, "call-1") == (
            f"Cannot undo call-1: EACCES: permission denied, open '{folder}/a.txt'."
        )
        folder.chmod(0o755)
        await undo(session, "call-1")
    assert names_in(folder) == []


async def test_undo_waits_for_a_change_of_the_file_that_was_queued_before_it(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("old")
    entered, go_on = anyio.Event(), anyio.Event()

    async def hold() -> None:
        entered.set()
        await go_on.wait()
        (tmp_path / "a.txt").write_text("other")

    async with ToolSession(tmp_path) as session:
        await write(session, "a.txt")
        async with anyio.create_task_group() as group:
            group.start_soon(with_file_mutation_queue, tmp_path / "a.txt", hold)
            await entered.wait()
            waiting = asyncio.create_task(refusal(session, "call-1"))
            await anyio.lowlevel.checkpoint()
            assert not waiting.done()
            go_on.set()
        assert await waiting == (f"Cannot undo call-1: {tmp_path}/a.txt was changed since then.")


async def test_a_change_between_the_look_and_the_replacement_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.txt"
    target.write_text("old")
    async with ToolSession(tmp_path) as session:
        await write(session, "a.txt")
        real_fsync = os.fsync

        def change_meanwhile(descriptor: int) -> None:
            real_fsync(descriptor)
            target.write_text("own")

        monkeypatch.setattr(os, "fsync", change_meanwhile)
        text = await refusal(session, "call-1")
    assert text == f"Cannot undo call-1: {target} was changed since then."
    assert (target.read_text(), names_in(tmp_path)) == ("own", ["a.txt"])


# -- what is kept ------------------------------------------------------------------------------


def keep(book: Journal, name: str, content: bytes | None = b"12345") -> FileChange:
    maker = book.maker(SimpleNamespace(session=None, session_id="s"), name, None)
    assert maker is not None
    change = FileChange(maker=maker, path=f"/{name}", target=f"/{name}")
    if content is not None:
        change.mode = 0o644
        change.content = KeptContent(content, None, len(content))
    book.add(change)
    return change


def kept_names(book: Journal, *names: str) -> list[str]:
    return [n for n in names if any(c.content for c in book.find("s", n))]


def test_the_oldest_contents_go_first_when_there_are_too_many() -> None:
    book = Journal(max_kept_contents=2)
    changes = [keep(book, name) for name in "abcd"]
    assert kept_names(book, *"abcd") == ["c", "d"]
    assert changes[0].lost == (
        "its old content was dropped to make room for that of later changes (at most 2 files and"
        " 512.0MB are kept)"
    )


def test_the_oldest_contents_go_first_when_they_are_too_large() -> None:
    book = Journal(max_kept_bytes=12)
    for name in "abc":
        keep(book, name)
    assert kept_names(book, *"abc") == ["b", "c"]
    keep(book, "d", b"1234567890123")
    assert kept_names(book, *"abcd") == []


def test_a_content_that_was_let_go_makes_room() -> None:
    book = Journal(max_kept_contents=2)
    first = keep(book, "a")
    keep(book, "b")
    book.release(first)
    book.release(first)
    keep(book, "c")
    assert kept_names(book, *"abc") == ["b", "c"]


def test_changes_are_forgotten_at_last() -> None:
    book = Journal(max_remembered=2)
    for name in "abc":
        keep(book, name)
    assert [bool(book.find("s", name)) for name in "abc"] == [False, True, True]


async def test_undo_of_a_change_whose_content_was_dropped_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "b.txt").write_text("old")
    async with ToolSession(tmp_path) as session:
        monkeypatch.setattr(journal, "_max_kept_contents", 1)
        await write(session, "a.txt")
        await write(session, "b.txt")
        assert await refusal(session, "call-1") == (
            f"Cannot undo call-1: {tmp_path}/a.txt: its old content was dropped to make room for"
            " that of later changes (at most 1 files and 512.0MB are kept)."
        )
        await undo(session, "call-2")


async def test_a_content_that_is_too_large_to_keep_is_not_kept_and_the_write_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_recorded_write, "MAX_CONTENT_BYTES", 100 * 1024)
    (tmp_path / "a.txt").write_text("x" * 150 * 1024)
    async with ToolSession(tmp_path) as session:
        await write(session, "a.txt")
        assert await refusal(session, "call-1") == (
            f"Cannot undo call-1: {tmp_path}/a.txt: its old content of 150.0KB was more than the"
            " 100.0KB that are kept."
        )
    assert (tmp_path / "a.txt").read_text() == "new"


async def test_a_content_that_cannot_be_kept_does_not_stop_the_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(**_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tempfile.TemporaryFile", no_room)
    (tmp_path / "a.txt").write_text("x" * 100_000)
    async with ToolSession(tmp_path) as session:
        await write(session, "a.txt")
        assert await refusal(session, "call-1") == (
            f"Cannot undo call-1: {tmp_path}/a.txt: its old content could not be kept (ENOSPC)."
        )
    assert (tmp_path / "a.txt").read_text() == "new"


async def test_a_file_that_cannot_be_read_is_written_and_its_undo_says_why_not(
    unprivileged_folder: Path,
) -> None:
    target = unprivileged_folder / "a.txt"
    target.write_text("old")
    target.chmod(0o200)
    async with ToolSession(unprivileged_folder) as session:
        await write(session, "a.txt")
        assert "its old content could not be kept (EACCES)." in await refusal(session, "call-1")
    target.chmod(0o600)
    assert target.read_text() == "new"


def open_files_in(folder: Path) -> int:
    count = 0
    for entry in list(Path("/proc/self/fd").iterdir()):
        with contextlib.suppress(FileNotFoundError):  # the listing's own
            count += str(entry.readlink()).startswith(f"{folder}/")
    return count


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
async def test_large_contents_are_kept_in_files_that_have_no_name_and_go_with_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))

    (tmp_path / "a.txt").write_text("x" * 100_000)
    session = ToolSession(tmp_path)
    await write(session, "a.txt")
    assert (names_in(temporary), open_files_in(temporary)) == ([], 1)
    await session.close()
    del session
    other = ToolSession(tmp_path)
    with anyio.fail_after(10):
        while open_files_in(temporary):  # an idle worker thread may hold the session for a moment
            gc.collect()
            await write(other, "a.txt")  # the next change finds that the owner is gone


def test_changes_of_many_threads_are_all_taken_down(tmp_path: Path) -> None:
    holder = SimpleNamespace(session=None, session_id="threads")

    def write_some(number: int) -> None:
        for count in range(50):
            maker = journal.maker(holder, f"{number}-{count}", None)
            path = str(tmp_path / f"{number}.txt")
            write_recorded(path, b"%d" % count, check_stop=lambda: None, maker=maker)

    threads = [threading.Thread(target=write_some, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number in range(4):
        for count in range(49, -1, -1):
            asyncio.run(undo("threads", f"{number}-{count}"))
    assert names_in(tmp_path) == []


def test_write_atomically_can_set_another_mode(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"old")
    write_atomically(tmp_path / "a", b"new", mode=0o640)
    assert ((tmp_path / "a").read_bytes(), mode_of(tmp_path / "a")) == (b"new", 0o640)
    os.link(tmp_path / "a", tmp_path / "b")
    write_atomically(tmp_path / "a", b"in place", mode=0o600)
    assert ((tmp_path / "b").read_bytes(), mode_of(tmp_path / "b")) == (b"in place", 0o600)
