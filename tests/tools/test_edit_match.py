"""Which ranges an edit's old texts name, and which edits are refused."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.tools._edit_match import Edit, EditRefusedError, find_replacements, relax
from pi_kernel.tools._edit_splice import splice_lf

JS_BLANKS = "\t\v\f\r \u00a0\u1680\u2000\u2003\u2028\u2029\u202f\u205f\u3000\ufeff"
PIECES = (
    *("a", "b", "ab", "fi", "\ufb01", "e", "\u00e9", "e\u0301", "\u0301", "\uff41", "..."),
    *("\u2026", "'", "\u2019", "\u2018", '"', "\u201c", "-", "\u2014", "\u2011", "\u2212"),
    *(" ", "  ", "\t", "\v", "\u00a0", "\u3000", "\u2028", "\ufeff", "\x85", "\x1c"),
    *("\n", "\n", "\n", " \n", "\u1100", "\u1161", "\U0001f600", "\U0001d400"),
)
pieces = st.sampled_from(PIECES)
texts = st.lists(pieces, max_size=25).map("".join)


def apply(view: str, *edits: tuple[str, str]) -> str:
    found = find_replacements(view, [Edit(old, new) for old, new in edits], path="f.txt")
    return splice_lf(view, found)


def refusal(view: str, *edits: tuple[str, str]) -> str:
    with pytest.raises(EditRefusedError) as refused:
        apply(view, *edits)
    return str(refused.value)


def test_texts_are_replaced_wherever_they_stand_in_the_original() -> None:
    assert apply("one two three\n", ("three", "3"), ("one", "two")) == "two two 3\n"


def test_no_edit_sees_the_result_of_another() -> None:
    assert apply("a b\n", ("a", "b"), ("b", "a")) == "b a\n"


def test_touching_edits_are_applied_both() -> None:
    assert apply("abcdef\n", ("abc", "X"), ("def", "Y")) == "XY\n"


def test_a_new_text_is_taken_literally() -> None:
    assert apply("value\n", ("value", r"$& \1 \n {0}")) == "$& \\1 \\n {0}\n"


def test_line_breaks_of_both_texts_may_be_of_any_kind() -> None:
    assert apply("a\nb\nc\n", ("a\r\nb\r", "x\ry\r\n")) == "x\ny\nc\n"


def test_an_old_text_must_not_be_empty() -> None:
    assert refusal("a\n", ("", "b")) == "oldText must not be empty in f.txt."
    assert refusal("a\n", ("zz", "b"), ("", "b")) == "edits[1].oldText must not be empty in f.txt."


def test_a_missing_old_text_is_named() -> None:
    assert refusal("a\n", ("b", "c")) == (
        "Could not find the exact text in f.txt."
        " The old text must match exactly including all whitespace and newlines."
    )
    assert refusal("a\n", ("a", "b"), ("b", "c")) == (
        "Could not find edits[1] in f.txt."
        " The oldText must match exactly including all whitespace and newlines."
    )


def test_an_old_text_that_occurs_more_than_once_is_refused() -> None:
    assert refusal("aaaa\n", ("aa", "b")) == (
        "Found 2 occurrences of the text in f.txt. The text must be unique."
        " Please provide more context to make it unique."
    )
    assert refusal("p\nq\nq\nq\n", ("p", "P"), ("q", "Q")) == (
        "Found 3 occurrences of edits[1] in f.txt. Each oldText must be unique."
        " Please provide more context to make it unique."
    )


@pytest.mark.parametrize(
    ("view", "old"),
    [
        pytest.param("it\u2019s\nit's x\n", "it\u2019s", id="other-quote"),
        pytest.param("a\nb\na \t\nb\n", "a\nb", id="blanks-at-a-line-end-in-ascii"),
        pytest.param("caf\u00e9\nb\ncafe\u0301\nb\n", "caf\u00e9\nb", id="composed-otherwise"),
        pytest.param("x = 1 # n\nx = 1\n", "x = 1 ", id="blank-at-the-end-of-the-old-text"),
    ],
)
def test_an_exact_unique_match_is_refused_when_a_relaxed_twin_exists(view: str, old: str) -> None:
    assert view.count(old) == 1
    assert refusal(view, (old, "new")).startswith("Found 2 occurrences of the text")


def test_a_near_twin_that_only_differs_inside_a_line_is_no_twin() -> None:
    assert apply("foo  bar\nfoo bar\n", ("foo bar", "x")) == "foo  bar\nx\n"


def test_overlapping_edits_are_named_in_order_of_position() -> None:
    assert refusal("abcdef\n", ("cde", "x"), ("abc", "y")) == (
        "edits[1] and edits[0] overlap in f.txt."
        " Merge them into one edit or target disjoint regions."
    )


def test_not_found_is_reported_before_a_later_duplicate_and_both_before_overlap() -> None:
    assert refusal("ab\nq\nq\n", ("zz", "x"), ("q", "y")).startswith("Could not find edits[0]")
    assert refusal("ab\nq\nq\n", ("q", "y"), ("zz", "x")).startswith("Found 2 occurrences")
    assert refusal("ab\nq\nq\n", ("ab", "y"), ("b", "x"), ("q", "z")).startswith("Found 2")


def test_edits_that_change_nothing_are_refused() -> None:
    assert refusal("a\nb\n", ("a", "a")) == (
        "No changes made to f.txt. The replacement produced identical content. This might indicate"
        " an issue with special characters or the text not existing as expected."
    )
    assert refusal("a\nb\n", ("a", "a"), ("b", "b")) == (
        "No changes made to f.txt. The replacements produced identical content."
    )


def test_edits_that_undo_each_other_change_nothing() -> None:
    assert refusal("Xababab\nY", ("Xab", "X"), ("\nY", "ab\nY")).startswith("No changes made")


def test_an_identical_edit_among_real_ones_is_fine() -> None:
    assert apply("a\nb\n", ("a", "a"), ("b", "B")) == "a\nB\n"


def test_a_relaxed_match_rewrites_its_lines_and_leaves_the_others() -> None:
    view = "keep \u201cthis\u201d  \nit\u2019s \u201cone\u201d  \nkeep \u2014 \n"
    assert apply(view, ("it's", "it is")) == (
        'keep \u201cthis\u201d  \nit is "one"\nkeep \u2014 \n'
    )


def test_one_relaxed_edit_makes_the_lines_of_exact_ones_plain_too() -> None:
    view = "say \u201chi\u201d  \n\u2014 kept  \nit\u2019s\n"
    assert apply(view, ("say", "cry"), ("it's", "is")) == 'cry "hi"\n\u2014 kept  \nis\n'


def test_relaxed_edits_on_one_line_are_applied_together() -> None:
    view = "\u201ca\u201d and \u201cb\u201d  \nnext  \n"
    assert apply(view, ('"b"', "B"), ('"a"', "A")) == "A and B\nnext  \n"


def test_a_relaxed_match_over_several_lines_ends_at_a_line_end() -> None:
    view = "a  \n\u201cb\u201d  \nc  \n"
    assert apply(view, ('a\n"b"\n', "x\n")) == "x\nc  \n"


def test_case_and_indentation_are_never_relaxed() -> None:
    assert refusal("Hello\n", ("hello", "x")).startswith("Could not find")
    assert refusal("  a\n", ("\ta", "x")).startswith("Could not find")


def test_blanks_alone_are_counted_as_the_units_of_the_text() -> None:
    assert refusal("abc\n", ("   ", "x")).startswith("Found 3 occurrences")
    assert refusal("\U0001f600b\n", (" ", "x")).startswith("Found 3 occurrences")
    assert apply("a\n", ("  ", "x")) == "xa\n"


def test_an_old_text_of_blanks_does_not_fit_an_empty_text() -> None:
    assert refusal("", (" ", "x")) == "Replacement range is outside the base content."


def test_a_last_line_of_blanks_only_rules_a_relaxed_match_out() -> None:
    assert refusal("it\u2019s\n  ", ("it's", "x")) == (
        "Cannot preserve unchanged lines because the base content has a different line count."
    )


def naive_relax(text: str) -> str:
    lines = unicodedata.normalize("NFKC", text).split("\n")
    text = "\n".join(line.rstrip(JS_BLANKS) for line in lines)
    for fancy in "\u2018\u2019\u201a\u201b":
        text = text.replace(fancy, "'")
    for fancy in "\u201c\u201d\u201e\u201f":
        text = text.replace(fancy, '"')
    for fancy in "\u2010\u2011\u2012\u2013\u2014\u2015\u2212":
        text = text.replace(fancy, "-")
    for fancy in "\u00a0\u2002\u2003\u200a\u202f\u205f\u3000":
        text = text.replace(fancy, " ")
    return text


@given(texts)
def test_relaxing_is_nfkc_then_trimming_then_plain_forms(text: str) -> None:
    assert relax(text) == naive_relax(text)
    assert relax(relax(text)) == relax(text)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r"), min_size=1, max_size=20))
def test_long_texts_are_relaxed_like_short_ones(text: str) -> None:
    long_text = (text + "|") * (5000 // len(text))
    assert relax(long_text) == naive_relax(long_text)


def test_a_text_with_many_kinds_of_compatibility_characters_is_relaxed() -> None:
    text = "".join(map(chr, range(0xF900, 0xFA20))) * 40
    assert relax(text) == unicodedata.normalize("NFKC", text)


@st.composite
def views_and_edits(draw: st.DrawFn) -> tuple[str, list[tuple[str, str]]]:
    view = draw(texts)
    edits: list[tuple[str, str]] = []
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(view)))
        old = view[start : start + draw(st.integers(1, 12))]
        old = draw(st.sampled_from([old, naive_relax(old), old.replace("'", "\u2019"), " "]))
        edits.append((old, draw(st.one_of(st.just(old), texts))))
    return view, edits


@given(views_and_edits())
def test_edits_do_what_the_plain_reading_of_the_rules_says(
    case: tuple[str, list[tuple[str, str]]],
) -> None:
    view, edits = case
    try:
        actual = apply(view, *edits)
    except EditRefusedError as error:
        actual = f"refused: {str(error).split(' in f.txt')[0].split(' to f.txt')[0]}"
    assert actual == naive_apply(view, edits)


def naive_apply(view: str, edits: list[tuple[str, str]]) -> str:  # noqa: C901 - the rules in a row
    def name(index: int) -> str:
        return f"edits[{index}]"

    single = len(edits) == 1
    for index, (old, _) in enumerate(edits):
        if not old:
            who = "oldText" if single else f"{name(index)}.oldText"
            return f"refused: {who} must not be empty"
    relaxed = naive_relax(view)
    is_relaxed = any(old not in view and naive_relax(old) in relaxed for old, _ in edits)
    base = relaxed if is_relaxed else view
    spans: list[tuple[int, int, int]] = []
    for index, (old, _) in enumerate(edits):
        needle = old if old in base else naive_relax(old)
        if needle not in (base if needle == old else relaxed):
            return f"refused: Could not find {'the exact text' if single else name(index)}"
        wanted = naive_relax(old)
        units = len(relaxed.encode("utf-16-le")) // 2
        count = relaxed.count(wanted) if wanted else units - 1
        if count > 1:
            who = "the text" if single else name(index)
            return f"refused: Found {count} occurrences of {who}"
        spans.append((base.index(needle), base.index(needle) + len(needle), index))
    spans.sort(key=lambda span: span[0])
    for (_, end, index), (start, _, following) in pairwise(spans):
        if end > start:
            return f"refused: {name(index)} and {name(following)} overlap"
    new_texts = [(start, end, edits[index][1]) for start, end, index in spans]
    if is_relaxed:
        result = naive_result(view, base, new_texts)
    else:
        result = view
        for start, end, new_text in reversed(new_texts):
            result = result[:start] + new_text + result[end:]
    return result if result != view else "refused: No changes made"


def naive_result(view: str, base: str, spans: list[tuple[int, int, str]]) -> str:
    """Write lines that a span touches from the base, character by character, others as they are."""
    view_lines, base_lines = (re.findall(r"[^\n]*\n|[^\n]+", text) for text in (view, base))
    if len(view_lines) != len(base_lines):
        return (
            "refused: Cannot preserve unchanged lines"
            " because the base content has a different line count."
        )
    if not base:
        return "refused: Replacement range is outside the base content."
    result, line_start = "", 0
    for view_line, base_line in zip(view_lines, base_lines, strict=True):
        line_end = line_start + len(base_line)
        if any(s < line_end and max(e, s + 1) > line_start for s, e, _ in spans):
            for offset in range(line_start, line_end):
                result += "".join(new_text for s, _, new_text in spans if s == offset)
                if not any(s <= offset < e for s, e, _ in spans):
                    result += base[offset]
        else:
            result += view_line
        line_start = line_end
    return result
