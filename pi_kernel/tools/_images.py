"""Making a picture small enough for a model, and the words that say what was done to it.

Pillow is loaded with the first picture. Only the decoder of the sniffed format is used, and a
picture whose header promises more pixels than memory should hold is refused before it is decoded.
"""

from __future__ import annotations

import base64
import io
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from typing import TYPE_CHECKING, Any

from pi_kernel.errors import PiKernelError
from pi_kernel.tools._threads import StopCheck

if TYPE_CHECKING:
    from PIL import Image

__all__ = (
    "MAX_IMAGE_FILE_BYTES",
    "ImageOutcome",
    "ResizeLimits",
    "omitted_image",
    "prepare_image",
)

MAX_IMAGE_PIXELS = 100_000_000
"""About 400 MB once decoded."""
MAX_IMAGE_FILE_BYTES = 256 * 1024 * 1024
FALLBACK_JPEG_QUALITIES = (85, 70, 55, 40)
SHRINK_FACTOR = 0.75

_NOT_CONVERTED = "[Image omitted: could not be converted to a supported inline image format.]"
_NOT_RESIZED = "[Image omitted: could not be resized below the inline image size limit.]"

_ORIENTATION_TAG = 0x0112
_UPRIGHT = 1
_SIXTEEN_TO_EIGHT_BIT = 257
_HUNDREDTH = Decimal("0.01")


@dataclass(frozen=True, kw_only=True)
class ResizeLimits:
    """How large a picture may be for a model."""

    max_width: int = 2000
    max_height: int = 2000
    max_bytes: int = 4_718_592
    """Base64 characters; the picture must stay below. 4.5 MiB of them."""
    jpeg_quality: int = 80

    @classmethod
    def of(cls, options: Mapping[str, Any] | None) -> ResizeLimits:
        """Return the defaults with the given keys put over them.

        Raises:
            PiKernelError: If there is a key that does not exist.
        """
        unknown = sorted(set(options or ()) - set(cls.__dataclass_fields__))
        if unknown:
            raise PiKernelError(
                f"unknown key {unknown[0]!r} in resize_options;"
                f" valid keys: {', '.join(cls.__dataclass_fields__)}"
            )
        return replace(cls(), **(options or {}))


@dataclass(frozen=True, kw_only=True)
class ImageOutcome:
    """The text that goes with a picture, and the picture unless it had to be left out."""

    note: str
    data_base64: str | None = None
    mime_type: str | None = None


class _UndecodableError(Exception):
    """The bytes are not a picture of their format, or too large a one."""


def prepare_image(
    data: bytes,
    mime_type: str,
    *,
    limits: ResizeLimits | None,
    check_stop: StopCheck = lambda: None,
) -> ImageOutcome:
    """Return what a model gets for the bytes of an image file.

    BMP becomes PNG. Other formats keep their bytes while they are within the limits.

    Args:
        data: The file's content.
        mime_type: What `sniff_image_type` said.
        limits: None: never resize.
        check_stop: Called between the slow steps; raises to give up.

    Source:
        Pi 1.6.0, ``processImage`` and ``resizeImage``.
    """
    hints: list[str] = []
    shown_type = mime_type
    if mime_type == "image/bmp":
        try:
            data, shown_type = _encode(_decode(data, mime_type), "PNG"), "image/png"
        except _UndecodableError:
            return ImageOutcome(note=f"Read image file [{mime_type}]\n{_NOT_CONVERTED}")
        check_stop()
    if limits is not None:
        try:
            resized = _resize(data, shown_type, limits, check_stop)
        except _UndecodableError:
            resized = None
        if resized is None:
            return omitted_image(mime_type)
        data, shown_type, hints = resized
    if mime_type == "image/bmp":
        hints.insert(0, f"[Image converted from {mime_type} to {shown_type}.]")
    return ImageOutcome(
        note="\n".join((f"Read image file [{shown_type}]", *hints)),
        data_base64=base64.b64encode(data).decode("ascii"),
        mime_type=shown_type,
    )


def omitted_image(mime_type: str) -> ImageOutcome:
    """Return what stands for a picture that cannot be made small enough, or not be read at all."""
    return ImageOutcome(note=f"Read image file [{mime_type}]\n{_NOT_RESIZED}")


def _resize(
    data: bytes, mime_type: str, limits: ResizeLimits, check_stop: StopCheck
) -> tuple[bytes, str, list[str]] | None:
    """Return bytes, type and hints of a picture within the limits; None when it cannot be done."""
    from PIL.Image import Resampling  # noqa: PLC0415 - loads with the first picture

    image = _upright(_decode(data, mime_type))
    width, height = image.size
    is_small = width <= limits.max_width and height <= limits.max_height
    if is_small and _base64_length(len(data)) < limits.max_bytes:
        return data, mime_type, []
    image = _eight_bit(image)
    for size in _sizes_to_try(width, height, limits):
        check_stop()
        scaled = image if size == image.size else image.resize(size, Resampling.LANCZOS)
        for encoded, encoded_type in _encodings(scaled, limits.jpeg_quality, check_stop):
            if _base64_length(len(encoded)) < limits.max_bytes:
                scale = Decimal(width / size[0]).quantize(_HUNDREDTH, ROUND_HALF_UP)
                hint = (
                    f"[Image: original {width}x{height}, displayed at {size[0]}x{size[1]}."
                    f" Multiply coordinates by {scale} to map to original image.]"
                )
                return encoded, encoded_type, [hint]
    return None


