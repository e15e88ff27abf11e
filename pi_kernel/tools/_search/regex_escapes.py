r"""Escapes of Rust's regular expressions: ``\d``, ``\p{L}``, ``\x{1F600}``, ``\b{start}``.

`Scanner` also holds the place in the pattern and the flags for the classes that build on it.

Source:
    regex-syntax 0.8.11, ``ast/parse.rs``.
"""

from __future__ import annotations

from dataclasses import dataclass

from pi_kernel.tools._search.regex_error import RegexError, Span, syntax_error
from pi_kernel.tools._search.regex_sets import (
    ASCII_CLASSES,
    EVERYTHING,
    UNICODE,
    WHITE_SPACE,
    CharSet,
    complement,
    fold_ascii,
    fold_unicode,
    property_set,
    word_set,
)
from pi_kernel.tools._search.regex_tree import Anchor

__all__ = ("LAST_ASCII", "RAW_BYTES", "Flags", "Primitive", "Scanner")

HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
SPECIAL = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
ANCHORS = {
    "b": Anchor.WORD,
    "A": Anchor.START,
    "z": Anchor.END,
    "B": Anchor.NOT_WORD,
    "<": Anchor.WORD_START,
    ">": Anchor.WORD_END,
}
WORD_ANCHORS = {
    "start": Anchor.WORD_START,
    "end": Anchor.WORD_END,
    "start-half": Anchor.WORD_START_HALF,
    "end-half": Anchor.WORD_END_HALF,
}
SURROGATES = range(0xD800, 0xE000)
LAST_ASCII = 0x7F
LAST_BYTE = 0xFF
RAW_BYTES = range(0xDC80, 0xDD00)
"""What ``surrogateescape`` makes of bytes that are not UTF-8."""


@dataclass(frozen=True)
class Flags:
    """What the flags say at one place of the pattern."""

    ignore_case: bool = False
    dot_all: bool = False
    unicode: bool = True
    crlf: bool = False
    verbose: bool = False

    def fold(self, chars: CharSet) -> CharSet:
        """Add the characters that are equal under these flags."""
        if not self.ignore_case:
            return chars
        return fold_unicode(chars) if self.unicode else fold_ascii(chars)

    @property
    def universe(self) -> CharSet:
        """What a negated set is taken from."""
        return UNICODE if self.unicode else EVERYTHING


@dataclass(frozen=True)
class Primitive:
    """What one character or escape stands for: a code point, a set or an anchor."""

    span: Span
    value: int | CharSet | Anchor


