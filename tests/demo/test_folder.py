"""Which files are copied, under which names, and how much of them."""

from __future__ import annotations

import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel import PiKernelError
from pi_kernel.demo.folder import (
    MAX_COPIED_FILES,
    MAX_COPY_BYTES,
    MAX_COPY_LINES,
    MAX_NAME_BYTES,
    MAX_OPENED_FILES,
    CopiedFile,
    copy_text_files,
)

CONTENTS = st.binary(max_size=300) | st.text(max_size=300).map(lambda text: text.encode("utf-8"))


def folder_with(path: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        target = path / "given" / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    return path / "given"


def copied(path: Path, files: dict[str, bytes]) -> list[CopiedFile]:
    return copy_text_files(folder_with(path, files), path / "copies")


def test_copies_have_the_bytes_of_their_originals(tmp_path: Path) -> None:
    content = "\ufeffgrün;1,5\r\nrot;2\r\n".encode()
    [copy] = copied(tmp_path, {"farben.csv": content})
    assert (tmp_path / "copies" / "farben.csv").read_bytes() == content
    assert copy.to_wire() == {
        "name": "farben.csv",
        "source": "farben.csv",
        "sizeBytes": len(content),
        "isWhole": True,
    }


def test_likely_text_files_come_first_then_the_others_each_by_name(tmp_path: Path) -> None:
    files = {"b.md": b"b", "a.unknown": b"a", "c.csv": b"c", "LICENSE": b"l"}
    assert [copy.name for copy in copied(tmp_path, files)] == [
        "b.md",
        "c.csv",
        "LICENSE",
        "a.unknown",
    ]


def test_files_of_folders_below_come_after_those_of_the_folder(tmp_path: Path) -> None:
    files = {"a/deep/x.md": b"x", "a/y.md": b"y", "z.bin": b"z"}
    copies = copied(tmp_path, files)
    assert [(copy.name, copy.source) for copy in copies] == [
        ("z.bin", "z.bin"),
        ("a_y.md", "a/y.md"),
        ("a_deep_x.md", "a/deep/x.md"),
    ]


def test_hidden_blank_binary_and_special_files_and_linked_folders_are_left_out(
    tmp_path: Path,
) -> None:
    files = {
        ".hidden.md": b"hidden",
        ".git/config.txt": b"hidden too",
        "blank.txt": b" \n\t\n",
        "empty.txt": b"",
        "picture.png": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "noise.txt": b"\xff\xfe\x01\x02 no text in any encoding",
        "kept.txt": b"kept\n",
    }
    folder = folder_with(tmp_path, files)
    os.mkfifo(folder / "pipe.txt")
    (folder / "circle").symlink_to(folder)
    (folder / "dangling.txt").symlink_to(folder / "nowhere")
    (folder / "itself.txt").symlink_to("itself.txt")
    copies = copy_text_files(folder, tmp_path / "copies")
    assert [copy.name for copy in copies] == ["kept.txt"]


def test_linked_file_is_copied_and_its_target_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "elsewhere.txt").write_text("there", encoding="utf-8")
    folder = folder_with(tmp_path, {"a.txt": b"a"})
    (folder / "link.txt").symlink_to(tmp_path / "elsewhere.txt")
    copies = copy_text_files(folder, tmp_path / "copies")
    assert [copy.text for copy in copies] == ["a", "there"]
    assert not (tmp_path / "copies" / "link.txt").is_symlink()


def test_text_in_another_encoding_is_copied_as_it_is(tmp_path: Path) -> None:
    content = "Höhe;Ort\n2;Gießen\n".encode("latin-1")
    [copy] = copied(tmp_path, {"orte.csv": content})
    assert (tmp_path / "copies" / "orte.csv").read_bytes() == content
    assert copy.text == "H\ufffdhe;Ort\n2;Gie\ufffden\n"


def test_long_file_is_copied_up_to_the_last_line_end_within_the_limit(tmp_path: Path) -> None:
    line = b"x" * 1_023 + b"\n"
    [copy] = copied(tmp_path, {"long.txt": line * 100})
    assert (copy.text, copy.size_bytes, copy.is_whole) == (line.decode() * 47, 102_400, False)


def test_file_of_exactly_the_limit_is_whole(tmp_path: Path) -> None:
    line = b"x" * 1_023 + b"\n"
    [copy] = copied(tmp_path, {"full.txt": line * 48})
    assert (len(copy.text), copy.is_whole) == (MAX_COPY_BYTES, True)


