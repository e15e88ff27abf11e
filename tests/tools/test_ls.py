"""The ls tool: which entries, in which order, and how many."""

from __future__ import annotations

import os
import threading
import types
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel import AbortSignal, PiKernelError, ToolAborted, ToolResult
from pi_kernel.tools import create_tool_definition
from pi_kernel.tools._collation import sort_names


async def ls(
    cwd: Path,
    *,
    signal: AbortSignal | None = None,
    ctx: object = None,
    operations: object = None,
    **params: Any,
) -> ToolResult:
    tool = create_tool_definition("ls", cwd, operations=operations)
    result = await tool.execute("call-1", params, signal, None, ctx)  # type: ignore[misc]  # it is async
    assert isinstance(result, ToolResult)
    return result


async def rows_of(cwd: Path, **params: Any) -> list[str]:
    result = await ls(cwd, **params)
    assert result.to_wire().keys() == {"content"}
    text: str = result.to_wire()["content"][0]["text"]
    return text.split("\n")


async def failure_of(cwd: Path, **params: Any) -> str:
    with pytest.raises(Exception, match=r".") as caught:
        await ls(cwd, **params)
    return str(caught.value)


def fill(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).touch()


async def test_directories_and_links_to_them_end_in_a_slash(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "e").symlink_to("d")
    (tmp_path / "f").symlink_to("g")
    fill(tmp_path, "g", ".hidden", ".gitignore")
    os.mkfifo(tmp_path / "h")
    assert await rows_of(tmp_path) == [".gitignore", ".hidden", "d/", "e/", "f", "g", "h"]


async def test_links_to_nowhere_are_left_out(tmp_path: Path) -> None:
    fill(tmp_path, "a")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    assert await rows_of(tmp_path) == ["a"]


async def test_an_empty_directory_says_so(tmp_path: Path) -> None:
    assert await rows_of(tmp_path) == ["(empty directory)"]
    (tmp_path / "dangling").symlink_to("nowhere")
    assert await rows_of(tmp_path) == ["(empty directory)"]


ORDERS = [
    # ASCII: blanks, punctuation, symbols, digits one by one, letters without case.
    [f"n{char}" for char in " _-,;:!?.'\"()[]{}@*\\&#%`^+<=>|~$0123456789aBcDz"],
    ["0", "1", "10", "2", "a"],
    ["a b", "a_b", "a-b", "a.b", "a1", "aa"],
    ["e", "\u00e9", "ea", "\u00c9b", "f"],
    [
        "o",
        "\u00f3",
        "\u00f2",
        "\u00f4",
        "\u00f6",
        "\u00f5",
        "\u00f8",
        "\u014d",
        "oe",
        "\u0153",
        "of",
    ],
    ["ae", "\u00e6", "af"],
    ["strasse", "stra\u00dfe", "strassf"],
    ["it's", "it\u2018s", "it\u2019s"],
    ["-", "\u2013", "\u2014", ",", ".x"],
    ["\u00a7", "\u00b0", "\u00a9", "+", "\u00d7", "\U0001f44b", "\u20ac", "1", "z"],
    ["1", "\u00b9", "1a", "2", "\u0663", "4"],
    ["\u2e32", "`", "\u2192", "+", "~", "\u2713", "\u20a3", "\u0e3f", "0"],
    ["a\u00adb", "abc"],
    ["\u10d0", "\u05d0", "\u0e01"],
    [
        "z",
        "\u03b1\u03b2\u03b3",
        "\u03a9mega",
        "\u0430\u0431\u0432",
        "\u05d0",
        "\u3042",
        "\u4e2d",
        "\u65e5",
    ],
    ["\u0435", "\u0451", "\u0436", "\u0438", "\u0439", "\u043a"],
    ["\u3042", "\u30a2", "\u3044"],
]


@pytest.mark.parametrize("names", ORDERS, ids=lambda names: names[0])
async def test_names_come_in_the_order_of_the_root_collation(
    tmp_path: Path, names: list[str]
) -> None:
    fill(tmp_path, *reversed(names))
    assert await rows_of(tmp_path) == names


