r"""ECMAScript regular expressions in the dialect of the schema engine.

JSON Schema's patterns are ECMAScript. The engine translates most of that itself; what it refuses
or reads differently is rewritten here: word boundaries (ASCII), named backreferences, surrogate
pairs, ``[^]``, ``[]``, ``\0``, ``[\b]``, a hyphen beside ``\w``, a brace that counts nothing.
"""

from __future__ import annotations

import re

_WORD = "[0-9A-Za-z_]"
_SURROGATE_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SHORTHAND = r"\\(?:[dDwWsS]|[pP]\{[^}]*\})"

_TOKEN = re.compile(
    rf"""
    (?P<pair>{_SURROGATE_PAIR})
  | \\k<(?P<backreference>[^>]*)>
  | (?P<nul>\\0(?![0-9]))
  | (?P<escape>\\.)
  | (?P<class>\[\^?(?:[^\]\\]|\\.)*\])
  | (?P<count>\{{[0-9]+(?:,[0-9]*)?\}})
  | (?P<group>\((?!\?)|\(\?<(?![=!])(?P<label>[^>]*)>)
  | (?P<brace>\{{)
    """,
    re.VERBOSE | re.DOTALL,
)
_CLASS_TOKEN = re.compile(
    rf"""
    (?P<pair>{_SURROGATE_PAIR})
  | (?P<nul>\\0(?![0-9]))
  | (?P<backspace>\\b)
  | (?P<shorthand>{_SHORTHAND})-(?!\])
  | \\.
  | (?P<hyphen>-)(?={_SHORTHAND})
    """,
    re.VERBOSE | re.DOTALL,
)
_BOUNDARIES = {
    r"\b": f"(?:(?<={_WORD})(?!{_WORD})|(?<!{_WORD})(?={_WORD}))",
    r"\B": f"(?:(?<={_WORD})(?={_WORD})|(?<!{_WORD})(?!{_WORD}))",
}
_WHOLE_CLASSES = {"[]": r"[^\s\S]", "[^]": r"[\s\S]"}


def to_engine_pattern(pattern: str) -> str:
    """Return an ECMAScript pattern as the engine has to be given it.

    Source:
        ECMA-262, "Patterns"; compared with Node 20.
    """
    groups = [match["label"] for match in _TOKEN.finditer(pattern) if match["group"]]
    numbers = {label: number for number, label in enumerate(groups, 1) if label}

    def rewrite(match: re.Match[str]) -> str:
        text = match[0]
        if match["pair"]:
            return _code_point(text)
        if match["backreference"] in numbers:
            return rf"(?:\{numbers[match['backreference']]})"
        if match["nul"]:
            return r"\x00"
        if match["class"]:
            return _WHOLE_CLASSES.get(text) or _CLASS_TOKEN.sub(_rewrite_in_class, text)
        return r"\{" if match["brace"] else _BOUNDARIES.get(text, text)

    return _TOKEN.sub(rewrite, pattern)


def _rewrite_in_class(match: re.Match[str]) -> str:
    text = match[0]
    if match["pair"]:
        return _code_point(text)
    if match["nul"]:
        return r"\x00"
    if match["backspace"]:
        return r"\x08"
    if match["shorthand"]:
        return rf"{match['shorthand']}\-"
    return r"\-" if match["hyphen"] else text


def _code_point(pair: str) -> str:
    _, high, low = pair.split(r"\u")
    units = bytes.fromhex(high + low)
    return rf"\u{{{ord(units.decode('utf-16-be')):x}}}"
