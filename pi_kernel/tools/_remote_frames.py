"""How the two ends of a connection to a far machine talk: frames of one JSON object and some bytes.

The module runs on both ends, so it keeps to what Python 3.8 knows.
"""

from __future__ import annotations

import json
import struct
from typing import IO, Any

__all__ = ("PART_BYTES", "WINDOW_PARTS", "FrameError", "pack_frame", "read_frame")

PART_BYTES = 256 * 1024
"""Larger data goes in several frames, so that other calls get their turn between them."""
WINDOW_PARTS = 8
"""How many parts of one call may be under way to a reader who has not taken them yet."""
MAX_FRAME_BYTES = 1024 * 1024 * 1024

_HEADER = struct.Struct(">II")


class FrameError(Exception):
    """What came is not a frame: something else writes to the same stream."""


def pack_frame(message: dict[str, Any], data: bytes | memoryview = b"") -> bytes:
    """Return one frame."""
    text = json.dumps(message, separators=(",", ":")).encode()
    return b"".join((_HEADER.pack(len(text), len(data)), text, data))


def read_frame(stream: IO[bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Return the next message and its data; None at the end of the stream, also amid a frame.

    Raises:
        FrameError: If it is no frame.
    """
    header = stream.read(_HEADER.size)
    if len(header) < _HEADER.size:
        return None
    text_bytes, data_bytes = _HEADER.unpack(header)
    if text_bytes + data_bytes > MAX_FRAME_BYTES:
        raise FrameError(f"no frame starts with {header!r}")
    text = stream.read(text_bytes)
    data = stream.read(data_bytes)
    if len(text) < text_bytes or len(data) < data_bytes:
        return None
    try:
        message = json.loads(text)
    except ValueError:
        raise FrameError(f"no frame holds {text[:80]!r}") from None
    return message, data
