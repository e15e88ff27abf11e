"""The other system's names for the built-in tools."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pi_kernel import PiKernelError, ToolDefinition, ToolResult, ToolSession
from pi_kernel.protocol.results import text_of
from pi_kernel.protocol.tools import ModelInfo
from pi_kernel.tools import create_tool_definition
from pi_kernel.tools._factories import ALIASES
from tests.tools.extra.running import failure, run, text

PIXEL = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000100000001080000000"
    "03a7e9b550000000a49444154789c6360000000020001485eb5370000000049454e44ae426082"
)


def put(folder: Path, name: str, content: str | bytes = "") -> None:
    """Write a file."""
    path = Path(folder, name)
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def content_of(folder: Path, name: str) -> str:
    """Read a file."""
    return Path(folder, name).read_text()


def alias(name: str, cwd: Path | None = None, **options: Any) -> ToolDefinition:
    return create_tool_definition(name, cwd, **options)


@pytest.mark.parametrize(("name", "original"), ALIASES.items())
def test_an_alias_is_its_tool_but_for_name_texts_and_parameters(name: str, original: str) -> None:
    tool, same = alias(name), create_tool_definition(original)
    assert (tool.name, tool.label, tool.exposure) == (name, name, "direct")
    assert tool.default_active
    assert tool.annotations == same.annotations
    assert tool.output_schema == same.output_schema
    assert tool.constrained_sampling == same.constrained_sampling
    assert tool.prepare_arguments is None
    for judge in ("is_read_only", "is_destructive"):
        mine, original_judge = getattr(tool, judge), getattr(same, judge)
        assert (mine is None) == (original_judge is None)
        assert mine is None or mine({}) == original_judge({})


@pytest.mark.parametrize(
    ("name", "properties", "required"),
    [
        ("read_file", {"path": None, "offset": (1, None), "limit": (200, 500)}, ["path"]),
        ("write_file", {"path": None, "content": None}, ["path", "content"]),
        (
            "edit_file",
            {"path": None, "old_string": None, "new_string": None},
            ["path", "old_string", "new_string"],
        ),
        (
            "search_code",
            {"pattern": None, "glob": ("**/*", None), "max_results": (30, 100)},
            ["pattern"],
        ),
        (
            "search_files",
            {"pattern": None, "path": (".", None), "max_results": (50, 500)},
            ["pattern"],
        ),
        (
            "execute_command",
            {"command": None, "cwd": None, "timeout_ms": (30000, None)},
            ["command"],
        ),
    ],
)
def test_parameters_defaults_and_limits(
    name: str, properties: dict[str, Any], required: list[str]
) -> None:
    schema = alias(name).parameters
    assert schema["required"] == required
    assert list(schema["properties"]) == list(properties)
    for key, limits in properties.items():
        found = schema["properties"][key]
        assert (found.get("default"), found.get("maximum")) == (limits or (None, None))


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("read_file", {"path": "a", "limit": 501}, "limit: "),
        ("read_file", {"path": "a", "limit": 0}, "limit: "),
        ("read_file", {"path": "a", "offset": 0}, "offset: "),
        ("edit_file", {"path": "a", "old_string": "", "new_string": "b"}, "old_string: "),
        ("edit_file", {"path": "a", "old_string": "a"}, "new_string: missing"),
        ("search_code", {"pattern": "a", "max_results": 101}, "max_results: "),
        ("search_files", {"pattern": "a", "max_results": 501}, "max_results: "),
        ("execute_command", {"command": "a", "timeout_ms": 0}, "timeout_ms: "),
        ("execute_command", {}, "command: missing"),
    ],
)
async def test_the_session_checks_the_arguments(
    name: str, arguments: dict[str, Any], problem: str
) -> None:
    session = ToolSession(tools=[alias(name)])
    outcome = await session.execute_tool(name, arguments)
    assert outcome.status == "invalid"
    assert outcome.text.split("\n")[0] == f'Validation failed for tool "{name}":'
    assert outcome.text.split("\n")[1].startswith(f"  - {problem}")


async def test_read_file_shows_200_lines_unless_asked_otherwise(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "".join(f"{n}\n" for n in range(1, 301)))
    tool = alias("read_file", tmp_path)
    lines = "\n".join(map(str, range(1, 201)))
    result = await run(tool, {"path": "a.txt"})
    shown = f"{lines}\n\n[101 more lines in file. Use offset=201 to continue.]"
    assert text_of(result.content) == result.structured_content == shown
    assert await text(tool, {"path": "a.txt", "offset": 299, "limit": 2}) == (
        "299\n300\n\n[1 more lines in file. Use offset=301 to continue.]"
    )


async def test_read_file_gives_pictures_too(tmp_path: Path) -> None:
    put(tmp_path, "a.png", PIXEL)
    result = await run(alias("read_file", tmp_path), {"path": "a.png"})
    assert [block.type for block in result.content] == ["text", "image"]


async def test_a_picture_for_a_model_that_sees_none_keeps_its_details(tmp_path: Path) -> None:
    put(tmp_path, "a.png", PIXEL)
    ctx = SimpleNamespace(cwd=None, model=ModelInfo("test", "blind", input=("text",)))
    result = await run(alias("read_file", tmp_path), {"path": "a.png"}, ctx=ctx)
    assert result.details == {"imageUnsupportedByModel": "blind"}
    assert [block.type for block in result.content] == ["text", "image"]


async def test_read_file_names_execute_command_where_read_names_bash(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "x" * 60_000)
    notice = (
        "[Line 1 is 58.6KB, exceeds 50.0KB limit."
        " Use execute_command: sed -n '1p' a.txt | head -c 51200]"
    )
    result = await run(alias("read_file", tmp_path), {"path": "a.txt"})
    assert text_of(result.content) == result.structured_content == notice
    assert result.details["truncation"]["firstLineExceedsLimit"]


async def test_a_cut_by_size_is_told_in_reads_own_words(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", f"Use bash: {'x' * 990}\n" * 100)
    result = await run(alias("read_file", tmp_path), {"path": "a.txt"})
    shown = text_of(result.content)
    assert shown == result.structured_content
    assert shown.endswith(
        "\n\n[Showing lines 1-51 of 101 (50.0KB limit). Use offset=52 to continue.]"
    )
    assert shown.count("Use bash: ") == 51


async def test_what_a_file_says_about_bash_is_left_alone(tmp_path: Path) -> None:
    content = "Use bash: x\n" * 30_000
    put(tmp_path, "a.txt", content)
    result = await text(alias("read_file", tmp_path), {"path": "a.txt"})
    assert result.count("Use bash: x") == 200
    assert "execute_command" not in result


async def test_write_file_writes(tmp_path: Path) -> None:
    tool = alias("write_file", tmp_path)
    result = await text(tool, {"path": "new/a.txt", "content": "a"})
    assert result == "Successfully wrote to new/a.txt"
    assert content_of(tmp_path, "new/a.txt") == "a"


async def test_edit_file_replaces_one_piece_of_text(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "one two one\n")
    tool = alias("edit_file", tmp_path)
    result = await run(tool, {"path": "a.txt", "old_string": "two", "new_string": "2"})
    assert text_of(result.content) == "Successfully replaced 1 block(s) in a.txt."
    assert result.details["firstChangedLine"] == 1
    assert content_of(tmp_path, "a.txt") == "one 2 one\n"
    message = await failure(tool, {"path": "a.txt", "old_string": "one", "new_string": "1"})
    assert message == (
        "Found 2 occurrences of the text in a.txt. The text must be unique. Please provide more"
        " context to make it unique."
    )
    assert content_of(tmp_path, "a.txt") == "one 2 one\n"


async def test_search_code_honours_ignore_files_with_and_without_the_default_glob(
    tmp_path: Path,
) -> None:
    put(tmp_path, ".git/HEAD")
    put(tmp_path, ".gitignore", "no.txt\n")
    for name in ("a.txt", "b.py", "no.txt"):
        put(tmp_path, name, "match\n")
    tool = alias("search_code", tmp_path)
    expected = "a.txt:1: match\nb.py:1: match"
    assert await text(tool, {"pattern": "m.tch"}) == expected
    assert await text(tool, {"pattern": "m.tch", "glob": "**/*"}) == expected
    assert await text(tool, {"pattern": "m.tch", "glob": "*.py"}) == "b.py:1: match"


@pytest.mark.parametrize(
    ("params", "notice"),
    [
        ({}, "[30 matches limit reached. Use max_results=60 for more, or refine pattern]"),
        (
            {"max_results": 60},
            "[60 matches limit reached. Use max_results=100 for more, or refine pattern]",
        ),
        ({"max_results": 100}, "[100 matches limit reached. Refine pattern]"),
    ],
)
async def test_search_code_names_its_own_limit(
    tmp_path: Path, params: dict[str, Any], notice: str
) -> None:
    own = "Use limit=60 for more, or refine pattern"
    put(tmp_path, "a.txt", f"{own}\n" * 150)
    result = await run(alias("search_code", tmp_path), {"pattern": "limit", **params})
    rows, _, last = text_of(result.content).rpartition("\n\n")
    assert last == notice
    assert rows.count(own) == params.get("max_results", 30)
    assert result.details["matchLimitReached"] == params.get("max_results", 30)


async def test_search_code_names_read_file_for_lines_that_are_cut(tmp_path: Path) -> None:
    put(tmp_path, "a.txt", "Use read tool to see " + "x" * 600)
    result = await text(alias("search_code", tmp_path), {"pattern": "x"})
    assert result.startswith("a.txt:1: Use read tool to see x")
    assert result.endswith("[Some lines truncated to 500 chars. Use read_file to see full lines]")


async def test_search_files_finds_below_its_path(tmp_path: Path) -> None:
    put(tmp_path, "d/a.py")
    tool = alias("search_files", tmp_path)
    assert await text(tool, {"pattern": "*.py"}) == "d/a.py"
    assert await text(tool, {"pattern": "*.py", "path": "d"}) == "a.py"
    assert await text(tool, {"pattern": "*.rs"}) == "No files found matching pattern"


@pytest.mark.parametrize(
    ("params", "notice"),
    [
        ({}, "[50 results limit reached. Use max_results=100 for more, or refine pattern]"),
        (
            {"max_results": 400},
            "[400 results limit reached. Use max_results=500 for more, or refine pattern]",
        ),
        ({"max_results": 500}, "[500 results limit reached. Refine pattern]"),
    ],
)
async def test_search_files_names_its_own_limit(
    tmp_path: Path, params: dict[str, Any], notice: str
) -> None:
    for number in range(501):
        put(tmp_path, f"{number}.py")
    result = await text(alias("search_files", tmp_path), {"pattern": "*.py", **params})
    assert result.endswith(f"\n\n{notice}")


async def test_execute_command_runs_where_cwd_says(tmp_path: Path) -> None:
    put(tmp_path, "d/a.py")
    tool = alias("execute_command", tmp_path)
    folder = os.path.realpath(tmp_path)
    assert await text(tool, {"command": "pwd -P"}) == f"{folder}\n"
    assert await text(tool, {"command": "pwd -P", "cwd": "d"}) == f"{folder}/d\n"
    assert await text(tool, {"command": "pwd -P", "cwd": f"{folder}/d"}) == f"{folder}/d\n"
    ctx = SimpleNamespace(cwd=f"{folder}/d", session_id="s-1")
    assert await text(tool, {"command": "pwd -P"}, ctx=ctx) == f"{folder}/d\n"
    echo = {"command": 'pwd -P; echo "$PI_SESSION_ID"', "cwd": ".."}
    assert await text(tool, echo, ctx=ctx) == f"{folder}\ns-1\n"


async def test_execute_command_counts_milliseconds(tmp_path: Path) -> None:
    with pytest.raises(Exception, match="timed out") as caught:
        await run(
            alias("execute_command", tmp_path),
            {"command": "echo first; exec sleep 60", "timeout_ms": 250},
        )
    assert str(caught.value) == "first\n\n\nCommand timed out after 0.25 seconds"


async def test_execute_command_has_a_timeout_of_30_seconds(tmp_path: Path) -> None:
    seen: list[float | None] = []

    class Shell:
        async def exec(self, _command: str, _cwd: str, **options: Any) -> int:
            seen.append(options["timeout"])
            return 0

    tool = alias("execute_command", tmp_path, operations=Shell())
    await run(tool, {"command": "true"})
    assert seen == [30.0]


async def test_a_failed_command_keeps_its_status(tmp_path: Path) -> None:
    result = await run(alias("execute_command", tmp_path), {"command": "exit 3"})
    assert result.is_error
    assert result.structured_content["exit_code"] == 3


async def test_updates_and_names_of_calls_reach_the_tool(tmp_path: Path) -> None:
    updates: list[ToolResult] = []
    tool = alias("execute_command", tmp_path)
    answer: Any = tool.execute("call-9", {"command": "echo a"}, None, updates.append, None)
    await answer
    assert text_of(updates[-1].content) == "a\n"


def test_an_alias_takes_the_options_of_its_tool() -> None:
    alias("execute_command", shell_path="/bin/sh")
    with pytest.raises(PiKernelError) as caught:
        alias("search_files", shell_path="/bin/sh")
    assert str(caught.value) == (
        "Unknown option 'shell_path' for tool \"search_files\"; its options: none"
    )


def test_people_see_what_the_call_does() -> None:
    tool = alias("execute_command")
    assert tool.activity is not None
    assert tool.activity({"command": "ls"}) == "Running ls"
    reading = alias("read_file").activity
    assert reading is not None
    assert reading({"path": "a"}) == "Reading a"
