"""Pictures: which bytes are one, and how they are made small enough."""

from __future__ import annotations

import base64
import io
import random
import struct
import zlib

import pytest
from PIL import Image

from pi_kernel.errors import PiKernelError, ToolAborted
from pi_kernel.tools._image_types import sniff_image_type
from pi_kernel.tools._images import ImageOutcome, ResizeLimits, prepare_image

LIMITS = ResizeLimits()
PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
NOT_RESIZED = "[Image omitted: could not be resized below the inline image size limit.]"


def png_chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))


def png_header(width: int = 1, height: int = 1) -> bytes:
    return PNG_SIGNATURE + png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))


def bmp_header(
    *, declared: int = 100, pixels_at: int = 54, header: int = 40, planes: int = 1, bits: int = 24
) -> bytes:
    start = b"BM" + struct.pack("<IHHII", declared, 0, 0, pixels_at, header)
    size = struct.pack("<HH", 1, 1) if header == 12 else struct.pack("<II", 1, 1)
    return (start + size + struct.pack("<HH", planes, bits)).ljust(30, b"\0")


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def noise(width: int, height: int) -> Image.Image:
    pixels = random.Random(1).randbytes(width * height * 3)  # noqa: S311 - pixels, not secrets
    return Image.frombytes("RGB", (width, height), pixels)


def decoded(outcome: ImageOutcome) -> Image.Image:
    assert outcome.data_base64 is not None
    image = Image.open(io.BytesIO(base64.b64decode(outcome.data_base64)))
    image.load()
    return image


@pytest.mark.parametrize(
    ("start", "expected"),
    [
        (b"", None),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"\xff\xd8\xff\xe0", "image/jpeg"),
        (b"\xff\xd8\xff\xf7", None),
        (b"\xff\xd8", None),
        (png_header(), "image/png"),
        (png_header()[:16], "image/png"),
        (png_header()[:15], None),
        (PNG_SIGNATURE + png_chunk(b"IHDR", b"x" * 12), None),
        (PNG_SIGNATURE + png_chunk(b"IDAT", b"x" * 13), None),
        (png_header() + png_chunk(b"acTL", b"x" * 8), None),
        (png_header() + png_chunk(b"tEXt", b"x" * 9) + png_chunk(b"acTL", b"x" * 8), None),
        (png_header() + png_chunk(b"IDAT", b"x") + png_chunk(b"acTL", b"x" * 8), "image/png"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
        (b"GIF88a", None),
        (b"RIFF\0\0\0\0WEBP", "image/webp"),
        (b"RIFF\0\0\0\0WAVE", None),
        (bmp_header(), "image/bmp"),
        (bmp_header(declared=0), "image/bmp"),
        (bmp_header(declared=25), None),
        (bmp_header(declared=54), None),
        (bmp_header(declared=55), "image/bmp"),
        (bmp_header(pixels_at=53), None),
        (bmp_header(header=12, pixels_at=26), "image/bmp"),
        (bmp_header(header=12, pixels_at=26)[:26], "image/bmp"),
        (bmp_header(header=12, pixels_at=25), None),
        (bmp_header(header=13), None),
        (bmp_header(header=39), None),
        (bmp_header(header=124, pixels_at=138, declared=200), "image/bmp"),
        (bmp_header(header=125, pixels_at=139, declared=200), None),
        (bmp_header(planes=2), None),
        (bmp_header(bits=2), None),
        (bmp_header(bits=32), "image/bmp"),
        (bmp_header()[:29], None),
        (b"BM is how this sentence starts", None),
        (b"<svg/>", None),
        (b"%PDF-1.4", None),
        (b"II*\0", None),
    ],
)
def test_the_content_alone_tells_the_type(start: bytes, expected: str | None) -> None:
    assert sniff_image_type(start) == expected


@pytest.mark.parametrize(
    ("kind", "mime"), [("PNG", "png"), ("JPEG", "jpeg"), ("GIF", "gif"), ("WEBP", "webp")]
)
def test_a_small_picture_keeps_its_bytes(kind: str, mime: str) -> None:
    data = encoded(noise(8, 6), kind)
    assert prepare_image(data, f"image/{mime}", limits=LIMITS) == ImageOutcome(
        note=f"Read image file [image/{mime}]",
        data_base64=base64.b64encode(data).decode(),
        mime_type=f"image/{mime}",
    )


