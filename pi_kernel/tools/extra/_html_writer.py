"""How elements of a page become text: breaks, marks of lists and headings, links."""

from __future__ import annotations

import html
import re
from urllib.parse import urljoin

__all__ = ("TextWriter", "unescape")

MAX_LIST_DEPTH = 8
MAX_LINK_CHARS = 2000

_BLANKS = re.compile(r"[ \t\n\r\f\xa0]+")
_ATTRIBUTE = r"""(?<![^\s/"'])%s\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s>"']++))"""
_HREF = re.compile(_ATTRIBUTE % "href", re.IGNORECASE)
_ALT = re.compile(_ATTRIBUTE % "alt", re.IGNORECASE)

_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_LISTS = frozenset(("ul", "ol", "menu"))
_PARAGRAPHS = frozenset(
    (
        *("p", "pre", "table", "blockquote", "section", "article", "dl", "figure", "hr", "title"),
        *_HEADINGS,
    )
)
_LINES = frozenset(
    (
        *("address", "aside", "body", "caption", "dd", "details", "div", "dt", "fieldset"),
        *("figcaption", "footer", "form", "head", "header", "html", "legend", "li", "main"),
        *("nav", "option", "summary", "tbody", "tfoot", "thead", "tr"),
    )
)
_BREAKING = _LISTS | _PARAGRAPHS | _LINES


def unescape(text: str) -> str:
    """Return the text with its character references replaced."""
    try:
        return html.unescape(text)
    except ValueError:  # a character number of thousands of digits
        return text


class TextWriter:
    """Text on its way out: blanks collapsed, breaks between blocks, never at the start."""

    def __init__(self, base_url: str) -> None:
        self._base_url = base_url
        self._parts: list[str] = []
        self.n_chars = 0
        self._breaks = 0
        self._wants_blank = False
        self._pre_depth = 0
        self._is_pre_start = False
        self._list_depth = 0
        self._mark = ""
        """What the next text starts with: a list's or a heading's mark."""
        self._link: tuple[int, str] | None = None

    def text(self, text: str) -> None:
        """Add text of the page."""
        if self._pre_depth:
            text = text.replace("\r\n", "\n").replace("\r", "\n")
            if self._is_pre_start:
                text = text.removeprefix("\n")
            if text:
                self._write(text)
            return
        text = _BLANKS.sub(" ", text)
        stripped = text.strip(" ")
        if stripped:
            self._wants_blank |= text.startswith(" ")
            self._write(stripped)
            self._wants_blank = text.endswith(" ")
        elif text:
            self._wants_blank = True

    def open(self, name: str, attributes: str) -> None:
        """Start an element."""
        if name in ("br", "hr"):
            self._break(1 if name == "br" else 2)
        elif name == "img":
            alt = _attribute(_ALT, attributes)
            self.text(alt)
        elif name == "a":
            self._end_link()
            url = self._link_url(attributes)
            self._link = None if url is None else (len(self._parts), url)
        elif name in ("td", "th"):
            self._cell()
        elif name in _LISTS:
            self._break(1 if self._list_depth else 2)
            self._list_depth += 1
        else:
            if name == "li":
                self._mark = ""
            self._break_for(name)
            if name == "li":
                indent = min(max(self._list_depth, 1), MAX_LIST_DEPTH) - 1
                self._mark = "  " * indent + "- "
            self._mark = _HEADINGS.get(name, self._mark)
            if name == "pre":
                self._pre_depth += 1
                self._is_pre_start = True

    def close(self, name: str) -> None:
        """End an element."""
        if name == "a":
            self._end_link()
            return
        if name in _BREAKING:
            self._mark = ""
        if name in _LISTS:
            self._list_depth = max(0, self._list_depth - 1)
            self._break(1 if self._list_depth else 2)
        else:
            self._break_for(name)
            if name == "pre":
                self._pre_depth = max(0, self._pre_depth - 1)

    def finish(self) -> str:
        """Return the whole text."""
        self._end_link()
        return "".join(self._parts).rstrip()

    def _break_for(self, name: str) -> None:
        if name in _PARAGRAPHS:
            self._break(2)
        elif name in _LINES:
            self._break(1)

    def _break(self, n_lines: int) -> None:
        self._wants_blank = False
        if not self._mark:  # a paragraph at the start of a list's item stays on the item's line
            self._breaks = max(self._breaks, n_lines)

    def _cell(self) -> None:
        if self._parts and not self._breaks:
            self._wants_blank = True
            self._write("|")
            self._wants_blank = True

    def _write(self, text: str) -> None:
        if self._parts:
            if self._breaks:
                self._add("\n" * (self._breaks - self._parts[-1].endswith("\n")))
            elif self._wants_blank:
                self._add(" ")
        if self._mark:
            self._add(self._mark)
        self._add(text)
        self._breaks, self._wants_blank, self._mark, self._is_pre_start = 0, False, "", False

    def _add(self, part: str) -> None:
        self._parts.append(part)
        self.n_chars += len(part)

    def _link_url(self, attributes: str) -> str | None:
        href = _attribute(_HREF, attributes).strip()
        if not href or href.startswith("#") or len(href) > MAX_LINK_CHARS:
            return None
        try:
            url = urljoin(self._base_url, href)
        except ValueError:
            return None
        is_web = url.startswith(("http://", "https://"))
        return url if is_web and not _BLANKS.search(url) else None

    def _end_link(self) -> None:
        """Put the mark of a link around what was written since it began."""
        if self._link is None:
            return
        (start, url), self._link = self._link, None
        for index in range(start, len(self._parts)):
            if self._parts[index].strip(" \n#-|"):
                self._parts.insert(index, "[")
                self._parts.append(f"]({url})")
                self.n_chars += len(url) + len("[]()")
                return


def _attribute(pattern: re.Pattern[str], attributes: str) -> str:
    found = pattern.search(attributes)
    return unescape(next(filter(None, found.groups()), "")) if found else ""
