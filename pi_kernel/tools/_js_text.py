"""JavaScript's notion of blanks and of text length, where recorded results depend on it.

Python's ``str.rstrip()`` also removes U+0085 and U+001C to U+001F, and keeps U+FEFF.
"""

from __future__ import annotations

__all__ = ("JS_WHITESPACE", "trim_end", "utf16_length")

JS_WHITESPACE = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_UTF16_UNIT_BYTES = 2


def trim_end(text: str) -> str:
    r"""Return the text without the blanks at its end.

    Source:
        ECMAScript, ``String.prototype.trimEnd``.

    Example:
        >>> trim_end("key\u00a0\ufeff \x85")
        'key\xa0\ufeff \x85'
        >>> trim_end("key\x85\u00a0\ufeff ")
        'key\x85'
    """
    return text.rstrip(JS_WHITESPACE)


def utf16_length(text: str) -> int:
    r"""Return the number of UTF-16 units; a character outside the basic plane counts two.

    Example:
        >>> utf16_length("a\U0001f600")
        3
    """
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // _UTF16_UNIT_BYTES
