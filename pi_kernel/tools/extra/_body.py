"""The start of a response's content, decompressed, never more of it than asked for."""

from __future__ import annotations

import zlib

from pi_kernel.errors import PiKernelError

__all__ = ("ACCEPTED_ENCODINGS", "BodyStart")

ACCEPTED_ENCODINGS = "gzip, deflate"

MAX_WIRE_OVERHEAD_BYTES = 64 * 1024
_GZIP_WBITS = 31
_ZLIB_WBITS = 15
_RAW_DEFLATE_WBITS = -15
_HEADER_BYTES = 2
_ZLIB_METHOD = 8
_ZLIB_CHECK = 31
_MAX_SHOWN_CHARS = 40


class BodyStart:
    """Collects content until a limit is passed.

    Args:
        content_encoding: The header's value; empty for none.
        limit_bytes: The most decompressed bytes to keep.

    Raises:
        PiKernelError: If the content is compressed in a way that was not asked for.
    """

    def __init__(self, content_encoding: str, *, limit_bytes: int) -> None:
        self._encoding = content_encoding.strip().lower().removeprefix("x-")
        if self._encoding not in ("", "identity", "gzip", "deflate"):
            shown = self._encoding[:_MAX_SHOWN_CHARS]
            raise PiKernelError(f"the content is compressed as {shown!a}, which cannot be read")
        self._is_compressed = self._encoding in ("gzip", "deflate")
        self._limit_bytes = limit_bytes
        self._stream = zlib.decompressobj()
        self._is_started = False
        self._header = b""
        self._kept = bytearray()
        self._wire_bytes = 0

    @property
    def wants_more(self) -> bool:
        """Whether the limits are not passed yet and the content has not ended."""
        return not self.is_cut and not self._stream.eof

    @property
    def is_cut(self) -> bool:
        """Whether there is more content than the limit."""
        # Content that never gives anything decompressed is bounded too.
        max_wire_bytes = 2 * self._limit_bytes + MAX_WIRE_OVERHEAD_BYTES
        return len(self._kept) > self._limit_bytes or self._wire_bytes > max_wire_bytes

    def feed(self, chunk: bytes) -> None:
        """Take the next bytes as they were sent.

        Raises:
            PiKernelError: If they cannot be decompressed.
        """
        self._wire_bytes += len(chunk)
        if not self.wants_more:
            return
        room = self._limit_bytes + 1 - len(self._kept)
        if not self._is_compressed:
            self._kept += chunk[:room]
            return
        if not self._is_started:
            chunk = self._header = self._header + chunk
            if len(chunk) < _HEADER_BYTES:
                return
            self._stream = zlib.decompressobj(self._window_bits(chunk))
            self._is_started = True
        try:
            self._kept += self._stream.decompress(chunk, room)
        except zlib.error as error:
            raise PiKernelError(f"the {self._encoding} content is broken") from error

    def finish(self) -> bytes:
        """Return what was kept; call it when the content has ended or no more is wanted.

        Raises:
            PiKernelError: If compressed content ended in the middle.
        """
        has_ended = self._stream.eof or not self._header
        if self._is_compressed and not has_ended and not self.is_cut:
            raise PiKernelError(f"the {self._encoding} content ends too early")
        return bytes(self._kept[: self._limit_bytes])

    def _window_bits(self, start: bytes) -> int:
        if self._encoding == "gzip":
            return _GZIP_WBITS
        # `deflate` should have zlib's header; some servers leave it out, and browsers take both.
        is_zlib = start[0] & 0x0F == _ZLIB_METHOD
        is_zlib = is_zlib and int.from_bytes(start[:_HEADER_BYTES], "big") % _ZLIB_CHECK == 0
        return _ZLIB_WBITS if is_zlib else _RAW_DEFLATE_WBITS
