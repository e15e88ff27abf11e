"""The write tool: whole files, in order, or not at all."""

from __future__ import annotations

import asyncio
import os
import threading
import types
from pathlib import Path
from typing import Any

import anyio
import pytest

from pi_kernel import AbortSignal, PiKernelError, ToolAborted, ToolResult
from pi_kernel.tools import create_tool_definition


async def write(
    cwd: Path,
    path: str,
    content: str = "x",
    *,
    signal: AbortSignal | None = None,
    **options: Any,
) -> ToolResult:
    tool = create_tool_definition("write", cwd, operations=options.get("operations"))
    params = {"path": path, "content": content}
    result = await tool.execute("call-1", params, signal, None, options.get("ctx"))  # type: ignore[misc]  # it is async
    assert isinstance(result, ToolResult)
    return result


async def failure_of(cwd: Path, path: str, **options: Any) -> str:
    with anyio.fail_after(10):
        with pytest.raises(Exception, match=r".") as caught:
            await write(cwd, path, **options)
    return str(caught.value)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_the_result_is_one_sentence_with_the_path_as_given(tmp_path: Path) -> None:
    result = await write(tmp_path, "x/./y/../z.txt", "1")
    assert result.to_wire() == {
        "content": [{"type": "text", "text": "Successfully wrote to x/./y/../z.txt"}]
    }
    assert (tmp_path / "x" / "z.txt").read_bytes() == b"1"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", b""),
        ("a\r\nb", b"a\r\nb"),
        ("\ufeffa", b"\xef\xbb\xbfa"),
        ("a\0b", b"a\0b"),
        ("a\ud800b", b"a\xef\xbf\xbdb"),
        ("\ud83d\ude00", "\U0001f600".encode()),
    ],
)
async def test_the_content_is_written_as_given(
    tmp_path: Path, content: str, expected: bytes
) -> None:
    await write(tmp_path, "a", content)
    assert (tmp_path / "a").read_bytes() == expected


@pytest.mark.parametrize(
    ("path", "where"),
    [
        ("a/b/c.txt", "a/b/c.txt"),
        ("donn\u00e9es/\u65e5\u672c.txt", "donn\u00e9es/\u65e5\u672c.txt"),
        ("@at.txt", "at.txt"),
        ("@@at.txt", "@at.txt"),
        ("~bob/h.txt", "~bob/h.txt"),
        ("a\u202fb.txt", "a b.txt"),
        ("it's.txt", "it's.txt"),
        ("lone\ud800", "lone\ufffd"),
    ],
)
async def test_parents_are_made_and_names_resolved(tmp_path: Path, path: str, where: str) -> None:
    (tmp_path / "it\u2019s.txt").write_text("not this one", encoding="utf-8")
    await write(tmp_path, path)
    assert (tmp_path / where).read_bytes() == b"x"
    assert (tmp_path / "it\u2019s.txt").read_text(encoding="utf-8") == "not this one"


