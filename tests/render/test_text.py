from __future__ import annotations

import html

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.render._text import (
    attribute_text,
    cut,
    escape,
    escape_in_pre,
    in_one_line,
    line_of,
    plain,
    strip_escapes,
)
from tests.render.reading import text_in

ANY_TEXT = st.text(st.characters(exclude_categories=()))


def test_markup_becomes_text() -> None:
    assert escape("<b a=\"1\" b='2'>&amp;") == (
        "&lt;b a=&quot;1&quot; b=&#x27;2&#x27;&gt;&amp;amp;"
    )


@pytest.mark.parametrize(
    ("character", "name"),
    [
        ("\x00", "U+0000"),
        ("\x07", "U+0007"),
        ("\r", "U+000D"),
        ("\x7f", "U+007F"),
        ("\x9b", "U+009B"),
        ("\xad", "U+00AD"),
        ("\u061c", "U+061C"),
        ("\u200b", "U+200B"),
        ("\u200d", "U+200D"),
        ("\u200f", "U+200F"),
        ("\u2028", "U+2028"),
        ("\u202e", "U+202E"),
        ("\u2066", "U+2066"),
        ("\ufeff", "U+FEFF"),
        ("\U000e0041", "U+E0041"),
        ("\U000e0100", "U+E0100"),
        ("\ud800", "U+D800"),
    ],
)
def test_a_hidden_character_is_shown_by_its_number(character: str, name: str) -> None:
    assert text_in(escape(f"a{character}b")) == f"a{name}b"
    assert plain(f"a{character}b") == f"a[{name}]b"


def test_a_run_of_one_hidden_character_is_counted() -> None:
    assert text_in(escape("a" + "\x00" * 1_204 + "b")) == "aU+0000 x 1,204b"


def test_tabs_newlines_and_visible_text_stay_as_they_are() -> None:
    text = "a\tb\n\u00e9\u4e2d\u00a0\U0001f600"
    assert escape(text) == text


def test_joiners_stay_where_words_and_emoji_need_them() -> None:
    family = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert escape(family) == family
    assert escape(persian) == persian


@given(ANY_TEXT)
def test_any_text_comes_out_as_html_of_nothing_but_text(text: str) -> None:
    seen = text_in(escape(text))
    if plain(text) == text:
        assert seen == text


def test_what_begins_a_formula_stands_alone_but_in_preformatted_text() -> None:
    text = r"$a$ \(b\)"
    dollar, backslash = "<span>$</span>", "<span>\\</span>"
    assert escape(text) == f"{dollar}a{dollar} {backslash}(b{backslash})"
    assert escape_in_pre(text) == text


@given(st.text("$\\()[]{}ab<&\u202e"))
def test_no_text_holds_a_formula(text: str) -> None:
    assert text_in(escape(text)) == text_in(escape_in_pre(text), in_pre=True)


@given(ANY_TEXT)
def test_text_for_an_attribute_cannot_end_it(text: str) -> None:
    value = attribute_text(text)
    assert not {'"', "'", "<", ">"} & set(value)
    assert html.unescape(value) == plain(text)


@given(ANY_TEXT, st.integers(1, 50))
def test_a_text_in_one_line_is_short_and_has_no_line_ends(text: str, max_chars: int) -> None:
    line = in_one_line(text, max_chars)
    assert len(line) <= max_chars
    assert not set("\n\r\t\x0b\x0c\x85\u2028\u2029") & set(line)
    assert text_in(line_of(line)) == text_in(escape(line))


def test_line_ends_and_tabs_are_told_apart_in_one_line() -> None:
    assert in_one_line("a\r\nb\nc\td", 80) == "a⏎ b⏎ c d"


def test_a_text_that_is_cut_says_so() -> None:
    assert [cut("abcdef", 6), cut("abcdef", 5)] == ["abcdef", "abcd…"]


def test_terminal_sequences_are_removed() -> None:
    text = "\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07 \x1b(B\x1bM\x9b2Kend"
    assert strip_escapes(text) == "red link end"


@pytest.mark.parametrize(
    "text",
    ["\x1b" * 2_000_000, "\x1b]" * 1_000_000, "\x1b[1" * 1_000_000, "\u202e\u202d" * 1_000_000],
)
def test_five_megabytes_of_marks_take_no_longer_than_their_length(text: str) -> None:
    strip_escapes(text)
    in_one_line(text, 100)
    plain(text)
