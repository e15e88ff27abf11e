"""The glob dialect of ripgrep and fd (Rust's globset), translated to regular expressions on bytes.

Paths are bytes: names need not be UTF-8. ``*`` and ``?`` stop at ``/``; ``**`` is special only as
a whole path component; braces nest; an empty alternative is dropped.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Protocol

from pi_kernel.tools._search.automaton import Automaton, Graph

__all__ = ("Glob", "GlobError", "PathTest", "parse_glob")

SEPARATOR = "/"
MAX_NESTED_BRACES = 50
"""What Python's compiler of regular expressions can take for sure."""
MAX_WAYS = 100_000
"""How many ways to match a path `re` may have to try; with more, an `Automaton` tries all at once.
"""
WAYS_OF_A_WILDCARD = 100
"""For a path as they are; a longer one has more places where a wildcard may end."""
MAX_NODES = 20_000
"""An automaton with more would take too long for a step."""
_SLASH = ord("/")
_LAST_BYTE = 0xFF
_ANY_BYTE = range(_LAST_BYTE + 1)
_NO_SLASH = frozenset(_ANY_BYTE) - {_SLASH}


class GlobError(ValueError):
    """A glob that cannot be read; the text is that of ripgrep and fd.

    Source:
        globset 0.4, ``Error`` and ``ErrorKind``.
    """

    def __init__(self, glob: str, reason: str) -> None:
        super().__init__(f"error parsing glob '{glob}': {reason}")
        self.reason = reason


@dataclass(frozen=True)
class Literal:
    """One character that stands for itself."""

    char: str


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
        taken = [self.matches(byte) for byte in range(_LAST_BYTE + 1)]
        for byte, is_taken in enumerate(taken):
            if is_taken and not (0 < byte < _LAST_BYTE and taken[byte - 1] and taken[byte + 1]):
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
        return _to_regex(self.tokens)

    def name_pattern(self) -> bytes | None:
        """Return the regular expression for base names, when nothing else of a path counts."""
        rest = self.tokens[1:]
        if not self.is_recursive_prefix or not rest or any(_can_match_slash(t) for t in rest):
            return None
        return _to_regex(rest)

    @property
    def is_quick(self) -> bool:
        """Whether `re` needs little time for any path."""
        return _ways(self.tokens) <= MAX_WAYS

    def compile(self, *, ignore_case: bool = False) -> PathTest:
        """Compile for paths; case is that of ASCII only.

        Raises:
            GlobError: If the glob is too large for Python.
        """
        if not self.is_quick:
            return self._automaton(ignore_case=ignore_case)
        flags = re.DOTALL | (re.IGNORECASE if ignore_case else re.NOFLAG)
        try:
            return re.compile(self.pattern(), flags)
        except (re.error, RecursionError, OverflowError) as error:
            raise GlobError(self.text, f"cannot be compiled: {error}") from error

    def _automaton(self, *, ignore_case: bool) -> Automaton:
        graph = Graph()
        start = _add_series(graph, self.tokens, Graph.END, ignore_case=ignore_case)
        if len(graph.after) > MAX_NODES:
            raise GlobError(self.text, "cannot be compiled: it has too many alternatives")
        return Automaton(graph, start)


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
                self._push(Literal(char))
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
        self._push(Literal(self._text[self._at]))
        self._at += 1

    def _comma(self) -> None:
        if self._starts:
            self._branches.append([])
        else:
            self._push(Literal(","))

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
                self._push(Literal("["))
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
            first, last = _encode(low), _encode(high)
            if low == high:
                yield from ((byte, byte) for byte in first)
                continue
            if last[0] < first[-1]:
                raise self._error(f"invalid range; '{low}' > '{high}'")
            yield from ((byte, byte) for byte in first[:-1])
            yield first[-1], last[0]
            yield from ((byte, byte) for byte in last[1:])


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _to_regex(tokens: Sequence[Token]) -> bytes:
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


def _ways(tokens: Sequence[Token]) -> float:
    """Return about how many ways there are to match a path, each of which `re` may try."""
    ways = 1.0
    for part in _parts(tokens):
        match part:
            case Wildcard() if part != ANY:
                ways *= WAYS_OF_A_WILDCARD
            case Alternates(branches):
                ways *= sum(map(_ways, branches)) or 1
            case _:
                pass
    return ways


def _add_series(graph: Graph, tokens: Sequence[Token], after: int, *, ignore_case: bool) -> int:
    """Add the nodes of a series before a node; return the first one."""

    def add(after: int, token: Token) -> int:
        return _add_token(graph, token, after, ignore_case=ignore_case)

    if tuple(tokens) == (RECURSIVE_PREFIX,):
        return graph.loop(_ANY_BYTE, after)
    return reduce(add, reversed(tokens), after)


def _add_token(graph: Graph, token: Token, after: int, *, ignore_case: bool) -> int:
    slash = (_SLASH,)
    match token:
        case Literal(char):
            for byte in reversed(_encode(char)):
                after = graph.take(_with_cases({byte}) if ignore_case else {byte}, after)
            return after
        case CharClass(negated, _):
            listed = {byte for byte in _ANY_BYTE if token.matches(byte) != negated}
            if ignore_case:
                listed = _with_cases(listed)
            return graph.take(set(_ANY_BYTE) - listed if negated else listed, after)
        case Alternates(branches):
            starts = [
                _add_series(graph, branch, after, ignore_case=ignore_case)
                for branch in branches
                if _to_regex(branch)
            ]
            return graph.fork(*starts) if starts else after
        case _ if token == ANY:
            return graph.take(_NO_SLASH, after)
        case _ if token == STAR:
            return graph.loop(_NO_SLASH, after)
        case _ if token == RECURSIVE_SUFFIX:
            return graph.take(slash, graph.loop(_ANY_BYTE, after))
        case _:
            rest = graph.fork(after, graph.loop(_ANY_BYTE, graph.take(slash, after)))
            return rest if token == RECURSIVE_PREFIX else graph.take(slash, rest)


def _with_cases(listed: set[int]) -> set[int]:
    return listed | {byte for one in listed for byte in (bytes((one,)).swapcase())}


def _token_regex(token: Token) -> bytes:
    match token:
        case Literal(char):
            return re.escape(_encode(char))
        case Wildcard(regex):
            return regex
        case CharClass(negated, ranges):
            body = b"".join(
                b"\\x%02x" % low if low == high else b"\\x%02x-\\x%02x" % (low, high)
                for low, high in ranges
            )
            return b"[" + (b"^" if negated else b"") + body + b"]"
        case Alternates(branches):
            parts = [part for branch in branches if (part := _to_regex(branch))]
            return b"(?:" + b"|".join(parts) + b")" if parts else b""


def _is_one_plain_byte(token: Token) -> bool:
    """Whether the token takes a fixed number of bytes and no slash."""
    match token:
        case Literal(char):
            return char != SEPARATOR
        case CharClass():
            return not token.matches(_SLASH)
        case _:
            return token == ANY


def _can_match_slash(token: Token) -> bool:
    match token:
        case Alternates(branches):
            return any(_can_match_slash(inner) for branch in branches for inner in branch)
        case Wildcard():
            return token not in (ANY, STAR)
        case _:
            return not _is_one_plain_byte(token)


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