def test_file_of_many_lines_is_copied_up_to_the_limit_of_lines(tmp_path: Path) -> None:
    [copy] = copied(tmp_path, {"many.txt": b"1\n" * 5_000})
    assert (copy.text, copy.is_whole) == ("1\n" * MAX_COPY_LINES, False)


def test_one_long_line_is_cut_between_characters(tmp_path: Path) -> None:
    [copy] = copied(tmp_path, {"line.json": b"x" + "é".encode() * MAX_COPY_BYTES})
    assert copy.text == "x" + "é" * ((MAX_COPY_BYTES - 1) // 2)


@pytest.mark.parametrize(
    ("given", "plain"),
    [
        (b"two\nlines.txt", "two_lines.txt"),
        (b"caf\xe9.txt", "caf_.txt"),
        ("no\u00a0break.txt".encode(), "no_break.txt"),
        (b"@at.txt", "_at.txt"),
        (b"-rf", "_rf"),
        (b"~", "_"),
        (b" edges ", "edges"),
        (b"back\\slash", "back_slash"),
        ("grüße $(x) 'y'.md".encode(), "grüße $(x) 'y'.md"),
    ],
)
def test_copy_has_a_plain_name(tmp_path: Path, given: bytes, plain: str) -> None:
    [copy] = copied(tmp_path, {os.fsdecode(given): b"text"})
    assert copy.name == plain
    assert copy.source == os.fsdecode(given)


def test_names_that_become_equal_are_numbered(tmp_path: Path) -> None:
    files = {"a\n.txt": b"1", "a\t.txt": b"2", "A_.txt": b"3"}
    assert [copy.name for copy in copied(tmp_path, files)] == ["A_.txt", "2-a_.txt", "3-a_.txt"]


def test_longest_names_still_fit(tmp_path: Path) -> None:
    name = "é" * 125 + ".txt"
    copies = copied(tmp_path, {f"{'d' * 255}/{name}": b"1"})
    assert copies[0].name == "é" * 98 + ".txt"
    assert len(copies[0].name.encode()) == MAX_NAME_BYTES


def test_number_of_copies_is_bounded(tmp_path: Path) -> None:
    files = {f"{number:02}.txt": b"text" for number in range(20)}
    names = [copy.name for copy in copied(tmp_path, files)]
    assert names == [f"{number:02}.txt" for number in range(MAX_COPIED_FILES)]


def test_search_for_text_ends_after_a_bounded_number_of_files(tmp_path: Path) -> None:
    files = {f"{number:05}.bin": b"\0" for number in range(MAX_OPENED_FILES)}
    with pytest.raises(PiKernelError, match="holds no text file"):
        copied(tmp_path, {**files, "last.unknown": b"text"})


@pytest.mark.parametrize("files", [{}, {"a.bin": b"\0"}, {".hidden": b"text"}])
def test_folder_without_text_is_an_error_that_says_so(
    tmp_path: Path, files: dict[str, bytes]
) -> None:
    folder = tmp_path / "given"
    folder.mkdir()
    with pytest.raises(PiKernelError) as caught:
        copy_text_files(folder_with(tmp_path, files), tmp_path / "copies")
    assert str(caught.value) == (
        f"{folder} holds no text file that the demo could work on"
        " (hidden, blank, binary and unreadable files are left out); give another folder"
    )


def test_folder_that_is_not_there_is_an_error_with_its_reason(tmp_path: Path) -> None:
    with pytest.raises(PiKernelError, match=r"cannot read .*/gone: No such file or directory"):
        copy_text_files(tmp_path / "gone", tmp_path / "copies")


def test_random_bytes_are_not_text(tmp_path: Path) -> None:
    noise = bytes(byte or 1 for byte in random.Random(1).randbytes(4_096))  # noqa: S311 - no secret
    with pytest.raises(PiKernelError, match="holds no text file"):
        copied(tmp_path, {"noise": noise})


@given(content=CONTENTS)
def test_copy_is_the_beginning_of_any_text(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.mktemp("any")
    folder = folder_with(path, {"any": content, "always.zz": b"text"})
    for copy in copy_text_files(folder, path / "copies"):
        stored = (path / "copies" / copy.name).read_bytes()
        original = (folder / copy.source).read_bytes()
        assert original.startswith(stored)
        assert copy.text == stored.decode("utf-8", "replace")
        assert copy.is_whole == (stored == original)
