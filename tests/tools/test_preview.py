"""Previews: the diff that a call would make, the error that it would give, and nothing changed."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_kernel import PiKernelError, ToolSession
from pi_kernel.protocol.results import ToolResult, text_of
from pi_kernel.tools import _preview as previews
from pi_kernel.tools import create_tool_definition
from pi_kernel.tools._preview import Preview, preview, preview_call


async def call(name: str, cwd: Path, args: dict[str, Any]) -> ToolResult:
    """Make the call itself, as the pipeline does."""
    async with ToolSession(cwd, tools="all") as session:
        outcome = await session.execute_tool(name, args)
    return outcome.result if not outcome.is_error else ToolResult(outcome.text, is_error=True)


def everything(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Return mode, time of change and content of all that is in a folder."""
    found = {}
    for path in sorted(folder.rglob("*")):
        status = path.lstat()
        content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
        found[str(path)] = (status.st_mode, status.st_ctime_ns, content)
    return found


async def test_preview_of_an_edit_is_the_diff_of_the_edit_and_changes_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\nthree\r\n")
    args = {"path": "a.txt", "edits": [{"oldText": "two", "newText": "2\nII"}]}
    before = everything(tmp_path)
    seen = await preview("edit", args, cwd=tmp_path)
    assert everything(tmp_path) == before

    result = await call("edit", tmp_path, args)
    assert seen == Preview(
        path=str(tmp_path / "a.txt"),
        diff=result.details["diff"],
        patch=result.details["patch"],
        first_changed_line=result.details["firstChangedLine"],
        new_text="\ufeffone\r\n2\r\nII\r\nthree\r\n",
    )
    assert seen.new_text is not None
    assert (tmp_path / "a.txt").read_bytes() == seen.new_text.encode()
    assert str(seen) == " 1 one\n-2 two\n+2 2\n+3 II\n 3 three"


