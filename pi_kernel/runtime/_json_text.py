"""JSON text and type names as JavaScript has them, for the messages that a model reads."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from pi_kernel.protocol.json import JsonValue
from pi_kernel.runtime._kinds import is_mapping, is_sequence

MAX_DEPTH = 200
"""Levels of lists and objects that arguments may have; one more and they are refused."""

_MAX_PLAIN_EXPONENT = 21
_MIN_PLAIN_EXPONENT = -6
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def number_text(value: float) -> str:  # noqa: PLR0911 - one return a form
    """Return the shortest decimal form of a finite number: ``5`` for 5.0, ``1e+21`` for 1e21."""
    if isinstance(value, int):
        try:
            return str(int(value))
        except ValueError:  # Python writes no more than 4300 decimal digits
            return hex(value)
    sign, digits, exponent = Decimal(repr(float(value))).as_tuple()
    text = "".join(map(str, digits)).rstrip("0")
    if not text:
        return "0"
    point = len(digits) + int(exponent)
    prefix = "-" if sign else ""
    if len(text) <= point <= _MAX_PLAIN_EXPONENT:
        return prefix + text.ljust(point, "0")
    if 0 < point <= _MAX_PLAIN_EXPONENT:
        return f"{prefix}{text[:point]}.{text[point:]}"
    if _MIN_PLAIN_EXPONENT < point <= 0:
        return f"{prefix}0.{text.rjust(len(text) - point, '0')}"
    mantissa = text if len(text) == 1 else f"{text[0]}.{text[1:]}"
    return f"{prefix}{mantissa}e{point - 1:+d}"


def json_text(value: JsonValue, *, indent: int = 0) -> str:
    """Return what ``JSON.stringify(value, null, indent)`` returns.

    Non-ASCII text stays as it is, lone surrogates are escaped, numbers that JSON does not have are
    null. Whole numbers keep all their digits, which JavaScript would round.

    Args:
        value: Plain JSON; what is not is shown as a text that names its type.
        indent: Blanks a level; 0 gives one line without blanks.

    Source:
        ECMAScript, ``JSON.stringify`` and ``Number::toString``.
    """
    parts: list[str] = []
    _write(value, "", " " * indent, parts, depth=0)
    return "".join(parts)


def _write(value: JsonValue, margin: str, step: str, parts: list[str], *, depth: int) -> None:
    if isinstance(value, str):
        parts.append(_string_text(value))
    elif value is None:
        parts.append("null")
    elif isinstance(value, bool):
        parts.append("true" if value else "false")
    elif isinstance(value, int | float):
        is_json = isinstance(value, int) or math.isfinite(value)
        parts.append(number_text(value) if is_json else "null")
    elif not is_mapping(value) and not is_sequence(value):
        parts.append(_string_text(f"<{type(value).__name__}>"))
    elif depth > MAX_DEPTH:
        parts.append('"..."')
    else:
        _write_container(value, margin, step, parts, depth=depth)


def _write_container(
    value: Mapping[str, Any] | Sequence[Any],
    margin: str,
    step: str,
    parts: list[str],
    *,
    depth: int,
) -> None:
    opening, closing = ("{", "}") if is_mapping(value) else ("[", "]")
    if not value:
        parts.append(opening + closing)
        return
    inner = margin + step
    separator = opening + (f"\n{inner}" if step else "")
    following = f",\n{inner}" if step else ","
    colon = ": " if step else ":"
    pairs = value.items() if is_mapping(value) else ((None, item) for item in value)
    for name, item in pairs:
        parts.append(separator if name is None else separator + _string_text(str(name)) + colon)
        _write(item, inner, step, parts, depth=depth + 1)
        separator = following
    parts.append((f"\n{margin}" if step else "") + closing)


def _string_text(text: str) -> str:
    quoted = json.dumps(text, ensure_ascii=False)
    return _LONE_SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", quoted)
