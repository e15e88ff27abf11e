"""Images and figures as content: one line of text and a PNG that a model's provider accepts."""

from __future__ import annotations

import base64
import io
import sys
from collections.abc import Callable
from typing import Any

from pi_kernel.protocol.content import ImageContent, TextContent

__all__ = ("figure_blocks", "image_blocks")

MAX_SIDE_PIXELS = 2000
MAX_BASE64_BYTES = 4_718_592
"""4.5 MiB, the limit that the read tool keeps too."""
SHRINK_FACTOR = 0.75
BASE64_BYTES = 4
BASE64_SOURCE_BYTES = 3

_PNG_SIZE = slice(16, 24)
_PNG_MODES = frozenset({"1", "I;16", "L", "LA", "P", "RGB", "RGBA"})
_PNG_MODE_OF = {"La": "LA", "PA": "RGBA", "RGBa": "RGBA", "F": "L", "I": "I;16"}


def image_blocks(image: Any) -> list[TextContent | ImageContent]:
    """Return the blocks of a PIL image; a large one is made smaller, and the text says so."""
    width, height = image.size
    mode = image.mode
    if not (width and height):
        return [TextContent(f"Image {width}x{height} {mode}")]
    if mode not in _PNG_MODES:
        image = image.convert(_PNG_MODE_OF.get(mode, "RGB"))

    def encode(scale: float) -> bytes:
        size = (max(1, int(width * scale)), max(1, int(height * scale)))
        buffer = io.BytesIO()
        (image if size == image.size else image.resize(size)).save(buffer, format="PNG")
        return buffer.getvalue()

    png = _small_enough(encode, min(1.0, MAX_SIDE_PIXELS / max(width, height)))
    shown = _png_size(png)
    note = "" if shown == (width, height) else f", shown at {shown[0]}x{shown[1]}"
    return [TextContent(f"Image {width}x{height} {mode}{note}"), _png_block(png)]


def figure_blocks(figure: Any) -> list[TextContent | ImageContent]:
    """Return the blocks of anything that has matplotlib's ``savefig``."""
    dpi = getattr(figure, "dpi", None)

    def encode(scale: float) -> bytes:
        buffer = io.BytesIO()
        options = {"dpi": dpi * scale} if isinstance(dpi, int | float) else {}
        figure.savefig(buffer, format="png", **options)
        return buffer.getvalue()

    png = encode(1.0)
    scale = min(1.0, MAX_SIDE_PIXELS / max(_png_size(png)))
    if scale < 1 or _base64_bytes(png) > MAX_BASE64_BYTES:
        png = _small_enough(encode, scale)
    # The figure is handed over now: pyplot must neither keep it open nor show it once more.
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)
    width, height = _png_size(png)
    return [TextContent(f"Figure {width}x{height}"), _png_block(png)]


def _small_enough(encode: Callable[[float], bytes], scale: float) -> bytes:
    png = encode(scale)
    while _base64_bytes(png) > MAX_BASE64_BYTES and max(_png_size(png)) > 1:
        scale *= SHRINK_FACTOR
        smaller = encode(scale)
        if len(smaller) >= len(png):
            return smaller
        png = smaller
    return png


def _base64_bytes(data: bytes) -> int:
    return -(-len(data) // BASE64_SOURCE_BYTES) * BASE64_BYTES


def _png_size(png: bytes) -> tuple[int, int]:
    both = png[_PNG_SIZE]
    return int.from_bytes(both[:4]), int.from_bytes(both[4:])


def _png_block(png: bytes) -> ImageContent:
    return ImageContent(data=base64.b64encode(png).decode("ascii"), mime_type="image/png")
