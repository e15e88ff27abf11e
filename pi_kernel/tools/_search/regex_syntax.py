r"""Parse the regular expressions of ripgrep (Rust's regex-syntax) into a small tree.

Flags are resolved while parsing: the tree knows sets of characters, anchors, series, choices and
repetitions only. Look-around and back-references are refused, and so is what needs a newline or a
NUL byte, because ripgrep searches texts line by line. Errors have ripgrep's words.

Source:
    regex-syntax 0.8.11, ``ast/parse.rs`` and ``hir/translate.rs``; ripgrep 15.2.0, crate
    grep-regex, ``strip.rs`` and ``ban.rs``.
"""

from __future__ import annotations

from dataclasses import replace

from pi_kernel.tools._search.regex_classes import ClassScanner
from pi_kernel.tools._search.regex_error import Span, refused
from pi_kernel.tools._search.regex_escapes import Flags, Primitive
from pi_kernel.tools._search.regex_sets import CharSet, difference
from pi_kernel.tools._search.regex_tree import (
    EMPTY,
    NEWLINE,
    NUL,
    Anchor,
    Chars,
    Choice,
    Look,
    Node,
    Repeat,
    Series,
    needed,
    without_newline,
)

__all__ = ("parse_literal", "parse_regex")

CARRIAGE_RETURN: CharSet = ((13, 13),)
MAX_DEPTH = 250
MAX_COUNT = 2**32 - 1
COUNTS = {"?": (0, 1), "*": (0, None), "+": (1, None)}
FLAG_NAMES = {"i": "ignore_case", "s": "dot_all", "u": "unicode", "R": "crlf", "x": "verbose"}
FLAGS_WITHOUT_EFFECT = "mU"
"""Anchors are those of lines in any case, and how much a repetition takes does not matter."""
MISSING = "repetition operator missing expression"
LOOK_AROUND = ("?=", "?!", "?<=", "?<!")


def parse_regex(pattern: str, *, ignore_case: bool) -> Node:
    """Parse a pattern; no set in the tree has a newline.

    Raises:
        RegexError: If ripgrep would refuse the pattern.
    """
    tree = _Parser(f"(?:{pattern})", Flags(ignore_case=ignore_case)).parse()
    if needed(tree, NUL):
        raise refused("\0")
    if needed(tree, NEWLINE):
        raise refused("\n")
    return without_newline(tree)


def parse_literal(text: str, *, ignore_case: bool) -> Node:
    """Return the tree that matches a text.

    Raises:
        RegexError: If the text has a newline or a NUL byte.
    """
    for byte in ("\n", "\0"):
        if byte in text:
            raise refused(byte)
    flags = Flags(ignore_case=ignore_case)
    return Series(tuple(Chars(flags.fold(((ord(char), ord(char)),))) for char in text))


