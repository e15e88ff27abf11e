"""The find tool: which paths, in which order, and how many."""

from __future__ import annotations

import os
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest

from pi_kernel import AbortSignal, PiKernelError, ToolAborted, ToolResult
from pi_kernel.tools import create_tool_definition


@pytest.fixture(autouse=True)
def _no_user_excludes(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


async def find(
    cwd: Path,
    pattern: str,
    *,
    signal: AbortSignal | None = None,
    ctx: object = None,
    operations: object = None,
    **params: Any,
) -> ToolResult:
    tool = create_tool_definition("find", cwd, operations=operations)
    arguments = {"pattern": pattern, **params}
    result = await tool.execute("call-1", arguments, signal, None, ctx)  # type: ignore[misc]  # it is async
    assert isinstance(result, ToolResult)
    return result


def text_of(result: ToolResult) -> str:
    text: str = result.to_wire()["content"][0]["text"]
    return text


async def rows_of(cwd: Path, pattern: str, **params: Any) -> list[str]:
    result = await find(cwd, pattern, **params)
    assert result.to_wire().keys() == {"content"}
    return text_of(result).split("\n")


async def failure_of(cwd: Path, pattern: str, **params: Any) -> str:
    with pytest.raises(Exception, match=r".") as caught:
        await find(cwd, pattern, **params)
    return str(caught.value)


def fill(folder: Path, *names: str) -> None:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


PROJECT = ("src/a.py", "src/b.ts", "src/pkg/c.py", "README.md", ".cfg/x.py", ".hidden.py")


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("pkg", ["src/pkg/"]),
        ("*.ts", ["src/b.ts"]),
        ("?.py", [".cfg/x.py", "src/a.py", "src/pkg/c.py"]),
        ("[!a].py", [".cfg/x.py", "src/pkg/c.py"]),
        ("*.{ts,md}", ["README.md", "src/b.ts"]),
        ("src/*.py", ["src/a.py"]),
        ("./src/*.py", ["src/a.py"]),
        ("././a.py", ["src/a.py"]),
        ("**/c.py", ["src/pkg/c.py"]),
        ("**/src", ["src/"]),
        ("src/**", ["src/a.py", "src/b.ts", "src/pkg/", "src/pkg/c.py"]),
        ("src/**/c.py", ["src/pkg/c.py"]),
        ("src/**/a.py", ["src/a.py"]),
        ("src}", ["src/"]),
    ],
)
async def test_glob_finds(tmp_path: Path, pattern: str, expected: list[str]) -> None:
    fill(tmp_path, *PROJECT)
    assert await rows_of(tmp_path, pattern) == expected


@pytest.mark.parametrize("pattern", ["*", "**", "", "**/*", "./"])
async def test_glob_for_all_finds_everything_by_path(tmp_path: Path, pattern: str) -> None:
    fill(tmp_path, *PROJECT, "src.txt")
    assert await rows_of(tmp_path, pattern) == [
        ".cfg/",
        ".cfg/x.py",
        ".hidden.py",
        "README.md",
        "src/",
        "src/a.py",
        "src/b.ts",
        "src/pkg/",
        "src/pkg/c.py",
        "src.txt",
    ]


@pytest.mark.parametrize("pattern", ["*.rs", "src/", "nope/*", "**/", "../*", "pkg/c.py"])
async def test_glob_without_a_match_finds_nothing(tmp_path: Path, pattern: str) -> None:
    fill(tmp_path, *PROJECT)
    assert await rows_of(tmp_path, pattern) == ["No files found matching pattern"]


async def test_absolute_glob_matches_absolute_paths(tmp_path: Path) -> None:
    fill(tmp_path, *PROJECT)
    assert await rows_of(tmp_path, f"{tmp_path}/src/*.ts", path="src") == ["b.ts"]
    assert await rows_of(tmp_path, "/src/*.ts") == ["No files found matching pattern"]


