"""Numbers of a call's arguments as JavaScript counts and prints them.

Arguments are JSON numbers, so a line number may be 2.5; notices print it as it is, and recorded
notices were printed by JavaScript.
"""

from __future__ import annotations

import math
from decimal import Decimal

__all__ = ("format_number", "to_double")

_MAX_EXACT_INTEGER = 2**53
_MIN_EXPONENT_VALUE = 1e21
_MAX_EXPONENT_VALUE = 1e-6


def to_double(value: float) -> float:
    """Return the number with a double's precision; small integers stay integers.

    Example:
        >>> to_double(2**53 + 1), to_double(3)
        (9007199254740992.0, 3)
    """
    if isinstance(value, int) and abs(value) > _MAX_EXACT_INTEGER:
        try:
            return float(value)
        except OverflowError:
            return math.inf if value > 0 else -math.inf
    return value


def format_number(value: float) -> str:
    """Print a number as JavaScript does: ``3`` for 3.0, ``2.5``, ``1e+21``.

    Source:
        ECMAScript, ``Number::toString``.

    Example:
        >>> format_number(3.0), format_number(2.5), format_number(1e-7)
        ('3', '2.5', '1e-7')
    """
    value = to_double(value)
    if isinstance(value, int):
        return str(value)
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if not value:
        return "0"
    if _MAX_EXPONENT_VALUE <= abs(value) < _MIN_EXPONENT_VALUE:
        return f"{Decimal(repr(value)):f}".removesuffix(".0")
    digits, _, exponent = repr(value).partition("e")
    return f"{digits}e{int(exponent):+d}"
