"""Truncation against exact values and against the plainest possible reference."""

from __future__ import annotations

import dataclasses
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.tools import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_LINES,
    Truncation,
    format_size,
    truncate_head,
    truncate_line,
    truncate_tail,
)
from pi_kernel.tools._text_select import LineSelector

TEXTS = st.text(alphabet="ab\né漢😀\r", max_size=40)
LIMITS = st.integers(min_value=0, max_value=12)


def size(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def lines_of(text: str) -> list[str]:
    rows = text.split("\n")
    return rows[:-1] if rows[-1] == "" else rows


def plain_head(text: str, max_lines: int, max_bytes: int) -> tuple[str, str | None, int, bool]:
    """Content, reason, lines and whether the first line is too long."""
    rows = lines_of(text)
    if len(rows) <= max_lines and size(text) <= max_bytes:
        return text, None, len(rows), False
    if size(rows[0]) > max_bytes:
        return "", "bytes", 0, True
    kept: list[str] = []
    for row in rows:
        if len(kept) >= max_lines:
            break
        if size("\n".join([*kept, row])) > max_bytes:
            return "\n".join(kept), "bytes", len(kept), False
        kept.append(row)
    return "\n".join(kept), "lines", len(kept), False


def plain_tail(text: str, max_lines: int, max_bytes: int) -> tuple[str, str | None, int, bool]:
    """Content, reason, lines and whether the last line is partial."""
    rows = lines_of(text)
    if len(rows) <= max_lines and size(text) <= max_bytes:
        return text, None, len(rows), False
    kept: list[str] = []
    for row in reversed(rows):
        if len(kept) >= max_lines:
            break
        if size("\n".join([row, *kept])) > max_bytes:
            if kept:
                return "\n".join(kept), "bytes", len(kept), False
            part = row
            while size(part) > max_bytes:
                part = part[1:]
            return part, "bytes", 1, True
        kept.insert(0, row)
    return "\n".join(kept), "lines", len(kept), False


@given(TEXTS, LIMITS, LIMITS)
def test_head_equals_the_plain_reference(text: str, max_lines: int, max_bytes: int) -> None:
    record = truncate_head(text, max_lines=max_lines, max_bytes=max_bytes)
    content, reason, lines, too_long = plain_head(text, max_lines, max_bytes)
    assert record == Truncation(
        content=content,
        truncated=reason is not None,
        truncated_by=reason,  # type: ignore[arg-type]  # the reference returns one of the words
        total_lines=len(lines_of(text)),
        total_bytes=size(text),
        output_lines=lines,
        output_bytes=size(content),
        last_line_partial=False,
        first_line_exceeds_limit=too_long,
        max_lines=max_lines,
        max_bytes=max_bytes,
    )


@given(TEXTS, LIMITS, LIMITS)
def test_tail_equals_the_plain_reference(text: str, max_lines: int, max_bytes: int) -> None:
    record = truncate_tail(text, max_lines=max_lines, max_bytes=max_bytes)
    content, reason, lines, is_partial = plain_tail(text, max_lines, max_bytes)
    assert record == Truncation(
        content=content,
        truncated=reason is not None,
        truncated_by=reason,  # type: ignore[arg-type]  # the reference returns one of the words
        total_lines=len(lines_of(text)),
        total_bytes=size(text),
        output_lines=lines,
        output_bytes=size(content),
        last_line_partial=is_partial,
        first_line_exceeds_limit=False,
        max_lines=max_lines,
        max_bytes=max_bytes,
    )


@given(
    st.binary(max_size=60) | TEXTS.map(str.encode),
    st.lists(st.integers(min_value=0, max_value=60), max_size=6),
    st.integers(min_value=0, max_value=8),
    st.none() | st.integers(min_value=0, max_value=10),
)
def test_a_selection_does_not_depend_on_how_the_bytes_are_cut_into_blocks(
    data: bytes, cuts: list[int], start: int, stop: int | None
) -> None:
    selector = LineSelector(start, stop)
    edges = [0, *sorted(cuts), len(data)]
    for begin, end in itertools.pairwise(edges):
        selector.feed(data[begin:end])
    selection = selector.finish()
    rows = data.decode("utf-8", "replace").split("\n")
    chosen = rows[start:stop]
    assert selection.total_lines == len(rows)
    assert selection.text == truncate_head("\n".join(chosen))
    assert selection.first_line_bytes == (size(chosen[0]) if chosen else 0)


def test_a_text_within_the_limits_keeps_its_final_newline() -> None:
    assert truncate_head("a\nb\nc\n", max_lines=3).content == "a\nb\nc\n"
    assert truncate_tail("a\nb\nc\n", max_lines=3).content == "a\nb\nc\n"


def test_lines_win_when_both_limits_are_met_in_the_same_step() -> None:
    assert truncate_head("aa\nbb\ncc\n", max_lines=2, max_bytes=5).truncated_by == "lines"
    assert truncate_tail("aa\nbb\ncc\n", max_lines=2, max_bytes=5).truncated_by == "lines"


def test_losing_only_the_final_newline_counts_as_cut_by_lines() -> None:
    record = truncate_head("y" * DEFAULT_MAX_BYTES + "\n")
    assert (record.truncated_by, record.output_lines, record.output_bytes) == ("lines", 1, 51200)


def test_a_first_line_that_is_too_long_leaves_nothing() -> None:
    record = truncate_head("longline\nx", max_bytes=4)
    assert (record.content, record.truncated_by, record.first_line_exceeds_limit) == (
        "",
        "bytes",
        True,
    )


def test_an_empty_text_has_no_lines_and_a_newline_has_one() -> None:
    assert truncate_head("").total_lines == 0
    assert truncate_head("\n").total_lines == 1


def test_a_partial_last_line_starts_at_a_character() -> None:
    record = truncate_tail("x\n😀😀😀", max_bytes=9)
    assert (record.content, record.output_bytes, record.last_line_partial) == ("😀😀", 8, True)


def test_a_carriage_return_is_part_of_its_line() -> None:
    assert truncate_head("a\r\nb\r\n", max_bytes=4).content == "a\r"


def test_lone_surrogates_count_three_bytes() -> None:
    assert truncate_head("\ud800").total_bytes == 3


def test_the_record_has_plain_attributes_and_a_wire_form() -> None:
    record = truncate_head("a\nb", max_lines=1)
    assert vars(record) == dataclasses.asdict(record)
    assert record.to_wire() == {
        "content": "a",
        "truncated": True,
        "truncatedBy": "lines",
        "totalLines": 2,
        "totalBytes": 3,
        "outputLines": 1,
        "outputBytes": 1,
        "lastLinePartial": False,
        "firstLineExceedsLimit": False,
        "maxLines": 1,
        "maxBytes": 51200,
    }
    assert DEFAULT_MAX_LINES == 2000


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abc", 500, ("abc", False)),
        ("a" * 500, 500, ("a" * 500, False)),
        ("a" * 501, 500, ("a" * 500 + "... [truncated]", True)),
        ("abc", 0, ("... [truncated]", True)),
        ("😀😀", 4, ("😀😀", False)),
        ("😀😀", 3, ("😀... [truncated]", True)),
        ("😀😀", 1, ("... [truncated]", True)),
        ("a\ud83d", 1, ("a... [truncated]", True)),
        ("\ud83d\ud83d", 1, ("\ud83d... [truncated]", True)),
        ("e\u0301e\u0301", 3, ("e\u0301e... [truncated]", True)),
    ],
)
def test_a_line_is_cut_by_utf16_units_and_never_inside_a_pair(
    text: str, limit: int, expected: tuple[str, bool]
) -> None:
    assert truncate_line(text, limit) == expected


@pytest.mark.parametrize(
    ("size_bytes", "label"),
    [
        (0, "0B"),
        (1023, "1023B"),
        (1024, "1.0KB"),
        (1280, "1.3KB"),
        (1331, "1.3KB"),
        (1792, "1.8KB"),
        (51200, "50.0KB"),
        (51201, "50.0KB"),
        (1048575, "1024.0KB"),
        (1048576, "1.0MB"),
        (1310720, "1.3MB"),
        (2 * 1024**3, "2048.0MB"),
    ],
)
def test_a_size_has_one_decimal_and_exact_ties_go_up(size_bytes: int, label: str) -> None:
    assert format_size(size_bytes) == label
