"""The read tool: lines, notices, odd numbers, odd files and pictures."""

from __future__ import annotations

import asyncio
import base64
import io
import itertools
import os
import socket
import threading
import types
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from pi_kernel import AbortSignal, PiKernelError, ToolAborted, ToolResult
from pi_kernel.protocol.tools import ModelInfo
from pi_kernel.tools import _read_local, create_tool_definition
from pi_kernel.tools._numbers import format_number


async def read(
    cwd: Path | None,
    path: str,
    *,
    ctx: object = None,
    signal: AbortSignal | None = None,
    options: dict[str, Any] | None = None,
    **numbers: Any,
) -> ToolResult:
    tool = create_tool_definition("read", cwd, **(options or {}))
    result = await tool.execute("call-1", {"path": path, **numbers}, signal, None, ctx)  # type: ignore[misc]  # it is async
    assert isinstance(result, ToolResult)
    return result


async def text_of(cwd: Path, path: str = "a.txt", **numbers: Any) -> str:
    result = await read(cwd, path, **numbers)
    wire = result.to_wire()
    text: str = wire["content"][0]["text"]
    assert wire["content"] == [{"type": "text", "text": text}]
    assert wire["structuredContent"] == text
    return text


async def failure_of(cwd: Path, path: str, **numbers: Any) -> str:
    with anyio.fail_after(10):
        with pytest.raises(Exception, match=r".") as caught:
            await read(cwd, path, **numbers)
    return str(caught.value)


@pytest.fixture
def three(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_bytes(b"a\nb\nc\n")
    return tmp_path


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({}, "a\nb\nc\n"),
        ({"offset": 0}, "a\nb\nc\n"),
        ({"offset": -3}, "a\nb\nc\n"),
        ({"offset": 2}, "b\nc\n"),
        ({"offset": 4}, ""),
        ({"limit": 1}, "a\n\n[3 more lines in file. Use offset=2 to continue.]"),
        ({"limit": 3}, "a\nb\nc\n\n[1 more lines in file. Use offset=4 to continue.]"),
        ({"limit": 4}, "a\nb\nc\n"),
        ({"limit": 100}, "a\nb\nc\n"),
        ({"limit": 0}, "\n\n[4 more lines in file. Use offset=1 to continue.]"),
        ({"limit": -1}, "a\nb\nc\n\n[5 more lines in file. Use offset=0 to continue.]"),
        ({"limit": -2.5}, "a\nb\n\n[6.5 more lines in file. Use offset=-1.5 to continue.]"),
        ({"limit": -9}, "\n\n[13 more lines in file. Use offset=-8 to continue.]"),
        ({"offset": 2, "limit": -2}, "b\nc\n\n[5 more lines in file. Use offset=0 to continue.]"),
        ({"offset": 2, "limit": -1}, "\n\n[4 more lines in file. Use offset=1 to continue.]"),
        ({"limit": 1.5}, "a\n\n[2.5 more lines in file. Use offset=2.5 to continue.]"),
        ({"offset": 2.5}, "b\nc\n"),
        ({"offset": 2.5, "limit": 1}, "b\n\n[1.5 more lines in file. Use offset=3.5 to continue.]"),
        ({"offset": 0.5}, "a\nb\nc\n"),
        ({"limit": 1e300}, "a\nb\nc\n"),
        ({"limit": 10**400}, "a\nb\nc\n"),
    ],
)
async def test_offset_and_limit_select_lines(
    three: Path, numbers: dict[str, Any], expected: str
) -> None:
    assert await text_of(three, **numbers) == expected


@pytest.mark.parametrize(
    ("offset", "shown"),
    [(5, "5"), (5.5, "5.5"), (6.0, "6"), (1e21, "1e+21"), (2**53 + 1, "9007199254740992")],
)
async def test_an_offset_behind_the_end_is_an_error_with_the_total(
    three: Path, offset: float, shown: str
) -> None:
    assert await failure_of(three, "a.txt", offset=offset) == (
        f"Offset {shown} is beyond end of file (4 lines total)"
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", ""),
        (b"\n", "\n"),
        (b"a\r\nb\r\n", "a\r\nb\r\n"),
        ("\ufeffa".encode(), "\ufeffa"),
        (b"caf\xe9\n", "caf\ufffd\n"),
        (
            b"\xc0\xaf \xed\xa0\x80 \xf5\x80\x80\x80",
            "\ufffd\ufffd \ufffd\ufffd\ufffd " + 4 * "\ufffd",
        ),
        (b"\xe2\x82", "\ufffd"),
        (b"a\0b\n\0\n", "a\0b\n\0\n"),
        ("a\u2028b\x0bc\x85d\n".encode(), "a\u2028b\x0bc\x85d\n"),
    ],
)
async def test_bytes_become_text_leniently(tmp_path: Path, content: bytes, expected: str) -> None:
    (tmp_path / "a.txt").write_bytes(content)
    assert await text_of(tmp_path) == expected


