from __future__ import annotations

import itertools
import re
import stat
import subprocess
import sys
import tempfile
import threading
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.tools._output import OutputAccumulator
from pi_kernel.tools._truncate import truncate_tail

MAX_LINES = 6
MAX_BYTES = 24
END_BYTES = 17
BOM = "\ufeff"

PIECES = st.sampled_from(
    [
        b"a",
        b"\n",
        b"line\n",
        b"x" * 30,
        b"x" * 61 + b"\nyy\n",
        "é".encode(),
        "漢字\n".encode(),
        "👋".encode(),
        "👋".encode() * 9,
        BOM.encode(),
        "\ufffd".encode(),
        b"\xff",
        b"\x80" * 7,
        b"\xe2\x82",
        b"\xf0\x9f",
        b"\xe0\x80",
        b"\xed\xa0\x80",
        b"\r\n",
        b"\0",
    ]
)
OUTPUTS = st.one_of(
    st.binary(max_size=120),
    st.lists(PIECES, max_size=40).map(b"".join),
    st.lists(PIECES, min_size=20, max_size=60).map(b"".join),
)
CUTS = st.lists(st.integers(min_value=0, max_value=400), max_size=12)


@pytest.fixture(scope="module", autouse=True)
def _own_temporary_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("outputs")))
        yield


def small() -> OutputAccumulator:
    return OutputAccumulator(
        file_prefix="pi-test-", max_lines=MAX_LINES, max_bytes=MAX_BYTES, end_bytes=END_BYTES
    )


def small_and_exact_for(count: int) -> OutputAccumulator:
    return OutputAccumulator(
        file_prefix="pi-test-",
        max_lines=MAX_LINES,
        max_bytes=MAX_BYTES,
        end_bytes=END_BYTES,
        exact_bytes=count,
    )