async def test_names_that_differ_in_case_alone_come_by_themselves(tmp_path: Path) -> None:
    fill(tmp_path, "readme", "README", "Readme")
    assert await rows_of(tmp_path) == ["README", "Readme", "readme"]


async def test_undecodable_names_are_listed_with_replacements(tmp_path: Path) -> None:
    fill(tmp_path, os.fsdecode(b"a\xff"), "b\nc")
    assert await rows_of(tmp_path) == ["a\ufffd", "b", "c"]


@pytest.mark.parametrize(
    ("limit", "kept", "shown", "doubled"),
    [(2, 2, 2, 4), (2.9, 2, 2, 4), (1, 1, 1, 2), (0, 1, 1, 2), (-5, 1, 1, 2)],
)
async def test_a_limit_is_a_whole_number_of_at_least_one(
    tmp_path: Path, limit: float, kept: int, shown: int, doubled: int
) -> None:
    fill(tmp_path, "a", "b", "c")
    result = await ls(tmp_path, limit=limit)
    body = "\n".join("abc"[:kept])
    assert result.to_wire() == {
        "content": [
            {
                "type": "text",
                "text": f"{body}\n\n[{shown} entries limit reached. Use limit={doubled} for more]",
            }
        ],
        "details": {"entryLimitReached": kept},
    }


async def test_a_limit_that_is_just_met_is_not_mentioned(tmp_path: Path) -> None:
    fill(tmp_path, "a", "b", "c")
    assert await rows_of(tmp_path, limit=3) == ["a", "b", "c"]
    assert await rows_of(tmp_path, limit=1e300) == ["a", "b", "c"]


async def test_five_hundred_entries_are_the_default_limit(tmp_path: Path) -> None:
    fill(tmp_path, *(f"{number:03}" for number in range(501)))
    result = await ls(tmp_path)
    assert result.details == {"entryLimitReached": 500}
    text = result.to_wire()["content"][0]["text"]
    assert text.endswith("\n499\n\n[500 entries limit reached. Use limit=1000 for more]")


async def test_both_limits_share_one_notice(tmp_path: Path) -> None:
    fill(tmp_path, *(f"{number:0200}" for number in range(301)))
    result = await ls(tmp_path, limit=300)
    assert result.to_wire()["content"][0]["text"].endswith(
        "253\n\n[300 entries limit reached. Use limit=600 for more. 50.0KB limit reached]"
    )
    truncation = result.details["truncation"]
    assert result.details["entryLimitReached"] == 300
    assert (truncation["truncatedBy"], truncation["totalLines"]) == ("bytes", 300)
    assert (truncation["totalBytes"], truncation["outputLines"]) == (300 * 201 - 1, 254)
    assert truncation["maxLines"] == 9007199254740991


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("gone", "Path not found: {}/gone"),
        ("file", "Not a directory: {}/file"),
        ("file/x", "Path not found: {}/file/x"),
        ("loop", "Path not found: {}/loop"),
        ("it's", "Path not found: {}/it's"),
        ("a\0b", "Path not found: {}/a\0b"),
    ],
)
async def test_what_is_no_directory_is_named_with_its_absolute_path(
    tmp_path: Path, path: str, message: str
) -> None:
    fill(tmp_path, "file", "it\u2019s")
    (tmp_path / "loop").symlink_to("loop")
    assert await failure_of(tmp_path, path=path) == message.format(tmp_path)


async def test_a_directory_without_read_permission_says_so(unprivileged_folder: Path) -> None:
    path = unprivileged_folder / "closed"
    path.mkdir(0o300)
    assert await failure_of(unprivileged_folder, path="closed") == (
        f"Cannot read directory: EACCES: permission denied, scandir '{path}'"
    )


