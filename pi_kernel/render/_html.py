"""The pieces that static HTML is put together from, and the room that they share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from pi_kernel.render import _style as style
from pi_kernel.render._text import escape

__all__ = ("Body", "Room", "div", "fold", "mono", "muted", "pre", "span", "utf8_bytes")


def utf8_bytes(text: str) -> int:
    """Return the size in UTF-8; a lone surrogate counts as three bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def span(look: str, inner: str) -> str:
    """Return inline HTML with a style."""
    return f'<span style="{look}">{inner}</span>'


def div(look: str, inner: str) -> str:
    """Return a block of HTML with a style."""
    return f'<div style="{look}">{inner}</div>'


def mono(text: str, *, bold: bool = False) -> str:
    """Return a text of a machine, inline."""
    return span(f"{style.MONO};font-weight:bold" if bold else style.MONO, escape(text))


def muted(text: str) -> str:
    """Return a text that steps back."""
    return span(style.MUTED, escape(text))


def pre(lines: Iterable[str], look: str = style.PRE) -> str:
    """Return lines of HTML as preformatted text."""
    inner = "\n".join(lines)
    # Parsers drop a newline right after the tag.
    return f'<pre style="{look}">{chr(10) if inner.startswith(chr(10)) else ""}{inner}</pre>'


def fold(label: str, inner: str) -> str:
    """Return HTML that is shut until somebody opens it."""
    return f'<details><summary style="{style.FOLD}">{escape(label)}</summary>{inner}</details>'


class Room:
    """How many bytes of HTML may still be added."""

    def __init__(self, n_bytes: int) -> None:
        self.left = n_bytes

    def take(self, html: str) -> bool:
        """Whether the HTML fits; if so its bytes are used up."""
        used = utf8_bytes(html)
        if used > self.left:
            return False
        self.left -= used
        return True

    def take_change(self, before: str, after: str) -> bool:
        """Whether HTML that is counted already may become longer."""
        used = utf8_bytes(after) - utf8_bytes(before)
        if used > self.left:
            return False
        self.left -= used
        return True

    def share(self, n_bytes: int) -> Room:
        """Return a room of at most that many bytes; `merge` gives back what it did not use."""
        part = Room(max(0, min(n_bytes, self.left)))
        self.left -= part.left
        return part

    def merge(self, part: Room) -> None:
        """Take back what is left of a share."""
        self.left += part.left
        part.left = 0


@dataclass(slots=True)
class Body:
    """What a card shows below its line, and what it says in words."""

    html: str = ""
    images: str = ""
    """Shown first; they have a limit of their own."""
    facts: list[str] = field(default_factory=list[str])
    """Short texts for the card's line, such as ``13 lines``."""
    foot: list[str] = field(default_factory=list[str])
    """Sentences below the body."""
    word: str | None = None
    """Takes the place of ``ok``."""
    counts: str = ""
    """A fact that stands beside the arguments."""
    shows_arguments: bool = False
    """Whether the body has all of the arguments."""
    shows_structured: bool = False
    """Whether the body is the structured content, or all that it says."""
    shows_details: bool = False
    """Whether the body has what the details say."""
