"""How times, sizes, counts and money are written for people."""

from __future__ import annotations

import math

__all__ = ("at_least", "count", "counted", "duration", "money", "size", "usage_text")

MS_PER_SECOND = 1_000
BYTES_PER_STEP = 1_024
UNITS = ("KB", "MB", "GB", "TB")
SHORTENED_FROM = 10_000_000
CENTS_FROM_DOLLARS = 1


def duration(ms: float) -> str:
    """Return a time: ``< 1 ms``, ``41 ms``, ``0.8 s``, ``38.2 s``, ``1m 04s``, ``2h 05m``.

    Example:
        >>> [duration(ms) for ms in (0.2, 99.6, 6_210, 64_000, 7_500_000)]
        ['< 1 ms', '0.1 s', '6.2 s', '1m 04s', '2h 05m']
    """
    if not math.isfinite(ms):
        return "unknown"
    if ms < 1:
        return "< 1 ms"
    # Rounded before the unit is chosen, so that 59.97 s is not written as 60.0 s.
    if _round_half_up(ms) < 100:  # noqa: PLR2004 - as the docstring shows
        return f"{_round_half_up(ms)} ms"
    tenths = _round_half_up(ms / MS_PER_SECOND * 10)
    if tenths < 600:  # noqa: PLR2004 - a minute
        return f"{tenths / 10:.1f} s"
    minutes, seconds = divmod(_round_half_up(ms / MS_PER_SECOND), 60)
    if minutes < 60:  # noqa: PLR2004 - an hour
        return f"{minutes}m {seconds:02d}s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours}h {minutes:02d}m"


def _round_half_up(value: float) -> int:
    """Round to the nearest integer, halves upwards."""
    return math.floor(value + 0.5)


def size(n_bytes: float) -> str:
    """Return a number of bytes: ``812 B``, ``12.4 KB``, ``3.1 MB``; a KB is 1,024 bytes.

    Example:
        >>> [size(n) for n in (812, 12_698, 1_048_575)]
        ['812 B', '12.4 KB', '1.0 MB']
    """
    if n_bytes < BYTES_PER_STEP:
        return f"{int(n_bytes):,} B"
    value, unit = n_bytes / BYTES_PER_STEP, 0
    while round(value, 1) >= BYTES_PER_STEP and unit < len(UNITS) - 1:
        value, unit = value / BYTES_PER_STEP, unit + 1
    return f"{value:,.1f} {UNITS[unit]}"


def count(n: int) -> str:
    """Return a number of things: ``1,204``, from ten million on ``12.4 M``."""
    return f"{n:,}" if n < SHORTENED_FROM else f"{n / 1_000_000:,.1f} M"


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun, such as ``1 call`` or ``1,204 calls``.

    Example:
        >>> counted(1, "match", "matches"), counted(17, "match", "matches")
        ('1 match', '17 matches')
    """
    return f"{count(n)} {noun if n == 1 else plural or f'{noun}s'}"


def at_least(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number of things that is not the whole, such as ``5+ matches``."""
    return f"{count(n)}+ {plural or f'{noun}s'}"


def money(dollars: float) -> str:
    """Return an amount: four places below a dollar, else two."""
    places = 4 if abs(dollars) < CENTS_FROM_DOLLARS else 2
    return f"${dollars:,.{places}f}"


def usage_text(usage: object) -> str:
    """Return tokens and cost of model work, such as ``4,812 in, 206 out, $0.0113``.

    Args:
        usage: A `Usage`, or anything with ``input``, ``output`` and ``cost.total``.
    """
    tokens_in, tokens_out = int(getattr(usage, "input", 0)), int(getattr(usage, "output", 0))
    cost = float(getattr(getattr(usage, "cost", None), "total", 0) or 0)
    text = f"{count(tokens_in)} in, {count(tokens_out)} out"
    return f"{text}, {money(cost)}" if cost else text
