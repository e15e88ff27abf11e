"""Foreign HTML reduced to the tags and styles that a saved notebook keeps.

What a tool's own renderer returns may hold anything: scripts that would run in a trusted notebook,
tags that would end the card around it, styles that would cover the page. The standard library's
parser is not used, because some texts take it minutes.
"""

from __future__ import annotations

import html
import re

from pi_kernel.render import _style as style
from pi_kernel.render._text import attribute_text, escape

__all__ = ("MAX_CHARS", "sanitized")

MAX_CHARS = 200_000
MAX_OPEN_TAGS = 100
MAX_STYLE_CHARS = 2_000
_KEPT = frozenset(
    {"b", "br", "details", "div", "i", "img", "pre", "span", "summary", "table", "tbody", "td"}
    | {"th", "thead", "tr"}
)
_VOID = frozenset({"br", "img"})
_RENAMED = {"strong": "b", "em": "i"}
_HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_BLOCKS = frozenset(
    {"article", "blockquote", "dd", "dl", "dt", "figure", "li", "ol", "p", "section", "ul"}
)
_MONO = frozenset({"code", "kbd", "samp", "tt"})
_RAW = frozenset({"iframe", "noscript", "script", "style", "textarea", "title"})
"""With everything up to their end, whatever that is."""
_DROPPED = frozenset(
    {"audio", "canvas", "head", "math", "object", "select", "svg", "template", "video"}
)
"""With everything inside of them."""
_NAME = re.compile(r"(/?)([A-Za-z][A-Za-z0-9]*)")
_TAG_PART = re.compile(r"[^>\"']*(.?)", re.DOTALL)
_ATTRIBUTE = re.compile(
    r"([^\s\"'<>/=]+)(?:\s*=\s*(?:\"([^\"]*)\"|'([^']*)'|([^\s\"'>]+)))?", re.DOTALL
)
_SOURCE = re.compile(r"data:image/(?:png|jpeg|gif|webp);base64,[A-Za-z0-9+/]+={0,2}")
_STYLES = frozenset(
    {"background", "background-color", "border", "border-bottom", "border-collapse", "border-left"}
    | {"border-radius", "border-right", "border-spacing", "border-top", "color", "font-family"}
    | {"font-size", "font-style", "font-weight", "height", "letter-spacing", "line-height"}
    | {"margin", "margin-bottom", "margin-left", "margin-right", "margin-top", "max-height"}
    | {"max-width", "min-height", "min-width", "opacity", "overflow", "padding", "padding-bottom"}
    | {"padding-left", "padding-right", "padding-top", "text-align", "text-decoration"}
    | {"vertical-align", "white-space", "width", "word-break"}
)
_STYLE_VALUE = re.compile(r"[\w\s#%.,()'+-]{1,120}")
_NO_STYLE_VALUE = re.compile(r"url|expression|attr|var|-\d", re.IGNORECASE)


def sanitized(text: str) -> str | None:
    """Return balanced HTML without anything active; None when it is too long to look at."""
    if len(text) > MAX_CHARS:
        return None
    reader = _Reader(text)
    reader.read()
    return reader.finished()


class _Reader:
    """Goes once over a text; what is never closed ends it, as in a browser."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._parts: list[str] = []
        self._open: list[tuple[str, str]] = []
        """Tags as given and as written."""
        self._dropping: list[str] = []

    def read(self) -> None:
        text, position = self._text, 0
        while position < len(text):
            start = text.find("<", position)
            self._add_text(text[position : start if start >= 0 else len(text)])
            if start < 0:
                return
            position = self._markup(start + 1)

    def _add_text(self, text: str) -> None:
        if text and not self._dropping:
            self._parts.append(escape(html.unescape(text)))

    def _markup(self, start: int) -> int:
        """Read what begins after a ``<``; return where the text goes on."""
        text = self._text
        if text.startswith("!--", start):
            return _after(text, "-->", start)
        if text[start : start + 1] in ("!", "?"):
            return _after(text, ">", start)
        name = _NAME.match(text, start)
        if name is None:
            self._add_text("<")
            return start
        end = _end_of_tag(text, name.end())
        if end is None:
            return len(text)
        tag = name[2].lower()
        if name[1]:
            self._end(tag)
        elif tag in _RAW:
            closing = re.compile(f"</{tag}", re.IGNORECASE).search(text, end)
            return len(text) if closing is None else _after(text, ">", closing.end())
        else:
            self._start(tag, text[name.end() : end - 1])
        return end

    def _start(self, tag: str, inner: str) -> None:
        if self._dropping or tag in _DROPPED:
            if not inner.endswith("/"):
                self._dropping.append(tag)
            return
        written, look = _written(tag)
        if written is None or len(self._open) >= MAX_OPEN_TAGS:
            return
        attributes = _attributes(written, inner, look)
        if written == "img" and "src" not in attributes:
            return
        self._parts.append(f"<{written}{attributes}>")
        if written not in _VOID:
            self._open.append((tag, written))

    def _end(self, tag: str) -> None:
        if self._dropping:
            if tag in self._dropping:
                del self._dropping[_last(self._dropping, tag) :]
            return
        given = [name for name, _ in self._open]
        if tag in given:
            first = _last(given, tag)
            self._parts += [f"</{written}>" for _, written in reversed(self._open[first:])]
            del self._open[first:]

    def finished(self) -> str:
        self._parts += [f"</{written}>" for _, written in reversed(self._open)]
        self._open.clear()
        return "".join(self._parts)


def _after(text: str, mark: str, start: int) -> int:
    found = text.find(mark, start)
    return len(text) if found < 0 else found + len(mark)


def _end_of_tag(text: str, position: int) -> int | None:
    """Return where the text goes on after a tag; a ``>`` in quotes does not end it."""
    while True:
        part = _TAG_PART.match(text, position)
        if part is None or not part[1]:
            return None
        if part[1] == ">":
            return part.end()
        position = text.find(part[1], part.end()) + 1
        if not position:
            return None


def _last(names: list[str], name: str) -> int:
    return len(names) - 1 - names[::-1].index(name)


def _written(tag: str) -> tuple[str | None, str]:
    """Return the tag that is written for a foreign one, and a style that goes with it."""
    if tag in _KEPT:
        return tag, ""
    if tag in _HEADINGS:
        return "b", "display:block"
    if tag in _BLOCKS:
        return "div", "padding:2px 0"
    return ("span", style.MONO) if tag in _MONO else (_RENAMED.get(tag), "")


def _attributes(tag: str, inner: str, look: str) -> str:
    values: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(inner):
        given = match[2] or match[3] or match[4] or ""
        values.setdefault(match[1].lower(), html.unescape(given))
    text = " open" if tag == "details" and "open" in values else ""
    if tag == "img":
        source = values.get("src", "")
        if _SOURCE.fullmatch(source) is None:
            return ""
        text = f' src="{source}" alt="{attribute_text(values.get("alt", ""))}"'
        look = "max-width:100%"
    kept = ";".join(filter(None, (look, _safe_style(values.get("style", "")))))
    return f'{text} style="{kept}"' if kept else text


def _safe_style(given: str) -> str:
    kept: list[str] = []
    for declaration in given[:MAX_STYLE_CHARS].split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip().lower(), value.strip()
        is_safe = _STYLE_VALUE.fullmatch(value) and not _NO_STYLE_VALUE.search(value)
        if name in _STYLES and is_safe:
            kept.append(f"{name}:{value}")
    return ";".join(kept)
