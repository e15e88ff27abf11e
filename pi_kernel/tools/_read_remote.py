"""Reading a file through supplied operations: a remote host, a container, a test."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import cast

import anyio.to_thread

from pi_kernel.tools._image_types import SNIFF_BYTES, sniff_image_type
from pi_kernel.tools._images import ImageOutcome, ResizeLimits, prepare_image
from pi_kernel.tools._operations import find_operation, perform
from pi_kernel.tools._paths import path_variants
from pi_kernel.tools._read_text import LineRange, select_lines
from pi_kernel.tools._text_select import Selection

__all__ = ("read_remote",)


async def read_remote(
    operations: object, resolved: str, *, lines: LineRange, limits: ResizeLimits | None
) -> Selection | ImageOutcome:
    """Return the selected lines, or the picture.

    Args:
        operations: ``read_file`` and ``access``; maybe ``create_read_stream`` and
            ``detect_image_mime_type``. Without the last one the content tells.
        resolved: The absolute path; its other spellings are tried, too.
        lines: Which lines of a text.
        limits: How large a picture may be; None: any size.
    """
    path = await _first_accessible(operations, resolved)
    detects = find_operation(operations, "detect_image_mime_type") is not None
    mime_type = None
    if detects:
        mime_type = await perform(operations, "detect_image_mime_type", path, syscall="read")
    if mime_type is None and find_operation(operations, "create_read_stream") is not None:
        selection = await _select_from_stream(operations, path, lines, sniffs=not detects)
        if isinstance(selection, Selection):
            return selection
        mime_type = selection
    data = _as_bytes(await perform(operations, "read_file", path, syscall="read"))
    if mime_type is None and not detects:
        mime_type = sniff_image_type(data[:SNIFF_BYTES])

    def make() -> Selection | ImageOutcome:
        if mime_type is not None:
            return prepare_image(data, mime_type, limits=limits)
        return select_lines(lambda: (data,), lines)

    return await anyio.to_thread.run_sync(make, abandon_on_cancel=True)


async def _first_accessible(operations: object, resolved: str) -> str:
    failure: Exception | None = None
    for candidate in path_variants(resolved):
        try:
            await perform(operations, "access", candidate, syscall="access")
        except Exception as error:  # noqa: BLE001 - operations raise what they like
            failure = failure or error
        else:
            return candidate
    raise failure or FileNotFoundError(resolved)


async def _select_from_stream(
    operations: object, path: str, lines: LineRange, *, sniffs: bool
) -> Selection | str:
    """Return the selected lines, or the type of a picture that has to be read as a whole."""
    total_lines = None
    if lines.counts_from_end:
        counter = lines.selector()
        async for block in _stream(operations, path):
            counter.feed(block)
        total_lines = counter.total_lines
    selector = lines.selector(total_lines)
    start = b""
    async for block in _stream(operations, path):
        if sniffs:
            start += block[: SNIFF_BYTES - len(start)]
            if len(start) == SNIFF_BYTES:
                sniffs = False
                if mime_type := sniff_image_type(start):
                    return mime_type
        selector.feed(block)
    if sniffs and (mime_type := sniff_image_type(start)):
        return mime_type
    return selector.finish()


async def _stream(operations: object, path: str) -> AsyncIterator[bytes]:
    stream = await perform(operations, "create_read_stream", path, syscall="open")
    if isinstance(stream, AsyncIterable):
        async for block in cast("AsyncIterable[bytes | str]", stream):
            yield _as_bytes(block)
        return
    blocks = iter(cast("Iterable[bytes | str]", stream))

    def take() -> bytes | str | None:
        return next(blocks, None)

    while (next_block := await anyio.to_thread.run_sync(take)) is not None:
        yield _as_bytes(next_block)


def _as_bytes(data: bytes | str) -> bytes:
    return data.encode("utf-8", "replace") if isinstance(data, str) else bytes(data)