@pytest.mark.parametrize("limits", [LIMITS, None])
def test_a_bmp_becomes_a_png_of_the_same_pixels(limits: ResizeLimits | None) -> None:
    image = noise(9, 7)
    outcome = prepare_image(encoded(image, "BMP"), "image/bmp", limits=limits)
    assert (outcome.note, outcome.mime_type) == (
        "Read image file [image/png]\n[Image converted from image/bmp to image/png.]",
        "image/png",
    )
    result = decoded(outcome)
    assert (result.format, result.tobytes()) == ("PNG", image.tobytes())


@pytest.mark.parametrize(
    ("size", "new_size", "factor"),
    [
        ((2001, 10), (2000, 10), "1.00"),
        ((2400, 1200), (2000, 1000), "1.20"),
        ((1000, 4000), (500, 2000), "2.00"),
        ((4000, 8000), (1000, 2000), "4.00"),
        ((3000, 1), (2000, 1), "1.50"),
    ],
)
def test_a_large_picture_is_scaled_to_fit_and_says_how_to_map_back(
    size: tuple[int, int], new_size: tuple[int, int], factor: str
) -> None:
    outcome = prepare_image(encoded(Image.new("RGB", size), "PNG"), "image/png", limits=LIMITS)
    assert outcome.note == (
        f"Read image file [{outcome.mime_type}]\n"
        f"[Image: original {size[0]}x{size[1]}, displayed at {new_size[0]}x{new_size[1]}."
        f" Multiply coordinates by {factor} to map to original image.]"
    )
    assert decoded(outcome).size == new_size


def test_a_side_that_rounds_to_nothing_makes_the_picture_fail() -> None:
    outcome = prepare_image(encoded(Image.new("RGB", (4001, 1)), "PNG"), "image/png", limits=LIMITS)
    assert outcome == ImageOutcome(note=f"Read image file [image/png]\n{NOT_RESIZED}")


def test_a_picture_over_the_byte_limit_is_encoded_anew_and_told_so() -> None:
    data = encoded(noise(100, 100), "PNG")
    outcome = prepare_image(data, "image/png", limits=ResizeLimits(max_bytes=20_000))
    assert outcome.note == (
        "Read image file [image/jpeg]\n"
        "[Image: original 100x100, displayed at 100x100."
        " Multiply coordinates by 1.00 to map to original image.]"
    )
    assert len(outcome.data_base64 or "") < 20_000


def test_a_picture_that_stays_too_large_shrinks_by_quarters() -> None:
    limits = ResizeLimits(max_bytes=1500)
    outcome = prepare_image(encoded(noise(100, 100), "PNG"), "image/png", limits=limits)
    sizes = [100, 75, 56, 42, 31, 23, 17, 12, 9, 6, 4, 3, 2, 1]
    assert decoded(outcome).width in sizes[1:]
    assert len(outcome.data_base64 or "") < 1500


def test_a_picture_that_never_fits_is_left_out() -> None:
    data = encoded(noise(3, 3), "PNG")
    outcome = prepare_image(data, "image/png", limits=ResizeLimits(max_bytes=10))
    assert outcome == ImageOutcome(note=f"Read image file [image/png]\n{NOT_RESIZED}")


def test_the_byte_limit_counts_base64_and_is_not_reached() -> None:
    data = encoded(noise(20, 20), "PNG")
    length = len(base64.b64encode(data))
    within = prepare_image(data, "image/png", limits=ResizeLimits(max_bytes=length + 1))
    over = prepare_image(data, "image/png", limits=ResizeLimits(max_bytes=length))
    assert within.note == "Read image file [image/png]"
    assert "displayed at" in over.note


@pytest.mark.parametrize("kind", ["JPEG", "WEBP"])
@pytest.mark.parametrize("orientation", [5, 6, 7, 8])
def test_exif_turns_a_picture_before_it_is_measured(kind: str, orientation: int) -> None:
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encoded(Image.new("RGB", (2200, 1100)), kind, exif=exif)
    outcome = prepare_image(data, f"image/{kind.lower()}", limits=LIMITS)
    assert "original 1100x2200, displayed at 1000x2000" in outcome.note
    assert decoded(outcome).size == (1000, 2000)


def test_exif_turns_the_pixels_the_right_way() -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera's top is at the right
    image = Image.new("RGB", (40, 20), "black")
    image.paste("white", (0, 0, 20, 20))
    data = encoded(image, "JPEG", exif=exif)
    outcome = prepare_image(data, "image/jpeg", limits=ResizeLimits(max_width=10))
    result = decoded(outcome).convert("L")
    assert result.size == (10, 20)
    assert result.getpixel((5, 2)) > 200  # type: ignore[operator]  # one band
    assert result.getpixel((5, 17)) < 50  # type: ignore[operator]  # one band


