"""From bytes to text: which encoding they are in, and whether they are text at all."""

from __future__ import annotations

import codecs
import re

__all__ = ("charset_of_header", "decode_text", "is_binary")

BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it starts with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
SNIFFED_BYTES = 1024
MAX_LABEL_CHARS = 40

_HEADER_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)
_META_CHARSET = re.compile(
    rb"""<meta[^>]{0,300}charset\s{0,9}=\s{0,9}["']?([\w:.-]+)""", re.IGNORECASE
)
_WIDE = ("utf-16", "utf-32")

# Only these: Python has codecs that take time squared (idna, punycode) or are no encoding of text.
_CODECS = frozenset(
    (
        *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"),
        *(f"cp{number}" for number in (437, 850, 852, 855, 866, 874, 932, 949, *range(1250, 1259))),
        *(f"iso8859-{number}" for number in range(1, 17)),
        *("koi8-r", "koi8-u", "mac-roman", "mac-cyrillic", "tis-620"),
        *("gb2312", "gbk", "gb18030", "big5", "big5hkscs"),
        *("euc_jp", "shift_jis", "iso2022_jp", "euc_kr"),
    )
)
# As browsers read them: what says Latin-1 or ASCII is in truth Windows-1252.
_READ_AS = {"ascii": "cp1252", "iso8859-1": "cp1252"}
_FALLBACK = "cp1252"


def charset_of_header(content_type: str) -> str | None:
    """Return the charset that a Content-Type names, if it does.

    Example:
        >>> charset_of_header('text/html; charset="UTF-8"')
        'UTF-8'
    """
    found = _HEADER_CHARSET.search(content_type)
    return found[1] if found else None


def is_binary(
    body: bytes, charset: str | None = None, *, is_typed: bool = True, is_cut: bool = False
) -> bool:
    """Whether bytes that should be text are not: a zero byte near the start, in no wide encoding.

    Args:
        body: The bytes.
        charset: What the response's header says.
        is_typed: False: nobody said that it is text; then it must be UTF-8.
        is_cut: Whether the end is missing, so that it may be inside a character.

    Example:
        >>> is_binary(b"ab"), is_binary(bytes(2))
        (False, True)
    """
    if any(body.startswith(mark) for mark, _ in BYTE_ORDER_MARKS):
        return False
    if b"\0" in body[:SNIFFED_BYTES]:
        return not (_codec(charset) or "").startswith(_WIDE)
    return not is_typed and not _is_utf_8(body, is_cut=is_cut)


def decode_text(
    body: bytes, *, charset: str | None = None, is_html: bool = False, is_cut: bool = False
) -> str:
    r"""Return the text; what is not valid in its encoding becomes U+FFFD.

    A byte order mark counts most, then the charset, then what HTML says of itself. Without any of
    them, or when there is no such encoding, text is UTF-8 if it is valid, else Windows-1252.

    Args:
        body: The bytes.
        charset: What the response's header says.
        is_html: Whether to look for a ``meta`` element.
        is_cut: Whether the end is missing, so that it may be inside a character.

    Example:
        >>> decode_text(b"caf\xe9"), decode_text(b"caf\xc3\xa9")
        ('café', 'café')
    """
    for mark, codec in BYTE_ORDER_MARKS:
        if body.startswith(mark):
            return _decoded(body[len(mark) :], codec, is_cut=is_cut)
    declared = _codec(charset) or (_codec_of_meta(body) if is_html else None)
    if declared is None:
        declared = "utf-8" if _is_utf_8(body, is_cut=is_cut) else _FALLBACK
    return _decoded(body, declared, is_cut=is_cut)


def _codec(label: str | None) -> str | None:
    """Return the codec for a label; None if there is none that we use."""
    if not label or len(label) > MAX_LABEL_CHARS:
        return None
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return None
    name = _READ_AS.get(name, name)
    return name if name in _CODECS else None


def _codec_of_meta(body: bytes) -> str | None:
    found = _META_CHARSET.search(body[:SNIFFED_BYTES])
    codec = _codec(found[1].decode("ascii", "replace")) if found else None
    # A meta element that can be read as ASCII is not in UTF-16.
    return "utf-8" if codec is not None and codec.startswith(_WIDE) else codec


def _is_utf_8(body: bytes, *, is_cut: bool) -> bool:
    try:
        codecs.getincrementaldecoder("utf-8")().decode(body, final=not is_cut)
    except UnicodeDecodeError:
        return False
    return True


def _decoded(body: bytes, codec: str, *, is_cut: bool) -> str:
    return codecs.getincrementaldecoder(codec)("replace").decode(body, final=not is_cut)
