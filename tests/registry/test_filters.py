"""Allow and deny lists: what may be registered."""

from __future__ import annotations

import fnmatch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel import PiKernelError
from pi_kernel.registry.filters import NameFilter, NameMatcher, apply_modifiers, is_mcp_name


@pytest.mark.parametrize(
    ("entry", "name", "fits"),
    [
        ("read", "read", True),
        ("read", "read_file", False),
        ("read", "Read", False),
        ("re*", "read", True),
        ("re*", "re", True),
        ("re*", "bread", False),
        ("*", "", True),
        ("*", "line\nbreak", True),
        ("*ad", "read", True),
        ("r*d", "read", True),
        ("r*d", "reads", False),
        ("r**d", "rd", True),
        ("a.b", "axb", False),
        ("[ab]*", "a", False),
        ("[ab]*", "[ab]c", True),
        ("x?*", "xyz", False),
    ],
)
def test_a_star_stands_for_any_run_and_everything_else_for_itself(
    entry: str,
    name: str,
    fits: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    assert NameMatcher([entry])(name) is fits


@given(st.text("ab*", max_size=8), st.text("ab", max_size=8))
def test_patterns_mean_what_fnmatch_says(pattern: str, name: str) -> None:
    assert NameMatcher([pattern])(name) == fnmatch.fnmatchcase(name, pattern)


def test_a_hostile_pattern_does_not_take_long() -> None:
    assert not NameMatcher(["*a" * 30 + "*b"])("a" * 5_000)


def test_without_lists_everything_may_be_registered() -> None:
    assert NameFilter().may_register("anything")
    assert not NameFilter().has_allow_list


@pytest.mark.parametrize(
    ("allow", "deny", "registered"),
    [
        (None, ["x*"], {"a", "mcp__s__t", "list_mcp_resources"}),
        (["xa"], ["x*"], {"mcp__s__t", "list_mcp_resources"}),
        (["x*"], ["xa"], {"xb", "mcp__s__t", "list_mcp_resources"}),
        (["a"], [], {"a", "mcp__s__t", "list_mcp_resources"}),
        (["a", "mcp__o__*"], [], {"a"}),
        (["mcp__s__t"], [], {"mcp__s__t"}),
        (["mcp__*"], [], {"mcp__s__t"}),
        (["*"], [], {"a", "xa", "xb", "mcp__s__t", "list_mcp_resources"}),
        (["a"], ["mcp__*"], {"a", "list_mcp_resources"}),
        ([], [], set()),
        (["a", "+xa"], [], {"a", "xa", "mcp__s__t", "list_mcp_resources"}),
        (["x*", "-xa"], [], {"xb", "mcp__s__t", "list_mcp_resources"}),
        (["+xa"], [], {"a", "xa", "xb", "mcp__s__t", "list_mcp_resources"}),
        (["-xa"], [], {"a", "xa", "xb", "mcp__s__t", "list_mcp_resources"}),
        (None, ["x*", "-xa"], {"a", "xa", "mcp__s__t", "list_mcp_resources"}),
        (None, ["+xa"], {"a", "xb", "mcp__s__t", "list_mcp_resources"}),
    ],
)
def test_what_the_lists_let_in(
    allow: list[str] | None, deny: list[str], registered: set[str]
) -> None:
    names = ("a", "xa", "xb", "mcp__s__t", "list_mcp_resources")
    name_filter = NameFilter(allow, deny)
    assert {name for name in names if name_filter.may_register(name)} == registered


@pytest.mark.parametrize(
    "name",
    [
        "mcp__a__b",
        "list_mcp_resources",
        "list_mcp_resource_templates",
        "read_mcp_resource",
    ],
)
def test_mcp_tools_and_resource_tools_are_told_by_their_names(name: str) -> None:
    assert is_mcp_name(name)
    assert not is_mcp_name(f"x{name}")


@pytest.mark.parametrize(
    ("base", "entries", "expected"),
    [
        (["a", "b"], [], []),
        (["a", "b"], ["c"], ["c"]),
        (["a", "b"], ["+c"], ["a", "b", "c"]),
        (["a", "b"], ["-a"], ["b"]),
        (["a", "b"], ["-a", "+a"], ["b", "a"]),
        (["a", "b"], ["+a", "-a"], ["b"]),
        (["a", "b"], ["+a"], ["a", "b"]),
        (["a", "b"], ["c", "+d", "-c"], ["d"]),
        (["a", "b"], ["-z"], ["a", "b"]),
        (["a"], ["c", "c"], ["c"]),
    ],
)
def test_modifiers_change_a_selection_in_their_order(
    base: list[str], entries: list[str], expected: list[str]
) -> None:
    assert apply_modifiers(base, entries) == expected


@pytest.mark.parametrize("entry", ["+", "-", "+*", "-*"])
def test_a_modifier_needs_the_name_of_a_tool(entry: str) -> None:
    with pytest.raises(PiKernelError, match=r"^\+name and -name need the name of a tool"):
        NameFilter([entry])
    with pytest.raises(PiKernelError, match=r"^\+name and -name need the name of a tool"):
        apply_modifiers([], [entry])