async def test_preview_takes_the_arguments_as_a_careless_model_gives_them(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    seen = await preview("edit", {"path": "a.txt", "oldText": "one", "newText": "1"}, cwd=tmp_path)
    assert (seen.diff, seen.problem) == ("-1 one\n+1 1", None)


async def test_preview_of_a_write_over_a_file_compares_both_texts(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\nthree\n")
    before = everything(tmp_path)
    seen = await preview("write", {"path": "a.txt", "content": "one\n2\nthree\n"}, cwd=tmp_path)
    assert seen == Preview(
        path=str(tmp_path / "a.txt"),
        diff=" 1 one\n-2 two\n+2 2\n 3 three",
        patch="--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n",
        first_changed_line=2,
        new_text="one\n2\nthree\n",
    )
    assert everything(tmp_path) == before


async def test_preview_of_a_new_file_adds_every_line_and_makes_no_folder(tmp_path: Path) -> None:
    seen = await preview("write", {"path": "x/y/a.txt", "content": "one\ntwo"}, cwd=tmp_path)
    assert seen == Preview(
        path=str(tmp_path / "x" / "y" / "a.txt"),
        diff="+1 one\n+2 two",
        patch="--- x/y/a.txt\n+++ x/y/a.txt\n@@ -0,0 +1,2 @@\n+one\n+two\n"
        "\\ No newline at end of file\n",
        first_changed_line=1,
        new_text="one\ntwo",
        is_new_file=True,
    )
    assert everything(tmp_path) == {}


async def test_preview_of_a_write_that_changes_nothing_has_an_empty_diff(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    seen = await preview("write", {"path": "a.txt", "content": "one\n"}, cwd=tmp_path)
    assert (seen.diff, seen.patch, seen.first_changed_line) == ("", "", None)
    assert (seen.problem, str(seen)) == (None, "Nothing would change.")


async def test_preview_of_an_empty_new_file_has_an_empty_diff(tmp_path: Path) -> None:
    seen = await preview("write", {"path": "a.txt", "content": ""}, cwd=tmp_path)
    assert (seen.diff, seen.new_text, seen.is_new_file) == ("", "", True)


async def test_preview_of_emptying_a_file_removes_every_line(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    seen = await preview("write", {"path": "a.txt", "content": ""}, cwd=tmp_path)
    assert seen.diff == "-1 one\n-2 two"


async def test_preview_of_a_write_shows_that_line_endings_change(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo\n")
    seen = await preview("write", {"path": "a.txt", "content": "one\ntwo\n"}, cwd=tmp_path)
    assert seen.diff == "-1 one\r\n+1 one\n 2 two"


async def test_preview_of_two_large_texts_that_share_nothing_ends_soon(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"old {n}\n" for n in range(100_000)))
    new_text = "".join(f"new {n % 7} {n}\n" for n in range(100_000))
    seen = await preview("write", {"path": "a.txt", "content": new_text}, cwd=tmp_path)
    assert seen.diff is not None
    assert seen.diff.count("\n") == 199_999


@pytest.mark.skipif(shutil.which("patch") is None, reason="needs patch")
@settings(max_examples=50)
@given(old=st.lists(st.sampled_from("abc"), max_size=12), new=st.lists(st.sampled_from("abc")))
async def test_patch_of_a_preview_turns_the_old_file_into_the_new_one(
    tmp_path_factory: pytest.TempPathFactory, old: list[str], new: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("patch")
    (folder / "a.txt").write_text("\n".join(old))
    seen = await preview("write", {"path": "a.txt", "content": "\n".join(new)}, cwd=folder)
    assert seen.patch is not None
    if seen.patch:
        command = ["patch", "-p0", "--quiet"]
        subprocess.run(command, input=seen.patch.encode(), cwd=folder, check=True)  # noqa: ASYNC221, S603 - short, and our own input
    if new and "\n".join(new):
        assert (folder / "a.txt").read_text() == "\n".join(new)


def no_such_file(_: Path) -> None:
    """Leave the folder empty."""


def a_folder(folder: Path) -> None:
    (folder / "a.txt").mkdir()


def a_pipe(folder: Path) -> None:
    os.mkfifo(folder / "a.txt")


def a_twin(folder: Path) -> None:
    (folder / "a.txt").write_text("old old\n")


def another_text(folder: Path) -> None:
    (folder / "a.txt").write_text("other\n")


@pytest.mark.parametrize("prepare", [no_such_file, a_folder, a_pipe, a_twin, another_text])
async def test_problem_of_an_edit_is_exactly_its_error(
    tmp_path: Path, prepare: Callable[[Path], None]
) -> None:
    prepare(tmp_path)
    args = {"path": "a.txt", "edits": [{"oldText": "old", "newText": "new"}]}
    seen = await preview("edit", args, cwd=tmp_path)
    result = await call("edit", tmp_path, args)
    assert result.is_error
    assert seen == Preview(path=str(tmp_path / "a.txt"), problem=text_of(result.content))
    assert str(seen) == seen.problem


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"path": "a.txt"},
        {"path": "a.txt", "edits": 3},
        {"path": "a.txt", "edits": []},
        {"path": ["a.txt"], "edits": [{"oldText": "a"}]},
        {"path": "a.txt", "edits": [{"oldText": "", "newText": "x"}]},
        {"path": "file://host/a.txt", "edits": [{"oldText": "a", "newText": "b"}]},
        {"path": "a.txt", "edits": {1, 2}},
        {"path": "a\0.txt", "edits": [{"oldText": "a", "newText": "b"}]},
    ],
)
async def test_problem_of_bad_arguments_is_exactly_the_error_of_the_call(
    tmp_path: Path, args: dict[str, Any]
) -> None:
    (tmp_path / "a.txt").write_text("a\n")
    seen = await preview("edit", args, cwd=tmp_path)
    result = await call("edit", tmp_path, args)
    assert result.is_error
    assert (seen.problem, seen.diff) == (text_of(result.content), None)


def a_file_as_parent(folder: Path) -> None:
    (folder / "x").write_text("")


def a_dangling_link_as_parent(folder: Path) -> None:
    (folder / "x").symlink_to("nowhere")


def a_loop_as_parent(folder: Path) -> None:
    (folder / "x").symlink_to("x")


def a_folder_in_place(folder: Path) -> None:
    (folder / "x" / "a.txt").mkdir(parents=True)


def a_device_in_place(folder: Path) -> None:
    (folder / "x").mkdir()
    (folder / "x" / "a.txt").symlink_to("/dev/null")


def a_link_to_a_missing_folder(folder: Path) -> None:
    (folder / "x").mkdir()
    (folder / "x" / "a.txt").symlink_to("no/where")


def a_loop_in_place(folder: Path) -> None:
    (folder / "x").mkdir()
    (folder / "x" / "a.txt").symlink_to("a.txt")


@pytest.mark.parametrize("path", ["x/a.txt", "x/y/a.txt", "x/y/z/a.txt"])
@pytest.mark.parametrize(
    "prepare",
    [
        a_file_as_parent,
        a_dangling_link_as_parent,
        a_loop_as_parent,
        a_folder_in_place,
        a_device_in_place,
        a_link_to_a_missing_folder,
        a_loop_in_place,
    ],
)
async def test_problem_of_a_write_is_exactly_its_error(
    tmp_path: Path, prepare: Callable[[Path], None], path: str
) -> None:
    prepare(tmp_path)
    before = everything(tmp_path)
    seen = await preview("write", {"path": path, "content": "new"}, cwd=tmp_path)
    assert everything(tmp_path) == before
    result = await call("write", tmp_path, {"path": path, "content": "new"})
    assert seen.problem == (text_of(result.content) if result.is_error else None)


@pytest.mark.parametrize("name", ["new.txt", "mine.txt", "theirs.txt", "sub/new.txt"])
@pytest.mark.parametrize("mode", [0o755, 0o555, 0o644, 0o000])
async def test_problem_of_a_write_without_permission_is_exactly_its_error(
    unprivileged_folder: Path, name: str, mode: int
) -> None:
    folder = unprivileged_folder / "f"
    folder.mkdir()
    (folder / "mine.txt").write_text("old\n")
    (folder / "theirs.txt").write_text("old\n")
    (folder / "theirs.txt").chmod(0o444)
    folder.chmod(mode)
    try:
        seen = await preview("write", {"path": name, "content": "new"}, cwd=folder)
        tool: Any = create_tool_definition("write", folder)
        failure = None
        try:
            await tool.execute("call-1", {"path": name, "content": "new"}, None, None, None)
        except OSError as error:
            failure = str(error)
    finally:
        folder.chmod(0o755)
    assert seen.problem == failure


async def test_a_broken_link_whose_folder_is_there_is_a_new_file(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("target.txt")
    seen = await preview("write", {"path": "link", "content": "x"}, cwd=tmp_path)
    assert (seen.problem, seen.is_new_file) == (None, True)


async def test_a_text_that_is_too_large_to_look_at_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(previews, "MAX_PREVIEW_BYTES", 1024)
    (tmp_path / "a.txt").write_text("x" * 2048)
    with pytest.raises(PiKernelError) as refused:
        await preview("write", {"path": "a.txt", "content": "new"}, cwd=tmp_path)
    assert str(refused.value) == (
        f"{tmp_path}/a.txt has 2.0KB, too much to preview (at most 1.0KB)"
    )


async def test_other_tools_have_no_preview_and_say_so() -> None:
    with pytest.raises(PiKernelError, match=r"^read has no preview; edit and write have one$"):
        await preview("read", {"path": "a.txt"})


async def test_preview_of_a_definition_reads_through_its_own_operations() -> None:
    files = {"/far/a.txt": b"one\n"}
    operations = {
        "access": files.__getitem__,
        "read_file": files.__getitem__,
        "write_file": files.__setitem__,
        "mkdir": lambda _: None,
    }
    editing = create_tool_definition("edit", "/far", operations=operations)
    args = {"path": "a.txt", "edits": [{"oldText": "one", "newText": "1"}]}
    assert (await preview(editing, args)).diff == "-1 one\n+1 1"

    writing = create_tool_definition("write", "/far", operations=operations)
    seen = await preview(writing, {"path": "a.txt", "content": "2\n"})
    assert (seen.path, seen.diff) == ("/far/a.txt", "-1 one\n+1 2")
    assert files == {"/far/a.txt": b"one\n"}


async def test_write_through_operations_that_cannot_read_has_no_preview() -> None:
    operations = {"write_file": lambda *_: None, "mkdir": lambda _: None}
    tool = create_tool_definition("write", "/far", operations=operations)
    with pytest.raises(PiKernelError, match=r"^a preview of write needs the operation read_file$"):
        await preview(tool, {"path": "a.txt", "content": ""})


async def test_preview_of_a_session_s_tool_starts_from_the_session_s_folder(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    async with ToolSession(tmp_path) as session:
        args = {"path": "a.txt", "content": "1\n"}
        seen = await preview_call(session.host, "write", args)
        assert seen.diff == "-1 one\n+1 1"
        missing = await preview_call(session.host, "no_such_tool", {})
        assert missing == Preview(problem="Tool no_such_tool not found")
        assert missing.problem == (await session.execute_tool("no_such_tool", {})).text
        assert [c.name for c in session.host.calls] == ["no_such_tool"]