def _sizes_to_try(width: int, height: int, limits: ResizeLimits) -> Iterator[tuple[int, int]]:
    """Yield the size that fits the box, then ever smaller ones down to one pixel."""
    new_width, new_height = width, height
    if new_width > limits.max_width:
        new_height = math.floor(new_height * limits.max_width / new_width + 0.5)
        new_width = limits.max_width
    if new_height > limits.max_height:
        new_width = math.floor(new_width * limits.max_height / new_height + 0.5)
        new_height = limits.max_height
    while new_width > 0 and new_height > 0:
        yield new_width, new_height
        if new_width == new_height == 1:
            return
        new_width = max(1, math.floor(new_width * SHRINK_FACTOR))
        new_height = max(1, math.floor(new_height * SHRINK_FACTOR))


def _encodings(
    image: Image.Image, jpeg_quality: int, check_stop: StopCheck
) -> Iterator[tuple[bytes, str]]:
    """Yield encoded forms in the order in which they are preferred."""
    png = _encode(image, "PNG")
    opaque = image.convert("RGB")
    jpeg = _encode(opaque, "JPEG", quality=jpeg_quality)
    both = [(png, "image/png"), (jpeg, "image/jpeg")]
    yield from both if len(png) <= len(jpeg) else reversed(both)
    for quality in FALLBACK_JPEG_QUALITIES:
        check_stop()
        yield _encode(opaque, "JPEG", quality=quality), "image/jpeg"


def _decode(data: bytes, mime_type: str) -> Image.Image:
    """Decode the first frame completely.

    The format's own class is used, not `Image.open`: nothing but the sniffed format is tried, and
    there is no process-wide warning about large pictures.
    """
    decoders = _decoders()
    try:
        image = decoders[mime_type](io.BytesIO(data))
        if is_small := image.width * image.height <= MAX_IMAGE_PIXELS:
            image.load()
    except Exception as error:  # decoders answer hostile bytes with any kind of exception
        raise _UndecodableError from error
    if not is_small:
        raise _UndecodableError
    return image


def _upright(image: Image.Image) -> Image.Image:
    """Turn a picture as its EXIF block says; formats without such a block pass."""
    from PIL import Image  # noqa: PLC0415 - loads with the first picture

    block = image.info.get("exif") if image.format in ("JPEG", "WEBP") else None
    if not isinstance(block, bytes):
        return image
    exif = Image.Exif()
    try:
        exif.load(block)
        orientation = exif.get(_ORIENTATION_TAG, _UPRIGHT)
    except Exception:  # noqa: BLE001 - a broken block, which Pillow reports in many ways
        return image
    methods = Image.Transpose
    method = {
        2: methods.FLIP_LEFT_RIGHT,
        3: methods.ROTATE_180,
        4: methods.FLIP_TOP_BOTTOM,
        5: methods.TRANSPOSE,
        6: methods.ROTATE_270,
        7: methods.TRANSVERSE,
        8: methods.ROTATE_90,
    }.get(orientation)
    return image if method is None else image.transpose(method)


def _eight_bit(image: Image.Image) -> Image.Image:
    """Return the picture in a mode that scales and saves well, without metadata."""
    if image.mode in ("LA", "La", "PA", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
    elif image.mode.startswith("I"):
        image = image.convert("I").point(lambda value: value / _SIXTEEN_TO_EIGHT_BIT).convert("L")
    elif image.mode not in ("L", "RGB", "RGBA"):
        image = image.convert("L" if image.mode == "1" else "RGB")
    image.info = {}
    return image


def _encode(image: Image.Image, kind: str, **options: int) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def _base64_length(size_bytes: int) -> int:
    return -(-size_bytes // 3) * 4


@cache
def _decoders() -> dict[str, Callable[[io.BytesIO], Image.Image]]:
    from PIL import (  # noqa: PLC0415 - loads with the first picture
        BmpImagePlugin,
        GifImagePlugin,
        JpegImagePlugin,
        PngImagePlugin,
        WebPImagePlugin,
    )

    return {
        "image/bmp": BmpImagePlugin.BmpImageFile,
        "image/gif": GifImagePlugin.GifImageFile,
        "image/jpeg": JpegImagePlugin.JpegImageFile,
        "image/png": PngImagePlugin.PngImageFile,
        "image/webp": WebPImagePlugin.WebPImageFile,
    }
