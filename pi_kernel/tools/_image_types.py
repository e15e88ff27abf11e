"""Which picture format some bytes are, judged by the bytes alone and never by a name."""

from __future__ import annotations

import struct

__all__ = ("SNIFF_BYTES", "sniff_image_type")

SNIFF_BYTES = 4100
"""How much of a file's start decides."""

_JPEG_START = b"\xff\xd8\xff"
_JPEG_LS_MARKER = b"\xf7"
_PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_HEADER = _PNG_SIGNATURE + struct.pack(">I", 13) + b"IHDR"
_PNG_CHUNK_OVERHEAD_BYTES = 12  # length, name and checksum
_BMP_FILE_HEADER_BYTES = 14
_BMP_MIN_BYTES = 26
_BMP_CORE_HEADER_BYTES = 12
_BMP_INFO_HEADER_BYTES = range(40, 125)
_BMP_BITS_PER_PIXEL = (1, 4, 8, 16, 24, 32)


def sniff_image_type(start: bytes) -> str | None:
    """Return the media type of a picture that can be shown, or None: then it is text.

    Animated PNGs are text, animated GIFs are pictures.

    Args:
        start: The file's first `SNIFF_BYTES`, or all of it.

    Source:
        Pi 1.6.0, ``detectSupportedImageMimeType``.
    """
    if start.startswith(_JPEG_START):
        return None if start[3:4] == _JPEG_LS_MARKER else "image/jpeg"
    if start.startswith(_PNG_HEADER):
        return None if _is_animated_png(start) else "image/png"
    if start.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "image/webp"
    if start.startswith(b"BM") and _is_bmp(start):
        return "image/bmp"
    return None


def _is_animated_png(start: bytes) -> bool:
    """Look for the animation chunk, which has to come before the picture's data."""
    at = len(_PNG_SIGNATURE)
    while at + 8 <= len(start):
        (length,) = struct.unpack_from(">I", start, at)
        name = start[at + 4 : at + 8]
        if name in (b"acTL", b"IDAT"):
            return name == b"acTL"
        at += length + _PNG_CHUNK_OVERHEAD_BYTES
    return False


def _is_bmp(start: bytes) -> bool:
    """Check the header: two letters alone would make every text that starts with BM a picture."""
    if len(start) < _BMP_MIN_BYTES:
        return False
    declared_bytes, pixels_at, header_bytes = struct.unpack_from("<I4xII", start, 2)
    if declared_bytes and not max(_BMP_MIN_BYTES, pixels_at + 1) <= declared_bytes:
        return False
    if pixels_at < _BMP_FILE_HEADER_BYTES + header_bytes:
        return False
    if header_bytes == _BMP_CORE_HEADER_BYTES:
        at = 22
    elif header_bytes in _BMP_INFO_HEADER_BYTES and len(start) >= _BMP_MIN_BYTES + 4:
        at = _BMP_MIN_BYTES
    else:
        return False
    planes, bits = struct.unpack_from("<HH", start, at)
    return planes == 1 and bits in _BMP_BITS_PER_PIXEL
