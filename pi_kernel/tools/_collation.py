"""The order of names in a listing: the one of ICU's root collation, which recorded listings have.

Three levels, as there: first the letters, then their accents, then variants such as full width.
Blanks, punctuation, symbols, currencies and digits come before letters in this order. Latin, Greek,
Cyrillic and common signs follow tables; other scripts go by code point, Han last. Case is taken
away first.
"""
# Letters of several alphabets are the point here.
# ruff: noqa: RUF001

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache

__all__ = ("sort_names",)

_PUNCTUATION = (
    "\u0009\u000a\u000b\u000c\u000d\u0085\u2028\u2029 \u203e_\u2017-\u2010\u2012\u2013"
    "\u2014\u2015\u2053\u301c,\u3001;\u204f:!\u00a1?\u00bf\u203d.\u3002\u00b7\u2055\u2056"
    "\u2058\u2059\u205a\u205b\u205c\u205d\u205e'\u2039\u203a\"\u00ab\u00bb()[]{}\u2045"
    "\u2046\u3008\u3009\u300a\u300b\u300c\u300d\u300e\u300f\u3010\u3011\u3014\u3015\u3016"
    "\u3017\u3018\u3019\u301a\u301b\u2016\u00a7\u00b6\u204b@*\u204e\u2051/\\&\u204a#%"
    "\u2030\u2031\u2020\u2021\u2022\u2023\u2027\u2043\u204c\u204d\u2032\u2035\u3003\u2038"
    "\u203b\u203f\u2054\u2040\u2050\u2041\u2042"
)
_SYMBOLS = (
    "`\u00b4^\u00af\u00a8\u00b8\u0375\u00b0\u0482\u00a9\u00ae\u03f6\ue006+\u00b1\u00f7\u00d7<=>"
    "\u00ac|\u00a6~\u2052\u2044\u3012\u3013"
)
_CURRENCIES = (
    "\u00a4\u00a2$\u00a3\u00a5\u20a0\u20a1\u20a2\u20a3\u20a4\u20a5\u20a6\u20a9\u20aa"
    "\u20ab\u20ac\u20ad\u20ae\u20af\u20b0\u20b1\u20b2\u20b3\u20b4\u20b5\u20b6\u20b7\u20b8"
    "\u20b9\u20ba\u20bb\u20bc\u20bd\u20be\u20bf\u20c0"
)
_LATIN = "abƀƃcȼƈdƌȡeɇǝfƒgǥƣhƕiıjȷɉkƙlƚȴƛmnƞȵŋoȣpƥqɋĸrɍsȿƪtƾŧƫƭȶuvwxyɏƴȝzƍƶȥɀƹƺþƿƻƨƽƅɂǀǁǂǃ\u02bc"
_GREEK = "αβγδεϝͷϛζͱηθιϳκϗλμνξοπϻϟϙρϼσͼͻͽτυφχψωϡͳϸϣϥϧϩϫϭϯ"
_CYRILLIC = (
    "аәӕбвгғӻҕӷдԁђԃҙеєжԫҗзԅԑѕӡԇиҋійјкқӄҡҟҝԟԛлӆԯԓԡљԉԕмӎнԩӊңӈԣҥњԋоөпԥҧҁрҏԗсԍҫтԏҭћуүұѹфхӽӿҳһ"
    "ԧѡѿѽѻцҵчԭҷӌҹҽҿџшщъыьҍѣэюяԙѥѧѫѩѭѯѱѳѵҩԝӏ"
)

_ACCENTS = (
    "\u034f\u0332\u0313\u0314\u0301\u0300\u0306\u0302\u030c\u030a\u0342\u0308\u030b\u0303\u0307"
    "\u0338\u0327\u0328\u0304\u030d\u0335\u0305\u0309\u030f\u0310\u0311\u031b\u0321\u0322\u0323"
    "\u0324\u0325\u0326\u032d\u032e\u0330\u0331\u0334\u0339\u0345"
)
"""Combining marks in the order of their weight."""
_SPELLED = {
    "\u2018": "'\u0301",
    "\u2019": "'\u0300",
    "\u201a": "'\u0306",
    "\u201b": "'\u0302",
    "\u201c": '"\u0301',
    "\u201d": '"\u0300',
    "\u201e": '"\u0306',
    "\u201f": '"\u0302',
    "\u2011": "\u2010",
    "æ": "ae\u0301",
    "đ": "d\u0335",
    "ð": "d\u0305",
    "ħ": "h\u0335",
    "ł": "l\u0338",
    "ø": "o\u0338",
    "œ": "oe\u0301",
    "ß": "ss\u0301",
    "ς": "σ",
    "ґ": "г\u0335",
}
"""Characters that sort as others do, with an accent where they come after the plain ones."""
_SIGNIFICANT_CONTROLS = "\t\n\v\f\r\x85"
_VARIATION_SELECTORS = range(0xFE00, 0xFE10)
_KATAKANA = range(0x30A1, 0x30F7)
_KATAKANA_TO_HIRAGANA = 0x30A1 - 0x3041