class _Parser(ClassScanner):
    """Reads groups, choices and repetitions."""

    def __init__(self, pattern: str, flags: Flags) -> None:
        super().__init__(pattern, flags)
        self._names: dict[str, Span] = {}
        self._depth = 0

    def parse(self) -> Node:
        tree = self._choice()
        if not self.is_at_end:
            raise self.error("unopened group", self.here())
        return tree

    def _choice(self) -> Node:
        """Read up to the end of the group; the flags set in it end with it."""
        outer = self.flags
        branches = [self._series()]
        while self.char == "|":
            self.at += 1
            branches.append(self._series())
        self.flags = outer
        return branches[0] if len(branches) == 1 else Choice(tuple(branches))

    def _series(self) -> Node:
        parts: list[Node | None] = []
        """None is a setting of flags."""
        while True:
            self.skip_space()
            match self.char:
                case "" | "|" | ")":
                    found = tuple(part for part in parts if part is not None)
                    return found[0] if len(found) == 1 else Series(found)
                case "(":
                    parts.append(self._group())
                case "[":
                    parts.append(Chars(self.char_class()))
                case "?" | "*" | "+" | "{":
                    self._repeat(parts)
                case _:
                    parts.append(self._primitive())

    def _primitive(self) -> Node:
        flags, char = self.flags, self.char
        if char == "\\":
            return self._node(self.escape())
        self.at += 1
        match char:
            case ".":
                chars = flags.universe
                if not flags.dot_all:
                    chars = difference(chars, NEWLINE)
                    chars = difference(chars, CARRIAGE_RETURN) if flags.crlf else chars
                return Chars(chars)
            case "^":
                return self._look(Anchor.START_CRLF if flags.crlf else Anchor.START)
            case "$":
                return self._look(Anchor.END_CRLF if flags.crlf else Anchor.END)
            case _:
                return self._node(Primitive((self.at - 1, self.at), ord(char)))

    def _node(self, primitive: Primitive) -> Node:
        match primitive.value:
            case int(code):
                return Chars(self.flags.fold(((code, code),)))
            case Anchor() as anchor:
                return self._look(anchor)
            case chars:
                return Chars(chars)

    def _look(self, anchor: Anchor) -> Look:
        return Look(anchor, ascii_words=not self.flags.unicode)

    def _repeat(self, parts: list[Node | None]) -> None:
        start = self.at
        if not parts or parts[-1] is None:
            raise self.error(MISSING, (start, start))
        if self.char == "{":
            low, high = self._counts()
        else:
            low, high = COUNTS[self.char]
            self.at += 1
            self.take("?")
        parts[-1] = EMPTY if high == 0 else Repeat(parts[-1], low, high)

    def _counts(self) -> tuple[int, int | None]:
        start = self.at
        unclosed = "unclosed counted repetition"
        if not self.step():
            raise self.error(unclosed, (start, self.at))
        low, low_span = self._decimal()
        if self.is_at_end:
            raise self.error(unclosed, (start, self.at))
        high: int | None = low
        is_open = False
        if self.char == ",":
            if not self.step():
                raise self.error(unclosed, (start, self.at))
            is_open = self.sees("}")
            if not is_open:
                low = self._counted(low, low_span)
                high = self._counted(*self._decimal())
        low = self._counted(low, low_span)
        if self.char != "}":
            raise self.error(unclosed, (start, self.at))
        self.step()
        self.take("?")
        if is_open:
            return low, None
        if high is not None and low > high:
            raise self.error(
                "invalid repetition count range, the start must be <= the end", (start, self.at)
            )
        return low, high

    def _decimal(self) -> tuple[int | None, Span]:
        while self.char.isspace():
            self.at += 1
        start = self.at
        digits = ""
        while self.char and self.char in "0123456789":
            digits += self.char
            self.step()
        span = start, self.at
        while self.char.isspace():
            self.step()
        if digits and int(digits) > MAX_COUNT:
            raise self.error("decimal literal invalid", span)
        return int(digits) if digits else None, span

    def _counted(self, count: int | None, span: Span) -> int:
        if count is None:
            raise self.error("repetition quantifier expects a valid decimal", span)
        return count

    def _group(self) -> Node | None:
        opened = self.here()
        self.step()
        for prefix in LOOK_AROUND:
            if self.take(prefix):
                raise self.error(
                    "look-around, including look-ahead and look-behind, is not supported",
                    (opened[0], self.at),
                )
        outer, inner = self.flags, self.at
        if self.take("?P<") or self.take("?<"):
            self._name()
        elif self.take("?"):
            if self.is_at_end:
                raise self.error("unclosed group", opened)
            flags = self._flags()
            if self.take(")"):
                if flags is None:
                    raise self.error(MISSING, (inner, inner))
                self.flags = flags
                return None
            self.at += 1  # the colon
            self.flags = flags or outer
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise self.error(
                f"exceed the maximum number of nested parentheses/brackets ({MAX_DEPTH})", opened
            )
        tree = self._choice()
        self._depth -= 1
        self.flags = outer
        if self.is_at_end:
            raise self.error("unclosed group", opened)
        self.at += 1
        return tree

    def _name(self) -> None:
        start = self.at
        while self.char != ">":
            if self.is_at_end:
                raise self.error("unclosed capture group name", (self.at, self.at))
            is_first = self.at == start
            char = self.char
            if not (
                char == "_" or (char.isalpha() if is_first else char.isalnum() or char in ".[]")
            ):
                raise self.error("invalid capture group character", self.here())
            self.at += 1
        span = start, self.at
        name = self.pattern[start : self.at]
        self.at += 1
        if not name:
            raise self.error("empty capture group name", (start, start))
        if name in self._names:
            raise self.error("duplicate capture group name", span, self._names[name])
        self._names[name] = span

    def _flags(self) -> Flags | None:
        """Read flags up to the colon or parenthesis; None when there are none."""
        flags, seen = self.flags, dict[str, Span]()
        while self.char not in (":", ")"):
            char, span = self.char, self.here()
            if char not in FLAG_NAMES and char not in f"{FLAGS_WITHOUT_EFFECT}-":
                raise self.error("unrecognized flag", span)
            if char in seen:
                reason = "flag negation operator repeated" if char == "-" else "duplicate flag"
                raise self.error(reason, span, seen[char])
            if char in FLAG_NAMES:
                flags = replace(flags, **{FLAG_NAMES[char]: "-" not in seen})
            seen[char] = span
            self.at += 1
            if self.is_at_end:
                raise self.error("expected flag but got end of regex", (self.at, self.at))
        if seen and next(reversed(seen)) == "-":
            raise self.error("dangling flag negation operator", seen["-"])
        return flags if seen else None
