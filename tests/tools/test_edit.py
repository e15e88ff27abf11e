"""The edit tool as it is called: arguments, files, operations of a host, aborts and the queue."""

from __future__ import annotations

import asyncio
import os
import stat
import threading
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from pi_kernel.errors import PiKernelError, ToolAborted
from pi_kernel.protocol.results import ToolResult, text_of
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools import edit
from pi_kernel.tools._mutation_queue import with_file_mutation_queue


async def run(
    folder: Path,
    path: str,
    *pairs: tuple[str, str],
    operations: Any = None,
    signal: AbortSignal | None = None,
    ctx: object = None,
) -> ToolResult:
    """Call edit as the pipeline does, after validation."""
    definition = edit.create(folder, operations=operations)
    edits = [{"oldText": old, "newText": new} for old, new in pairs]
    result: Any = definition.execute("call_1", {"path": path, "edits": edits}, signal, None, ctx)
    finished: ToolResult = await result
    return finished


async def refusal(
    folder: Path,
    path: str,
    *pairs: tuple[str, str],
    operations: object = None,
) -> str:
    with pytest.raises(PiKernelError) as refused:
        await run(folder, path, *pairs, operations=operations)
    return str(refused.value)


def names_in(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


class MemoryFiles:
    """Operations that keep their files in memory and write down what they were asked."""

    def __init__(self, **files: bytes | str) -> None:
        self.files: dict[str, bytes | str] = {f"/{name}": text for name, text in files.items()}
        self.calls: list[str] = []

    async def access(self, _path: str) -> None:
        self.calls.append("access")

    async def read_file(self, path: str) -> bytes | str:
        self.calls.append("read")
        return self.files[path]

    async def write_file(self, path: str, content: str) -> None:
        self.calls.append("write")
        self.files[path] = content


async def test_replacements_are_written_and_reported(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"one\ntwo\nthree\n")
    result = await run(tmp_path, "a.txt", ("three", "3"), ("one", "1"))
    assert target.read_bytes() == b"1\ntwo\n3\n"
    assert result.to_wire() == {
        "content": [{"type": "text", "text": "Successfully replaced 2 block(s) in a.txt."}],
        "details": {
            "diff": "-1 one\n+1 1\n 2 two\n-3 three\n+3 3",
            "patch": "--- a.txt\n+++ a.txt\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n-three\n+3\n",
            "firstChangedLine": 1,
        },
    }


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(b"\xef\xbb\xbfold\r\nrest", b"\xef\xbb\xbfnew\r\nline\r\nrest", id="bom"),
        pytest.param(b"old\n\xff\xc3\n", b"new\nline\n\xef\xbf\xbd\xef\xbf\xbd\n", id="invalid"),
        pytest.param("old\n\u20ac\n".encode(), "new\nline\n\u20ac\n".encode(), id="utf-8"),
        pytest.param(b"a\rold\nb\r\n", b"a\rnew\nline\nb\r\n", id="mixed-endings"),
        pytest.param(b"a\0old", b"a\0new\nline", id="binary"),
    ],
)
async def test_everything_around_a_replacement_keeps_its_form(
    tmp_path: Path, before: bytes, after: bytes
) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(before)
    await run(tmp_path, "a.txt", ("old", "new\nline"))
    assert target.read_bytes() == after


async def test_lone_surrogates_of_a_new_text_are_written_as_replacement_characters(
    tmp_path: Path,
) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old\n")
    result = await run(tmp_path, "a.txt", ("old", "\ud83d!\ud83d\ude00"))
    assert target.read_text("utf-8") == "\ufffd!\U0001f600\n"
    assert result.details["diff"] == "-1 old\n+1 \ufffd!\U0001f600"


async def test_a_refused_edit_leaves_the_file_untouched(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"one\r\ntwo\r\n")
    before = target.stat()
    assert (await refusal(tmp_path, "a.txt", ("one", "1"), ("three", "3"))).startswith(
        "Could not find edits[1] in a.txt."
    )
    after = target.stat()
    assert target.read_bytes() == b"one\r\ntwo\r\n"
    assert (after.st_mtime_ns, after.st_ino) == (before.st_mtime_ns, before.st_ino)
    assert names_in(tmp_path) == ["a.txt"]


