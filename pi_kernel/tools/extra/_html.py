"""HTML as plain text, for reading: headings, lists, tables and links keep a mark of what they were.

Time grows with the length only. The standard library's parser needs a minute for a hostile page of
140 KB (in Python 3.11), and pages come from anybody.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from pi_kernel.tools.extra._html_writer import TextWriter, unescape

__all__ = ("html_to_text",)

TOKENS_BETWEEN_CHECKS = 256

# Possessive throughout: a tag either ends or the text does, and nothing is tried twice.
_TAG = re.compile(
    r"""<(/?)([a-zA-Z][^\s/>]*+)((?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+)>""",
)

_LEFT_OUT = frozenset(("script", "style", "template", "svg", "iframe", "object", "noembed"))
_LEFT_OUT_TO_THE_END = frozenset(("script", "style"))
"""Of these the rest of the page is part when they are not closed."""


def html_to_text(
    page: str,
    *,
    base_url: str,
    max_chars: int,
    check_stop: Callable[[], object] = lambda: None,
) -> str:
    """Return the readable text of a page.

    Args:
        page: HTML, well formed or not.
        base_url: What relative links refer to.
        max_chars: Reading stops once there is more text than this.
        check_stop: Called again and again; raises to stop.

    Returns:
        The text, which is longer than ``max_chars`` when there was more.

    Example:
        >>> page = "<h1>News</h1><p>See <a href=/all>all &amp; more</a>."
        >>> print(html_to_text(page, base_url="https://a.example/x", max_chars=100))
        # News
        <BLANKLINE>
        See [all & more](https://a.example/all).
    """
    writer = TextWriter(base_url)
    position, end = 0, len(page)
    unclosed: set[str] = set()
    n_tokens = 0
    while position < end and writer.n_chars <= max_chars:
        n_tokens += 1
        if n_tokens % TOKENS_BETWEEN_CHECKS == 0:
            check_stop()
        start = page.find("<", position)
        start = end if start < 0 else start
        if start > position:
            writer.text(unescape(page[position:start]))
        position = start
        if position == end:
            break
        tag = _TAG.match(page, position)
        if tag is None:
            position = _after_markup(page, position, writer)
            continue
        position = tag.end()
        closes, name = bool(tag[1]), tag[2].lower()
        if name in _LEFT_OUT:
            if not closes and name not in unclosed:
                position = _after_left_out(page, position, name, unclosed)
        elif closes:
            writer.close(name)
        else:
            writer.open(name, tag[3])
    return writer.finish()


def _after_markup(page: str, position: int, writer: TextWriter) -> int:
    """Return where to go on after a ``<`` that starts no whole tag."""
    following = page[position + 1 : position + 4]
    if following.startswith("!--"):
        end = page.find("-->", position + 2)
        return len(page) if end < 0 else end + 3
    first = following.removeprefix("/")[:1]
    if first.isascii() and first.isalpha():
        return len(page)  # a tag without an end
    if following[:1] in ("!", "?", "/"):
        end = page.find(">", position)
        return len(page) if end < 0 else end + 1
    writer.text("<")
    return position + 1


def _after_left_out(page: str, position: int, name: str, unclosed: set[str]) -> int:
    """Return where to go on after the start tag of an element that is not shown."""
    closing = re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE).search(page, position)
    end = -1 if closing is None else page.find(">", closing.end())
    if end >= 0:
        return end + 1
    if name in _LEFT_OUT_TO_THE_END:
        return len(page)
    unclosed.add(name)  # looking for its end once more would be in vain
    return position
