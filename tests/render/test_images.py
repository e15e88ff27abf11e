from __future__ import annotations

import base64

import pytest

from pi_kernel.protocol.content import ImageContent
from pi_kernel.render._images import image_facts, images_html
from tests.render.reading import tags_in, text_in

PNG = base64.b64encode(
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (960).to_bytes(4) + (420).to_bytes(4) + b"rest"
).decode()


def test_a_picture_is_shown_with_what_it_is() -> None:
    html = images_html([ImageContent(data=PNG, mime_type="image/png")])
    assert html == (
        f'<div style="padding:8px 12px"><img src="data:image/png;base64,{PNG}" '
        'alt="PNG, 960 \u00d7 420, 28 B" style="max-width:100%;max-height:240px;'
        'border:1px solid rgba(128,128,128,0.40)"></div>'
    )
    assert tags_in(html) == ["div", "img"]


def test_a_gif_tells_its_size_and_other_kinds_their_bytes() -> None:
    gif = base64.b64encode(b"GIF89a" + (3).to_bytes(2, "little") + (4).to_bytes(2, "little"))
    assert image_facts(ImageContent(data=gif.decode(), mime_type="image/gif")) == (
        "GIF, 3 \u00d7 4, 10 B"
    )
    assert image_facts(ImageContent(data="AAAA", mime_type="image/webp")) == "WebP, 3 B"


def test_pictures_beyond_one_megabyte_are_told_in_words() -> None:
    large = ImageContent(data="A" * 1_200_000, mime_type="image/jpeg")
    html = images_html([large, large])
    assert tags_in(html).count("img") == 1
    assert text_in(html) == "JPEG, 878.9 KB. Not kept in the notebook: more than 1.0 MB."


@pytest.mark.parametrize("mime_type", ["image/svg+xml", "text/html", 'image/png"><script>', ""])
def test_documents_and_unknown_kinds_are_not_shown(mime_type: str) -> None:
    html = images_html([ImageContent(data="AAAA", mime_type=mime_type)])
    assert "img" not in tags_in(html)
    assert text_in(html).endswith("Pictures of this kind are not shown.")


@pytest.mark.parametrize("data", ['AA"><script>', "", "AA==AA", "AA A", "é"])
def test_damaged_data_is_not_shown(data: str) -> None:
    html = images_html([ImageContent(data=data, mime_type="image/png")])
    assert "img" not in tags_in(html)
    assert text_in(html).endswith("Its data is damaged.")
