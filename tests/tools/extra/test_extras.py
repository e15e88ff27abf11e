"""Asking for more tools by name."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pi_kernel import PiKernelError, ToolSession
from pi_kernel.tools import (
    _factories,
    create_all_tools,
    create_read_only_tools,
    create_tool_definition,
)
from pi_kernel.tools.extra._alias_table import ALIAS_TABLE

NEW = ["todo_write", "fetch_url", "web_search"]
ALIASES = ["read_file", "write_file", "edit_file", "search_code", "search_files", "execute_command"]


def test_nothing_more_comes_unasked() -> None:
    assert not set(create_all_tools("/")) & {*NEW, *ALIASES}


def test_names_and_the_whole_set_of_aliases_add_tools_in_order() -> None:
    tools = create_all_tools("/", extra=[*NEW, "aliases"])
    assert list(tools)[8:] == [*NEW, *ALIASES]
    assert [tool.name for tool in tools.values()] == list(tools)
    assert list(create_read_only_tools("/", extra=("search_code",)))[4:] == ["search_code"]


def test_one_name_may_stand_alone() -> None:
    assert list(create_read_only_tools("/", extra="aliases"))[4:] == ALIASES
    assert list(create_read_only_tools("/", extra="todo_write"))[4:] == ["todo_write"]


def test_asking_twice_gives_one() -> None:
    tools = create_read_only_tools("/", extra=["aliases", "read_file", "read"])
    assert list(tools) == ["read", "grep", "find", "ls", *ALIASES]


@pytest.mark.parametrize("name", [*NEW, *ALIASES])
def test_each_is_made_by_its_name(name: str) -> None:
    assert create_tool_definition(name, "/").name == name
    assert create_tool_definition(name).label == name


def test_an_unknown_name_is_refused_with_the_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_factories, "_extra_factories", {"codemode": create_tool_definition})
    with pytest.raises(PiKernelError) as caught:
        create_all_tools("/", extra=["todo"])
    assert str(caught.value) == (
        "Unknown extra tool: todo; the choices: todo_write, fetch_url, web_search, aliases,"
        " read_file, write_file, edit_file, search_code, search_files, execute_command, codemode"
    )


def test_options_reach_a_tool_that_is_asked_for() -> None:
    tools = create_all_tools("/", extra=["fetch_url"], fetch_url={"max_redirects": 0})
    assert "fetch_url" in tools
    with pytest.raises(PiKernelError) as caught:
        create_all_tools("/", fetch_url={"max_redirects": 0})
    assert str(caught.value) == "options for fetch_url are given, but it is not among the tools"


def test_every_alias_is_described() -> None:
    assert list(ALIAS_TABLE) == list(_factories.ALIASES) == ALIASES


async def test_deferred_tools_are_registered_and_not_active_and_aliases_are_active() -> None:
    session = ToolSession(tools=create_all_tools("/", extra=[*NEW, "aliases"]).values())
    active = session.active
    assert not set(active) & set(NEW)
    assert set(ALIASES) <= set(active)
    outcome = await session.execute_tool("todo_write", {"plan": []})
    assert outcome.text == "The plan is empty."


def test_making_them_loads_no_tool_that_is_not_asked_for() -> None:
    code = (
        "import sys\n"
        "from pi_kernel.tools import create_tool_definition\n"
        "import pi_kernel.tools.extra\n"
        "create_tool_definition('search_files')\n"
        "names = ('PIL', 'httpx2', 'pi_kernel.tools.read', 'pi_kernel.tools.find')\n"
        "print([name for name in names if name in sys.modules])"
    )
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['pi_kernel.tools.find']\n"
