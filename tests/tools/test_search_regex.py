"""Rust's regular expressions in Python: what matches, and what is refused in which words."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.tools._search.regex_error import RegexError
from pi_kernel.tools._search.regex_python import PythonRegex, to_python
from pi_kernel.tools._search.regex_sets import (
    EVERYTHING,
    complement,
    difference,
    fold_unicode,
    intersection,
    union,
)
from pi_kernel.tools._search.regex_syntax import parse_literal, parse_regex


def translated(pattern: str, *, ignore_case: bool = False) -> PythonRegex:
    return to_python(parse_regex(pattern, ignore_case=ignore_case))


def matches(pattern: str, line: str | bytes, *, ignore_case: bool = False) -> bool:
    text = line if isinstance(line, str) else line.decode("utf-8", "surrogateescape")
    regex = translated(pattern, ignore_case=ignore_case)
    flags = re.MULTILINE | re.ASCII
    found = re.search(regex.unicode, text, flags) is not None
    if text.isascii():
        assert (re.search(regex.ascii, text, flags) is not None) is found
    assert not found or regex.literal in text
    return found


def refusal(pattern: str) -> str:
    with pytest.raises(RegexError) as caught:
        parse_regex(pattern, ignore_case=False)
    return str(caught.value)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("", ""),
        ("a.c", "abc"),
        ("a|b", "b"),
        ("a{2}", "aa"),
        ("a{2,}", "aaa"),
        ("a{1,2}b", "aab"),
        ("ab*?c", "ac"),
        ("a**b", "b"),
        ("a++b", "aab"),
        ("(?:a+)+$", "aaa"),
        ("(a)(b)", "ab"),
        ("(?P<n>a)(?<m>b)", "ab"),
        ("^$", ""),
        ("^a$", "a"),
        (r"\Aa\z", "a"),
        (r"\d", "٣"),
        (r"\w", "é"),
        (r"\w", "\u0301"),
        (r"^\w+$", "क्"),
        (r"\s", "\u2003"),
        (r"\s", "\x85"),
        (r"\bb", "a b"),
        (r"\Bb", "ab"),
        (r"\<b", "a b"),
        (r"a\>", "a b"),
        (r"\b{start}b", "a b"),
        (r"a\b{end}", "a b"),
        (r"\b{start-half}b", "-b"),
        (r"a\b{end-half}", "a-"),
        (r"\b{1}a", "a"),
        ("[a-c]", "b"),
        ("[^a]", "b"),
        ("[]a]", "]"),
        ("[^]a]", "b"),
        ("[-a]", "-"),
        ("[a-]", "-"),
        ("[[:alpha:]]", "x"),
        ("[[:^alpha:]]", "1"),
        ("[a[bc]]", "c"),
        ("[a-z&&[^aeiou]]", "b"),
        ("[a-z--aeiou]", "b"),
        ("[a-c~~b-d]", "a"),
        (r"[\d_]", "_"),
        (r"\x41\x{e9}\u00e9\U0001F600", "Aéé😀"),
        (r"\t\.\-\/\#", "\t.-/#"),
        (r"\pL\p{Lu}\p{gc=Nd}\p{Letter}", "aB1c"),
        (r"\P{L}\p{gc!=Nd}\PL", "1a2"),
        (r"\p{Alphabetic}\p{White_Space}\p{ASCII}\p{Any}", "é xy"),
        (r"\p{Assigned}\p{LC}", "aB"),
        ("(?i)abc", "aBC"),
        ("(?i:a)b", "Ab"),
        ("(?i)É", "é"),
        ("(?i)ß", "ẞ"),
        ("(?i)\u03c3", "\u03c2"),
        ("(?i)k", "\u212a"),
        ("(?i)[^k]", "a"),
        ("(?x) a  b # no c\n c", "abc"),
        ("(?s)a.b", "a b"),
        ("(?U)a+", "a"),
        ("(?-u)\\w", "a"),
        ("(?R)a$", "a\r"),
        ("(?R)^b", "a\rb"),
        ("a(?i)b|c", "aB"),
        ("a(?i)b|c", "C"),
        ("(?i:A)(?-i)b", "ab"),
        ("a{0}b", "b"),
    ],
)
def test_pattern_matches_the_line(pattern: str, line: str) -> None:
    assert matches(pattern, line)


@pytest.mark.parametrize(
    ("pattern", "line"),
    [
        ("a", "A"),
        ("^a$", "a\r"),
        ("a$", "a\r"),
        (r"\d", "²"),
        (r"\w", "²"),
        (r"\w", "-"),
        (r"\s", "\u200b"),
        (r"\bb", "ab"),
        (r"a\b", "aé"),
        ("[^a]", ""),
        ("[a&&b]", "ab"),
        ("(?i)i", "İ"),
        ("(?i)i", "\u0131"),
        ("(?-u)\\w", "é"),
        ("(?-u:(?i)k)", "\u212a"),
        ("(?R)^..$", "a\r\r"),
        ("[a-z--aeiou]", "e"),
        (r"^\B", "ab"),
    ],
)
def test_pattern_does_not_match_the_line(pattern: str, line: str) -> None:
    assert not matches(pattern, line)


@pytest.mark.parametrize("pattern", [".", "[^a]", r"\W", r"\S", r"\PL", r"\B", r"x\b{end-half}"])
def test_byte_that_is_not_utf_8_is_no_character(pattern: str) -> None:
    assert not matches(f"^{pattern}$", b"\xff")


def test_raw_byte_can_be_asked_for_without_unicode() -> None:
    assert matches(r"(?-u:\xff)", b"a\xffb")
    assert not matches(r"\xff", b"a\xffb")


def test_case_can_be_ignored_from_outside() -> None:
    assert matches("straße", "STRAẞE", ignore_case=True)
    assert not matches("(?-i)a", "A", ignore_case=True)


@pytest.mark.parametrize(
    ("pattern", "marks", "reason"),
    [
        ("(", "^", "unclosed group"),
        (")", "    ^", "unopened group"),
        ("a(b", "^", "unclosed group"),
        ("[a", "   ^", "unclosed character class"),
        ("[", "   ^", "unclosed character class"),
        ("*", "   ^", "repetition operator missing expression"),
        ("a|*", "     ^", "repetition operator missing expression"),
        ("(?i)*", "       ^", "repetition operator missing expression"),
        ("(?)", "    ^", "repetition operator missing expression"),
        ("a{", "     ^", "repetition quantifier expects a valid decimal"),
        ("a{,2}", "     ^", "repetition quantifier expects a valid decimal"),
        ("a{2,1}", "    ^^^^^", "invalid repetition count range, the start must be <= the end"),
        ("a{1", "    ^^", "unclosed counted repetition"),
        ("a{99999999999}", "     ^^^^^^^^^^^", "decimal literal invalid"),
        ("[b-a]", "    ^^^", "invalid character class range, the start must be <= the end"),
        (r"[\d-a]", "    ^^", "invalid range boundary, must be a literal"),
        (r"[\b]", "    ^^", "invalid escape sequence found in character class"),
        (r"\q", "   ^^", "unrecognized escape sequence"),
        (r"\x{}", "     ^^", "hexadecimal literal empty"),
        (r"\x{zz}", "      ^", "invalid hexadecimal digit"),
        (r"\x{110000}", "      ^^^^^^", "hexadecimal literal is not a Unicode scalar value"),
        ("(?z)", "     ^", "unrecognized flag"),
        ("(?i-)", "      ^", "dangling flag negation operator"),
        ("(?ii)", "     ^^", "duplicate flag"),
        ("(?-i-s)", "     ^ ^", "flag negation operator repeated"),
        ("(?P<>a)", "       ^", "empty capture group name"),
        ("(?P<1>a)", "       ^", "invalid capture group character"),
        ("(?P<a>x)(?P<a>y)", "       ^       ^", "duplicate capture group name"),
        (
            r"\b{foo}",
            "      ^^^",
            (
                "unrecognized special word boundary assertion, valid choices are: start, end,"
                " start-half or end-half"
            ),
        ),
        (
            r"\b{start",
            "     ^^^^^^",
            "special word boundary assertion is either unclosed or contains an invalid character",
        ),
        (r"\p\a", "     ^", "invalid Unicode character class"),
        (r"(?-u)\pL", "        ^^^", "Unicode not allowed here"),
        (r"(?-u)[é]", "         ^", "Unicode not allowed here"),
    ],
)
def test_refusal_marks_the_place_and_names_the_reason(
    pattern: str, marks: str, reason: str
) -> None:
    expected = f"regex parse error:\n    (?:{pattern})\n    {marks}\nerror: {reason}"
    assert refusal(pattern) == expected


@pytest.mark.parametrize("pattern", ["(?=a)", "(?!a)", "(?<=a)", "(?<!a)"])
def test_look_around_is_refused(pattern: str) -> None:
    text = refusal(pattern)
    assert "error: look-around, including look-ahead and look-behind, is not supported\n\n" in text
    assert text.endswith("which can handle backreferences\nand look-around.")


def test_back_reference_is_refused() -> None:
    assert refusal(r"(a)\1") == (
        "regex parse error:\n    (?:(a)\\1)\n          ^^\nerror: backreferences are not supported"
        "\n\nConsider enabling PCRE2 with the --pcre2 flag, which can handle backreferences\n"
        "and look-around."
    )


def test_script_without_a_table_is_refused() -> None:
    assert "error: Unicode property not found" in refusal(r"\p{Greek}")


@pytest.mark.parametrize("pattern", [r"a\nb", "a\nb", r"[\n]", r"\x0A", "(a|\\n)+"])
def test_pattern_that_needs_a_newline_is_refused(pattern: str) -> None:
    assert refusal(pattern).startswith('the literal "\\n" is not allowed in a regex\n\n')


@pytest.mark.parametrize("pattern", [r"\x00", r"a[\x00]?", r"\u0000"])
def test_pattern_that_needs_a_nul_byte_is_refused(pattern: str) -> None:
    assert refusal(pattern).startswith('pattern contains "\\0" but it is impossible to match\n\n')


def test_newline_in_a_larger_class_is_only_left_out() -> None:
    assert matches(r"a[\n ]b", "a b")
    assert not matches(r"a[^b]c|a\sc", "a\nc")
    assert not matches("(?s)a.b", "a\nb")


def test_error_in_a_pattern_of_several_lines_has_line_numbers() -> None:
    line = "~" * 79
    assert refusal("(?x)a\n(") == (
        f"regex parse error:\n{line}\n1: (?:(?x)a\n   ^\n2: ()\n{line}\nerror: unclosed group"
    )


def test_groups_may_be_nested_so_deep_and_not_deeper() -> None:
    assert matches("(" * 249 + "a" + ")" * 249, "a")
    assert "nested parentheses/brackets (250)" in refusal("(" * 250 + "a" + ")" * 250)


def test_literal_text_has_no_special_characters() -> None:
    regex = to_python(parse_literal("a.*[", ignore_case=False))
    assert (regex.literal, regex.is_literal) == ("a.*[", True)
    assert re.search(regex.ascii, "a.*[")
    with pytest.raises(RegexError):
        parse_literal("a\nb", ignore_case=False)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("foo", ("foo", True)),
        ("(?:foo)bar", ("foobar", True)),
        (".*foo.*", ("foo", True)),
        ("a.foo", ("foo", False)),
        ("foo|bar", ("", False)),
        ("foo+", ("foo", True)),
        ("fo{2}", ("f", False)),
        ("(?i)foo", ("", False)),
        ("^foo$", ("foo", False)),
    ],
)
def test_text_that_every_match_needs_is_found(pattern: str, expected: tuple[str, bool]) -> None:
    regex = translated(pattern)
    assert (regex.literal, regex.is_literal) == expected


CODES = st.integers(0, 60)
SETS = st.lists(st.tuples(CODES, CODES).map(lambda pair: (min(pair), max(pair))), max_size=5)


def members(chars: tuple[tuple[int, int], ...]) -> set[int]:
    return {code for low, high in chars for code in range(low, min(high, 200) + 1)}


@given(SETS, SETS)
def test_sets_behave_as_sets(first: list[tuple[int, int]], second: list[tuple[int, int]]) -> None:
    left, right = union(first), union(second)
    assert members(union(left, right)) == members(left) | members(right)
    assert members(intersection(left, right)) == members(left) & members(right)
    assert members(difference(left, right)) == members(left) - members(right)
    assert members(complement(left, EVERYTHING)) == set(range(201)) - members(left)
    assert list(left) == sorted(left)


@given(st.characters(blacklist_categories=["Cs"]))
def test_folding_adds_the_other_case_and_folds_the_same_both_ways(char: str) -> None:
    folded = fold_unicode(((ord(char), ord(char)),))
    for low, high in folded:
        for code in range(low, high + 1):
            assert fold_unicode(((code, code),)) == folded
    if len(char.lower()) == 1 == len(char.upper()) and char.upper().lower() == char:
        assert fold_unicode(((ord(char.upper()), ord(char.upper())),)) == folded
