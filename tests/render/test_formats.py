from __future__ import annotations

import pytest

from pi_kernel.protocol.usage import Cost, Usage
from pi_kernel.render.formats import at_least, count, counted, duration, money, size, usage_text


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (0, "< 1 ms"),
        (0.99, "< 1 ms"),
        (1, "1 ms"),
        (1.5, "2 ms"),
        (41.2, "41 ms"),
        (99.4, "99 ms"),
        (99.5, "0.1 s"),
        (800, "0.8 s"),
        (6_210, "6.2 s"),
        (9_999, "10.0 s"),
        (38_200, "38.2 s"),
        (59_949, "59.9 s"),
        (59_950, "1m 00s"),
        (64_000, "1m 04s"),
        (3_599_499, "59m 59s"),
        (3_599_500, "1h 00m"),
        (7_500_000, "2h 05m"),
        (360_000_000, "100h 00m"),
        (float("nan"), "unknown"),
        (float("inf"), "unknown"),
    ],
)
def test_a_time_is_written_in_the_unit_that_reads_best(ms: float, text: str) -> None:
    assert duration(ms) == text


def test_a_count_that_is_not_the_whole_is_open() -> None:
    texts = [at_least(1, "file"), at_least(1_204, "match", "matches")]
    assert texts == ["1+ files", "1,204+ matches"]


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [
        (0, "0 B"),
        (812, "812 B"),
        (1_023, "1,023 B"),
        (1_024, "1.0 KB"),
        (12_698, "12.4 KB"),
        (1_048_524, "1,023.9 KB"),
        (1_048_575, "1.0 MB"),
        (3_250_586, "3.1 MB"),
        (5 * 1024**3, "5.0 GB"),
        (3_000 * 1024**4, "3,000.0 TB"),
    ],
)
def test_a_size_has_a_blank_and_one_decimal(n_bytes: int, text: str) -> None:
    assert size(n_bytes) == text


def test_counts_have_commas_and_are_shortened_from_ten_million_on() -> None:
    assert [count(n) for n in (0, 1_204, 9_999_999, 12_400_000)] == [
        "0",
        "1,204",
        "9,999,999",
        "12.4 M",
    ]


def test_a_noun_has_the_number_that_fits() -> None:
    assert counted(1, "call") == "1 call"
    assert counted(0, "call") == "0 calls"
    assert counted(2, "match", "matches") == "2 matches"


def test_money_below_a_dollar_has_four_places() -> None:
    assert [money(0), money(0.0113), money(1.5), money(1_234.567)] == [
        "$0.0000",
        "$0.0113",
        "$1.50",
        "$1,234.57",
    ]


def test_usage_names_its_cost_only_when_there_is_one() -> None:
    assert usage_text(Usage(input=4_812, output=206)) == "4,812 in, 206 out"
    paid = Usage(input=1, output=2, cost=Cost(total=0.0113))
    assert usage_text(paid) == "1 in, 2 out, $0.0113"