def split(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    return [data[start:end] for start, end in itertools.pairwise(places)]


def everything(output: OutputAccumulator) -> object:
    """All that an accumulator tells, with the file's bytes in place of its random name."""
    snapshot, whole = output.snapshot(), output.whole()
    path = snapshot.full_output_path
    saved = None if path is None else Path(path).read_bytes()
    return snapshot.truncation, snapshot.last_line_bytes, snapshot.save_error, saved, whole


def expected(data: bytes) -> object:
    """The same in the plainest way, from the whole output at once."""
    text = data.decode("utf-8", "replace").removeprefix(BOM)
    decoded = text.encode()
    lines = text.split("\n")
    total_lines = len(lines) if lines[-1] else len(lines) - 1
    tail = text
    if len(decoded) > 4 * MAX_BYTES:
        start = len(decoded) - 2 * MAX_BYTES
        while decoded[start] in range(0x80, 0xC0):
            start += 1
        tail = decoded[start:].decode()
        if decoded[:start][-1:] != b"\n":
            _, newline, after = tail.partition("\n")
            tail = after if newline and after else tail
    shown = truncate_tail(tail, max_lines=MAX_LINES, max_bytes=MAX_BYTES)
    over_bytes, over_lines = len(decoded) > MAX_BYTES, total_lines > MAX_LINES
    by = None
    if over_bytes or over_lines:
        by = shown.truncated_by or ("bytes" if over_bytes else "lines")
    record = {
        **vars(shown),
        "truncated": by is not None,
        "truncated_by": by,
        "total_lines": total_lines,
        "total_bytes": len(decoded),
    }
    saved = data if by is not None or len(data) > MAX_BYTES else None
    return record, len(lines[-1].encode()), saved


@given(data=OUTPUTS)
def test_counters_shown_end_and_file_equal_a_plain_reference(data: bytes) -> None:
    output = small()
    output.append(data)
    output.finish()
    snapshot = output.snapshot()
    path = snapshot.full_output_path
    saved = None if path is None else Path(path).read_bytes()
    assert (vars(snapshot.truncation), snapshot.last_line_bytes, saved) == expected(data)


@given(data=OUTPUTS, cuts=CUTS)
def test_how_the_output_is_split_into_blocks_changes_nothing(data: bytes, cuts: list[int]) -> None:
    whole, parts = small(), small()
    whole.append(data)
    for part in split(data, cuts):
        parts.append(part)
    assert parts.snapshot().truncation == whole.snapshot().truncation
    whole.finish()
    parts.finish()
    assert everything(parts) == everything(whole)


@given(data=OUTPUTS, cuts=CUTS, exact=st.integers(3, 400))
def test_far_behind_the_limits_only_the_counting_of_invalid_bytes_is_another(
    data: bytes, cuts: list[int], exact: int
) -> None:
    exact = max(exact, 4 * MAX_BYTES)
    everywhere, at_first = small(), small_and_exact_for(exact)
    for part in split(data, cuts):
        everywhere.append(part)
        at_first.append(part)
    everywhere.finish()
    at_first.finish()
    full, fast = everywhere.snapshot(), at_first.snapshot()
    assert fast.truncation.content == full.truncation.content
    assert fast.truncation.total_lines == full.truncation.total_lines
    assert everywhere.whole() == at_first.whole()
    started = len(data[:exact].decode("utf-8", "replace").removeprefix(BOM).encode())
    if len(data) <= exact or "\ufffd" not in data.decode("utf-8", "replace"):
        assert fast.truncation.total_bytes == full.truncation.total_bytes
        assert fast.last_line_bytes == full.last_line_bytes
    else:
        expected_bytes = started + len(data) - exact
        # A character across the border is counted by its bytes, not by what it becomes.
        assert expected_bytes - 2 <= fast.truncation.total_bytes <= expected_bytes


@given(data=OUTPUTS, cuts=CUTS)
def test_how_late_output_is_split_into_blocks_changes_nothing(data: bytes, cuts: list[int]) -> None:
    data = b"xxx" + data
    whole, parts = small_and_exact_for(20), small_and_exact_for(20)
    whole.append(data)
    for part in split(data, cuts):
        parts.append(part)
    assert parts.snapshot().truncation == whole.snapshot().truncation
    whole.finish()
    parts.finish()
    assert everything(parts) == everything(whole)


@given(data=OUTPUTS)
def test_the_whole_output_keeps_both_ends_and_counts_what_is_between(data: bytes) -> None:
    output = small()
    output.append(data)
    output.finish()
    whole = output.whole()
    text = data.decode("utf-8", "replace").removeprefix(BOM)
    if len(data) <= 2 * END_BYTES:
        assert (whole.text, whole.is_truncated) == (text, False)
        return
    mark = re.search(r"\n\n\[\.\.\. (\d+) bytes omitted \.\.\.\]\n\n", whole.text)
    assert mark is not None
    assert whole.is_truncated
    assert len(data) - 2 * END_BYTES <= int(mark[1]) <= len(data) - 2 * END_BYTES + 6
    if "\ufffd" not in text:  # cut between characters, so both ends are valid too
        head, tail = whole.text[: mark.start()], whole.text[mark.end() :]
        assert text.startswith(head)
        assert text.endswith(tail)
        kept = len(head.encode()) + len(tail.encode()) + len(data) - len(text.encode())
        assert kept + int(mark[1]) == len(data)


@pytest.mark.parametrize("count", range(28, 60))
def test_output_that_grows_when_decoded_is_cut_like_any_other(count: int) -> None:
    output = small()
    output.append(b"\xff" * count)
    output.finish()
    truncation = output.snapshot().truncation
    assert truncation.content == "\ufffd" * 8
    assert (truncation.output_bytes, truncation.total_bytes) == (24, 3 * count)


def test_a_long_line_at_the_start_of_the_tail_is_left_out_with_all_newlines_after_it_kept() -> None:
    output = small()
    output.append(b"x" * 100 + b"\nyy\n")
    output.finish()
    truncation = output.snapshot().truncation
    assert (truncation.content, truncation.truncated_by) == ("yy\n", "bytes")


def test_a_tail_that_starts_with_a_line_is_cut_as_a_whole_text_is() -> None:
    output = small()
    output.append(b"x" * 60 + b"\n" + b"y" * 44 + b"\nzz\n")
    output.finish()
    truncation = output.snapshot().truncation
    assert (truncation.content, truncation.truncated_by) == ("zz", "bytes")


def test_of_one_long_line_with_its_newline_the_end_is_shown() -> None:
    output = small()
    output.append(b"x" * 100 + b"\n")
    output.finish()
    snapshot = output.snapshot()
    assert snapshot.truncation.content == "x" * MAX_BYTES
    assert snapshot.truncation.last_line_partial
    assert snapshot.last_line_bytes == 0


def test_the_file_is_there_when_only_the_dropped_mark_goes_over_the_limit() -> None:
    output = small()
    output.append(BOM.encode() + b"x" * 22)
    output.finish()
    assert not output.snapshot().truncation.truncated
    path = Path(output.snapshot().full_output_path or "")
    assert path.read_bytes() == BOM.encode() + b"x" * 22


def test_a_mark_after_plain_text_is_kept_also_at_the_start_of_a_block() -> None:
    output = small()
    output.append(b"x")
    output.append(BOM.encode())
    output.finish()
    assert output.snapshot().truncation.content == "x" + BOM
    assert output.snapshot().truncation.total_bytes == 4


def test_the_bytes_of_a_euro_sign_in_two_blocks_are_one_character() -> None:
    output = small()
    output.append(b"\xe2")
    assert output.snapshot().truncation.content == ""
    output.append(b"\x82\xac")
    assert output.snapshot().truncation.content == "€"
    output.finish()
    assert output.whole().text == "€"


def test_a_character_that_never_became_complete_is_one_replacement_at_the_end() -> None:
    output = small()
    output.append(b"a\xf0\x9f\x91")
    assert output.snapshot().truncation.content == "a"
    output.finish()
    assert output.snapshot().truncation.content == "a\ufffd"
    assert output.snapshot().truncation.total_bytes == 4


def test_only_a_mark_at_the_very_start_is_dropped() -> None:
    output = small()
    for block in (b"\xef", b"\xbb\xbf", BOM.encode(), b"x"):
        output.append(block)
    output.finish()
    assert output.whole().text == BOM + "x"
    assert output.snapshot().truncation.total_bytes == 4


def test_output_within_the_limits_makes_no_file() -> None:
    output = small()
    output.append(b"1\n2\n3\n4\n5\n6\n")
    output.finish()
    assert output.snapshot().full_output_path is None
    assert not output.snapshot().truncation.truncated


def test_the_file_is_private_has_a_random_name_and_is_complete_while_output_still_comes() -> None:
    output = small()
    output.append(b"1\n2\n3\n")
    assert output.snapshot().full_output_path is None
    output.append(b"4\n5\n6\n7")
    path = Path(output.snapshot().full_output_path or "")
    assert re.fullmatch(r"pi-test-[0-9a-f]{16}\.log", path.name)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_bytes() == b"1\n2\n3\n4\n5\n6\n7"
    output.append(b"\xff\n")
    assert path.read_bytes() == b"1\n2\n3\n4\n5\n6\n7\xff\n"
    output.finish()
    assert path.exists()


def test_blocks_after_the_end_are_dropped() -> None:
    output = small()
    output.append(b"x" * 50)
    output.finish()
    output.append(b"late")
    output.finish()
    assert output.snapshot().truncation.total_bytes == 50
    assert Path(output.snapshot().full_output_path or "").read_bytes() == b"x" * 50


def test_without_a_place_for_the_file_the_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    output = small()
    output.append(b"x" * 50)
    output.append(b"y" * 50)
    output.finish()
    snapshot = output.snapshot()
    assert snapshot.full_output_path is None
    assert snapshot.save_error == "ENOENT: no such file or directory, open"
    assert snapshot.truncation.content == "y" * MAX_BYTES


FULL_DISK = """
import resource, sys, tempfile
from pathlib import Path
from pi_kernel.tools._output import OutputAccumulator

tempfile.tempdir = sys.argv[1]
resource.setrlimit(resource.RLIMIT_FSIZE, (70, resource.RLIM_INFINITY))
output = OutputAccumulator(file_prefix="pi-test-", max_bytes=24)
for _ in range(4):
    output.append(b"x" * 30)
output.finish()
snapshot = output.snapshot()
print(snapshot.save_error, snapshot.full_output_path, list(Path(sys.argv[1]).iterdir()))
print(snapshot.truncation.total_bytes)
"""


def test_a_file_that_cannot_grow_is_removed_and_the_output_still_shown(tmp_path: Path) -> None:
    answer = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", FULL_DISK, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
    )
    assert answer.stdout == "EFBIG: file too large, write None []\n120\n"


