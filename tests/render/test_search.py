from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.protocol.results import ToolResult
from pi_kernel.render._html import Body, Room
from pi_kernel.render._safe_pattern import safe_pattern
from pi_kernel.render._search import find_body, grep_body, ls_body
from tests.render.reading import outcome_of, text_in

MARK = "background:rgba(255,204,0,0.40)"


def grep(text: str, details: object = None, **args: object) -> Body | None:
    arguments = {"pattern": "parent_(tool_call_)?id", **args}
    return grep_body(outcome_of("grep", arguments, ToolResult(text, details=details)), Room(50_000))


def test_rows_stand_by_file_with_their_matches_marked() -> None:
    body = grep(
        "src/a.py:42: x = parent_id\nsrc/a.py-43- y = parent_id\nsrc/b.py:7: <parent_tool_call_id>",
        context=1,
    )
    assert body is not None
    assert body.facts == ["2 matches in 2 files"]
    assert text_in(body.html) == (
        "src/a.py  1 match\n   42: x = parent_id\n   43- y = parent_id\n"
        "src/b.py  1 match\n    7: <parent_tool_call_id>"
    )
    assert body.html.count(f'<span style="{MARK}">') == 2
    assert f'&lt;<span style="{MARK}">parent_tool_call_id</span>&gt;' in body.html


def test_a_name_may_look_like_a_row_of_context() -> None:
    body = grep("src/b-1- c.py:7: parent_id")
    assert body is not None
    assert text_in(body.html) == "src/b-1- c.py  1 match\n   7: parent_id"


def test_a_literal_pattern_and_one_without_case_are_marked_as_such() -> None:
    literal = grep("a:1: x(+y X(+", pattern="x(+", literal=True)
    no_case = grep("a:1: Foo foo", pattern="FOO", ignoreCase=True)
    assert literal is not None
    assert no_case is not None
    assert literal.html.count(MARK) == 1
    assert no_case.html.count(MARK) == 2


def test_the_notice_of_a_limit_stands_below_and_the_count_is_open() -> None:
    notice = "100 matches limit reached. Use limit=200 for more, or refine pattern"
    body = grep(f"a:1: parent_id\n\n[{notice}]", details={"matchLimitReached": 100})
    assert body is not None
    assert body.facts == ["1+ matches in 1 file"]
    assert body.foot == [f"{notice}."]


def test_a_notice_of_long_lines_leaves_the_count_as_it_is() -> None:
    notice = "Some lines truncated to 500 chars. Use read tool to see full lines"
    body = grep(f"a:1: parent_id\n\n[{notice}]", details={"linesTruncated": True})
    assert body is not None
    assert (body.facts, body.foot) == (["1 match in 1 file"], [f"{notice}."])


def test_no_match_is_said_in_words() -> None:
    body = grep("No matches found")
    assert body is not None
    assert (text_in(body.html), body.facts) == ("No matches.", ["0 matches"])


def test_a_text_of_another_form_is_no_list_of_rows() -> None:
    assert grep("something else") is None
    assert grep("a:1: x\nb\n") is None
    assert grep("a:1: x\n" * 20_000) is None


def test_names_are_listed_with_folders_bold_and_the_path_faint() -> None:
    result = ToolResult("src/\nsrc/a <b>.py\nb.py")
    body = find_body(outcome_of("find", {"pattern": "*"}, result), Room(50_000))
    assert body is not None
    assert body.facts == ["3 files"]
    assert body.html.endswith(
        '<b>src/</b>\n<span style="opacity:0.75">src/</span>a &lt;b&gt;.py\nb.py</pre>'
    )


def test_an_empty_folder_and_a_limit_are_said_in_words() -> None:
    empty = ls_body(outcome_of("ls", {}, ToolResult("(empty directory)")), Room(50_000))
    assert empty is not None
    assert (text_in(empty.html), empty.facts) == ("Empty folder.", ["0 entries"])
    cut = ToolResult("a\nb\n\n[2 entries limit reached. Use limit=4 for more]", details={"x": 2})
    body = ls_body(outcome_of("ls", {}, cut), Room(50_000))
    assert body is not None
    assert body.facts == ["2+ entries"]
    assert body.foot == ["2 entries limit reached. Use limit=4 for more."]


def test_many_names_fold() -> None:
    result = ToolResult("\n".join(f"file-{number}" for number in range(30)))
    body = find_body(outcome_of("find", {"pattern": "*"}, result), Room(50_000))
    assert body is not None
    assert "10 more lines" in text_in(body.html)


@given(st.text("ab:-0123 <\n\x1b\u202e", max_size=200))
def test_any_text_of_a_search_gives_balanced_html_or_none(text: str) -> None:
    body = grep(text)
    if body is not None:
        text_in(body.html)


@pytest.mark.parametrize(
    "pattern",
    [
        "parent_(tool_call_)?id",
        "^\\s*def \\w+",
        "a|b|c",
        "[]x]+y",
        "(?i)foo",
        "(?P<x>a)",
        "(?<x>a)",
        "a{2,3}b",
        "\\.py$",
    ],
)
def test_common_patterns_are_compiled(pattern: str) -> None:
    assert safe_pattern(pattern, literal=False, ignore_case=False) is not None


@pytest.mark.parametrize(
    "pattern",
    [
        "(a+)+$",
        "(a|a)*b",
        "(a*)*",
        "a*a*a*b",
        "(a?){30}",
        "a?" * 7,
        "(a|a)" * 7,
        "(a)\\1",
        "(?P<x>a)(?P=x)",
        "(?=a*)b",
        "(?<!a)b",
        "(?(1)a)",
        "a++",
        "[[:alpha:]]+",
        "[a--b]",
        "\\p{L}",
        "(",
        "*",
        "",
        "x" * 301,
    ],
)
def test_patterns_that_are_no_pattern_or_may_take_long_are_refused(pattern: str) -> None:
    assert safe_pattern(pattern, literal=False, ignore_case=False) is None


@given(st.text("ab*+?|()[]{}\\1,.^$:<>=!", max_size=30))
def test_whatever_is_compiled_is_quick_on_the_worst_lines(pattern: str) -> None:
    compiled = safe_pattern(pattern, literal=False, ignore_case=False)
    if compiled is not None:
        for line in ("a" * 300, "ab" * 150):
            compiled.search(line)


def test_ten_thousand_rows_of_a_hostile_pattern_are_quick() -> None:
    row = "f:1: " + "a" * 200
    grep("\n".join([row] * 250), pattern="a*a*b")
