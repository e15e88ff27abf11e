"""The program that searches in Python, here inside the test's own process."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.tools._search import child
from pi_kernel.tools._search.regex_python import to_python
from pi_kernel.tools._search.regex_syntax import parse_regex

Row = tuple[int, bytes, bytes]


def job_for(pattern: str, **changes: Any) -> dict[str, Any]:
    regex = to_python(parse_regex(pattern, ignore_case=False))
    return {
        "ascii": regex.ascii,
        "unicode": regex.unicode,
        "literal": regex.literal,
        "is_literal": regex.is_literal,
        "context": 0,
        "max_count": 101,
        "max_line_bytes": 2000,
        "explicit": False,
        "seconds": 20,
        **changes,
    }


def rows_of(lines: list[bytes], cuts: set[int], job: dict[str, Any]) -> list[Row]:
    """Search lines that come in blocks; a cut is where a block ends."""
    search = child.FileSearch(
        child.Matcher(job),
        context=job["context"],
        max_count=job["max_count"],
        max_line_bytes=job["max_line_bytes"],
    )
    block: list[bytes] = []
    for number, line in enumerate(lines):
        block.append(line)
        if number in cuts:
            if not search.add(b"".join(block)):
                return search.rows
            block = []
    if block:
        search.add(b"".join(block))
    return search.rows


def expected_rows(lines: list[bytes], job: dict[str, Any]) -> list[Row]:
    """Say the same in the plainest way: a line matches when it has an ``x``."""
    context = job["context"]
    matching = [number for number, line in enumerate(lines) if b"x" in line][: job["max_count"]]
    shown = {
        number
        for match in matching
        for number in range(match - context, match + context + 1)
        if 0 <= number < len(lines)
    }
    return [
        (number + 1, b":" if number in matching else b"-", lines[number].removesuffix(b"\n"))
        for number in sorted(shown)
    ]


LINES = st.lists(st.sampled_from([b"x\n", b"a\n", b"\n", "éx\n".encode(), b"\xffa\n"]), max_size=20)


@given(
    lines=LINES,
    cuts=st.sets(st.integers(0, 19)),
    pattern=st.sampled_from(["x", "[x]", "x|x"]),
    context=st.integers(0, 3),
    max_count=st.integers(1, 6),
    has_newline=st.booleans(),
)
def test_rows_do_not_depend_on_where_blocks_end(  # noqa: PLR0913
    lines: list[bytes],
    cuts: set[int],
    pattern: str,
    context: int,
    max_count: int,
    *,
    has_newline: bool,
) -> None:
    if lines and lines[-1] != b"\n" and not has_newline:
        lines[-1] = lines[-1][:-1]
    job = job_for(pattern, context=context, max_count=max_count)
    assert rows_of(lines, cuts, job) == expected_rows(lines, job)


def test_rows_hold_no_more_of_a_line_than_is_asked_for() -> None:
    lines = [b"a" * 5 + b"\n", b"hit" + b"b" * 9 + b"\n", b"c" * 4]
    job = job_for("hit", context=1, max_line_bytes=4)
    assert rows_of(lines, set(), job) == [
        (1, b"-", b"aaaa"),
        (2, b":", b"hitb"),
        (3, b"-", b"cccc"),
    ]


def test_empty_match_after_the_last_newline_is_no_line() -> None:
    job = job_for("^$")
    assert rows_of([b"a\n"], set(), job) == []
    assert rows_of([b"a\n", b"\n"], set(), job) == [(2, b":", b"")]
    assert rows_of(["é\n".encode(), b"\n"], set(), job) == [(2, b":", b"")]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", []),
        (b"a\nb", [b"a\nb"]),
        (b"\xef\xbb\xbfa\n", [b"a\n"]),
        (b"\xff\xfea\0\n\0", [b"a\n"]),
        (b"\xfe\xff\0a\xd8\x00", ["a\ufffd".encode()]),
    ],
)
def test_blocks_are_whole_lines_without_a_mark(content: bytes, expected: list[bytes]) -> None:
    assert list(child.blocks(content[:3], io.BytesIO(content[3:]))) == expected


def test_blocks_of_a_large_file_end_with_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child, "BLOCK_BYTES", 4)
    content = b"a\nbcdefghij\nk\nlm"
    found = list(child.blocks(b"", io.BytesIO(content)))
    assert b"".join(found) == content
    assert all(block.endswith(b"\n") for block in found[:-1])


class Program:
    """The program with an input that a test has written."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, capture: pytest.CaptureFixture[bytes]
    ) -> None:
        self._monkeypatch = monkeypatch
        self._capture = capture

    def run(self, data: bytes) -> tuple[int, bytes, bytes]:
        """Return exit code, output and errors."""
        read, write = os.pipe()
        os.write(write, data)
        os.close(write)
        self._monkeypatch.setattr(child, "STDIN", read)
        try:
            code = child.main()
        finally:
            os.close(read)
        sys.stderr.flush()
        output, errors = self._capture.readouterr()
        return code, output, errors


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]) -> Program:
    return Program(monkeypatch, capfdbinary)


def input_of(job: dict[str, Any], *paths: Path) -> bytes:
    return json.dumps(job).encode() + b"\n" + b"".join(os.fsencode(path) + b"\0" for path in paths)


def test_program_prints_rows_and_names_files_that_it_cannot_read(
    tmp_path: Path, program: Program
) -> None:
    (tmp_path / "a").write_bytes(b"no\nhit\n")
    (tmp_path / "b").write_bytes(b"hit\n\0")
    code, output, errors = program.run(
        input_of(job_for("hit"), tmp_path / "a", tmp_path / "b", tmp_path / "c")
    )
    assert code == child.EXIT_FILE_ERROR
    assert output == os.fsencode(tmp_path) + b"/a\0002:hit\n"
    assert errors.decode() == f"rg: {tmp_path}/c: No such file or directory (os error 2)\n"


def test_program_drops_a_file_that_turns_out_binary_late(
    tmp_path: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(child, "HEAD_BYTES", 4)
    monkeypatch.setattr(child, "BLOCK_BYTES", 4)
    (tmp_path / "a").write_bytes(b"hit\n" * 5 + b"\0\n")
    job = job_for("hit", max_count=1)
    assert program.run(input_of(job, tmp_path / "a")) == (child.EXIT_DONE, b"", b"")
    job["explicit"] = True
    expected = os.fsencode(tmp_path) + b"/a\0001:hit\n"
    assert program.run(input_of(job, tmp_path / "a")) == (child.EXIT_DONE, expected, b"")


def test_program_without_input_ends(program: Program) -> None:
    with pytest.raises(SystemExit):
        program.run(b"")


def test_program_starts_alone_and_imports_nothing_of_the_package() -> None:
    code = "import runpy, sys; runpy.run_path(sys.argv[1]); print('pi_kernel' in sys.modules)"
    run = subprocess.run(  # noqa: S603 - our own interpreter and code
        [sys.executable, "-I", "-S", "-c", code, child.__file__],
        check=True,
        capture_output=True,
        text=True,
    )
    assert run.stdout == "False\n"
