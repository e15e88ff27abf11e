"""The diffs of an edit: rows for people, a patch that applies, lines aligned by a fixed rule."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.tools._diff import diff_replacements
from pi_kernel.tools._diff_align import Run, align
from pi_kernel.tools._edit_splice import Replacement, splice_lf

NO_NEWLINE = "\\ No newline at end of file\n"


def numbered(first: int, last: int) -> str:
    return "".join(f"line {number}\n" for number in range(first, last + 1))


def replacing(view: str, *pairs: tuple[str, str]) -> list[Replacement]:
    return [
        Replacement(view.index(old), view.index(old) + len(old), new_text)
        for old, new_text in pairs
    ]


def diff_of(view: str, *pairs: tuple[str, str]) -> str:
    return diff_replacements(view, replacing(view, *pairs), path="f.txt").diff


def hunks_of(view: str, *pairs: tuple[str, str]) -> str:
    patch = diff_replacements(view, replacing(view, *pairs), path="f.txt").patch
    return patch.removeprefix("--- f.txt\n+++ f.txt\n")


def test_a_change_is_shown_with_four_lines_around_it() -> None:
    rows = diff_of(numbered(1, 20), ("line 10\n", "ten\nTEN\n"))
    assert rows.split("\n") == [
        "    ...",
        "  6 line 6",
        "  7 line 7",
        "  8 line 8",
        "  9 line 9",
        "-10 line 10",
        "+10 ten",
        "+11 TEN",
        " 11 line 11",
        " 12 line 12",
        " 13 line 13",
        " 14 line 14",
        "    ...",
    ]


def test_no_marker_stands_where_no_line_is_left_out() -> None:
    rows = diff_of(numbered(1, 9), ("line 5\n", "five\n"))
    assert rows == (
        "  1 line 1\n  2 line 2\n  3 line 3\n  4 line 4\n- 5 line 5\n+ 5 five\n"
        "  6 line 6\n  7 line 7\n  8 line 8\n  9 line 9"
    )


def test_eight_lines_between_two_changes_are_all_shown_and_nine_are_cut() -> None:
    eight = diff_of(numbered(1, 30), ("line 10\n", "ten\n"), ("line 19\n", "19\n"))
    assert eight.count(" ...") == 2
    nine = diff_of(numbered(1, 30), ("line 10\n", "ten\n"), ("line 20\n", "20\n"))
    assert nine.count(" ...") == 3
    assert " 14 line 14\n    ...\n 16 line 16\n" in nine


def test_changes_far_apart_have_one_marker_between_them() -> None:
    rows = diff_of(numbered(1, 300), ("line 50\n", "fifty\n"), ("line 250\n", "250\n"))
    assert "  54 line 54\n     ...\n 246 line 246\n" in rows
    assert rows.count(" ...") == 3


def test_numbers_are_as_wide_as_the_larger_text_needs() -> None:
    assert diff_of(numbered(1, 8), ("line 8\n", "x\n")).endswith("\n-8 line 8\n+8 x")
    assert diff_of(numbered(1, 9), ("line 9\n", "x\n")).endswith("\n- 9 line 9\n+ 9 x")
    assert diff_of("a\n", ("a\n", numbered(1, 9))).startswith("- 1 a\n+ 1 line 1\n")


def test_context_and_removed_rows_have_old_numbers_and_added_rows_new_ones() -> None:
    rows = diff_of("a\nb\nc\nd\n", ("a\n", "1\n2\n3\n"), ("d", "D"))
    assert rows == "-1 a\n+1 1\n+2 2\n+3 3\n 2 b\n 3 c\n-4 d\n+6 D"


def test_the_first_changed_line_is_counted_in_the_new_text() -> None:
    view = numbered(1, 12)
    insertion = replacing(view, ("line 6\n", "line 6\nnew\n"))
    assert diff_replacements(view, insertion, path="f").first_changed_line == 7


def test_a_final_newline_alone_shows_the_last_line_twice() -> None:
    assert diff_of("a\nb", ("b", "b\n")) == " 1 a\n-2 b\n+2 b"
    assert hunks_of("a\nb", ("b", "b\n")) == f"@@ -1,2 +1,2 @@\n a\n-b\n{NO_NEWLINE}+b\n"
    assert hunks_of("a\nb\n", ("b\n", "b")) == f"@@ -1,2 +1,2 @@\n a\n-b\n+b\n{NO_NEWLINE}"


def test_an_open_last_line_of_context_is_marked_in_the_patch() -> None:
    assert hunks_of("a\nb", ("a", "A")) == f"@@ -1,2 +1,2 @@\n-a\n+A\n b\n{NO_NEWLINE}"


def test_an_empty_side_starts_one_line_earlier() -> None:
    assert hunks_of("only\n", ("only\n", "")) == "@@ -1,1 +0,0 @@\n-only\n"
    assert diff_replacements("", [Replacement(0, 0, "a\n")], path="f").patch == (
        "--- f\n+++ f\n@@ -0,0 +1,1 @@\n+a\n"
    )


def test_hunks_are_joined_over_eight_common_lines_and_not_over_nine() -> None:
    assert hunks_of(numbered(1, 30), ("line 10\n", "ten\n"), ("line 19\n", "19\n")).startswith(
        "@@ -6,18 +6,18 @@\n"
    )
    apart = hunks_of(numbered(1, 30), ("line 10\n", "a\nb\n"), ("line 20\n", "20\n"))
    assert re.findall("@@ .* @@", apart) == ["@@ -6,9 +6,10 @@", "@@ -16,9 +17,9 @@"]


def test_a_replacement_that_changes_nothing_leaves_no_rows() -> None:
    view = numbered(1, 200)
    rows = diff_of(view, ("line 5\n", "line 5\n"), ("line 150\n", "150\n"))
    assert rows.startswith("     ...\n 146 line 146\n")


def test_an_inserted_line_equal_to_its_neighbours_still_gives_a_patch_with_full_context() -> None:
    view = "start\n" + "same\n" * 100 + "end\n"
    inserted = Replacement(6, 6, "same\n")
    after = splice_lf(view, [inserted])
    patch = diff_replacements(view, [inserted], path="f").patch
    assert apply_patch(view, patch) == after


def test_a_file_of_one_huge_line_is_compared() -> None:
    view = "x" * 5_000_000 + "needle" + "y" * 10
    diff = diff_replacements(view, replacing(view, ("needle", "pin")), path="f")
    assert len(diff.diff) == len(view) * 2 - 3 + len("-1 \n+1 ")
    assert diff.first_changed_line == 1


def test_fifty_thousand_lines_replaced_by_others_are_one_change() -> None:
    view = numbered(1, 50_000)
    other = "".join(f"other {number}\n" for number in range(50_000))
    diff = diff_replacements(view, [Replacement(0, len(view), other)], path="f")
    assert diff.patch.startswith("--- f\n+++ f\n@@ -1,50000 +1,50000 @@\n-line 1\n-line 2\n")
    assert diff.patch.count("\n+") == 50_001


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("", "", ""),
        ("abc", "abc", "   "),
        ("abc", "", "---"),
        ("", "ab", "++"),
        ("abc", "xy", "---++"),
        ("pa", "qaa", "-+ +"),
        ("abcabba", "cbabac", "-- +  - +"),
        ("aab", "b", "-- "),
    ],
)
def test_lines_are_aligned_by_the_rule_for_ties(old: str, new: str, expected: str) -> None:
    assert "".join(sign * count for sign, count in align(old, new)) == expected


def test_texts_that_differ_too_much_are_replaced_between_their_first_and_last_change() -> None:
    old = [*"head", *"abcdefgh" * 20, *"tail"]
    new = [*"head", *"hgfedcba" * 20, *"tail"]
    assert align(old, new, max_search_steps=50) == [(" ", 4), ("-", 160), ("+", 160), (" ", 4)]


lines_of_few_kinds = st.text("abcd", max_size=14)


@given(lines_of_few_kinds, lines_of_few_kinds)
def test_the_alignment_is_the_plain_greedy_search_of_the_rule(old: str, new: str) -> None:
    assert align(old, new) == plain_search(old, new)


def plain_search(old: str, new: str) -> list[Run]:  # noqa: C901 - plain on purpose
    """The search as it is written down: whole paths, one per diagonal."""

    def extend(path: str, x: int, y: int) -> tuple[str, int]:
        while x < len(old) and y < len(new) and old[x] == new[y]:
            path, x, y = path + " ", x + 1, y + 1
        return path, x

    lowest, highest = -len(new), len(old)
    best: dict[int, tuple[str, int]] = {0: extend("", 0, 0)}
    distance = 0
    while True:
        for k in range(max(lowest, -distance), min(highest, distance) + 1, 2):
            if distance:
                removal, insertion = best.get(k - 1), best.get(k + 1)
                can_remove = removal is not None and removal[1] < len(old)
                can_insert = insertion is not None and insertion[1] - k <= len(new)
                if (
                    insertion
                    and can_insert
                    and (not removal or not can_remove or removal[1] < insertion[1])
                ):
                    best[k] = extend(insertion[0] + "+", insertion[1], insertion[1] - k)
                elif removal and can_remove:
                    best[k] = extend(removal[0] + "-", removal[1] + 1, removal[1] + 1 - k)
                else:
                    best.pop(k, None)
                    continue
            path, x = best[k]
            if x == len(old) and x - k == len(new):
                return [(run[0], len(run)) for run in re.findall(r" +|-+|\++", path)]
            if x == len(old):
                highest = min(highest, k - 1)
            if x - k == len(new):
                lowest = max(lowest, k + 1)
        distance += 1


@st.composite
def views_and_replacements(draw: st.DrawFn) -> tuple[str, list[Replacement]]:
    kinds = draw(st.sampled_from([["a\n"], ["a\n", "b\n", "\n"], ["a", "\n", "b\n", "c d\n"]]))
    pieces = st.lists(st.sampled_from(kinds), max_size=12).map("".join)
    parts = draw(st.lists(st.tuples(pieces, st.integers(1, 15)), min_size=1, max_size=6))
    view = "".join(piece * count for piece, count in parts)
    bounds = sorted(draw(st.lists(st.integers(0, len(view)), min_size=2, max_size=8)))
    pairs = zip(bounds[::2], bounds[1::2], strict=False)
    return view, [Replacement(start, end, draw(pieces)) for start, end in pairs]


@given(views_and_replacements())
def test_applying_the_patch_to_the_text_before_gives_the_text_after(
    case: tuple[str, list[Replacement]],
) -> None:
    view, replacements = case
    after = splice_lf(view, replacements)
    if any(view[r.start : r.end] != r.new_text for r in replacements) and after != view:
        diff = diff_replacements(view, replacements, path="f")
        assert apply_patch(view, diff.patch) == after
        assert rows_after(diff.diff) <= set(enumerate(after.split("\n"), 1))


def rows_after(diff: str) -> set[tuple[int, str]]:
    rows = re.findall(r"^\+ *(\d+) (.*)$", diff, re.MULTILINE)
    return {(int(number), text) for number, text in rows}


def apply_patch(text: str, patch: str) -> str:
    """Apply a unified diff strictly: every kept and removed line must be where the hunk says."""
    old = re.findall(r"[^\n]*\n|[^\n]+", text)
    new: list[str] = []
    position = 0
    rows = patch.replace("\n\\ No newline at end of file", "").splitlines(keepends=True)
    without_newline = {
        len(re.findall(r"\n(?!\\)", patch[: match.start()]))
        for match in re.finditer(r"\n\\ No newline at end of file\n", patch)
    }
    for index, row in enumerate(rows[2:], 2):
        line = row[1:].removesuffix("\n") if index in without_newline else row[1:]
        if row.startswith("@@"):
            numbers = [int(number) for number in re.findall(r"\d+", row)[:4]]
            start = numbers[0] - 1 if numbers[1] else numbers[0]
            new += old[position:start]
            position = start
            assert len(new) == (numbers[2] - 1 if numbers[3] else numbers[2])
        elif row.startswith("+"):
            new.append(line)
        else:
            assert old[position] == line
            position += 1
            if row.startswith(" "):
                new.append(line)
    return "".join(new + old[position:])


PATCH_PROGRAMS = [
    pytest.param(
        command,
        marks=pytest.mark.skipif(shutil.which(command[0]) is None, reason=f"needs {command[0]}"),
        id=command[0],
    )
    for command in (["patch", "-p0", "--force"], ["git", "apply", "-p0", "--unidiff-zero"])
]


@pytest.mark.parametrize("command", PATCH_PROGRAMS)
@pytest.mark.parametrize(
    ("view", "pairs"),
    [
        pytest.param(numbered(1, 200), [("line 9\n", "9\n"), ("line 190\n", "")], id="two-hunks"),
        pytest.param("a\nb", [("b", "b\nc")], id="open-end"),
        pytest.param("a\nb\n", [("b\n", "b")], id="end-opened"),
        pytest.param("x\n" + "same\n" * 100, [("x\n", "x\nsame\n")], id="line-like-its-neighbours"),
        pytest.param("only\n", [("only\n", "other\nlines\n")], id="whole-file"),
    ],
)
def test_the_usual_programs_apply_the_patch(
    tmp_path: Path, command: list[str], view: str, pairs: list[tuple[str, str]]
) -> None:
    replacements = replacing(view, *pairs)
    target = tmp_path / "f.txt"
    target.write_bytes(view.encode())
    patch = diff_replacements(view, replacements, path="f.txt").patch
    subprocess.run(command, cwd=tmp_path, input=patch.encode(), check=True, capture_output=True)  # noqa: S603
    assert target.read_bytes().decode() == splice_lf(view, replacements)
