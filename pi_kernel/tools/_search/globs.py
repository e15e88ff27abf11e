"""The glob dialect of ripgrep and fd (Rust's globset).

Paths are bytes: names need not be UTF-8. ``*`` and ``?`` stop at ``/``; ``**`` is special only as
a whole path component; braces nest; an empty alternative is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from pi_kernel.tools._search.glob_automaton import to_automaton
from pi_kernel.tools._search.glob_regex import can_match_slash, to_regex, ways
from pi_kernel.tools._search.glob_tokens import (
    ANY,
    RECURSIVE_MIDDLE,
    RECURSIVE_PREFIX,
    RECURSIVE_SUFFIX,
    SEPARATOR,
    STAR,
    Alternates,
    CharClass,
    Literal,
    Token,
    encode,
    literal,
)

__all__ = ("Glob", "GlobError", "PathTest", "parse_glob")

MAX_NESTED_BRACES = 50
"""What Python's compiler of regular expressions can take for sure."""
MAX_WAYS = 100_000
"""How many ways to match a path `re` may have to try. With more, an automaton tries all at once."""


class GlobError(ValueError):
    """A glob that cannot be read; the text is that of ripgrep and fd.

    Source:
        globset 0.4, ``Error`` and ``ErrorKind``.
    """

    def __init__(self, glob: str, reason: str) -> None:
        super().__init__(f"error parsing glob '{glob}': {reason}")
        self.reason = reason


class PathTest(Protocol):
    """What a glob is compiled to."""

    def fullmatch(self, path: bytes, /) -> object | None:
        """Return None when the path does not match from end to end."""
        ...


@dataclass(frozen=True)
class Glob:
    """A parsed glob."""

    text: str
    tokens: tuple[Token, ...]

    @property
    def is_recursive_prefix(self) -> bool:
        """Whether it starts with ``**/`` or is ``**``: then it may match at any depth."""
        return self.tokens[:1] == (RECURSIVE_PREFIX,)

    @property
    def has_uppercase(self) -> bool:
        """Whether fd's smart case takes it for case-sensitive.

        Source:
            fd 10.2.0, ``hir_has_uppercase_char``: literals and the ends of class ranges.
        """
        return _has_uppercase(self.tokens)

    def pattern(self) -> bytes:
        """Return the regular expression; a path must match it from end to end."""
        if self.tokens == (RECURSIVE_PREFIX,):
            return rb".*"
        return to_regex(self.tokens)

    def for_names(self) -> Glob | None:
        """Return the glob for base names, when nothing else of a path counts."""
        rest = self.tokens[1:]
        if not self.is_recursive_prefix or not rest or any(map(can_match_slash, rest)):
            return None
        return Glob(self.text, rest)

    @property
    def is_quick(self) -> bool:
        """Whether `re` needs little time for any path."""
        return ways(self.tokens) <= MAX_WAYS

    def compile(self, *, ignore_case: bool = False) -> PathTest:
        """Compile for paths; case is that of ASCII only.

        Raises:
            GlobError: If the glob is too large for Python.
        """
        flags = re.DOTALL | (re.IGNORECASE if ignore_case else re.NOFLAG)
        try:
            if not self.is_quick:
                return to_automaton(self.tokens, ignore_case=ignore_case)
            return re.compile(self.pattern(), flags)
        except (re.error, RecursionError, OverflowError) as error:
            raise GlobError(self.text, f"cannot be compiled: {error}") from error


def parse_glob(
    text: str, *, allow_unclosed_class: bool = False, skip_unopened_brace: bool = False
) -> Glob:
    """Parse a glob.

    Args:
        text: The glob.
        allow_unclosed_class: Take a ``[`` that is never closed for itself, as ignore files do.
        skip_unopened_brace: Leave out a ``}`` that closes nothing, as fd does.

    Raises:
        GlobError: If the glob is not valid.

    Source:
        globset 0.4.19 (ripgrep 15.2.0), ``Parser``; for the brace 0.4.14 (fd 10.2.0).
    """
    parser = _Parser(
        text, allow_unclosed_class=allow_unclosed_class, skip_unopened_brace=skip_unopened_brace
    )
    return Glob(text, parser.parse())


