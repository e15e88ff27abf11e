from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.render._ansi import ansi_lines
from tests.render.reading import text_in

RED = "background:rgba(229,72,77,0.22)"
GREEN = "background:rgba(46,160,67,0.22)"
YELLOW = "background:rgba(214,150,20,0.26)"


def test_red_green_and_yellow_become_grounds_and_bold_stays_bold() -> None:
    line = "\x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m271 passed\x1b[0m, \x1b[33m1 skipped\x1b[m"
    [html] = ansi_lines([line])
    assert html == (
        f'<b style="{RED}">1 failed</b>, <span style="{GREEN}">271 passed</span>, '
        f'<span style="{YELLOW}">1 skipped</span>'
    )


def test_other_colours_say_nothing_about_a_status() -> None:
    assert ansi_lines(["\x1b[34mblue\x1b[36mcyan\x1b[97mwhite"]) == ["bluecyanwhite"]


@pytest.mark.parametrize(
    ("code", "html"),
    [
        ("3", "<i>x</i>"),
        ("4", '<span style="text-decoration:underline">x</span>'),
        ("2", '<span style="opacity:0.75">x</span>'),
        ("1;3", "<b><i>x</i></b>"),
        ("1;22", "x"),
        ("41", f'<span style="{RED}">x</span>'),
        ("91", f'<span style="{RED}">x</span>'),
        ("31;39", "x"),
        ("102;49", "x"),
        ("38;5;9", f'<span style="{RED}">x</span>'),
        ("38;5;46", f'<span style="{GREEN}">x</span>'),
        ("38;5;240", "x"),
        ("38;2;220;200;20", f'<span style="{YELLOW}">x</span>'),
        ("48:2:0:200:0", f'<span style="{GREEN}">x</span>'),
        ("38;2;10;10;200", "x"),
        ("38;9;9", "x"),
        ("99999999999999999999", "x"),
    ],
)
def test_a_code_has_the_look_that_it_asks_for(code: str, html: str) -> None:
    assert ansi_lines([f"\x1b[{code}mx"]) == [html]


def test_a_colour_stays_on_over_the_end_of_a_line() -> None:
    assert ansi_lines(["\x1b[31ma", "", "b\x1b[0mc"]) == [
        f'<span style="{RED}">a</span>',
        "",
        f'<span style="{RED}">b</span>c',
    ]


def test_of_a_line_that_was_redrawn_the_last_state_is_shown_and_the_others_counted() -> None:
    lines = ansi_lines(["10%\r20%\r100%\r", "\x1b[31mold\rnew", "crlf\r", "\r"])
    assert [text_in(line) for line in lines] == ["2 redraws 100%", "1 redraw new", "crlf", ""]
    assert RED in lines[1]


def test_other_sequences_are_removed_and_stray_controls_shown() -> None:
    [line] = ansi_lines(["\x1b[2K\x1b[1A\x1b]0;title\x07a\x08b\x1b"])
    assert text_in(line) == "aU+0008bU+001B"


@given(st.lists(st.text(st.sampled_from("\x1b[]0123456789;:mKab<&\r\x07\\\x9b"))))
def test_any_output_gives_one_piece_of_balanced_html_a_line(lines: list[str]) -> None:
    html = ansi_lines(lines)
    assert len(html) == len(lines)
    for line in html:
        text_in(line, in_pre=True)
