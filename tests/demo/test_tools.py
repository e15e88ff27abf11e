"""What the demo's own tools find in a text."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.demo.tools import describe_text, names_in


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.md", "", {"lines": 0, "words": 0}),
        ("a.md", "one two\nthree", {"lines": 2, "words": 3}),
        ("a.csv", "x,y\n1,a\n2,b\n", {"lines": 3, "words": 3, "means": {"x": 1.5}}),
        ("a.CSV", "x;y\n1;2\n3;4\n", {"lines": 3, "words": 3, "means": {"x": 2.0, "y": 3.0}}),
        ("a.tsv", "x\ty\n1\t2\n", {"lines": 2, "words": 4, "means": {"x": 1.0, "y": 2.0}}),
        ("a.csv", "\ufeffx\r\n1\r\n2\r\n", {"lines": 3, "words": 3, "means": {"x": 1.5}}),
        ("a.csv", 'x,y\n"1",\n3,NA\n', {"lines": 3, "words": 3, "means": {"x": 2.0}}),
        ("a.csv", "x\n1e308\n1e308\n", {"lines": 3, "words": 3}),
        ("a.csv", "x\ninf\n", {"lines": 2, "words": 2}),
        ("a.csv", "x\n1\nmany\n", {"lines": 3, "words": 3}),
        ("a.txt", "x,y\n1,2\n", {"lines": 2, "words": 2}),
        ("csv", "x\n1\n", {"lines": 2, "words": 2}),
    ],
)
def test_text_is_described_by_what_is_in_it(name: str, text: str, expected: dict[str, Any]) -> None:
    assert describe_text(text, name=name) == expected


@given(text=st.text())
def test_any_text_can_be_described(text: str) -> None:
    facts = describe_text(text, name="a.csv")
    assert facts["lines"] == len(text.split("\n")) - (text == "" or text.endswith("\n"))
    assert facts["words"] == len(text.split())


def test_listing_gives_files_without_folders_and_notices() -> None:
    listing = "a.csv\nsub/\nb.md\n\n[2 entries limit reached. Use limit=4 for more]"
    assert names_in(listing) == ["a.csv", "b.md"]
    assert names_in("(empty directory)") == []
