"""Single values turned into another JSON type, as JavaScript and TypeBox convert them.

Each function returns `UNCONVERTED` for a value that has no counterpart of its type. Numbers that
are whole come out as ``int`` of any size; JavaScript would round them beyond 53 bits.

Source:
    Pi 1.6.0, pi-schema's coercion (the rules of TypeBox 1.3 ``Value.Convert`` and of Ajv
    ``coerceTypes``); ECMA-262, ``StringToNumber``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

from pi_kernel.protocol.json import JsonValue
from pi_kernel.runtime._json_text import number_text
from pi_kernel.runtime._kinds import is_number, is_same_scalar

UNCONVERTED: Any = object()

_BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
"""What JavaScript trims: not quite what `str.strip` does."""
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_WHOLE = re.compile(r"[+-]?0*([0-9]+)")
_BASES = {"0x": (16, re.compile("[0-9a-f]+")), "0o": (8, re.compile("[0-7]+"))}
_BASES["0b"] = (2, re.compile("[01]+"))
_BIG_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]*)(?=n\Z)")
_MAX_SAFE_INTEGER = 2**53 - 1
_MAX_PLAIN_NUMBER = 1e21
"""From here on JavaScript prints a number with an exponent; it stays a float."""
_MAX_NUMBER_BITS = 1024
_MAX_WORD_CHARS = len("undefined")


def to_text(value: JsonValue) -> JsonValue:
    """Return the text of a finite number, a boolean or null."""
    if type(value) is str:
        return value
    if value is None:
        return "null"
    if type(value) is bool:
        return "true" if value else "false"
    if not is_number(value):
        return UNCONVERTED
    text = number_text(value)
    return UNCONVERTED if "x" in text else text  # too long for decimal digits


def to_number(value: JsonValue) -> JsonValue:  # noqa: PLR0911 - one return a kind
    """Return the number that a numeric text, a boolean or null stands for."""
    if is_number(value):
        return value
    if type(value) is bool or value is None:
        return int(bool(value))
    if type(value) is not str:
        return UNCONVERTED
    number = numeric_value(value)
    if number is not UNCONVERTED:
        return number
    word = _word(value)
    if word in ("true", "false"):
        return int(word == "true")
    big = _BIG_INTEGER.match(value) if len(value) <= len(str(_MAX_SAFE_INTEGER)) + 2 else None
    if big is not None and abs(int(big[0])) <= _MAX_SAFE_INTEGER:
        return int(big[0])
    return UNCONVERTED


def to_integer(value: JsonValue) -> JsonValue:
    """Return what `to_number` returns, cut toward zero."""
    number = to_number(value)
    return number if number is UNCONVERTED else math.trunc(number)


def to_boolean(value: JsonValue) -> JsonValue:
    """Return the boolean that 1, 0, a word for it or null stands for."""
    if type(value) is bool:
        return value
    if value is None:
        return False
    if is_number(value):
        return bool(value) if value in (0, 1) else UNCONVERTED
    word = _word(value)
    if word in ("true", "1"):
        return True
    return False if word in ("false", "0") else UNCONVERTED


def to_null(value: JsonValue) -> JsonValue:
    """Return None for what stands for nothing: ``""``, ``"0"``, the words, 0 and false."""
    if value is None or value is False or (is_number(value) and value == 0):
        return None
    return None if _word(value) in ("null", "undefined", "", "0") else UNCONVERTED


CONVERSIONS: dict[str, Callable[[Any], Any]] = {
    "boolean": to_boolean,
    "integer": to_integer,
    "null": to_null,
    "number": to_number,
    "string": to_text,
}
"""By the name of the type that is wanted."""


def to_literal(literal: JsonValue, value: JsonValue) -> JsonValue:
    """Return a literal of a schema if the value is or converts to exactly it, else the value."""
    if type(literal) is str:
        converted = to_text(value)
    elif type(literal) is bool:
        converted = to_boolean(value)
    elif is_number(literal):
        converted = to_number(value)
    else:
        return value
    return literal if is_same_scalar(converted, literal) else value


def coerce_primitive(value: JsonValue, name: str) -> JsonValue:  # noqa: PLR0911 - as above
    """Return the value as the last pass turns it into a type, the same object if it does not."""
    if name in ("number", "integer"):
        return _coerce_number(value, name)
    if name == "boolean":
        if value is None or value == "false" or (is_number(value) and value == 0):
            return False
        is_true = value == "true" or (is_number(value) and value == 1)
        return True if is_true else value
    if name == "string":
        if value is None:
            return ""
        text = UNCONVERTED if type(value) is str else to_text(value)
        return value if text is UNCONVERTED else text
    if name == "null":
        is_empty = value is False or value == "" or (is_number(value) and value == 0)
        return None if is_empty else value
    return value


def _coerce_number(value: JsonValue, name: str) -> JsonValue:
    if value is None or type(value) is bool:
        return int(bool(value))
    if type(value) is not str or not value.strip(_BLANKS):
        return value
    number = numeric_value(value)
    is_wanted = name == "number" or (number is not UNCONVERTED and number == math.trunc(number))
    return number if is_wanted and number is not UNCONVERTED else value


def numeric_value(text: str) -> JsonValue:  # noqa: PLR0911 - as above
    """Return the finite number that JavaScript's ``Number(text)`` gives."""
    text = text.strip(_BLANKS)
    if not text:
        return 0
    base = _BASES.get(text[:2].lower())
    if base is not None:
        radix, digits = base
        if digits.fullmatch(text[2:].lower()) is None:
            return UNCONVERTED
        number = int(text[2:], radix)
        return number if number.bit_length() <= _MAX_NUMBER_BITS else UNCONVERTED
    if _DECIMAL.fullmatch(text) is None:
        return UNCONVERTED
    value = float(text)
    if not math.isfinite(value):
        return UNCONVERTED
    whole = _WHOLE.fullmatch(text)
    if whole is not None:
        return -int(whole[1]) if text[0] == "-" else int(whole[1])
    is_plain = value.is_integer() and abs(value) < _MAX_PLAIN_NUMBER
    return int(value) if is_plain else value


def _word(value: JsonValue) -> str | None:
    """Return a short text in lower case; what is longer is none of the known words."""
    return value.lower() if type(value) is str and len(value) <= _MAX_WORD_CHARS else None
