"""JSON as readable lines, and in short; the cost is that of what is shown, not of the value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pi_kernel.registry._plain import in_brief
from pi_kernel.render._html import utf8_bytes
from pi_kernel.render._text import ELLIPSIS, cut, escape_in_pre
from pi_kernel.render.formats import count, counted, size

__all__ = ("compact_value", "json_lines", "outline")

MAX_ITEMS = 50
"""Of one object or list."""
MAX_DEPTH_LEVELS = 12
MAX_STRING_CHARS = 200
MAX_KEY_CHARS = 100
MAX_LINES = 400
ONE_LINE_CHARS = 80
"""An inner object or list up to this length has no lines of its own."""
INDENT = "  "
_SCALARS: tuple[type[Any], ...] = (str, int, float, bool, type(None))
# Their declared types keep what isinstance() tells of an Any from becoming a dict of unknowns.
_OBJECT: tuple[type[Any], ...] = (Mapping,)
_LIST: tuple[type[Any], ...] = (list, tuple)

_write = json.JSONEncoder(ensure_ascii=False).encode


def compact_value(value: Any, max_chars: int) -> str:
    """Return JSON on one line, at most some ``max_chars`` characters of it."""
    if isinstance(value, str):
        return _write(cut(value, max_chars))
    if isinstance(value, int | float | None):
        return cut(_number(value), max_chars)
    return cut("".join(text for text, _ in _start_of(value, max_chars)), max_chars)


def _start_of(value: Any, max_chars: int) -> list[tuple[str, bool]]:
    """Return the pieces of JSON on one line, at least ``max_chars`` characters if there are."""
    pieces: list[tuple[str, bool]] = []
    room = max_chars
    for piece in _pieces(value, 0):
        pieces.append(piece)
        room -= len(piece[0])
        if room < 0:
            break
    return pieces


def _pieces(value: Any, depth: int) -> Iterator[tuple[str, bool]]:
    """Give the text piece by piece, and whether a piece is a key."""
    value = _plain(value)
    if depth > MAX_DEPTH_LEVELS:
        yield ELLIPSIS, False
    elif isinstance(value, _OBJECT):
        yield "{", False
        for index, (key, item) in enumerate(value.items()):
            if index:
                yield ", ", False
            yield _write(cut(str(key), MAX_KEY_CHARS)), True
            yield ": ", False
            yield from _pieces(item, depth + 1)
        yield "}", False
    elif isinstance(value, _LIST):
        yield "[", False
        for index, item in enumerate(value):
            if index:
                yield ", ", False
            yield from _pieces(item, depth + 1)
        yield "]", False
    else:
        yield _scalar(value), False


def json_lines(value: Any) -> tuple[list[str], bool]:
    """Return indented JSON as lines of HTML with bold keys, and whether all of it is there."""
    lines = _Lines()
    lines.add(value, "", "", 0)
    return lines.html, lines.is_whole


def outline(value: Any) -> str:
    """Return in words what a value is: ``5 keys``, ``1,204 items``, ``a text of 1.2 KB``."""
    if isinstance(value, _OBJECT):
        return counted(len(value), "key")
    if isinstance(value, str):
        return f"a text of {size(utf8_bytes(value))}"
    if isinstance(value, _LIST):
        return counted(len(value), "item")
    return "null" if value is None else type(value).__name__


class _Lines:
    def __init__(self) -> None:
        self.html: list[str] = []
        self.is_whole = True

    def add(self, value: Any, before: str, after: str, depth: int) -> None:
        """Add a value; ``before`` is HTML of the key, ``after`` of the comma."""
        value = _plain(value)
        start = INDENT * depth + before
        short = _in_one_line(value) if depth and isinstance(value, (*_OBJECT, *_LIST)) else None
        if short is not None:
            self.is_whole = self.is_whole and not any(text == ELLIPSIS for text, _ in short)
            self.html.append(start + "".join(map(_piece_html, short)) + after)
        elif isinstance(value, _OBJECT):
            names = (
                f"<b>{escape_in_pre(_write(cut(str(key), MAX_KEY_CHARS)))}</b>: " for key in value
            )
            named = zip(names, value.values(), strict=False)
            self._group("{}", named, len(value), start=start, after=after, depth=depth)
        elif isinstance(value, _LIST):
            unnamed = (("", item) for item in value)
            self._group("[]", unnamed, len(value), start=start, after=after, depth=depth)
        else:
            if isinstance(value, str) and len(value) > MAX_STRING_CHARS:
                self.is_whole = False
            self.html.append(start + escape_in_pre(_scalar(value)) + after)

    def _group(  # noqa: PLR0913 - one line of output each
        self,
        brackets: str,
        items: Iterator[tuple[str, Any]],
        n_items: int,
        *,
        start: str,
        after: str,
        depth: int,
    ) -> None:
        opening, closing = brackets[0], brackets[1]
        if not n_items:
            self.html.append(start + brackets + after)
            return
        if depth >= MAX_DEPTH_LEVELS or len(self.html) >= MAX_LINES:
            self.is_whole = False
            self.html.append(f"{start}{opening}{ELLIPSIS}{closing}{after}")
            return
        self.html.append(start + opening)
        for index, (before, item) in enumerate(items):
            if index >= MAX_ITEMS or len(self.html) >= MAX_LINES:
                self.is_whole = False
                left = n_items - index
                self.html.append(f"{INDENT * (depth + 1)}{ELLIPSIS} {count(left)} more")
                break
            self.add(item, before, "," if index < n_items - 1 else "", depth + 1)
        self.html.append(INDENT * depth + closing + after)


def _piece_html(piece: tuple[str, bool]) -> str:
    text, is_key = piece
    return f"<b>{escape_in_pre(text)}</b>" if is_key else escape_in_pre(text)


def _in_one_line(value: Any) -> list[tuple[str, bool]] | None:
    """Return the pieces of an object or list that is short enough for one line, else None."""
    pieces = _start_of(value, ONE_LINE_CHARS)
    if sum(len(text) for text, _ in pieces) > ONE_LINE_CHARS:
        return None
    return pieces


def _plain(value: Any) -> Any:
    """Return a value that is JSON on its surface."""
    if isinstance(value, (*_SCALARS, *_OBJECT, *_LIST)):
        return value
    try:
        return in_brief(value)[0]
    except Exception:  # noqa: BLE001 - a view must not fail because of one value
        return f"<{type(value).__name__}>"


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        if len(value) <= MAX_STRING_CHARS:
            return _write(value)
        return (
            f'{_write(value[:MAX_STRING_CHARS])[:-1]}{ELLIPSIS}" ({count(len(value))} characters)'
        )
    return _number(value)


def _number(value: float | None) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError):  # an integer of very many digits
        return "a very long number"