def test_a_broken_exif_block_is_passed_over() -> None:
    data = encoded(Image.new("RGB", (2200, 1100)), "JPEG", exif=b"Exif\0\0rubbish")
    assert "original 2200x1100" in prepare_image(data, "image/jpeg", limits=LIMITS).note


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGBA", "I;16", "CMYK"])
def test_every_mode_can_be_scaled(mode: str) -> None:
    kind = "JPEG" if mode == "CMYK" else "PNG"
    data = encoded(Image.new(mode, (30, 20)), kind)
    outcome = prepare_image(
        data, f"image/{kind.lower()}", limits=ResizeLimits(max_width=15, max_height=15)
    )
    assert decoded(outcome).size == (15, 10)


def test_transparency_survives_scaling() -> None:
    image = Image.new("P", (40, 40), 0)
    image.putpalette([255, 0, 0, 0, 255, 0])
    data = encoded(image, "PNG", transparency=0)
    outcome = prepare_image(data, "image/png", limits=ResizeLimits(max_width=10))
    result = decoded(outcome)
    assert result.format == "PNG"
    assert result.convert("RGBA").getpixel((5, 5))[3] == 0  # type: ignore[index]  # four bands


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        (b"GIF89a hello text\n", "image/gif"),
        (b"\xff\xd8\xff\xe0 nothing", "image/jpeg"),
        (png_header() + png_chunk(b"IDAT", b"rubbish"), "image/png"),
        (b"RIFF\0\0\0\0WEBPVP8 rubbish", "image/webp"),
    ],
)
def test_bytes_that_cannot_be_decoded_become_a_note(data: bytes, mime: str) -> None:
    outcome = prepare_image(data, mime, limits=LIMITS)
    assert outcome == ImageOutcome(note=f"Read image file [{mime}]\n{NOT_RESIZED}")


def test_a_bmp_that_cannot_be_decoded_says_so_in_its_own_words() -> None:
    outcome = prepare_image(bmp_header(), "image/bmp", limits=LIMITS)
    assert outcome.note == (
        "Read image file [image/bmp]\n"
        "[Image omitted: could not be converted to a supported inline image format.]"
    )


def test_without_limits_nothing_is_decoded() -> None:
    outcome = prepare_image(b"GIF89a hello", "image/gif", limits=None)
    assert outcome == ImageOutcome(
        note="Read image file [image/gif]",
        data_base64=base64.b64encode(b"GIF89a hello").decode(),
        mime_type="image/gif",
    )


def black_png(width: int, height: int) -> bytes:
    """Return a valid black-and-white picture, small as a file however many pixels it has."""
    header = png_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    rows = zlib.compress(bytes((1 + (width + 7) // 8) * height))
    return PNG_SIGNATURE + header + png_chunk(b"IDAT", rows) + png_chunk(b"IEND", b"")


def test_a_decompression_bomb_is_refused_without_a_warning() -> None:
    outcome = prepare_image(black_png(20_000, 10_000), "image/png", limits=LIMITS)
    assert outcome == ImageOutcome(note=f"Read image file [image/png]\n{NOT_RESIZED}")


def test_a_picture_just_below_the_pixel_limit_is_scaled() -> None:
    outcome = prepare_image(black_png(10_000, 9_999), "image/png", limits=LIMITS)
    assert decoded(outcome).size == (2000, 2000)


def test_a_request_to_stop_ends_the_work() -> None:
    def stop() -> None:
        raise ToolAborted

    with pytest.raises(ToolAborted):
        prepare_image(
            encoded(noise(30, 30), "PNG"),
            "image/png",
            limits=ResizeLimits(max_width=10),
            check_stop=stop,
        )


def test_given_limits_override_single_defaults() -> None:
    limits = ResizeLimits.of({"max_width": 100, "jpeg_quality": 50})
    assert limits == ResizeLimits(
        max_width=100, max_height=2000, max_bytes=4_718_592, jpeg_quality=50
    )


def test_an_unknown_limit_is_refused_by_name() -> None:
    with pytest.raises(PiKernelError) as caught:
        ResizeLimits.of({"maxWidth": 100})
    assert str(caught.value) == (
        "unknown key 'maxWidth' in resize_options;"
        " valid keys: max_width, max_height, max_bytes, jpeg_quality"
    )