async def test_lower_case_ignores_case_and_one_upper_case_letter_does_not(tmp_path: Path) -> None:
    fill(tmp_path, "Src/A.py", "src/b.py", "É", "é")
    assert await rows_of(tmp_path, "src/*.py") == ["Src/A.py", "src/b.py"]
    assert await rows_of(tmp_path, "Src/*.py") == ["Src/A.py"]
    assert await rows_of(tmp_path, "a.PY") == ["No files found matching pattern"]
    assert await rows_of(tmp_path, "é") == ["é"]


async def test_upper_case_in_the_folder_does_not_make_a_glob_exact(tmp_path: Path) -> None:
    fill(tmp_path, "Up/a/B.py")
    assert await rows_of(tmp_path, "a/b.py", path="Up") == ["a/B.py"]


async def test_links_are_found_and_not_entered(tmp_path: Path) -> None:
    fill(tmp_path, "d/x")
    (tmp_path / "l").symlink_to("d")
    (tmp_path / "n").symlink_to("nowhere")
    (tmp_path / "d/up").symlink_to("..")
    assert await rows_of(tmp_path, "*") == ["d/", "d/up", "d/x", "l", "n"]
    assert await rows_of(tmp_path, "*", path="l") == ["up", "x"]


async def test_gitignore_counts_outside_a_repository_too(tmp_path: Path) -> None:
    fill(tmp_path, "a.log", "k.txt", "s/b.log")
    (tmp_path / ".gitignore").write_text("*.log\n", encoding="utf-8")
    assert await rows_of(tmp_path, "*") == [".gitignore", "k.txt", "s/"]


async def test_git_and_node_modules_are_listed(tmp_path: Path) -> None:
    fill(tmp_path, ".git/config", "node_modules/m/x")
    assert await rows_of(tmp_path, "*") == [
        ".git/",
        ".git/config",
        "node_modules/",
        "node_modules/m/",
        "node_modules/m/x",
    ]


async def test_odd_names_are_shown(tmp_path: Path) -> None:
    fill(tmp_path, "a b/ü", "new\nline", "tail ", "d /x", "-v")
    (tmp_path / os.fsdecode(b"raw\xff")).touch()
    assert text_of(await find(tmp_path, "*")) == (
        "-v\na b/\na b/ü\nd /\nd /x\nnew\nline\nraw\ufffd\ntail"
    )


async def test_path_may_have_glob_characters(tmp_path: Path) -> None:
    fill(tmp_path, "we[i]rd {x}/s/b.py")
    assert await rows_of(tmp_path, "s/*.py", path="we[i]rd {x}") == ["s/b.py"]


async def test_folder_that_cannot_be_read_is_listed_and_not_entered(
    unprivileged_folder: Path,
) -> None:
    (unprivileged_folder / "no").mkdir(mode=0)
    fill(unprivileged_folder, "x")
    assert await rows_of(unprivileged_folder, "*") == ["no/", "x"]


async def test_limit_gives_the_first_rows_and_says_so(tmp_path: Path) -> None:
    fill(tmp_path, "c", "a", "b", "d/x")
    result = await find(tmp_path, "*", limit=2.9)
    notice = "[2 results limit reached. Use limit=4 for more, or refine pattern]"
    assert text_of(result) == f"a\nb\n\n{notice}"
    assert result.details == {"resultLimitReached": 2}
    assert text_of(await find(tmp_path, "*", limit=0)).startswith("a\n\n[1 results limit reached.")
    assert await rows_of(tmp_path, "*", limit=5) == ["a", "b", "c", "d/", "d/x"]


async def test_default_limit_is_a_thousand(tmp_path: Path) -> None:
    fill(tmp_path, *(f"{number:04}" for number in range(1001)))
    assert (await find(tmp_path, "*")).details == {"resultLimitReached": 1000}
    (tmp_path / "1000").unlink()
    assert len(await rows_of(tmp_path, "*")) == 1000


