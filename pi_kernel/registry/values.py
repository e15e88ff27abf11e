"""What a tool's function returned, as a `ToolResult`: text for the model, JSON for programs.

Types of other libraries are told by name (`_kinds`), so none of them is imported here. What a
model reads is bounded; what programs get is whole and, where it may be large, made on first use.

Text-like values (str, Path, datetime, UUID, Decimal, an enum of texts, objects without a JSON form)
have no structured content: programs get the text. Bytes have neither, only a text that says how
many there are; the live object is always in ``value``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from pi_kernel.protocol.content import ImageContent, TextContent
from pi_kernel.protocol.json import well_formed
from pi_kernel.protocol.results import ABSENT, ToolResult
from pi_kernel.registry._arrays import array_text
from pi_kernel.registry._kinds import Kind, class_attribute, kind_of
from pi_kernel.registry._pictures import figure_blocks, image_blocks
from pi_kernel.registry._plain import SAFE_INTEGER_BITS, in_brief, plain
from pi_kernel.registry._preview import table_text
from pi_kernel.registry._tables import open_table
from pi_kernel.registry._text import MAX_TEXT_BYTES, bounded, json_text
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("to_result",)

MAX_BYTES_OF_A_CHARACTER = 4
SURELY_SHORT_CHARS = MAX_TEXT_BYTES // MAX_BYTES_OF_A_CHARACTER
LAZY_FRAME = "LazyFrame: a query that has not run; return frame.collect() to get its rows"

_BLOCKS = (TextContent, ImageContent)
_BYTES: tuple[type[Any], ...] = (bytes, bytearray, memoryview)
_LISTS: tuple[type[Any], ...] = (list, tuple)
_PICTURES: frozenset[Kind | None] = frozenset({"image", "figure", "axes"})


def to_result(value: Any, *, is_bounded: bool = True) -> ToolResult:
    """Convert what a function returned.

    Args:
        value: Anything.
        is_bounded: Whether a text of more than 50 KB is cut for the model, with a notice of its
            true size. Programs get the whole value all the same.

    Raises:
        ToolCallError: If the value contains itself or is nested too deep to be written as JSON.
    """
    cls = type(value)  # pyright: ignore[reportUnknownVariableType]  # of anything
    if cls is str:
        if len(value) <= SURELY_SHORT_CHARS:
            return ToolResult.of_scalar(value)
    elif cls is int:
        if value.bit_length() < SAFE_INTEGER_BITS:
            return ToolResult.of_scalar(value)
    elif value is None or cls is bool or (cls is float and math.isfinite(value)):
        return ToolResult.of_scalar(value)
    return _convert(value, MAX_TEXT_BYTES if is_bounded else None)


def _convert(value: Any, max_bytes: int | None) -> ToolResult:
    if type(value) is dict:
        return _of_json(value, max_bytes)
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, ToolOutcome):
        return _of_outcome(value)
    if isinstance(value, str):
        return _of_text(value, str.__str__(value), max_bytes)
    content = _content_of(value)
    if content is not None:
        return ToolResult(content, value=value)
    return _of_table(value, max_bytes) or _of_json(value, max_bytes)


def _content_of(value: Any) -> str | list[TextContent | ImageContent] | None:
    """Return the content of values that are nothing but content, None for others."""
    if isinstance(value, TextContent | ImageContent):
        return [value]
    if isinstance(value, _BYTES):
        return f"{memoryview(value).nbytes} bytes"
    make = _CONTENT_MAKERS.get(kind_of(value))
    if make is not None:
        return make(value)
    if isinstance(value, _LISTS) and _is_content(value):
        return [block for item in value for block in to_result(item).content]
    # Figures of libraries built on matplotlib.
    return figure_blocks(value) if callable(class_attribute(value, "savefig")) else None


_CONTENT_MAKERS: dict[Kind | None, Callable[[Any], str | list[TextContent | ImageContent]]] = {
    "image": image_blocks,
    "figure": figure_blocks,
    "axes": lambda axes: figure_blocks(axes.get_figure()),
    "polars-lazy": lambda _: LAZY_FRAME,
}


def _of_outcome(outcome: ToolOutcome) -> ToolResult:
    """Return another call's outcome as this one's; its usage is counted where it was made."""
    result = outcome.result.replace()
    result.is_error = outcome.is_error
    result.usage = None
    result.terminate = None
    return result


def _of_text(value: Any, text: str, max_bytes: int | None) -> ToolResult:
    text = well_formed(text)
    short = bounded(text, max_bytes=max_bytes)
    whole = ABSENT if short is text else text
    return ToolResult([TextContent(short)], structured_content=whole, value=value)


def _of_table(value: Any, max_bytes: int | None) -> ToolResult | None:
    """Return the result of a table, a column or an array, None for other values."""
    kind = kind_of(value)
    if kind == "numpy-array" and value.ndim:
        text = bounded(well_formed(array_text(value)), max_bytes=max_bytes)
        factory: Callable[[], Any] = lambda: plain(value)  # noqa: E731 - read on first use
    else:
        table = None if kind is None else open_table(value, kind)
        if table is None:
            return None
        text = table_text(table)
        factory = lambda: table.rows(plain)  # noqa: E731
    return ToolResult([TextContent(text)], value=value).with_structured_factory(factory)


def _of_json(value: Any, max_bytes: int | None) -> ToolResult:
    short, has_shortened = in_brief(value)
    if isinstance(short, str):
        return _of_text(value, short, max_bytes)
    text = TextContent(json_text(short, max_bytes=max_bytes))
    if has_shortened:
        return ToolResult([text], value=value).with_structured_factory(lambda: plain(value))
    return ToolResult([text], structured_content=short, value=value)


def _is_content(items: Sequence[Any]) -> bool:
    """Whether a list is content: blocks and pictures, with or without texts between them."""
    has_block = False
    for item in items:
        if isinstance(item, _BLOCKS) or kind_of(item) in _PICTURES:
            has_block = True
        elif type(item) is not str:
            return False
    return has_block
