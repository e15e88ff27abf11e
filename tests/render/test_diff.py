from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.protocol.results import ToolResult
from pi_kernel.render._diff import diff_body
from pi_kernel.render._html import Body, Room
from pi_kernel.render._patch import PatchRow, count_changes, read_patch
from pi_kernel.render._words import changed_words
from tests.render.reading import outcome_of, text_in

PATCH = """--- src/a.py
+++ src/a.py
@@ -3,3 +3,4 @@ def total():
 keep
-x = round(1.50)
+x = round(1.75)
+y = 2
 end
@@ -20,1 +21,1 @@
-last
\\ No newline at end of file
+last
"""
REMOVED = "background:rgba(229,72,77,0.14)"
ADDED_WORD = "background:rgba(46,160,67,0.34)"


def body_of_patch(patch: str, room: int = 50_000) -> Body:
    outcome = outcome_of("edit", {"path": "src/a.py"}, ToolResult("ok", details={"patch": patch}))
    body = diff_body(outcome, Room(room))
    assert body is not None
    return body


def test_rows_have_both_numbers_and_a_sign() -> None:
    body = body_of_patch(PATCH)
    assert text_in(body.html).split("\n") == [
        "  ... 2 unchanged lines, def total()",
        "   3    3   keep",
        "   4      - x = round(1.50)",
        "        4 + x = round(1.75)",
        "        5 + y = 2",
        "   5    6   end",
        "  ... 14 unchanged lines",
        "  20      - last",
        "  ... no newline at the end of the file",
        "       21 + last",
        "",
    ]
    assert (body.word, body.counts, body.foot) == ("applied", "+3 -2", [])


def test_a_removed_row_is_one_block_with_its_newline_and_its_changed_words_marked() -> None:
    assert (
        f'<span style="display:block;{REMOVED}"><span style="opacity:0.65">   4     </span>'
        ' - x = round(<span style="background:rgba(229,72,77,0.30)">1.50</span>)\n</span>'
    ) in body_of_patch(PATCH).html
    assert f'<span style="{ADDED_WORD}">1.75</span>' in body_of_patch(PATCH).html


def test_tabs_blanks_and_line_ends_are_visible_in_changed_rows_only() -> None:
    patch = "@@ -1,2 +1,2 @@\n \tsame  \n-\told  \r\n+    new\n"
    body = body_of_patch(patch)
    rows = text_in(body.html).split("\n")
    assert rows[:3] == [
        "   1    1   \tsame  ",
        "   2      - →\told·· [CRLF]",
        "        2 +     new",
    ]
    assert body.foot == ["A tab is shown as →."]


def test_the_numbered_form_is_read_where_there_is_no_patch() -> None:
    diff = " 1 keep\n-2 old\n+2 new\n 3 \n   ...\n 9 far"
    outcome = outcome_of("edit", {"path": "a"}, ToolResult("ok", details={"diff": diff}))
    body = diff_body(outcome, Room(50_000))
    assert body is not None
    assert text_in(body.html).split("\n")[:5] == [
        "   1        keep",
        "   2      - old",
        "        2 + new",
        "   3        ",
        "  ... unchanged lines",
    ]
    assert body.counts == "+1 -1"


def test_a_result_without_a_change_has_no_diff() -> None:
    for details in (None, {}, {"patch": ""}, {"patch": 3}, {"patch": "no hunks"}):
        outcome = outcome_of("edit", {"path": "a"}, ToolResult("ok", details=details))
        assert diff_body(outcome, Room(50_000)) is None


def test_markup_and_hidden_characters_in_a_change_are_text() -> None:
    patch = "@@ -1,1 +1,1 @@\n-<b>\u202e</b>\n+<script>\x00</script>\n"
    assert text_in(body_of_patch(patch).html) == (
        "   1      - <b>U+202E</b>\n        1 + <script>U+0000</script>\n"
    )


def test_a_change_that_is_too_long_is_cut_and_told_in_numbers() -> None:
    patch = "@@ -0,0 +1,5000 @@\n" + "+a line of the file\n" * 5_000
    body = body_of_patch(patch)
    assert len(body.html) < 50_000
    assert body.foot[0].endswith("of the change are kept here; it adds 5,000 lines and removes 0.")


def test_the_rows_beyond_sixty_open() -> None:
    patch = "@@ -0,0 +1,70 @@\n" + "+x\n" * 70
    assert "10 more rows" in text_in(body_of_patch(patch).html)


def test_a_line_of_five_megabytes_and_ten_thousand_rows_are_quick() -> None:
    long = "x" * 5_000_000
    body = body_of_patch(f"@@ -1,1 +1,1 @@\n-{long}\n+{long}y\n")
    assert "… 4.8 MB more" in text_in(body.html)
    body_of_patch("@@ -1,10000 +1,10000 @@\n" + "-old line\n+new line\n" * 10_000)


def test_hunks_without_counts_are_of_one_line() -> None:
    rows, is_whole = read_patch("@@ -3 +3 @@\n-a\n+b\n", 10)
    assert rows == [
        PatchRow("@", "2 unchanged lines"),
        PatchRow("-", "a", old=3),
        PatchRow("+", "b", new=3),
    ]
    assert is_whole
    assert read_patch("@@ -1,2 +1,0 @@\n-a\n-b\n", 1) == ([PatchRow("-", "a", old=1)], False)


def test_lines_that_look_like_headers_are_counted_as_changes() -> None:
    assert count_changes("--- a\n+++ a\n@@ -1,1 +1,1 @@\n--- x\n+++ y\n") == (1, 1)


def test_words_that_differ_are_found_and_close_ones_joined() -> None:
    assert changed_words("def by_day() -> float:", "def by_day() -> Decimal:") == (
        [(16, 21)],
        [(16, 23)],
    )
    assert changed_words("f(a, b)", "f(x, y)") == ([(2, 6)], [(2, 6)])


def test_lines_with_little_in_common_are_not_compared_word_by_word() -> None:
    assert changed_words("return out", "# Sum exact amounts") is None
    assert changed_words("x" * 500, "x" * 501) is None


@given(st.text("ab1. \t", max_size=40), st.text("ab1. \t", max_size=40))
def test_changed_ranges_are_ordered_and_inside_of_their_lines(old: str, new: str) -> None:
    ranges = changed_words(old, new)
    for line, found in zip((old, new), ranges or (), strict=False):
        flat = [position for pair in found for position in pair]
        assert flat == sorted(flat)
        assert all(0 <= position <= len(line) for position in flat)


@given(st.text("@-+ \\0123456789,ab\r\n\t", max_size=200))
def test_any_patch_gives_balanced_html_or_none(patch: str) -> None:
    outcome = outcome_of("edit", {"path": "a"}, ToolResult("ok", details={"patch": patch}))
    body = diff_body(outcome, Room(50_000))
    if body is not None:
        text_in(body.html)
