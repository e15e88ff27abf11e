"""The output of a command in bounded memory: counters, both ends, and a file with everything.

Bytes are kept as they came. The first megabytes are decoded for the counters where they are not
ASCII, the ends for a reader; so what is shown does not depend on how the output was split into
blocks.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import secrets
import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from pi_kernel.tools._os_errors import node_message
from pi_kernel.tools._truncate import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_LINES,
    Truncation,
    truncate_tail,
)

__all__ = ("OutputAccumulator", "OutputSnapshot", "WholeOutput")

END_BYTES = 512 * 1024
"""Raw bytes of each end that programs get; up to twice as many they get whole."""
BLOCK_BYTES = 1024 * 1024
"""Larger blocks are taken in pieces, so that keeping them needs no more memory."""
DECODED_BLOCK_BYTES = 64 * 1024
"""The same for blocks that are decoded, to up to seven times their size."""
EXACT_BYTES = 2 * 1024 * 1024
"""So much output is decoded for the counters. Of what comes later an invalid byte counts as one, as
it does in the file, and not as the three of its replacement: binary output is as fast as text."""
FILE_NAME_RANDOM_BYTES = 8
FILE_MODE = 0o600

_BOM = "\ufeff"
_REPLACEMENT = "\ufffd"
_LONGEST_CHARACTER_BYTES = 4
_UTF8_TOP_BITS = 0b1100_0000
_UTF8_CONTINUATION = 0b1000_0000


@dataclass(frozen=True)
class OutputSnapshot:
    """What a model sees of the output so far."""

    truncation: Truncation
    full_output_path: str | None
    save_error: str | None
    """Why there is no file with everything although there should be one."""
    last_line_bytes: int
    """Decoded bytes after the last newline."""


@dataclass(frozen=True)
class WholeOutput:
    """What a program gets: all of the output, or both ends of a very large one."""

    text: str
    is_truncated: bool


class OutputAccumulator:
    """Takes output block by block; one thread appends, any other may take snapshots.

    Args:
        file_prefix: How the name of the file starts that takes everything once the output is
            longer than what can be shown.
        max_lines: The most lines of a snapshot.
        max_bytes: The most UTF-8 bytes of a snapshot. Of a long output twice as many are looked
            at to make one.
        end_bytes: The most raw bytes of each end of the whole output.
        exact_bytes: How many raw bytes are counted as UTF-8 of their decoded text, three for what
            is invalid. Later ones count as they are, which is the same for valid text.

    Source:
        Pi 1.6.0, ``OutputAccumulator``. There the start of what is looked at depends on the
        blocks; here it is what one large block would give. There everything is decoded.
    """

    def __init__(
        self,
        *,
        file_prefix: str,
        max_lines: int = DEFAULT_MAX_LINES,
        max_bytes: int = DEFAULT_MAX_BYTES,
        end_bytes: int = END_BYTES,
        exact_bytes: int = EXACT_BYTES,
    ) -> None:
        self._file_prefix = file_prefix
        self._max_lines = max_lines
        self._max_bytes = max_bytes
        self._tail_bytes = 2 * max_bytes
        self._end_bytes = end_bytes
        self._exact_bytes = exact_bytes
        # What both the whole output's end and the tail need, with a margin for cut characters.
        self._recent_bytes = max(end_bytes, self._tail_bytes) + 3 * _LONGEST_CHARACTER_BYTES
        self._lock = threading.Lock()
        self._file_lock = threading.Lock()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._undecoded_bytes = 0
        self._has_text = False
        self._is_finished = False
        self._raw_bytes = 0
        self._decoded_bytes = 0
        self._newlines = 0
        self._last_line_bytes = 0
        self._head: bytes | None = None
        self._recent = bytearray()
        self._file: io.FileIO | None = None
        self._file_path: str | None = None
        self._save_error: str | None = None

    def append(self, block: bytes) -> None:
        """Take the next bytes; after `finish` they are dropped."""
        start = 0
        while start < len(block):
            exact_left = self._exact_bytes - self._raw_bytes
            size = min(DECODED_BLOCK_BYTES, exact_left) if exact_left > 0 else BLOCK_BYTES
            self._append(bytes(block[start : start + size]))
            start += size

    def finish(self) -> None:
        """Take no more. A character that never became complete turns into U+FFFD."""
        with self._lock:
            if self._is_finished:
                return
            self._is_finished = True
            self._count(b"", is_last=True)
            unsaved = self._unsaved()
        if unsaved:
            self._save(unsaved)
        with self._file_lock:
            if self._file is not None:
                self._file.close()
                self._file = None

    def snapshot(self) -> OutputSnapshot:
        """Return the end of the output within the limits, with the counters of all of it."""
        with self._lock:
            shown = truncate_tail(
                self._tail(), max_lines=self._max_lines, max_bytes=self._max_bytes
            )
            has_many_bytes = self._decoded_bytes > self._max_bytes
            is_truncated = has_many_bytes or self._lines > self._max_lines
            by = shown.truncated_by or ("bytes" if has_many_bytes else "lines")
            truncation = replace(
                shown,
                truncated=is_truncated,
                truncated_by=by if is_truncated else None,
                total_lines=self._lines,
                total_bytes=self._decoded_bytes,
            )
            return OutputSnapshot(
                truncation, self._file_path, self._save_error, self._last_line_bytes
            )

    def whole(self) -> WholeOutput:
        """Return everything, or both ends of a very large output and how much is between."""
        with self._lock:
            if self._head is None:
                return WholeOutput(_decode_start(self._recent), is_truncated=False)
            start = len(self._recent) - self._end_bytes
            tail = self._recent[_character_start(self._recent, start, step=1) :]
            omitted = self._raw_bytes - len(self._head) - len(tail)
            mark = f"\n\n[... {omitted} bytes omitted ...]\n\n"
            text = _decode_start(self._head) + mark + tail.decode("utf-8", "replace")
            return WholeOutput(text, is_truncated=True)

    @property
    def _lines(self) -> int:
        return self._newlines + (self._last_line_bytes > 0)

    def _append(self, block: bytes) -> None:
        with self._lock:
            if self._is_finished:
                return
            self._count(block)
            unsaved = self._unsaved()
            self._keep(block)
        if unsaved is not None:
            self._save(unsaved, block)

    def _count(self, block: bytes, *, is_last: bool = False) -> None:
        is_exact = self._raw_bytes < self._exact_bytes
        self._raw_bytes += len(block)
        newlines = block.count(b"\n")
        if not is_exact or (block.isascii() and not self._undecoded_bytes):
            self._has_text = self._has_text or bool(block)
            size, last_line_size = len(block), len(block) - block.rfind(b"\n") - 1
            if self._undecoded_bytes:  # the rest of a character that is not decoded any more
                size += self._undecoded_bytes
                last_line_size += 0 if newlines else self._undecoded_bytes
                self._undecoded_bytes = 0
        else:
            text, size = self._decode(block, is_last=is_last)
            last_line_size = len(text[text.rfind("\n") + 1 :].encode()) if newlines else size
        self._decoded_bytes += size
        self._newlines += newlines
        self._last_line_bytes = last_line_size + (0 if newlines else self._last_line_bytes)

    def _decode(self, block: bytes, *, is_last: bool) -> tuple[str, int]:
        """Return the text that the block completes, and its size in UTF-8."""
        text = self._decoder.decode(block, final=is_last)
        undecoded = len(self._decoder.getstate()[0])
        size = self._undecoded_bytes + len(block) - undecoded
        self._undecoded_bytes = undecoded
        if text and not self._has_text:
            self._has_text = True
            if text.startswith(_BOM):
                text, size = text[1:], size - len(_BOM.encode())
        # Without a replacement all of it was valid and has its old size.
        return text, len(text.encode()) if _REPLACEMENT in text else size

    def _keep(self, block: bytes) -> None:
        """Hold on to both ends; to everything while it is no more than both ends together."""
        recent = self._recent
        recent += block
        if self._head is None and self._raw_bytes > 2 * self._end_bytes:
            self._head = bytes(recent[: _character_start(recent, self._end_bytes, step=-1)])
        if self._head is not None and len(recent) > 2 * self._recent_bytes:
            del recent[: -self._recent_bytes]

    def _tail(self) -> str:
        """Return the decoded end that the limits are applied to, in whole lines where possible."""
        end = len(self._recent)
        if not self._is_finished:
            end -= _incomplete_bytes(self._recent)
        if self._decoded_bytes <= 2 * self._tail_bytes:
            return _decode_start(self._recent[:end])
        # A start inside a character garbles nothing of the tail: decoding never makes bytes fewer.
        start = max(0, end - self._tail_bytes - 2 * _LONGEST_CHARACTER_BYTES)
        decoded = self._recent[start:end].decode("utf-8", "replace").encode()
        start = len(decoded) - self._tail_bytes
        while decoded[start] & _UTF8_TOP_BITS == _UTF8_CONTINUATION:
            start += 1
        text = decoded[start:].decode()
        first_line_end = text.find("\n") + 1
        starts_a_line = decoded[start - 1] == ord("\n")
        return text if starts_a_line or first_line_end == len(text) else text[first_line_end:]

    def _unsaved(self) -> bytes | None:
        """Return what the file must get before the next block; None: there is no file."""
        if self._file_path is not None:
            return b""
        is_over = (
            max(self._raw_bytes, self._decoded_bytes) > self._max_bytes
            or self._lines > self._max_lines
        )
        if not is_over or self._save_error is not None:
            return None
        name = self._file_prefix + secrets.token_hex(FILE_NAME_RANDOM_BYTES) + ".log"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0)
        try:
            path = Path(tempfile.gettempdir(), name)
            self._file = io.FileIO(os.open(path, flags, FILE_MODE), "wb")
        except OSError as error:
            self._save_error = node_message(error, "open")
            return None
        self._file_path = str(path)
        return bytes(self._recent)

    def _save(self, *blocks: bytes) -> None:
        with self._file_lock:
            if self._file is None or self._file_path is None:
                return
            try:
                for block in blocks:
                    rest = memoryview(block)
                    while rest:
                        rest = rest[self._file.write(rest) :]
            except OSError as error:
                with contextlib.suppress(OSError):
                    self._file.close()
                with contextlib.suppress(OSError):
                    Path(self._file_path).unlink()
                self._file = self._file_path = None
                self._save_error = node_message(error, "write")


def _incomplete_bytes(data: bytearray) -> int:
    """Return how many bytes at the end may be the start of a character that goes on."""
    end = bytes(data[1 - _LONGEST_CHARACTER_BYTES :])
    for start in reversed(range(len(end))):
        if end[start] & _UTF8_TOP_BITS != _UTF8_CONTINUATION:
            return len(end) - start - codecs.utf_8_decode(end[start:], "replace", False)[1]  # noqa: FBT003 - not the last
    return 0


def _decode_start(data: bytes | bytearray) -> str:
    return data.decode("utf-8", "replace").removeprefix(_BOM)


def _character_start(data: bytes | bytearray, start: int, *, step: int) -> int:
    """Return the nearest start of a character; the place itself amid bytes that are no text."""
    for distance in range(_LONGEST_CHARACTER_BYTES):
        position = start + step * distance
        if not 0 <= position < len(data):
            break
        if data[position] & _UTF8_TOP_BITS != _UTF8_CONTINUATION:
            return position
    return start