class _Parser:
    """Reads a glob once from left to right. ``_branches`` holds one token list an open branch."""

    def __init__(self, text: str, *, allow_unclosed_class: bool, skip_unopened_brace: bool) -> None:
        self._text = text
        self._allow_unclosed_class = allow_unclosed_class
        self._skip_unopened_brace = skip_unopened_brace
        self._at = 0
        self._starts: list[int] = []
        """Where in the branches each open brace began."""
        self._branches: list[list[Token]] = [[]]
        self._special: dict[str, Callable[[], None]] = {
            "?": lambda: self._push(ANY),
            "*": self._star,
            "[": self._char_class,
            "{": self._open_braces,
            "}": self._close_braces,
            ",": self._comma,
            "\\": self._escape,
        }

    def parse(self) -> tuple[Token, ...]:
        while self._at < len(self._text):
            char = self._text[self._at]
            self._at += 1
            special = self._special.get(char)
            if special is not None:
                special()
            else:
                self._push(literal(char))
        if self._starts:
            raise self._error(
                "unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"
            )
        return tuple(self._branches[0])

    def _error(self, reason: str) -> GlobError:
        return GlobError(self._text, reason)

    def _push(self, *tokens: Token) -> None:
        self._branches[-1].extend(tokens)

    def _peek(self) -> str:
        return self._text[self._at : self._at + 1]

    def _escape(self) -> None:
        if self._at == len(self._text):
            raise self._error("dangling '\\'")
        self._push(literal(self._text[self._at]))
        self._at += 1

    def _comma(self) -> None:
        if self._starts:
            self._branches.append([])
        else:
            self._push(literal(","))

    def _open_braces(self) -> None:
        if len(self._starts) == MAX_NESTED_BRACES:
            raise self._error(f"more than {MAX_NESTED_BRACES} nested alternate groups")
        self._starts.append(len(self._branches))
        self._branches.append([])

    def _close_braces(self) -> None:
        if not self._starts:
            if self._skip_unopened_brace:
                self._push(Alternates(()))
                return
            raise self._error(
                "unopened alternate group; missing '{' (maybe escape '}' with '[}]'?)"
            )
        start = self._starts.pop()
        branches = tuple(tuple(branch) for branch in self._branches[start:])
        del self._branches[start:]
        self._push(Alternates(branches))

    def _star(self) -> None:
        previous = self._text[self._at - 2 : self._at - 1]
        if self._peek() != "*":
            self._push(STAR)
            return
        self._at += 1
        following = self._peek()
        tokens = self._branches[-1]
        if not tokens:
            if following in ("", SEPARATOR):
                self._push(RECURSIVE_PREFIX)
                self._at += 1
            else:
                self._push(STAR, STAR)
            return
        in_braces = len(self._branches) > 1
        if previous != SEPARATOR and not (in_braces and previous in (",", "{")):
            self._push(STAR, STAR)
            return
        if following == "" or (in_braces and following in (",", "}")):
            is_suffix = True
        elif following == SEPARATOR:
            is_suffix = False
            self._at += 1
        else:
            self._push(STAR, STAR)
            return
        last = tokens.pop()
        if last in (RECURSIVE_PREFIX, RECURSIVE_SUFFIX):
            self._push(last)
        else:
            self._push(RECURSIVE_SUFFIX if is_suffix else RECURSIVE_MIDDLE)

    def _char_class(self) -> None:
        text, at = self._text, self._at
        negated = text[at : at + 1] in ("!", "^")
        at += negated
        pairs: list[tuple[str, str]] = []
        is_first, in_range = True, False
        while True:
            if at >= len(text):
                if not self._allow_unclosed_class:
                    raise self._error("unclosed character class; missing ']'")
                self._push(literal("["))
                return
            char = text[at]
            at += 1
            if char == "]" and not is_first:
                break
            if in_range:
                low = pairs[-1][0]
                if char < low:
                    raise self._error(f"invalid range; '{low}' > '{char}'")
                pairs[-1] = (low, char)
                in_range = False
            elif char == "-" and not is_first:
                in_range = True
            else:
                pairs.append((char, char))
            is_first = False
        if in_range:
            pairs.append(("-", "-"))
        self._at = at
        self._push(CharClass(negated, tuple(self._byte_ranges(pairs))))

    def _byte_ranges(self, pairs: Sequence[tuple[str, str]]) -> Iterator[tuple[int, int]]:
        """Yield the ranges in bytes; a character of several bytes counts as each of them.

        This is globset's rule: its classes match one byte.
        """
        for low, high in pairs:
            first, last = encode(low), encode(high)
            if low == high:
                yield from ((byte, byte) for byte in first)
                continue
            if last[0] < first[-1]:
                raise self._error(f"invalid range; '{low}' > '{high}'")
            yield from ((byte, byte) for byte in first[:-1])
            yield first[-1], last[0]
            yield from ((byte, byte) for byte in last[1:])


def _has_uppercase(tokens: Sequence[Token]) -> bool:
    for token in tokens:
        match token:
            case Literal(char):
                found = char.isupper()
            case CharClass():
                found = any(chr(edge).isupper() for edge in token.edges())
            case Alternates(branches):
                found = any(map(_has_uppercase, branches))
            case _:
                found = False
        if found:
            return True
    return False