def test_memory_stays_flat_whatever_the_output_and_the_blocks() -> None:
    output = OutputAccumulator(file_prefix="pi-test-")
    line, block = b"x" * 99 + b"\n", b"no newline at all" * 4096
    output.append(line)
    tracemalloc.start()
    try:
        for _ in range(200):
            output.append(block)
        for _ in range(20000):
            output.append(line)
        output.append(b"\xff" * (4 << 20))
        output.snapshot()
        output.whole()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    output.finish()
    assert peak < 16 << 20
    total = 100 + 200 * len(block) + 20000 * 100 + (4 << 20)
    path = Path(output.snapshot().full_output_path or "")
    assert path.stat().st_size == total
    path.unlink()


def test_snapshots_from_another_thread_are_consistent() -> None:
    output = OutputAccumulator(file_prefix="pi-test-")
    done = threading.Event()
    seen: list[tuple[int, int]] = []

    def look() -> None:
        while not done.is_set():
            truncation = output.snapshot().truncation
            seen.append((truncation.total_lines, truncation.total_bytes))

    looker = threading.Thread(target=look)
    looker.start()
    for _ in range(3000):
        output.append(b"123456789\n")
    done.set()
    looker.join(10)
    output.finish()
    assert seen == sorted(seen)
    assert all(size == 10 * lines for lines, size in seen)