class Scanner:
    """A place in a pattern."""

    def __init__(self, pattern: str, flags: Flags) -> None:
        self.pattern = pattern
        self.flags = flags
        self.at = 0

    @property
    def char(self) -> str:
        """The character here; empty at the end."""
        return self.pattern[self.at : self.at + 1]

    @property
    def is_at_end(self) -> bool:
        """Whether nothing is left."""
        return self.at >= len(self.pattern)

    def error(self, reason: str, *spans: Span) -> RegexError:
        """Return the syntax error at these places."""
        return syntax_error(self.pattern, reason, *spans)

    def here(self) -> Span:
        """Return the span of the character here."""
        return self.at, self.at + 1

    def sees(self, char: str) -> bool:
        """Whether the character here is this one."""
        return self.char == char

    def take(self, prefix: str) -> bool:
        """Go past a prefix if it is here."""
        found = self.pattern.startswith(prefix, self.at)
        if found:
            self.at += len(prefix)
        return found

    def skip_space(self) -> None:
        """In verbose mode, go past blanks and comments."""
        while self.flags.verbose and not self.is_at_end:
            if self.char.isspace():
                self.at += 1
            elif self.char == "#":
                end = self.pattern.find("\n", self.at)
                self.at = len(self.pattern) if end < 0 else end + 1
            else:
                break

    def step(self) -> bool:
        """Go past the character here and what does not count; False at the end."""
        self.at += 1
        self.skip_space()
        return not self.is_at_end

    def peek(self) -> str:
        """Return the character after this one that counts."""
        at = self.at
        self.step()
        found, self.at = self.char, at
        return found

    def escape(self) -> Primitive:
        """Read the escape whose backslash is here."""
        start = self.at
        self.at += 1
        if self.is_at_end:
            raise self._error_at_end((start, self.at))
        value = self._escaped(start)
        return Primitive((start, self.at), value)

    def _escaped(self, start: int) -> int | CharSet | Anchor:
        char = self.char
        if char in "0123456789":
            raise self.error("backreferences are not supported", (start, self.at + 1))
        if char in HEX_DIGITS:
            return self._hex()
        if char in "pP":
            return self._property(start)
        self.at += 1
        if char in "dswDSW":
            return self._perl(char)
        if char in SPECIAL or (char.isascii() and not char.isalnum() and char not in "<>"):
            return ord(SPECIAL.get(char, char))
        if char == "b" and self.char == "{":
            return self._special_word(start)
        if char in ANCHORS:
            return ANCHORS[char]
        raise self.error("unrecognized escape sequence", (start, self.at))

    def _special_word(self, start: int) -> Anchor:
        brace = self.at
        if not self.step():
            raise self.error(
                "found either the beginning of a special word boundary or a bounded repetition on"
                " a \\b with an opening brace, but no closing brace",
                (start, self.at),
            )
        inside = self.at
        name = ""
        while self.char == "-" or (self.char.isascii() and self.char.isalpha()):
            name += self.char
            self.step()
        if not name:
            self.at = brace  # a repetition such as \b{2}
            return Anchor.WORD
        if self.char != "}":
            raise self.error(
                "special word boundary assertion is either unclosed or contains an invalid"
                " character",
                (brace, self.at),
            )
        if name not in WORD_ANCHORS:
            raise self.error(
                "unrecognized special word boundary assertion, valid choices are: start, end,"
                " start-half or end-half",
                (inside, self.at),
            )
        self.at += 1
        return WORD_ANCHORS[name]

    def _hex(self) -> int:
        kind = self.char
        if not self.step():
            raise self._error_at_end()
        brace = self.at
        digits = ""
        if self.char == "{":
            while self.step() and not self.sees("}"):
                digits += self._hex_digit()
            if self.is_at_end:
                raise self._error_at_end((brace, self.at))
            span = brace + 1, self.at
            self.step()
            if not digits:
                raise self.error("hexadecimal literal empty", (brace, self.at))
        else:
            for index in range(HEX_DIGITS[kind]):
                if index > 0 and not self.step():
                    raise self._error_at_end()
                digits += self._hex_digit()
            self.step()
            span = brace, self.at
        code = int(digits, 16)
        if code > EVERYTHING[0][1] or code in SURROGATES:
            raise self.error("hexadecimal literal is not a Unicode scalar value", span)
        is_raw = kind == "x" and not self.flags.unicode and LAST_ASCII < code <= LAST_BYTE
        return RAW_BYTES[code - LAST_ASCII - 1] if is_raw else code

    def _hex_digit(self) -> str:
        if self.char not in "0123456789abcdefABCDEF":
            raise self.error("invalid hexadecimal digit", self.here())
        return self.char

    def _error_at_end(self, span: Span | None = None) -> RegexError:
        return self.error(
            "incomplete escape sequence, reached end of pattern prematurely",
            span or (self.at, self.at),
        )

    def _perl(self, char: str) -> CharSet:
        if self.flags.unicode:
            match char.lower():
                case "d":
                    chars = property_set("nd") or ()
                case "s":
                    chars = WHITE_SPACE
                case _:
                    chars = word_set()
        else:
            chars = ASCII_CLASSES[{"d": "digit", "s": "space", "w": "word"}[char.lower()]]
        return complement(chars, self.flags.universe) if char.isupper() else chars

    def _property(self, start: int) -> CharSet:
        negated = self.char == "P"
        if not self.step():
            raise self._error_at_end()
        name = ""
        if self.char == "{":
            while self.step() and not self.sees("}"):
                name += self.char
            if self.is_at_end:
                raise self._error_at_end()
            self.at += 1
        else:
            name = self.char
            if name == "\\":
                raise self.error("invalid Unicode character class", self.here())
            self.step()
        span = start, self.at
        if not self.flags.unicode:
            raise self.error("Unicode not allowed here", span)
        for operator in ("!=", ":", "="):
            key, found, value = name.partition(operator)
            if found:
                negated = negated != (operator == "!=")
                is_category = key.lower().replace("_", "") in ("gc", "generalcategory")
                name = value if is_category else ""
                break
        chars = property_set(name)
        if chars is None:
            raise self.error(
                "Unicode property not found (this search has general categories only)", span
            )
        chars = self.flags.fold(chars)
        return complement(chars, UNICODE) if negated else chars
