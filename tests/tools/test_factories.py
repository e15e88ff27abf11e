"""Making tools by name."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pi_kernel import PiKernelError, ToolDefinition, ToolResult
from pi_kernel.tools import (
    _factories,
    create_all_tools,
    create_coding_tools,
    create_read_only_tools,
    create_tool_definition,
    register_factory,
)


@pytest.fixture(autouse=True)
def _no_names_are_left() -> Iterator[None]:
    before = dict(_factories._extra_factories)
    yield
    _factories._extra_factories.clear()
    _factories._extra_factories.update(before)


async def _nothing(*_: object) -> ToolResult:
    return ToolResult("nothing")


def make_extra(
    cwd: str | None = None, *, operations: object = None, loud: bool = False
) -> ToolDefinition:
    return ToolDefinition(
        name="extra", description=f"{cwd} {operations} {loud}", parameters={}, execute=_nothing
    )


@pytest.mark.parametrize("name", ["read", "write", "ls"])
def test_a_built_in_is_made_by_its_name(name: str) -> None:
    assert create_tool_definition(name, "/tmp").name == name  # noqa: S108 - any directory


def test_an_unknown_name_is_refused() -> None:
    with pytest.raises(PiKernelError) as caught:
        create_tool_definition("nope")
    assert str(caught.value) == "Unknown tool name: nope"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "read",
            (
                "Unknown option 'shell_path' for tool \"read\";"
                " its options: auto_resize_images, resize_options"
            ),
        ),
        ("write", "Unknown option 'shell_path' for tool \"write\"; its options: none"),
    ],
)
def test_an_unknown_option_is_refused_with_the_valid_ones(name: str, message: str) -> None:
    with pytest.raises(PiKernelError) as caught:
        create_tool_definition(name, shell_path="/bin/sh")
    assert str(caught.value) == message


async def test_without_a_directory_the_process_decides_at_each_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = create_tool_definition("ls")
    for name in ("one", "two"):
        (tmp_path / name / name).mkdir(parents=True)
        monkeypatch.chdir(tmp_path / name)
        result: Any = await tool.execute("call-1", {}, None, None, None)  # type: ignore[misc]  # it is async
        assert result.content[0].text == f"{name}/"


def test_a_registered_factory_is_used_with_its_options() -> None:
    register_factory("extra", make_extra)
    tool = create_tool_definition("extra", Path("/w"), operations="io", loud=True)
    assert tool.description == "/w io True"
    with pytest.raises(PiKernelError) as caught:
        create_tool_definition("extra", quiet=True)
    assert str(caught.value) == "Unknown option 'quiet' for tool \"extra\"; its options: loud"


def test_a_factory_that_takes_any_option_judges_them_itself() -> None:
    def make(cwd: str | None = None, **options: object) -> ToolDefinition:
        del cwd
        return make_extra(operations=sorted(options))

    register_factory("extra", make)
    assert create_tool_definition("extra", any_of=1, them=2).description.startswith(
        "None ['any_of', 'operations', 'them']"
    )


def test_a_built_in_cannot_be_replaced() -> None:
    with pytest.raises(PiKernelError) as caught:
        register_factory("read", make_extra)
    assert str(caught.value) == "the factory of the built-in tool read cannot be replaced"


def test_the_groups_hold_the_usual_tools_in_order() -> None:
    assert list(create_all_tools("/")) == [
        *("read", "bash", "powershell", "edit", "write", "grep", "find", "ls"),
    ]
    assert list(create_coding_tools("/")) == ["read", "bash", "edit", "write"]
    assert list(create_read_only_tools("/")) == ["read", "grep", "find", "ls"]


def test_a_group_takes_more_tools_by_name_or_as_they_are() -> None:
    register_factory("extra", make_extra)
    own = ToolDefinition(name="own", description="", parameters={}, execute=_nothing)
    tools = create_read_only_tools("/w", extra=["extra", own])
    assert list(tools) == ["read", "grep", "find", "ls", "extra", "own"]
    assert tools["own"] is own
    assert tools["extra"].description == "/w None False"


async def test_a_group_hands_each_tool_its_options(tmp_path: Path) -> None:
    operations = {
        "exists": lambda _path: True,
        "stat": lambda _path: tmp_path,
        "readdir": lambda _path: ["remote"],
    }
    tools = create_read_only_tools(tmp_path, ls={"operations": operations})
    result: Any = await tools["ls"].execute("call-1", {}, None, None, None)  # type: ignore[misc]  # it is async
    assert result.content[0].text == "remote/"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("nope", "Unknown tool name: nope"),
        ("write", "options for write are given, but it is not among the tools"),
    ],
)
def test_options_for_a_tool_outside_the_group_are_refused(name: str, message: str) -> None:
    with pytest.raises(PiKernelError) as caught:
        create_read_only_tools("/", **{name: {}})
    assert str(caught.value) == message


def test_importing_the_package_loads_no_tool_and_no_pillow() -> None:
    code = (
        "import sys, pi_kernel.tools\n"
        "pi_kernel.tools.create_tool_definition('ls')\n"
        "names = ('PIL', 'pi_kernel.tools.read', 'pi_kernel.tools.ls')\n"
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['pi_kernel.tools.ls']\n"
