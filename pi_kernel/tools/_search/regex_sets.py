"""Sets of characters as sorted ranges of code points, and the sets that Rust's regexes name.

A byte that is not part of valid UTF-8 is the lone surrogate that ``surrogateescape`` decodes it to.
Such bytes are in no set of Unicode mode.
"""

from __future__ import annotations

import functools
import unicodedata
from collections.abc import Iterable, Sequence

__all__ = (
    "ASCII_CLASSES",
    "EVERYTHING",
    "UNICODE",
    "CharSet",
    "complement",
    "difference",
    "fold_ascii",
    "fold_unicode",
    "has",
    "intersection",
    "property_set",
    "union",
    "word_set",
)

CharSet = tuple[tuple[int, int], ...]
"""Inclusive ranges that neither overlap nor touch, in order."""

LAST = 0x10FFFF
UNICODE: CharSet = ((0, 0xD7FF), (0xE000, LAST))
EVERYTHING: CharSet = ((0, LAST),)
"""With the bytes that are not UTF-8."""
ASCII_CASE_GAP = ord("a") - ord("A")
LAST_ASCII = 0x7F
UNASSIGNED_PLANES = (0x40000, 0xDFFFF)
"""Planes without a character; leaving them out makes the tables four times faster."""
OTHER_ALPHABETIC: CharSet = (
    (0x24B6, 0x24E9),
    (0x1F130, 0x1F149),
    (0x1F150, 0x1F169),
    (0x1F170, 0x1F189),
)
"""Characters that are Alphabetic although they are symbols."""
JOINERS: CharSet = ((0x200C, 0x200D),)
WHITE_SPACE: CharSet = (
    (0x09, 0x0D),
    (0x20, 0x20),
    (0x85, 0x85),
    (0xA0, 0xA0),
    (0x1680, 0x1680),
    (0x2000, 0x200A),
    (0x2028, 0x2029),
    (0x202F, 0x202F),
    (0x205F, 0x205F),
    (0x3000, 0x3000),
)
LONG_S, KELVIN = 0x17F, 0x212A
SIMPLE_FOLDS_OF_LATER_UNICODE = {0x1FD3: 0x390, 0x1FE3: 0x3B0, 0xFB05: 0xFB06}
"""Simple case foldings since Unicode 15.1 that lower-casing does not give."""

ASCII_CLASSES: dict[str, CharSet] = {
    "alnum": ((48, 57), (65, 90), (97, 122)),
    "alpha": ((65, 90), (97, 122)),
    "ascii": ((0, 127),),
    "blank": ((9, 9), (32, 32)),
    "cntrl": ((0, 31), (127, 127)),
    "digit": ((48, 57),),
    "graph": ((33, 126),),
    "lower": ((97, 122),),
    "print": ((32, 126),),
    "punct": ((33, 47), (58, 64), (91, 96), (123, 126)),
    "space": ((9, 13), (32, 32)),
    "upper": ((65, 90),),
    "word": ((48, 57), (65, 90), (95, 95), (97, 122)),
    "xdigit": ((48, 57), (65, 70), (97, 102)),
}

FIXED_PROPERTIES: dict[str, CharSet] = {
    "any": UNICODE,
    "ascii": ((0, LAST_ASCII),),
    "space": WHITE_SPACE,
    "whitespace": WHITE_SPACE,
}
CATEGORY_NAMES = {
    "casedletter": "Lc",
    "letter": "L",
    "uppercaseletter": "Lu",
    "lowercaseletter": "Ll",
    "titlecaseletter": "Lt",
    "modifierletter": "Lm",
    "otherletter": "Lo",
    "mark": "M",
    "combiningmark": "M",
    "nonspacingmark": "Mn",
    "spacingmark": "Mc",
    "enclosingmark": "Me",
    "number": "N",
    "decimalnumber": "Nd",
    "digit": "Nd",
    "letternumber": "Nl",
    "othernumber": "No",
    "punctuation": "P",
    "punct": "P",
    "connectorpunctuation": "Pc",
    "dashpunctuation": "Pd",
    "openpunctuation": "Ps",
    "closepunctuation": "Pe",
    "initialpunctuation": "Pi",
    "finalpunctuation": "Pf",
    "otherpunctuation": "Po",
    "symbol": "S",
    "mathsymbol": "Sm",
    "currencysymbol": "Sc",
    "modifiersymbol": "Sk",
    "othersymbol": "So",
    "separator": "Z",
    "spaceseparator": "Zs",
    "lineseparator": "Zl",
    "paragraphseparator": "Zp",
    "other": "C",
    "control": "Cc",
    "cntrl": "Cc",
    "format": "Cf",
    "unassigned": "Cn",
    "privateuse": "Co",
}
CASED = ("Lu", "Ll", "Lt")


def has(chars: CharSet, code: int) -> bool:
    """Whether a code point is in the set."""
    return any(low <= code <= high for low, high in chars)


