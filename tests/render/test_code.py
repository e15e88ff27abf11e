from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.render._code import highlighter, numbered
from tests.render.reading import text_in


def test_keywords_are_bold_and_comments_italic() -> None:
    highlight, language = highlighter("src/app.py")
    assert language == "Python"
    assert highlight(["async def f(x: int) -> None:", "    return x is not None  # why"]) == [
        "<b>async</b> <b>def</b> f(x: int) -&gt; <b>None</b>:",
        '    <b>return</b> x <b>is</b> <b>not</b> <b>None</b>  <i style="opacity:0.75"># why</i>',
    ]


def test_a_comment_over_several_lines_is_closed_on_each() -> None:
    highlight, language = highlighter("a.c")
    assert language == "C"
    assert highlight(["/* one", "two */ int x;"]) == [
        '<i style="opacity:0.75">/* one</i>',
        '<i style="opacity:0.75">two */</i> <b>int</b> x;',
    ]


def test_a_file_of_an_unknown_kind_is_shown_as_it_is() -> None:
    highlight, language = highlighter("notes.unknown-kind")
    assert (highlight(["def <x>"]), language) == (["def &lt;x&gt;"], "")


def test_plain_text_has_a_name_and_no_marks() -> None:
    highlight, language = highlighter("README.txt")
    assert (highlight(["for <x>"]), language) == (["for &lt;x&gt;"], "Text")


def test_very_long_lines_and_texts_are_shown_without_marks() -> None:
    highlight, _ = highlighter("a.py")
    assert highlight(["return " + "x" * 1_000]) == ["return " + "x" * 1_000]
    many = ["return x"] * 5_000
    assert highlight(many) == many


def test_numbers_stand_right_and_step_back() -> None:
    assert numbered(["a", "b"], 99, 100) == [
        '<span style="opacity:0.65">  99</span>  a',
        '<span style="opacity:0.65"> 100</span>  b',
    ]
    assert text_in(numbered(["a"], 1, 123_456)[0]) == "     1  a"


def texts(lines: list[str]) -> list[str]:
    return [text_in(line, in_pre=True) for line in lines]


@given(
    st.sampled_from(["a.py", "b.js", "c.html", "d.md", "e.json", "f.sh", "g.rs", "h.tex", "i.sql"]),
    st.lists(
        st.text(
            st.characters(exclude_categories=["C", "Z", "M", "Lo"], include_characters=" \t"),
            max_size=40,
        )
    ),
)
def test_every_line_keeps_its_text_in_any_language(name: str, lines: list[str]) -> None:
    highlight, _ = highlighter(name)
    plain, _ = highlighter("x.unknown-kind")
    assert texts(highlight(lines)) == texts(plain(lines))
