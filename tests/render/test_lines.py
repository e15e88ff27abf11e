from __future__ import annotations

import pytest

from pi_kernel.render._html import Room
from pi_kernel.render._lines import pick_lines, shown_lines
from tests.render.reading import tags_in, text_in


def test_all_lines_are_seen_when_there_are_few() -> None:
    html, note = shown_lines(pick_lines("a\nb\n"), Room(5_000), visible=5)
    assert (text_in(html), note, tags_in(html)) == ("a\nb", "", ["pre"])


def test_what_is_beyond_the_visible_lines_opens() -> None:
    html, note = shown_lines(pick_lines("1\n2\n3\n4"), Room(5_000), visible=2)
    assert (text_in(html), note) == ("1\n22 more lines3\n4", "")
    assert tags_in(html) == ["pre", "details", "summary", "pre"]


def test_from_the_end_the_last_lines_are_the_visible_ones() -> None:
    picked = pick_lines("1\n2\n3\n4", from_end=True)
    html, note = shown_lines(picked, Room(5_000), visible=1)
    assert (text_in(html), note) == ("3 earlier lines1\n2\n34", "")


def test_what_does_not_fit_is_counted_with_the_size_of_all() -> None:
    text = "".join(f"{number:09}\n" for number in range(1_000))
    html, note = shown_lines(pick_lines(text), Room(800), visible=5)
    assert text_in(html).startswith("000000000\n000000001\n")
    assert note == "990 more lines are not kept here; 9.8 KB in all."
    html, note = shown_lines(pick_lines(text, from_end=True), Room(800), visible=20)
    assert text_in(html).endswith("000000999")
    assert note == "990 earlier lines are not kept here; 9.8 KB in all."


def test_an_empty_first_line_is_not_lost() -> None:
    html, _ = shown_lines(pick_lines("\nb"), Room(5_000), visible=5)
    assert html.endswith(">\n\nb</pre>")  # parsers drop the first of both


def test_empty_lines_are_lines() -> None:
    html, note = shown_lines(pick_lines("a\n\n\nb"), Room(5_000), visible=9)
    assert (text_in(html), note) == ("a\n\n\nb", "")


def test_a_long_line_is_cut_and_says_how_much_is_missing() -> None:
    html, _ = shown_lines(pick_lines("x" * 2_000 + "é" * 1_024), Room(5_000), visible=1)
    assert text_in(html) == "x" * 2_000 + "… 2.0 KB more"


def test_a_line_of_nothing_but_marks_is_cut_until_it_fits() -> None:
    text = "\u202e\u202d" * 5_000
    html, _ = shown_lines(pick_lines(text), Room(50_000), visible=1)
    assert text_in(html).endswith("… 28.1 KB more")
    assert shown_lines(pick_lines(text), Room(900), visible=1)[0] == ""


@pytest.mark.parametrize("from_end", [False, True])
def test_ten_megabytes_on_one_line_are_counted_and_cut_at_once(*, from_end: bool) -> None:
    text = "x" * 10_000_000
    html, note = shown_lines(pick_lines(text, from_end=from_end), Room(50_000), visible=1)
    assert (text_in(html), note) == ("x" * 2_000 + "… 9.5 MB more", "")


@pytest.mark.parametrize("from_end", [False, True])
def test_a_million_lines_are_counted_and_cut_at_once(*, from_end: bool) -> None:
    text = "line\n" * 1_000_000
    html, note = shown_lines(pick_lines(text, from_end=from_end), Room(50_000), visible=10)
    assert note.endswith("lines are not kept here; 4.8 MB in all.")
    assert len(html) < 50_000


def test_nothing_is_nothing() -> None:
    assert shown_lines(pick_lines(""), Room(5_000), visible=1) == ("", "")