async def test_only_newlines_separate_lines(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("a\u2028b\x0bc\r\nd\n".encode())
    assert await text_of(tmp_path, limit=1) == (
        "a\u2028b\x0bc\r\n\n[2 more lines in file. Use offset=2 to continue.]"
    )


async def test_two_thousand_lines_are_shown_and_more_are_cut(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("".join(f"{n}\n" for n in range(1, 2502)), encoding="utf-8")
    body = "\n".join(str(n) for n in range(1, 2001))
    result = await read(tmp_path, "a.txt")
    assert result.to_wire()["content"][0]["text"] == (
        f"{body}\n\n[Showing lines 1-2000 of 2502. Use offset=2001 to continue.]"
    )
    assert result.details == {
        "truncation": {
            "content": body,
            "truncated": True,
            "truncatedBy": "lines",
            "totalLines": 2501,
            "totalBytes": 9 * 2 + 90 * 3 + 900 * 4 + 1502 * 5,
            "outputLines": 2000,
            "outputBytes": len(body),
            "lastLinePartial": False,
            "firstLineExceedsLimit": False,
            "maxLines": 2000,
            "maxBytes": 51200,
        }
    }
    rest = await read(tmp_path, "a.txt", offset=2001)
    assert rest.details is None
    assert (await text_of(tmp_path, offset=2500)) == "2500\n2501\n"


async def test_a_fraction_goes_through_the_notice_of_a_cut(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\n" * 3000, encoding="utf-8")
    text = await text_of(tmp_path, offset=2.5)
    assert text.endswith("\n\n[Showing lines 2.5-2001.5 of 3001. Use offset=2002.5 to continue.]")


async def test_bytes_cut_before_lines_do(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(("x" * 99 + "\n") * 600, encoding="utf-8")
    result = await read(tmp_path, "a.txt", limit=550)
    assert result.to_wire()["content"][0]["text"].endswith(
        "x\n\n[Showing lines 1-512 of 601 (50.0KB limit). Use offset=513 to continue.]"
    )
    assert result.details["truncation"]["totalLines"] == 550
    assert result.details["truncation"]["totalBytes"] == 550 * 100 - 1


async def test_a_line_that_is_too_long_is_named_with_a_command(tmp_path: Path) -> None:
    (tmp_path / "a b").write_text("ok\n" + "q" * 60_000 + "\nnext\n", encoding="utf-8")
    result = await read(tmp_path, "./a b", offset=2)
    text = "[Line 2 is 58.6KB, exceeds 50.0KB limit. Use bash: sed -n '2p' ./a b | head -c 51200]"
    assert result.to_wire()["content"] == [{"type": "text", "text": text}]
    assert result.to_wire()["structuredContent"] == text
    assert result.is_error is False
    assert result.details["truncation"] == {
        "content": "",
        "truncated": True,
        "truncatedBy": "bytes",
        "totalLines": 2,
        "totalBytes": 60_006,
        "outputLines": 0,
        "outputBytes": 0,
        "lastLinePartial": False,
        "firstLineExceedsLimit": True,
        "maxLines": 2000,
        "maxBytes": 51200,
    }


async def test_sizes_are_those_of_the_decoded_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff" * 20_000)
    result = await read(tmp_path, "a")
    assert result.details["truncation"]["totalBytes"] == 60_000
    assert result.to_wire()["content"][0]["text"].startswith("[Line 1 is 58.6KB,")


async def test_a_long_line_that_is_not_selected_does_not_matter(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ok\n" + "q" * 60_000 + "\nnext\n", encoding="utf-8")
    assert await text_of(tmp_path, limit=1) == (
        "ok\n\n[3 more lines in file. Use offset=2 to continue.]"
    )
    assert await text_of(tmp_path, offset=3) == "next\n"


def plain_read(content: bytes, offset: float | None, limit: float | None) -> str:
    """The rules of a selection that no limit of size cuts, spelled as in JavaScript."""
    rows = content.decode("utf-8", "replace").split("\n")
    start = max(0, offset - 1) if offset else 0
    if start >= len(rows):
        return (
            f"Offset {format_number(offset or 0)} is beyond end of file ({len(rows)} lines total)"
        )
    if limit is None:
        return "\n".join(rows[int(start) :])
    end = min(start + limit, len(rows))
    text = "\n".join(rows[int(start) : int(end)])
    if end >= len(rows):
        return text
    left, following = format_number(len(rows) - end), format_number(end + 1)
    return f"{text}\n\n[{left} more lines in file. Use offset={following} to continue.]"


NUMBERS = st.none() | st.integers(min_value=-12, max_value=12) | st.sampled_from([0.5, 2.5, -1.25])


@given(st.binary(max_size=20) | st.text("ab\n", max_size=20).map(str.encode), NUMBERS, NUMBERS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_range_gives_what_the_plain_rules_give(
    tmp_path: Path, content: bytes, offset: float | None, limit: float | None
) -> None:
    (tmp_path / "a.txt").write_bytes(b"." + content)  # never a picture
    numbers = {"offset": offset, "limit": limit}
    given_numbers: dict[str, Any] = {k: v for k, v in numbers.items() if v is not None}
    try:
        actual = asyncio.run(text_of(tmp_path, **given_numbers))
    except ValueError as error:
        actual = str(error)
    assert actual == plain_read(b"." + content, offset, limit)


async def test_characters_are_whole_across_blocks(tmp_path: Path) -> None:
    """Blocks are a power of two long, so a three-byte character lies across their borders."""
    (tmp_path / "a.txt").write_bytes(b"xx\n" + "漢\n".encode() * 200_000)
    assert await text_of(tmp_path, offset=65_530, limit=10) == (
        "漢\n" * 10 + "\n[134463 more lines in file. Use offset=65540 to continue.]"
    )
    (tmp_path / "b.txt").write_bytes("漢".encode() * 200_000)
    result = await read(tmp_path, "b.txt")
    assert result.details["truncation"]["totalBytes"] == 600_000


async def test_a_context_chooses_the_directory(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / "a.txt").write_text("in w", encoding="utf-8")
    result = await read(tmp_path, "a.txt", ctx=types.SimpleNamespace(cwd=str(tmp_path / "w")))
    assert result.to_wire()["content"][0]["text"] == "in w"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("gone", "ENOENT: no such file or directory, access '{}/gone'"),
        ("file/x", "ENOTDIR: not a directory, access '{}/file/x'"),
        ("dangling", "ENOENT: no such file or directory, access '{}/dangling'"),
        ("loop", "ELOOP: too many symbolic links encountered, access '{}/loop'"),
        (".", "EISDIR: illegal operation on a directory, read"),
        ("n" * 300, "ENAMETOOLONG: name too long, access '{}/" + "n" * 300 + "'"),
        ("pipe", "Cannot read pipe: it is a named pipe (FIFO), not a regular file"),
        ("socket", "Cannot read socket: it is a socket, not a regular file"),
        ("/dev/null", "Cannot read /dev/null: it is a character device, not a regular file"),
        ("/dev/zero", "Cannot read /dev/zero: it is a character device, not a regular file"),
        (
            "a\0b",
            (
                "The argument 'path' must be a string, Uint8Array, or URL without null bytes."
                " Received '{}/a\\x00b'"
            ),
        ),
        ("lone\ud800", "ENOENT: no such file or directory, access '{}/lone\ufffd'"),
    ],
)
async def test_what_cannot_be_read_says_why_at_once(
    tmp_path: Path, path: str, message: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        assert await failure_of(tmp_path, path) == message.format(tmp_path)


async def test_a_file_without_read_permission_says_so(unprivileged_folder: Path) -> None:
    path = unprivileged_folder / "secret"
    path.touch()
    path.chmod(0o200)
    assert await failure_of(unprivileged_folder, "secret") == (
        f"EACCES: permission denied, access '{path}'"
    )


async def test_odd_names_are_read_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a\nb").write_text("newline", encoding="utf-8")
    undecodable = os.fsdecode(b"\xff\xfe")
    (tmp_path / undecodable).write_text("bytes", encoding="utf-8")
    assert await text_of(tmp_path, "a\nb") == "newline"
    assert await text_of(tmp_path, undecodable) == "bytes"


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
async def test_files_that_tell_no_size_are_read_to_their_end(tmp_path: Path) -> None:
    text = await text_of(tmp_path, "/proc/self/status")
    assert text.startswith("Name:\t")
    assert "\nPid:\t" in text


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
async def test_a_file_that_tells_no_size_and_does_not_end_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_read_local, "MAX_UNSIZED_BYTES", 10)
    monkeypatch.setattr(_read_local, "BLOCK_BYTES", 5)
    assert await failure_of(tmp_path, "/proc/self/status") == (
        "The file tells no size and does not end within 10 bytes"
    )


async def test_a_growing_file_ends_where_it_ended_at_opening(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_bytes(b"x\n" * 1_000_000)
    may_end = threading.Event()

    def grow() -> None:
        with path.open("ab") as file:
            while not may_end.is_set():
                file.write(b"y\n" * 100_000)
                file.flush()

    thread = threading.Thread(target=grow)
    thread.start()
    try:
        with anyio.fail_after(20):
            result = await read(tmp_path, "log")
    finally:
        may_end.set()
        thread.join()
    assert result.details["truncation"]["truncated"] is True


async def test_a_sparse_file_costs_neither_memory_nor_time(tmp_path: Path) -> None:
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.write(b"start\n")
        file.seek(1 << 30)
        file.write(b"\nend\n")
    with anyio.fail_after(20):
        result = await read(tmp_path, "sparse", offset=2)
    assert result.details["truncation"]["totalBytes"] == (1 << 30) - 6 + 5
    assert result.to_wire()["content"][0]["text"].startswith("[Line 2 is 1024.0MB, exceeds")
    assert await text_of(tmp_path, "sparse", offset=3) == "end\n"
    assert await text_of(tmp_path, "sparse", limit=1) == (
        "start\n\n[3 more lines in file. Use offset=2 to continue.]"
    )
    with path.open("wb") as file:
        file.write(b"start\n")
        file.truncate(1 << 30)
    with anyio.fail_after(20):
        result = await read(tmp_path, "sparse", limit=-1)
    assert result.to_wire()["content"][0]["text"] == (
        "start\n\n[3 more lines in file. Use offset=0 to continue.]"
    )
    path.unlink()


async def test_a_signal_that_is_set_stops_before_anything(tmp_path: Path) -> None:
    signal = AbortSignal()
    signal.abort()
    with pytest.raises(ToolAborted, match=r"^Operation aborted$"):
        await read(tmp_path, "gone", signal=signal)


async def test_a_signal_that_is_set_later_stops_at_once(tmp_path: Path) -> None:
    is_reading, may_end = threading.Event(), threading.Event()

    class Slow:
        def access(self, _path: str) -> None:
            is_reading.set()
            may_end.wait(5)

        def read_file(self, path: str) -> bytes:
            raise AssertionError(path)

    signal = AbortSignal()

    async def abort() -> None:
        await anyio.to_thread.run_sync(is_reading.wait)
        threading.Thread(target=signal.abort).start()

    with anyio.fail_after(4):
        async with anyio.create_task_group() as group:
            group.start_soon(abort)
            with pytest.raises(ToolAborted, match=r"^Operation aborted$"):
                await read(tmp_path, "a", signal=signal, options={"operations": Slow()})
        may_end.set()


# ---- Pictures -----------------------------------------------------------------------------------


def picture(width: int = 8, height: int = 6, kind: str = "PNG") -> bytes:
    buffer = io.BytesIO()
    Image.new("RGB", (width, height), "red").save(buffer, kind)
    return buffer.getvalue()


def image_wire(data: bytes, note: str, mime_type: str = "image/png") -> dict[str, Any]:
    encoded = base64.b64encode(data).decode()
    return {
        "content": [
            {"type": "text", "text": note},
            {"type": "image", "data": encoded, "mimeType": mime_type},
        ],
        "structuredContent": {
            "type": "image",
            "data": encoded,
            "mimeType": mime_type,
            "note": note,
        },
    }


async def test_a_picture_comes_with_its_note_whatever_its_name(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(picture())
    result = await read(tmp_path, "a.txt", offset=99, limit=1)
    assert result.to_wire() == image_wire(picture(), "Read image file [image/png]")


async def test_text_named_like_a_picture_is_text(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_text("not an image\n", encoding="utf-8")
    assert await text_of(tmp_path, "a.png") == "not an image\n"


async def test_a_picture_that_cannot_be_processed_becomes_text(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"GIF89a hello text\n")
    assert await text_of(tmp_path, "a") == (
        "Read image file [image/gif]\n"
        "[Image omitted: could not be resized below the inline image size limit.]"
    )


async def test_a_huge_file_with_a_pictures_start_is_left_out_unread(tmp_path: Path) -> None:
    with (tmp_path / "a").open("wb") as file:
        file.write(b"\xff\xd8\xff\xe0")
        file.truncate(1 << 40)
    with anyio.fail_after(10):
        assert await text_of(tmp_path, "a") == (
            "Read image file [image/jpeg]\n"
            "[Image omitted: could not be resized below the inline image size limit.]"
        )


def shown_size(result: ToolResult) -> tuple[int, int]:
    data = base64.b64decode(result.to_wire()["content"][1]["data"])
    with Image.open(io.BytesIO(data)) as image:
        return image.size


@pytest.mark.parametrize(
    ("model_limits", "tool_limits", "size"),
    [
        (None, None, (100, 50)),
        (None, {"max_width": 10}, (10, 5)),
        ({"max_width": 20}, {"max_width": 10}, (20, 10)),
        ({"max_height": 20}, {"max_width": 10}, (40, 20)),
        ({}, {"max_width": 10}, (100, 50)),
    ],
)
async def test_the_models_limits_win_over_the_tools(
    tmp_path: Path,
    model_limits: dict[str, int] | None,
    tool_limits: dict[str, int] | None,
    size: tuple[int, int],
) -> None:
    (tmp_path / "a").write_bytes(picture(100, 50))
    model = ModelInfo("p", "m", image_resize=model_limits)
    result = await read(
        tmp_path,
        "a",
        ctx=types.SimpleNamespace(cwd=None, model=model),
        options={"resize_options": tool_limits},
    )
    assert shown_size(result) == size


async def test_pictures_keep_their_size_when_resizing_is_off(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(picture(3000, 10))
    result = await read(tmp_path, "a", options={"auto_resize_images": False})
    assert result.to_wire() == image_wire(picture(3000, 10), "Read image file [image/png]")


async def test_a_model_without_images_is_named_in_the_details(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(picture())
    context = types.SimpleNamespace(cwd=None, model=ModelInfo("p", "blind", input=("text",)))
    result = await read(tmp_path, "a", ctx=context)
    assert result.to_wire() == {
        **image_wire(picture(), "Read image file [image/png]"),
        "details": {"imageUnsupportedByModel": "blind"},
    }


# ---- Supplied operations ------------------------------------------------------------------------


class Remote:
    """Files of another machine, in memory."""

    def __init__(self, **files: bytes) -> None:
        self.files = {f"/{name}": data for name, data in files.items()}
        self.calls: list[tuple[str, str]] = []

    async def access(self, path: str) -> None:
        self.calls.append(("access", path))
        if path not in self.files:
            raise FileNotFoundError(2, "not there")

    async def read_file(self, path: str) -> bytes:
        self.calls.append(("read_file", path))
        return self.files[path]


class Streaming(Remote):
    """The same, which can also send a file piece by piece."""

    async def create_read_stream(self, path: str) -> AsyncIterator[bytes]:
        self.calls.append(("create_read_stream", path))

        async def pieces() -> AsyncIterator[bytes]:
            for byte in self.files[path]:
                yield bytes([byte])

        return pieces()


async def read_with(operations: object, path: str, **numbers: Any) -> str:
    result = await read(Path("/"), path, options={"operations": operations}, **numbers)
    text: str = result.to_wire()["content"][0]["text"]
    return text


async def test_operations_replace_the_local_files() -> None:
    remote = Remote(a=b"one\ntwo\n")
    assert await read_with(remote, "a", offset=2) == "two\n"
    assert remote.calls == [("access", "/a"), ("read_file", "/a")]


async def test_operations_may_be_a_mapping_of_plain_functions() -> None:
    operations = {"access": lambda _path: None, "read_file": lambda path: f"text of {path}"}
    assert await read_with(operations, "a") == "text of /a"


async def test_a_missing_remote_file_fails_in_the_words_of_access() -> None:
    with pytest.raises(OSError, match=r".") as caught:
        await read_with(Remote(), "a")
    assert str(caught.value) == "ENOENT: no such file or directory, access '/a'"


async def test_remote_names_are_tried_in_other_spellings() -> None:
    remote = Remote(**{"it\u2019s": b"curly"})
    assert await read_with(remote, "it's") == "curly"


async def test_a_remote_picture_is_recognised_by_its_content() -> None:
    assert await read_with(Remote(a=picture()), "a") == "Read image file [image/png]"


async def test_a_remote_may_say_itself_what_is_a_picture() -> None:
    class Detecting(Remote):
        def detect_image_mime_type(self, path: str) -> str | None:
            return "image/png" if path == "/a" else None

    remote = Detecting(a=picture(), b=b"GIF89a text")
    assert await read_with(remote, "a") == "Read image file [image/png]"
    assert await read_with(remote, "b") == "GIF89a text"


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"offset": 2}, "漢\nthree\n"),
        ({"limit": -1}, "one\n漢\nthree\n\n[5 more lines in file. Use offset=0 to continue.]"),
    ],
)
async def test_a_remote_stream_is_read_piece_by_piece(
    numbers: dict[str, Any], expected: str
) -> None:
    remote = Streaming(a="one\n漢\nthree\n".encode())
    assert await read_with(remote, "a", **numbers) == expected
    assert ("read_file", "/a") not in remote.calls


@pytest.mark.parametrize("size", [8, 200])
async def test_a_picture_in_a_remote_stream_is_read_as_a_whole(size: int) -> None:
    remote = Streaming(a=picture(size, size, "BMP"))
    assert await read_with(remote, "a") == (
        "Read image file [image/png]\n[Image converted from image/bmp to image/png.]"
    )


async def test_a_plain_iterable_is_a_stream_too() -> None:
    remote = {
        "access": lambda _path: None,
        "read_file": lambda _path: b"",
        "create_read_stream": lambda _path: itertools.repeat(b"line\n", 3),
    }
    assert await read_with(remote, "a") == "line\nline\nline\n"


def test_operations_without_a_needed_one_are_refused_by_name() -> None:
    with pytest.raises(PiKernelError) as caught:
        create_tool_definition("read", operations={"access": print})
    assert str(caught.value) == (
        'the operations of tool "read" must have read_file, access; read_file is missing'
    )


# ---- The definition -----------------------------------------------------------------------------


def test_the_definition_tells_what_the_tool_does() -> None:
    tool = create_tool_definition("read")
    assert tool.label == "read"
    assert tool.parameters["required"] == ["path"]
    assert [prop["type"] for prop in tool.parameters["properties"].values()] == [
        "string",
        "number",
        "number",
    ]
    assert tool.constrained_sampling == {"type": "json_schema", "strict": "prefer"}
    assert tool.annotations is not None
    assert tool.annotations.to_wire() == {"readOnlyHint": True}
    assert tool.activity is not None
    assert tool.activity({"path": "src/a.py"}) == "Reading src/a.py"
    assert tool.output_schema is not None
    assert tool.output_schema["anyOf"][1]["required"] == ["type", "data", "mimeType", "note"]
    for fact in ("2000 lines", "50KB", "jpg, png, gif, webp, bmp", "offset", "limit"):
        assert fact in tool.description


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (3, "3"),
        (3.0, "3"),
        (-2.5, "-2.5"),
        (-0.0, "0"),
        (1e16, "10000000000000000"),
        (1.2345678901234568e20, "123456789012345680000"),
        (1e21, "1e+21"),
        (1.5e300, "1.5e+300"),
        (1e-6, "0.000001"),
        (1.5e-7, "1.5e-7"),
        (2**53 + 1, "9007199254740992"),
        (10**400, "Infinity"),
        (-(10**400), "-Infinity"),
    ],
)
def test_numbers_are_printed_as_javascript_does(value: float, text: str) -> None:
    assert format_number(value) == text
