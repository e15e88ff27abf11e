"""Reading no more of a response's content than wanted."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel import PiKernelError
from pi_kernel.tools.extra._body import BodyStart

RAW_DEFLATE = -15


def encoded(data: bytes, encoding: str) -> bytes:
    if encoding == "gzip":
        return gzip.compress(data)
    if encoding == "raw":
        stream = zlib.compressobj(wbits=RAW_DEFLATE)
        return stream.compress(data) + stream.flush()
    return zlib.compress(data) if encoding == "deflate" else data


def read(data: bytes, encoding: str, *, limit: int, piece: int = 1 << 16) -> BodyStart:
    body = BodyStart("deflate" if encoding == "raw" else encoding, limit_bytes=limit)
    for start in range(0, len(data), piece):
        body.feed(data[start : start + piece])
    return body


@given(
    st.binary(max_size=300),
    st.sampled_from(["", "identity", "gzip", "X-GZIP ", "deflate", "raw"]),
    st.integers(1, 400),
    st.integers(1, 50),
)
def test_the_start_is_kept_in_any_encoding_and_in_any_pieces(
    data: bytes, encoding: str, limit: int, piece: int
) -> None:
    plain = "gzip" if encoding == "X-GZIP " else encoding
    body = BodyStart("deflate" if encoding == "raw" else encoding, limit_bytes=limit)
    sent = encoded(data, plain)
    for start in range(0, len(sent), piece):
        body.feed(sent[start : start + piece])
    assert body.finish() == data[:limit]
    assert body.is_cut == (len(data) > limit)


def test_no_more_is_wanted_once_the_limit_is_passed_or_the_content_has_ended() -> None:
    assert read(b"abc", "", limit=3).wants_more
    assert not read(b"abcd", "", limit=3).wants_more
    whole = gzip.compress(b"abc")
    assert read(whole[:-1], "gzip", limit=3).wants_more
    ended = read(whole + b"what follows is nobody's", "gzip", limit=3)
    assert not ended.wants_more
    assert ended.finish() == b"abc"


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (gzip.compress(b"abc", mtime=0)[:-4], "gzip", "the gzip content ends too early"),
        (b"\x1f", "gzip", "the gzip content ends too early"),
        (b"no gzip", "gzip", "the gzip content is broken"),
        (b"\x78\x9c\xff\xff\xff", "deflate", "the deflate content is broken"),
    ],
)
def test_broken_content_is_an_error(data: bytes, encoding: str, message: str) -> None:
    with pytest.raises(PiKernelError) as caught:
        read(data, encoding, limit=100).finish()
    assert str(caught.value) == message


def test_empty_content_is_empty_in_any_encoding() -> None:
    assert read(b"", "gzip", limit=100).finish() == b""


@pytest.mark.parametrize("encoding", ["br", "zstd", "gzip, gzip", "é\n" * 100])
def test_an_encoding_that_was_not_asked_for_is_refused(encoding: str) -> None:
    with pytest.raises(PiKernelError) as caught:
        BodyStart(encoding, limit_bytes=1)
    message = str(caught.value)
    assert message.startswith("the content is compressed as '")
    assert message.endswith("', which cannot be read")
    assert "\n" not in message
    assert len(message) < 400


def _peak_bytes(data: bytes, limit: int) -> int:
    tracemalloc.start()
    try:
        read(data, "gzip", limit=limit).finish()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_a_bomb_takes_memory_for_the_limit_only() -> None:
    bomb = gzip.compress(bytes(20_000_000))
    assert _peak_bytes(bomb, limit=10_000) < 1_000_000
    # Read in full the same content shows what the probe sees.
    assert _peak_bytes(bomb, limit=20_000_000) > 20_000_000


def test_content_that_never_unpacks_to_anything_is_bounded_too() -> None:
    block = zlib.compressobj(wbits=31)
    head = block.compress(b"")
    nothing = block.flush(zlib.Z_FULL_FLUSH)
    empty_blocks = b"\x00\x00\x00\xff\xff" * 100_000
    body = BodyStart("gzip", limit_bytes=1000)
    body.feed(head + nothing)
    n_fed = 0
    while body.wants_more:
        body.feed(empty_blocks[:10_000])
        n_fed += 10_000
    assert n_fed < 200_000
    assert body.is_cut
    assert body.finish() == b""
