"""The tree of a regular expression, after all flags were resolved."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto

from pi_kernel.tools._search.regex_sets import CharSet, difference

__all__ = (
    "EMPTY",
    "NEWLINE",
    "NUL",
    "Anchor",
    "Chars",
    "Choice",
    "Look",
    "Node",
    "Repeat",
    "Series",
    "needed",
    "without_newline",
)

NEWLINE: CharSet = ((10, 10),)
NUL: CharSet = ((0, 0),)


class Anchor(Enum):
    """Places in a line that take no characters."""

    START = auto()
    END = auto()
    START_CRLF = auto()
    END_CRLF = auto()
    WORD = auto()
    NOT_WORD = auto()
    WORD_START = auto()
    WORD_END = auto()
    WORD_START_HALF = auto()
    WORD_END_HALF = auto()


@dataclass(frozen=True)
class Chars:
    """One character of a set; the empty set never matches."""

    chars: CharSet


@dataclass(frozen=True)
class Look:
    """An anchor; ``ascii_words`` says what a word is made of."""

    anchor: Anchor
    ascii_words: bool


@dataclass(frozen=True)
class Series:
    """One after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True)
class Choice:
    """Any one of them."""

    branches: tuple[Node, ...]


@dataclass(frozen=True)
class Repeat:
    """The same several times; ``high`` None has no end."""

    node: Node
    low: int
    high: int | None


Node = Chars | Look | Series | Choice | Repeat
EMPTY = Series(())


def needed(node: Node, byte: CharSet) -> bool:
    """Whether a part of the tree is this one character and nothing else."""
    match node:
        case Chars(chars):
            return chars == byte
        case Series(parts) | Choice(parts):
            return any(needed(part, byte) for part in parts)
        case Repeat(inner):
            return needed(inner, byte)
        case _:
            return False


def without_newline(node: Node) -> Node:
    """Return the tree with the newline taken out of every set."""
    match node:
        case Chars(chars):
            return Chars(difference(chars, NEWLINE))
        case Series(parts):
            return Series(tuple(map(without_newline, parts)))
        case Choice(branches):
            return Choice(tuple(map(without_newline, branches)))
        case Repeat(inner, low, high):
            return Repeat(without_newline(inner), low, high)
        case _:
            return node