async def test_a_link_stays_a_link_and_its_target_keeps_its_mode(tmp_path: Path) -> None:
    target = tmp_path / "real.sh"
    target.write_bytes(b"old\n")
    target.chmod(0o751)
    (tmp_path / "link").symlink_to("real.sh")
    await run(tmp_path, "link", ("old", "new"))
    assert (tmp_path / "link").is_symlink()
    assert target.read_bytes() == b"new\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o751


async def test_no_edits_are_refused_before_anything_is_touched(tmp_path: Path) -> None:
    message = "Edit tool input is invalid. edits must contain at least one replacement."
    assert await refusal(tmp_path, "missing.txt") == message
    definition = edit.create(tmp_path)
    for edits in (None, "text", 5):
        params = {"path": "a", "edits": edits}
        call: Any = definition.execute("1", params, None, None, None)
        with pytest.raises(PiKernelError, match="at least one replacement"):
            await call


async def test_a_file_that_cannot_be_edited_is_named_with_the_code(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    pair = ("a", "b")
    assert await refusal(tmp_path, "no.txt", pair) == (
        "Could not edit file: no.txt. Error code: ENOENT."
    )
    assert await refusal(tmp_path, "file/x", pair) == (
        "Could not edit file: file/x. Error code: ENOTDIR."
    )


async def test_a_folder_passes_the_check_and_fails_on_reading(tmp_path: Path) -> None:
    with pytest.raises(OSError, match=r"^EISDIR: illegal operation on a directory, read$"):
        await run(tmp_path, ".", ("a", "b"))


async def test_a_file_that_may_not_be_written_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old\n")
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everything
    assert await refusal(tmp_path, "a.txt", ("old", "new")) == (
        "Could not edit file: a.txt. Error code: EACCES."
    )
    assert target.read_bytes() == b"old\n"


async def test_a_pipe_is_refused_instead_of_waiting_for_its_other_end(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert await refusal(tmp_path, "pipe", ("a", "b")) == (
        "Could not edit file: pipe. It is a named pipe (FIFO), not a regular file."
    )


async def test_the_working_directory_of_the_context_wins(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    for folder in (tmp_path, inner):
        (folder / "a.txt").write_bytes(b"old\n")
    await run(tmp_path, "a.txt", ("old", "new"), ctx=SimpleNamespace(cwd=str(inner)))
    assert (tmp_path / "a.txt").read_bytes() == b"old\n"
    assert (inner / "a.txt").read_bytes() == b"new\n"


@pytest.mark.parametrize(
    ("raw", "prepared"),
    [
        pytest.param(
            {"path": "a", "edits": '[{"oldText": "b", "newText": "c"}]'},
            {"path": "a", "edits": [{"oldText": "b", "newText": "c"}]},
            id="json-list",
        ),
        pytest.param(
            {"path": "a", "edits": '{"oldText": "b", "newText": "c"}'},
            {"path": "a", "edits": [{"oldText": "b", "newText": "c"}]},
            id="json-object",
        ),
        pytest.param(
            {"path": "a", "edits": {"oldText": "b", "newText": "c"}},
            {"path": "a", "edits": [{"oldText": "b", "newText": "c"}]},
            id="one-edit",
        ),
        pytest.param(
            {"oldText": "b", "newText": "c", "path": "a"},
            {"path": "a", "edits": [{"oldText": "b", "newText": "c"}]},
            id="old-form",
        ),
        pytest.param(
            {"edits": [{"oldText": "1", "newText": "2"}], "oldText": "b", "newText": "c"},
            {"edits": [{"oldText": "1", "newText": "2"}, {"oldText": "b", "newText": "c"}]},
            id="old-form-is-appended",
        ),
        pytest.param(
            {"edits": "no json", "oldText": "b", "newText": "c"},
            {"edits": [{"oldText": "b", "newText": "c"}]},
            id="old-form-replaces-rubbish",
        ),
        pytest.param({"edits": "no json"}, {"edits": "no json"}, id="no-json"),
        pytest.param({"edits": "[" * 200_000}, {"edits": "[" * 200_000}, id="nested-too-deep"),
        pytest.param({"edits": "5"}, {"edits": "5"}, id="other-json"),
        pytest.param({"edits": {"oldText": "b"}}, {"edits": {"oldText": "b"}}, id="half-an-edit"),
        pytest.param({"oldText": "b", "newText": 5}, {"oldText": "b", "newText": 5}, id="number"),
        pytest.param(["a"], ["a"], id="no-object"),
        pytest.param(None, None, id="nothing"),
    ],
)
def test_older_and_careless_arguments_are_brought_into_form(raw: object, prepared: object) -> None:
    assert edit.prepare_arguments(raw) == prepared


def test_preparing_leaves_the_given_arguments_alone() -> None:
    first = {"oldText": "1", "newText": "2"}
    raw = {"path": "a", "edits": [first], "oldText": "b", "newText": "c"}
    edit.prepare_arguments(raw)
    assert raw == {"path": "a", "edits": [first], "oldText": "b", "newText": "c"}
    assert raw["edits"] == [first]


def test_the_old_form_is_not_in_the_public_schema() -> None:
    definition = edit.create("/")
    assert definition.prepare_arguments is edit.prepare_arguments
    assert list(definition.parameters["properties"]) == ["path", "edits"]
    assert definition.parameters["required"] == ["path", "edits"]


@pytest.mark.parametrize("content", [b"old\r\n", "old\r\n"], ids=["bytes", "text"])
async def test_operations_replace_the_file_system(tmp_path: Path, content: bytes | str) -> None:
    files = MemoryFiles(x=content)
    result = await run(tmp_path, "/x", ("old", "new\n"), operations=files)
    assert text_of(result.content) == "Successfully replaced 1 block(s) in /x."
    assert files.files == {"/x": "new\r\n\r\n"}
    assert files.calls == ["access", "read", "write"]


async def test_plain_operations_run_in_a_worker_thread(tmp_path: Path) -> None:
    threads: list[int] = []
    written: list[str] = []

    def read_file(_path: str) -> bytes:
        threads.append(threading.get_ident())
        return b"old\n"

    def write_file(_path: str, content: str) -> None:
        threads.append(threading.get_ident())
        written.append(content)

    files = SimpleNamespace(access=lambda _path: None, read_file=read_file, write_file=write_file)
    await run(tmp_path, "/x", ("old", "new"), operations=files)
    assert written == ["new\n"]
    assert threading.get_ident() not in threads


async def test_failures_of_operations_are_worded_like_local_ones(tmp_path: Path) -> None:
    def failing(error: Exception) -> Callable[..., None]:
        def fail(*_arguments: object) -> None:
            raise error

        return fail

    files = MemoryFiles(x=b"old\n")
    files.access = failing(PermissionError(13, "no"))  # type: ignore[method-assign, assignment]
    assert await refusal(tmp_path, "/x", ("old", "new"), operations=files) == (
        "Could not edit file: /x. Error code: EACCES."
    )
    files.access = failing(RuntimeError("the host is gone"))  # type: ignore[method-assign, assignment]
    assert await refusal(tmp_path, "/x", ("old", "new"), operations=files) == (
        "Could not edit file: /x. the host is gone."
    )


def test_operations_that_lack_one_are_refused_at_once() -> None:
    with pytest.raises(PiKernelError, match="write_file is missing"):
        edit.create("/", operations=SimpleNamespace(access=print, read_file=print))


async def test_a_call_that_was_aborted_before_touches_nothing(tmp_path: Path) -> None:
    files = MemoryFiles(x=b"old\n")
    signal = AbortSignal()
    signal.abort()
    with pytest.raises(ToolAborted, match=r"^Operation aborted$"):
        await run(tmp_path, "/x", ("old", "new"), operations=files, signal=signal)
    assert files.calls == []


@pytest.mark.parametrize(
    ("step", "calls"),
    [
        ("access", ["access"]),
        ("read_file", ["access", "read"]),
        ("write_file", ["access", "read", "write"]),
    ],
)
async def test_an_abort_is_honoured_after_the_step_in_flight(
    tmp_path: Path, step: str, calls: list[str]
) -> None:
    files = MemoryFiles(x=b"old\n")
    signal = AbortSignal()
    original = getattr(files, step)

    async def aborting(*arguments: str) -> object:
        signal.abort()
        return await original(*arguments)

    setattr(files, step, aborting)
    with pytest.raises(ToolAborted):
        await run(tmp_path, "/x", ("old", "new"), operations=files, signal=signal)
    assert files.calls == calls
    assert files.files["/x"] == ("new\n" if step == "write_file" else b"old\n")


async def test_an_abort_counts_more_than_a_failed_check(tmp_path: Path) -> None:
    signal = AbortSignal()

    def access(_path: str) -> None:
        signal.abort()
        raise FileNotFoundError(2, "no")

    files = SimpleNamespace(access=access, read_file=print, write_file=print)
    with pytest.raises(ToolAborted):
        await run(tmp_path, "/x", ("a", "b"), operations=files, signal=signal)


async def test_a_local_abort_leaves_file_and_folder_as_they_were(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old\n")
    signal = AbortSignal()
    async with anyio.create_task_group() as tasks:

        async def call() -> None:
            with pytest.raises(ToolAborted):
                await run(tmp_path, "a.txt", ("old", "new"), signal=signal)

        tasks.start_soon(call)
        await anyio.lowlevel.checkpoint()
        signal.abort()
    assert target.read_bytes() == b"old\n"
    assert names_in(tmp_path) == ["a.txt"]


async def test_edits_of_different_places_in_one_batch_both_survive(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"".join(b"line %d\n" % number for number in range(20)))
    (tmp_path / "link").symlink_to("a.txt")
    await asyncio.gather(
        *(
            run(tmp_path, "link" if number % 2 else "a.txt", (f"line {number}\n", f"{number}\n"))
            for number in range(20)
        )
    )
    assert target.read_text() == "".join(f"{number}\n" for number in range(20))


async def test_the_second_of_two_edits_of_one_text_fails(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old\n")
    first, second = await asyncio.gather(
        run(tmp_path, "a.txt", ("old", "first")),
        run(tmp_path, "a.txt", ("old", "second")),
        return_exceptions=True,
    )
    assert isinstance(first, ToolResult)
    assert str(second).startswith("Could not find the exact text in a.txt.")
    assert target.read_bytes() == b"first\n"


async def test_an_edit_waits_for_other_queued_changes_of_its_file(tmp_path: Path) -> None:
    target = tmp_path / "a.txt"
    target.write_bytes(b"old\n")
    has_slot, may_finish = asyncio.Event(), asyncio.Event()

    async def other_change() -> None:
        has_slot.set()
        await may_finish.wait()
        target.write_bytes(b"other\n")

    with anyio.fail_after(5):
        other = asyncio.ensure_future(with_file_mutation_queue(target, other_change))
        await has_slot.wait()
        waiting = asyncio.ensure_future(run(tmp_path, "a.txt", ("other", "new")))
        may_finish.set()
        await asyncio.gather(other, waiting)
    assert target.read_bytes() == b"new\n"


async def test_files_are_edited_in_parallel(tmp_path: Path) -> None:
    files = MemoryFiles(x=b"old\n", y=b"old\n")
    both_read = asyncio.Barrier(2)

    async def read_file(path: str) -> bytes | str:
        await both_read.wait()
        return files.files[path]

    files.read_file = read_file  # type: ignore[method-assign]
    with anyio.fail_after(5):
        await asyncio.gather(
            run(tmp_path, "/x", ("old", "X"), operations=files),
            run(tmp_path, "/y", ("old", "Y"), operations=files),
        )
    assert files.files == {"/x": "X\n", "/y": "Y\n"}


@pytest.mark.parametrize("how", ["abort", "cancel"])
async def test_a_stopped_edit_holds_its_place_until_its_write_has_settled(
    tmp_path: Path, how: str
) -> None:
    files = MemoryFiles(x=b"old\n")
    is_writing, may_finish = asyncio.Event(), asyncio.Event()
    signal = AbortSignal()

    class SlowFiles(MemoryFiles):
        async def write_file(self, path: str, content: str) -> None:
            is_writing.set()
            await may_finish.wait()
            files.files[path] = content
            files.calls.append("slow write")

    slow = SlowFiles(x=b"old\n")
    with anyio.fail_after(5):
        first = asyncio.ensure_future(
            run(tmp_path, "/x", ("old", "first"), operations=slow, signal=signal)
        )
        await is_writing.wait()
        second = asyncio.ensure_future(run(tmp_path, "/x", ("first", "2nd"), operations=files))
        if how == "abort":
            signal.abort()
        else:
            first.cancel()
        for _ in range(20):
            await asyncio.sleep(0)
        assert not first.done()
        assert files.calls == []
        may_finish.set()
        with pytest.raises(ToolAborted if how == "abort" else asyncio.CancelledError):
            await first
        await second
    assert files.calls == ["slow write", "access", "read", "write"]
    assert files.files["/x"] == "2nd\n"
