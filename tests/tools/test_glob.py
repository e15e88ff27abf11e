"""The glob dialect: what matches which path, what is refused, and that no glob takes forever."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.tools._search.globs import GlobError, parse_glob


def matches(glob: str, path: str | bytes, *, ignore_case: bool = False) -> bool:
    data = path.encode() if isinstance(path, str) else path
    return parse_glob(glob).compile(ignore_case=ignore_case).fullmatch(data) is not None


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("a", "a"),
        ("*", ""),
        ("*", ".hidden"),
        ("*.py", ".py"),
        ("?", "."),
        ("*", "line\nbreak"),
        ("a*b*c", "aXbYc"),
        ("*a*a", "aaa"),
        ("[ab]", "b"),
        ("[a-c]", "b"),
        ("[!a]", "b"),
        ("[^a]", "b"),
        ("[!a]", "/"),
        ("[]]", "]"),
        ("[]-^]", "^"),
        ("[a-]", "-"),
        ("[-a]", "-"),
        ("[+--]", ","),
        ("{a,b}", "b"),
        ("{a,{b,c}}", "c"),
        ("{,a}", "a"),
        ("a{}", "a"),
        ("a,b", "a,b"),
        ("{a,b*}/x", "bb/x"),
        ("\\*", "*"),
        ("\\{a", "{a"),
        ("**", "a/b"),
        ("**/a", "a"),
        ("**/a", "x/y/a"),
        ("a/**", "a/b/c"),
        ("a/**/b", "a/b"),
        ("a/**/b", "a/x/y/b"),
        ("a/**/**/b", "a/b"),
        ("{**/a,b}", "x/a"),
        ("a**", "ab"),
        ("**a", "ba"),
        ("é", "é"),
        ("*é", "xé"),
    ],
)
def test_glob_matches_the_path(glob: str, path: str) -> None:
    assert matches(glob, path)


@pytest.mark.parametrize(
    ("glob", "path"),
    [
        ("a", "b"),
        ("a", "A"),
        ("*", "a/b"),
        ("?", "/"),
        ("?", "ab"),
        ("?", "é"),
        ("[é]", "é"),
        ("{,a}", ""),
        ("**/a", "xa"),
        ("a/**", "a"),
        ("a/**/b", "a/xb"),
        ("a**", "a/b"),
        ("*a*b", "ba"),
        ("a/b", "x/a/b"),
        ("!a", "b"),
    ],
)
def test_glob_does_not_match_the_path(glob: str, path: str) -> None:
    assert not matches(glob, path)


@pytest.mark.parametrize(
    ("glob", "reason"),
    [
        ("[a", "unclosed character class; missing ']'"),
        ("[]", "unclosed character class; missing ']'"),
        ("{a", "unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"),
        ("{a,{b}", "unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"),
        ("a}", "unopened alternate group; missing '{' (maybe escape '}' with '[}]'?)"),
        ("a\\", "dangling '\\'"),
        ("[b-a]", "invalid range; 'b' > 'a'"),
    ],
)
def test_invalid_glob_is_refused_in_the_words_of_ripgrep(glob: str, reason: str) -> None:
    with pytest.raises(GlobError) as caught:
        parse_glob(glob)
    assert str(caught.value) == f"error parsing glob '{glob}': {reason}"


def test_range_that_runs_backwards_in_bytes_is_refused() -> None:
    with pytest.raises(GlobError, match="invalid range"):
        parse_glob("[Ā-ā]{[é-z]}")


def test_unclosed_class_stands_for_itself_where_that_is_allowed() -> None:
    glob = parse_glob("[a[b", allow_unclosed_class=True)
    assert glob.compile().fullmatch(b"[a[b")


def test_brace_that_closes_nothing_is_left_out_where_that_is_allowed() -> None:
    glob = parse_glob("a}b}", skip_unopened_brace=True)
    assert glob.compile().fullmatch(b"ab")


def test_deeply_nested_braces_are_refused_and_do_not_crash() -> None:
    with pytest.raises(GlobError, match="nested"):
        parse_glob("{" * 5000 + "a" + "}" * 5000)
    assert matches("{" * 50 + "a" + "}" * 50, "a")


def test_ignoring_case_is_for_ascii_only() -> None:
    assert matches("aÉ", "AÉ", ignore_case=True)
    assert not matches("é", "É", ignore_case=True)


def test_names_that_are_not_utf_8_match_wildcards() -> None:
    assert matches("*.txt", b"\xff\xfe.txt")
    assert matches("?.txt", b"\xff.txt")


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("abc", False),
        ("aBc", True),
        ("É*", True),
        ("é", False),
        ("[a-c]", False),
        ("[A-C]", True),
        ("[!A]", True),
        ("[!a]", False),
        ("[é]", True),
        ("{a,B}", True),
        ("**/*?", False),
        ("\\A", True),
    ],
)
def test_smart_case_sees_upper_case_in_literals_and_ends_of_ranges(
    glob: str, *, expected: bool
) -> None:
    assert parse_glob(glob).has_uppercase is expected


@pytest.mark.parametrize("glob", ["**/a*", "**/[ab]", "**/{a,b}c", "**/?"])
def test_pattern_for_names_says_the_same_as_the_pattern_for_paths(glob: str) -> None:
    parsed = parse_glob(glob)
    by_name = parsed.name_pattern()
    assert by_name is not None
    for path in (b"a", b"b", b"x/a", b"x/bc", b"ac", b"x/y/ab", b"y"):
        name = path.rpartition(b"/")[2]
        assert bool(re.fullmatch(by_name, name)) is bool(parsed.compile().fullmatch(path))


@pytest.mark.parametrize("glob", ["a", "**", "**/a/b", "**/[!a]", "**/**", "**/{a,b/c}"])
def test_there_is_no_pattern_for_names_when_more_of_a_path_counts(glob: str) -> None:
    assert parse_glob(glob).name_pattern() is None


def test_many_stars_stay_linear() -> None:
    name = "a" * 255
    started = time.monotonic()
    assert not matches("*a*a*a*a*a*a*a*a*a*a*b", name)
    assert not matches("**/*a?*a[a]*a*a*a*a*a*a*b", name)
    assert time.monotonic() - started < 1


@given(st.text(st.characters(blacklist_characters="/\0", blacklist_categories=["Cs"]), min_size=1))
def test_escaped_name_matches_itself_only(name: str) -> None:
    escaped = "".join(f"\\{char}" for char in name)
    assert matches(escaped, name)
    assert not matches(escaped, name + "x")
    assert matches("*", name)


@given(st.text("ab*?[]{},!-\\/", max_size=12), st.text("ab/-", max_size=8))
def test_any_glob_compiles_or_is_refused(glob: str, path: str) -> None:
    try:
        parsed = parse_glob(glob)
    except GlobError:
        return
    parsed.compile().fullmatch(path.encode())