_OTHER_PUNCTUATION, _OTHER_SYMBOLS, _OTHER_CURRENCIES = "\ue000", "\ue001", "\ue002"
_OTHER_ARROWS = "\ue006"  # stands in the middle of the symbols
_GEORGIAN, _OTHER_LETTERS, _HAN = "\ue003", "\ue004", "\ue005"
_ORDER = "".join(
    (
        *(_PUNCTUATION, _OTHER_PUNCTUATION),
        *(_SYMBOLS, _OTHER_SYMBOLS),
        *(_CURRENCIES, _OTHER_CURRENCIES),
        "0123456789",
        *(_LATIN, _GREEK, _CYRILLIC),
        *(_GEORGIAN, _OTHER_LETTERS, _HAN),
    )
)
_WEIGHTS = {char: chr(weight) for weight, char in enumerate(_ORDER, 1)}
_ASCII_WEIGHTS = {code: _WEIGHTS.get(chr(code)) for code in range(128)}
"""For `str.translate`; None drops the controls that do not count."""
_ACCENT_WEIGHTS = {mark: chr(weight) for weight, mark in enumerate(_ACCENTS, 2)}
_LAST_ACCENT = chr(len(_ACCENTS) + 2)
_PLAIN, _VARIANT = "\x01", "\x02"

_SEPARATOR = "\0"
"""Comes before every weight: joined levels sort as a tuple of them would."""
_ASCII_ORDER = bytes(ord(char) for char in _ORDER if char.isascii())
_ASCII_RANKS = bytes.maketrans(_ASCII_ORDER, bytes(range(1, len(_ASCII_ORDER) + 1)))
"""For `bytes.translate`: the order of the weights, for names that are all ASCII."""
_ASCII_IGNORED = bytes(code for code in range(1, 128) if code not in _ASCII_ORDER)

Levels = tuple[str, str, str]


def sort_names(names: Iterable[str]) -> list[str]:
    """Sort names as a listing shows them; names that differ only in case by themselves.

    Source:
        ICU 78 root collation (JavaScript's ``localeCompare`` in English), tables taken from it.

    Example:
        >>> sort_names(["b", "a10", "_x", "Ä", "a2", "10", "2"])
        ['_x', '10', '2', 'Ä', 'a10', 'a2', 'b']
    """
    ordered = sorted(names)
    text = _SEPARATOR.join(ordered)
    if text.isascii() and text.count(_SEPARATOR) == len(ordered) - 1:
        # All at once, in bytes: a key made by a call for each would cost more than the sorting.
        ranks = text.lower().encode().translate(_ASCII_RANKS, _ASCII_IGNORED)
        keys = dict(zip(ordered, ranks.split(_SEPARATOR.encode()), strict=True))
        return sorted(ordered, key=keys.__getitem__)
    return sorted(ordered, key=_sort_key)


def _sort_key(name: str) -> str:
    lowered = name.lower()
    if lowered.isascii():
        # Without accents and variants a name is never behind another one with the same letters.
        return lowered.translate(_ASCII_WEIGHTS)
    levels = [_levels(char) for char in unicodedata.normalize("NFC", lowered)]
    joined = _SEPARATOR.join("".join(level) for level in zip(*levels, strict=True))
    return joined.rstrip(_SEPARATOR)


@cache
def _levels(char: str) -> Levels:
    """Return the weights of one character at each level; some have none, some have several."""
    if char in _WEIGHTS:
        return _WEIGHTS[char], _PLAIN, _PLAIN
    spelled = _SPELLED.get(char)
    is_variant = False
    if spelled is None:
        decomposed = unicodedata.normalize("NFD", char)
        spelled = unicodedata.normalize("NFKD", char).lower()
        is_variant = spelled != decomposed
    if spelled == char:
        return _single_levels(char)
    letters, accents, variants = (
        "".join(level) for level in zip(*map(_levels, spelled), strict=True)
    )
    return letters, accents, _VARIANT * len(variants) if is_variant else variants


def _single_levels(char: str) -> Levels:
    """Return the weights of a character that neither a table nor a decomposition knows."""
    code, category = ord(char), unicodedata.category(char)
    if category in ("Cc", "Cf") or code in _VARIATION_SELECTORS:
        return "", "", ""
    if category.startswith("M"):
        return "", _ACCENT_WEIGHTS.get(char, _LAST_ACCENT), ""
    digit = unicodedata.digit(char, None)
    if digit is not None:
        return _WEIGHTS[str(digit)], _PLAIN, _VARIANT
    if code in _KATAKANA:
        letters, accents, _ = _levels(chr(code - _KATAKANA_TO_HIRAGANA))
        return letters, accents, _VARIANT
    if category.startswith(("P", "Z")):
        group = _OTHER_PUNCTUATION
    elif unicodedata.name(char, "").endswith(" ARROW"):
        group = _OTHER_ARROWS
    elif category.startswith("S") or category == "Lm":
        group = _OTHER_CURRENCIES if category == "Sc" else _OTHER_SYMBOLS
    elif unicodedata.name(char, "").startswith("CJK UNIFIED"):
        group = _HAN
    elif unicodedata.name(char, "").startswith("GEORGIAN"):
        group = _GEORGIAN
    else:
        group = _OTHER_LETTERS
    return _WEIGHTS[group] + char, _PLAIN, _PLAIN
