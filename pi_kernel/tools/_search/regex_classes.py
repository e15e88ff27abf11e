"""Character classes of Rust's regular expressions: nested, with ``&&``, ``--`` and ``~~``.

Source:
    regex-syntax 0.8.11, ``parse_set_class`` and ``hir_class_*``.
"""

from __future__ import annotations

from pi_kernel.tools._search.regex_error import Span
from pi_kernel.tools._search.regex_escapes import LAST_ASCII, RAW_BYTES, Primitive, Scanner
from pi_kernel.tools._search.regex_sets import (
    ASCII_CLASSES,
    CharSet,
    complement,
    difference,
    intersection,
    union,
)
from pi_kernel.tools._search.regex_tree import Anchor

__all__ = ("ClassScanner",)

UNCLOSED = "unclosed character class"
OPERATORS = ("&&", "--", "~~")


class ClassScanner(Scanner):
    """Reads ``[...]``."""

    def char_class(self) -> CharSet:
        """Read the class whose bracket is here and what is nested in it."""
        start = self.at
        negated, chars = self._open()
        opened: Span = (start, self.at)
        left: CharSet | None = None
        operator = ""
        while True:
            self.skip_space()
            if self.is_at_end:
                raise self.error(UNCLOSED, opened)
            operation = next((one for one in OPERATORS if self.take(one)), None)
            if operation is not None:
                left = self._combine(left, operator, chars)
                operator, chars = operation, ()
            elif self.char == "]":
                self.at += 1
                break
            elif self.char == "[":
                chars = union(chars, self._ascii_class() or self.char_class())
            else:
                chars = union(chars, self._range(opened))
        found = self.flags.fold(self._combine(left, operator, chars))
        return complement(found, self.flags.universe) if negated else found

    def _open(self) -> tuple[bool, CharSet]:
        """Go past the bracket and the characters that are special only at the start."""
        start = self.at
        if not self.step():
            raise self.error(UNCLOSED, (start, self.at))
        negated = self.char == "^"
        if negated and not self.step():
            raise self.error(UNCLOSED, (start, self.at))
        chars: CharSet = ()
        while self.char == "-":
            chars = ((ord("-"), ord("-")),)
            if not self.step():
                raise self.error(UNCLOSED, (start, start))
        if not chars and self.char == "]":
            chars = ((ord("]"), ord("]")),)
            if not self.step():
                raise self.error(UNCLOSED, (start, self.at))
        return negated, chars

    def _combine(self, left: CharSet | None, operator: str, right: CharSet) -> CharSet:
        if left is None:
            return right
        left, right = self.flags.fold(left), self.flags.fold(right)
        match operator:
            case "&&":
                return intersection(left, right)
            case "--":
                return difference(left, right)
            case _:
                return union(difference(left, right), difference(right, left))

    def _ascii_class(self) -> CharSet | None:
        """Read ``[:name:]``, or nothing at all."""
        end = self.pattern.find(":", self.at + 2)
        name = self.pattern[self.at + 2 : end] if end > 0 else ""
        if self.pattern[self.at + 1 : self.at + 2] != ":" or not self.pattern.startswith(":]", end):
            return None
        chars = ASCII_CLASSES.get(name.removeprefix("^"))
        if chars is None:
            return None
        self.at = end + 2
        return complement(chars, self.flags.universe) if name.startswith("^") else chars

    def _range(self, opened: Span) -> CharSet:
        first = self._item()
        self.skip_space()
        if self.is_at_end:
            raise self.error(UNCLOSED, opened)
        if self.char != "-" or self.peek() in ("]", "-"):
            return self._set_of(first)
        if not self.step():
            raise self.error(UNCLOSED, opened)
        last = self._item()
        low, high = self._code(first), self._code(last)
        if low > high:
            raise self.error(
                "invalid character class range, the start must be <= the end",
                (first.span[0], last.span[1]),
            )
        return ((low, high),)

    def _item(self) -> Primitive:
        if self.char == "\\":
            return self.escape()
        self.at += 1
        return Primitive((self.at - 1, self.at), ord(self.pattern[self.at - 1]))

    def _set_of(self, item: Primitive) -> CharSet:
        match item.value:
            case int():
                code = self._code(item)
                return ((code, code),)
            case Anchor():
                raise self.error("invalid escape sequence found in character class", item.span)
            case chars:
                return chars

    def _code(self, item: Primitive) -> int:
        code = item.value
        if not isinstance(code, int):
            raise self.error("invalid range boundary, must be a literal", item.span)
        if not self.flags.unicode and code > LAST_ASCII and code not in RAW_BYTES:
            raise self.error("Unicode not allowed here", item.span)
        return code
