"""JSON as readable lines, and in short; the cost is that of what is shown, not of the value."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from pi_kernel.registry._plain import in_brief
from pi_kernel.render._html import utf8_bytes
from pi_kernel.render._text import ELLIPSIS, cut, escape, plain
from pi_kernel.render.formats import count, counted, size

__all__ = ("compact_value", "json_lines", "outline")

MAX_ITEMS = 50
"""Of one object or list."""
MAX_DEPTH_LEVELS = 12
MAX_STRING_CHARS = 200
MAX_KEY_CHARS = 100
MAX_LINES = 400
INDENT = "  "
_SCALARS = (str, int, float, bool, type(None))

_write = json.JSONEncoder(ensure_ascii=False).encode


def compact_value(value: Any, max_chars: int) -> str:
    """Return JSON on one line, at most some ``max_chars`` characters of it."""
    if isinstance(value, str):
        return _write(cut(value, max_chars))
    if isinstance(value, int | float | None):
        return cut(_number(value), max_chars)
    parts: list[str] = []
    room = max_chars
    for part in _compact(value, 0):
        parts.append(part)
        room -= len(part)
        if room < 0:
            break
    return cut("".join(parts), max_chars)


def _compact(value: Any, depth: int) -> Iterator[str]:
    value = _plain(value)
    if depth > MAX_DEPTH_LEVELS:
        yield ELLIPSIS
    elif isinstance(value, Mapping):
        yield "{"
        for index, (key, item) in enumerate(cast("Mapping[Any, Any]", value).items()):
            yield f"{', ' if index else ''}{_write(cut(str(key), MAX_KEY_CHARS))}: "
            yield from _compact(item, depth + 1)
        yield "}"
    elif isinstance(value, Sequence) and not isinstance(value, str):
        yield "["
        for index, item in enumerate(cast("Sequence[Any]", value)):
            if index:
                yield ", "
            yield from _compact(item, depth + 1)
        yield "]"
    else:
        yield _scalar(value)


def json_lines(value: Any) -> tuple[list[str], bool]:
    """Return indented JSON as lines of HTML with bold keys, and whether all of it is there."""
    lines = _Lines()
    lines.add(value, "", "", 0)
    return lines.html, lines.is_whole


def outline(value: Any) -> str:
    """Return in words what a value is: ``5 keys``, ``1,204 items``, ``a text of 1.2 KB``."""
    if isinstance(value, Mapping):
        return counted(len(cast("Mapping[Any, Any]", value)), "key")
    if isinstance(value, str):
        return f"a text of {size(utf8_bytes(value))}"
    if isinstance(value, Sequence):
        return counted(len(cast("Sequence[Any]", value)), "item")
    return "null" if value is None else type(value).__name__


class _Lines:
    def __init__(self) -> None:
        self.html: list[str] = []
        self.is_whole = True

    def add(self, value: Any, before: str, after: str, depth: int) -> None:
        """Add a value; ``before`` is HTML of the key, ``after`` of the comma."""
        value = _plain(value)
        start = INDENT * depth + before
        if isinstance(value, Mapping):
            items = cast("Mapping[Any, Any]", value)
            pairs = ((f"<b>{escape(_write(cut(str(k), MAX_KEY_CHARS)))}</b>: ", v) for k, v in items.items())
            self._group("{}", pairs, len(items), start=start, after=after, depth=depth)
        elif isinstance(value, Sequence) and not isinstance(value, str):
            sequence = cast("Sequence[Any]", value)
            self._group(
                "[]",
                (("", item) for item in sequence),
                len(sequence),
                start=start,
                after=after,
                depth=depth,
            )
        else:
            if isinstance(value, str) and len(value) > MAX_STRING_CHARS:
                self.is_whole = False
            self.html.append(start + escape(_scalar(value)) + after)

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
        opening, closing = brackets
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


def _plain(value: Any) -> Any:
    """Return a value that is JSON on its surface."""
    if isinstance(value, (*_SCALARS, dict, list, tuple)):
        return value
    try:
        return in_brief(value)[0]
    except Exception:  # noqa: BLE001 - a view must not fail because of one value
        return f"<{type(value).__name__}>"


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        if len(value) <= MAX_STRING_CHARS:
            return _write(value)
        return f"{_write(value[:MAX_STRING_CHARS])[:-1]}{ELLIPSIS}\" ({count(len(value))} characters)"
    return _number(value)


def _number(value: float | None) -> str:
    try:
        return json.dumps(value)
    except (TypeError, ValueError):  # an integer of very many digits
        return "a very long number"