async def test_a_context_chooses_the_directory(tmp_path: Path) -> None:
    (tmp_path / "w").mkdir()
    fill(tmp_path / "w", "inner")
    context = types.SimpleNamespace(cwd=str(tmp_path / "w"))
    assert await rows_of(tmp_path, ctx=context) == ["inner"]
    assert await rows_of(tmp_path, ctx=context, path="") == ["inner"]
    assert await rows_of(tmp_path, path="w/") == ["inner"]


async def test_a_signal_that_is_set_stops_before_anything(tmp_path: Path) -> None:
    signal = AbortSignal()
    signal.abort()
    with pytest.raises(ToolAborted, match=r"^Operation aborted$"):
        await ls(tmp_path, path="gone", signal=signal)


class Remote:
    """One directory of another machine."""

    def exists(self, path: str) -> bool:
        return path != "/gone"

    async def stat(self, path: str) -> object:
        if path.endswith("broken"):
            raise OSError("no such entry")
        is_directory = path == "/" or path.endswith("d")
        return types.SimpleNamespace(is_directory=lambda: is_directory)

    async def readdir(self, path: str) -> list[str]:
        if path == "/closed":
            raise PermissionError(13, "denied")
        return ["d", "broken", "a", "C"]


async def test_operations_replace_the_local_directories() -> None:
    assert await rows_of(Path("/"), operations=Remote()) == ["a", "C", "d/"]
    assert await failure_of(Path("/"), path="gone", operations=Remote()) == "Path not found: /gone"
    assert await failure_of(Path("/"), path="a", operations=Remote()) == "Not a directory: /a"
    assert await failure_of(Path("/"), path="closed", operations=Remote()) == (
        "Cannot read directory: EACCES: permission denied, scandir '/closed'"
    )


@pytest.mark.parametrize(
    "status", [Path("/").stat(), types.SimpleNamespace(is_dir=lambda: True), Path("/")]
)
async def test_a_remote_may_describe_a_directory_in_several_ways(status: object) -> None:
    operations = {
        "exists": lambda _path: True,
        "stat": lambda _path: status,
        "readdir": lambda _path: ["x"],
    }
    assert await rows_of(Path("/"), operations=operations) == ["x/"]


async def test_a_signal_that_is_set_later_stops_at_once() -> None:
    is_there, may_pass = threading.Event(), threading.Event()

    def exists(_path: str) -> bool:
        is_there.set()
        may_pass.wait(5)
        return True

    signal = AbortSignal()
    operations = {"exists": exists, "stat": print, "readdir": print}

    async def abort() -> None:
        await anyio.to_thread.run_sync(is_there.wait)
        signal.abort()

    with anyio.fail_after(4):
        async with anyio.create_task_group() as group:
            group.start_soon(abort)
            with pytest.raises(ToolAborted, match=r"^Operation aborted$"):
                await ls(Path("/"), operations=operations, signal=signal)
        may_pass.set()


def test_operations_without_a_needed_one_are_refused_by_name() -> None:
    with pytest.raises(PiKernelError) as caught:
        create_tool_definition("ls", operations={"exists": print})
    assert str(caught.value) == (
        'the operations of tool "ls" must have exists, stat, readdir; stat is missing'
    )


def test_the_definition_tells_what_the_tool_does() -> None:
    tool = create_tool_definition("ls")
    assert "required" not in tool.parameters
    assert tool.constrained_sampling is None
    assert tool.prompt_guidelines == ()
    assert tool.annotations is not None
    assert tool.annotations.to_wire() == {"readOnlyHint": True}
    assert tool.activity is not None
    assert [tool.activity({}), tool.activity({"path": "src"})] == ["Listing .", "Listing src"]
    for fact in ("500 entries", "50KB", "dotfiles", "/"):
        assert fact in tool.description


@given(
    names=st.lists(st.text(st.characters(max_codepoint=127, exclude_characters="\0/"), min_size=1)),
    other=st.sampled_from(["é", "\u200b", "漢", "a\u0301"]),
)
def test_plain_names_sort_alone_as_they_do_beside_others(names: list[str], other: str) -> None:
    together = sort_names([*names, other])
    together.remove(other)
    assert sort_names(names) == together
