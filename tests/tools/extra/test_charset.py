"""From bytes to text."""

from __future__ import annotations

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.tools.extra._charset import charset_of_header, decode_text, is_binary

TEXT = "café €"


@pytest.mark.parametrize(
    ("content_type", "charset"),
    [
        ("text/html", None),
        ("text/html; charset=utf-8", "utf-8"),
        ('text/html;Charset = "Latin-1"; x=y', "Latin-1"),
        ("text/html; charset='koi8-r'", "koi8-r"),
    ],
)
def test_the_charset_of_a_header(content_type: str, charset: str | None) -> None:
    assert charset_of_header(content_type) == charset


@pytest.mark.parametrize(
    ("mark", "codec"),
    [
        (codecs.BOM_UTF8, "utf-8"),
        (codecs.BOM_UTF16_LE, "utf-16-le"),
        (codecs.BOM_UTF16_BE, "utf-16-be"),
        (codecs.BOM_UTF32_LE, "utf-32-le"),
        (codecs.BOM_UTF32_BE, "utf-32-be"),
    ],
)
def test_a_byte_order_mark_counts_more_than_the_header(mark: bytes, codec: str) -> None:
    body = mark + TEXT.encode(codec)
    assert decode_text(body, charset="koi8-r") == TEXT
    assert not is_binary(body)


@pytest.mark.parametrize(
    "charset", ["utf-8", "windows-1252", "UTF-16LE", "gb18030", "iso-8859-15", "cp1250"]
)
def test_the_header_is_believed(charset: str) -> None:
    assert decode_text(TEXT.encode(charset), charset=charset) == TEXT


def test_latin_1_is_read_as_browsers_do() -> None:
    assert decode_text(b"\x93\xe9\x94", charset="ISO-8859-1") == "“é”"
    assert decode_text(b"\x93\xe9\x94", charset="us-ascii") == "“é”"


@pytest.mark.parametrize(
    "charset",
    [
        *("nonsense", "", "\0", "ütf-8", "x" * 1000, "zlib", "base64", "rot13", "idna", "punycode"),
        *("unicode_escape", "utf-7", "undefined", "mbcs"),
    ],
)
def test_an_encoding_that_does_not_exist_or_is_none_is_passed_over(charset: str) -> None:
    assert decode_text(TEXT.encode(), charset=charset) == TEXT
    assert decode_text(b"caf\xe9", charset=charset) == "café"


@pytest.mark.parametrize(
    ("head", "codec"),
    [
        ('<meta charset="koi8-r">', "koi8-r"),
        ("<META http-equiv=x content='text/html; charset=windows-1251'>", "cp1251"),
        ("<meta charset=utf-16>", "utf-8"),
        ("<meta charset=nonsense>", "utf-8"),
    ],
)
def test_html_says_what_it_is_in(head: str, codec: str) -> None:
    body = f"{head}Привет".encode(codec)
    assert decode_text(body, is_html=True) == f"{head}Привет"
    assert decode_text(body, charset=codec, is_html=True) == f"{head}Привет"


def test_only_html_is_asked_for_a_meta_element() -> None:
    body = b"<meta charset=koi8-r>\xc3\xa9"
    assert decode_text(body).endswith("é")
    assert not decode_text(body, is_html=True).endswith("é")


def test_a_character_that_the_cut_went_through_is_left_out() -> None:
    body = "aé".encode()[:-1]
    assert decode_text(body, is_cut=True) == "a"
    assert decode_text(body) == "aÃ"
    assert decode_text(body, charset="utf-8") == "a\ufffd"


def test_a_zero_byte_tells_binary_from_text() -> None:
    wide = "ab".encode("utf-16-le")
    assert is_binary(wide)
    assert not is_binary(wide, "utf-16le")
    assert is_binary(b"a\0", "utf-8")
    assert not is_binary(b"a" * 2000 + b"\0")


def test_what_nobody_calls_text_must_be_utf_8() -> None:
    assert is_binary(b"caf\xe9", is_typed=False)
    assert not is_binary(b"caf\xe9")
    assert not is_binary("é".encode()[:1], is_typed=False, is_cut=True)
    assert is_binary("é".encode()[:1], is_typed=False)


@given(
    st.binary(max_size=200),
    st.text(max_size=20),
    st.fixed_dictionaries({"is_html": st.booleans(), "is_cut": st.booleans()}),
)
def test_any_bytes_become_text_that_can_be_sent(
    body: bytes, charset: str, facts: dict[str, bool]
) -> None:
    decode_text(body, charset=charset, **facts).encode()
