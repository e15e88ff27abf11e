from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.render._arguments import call_line


@pytest.mark.parametrize(
    ("name", "args", "line"),
    [
        ("read", {"path": "a.py"}, "a.py"),
        ("read", {"path": "a.py", "offset": 118, "limit": 13}, "a.py:118-130"),
        ("read", {"path": "a.py", "offset": 5}, "a.py:5"),
        ("read", {"path": "a.py", "limit": 3}, "a.py:1-3"),
        ("read", {"path": 3}, "[invalid arg]"),
        ("read", {"pth": "a"}, 'pth="a"'),
        ("bash", {"command": "ls -l"}, "$ ls -l"),
        ("bash", {"command": "make\ntest", "timeout": 120}, "$ make⏎ test (timeout 120s)"),
        ("bash", {"command": "x", "timeout": 0.5}, "$ x (timeout 0.5s)"),
        ("powershell", {"command": "dir"}, "PS> dir"),
        ("edit", {"path": "a.py", "edits": []}, "a.py"),
        ("write", {"path": "a.py", "content": "x" * 9_999}, "a.py"),
        ("grep", {"pattern": "a+b"}, "/a+b/ in ."),
        (
            "grep",
            {"pattern": "x", "path": "src", "glob": "*.py", "limit": 5},
            "/x/ in src (*.py) limit 5",
        ),
        ("find", {"pattern": "*.csv", "path": "data"}, "*.csv in data"),
        ("find", {"pattern": "*", "limit": 10}, "* in . (limit 10)"),
        ("ls", {}, "."),
        ("ls", {"path": "src", "limit": 2}, "src (limit 2)"),
        ("ls", {"folder": "src"}, 'folder="src"'),
        ("codemode", {"code": "a\nb\n"}, "2 lines"),
        ("codemode", {"code": "a"}, "1 line"),
        ("codemode", {"code": None}, "[invalid arg]"),
        (
            "query",
            {"sql": "SELECT 1", "limit": 5, "deep": {"a": [1]}},
            'sql="SELECT 1" limit=5 deep={"a": [1]}',
        ),
        ("query", {"flag": True, "none": None, "n": 1.5}, "flag=true none=null n=1.5"),
        ("query", {}, ""),
        ("query", [1, 2], ""),
        ("read", {"path": "a", "offset": 10**5_000}, 'path="a" offset=a very long number'),
    ],
)
def test_a_call_has_its_line(name: str, args: Any, line: str) -> None:
    assert call_line(name, args, None) == line


def test_arguments_stand_in_the_order_of_the_schema_and_the_longest_last() -> None:
    schema: dict[str, Any] = {"properties": {"b": {}, "a": {}}}
    assert call_line("t", {"a": 1, "x": 3, "b": 2}, schema) == "b=2 a=1 x=3"
    long = "x" * 50
    assert call_line("t", {"a": long, "b": 2}, None) == f'b=2 a="{long}"'


def test_the_home_folder_is_a_tilde() -> None:
    home = str(Path.home())
    assert call_line("read", {"path": f"{home}/a.py"}, None) == "~/a.py"
    assert call_line("ls", {"path": home}, None) == "~"
    assert call_line("ls", {"path": f"{home}-other"}, None) == f"{home}-other"


def test_a_long_line_ends_with_an_ellipsis() -> None:
    line = call_line("bash", {"command": "x" * 10_000_000}, None)
    assert line == f"$ {'x' * 117}…"
    assert len(call_line("t", {"a": "x" * 10_000_000, "b": ["y"] * 1_000_000}, None)) == 120


NAMES = st.sampled_from(["read", "bash", "grep", "find", "ls", "codemode", "edit", "other"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
KEYS = st.sampled_from(["path", "command", "pattern", "limit", "offset", "timeout", "glob", "x"])


@given(NAMES, st.dictionaries(KEYS, JSON, max_size=4))
def test_any_arguments_give_one_line(name: str, args: dict[str, Any]) -> None:
    line = call_line(name, args, {"properties": {"x": {}}})
    assert len(line) <= 120
    assert "\n" not in line