async def test_bytes_are_limited_and_both_notices_come_in_one_bracket(tmp_path: Path) -> None:
    fill(tmp_path, *(f"{number:0200}" for number in range(300)))
    result = await find(tmp_path, "*", limit=290)
    rows = text_of(result).split("\n")
    assert rows[-1] == (
        "[290 results limit reached. Use limit=580 for more, or refine pattern."
        " 50.0KB limit reached]"
    )
    assert len(rows) == 254 + 2
    cut = result.details["truncation"]
    assert (cut["totalLines"], cut["outputLines"], cut["truncatedBy"]) == (290, 254, "bytes")
    assert cut["maxLines"] == 9007199254740991


@pytest.mark.parametrize("path", ["nope", "file"])
async def test_path_that_is_no_folder_is_refused_in_the_words_of_fd(
    tmp_path: Path, path: str
) -> None:
    fill(tmp_path, "file")
    assert await failure_of(tmp_path, "*", path=path) == (
        f"[fd error]: Search path '{tmp_path}/{path}' is not a directory.\n"
        "[fd error]: No valid search paths given."
    )


@pytest.mark.parametrize("pattern", ["[a", "s/[a"])
async def test_invalid_glob_is_refused_in_the_words_of_fd(tmp_path: Path, pattern: str) -> None:
    assert await failure_of(tmp_path, pattern) == (
        f"[fd error]: error parsing glob '{pattern}': unclosed character class; missing ']'"
    )


async def test_context_has_the_last_word_on_the_working_directory(tmp_path: Path) -> None:
    fill(tmp_path, "s/x")
    ctx = types.SimpleNamespace(cwd=str(tmp_path / "s"))
    assert await rows_of(tmp_path, "*", ctx=ctx) == ["x"]


async def test_aborted_call_does_not_start(tmp_path: Path) -> None:
    signal = AbortSignal()
    signal.abort()
    with pytest.raises(ToolAborted, match=r"^Operation aborted$"):
        await find(tmp_path / "nope", "*", signal=signal)


class RemoteFiles:
    """A file system that knows what it was asked."""

    def __init__(self, paths: list[str]) -> None:
        self.paths = paths
        self.asked: dict[str, Any] = {}

    def exists(self, path: str) -> bool:
        return path != "/gone"

    async def glob(self, pattern: str, cwd: str, *, ignore: Sequence[str], limit: int) -> list[str]:
        self.asked = {"pattern": pattern, "cwd": cwd, "ignore": list(ignore), "limit": limit}
        return self.paths[:limit]


async def test_operations_replace_the_file_system() -> None:
    files = RemoteFiles(["/srv/b/x.py", "/srv/a/", "c.py"])
    result = await find(Path("/srv"), "*.py", operations=files)
    assert text_of(result) == "a/\nb/x.py\nc.py"
    assert files.asked == {
        "pattern": "*.py",
        "cwd": "/srv",
        "ignore": ["**/node_modules/**", "**/.git/**"],
        "limit": 1001,
    }


async def test_limit_of_operations_comes_without_advice() -> None:
    files = RemoteFiles(["a", "b", "c"])
    result = await find(Path("/srv"), "*", operations=files, limit=2)
    assert text_of(result) == "a\nb\n\n[2 results limit reached]"
    assert result.details == {"resultLimitReached": 2}


async def test_path_that_operations_do_not_know_is_not_found() -> None:
    message = await failure_of(Path("/"), "*", operations=RemoteFiles([]), path="gone")
    assert message == "Path not found: /gone"


async def test_operations_without_glob_are_refused() -> None:
    with pytest.raises(PiKernelError, match="glob is missing"):
        create_tool_definition("find", operations={"exists": lambda _: True})


async def test_abort_leaves_a_hanging_operation_at_once() -> None:
    started = anyio.Event()

    class Hanging(RemoteFiles):
        async def glob(self, *_: object, **__: object) -> list[str]:
            started.set()
            await anyio.sleep_forever()
            return []

    signal = AbortSignal()
    async with anyio.create_task_group() as group:

        async def abort_when_started() -> None:
            await started.wait()
            signal.abort()

        group.start_soon(abort_when_started)
        with anyio.fail_after(5), pytest.raises(ToolAborted):
            await find(Path("/"), "*", operations=Hanging([]), signal=signal)
