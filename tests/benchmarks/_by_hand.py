"""What somebody without the tools would write for the same work."""

from __future__ import annotations

import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from pi_kernel.tools._search.ripgrep import Ripgrep


def search_with_program(program: Ripgrep, folder: Path, text: str) -> float:
    """Run ripgrep and take all that it prints."""
    start = time.perf_counter()
    subprocess.run(  # noqa: S603 - the program that the tool uses
        [program.path, "--no-config", "--hidden", "--line-number", "--with-filename", "--", text],
        cwd=folder,
        check=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    return time.perf_counter() - start


def search_with_loop(folder: Path, text: str) -> float:
    """Look for a text in every file."""
    start = time.perf_counter()
    pattern = re.compile(re.escape(text.encode()))
    found: list[tuple[bytes, int]] = []
    for path in _files(os.fsencode(folder)):
        with open(path, "rb") as file:  # noqa: PTH123 - a Path for each would cost more
            content = file.read()
        found += ((path, match.start()) for match in pattern.finditer(content))
    return time.perf_counter() - start


def _files(folder: bytes) -> Iterator[bytes]:
    for place, _, names in os.walk(folder):
        for name in names:
            yield place + b"/" + name


def list_names(folder: Path) -> float:
    """Sort the names of a folder."""
    start = time.perf_counter()
    sorted(entry.name for entry in os.scandir(folder))
    return time.perf_counter() - start


def replace(path: Path, edits: list[tuple[str, str]]) -> float:
    """Replace each text that is there once; write as safely as the tool does."""
    start = time.perf_counter()
    text = path.read_bytes().decode()
    spans: list[tuple[int, int, str]] = []
    for old, new in edits:
        at = text.find(old)
        if at < 0 or text.find(old, at + 1) >= 0:
            raise RuntimeError("the text is not there exactly once")
        spans.append((at, at + len(old), new))
    pieces: list[str] = []
    position = 0
    for begin, end, new in sorted(spans):
        pieces += (text[position:begin], new)
        position = end
    content = "".join([*pieces, text[position:]]).encode()
    descriptor, name = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        file.write(content)
        os.fsync(descriptor)
    Path(name).replace(path)
    return time.perf_counter() - start
