"""The glob dialect: what matches which path, what is refused, and that no glob takes forever."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.tools._search import automaton as automaton_module
from pi_kernel.tools._search.glob_automaton import to_automaton
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
def test_glob_for_names_says_the_same_as_the_glob_for_paths(glob: str) -> None:
    parsed = parse_glob(glob)
    by_name = parsed.for_names()
    assert by_name is not None
    for path in (b"a", b"b", b"x/a", b"x/bc", b"ac", b"x/y/ab", b"y"):
        name = path.rpartition(b"/")[2]
        assert bool(by_name.compile().fullmatch(name)) is bool(parsed.compile().fullmatch(path))


@pytest.mark.parametrize("glob", ["a", "**", "**/a/b", "**/[!a]", "**/**", "**/{a,b/c}"])
def test_there_is_no_glob_for_names_when_more_of_a_path_counts(glob: str) -> None:
    assert parse_glob(glob).for_names() is None


def test_many_stars_stay_linear() -> None:
    name = "a" * 255
    started = time.monotonic()
    assert not matches("*a*a*a*a*a*a*a*a*a*a*b", name)
    assert not matches("**/*a?*a[a]*a*a*a*a*a*a*b", name)
    assert time.monotonic() - started < 1


HOSTILE = [
    "*{a,aa}" * 12 + "b",
    "{a,aa}" * 60 + "b",
    "{*a*,*a*a*,*}" * 20 + "b",
    "{*,*,*}" * 8 + "b",
    "**/{*a,a*}" * 10 + "/b",
    "*[a]*?{a,}" * 30 + "b",
]


@pytest.mark.timeout(20)  # each would take years by trying one way after another
@pytest.mark.parametrize("glob", HOSTILE)
def test_no_glob_takes_forever(glob: str) -> None:
    assert not matches(glob, "a" * 255)
    assert not matches(glob, "/".join(["a" * 60] * 20))


def test_glob_that_needs_too_large_an_automaton_is_refused() -> None:
    with pytest.raises(GlobError, match="cannot be compiled: it has too many alternatives"):
        parse_glob("{" + ",".join(f"*{number}*" for number in range(20_000)) + "}").compile()


@given(
    st.text("aA*?[]{},!-/", max_size=14),
    st.lists(st.text("aA/-", max_size=9), min_size=1, max_size=4),
    st.booleans(),
)
def test_automaton_says_what_the_expression_says(
    glob: str,
    paths: list[str],
    ignore_case: bool,  # noqa: FBT001 - hypothesis gives it by position
) -> None:
    try:
        parsed = parse_glob(glob)
        expression = parsed.compile(ignore_case=ignore_case)
    except GlobError:
        return
    automaton = to_automaton(parsed.tokens, ignore_case=ignore_case)
    for path in map(str.encode, paths):
        assert bool(automaton.fullmatch(path)) is bool(expression.fullmatch(path))


def test_automaton_forgets_what_it_learned_before_that_needs_much_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(automaton_module, "MAX_REMEMBERED_NODES", 20)
    tested = to_automaton(parse_glob("*a??????").tokens, ignore_case=False)
    for number in range(64):
        name = f"{number:08b}".replace("1", "a").encode()
        assert bool(tested.fullmatch(name)) is (name[1:2] == b"a")
    assert len(tested._sets) <= 20


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
