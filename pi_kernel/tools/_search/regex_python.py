"""Write the tree of a Rust regular expression as one for Python's `re`.

Only whether a line matches counts, so groups do not capture and what may be left out at either end
is left out. Every set is written out: Python's own classes follow other rules. There are two
expressions: for texts that are ASCII, and for all others.
"""

from __future__ import annotations

from dataclasses import dataclass

from pi_kernel.tools._search.regex_sets import ASCII_CLASSES, CharSet, intersection, word_set
from pi_kernel.tools._search.regex_tree import Anchor, Chars, Choice, Look, Node, Repeat, Series

__all__ = ("PythonRegex", "to_python")

ASCII: CharSet = ((0, 0x7F),)
RAW_BYTES: CharSet = ((0xDC80, 0xDCFF),)
"""What bytes that are not UTF-8 are decoded to."""
NEVER = "(?!)"
NEVER_IN_TEXT = r"\ud800"
"""A surrogate that no text has: decoding makes only those of `RAW_BYTES`."""
MAX_REPEAT = 2**32 - 2
"""Python's largest number of repetitions."""
SIMPLE_ANCHORS = {
    Anchor.START: "^",
    Anchor.END: "$",
    Anchor.START_CRLF: r"(?:\A|(?<=\n)|(?<=\r)(?!\n))",
    Anchor.END_CRLF: r"(?:\Z|(?=\r)|(?<!\r)(?=\n))",
}
ASCII_ANCHORS = {Anchor.WORD: r"\b", Anchor.NOT_WORD: r"\B"}


@dataclass(frozen=True)
class PythonRegex:
    """A pattern for `re.compile` with `re.MULTILINE` and `re.ASCII`."""

    ascii: str
    """For texts of ASCII only."""
    unicode: str
    """For all texts; bytes that are not UTF-8 are decoded with ``surrogateescape``."""
    literal: str
    """A text that every match has in it; may be empty."""
    is_literal: bool
    """Whether the literal is all there is to match."""


def to_python(tree: Node) -> PythonRegex:
    """Translate a tree."""
    parts = _trimmed(tree)
    literal = _longest_literal(parts)
    return PythonRegex(
        ascii=_write(Series(parts), ascii_only=True),
        unicode=_write(Series(parts), ascii_only=False),
        literal=literal,
        is_literal=len(literal) == len(parts),
    )


def _trimmed(tree: Node) -> tuple[Node, ...]:
    """Return the parts of a series, without what need not be there at either end."""
    parts = list(_flat(tree))
    for index in (0, -1):
        while parts and isinstance(end := parts[index], Repeat):
            if end.low == 0:
                del parts[index]
                continue
            parts[index] = end.node if end.low == 1 else Repeat(end.node, end.low, end.low)
            if end.low > 1:
                break
    return tuple(parts)


def _flat(tree: Node) -> list[Node]:
    if isinstance(tree, Series):
        return [inner for part in tree.parts for inner in _flat(part)]
    return [tree]


def _longest_literal(parts: tuple[Node, ...]) -> str:
    best = run = ""
    for part in parts:
        char = _only_char(part)
        run = run + char if char else ""
        best = max(best, run, key=len)
    return best


def _only_char(node: Node) -> str:
    match node:
        case Chars(((low, high),)) if low == high:
            return chr(low)
        case _:
            return ""


def _write(node: Node, *, ascii_only: bool) -> str:
    match node:
        case Chars(chars):
            return _write_set(intersection(chars, ASCII) if ascii_only else chars)
        case Look(anchor, ascii_words):
            return _write_anchor(anchor, ascii_words=ascii_words or ascii_only)
        case Series(parts):
            return "".join(_write(part, ascii_only=ascii_only) for part in parts)
        case Choice(branches):
            return f"(?:{'|'.join(_write(branch, ascii_only=ascii_only) for branch in branches)})"
        case Repeat(inner, low, high):
            text = _write(inner, ascii_only=ascii_only)
            if not isinstance(inner, Chars):
                text = f"(?:{text})"
            top = "" if high is None else min(high, MAX_REPEAT)
            return f"{text}{{{min(low, MAX_REPEAT)},{top}}}"


def _write_set(chars: CharSet) -> str:
    if not chars:
        return NEVER
    if len(chars) == 1 and chars[0][0] == chars[0][1]:
        return _write_code(chars[0][0])
    ranges = (
        _write_code(low) if low == high else f"{_write_code(low)}-{_write_code(high)}"
        for low, high in chars
    )
    return f"[{''.join(ranges)}]"


def _write_code(code: int) -> str:
    char = chr(code)
    return char if char.isascii() and char.isalnum() else f"\\U{code:08x}"


def _write_anchor(anchor: Anchor, *, ascii_words: bool) -> str:
    simple = SIMPLE_ANCHORS.get(anchor) or (ASCII_ANCHORS.get(anchor) if ascii_words else None)
    if simple is not None:
        return simple
    word = _write_set(ASCII_CLASSES["word"] if ascii_words else word_set())
    after, not_after = f"(?<={word})", f"(?<!{word})"
    before, not_before = f"(?={word})", f"(?!{word})"
    # These say "no word here" of a character only, not of a byte that is none.
    raw = NEVER_IN_TEXT if ascii_words else _write_set(RAW_BYTES)
    half_start, half_end = f"{not_after}(?<!{raw})", f"{not_before}(?!{raw})"
    forms = {
        Anchor.WORD: f"(?:{after}{not_before}|{not_after}{before})",
        Anchor.NOT_WORD: f"(?:{after}{before}|{half_start}{half_end})",
        Anchor.WORD_START: not_after + before,
        Anchor.WORD_END: after + not_before,
        Anchor.WORD_START_HALF: half_start,
        Anchor.WORD_END_HALF: half_end,
    }
    return forms[anchor]
