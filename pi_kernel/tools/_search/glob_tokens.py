"""What a glob consists of. Paths are bytes, so classes and characters are seen as bytes, too."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

__all__ = (
    "ANY",
    "ANY_BYTE",
    "NO_SLASH",
    "RECURSIVE_MIDDLE",
    "RECURSIVE_PREFIX",
    "RECURSIVE_SUFFIX",
    "SEPARATOR",
    "SLASH",
    "STAR",
    "Alternates",
    "CharClass",
    "Literal",
    "Token",
    "Wildcard",
    "encode",
    "literal",
)

SEPARATOR = "/"
SLASH = ord(SEPARATOR)
ANY_BYTE = range(256)
MAX_REMEMBERED_LITERALS = 1024
NO_SLASH = frozenset(ANY_BYTE) - {SLASH}


@dataclass(frozen=True)
class Literal:
    """One character that stands for itself."""

    char: str


@lru_cache(maxsize=MAX_REMEMBERED_LITERALS)
def literal(char: str) -> Literal:
    """Return the token of a character; a large ignore file has few different ones."""
    return Literal(char)


@dataclass(frozen=True)
class Wildcard:
    """``?``, ``*`` or one of the three forms of ``**``, by its regular expression."""

    regex: bytes


@dataclass(frozen=True)
class CharClass:
    """``[...]``: single characters and ranges, as bytes."""

    negated: bool
    ranges: tuple[tuple[int, int], ...]

    def matches(self, byte: int) -> bool:
        """Whether the class takes a byte."""
        return any(low <= byte <= high for low, high in self.ranges) != self.negated

    def edges(self) -> Iterator[int]:
        """Yield the first and last byte of each run of bytes that the class takes."""
        taken = [self.matches(byte) for byte in ANY_BYTE]
        last = ANY_BYTE[-1]
        for byte, is_taken in enumerate(taken):
            if is_taken and not (0 < byte < last and taken[byte - 1] and taken[byte + 1]):
                yield byte


@dataclass(frozen=True)
class Alternates:
    """``{a,b}``."""

    branches: tuple[tuple[Token, ...], ...]


Token = Literal | Wildcard | CharClass | Alternates

ANY = Wildcard(rb"[^/]")
STAR = Wildcard(rb"[^/]*")
RECURSIVE_PREFIX = Wildcard(rb"(?:/?|.*/)")
RECURSIVE_SUFFIX = Wildcard(rb"/.*")
RECURSIVE_MIDDLE = Wildcard(rb"(?:/|/.*/)")


def encode(text: str) -> bytes:
    """Return the bytes of a text; those of a name that is not UTF-8, too."""
    return text.encode("utf-8", "surrogatepass")
