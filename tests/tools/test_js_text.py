"""JavaScript's blanks and lengths."""

from __future__ import annotations

from pi_kernel.tools._js_text import trim_end, utf16_length


def test_all_of_javascripts_blanks_are_trimmed_and_no_others() -> None:
    blanks = "\t\n\v\f\r \u00a0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
    assert trim_end(f"x{blanks}") == "x"
    for other in "\x1c\x1d\x1e\x1f\x85\u180e\u200b":
        assert trim_end(f"x{other}") == f"x{other}"


def test_characters_outside_the_basic_plane_count_two_units() -> None:
    assert utf16_length("plain") == 5
    assert utf16_length("\u20ac\U0001f600") == 3
    assert utf16_length("\ud83d") == 1
