"""Foreign HTML reduced to the tags and styles that a saved notebook keeps.

What a tool's own renderer returns may hold anything: scripts that would run in a trusted notebook,
tags that would end the card around it, styles that would cover the page.
"""

from __future__ import annotations

import re
from html.parser import HTMLParser

from pi_kernel.render import _style as style
from pi_kernel.render._text import attribute_text, escape

__all__ = ("MAX_CHARS", "sanitized")

MAX_CHARS = 200_000
MAX_OPEN_TAGS = 100
_KEPT = frozenset(
    {"b", "br", "details", "div", "i", "img", "pre", "span", "summary", "table", "tbody", "td"}
    | {"th", "thead", "tr"}
)
_VOID = frozenset({"br", "img"})
_RENAMED = {"strong": "b", "em": "i", "h1": "b", "h2": "b", "h3": "b", "h4": "b", "h5": "b"}
_BLOCKS = frozenset(
    {"p", "li", "ul", "ol", "section", "article", "figure", "blockquote", "dl", "dd"}
)
_MONO = frozenset({"code", "kbd", "samp", "tt"})
_DROPPED = frozenset(
    {"script", "style", "template", "iframe", "object", "svg", "math", "noscript"}
    | {"head", "title", "textarea", "select", "video", "audio", "canvas"}
)
"""With everything inside."""
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
_NO_VALUE = re.compile(r"url|expression|attr|var|-\d", re.IGNORECASE)


def sanitized(html: str) -> str | None:
    """Return balanced HTML without anything active; None when it is too long to look at."""
    if len(html) > MAX_CHARS:
        return None
    parser = _Parser()
    parser.feed(html)
    parser.close()
    return parser.finished()


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._parts: list[str] = []
        self._open: list[tuple[str, str]] = []
        """Tags as given and as written."""
        self._dropping: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "embed":  # has no end
            return
        if self._dropping or tag in _DROPPED:
            self._dropping.append(tag)
            return
        if len(self._open) >= MAX_OPEN_TAGS:
            return
        written, look = _written(tag)
        if written is None:
            return
        values = dict(attrs)
        text = _attributes(written, values, look)
        if written == "img" and "src" not in text:
            return
        self._parts.append(f"<{written}{text}>")
        if written not in _VOID:
            self._open.append((tag, written))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            self.handle_starttag(tag, attrs)
        elif tag not in _DROPPED:
            self.handle_starttag(tag, attrs)
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        if self._dropping:
            if tag in self._dropping:
                del self._dropping[_last(self._dropping, tag) :]
            return
        given = [name for name, _ in self._open]
        if tag in given:
            first = _last(given, tag)
            self._parts += [f"</{written}>" for _, written in reversed(self._open[first:])]
            del self._open[first:]

    def handle_data(self, data: str) -> None:
        if not self._dropping:
            self._parts.append(escape(data))

    def finished(self) -> str:
        self._parts += [f"</{written}>" for _, written in reversed(self._open)]
        self._open.clear()
        return "".join(self._parts)


def _last(names: list[str], name: str) -> int:
    return len(names) - 1 - names[::-1].index(name)


def _written(tag: str) -> tuple[str | None, str]:
    """Return the tag that is written for a foreign one, and a style that goes with it."""
    if tag in _KEPT:
        return tag, ""
    if tag in _RENAMED:
        return _RENAMED[tag], "display:block" if tag.startswith("h") else ""
    if tag in _BLOCKS:
        return "div", "padding:2px 0"
    return ("span", style.MONO) if tag in _MONO else (None, "")


def _attributes(tag: str, values: dict[str, str | None], look: str) -> str:
    text = " open" if tag == "details" and "open" in values else ""
    if tag == "img":
        source = values.get("src") or ""
        if _SOURCE.fullmatch(source) is None:
            return ""
        text = f' src="{source}" alt="{attribute_text(values.get("alt") or "")}"'
        look = "max-width:100%"
    kept = ";".join(filter(None, (look, _safe_style(values.get("style") or ""))))
    return f'{text} style="{kept}"' if kept else text


def _safe_style(given: str) -> str:
    kept: list[str] = []
    for declaration in given[:2_000].split(";"):
        name, _, value = declaration.partition(":")
        name, value = name.strip().lower(), value.strip()
        if name in _STYLES and _STYLE_VALUE.fullmatch(value) and not _NO_VALUE.search(value):
            kept.append(f"{name}:{value}")
    return ";".join(kept)
