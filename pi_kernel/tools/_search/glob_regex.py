"""Write a glob as a regular expression on bytes, and tell how long `re` may take with it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pi_kernel.tools._search.glob_tokens import (
    ANY,
    SEPARATOR,
    SLASH,
    STAR,
    Alternates,
    CharClass,
    Literal,
    Token,
    Wildcard,
    encode,
)

__all__ = ("can_match_slash", "to_regex", "ways")

WAYS_OF_A_WILDCARD = 100
"""For a path as they are; a longer one has more places where a wildcard may end."""


def to_regex(tokens: Sequence[Token]) -> bytes:
    """Return the expression; a path must match it from end to end."""
    return b"".join(
        _token_regex(part) if isinstance(part, Token) else part.regex for part in _parts(tokens)
    )


@dataclass(frozen=True)
class _FirstFit:
    """A star and what comes before the next one: the first place where that fits will do.

    Nothing needs to be tried again, so `*a*a*a*b` stays linear.
    """

    between: tuple[Token, ...]

    @property
    def regex(self) -> bytes:
        return rb"(?>[^/]*?" + b"".join(map(_token_regex, self.between)) + rb")"


def _parts(tokens: Sequence[Token]) -> Iterator[Token | _FirstFit]:
    """Yield the tokens of a series; several stars in a row are one."""
    index = 0
    while index < len(tokens):
        token = tokens[index]
        index += 1
        if token != STAR:
            yield token
            continue
        while index < len(tokens) and tokens[index] == STAR:
            index += 1
        end = index
        while end < len(tokens) and _is_one_plain_byte(tokens[end]):
            end += 1
        if index < end < len(tokens) and tokens[end] == STAR:
            yield _FirstFit(tuple(tokens[index:end]))
            index = end
        else:
            yield STAR


def ways(tokens: Sequence[Token]) -> float:
    """Return about how many ways there are to match a path, each of which `re` may try."""
    product = 1.0
    for part in _parts(tokens):
        match part:
            case Wildcard() if part != ANY:
                product *= WAYS_OF_A_WILDCARD
            case Alternates(branches):
                product *= sum(map(ways, branches)) or 1
            case _:
                pass
    return product


def _token_regex(token: Token) -> bytes:
    match token:
        case Literal(char):
            return re.escape(encode(char))
        case Wildcard(regex):
            return regex
        case CharClass(negated, ranges):
            body = b"".join(
                b"\\x%02x" % low if low == high else b"\\x%02x-\\x%02x" % (low, high)
                for low, high in ranges
            )
            return b"[" + (b"^" if negated else b"") + body + b"]"
        case Alternates(branches):
            parts = [part for branch in branches if (part := to_regex(branch))]
            return b"(?:" + b"|".join(parts) + b")" if parts else b""


def _is_one_plain_byte(token: Token) -> bool:
    """Whether the token takes a fixed number of bytes and no slash."""
    match token:
        case Literal(char):
            return char != SEPARATOR
        case CharClass():
            return not token.matches(SLASH)
        case _:
            return token == ANY


def can_match_slash(token: Token) -> bool:
    """Whether what the token takes may have a slash in it."""
    match token:
        case Alternates(branches):
            return any(can_match_slash(inner) for branch in branches for inner in branch)
        case Wildcard():
            return token not in (ANY, STAR)
        case _:
            return not _is_one_plain_byte(token)
