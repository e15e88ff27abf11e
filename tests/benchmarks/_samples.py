"""The files that the tools are measured on: made anew in a folder of the run."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

MIB = 1024 * 1024
OUTPUT_BYTES = 256 * MIB
LONG_FILE_BYTES = 500_000_000
LONG_FILE_LINE_BYTES = 50
SHORT_FILE_LINES = 1_000_200
"""More lines than the offset that is read, in a file that costs nothing."""
TREE_FILES = 20_000
TREE_LINES = 60
TREE_WORDS = 8
RARE_EVERY = 2_000
ENTRIES = 100_000
RANDOM_SEED = 4
MEMORY_FOLDER = Path("/dev/shm")  # noqa: S108 - only looked at

RARE, COMMON = "needle_in_a_haystack", "handle"
WORDS = (
    f"alpha beta gamma delta import return class function value result index error {COMMON} stream"
    " buffer"
).split()

UNITS = {
    "ASCII": b"the quick brown fox jumps over the lazy dog 0123456789\n",
    "UTF-8": "größe straße über naïve café, 日本語テキスト, 👋 and so on\n".encode(),
    "Latin-1": "größe straße über naïve café, und so weiter\n".encode("latin-1"),
}


def memory_folder() -> Path | None:
    """Return a folder in memory with room for an output; None where there is none."""
    try:
        is_large = shutil.disk_usage(MEMORY_FOLDER).free > 4 * OUTPUT_BYTES
    except OSError:
        return None
    return MEMORY_FOLDER if is_large else None


def make_outputs(folder: Path) -> dict[str, Path]:
    """Return files of 256 MiB by what is in them."""
    paths = {name: folder / f"{name}.txt" for name in (*UNITS, "random bytes")}
    for name, unit in UNITS.items():
        _repeat(paths[name], unit, OUTPUT_BYTES)
    with paths["random bytes"].open("wb") as file:
        for _ in range(OUTPUT_BYTES // MIB):
            file.write(os.urandom(MIB))
    return paths


def make_small_output(folder: Path) -> Path:
    """Return a file of a megabyte, for the first call of a process."""
    path = folder / "small.txt"
    _repeat(path, UNITS["UTF-8"], MIB)
    return path


def make_long_file(folder: Path) -> Path:
    """Return a file of ten million short lines."""
    path = folder / "long.txt"
    _repeat(path, b"x" * (LONG_FILE_LINE_BYTES - 1) + b"\n", LONG_FILE_BYTES)
    return path


def make_many_lines(folder: Path) -> Path:
    """Return a small file with as many lines as are skipped in the long one."""
    path = folder / "lines.txt"
    path.write_bytes(b"\n" * SHORT_FILE_LINES)
    return path


def make_tree(folder: Path) -> Path:
    """Return a folder of 20,000 source files."""
    top = folder / "tree"
    choose = random.Random(RANDOM_SEED).choices  # noqa: S311 - text, not secrets
    pool = [" ".join(choose(WORDS, k=TREE_WORDS)) for _ in range(TREE_FILES)]
    for number in range(TREE_FILES):
        place = top / f"{number // 1000:02}" / f"{number // 100 % 10}"
        if number % 100 == 0:
            place.mkdir(parents=True)
        lines = choose(pool, k=TREE_LINES)
        if number % RARE_EVERY == RARE_EVERY - 1:
            lines.append(RARE)
        (place / f"file{number:05}.py").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return top


def make_entries(folder: Path) -> Path:
    """Return a folder with 100,000 empty files."""
    top = folder / "entries"
    top.mkdir()
    for number in range(ENTRIES):
        os.close(os.open(top / f"file_{number * 7919 % ENTRIES:06}.txt", os.O_CREAT | os.O_WRONLY))
    return top


@dataclass(frozen=True)
class EditSample:
    """A text and the replacements in it."""

    text: str
    edits: list[tuple[str, str]]
    """What is replaced, and by what."""
    asked: list[tuple[str, str]]
    """The same as a model spells it."""


def as_it_is(text: str) -> str:
    """Return the text."""
    return text


def edit_sample(
    size_bytes: int,
    count: int,
    *,
    form: Callable[[str], str] = as_it_is,
    spelling: Callable[[str], str] = as_it_is,
) -> EditSample:
    """Return a text of numbered lines.

    Args:
        size_bytes: About its size.
        count: How many replacements, spread over it.
        form: Makes something else of the plain ASCII text.
        spelling: How a model spells what it wants to replace.
    """
    line = "line {:07} of the 'sample' text, with some words on it\n"
    total = size_bytes // len(line.format(0))
    step = total // count
    edits = [
        (form(f"line {number:07} of the 'sample' text"), f"LINE {number}")
        for number in range(step // 2, step * count, step)
    ]
    return EditSample(
        text=form("".join(line.format(number) for number in range(total))),
        edits=edits,
        asked=[(spelling(old), new) for old, new in edits],
    )


def _repeat(path: Path, unit: bytes, size_bytes: int) -> None:
    block = unit * (MIB // len(unit))
    with path.open("wb") as file:
        left = size_bytes
        while left > 0:
            left -= file.write(block[:left])
