"""Line endings: what an edit writes into files with LF, CRLF, CR and mixtures of them."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.tools._edit_splice import Replacement, lf_view, splice, splice_lf

ENDINGS = ("\n", "\r\n", "\r")
texts = st.lists(st.sampled_from(["a", "b", "xyz", *ENDINGS]), max_size=30).map("".join)
new_texts = st.lists(st.sampled_from(["N", "\n"]), max_size=5).map("".join)


@st.composite
def texts_and_replacements(draw: st.DrawFn) -> tuple[str, list[Replacement]]:
    text = draw(texts)
    offsets = st.integers(0, len(lf_view(text)))
    bounds = sorted(draw(st.lists(offsets, max_size=8)))
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    return text, [Replacement(start, end, draw(new_texts)) for start, end in pairs]


def test_every_kind_of_line_break_is_one_lf_in_the_view() -> None:
    assert lf_view("a\r\nb\rc\n\r\r\n\n") == "a\nb\nc\n\n\n\n"


@pytest.mark.parametrize(
    ("text", "replacement", "expected"),
    [
        pytest.param("a\r\nb\r\n", Replacement(2, 3, "1\n2"), "a\r\n1\r\n2\r\n", id="crlf"),
        pytest.param("a\r\nb\nc\r\n", Replacement(2, 3, "1\n2"), "a\r\n1\n2\nc\r\n", id="lf-line"),
        pytest.param(
            "a\r\nb\nc\n", Replacement(0, 3, "X\nY\nZ"), "X\r\nY\r\nZ\nc\n", id="starting-line"
        ),
        pytest.param("a\r\nb", Replacement(2, 3, "b\nc"), "a\r\nb\r\nc", id="open-end-takes-crlf"),
        pytest.param("a\rb\nc", Replacement(4, 5, "c\nd"), "a\rb\nc\nd", id="open-end-takes-lf"),
        pytest.param("a\rb\r", Replacement(2, 3, "B\nC"), "a\rB\rC\r", id="cr-only-file"),
        pytest.param("a\r\nb\r\n", Replacement(1, 2, ""), "ab\r\n", id="crlf-removed-whole"),
        pytest.param("a\r\nb\r\n", Replacement(1, 1, "!"), "a!\r\nb\r\n", id="before-crlf"),
        pytest.param("a\r\nb\r\n", Replacement(2, 2, "!"), "a\r\n!b\r\n", id="after-crlf"),
        pytest.param("\r\n", Replacement(0, 0, "\n"), "\r\n\r\n", id="at-the-start"),
    ],
)
def test_new_lines_take_the_ending_of_the_line_where_they_start(
    text: str, replacement: Replacement, expected: str
) -> None:
    assert splice(text, [replacement]) == expected


def test_two_line_breaks_that_meet_at_a_seam_stay_two() -> None:
    assert splice("x\ry\nz\n", [Replacement(2, 3, "\nY")]) == "x\r\n\nY\nz\n"
    assert splice("x\ry\nz\n", [Replacement(2, 3, "")]) == "x\r\n\nz\n"


def test_several_replacements_of_a_mixed_file_keep_every_other_ending() -> None:
    text = "1\r\n2\n3\r4\r\n5\n"
    replacements = [Replacement(2, 3, "two"), Replacement(6, 7, "four\nfour")]
    assert splice(text, replacements) == "1\r\ntwo\n3\rfour\r\nfour\r\n5\n"


@given(texts_and_replacements())
def test_the_spliced_text_reads_as_the_edited_view(
    case: tuple[str, list[Replacement]],
) -> None:
    text, replacements = case
    assert lf_view(splice(text, replacements)) == splice_lf(lf_view(text), replacements)


@given(texts_and_replacements())
def test_splicing_does_what_a_walk_over_single_characters_does(
    case: tuple[str, list[Replacement]],
) -> None:
    text, replacements = case
    # One entry for each character of the view, in its original spelling.
    spelled = re.findall(r"\r\n|.", text, re.DOTALL)
    has_lf = "\n" in text
    expected = ""
    position = 0

    def append(piece: str) -> None:
        nonlocal expected
        if expected.endswith("\r") and piece.startswith("\n"):
            expected += "\n"
        expected += piece

    for replacement in replacements:
        append("".join(spelled[position : replacement.start]))
        ending = "\r" if "\r" in text else "\n"
        if has_lf:
            following = [char for char in spelled[replacement.start :] if "\n" in char]
            preceding = [char for char in spelled[: replacement.start] if "\n" in char]
            ending = following[0] if following else preceding[-1]
        append(replacement.new_text.replace("\n", ending))
        position = replacement.end
    append("".join(spelled[position:]))
    assert splice(text, replacements) == expected