async def test_a_context_chooses_the_directory(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    await write(tmp_path, "a", ctx=types.SimpleNamespace(cwd=str(tmp_path / "w")))
    assert names_in(tmp_path / "w") == ["a"]


async def test_a_link_is_followed(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    await write(tmp_path, "link", "new")
    assert (tmp_path / "real").read_bytes() == b"new"
    assert (tmp_path / "link").is_symlink()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("folder", "EISDIR: illegal operation on a directory, open '{}/folder'"),
        ("", "EISDIR: illegal operation on a directory, open '{}'"),
        ("file/b", "EEXIST: file already exists, mkdir '{}/file'"),
        ("file/b/c", "ENOTDIR: not a directory, mkdir '{}/file/b'"),
        ("loop", "ELOOP: too many symbolic links encountered, realpath '{}/loop'"),
        ("n" * 300, "ENAMETOOLONG: name too long, realpath '{}/" + "n" * 300 + "'"),
        ("pipe", "Cannot write {}/pipe: it is a named pipe (FIFO), not a regular file"),
        ("/dev/null", "Cannot write /dev/null: it is a character device, not a regular file"),
        (
            "a\0b",
            (
                "The argument 'path' must be a string, Uint8Array, or URL without null bytes."
                " Received '{}/a\\x00b'"
            ),
        ),
    ],
)
async def test_what_cannot_be_written_says_why(tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_bytes(b"old")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    assert await failure_of(tmp_path, path) == message.format(tmp_path)
    assert (tmp_path / "file").read_bytes() == b"old"
    assert names_in(tmp_path) == ["file", "folder", "loop", "pipe"]


async def test_a_signal_that_is_set_stops_before_anything(tmp_path: Path) -> None:
    signal = AbortSignal()
    signal.abort()
    with pytest.raises(ToolAborted, match=r"^Operation aborted$"):
        await write(tmp_path, "a/b", signal=signal)
    assert names_in(tmp_path) == []


async def test_calls_for_one_file_end_in_call_order(tmp_path: Path) -> None:
    await asyncio.gather(*(write(tmp_path, "a", str(n)) for n in range(20)))
    assert (tmp_path / "a").read_bytes() == b"19"
    assert names_in(tmp_path) == ["a"]


class Gate:
    """Remote files that wait at one operation until they are let through."""

    def __init__(self, held: str) -> None:
        self.held = held
        self.calls: list[tuple[str, ...]] = []
        self.is_there, self.may_pass = threading.Event(), threading.Event()

    def _pass(self, name: str, *arguments: str) -> None:
        self.calls.append((name, *arguments))
        if name == self.held:
            self.is_there.set()
            self.may_pass.wait(5)

    def mkdir(self, path: str) -> None:
        self._pass("mkdir", path)

    def write_file(self, path: str, text: str) -> None:
        self._pass("write_file", path, text)


async def test_operations_replace_the_local_files() -> None:
    gate = Gate("nothing")
    await write(Path("/remote"), "a/b.txt", "te\ud800xt", operations=gate)
    assert gate.calls == [("mkdir", "/remote/a"), ("write_file", "/remote/a/b.txt", "te\ufffdxt")]


@pytest.mark.parametrize(
    ("held", "calls"),
    [
        ("mkdir", [("mkdir", "/remote")]),
        ("write_file", [("mkdir", "/remote"), ("write_file", "/remote/a", "x")]),
    ],
)
async def test_a_signal_during_a_step_ends_the_call_after_that_step(
    held: str, calls: list[tuple[str, ...]]
) -> None:
    gate, signal = Gate(held), AbortSignal()
    with anyio.fail_after(4):
        call = asyncio.ensure_future(write(Path("/remote"), "a", operations=gate, signal=signal))
        await anyio.to_thread.run_sync(gate.is_there.wait)
        signal.abort()
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert not call.done()
        gate.may_pass.set()
        with pytest.raises(ToolAborted, match=r"^Operation aborted$"):
            await call
    assert gate.calls == calls


async def test_a_cancelled_call_keeps_the_next_one_waiting_until_its_step_has_ended() -> None:
    gate = Gate("write_file")
    with anyio.fail_after(4):
        call = asyncio.ensure_future(write(Path("/remote"), "a", "1", operations=gate))
        await anyio.to_thread.run_sync(gate.is_there.wait)
        following = asyncio.ensure_future(write(Path("/remote"), "a", "2", operations=gate))
        call.cancel()
        for _ in range(20):
            await anyio.lowlevel.checkpoint()
        assert len(gate.calls) == 2
        gate.may_pass.set()
        with pytest.raises(asyncio.CancelledError):
            await call
        await following
    assert [arguments[-1] for arguments in gate.calls] == ["/remote", "1", "/remote", "2"]


def test_operations_without_a_needed_one_are_refused_by_name() -> None:
    with pytest.raises(PiKernelError) as caught:
        create_tool_definition("write", operations={"mkdir": print})
    assert str(caught.value) == (
        'the operations of tool "write" must have write_file, mkdir; write_file is missing'
    )


def test_the_definition_tells_what_the_tool_does() -> None:
    tool = create_tool_definition("write")
    assert tool.parameters["required"] == ["path", "content"]
    assert tool.constrained_sampling == {"type": "json_schema", "strict": "prefer"}
    assert tool.annotations is not None
    assert tool.annotations.to_wire() == {"destructiveHint": True}
    assert tool.output_schema is None
    assert tool.activity is not None
    assert tool.activity({"path": "a.py", "content": ""}) == "Writing a.py"