def union(*sets: Iterable[tuple[int, int]]) -> CharSet:
    """Return what is in any of the sets; the ranges may come in any order and overlap."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(pair for one in sets for pair in one):
        if merged and low <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], high))
        else:
            merged.append((low, high))
    return tuple(merged)


def complement(chars: CharSet, universe: CharSet) -> CharSet:
    """Return what is in the universe and not in the set."""
    return difference(universe, chars)


def intersection(left: CharSet, right: CharSet) -> CharSet:
    """Return what is in both sets."""
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(left) and j < len(right):
        low = max(left[i][0], right[j][0])
        high = min(left[i][1], right[j][1])
        if low <= high:
            found.append((low, high))
        if left[i][1] < right[j][1]:
            i += 1
        else:
            j += 1
    return tuple(found)


def difference(left: CharSet, right: CharSet) -> CharSet:
    """Return what is in the left set only."""
    gaps: list[tuple[int, int]] = []
    at = 0
    for low, high in right:
        if at < low:
            gaps.append((at, low - 1))
        at = high + 1
    if at <= LAST:
        gaps.append((at, LAST))
    return intersection(left, tuple(gaps))


def fold_ascii(chars: CharSet) -> CharSet:
    """Add the other case of every ASCII letter in the set."""
    upper = intersection(chars, ASCII_CLASSES["upper"])
    lower = intersection(chars, ASCII_CLASSES["lower"])
    return union(
        chars,
        ((low + ASCII_CASE_GAP, high + ASCII_CASE_GAP) for low, high in upper),
        ((low - ASCII_CASE_GAP, high - ASCII_CASE_GAP) for low, high in lower),
    )


def fold_unicode(chars: CharSet) -> CharSet:
    """Add every character that equals one of the set when case is ignored (simple folding)."""
    if not chars or chars[-1][1] <= LAST_ASCII:
        folded = fold_ascii(chars)
        outside = ((ord("s"), LONG_S), (ord("k"), KELVIN))
        return union(folded, ((code, code) for letter, code in outside if has(folded, letter)))
    codes = _cased_codes()
    groups = _case_groups()
    others = {
        other
        for low, high in intersection(chars, codes)
        for code in range(low, high + 1)
        for other in groups.get(code, ())
    }
    return union(chars, ((code, code) for code in others))


@functools.cache
def _case_groups() -> dict[int, tuple[int, ...]]:
    by_fold: dict[int, list[int]] = {}
    for low, high in difference(UNICODE, (UNASSIGNED_PLANES,)):
        for code in range(low, high + 1):
            char = chr(code)
            if char.isalpha() or char.upper() != char or char.lower() != char:
                by_fold.setdefault(_simple_fold(char), []).append(code)
    groups = (tuple(codes) for codes in by_fold.values() if len(codes) > 1)
    return {code: group for group in groups for code in group}


@functools.cache
def _cased_codes() -> CharSet:
    return union((code, code) for code in _case_groups())


def _simple_fold(char: str) -> int:
    code = ord(char)
    if code in SIMPLE_FOLDS_OF_LATER_UNICODE:
        return SIMPLE_FOLDS_OF_LATER_UNICODE[code]
    for folded in (char.casefold(), char.lower()):
        if len(folded) == 1:
            return ord(folded)
    return code


@functools.cache
def _categories() -> dict[str, CharSet]:
    """Return the characters of each general category (``Lu``)."""
    found: dict[str, list[tuple[int, int]]] = {}
    start, current = 0, unicodedata.category("\0")
    for low, high in ((0, UNASSIGNED_PLANES[0] - 1), (UNASSIGNED_PLANES[1] + 1, LAST)):
        for code in range(low, high + 1):
            category = unicodedata.category(chr(code))
            if category != current:
                found.setdefault(current, []).append((start, code - 1))
                start, current = code, category
    found.setdefault(current, []).append((start, LAST))
    return {name: intersection(tuple(ranges), UNICODE) for name, ranges in found.items()}


def _category_set(names: Sequence[str]) -> CharSet:
    return union(*(_categories().get(name, ()) for name in names))


@functools.cache
def word_set() -> CharSet:
    r"""Return ``\w``: letters, marks, decimal digits, connectors and joiners."""
    alphabetic = _alphabetic()
    marks = _category_set(("Mn", "Mc", "Me", "Nd", "Pc"))
    return union(alphabetic, marks, JOINERS)


def _alphabetic() -> CharSet:
    return union(_category_set(("Lu", "Ll", "Lt", "Lm", "Lo", "Nl")), OTHER_ALPHABETIC)


def property_set(name: str) -> CharSet | None:
    r"""Return the characters of ``\p{name}``, or None when we have no table of it.

    There are the general categories and a few sets that follow from them. Scripts need ripgrep.
    """
    key = "".join(char for char in name.lower() if char not in " _-")
    if key in FIXED_PROPERTIES:
        return FIXED_PROPERTIES[key]
    if key in ("alphabetic", "alpha"):
        return _alphabetic()
    if key == "assigned":
        return complement(_category_set(("Cn",)), UNICODE)
    category = CATEGORY_NAMES.get(key, key.capitalize())
    if category == "Lc":
        names = list(CASED)
    else:
        names = [one for one in _categories() if category in (one, one[0])]
    return _category_set(names) if names else None
