"""Pictures as static HTML, and what they are in words."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable

from pi_kernel.protocol.content import ImageContent
from pi_kernel.render._html import div, muted
from pi_kernel.render._text import TIMES, attribute_text, in_one_line
from pi_kernel.render.formats import size

__all__ = ("image_facts", "image_html", "images_html")

MAX_BYTES = 1_048_576
"""Of all pictures of one card; a saved notebook holds them."""
NAMES = {
    "image/png": "PNG",
    "image/jpeg": "JPEG",
    "image/gif": "GIF",
    "image/webp": "WebP",
    "image/bmp": "BMP",
}
"""Other kinds are not shown: an SVG is a document, not a picture."""
HEADER_CHARS = 64
_BASE64 = re.compile(r"[A-Za-z0-9+/]+={0,2}")
_PNG = b"\x89PNG\r\n\x1a\n"
LOOK = "max-width:100%;max-height:240px;border:1px solid rgba(128,128,128,0.40)"


def images_html(images: Iterable[ImageContent]) -> str:
    """Return pictures within the limit; a line stands for each one beyond it."""
    left = MAX_BYTES
    parts: list[str] = []
    for image in images:
        html, used = image_html(image, left)
        parts.append(html)
        left -= used
    return "".join(parts)


def image_html(image: ImageContent, max_bytes: int) -> tuple[str, int]:
    """Return one picture, or a line that says why it is not shown, and the bytes it takes."""
    facts = image_facts(image)
    if image.mime_type not in NAMES:
        return _note(f"{facts}. Pictures of this kind are not shown."), 0
    used = _n_bytes(image)
    if used > max_bytes:
        return _note(f"{facts}. Not kept in the notebook: more than {size(MAX_BYTES)}."), 0
    if _BASE64.fullmatch(image.data) is None:
        return _note(f"{facts}. Its data is damaged."), 0
    source = f"data:{image.mime_type};base64,{image.data}"
    picture = f'<img src="{source}" alt="{attribute_text(facts)}" style="{LOOK}">'
    return div("padding:8px 12px", picture), used


def _note(text: str) -> str:
    return div("padding:8px 12px;font-size:12px", muted(text))


def image_facts(image: ImageContent) -> str:
    """Return kind, size in pixels where it is known, and bytes: ``PNG``, pixels, ``4.4 KB``."""
    kind = NAMES.get(image.mime_type) or in_one_line(image.mime_type, 40) or "Picture"
    pixels = _pixels(image)
    shape = f", {pixels[0]} {TIMES} {pixels[1]}" if pixels else ""
    return f"{kind}{shape}, {size(_n_bytes(image))}"


def _n_bytes(image: ImageContent) -> int:
    return len(image.data) * 3 // 4 - image.data[-2:].count("=")


def _pixels(image: ImageContent) -> tuple[int, int] | None:
    """Return width and height of a PNG or GIF; other kinds have them deep inside."""
    try:
        head = base64.b64decode(image.data[:HEADER_CHARS], validate=True)
    except ValueError:
        return None
    if head.startswith(_PNG) and len(head) >= 24:  # noqa: PLR2004 - the end of the size
        return int.from_bytes(head[16:20]), int.from_bytes(head[20:24])
    if head[:4] == b"GIF8" and len(head) >= 10:  # noqa: PLR2004 - the end of the size
        return int.from_bytes(head[6:8], "little"), int.from_bytes(head[8:10], "little")
    return None
