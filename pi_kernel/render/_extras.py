"""What is folded away below a card's body: arguments, structured content, details."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pi_kernel.protocol.results import ABSENT
from pi_kernel.registry._kinds import kind_of
from pi_kernel.render import _style as style
from pi_kernel.render._arguments import args_of
from pi_kernel.render._html import Body, Room, fold, muted, pre
from pi_kernel.render._json import compact_value, json_lines, outline
from pi_kernel.render._lines import MAX_LINE_CHARS, pick_lines
from pi_kernel.render._text import ELLIPSIS, cut, escape_in_pre
from pi_kernel.render.formats import counted, size
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("extras_of", "value_of")

MAX_INLINE_CHARS = 120
"""A text up to this length stands behind its name."""
MAX_LINE_ARGUMENTS_CHARS = 60
"""Arguments up to this length are whole in the card's line."""
MAX_ARGUMENT_LINES = 200
MAX_NAME_CHARS = 80
MORE_LINES_BYTES = 80
"""Of the line that counts those which do not fit."""
# Their declared types keep what isinstance() tells of an Any from becoming a dict of unknowns.
_OBJECT: tuple[type[Any], ...] = (Mapping,)
_CONTAINERS: tuple[type[Any], ...] = (Mapping, list, tuple)


def extras_of(outcome: ToolOutcome, body: Body, room: Room) -> str:
    """Return the folded parts that fit, of those that the body does not show."""
    parts: list[str] = []
    if not body.shows_arguments and _has_more_to_tell(args_of(outcome)):
        _add(parts, "Arguments", argument_lines(args_of(outcome)), room, look=style.PROSE)
    if not body.shows_structured and outcome.has_structured_content:
        value = value_of(outcome)
        if isinstance(value, _CONTAINERS) and kind_of(value) is None:
            _add(parts, f"Structured content, {outline(value)}", json_lines(value)[0], room)
    details = outcome.details
    if not body.shows_details and isinstance(details, _OBJECT) and details:
        _add(parts, f"Details, {outline(details)}", json_lines(details)[0], room)
    return "".join(parts)


def value_of(outcome: ToolOutcome) -> Any:
    """Return what programs got, without making the JSON of large values."""
    value = outcome.result.value
    return outcome.structured_content if value is ABSENT else value


def _add(
    parts: list[str], label: str, lines: list[str], room: Room, *, look: str = style.PRE
) -> None:
    """Add a part that opens, with as many of its lines as fit."""
    if not room.take(fold(label, pre(["x" * MORE_LINES_BYTES], look))):
        return
    kept: list[str] = []
    for line in lines:
        if not room.take(line + "\n"):
            kept.append(muted(f"{ELLIPSIS} {counted(len(lines) - len(kept), 'more line')}"))
            break
        kept.append(line)
    parts.append(fold(label, pre(kept, look)))


def _has_more_to_tell(args: Mapping[str, Any]) -> bool:
    """Whether the card's line may not say all of the arguments."""
    n_chars = 0
    for value in args.values():
        if isinstance(value, _CONTAINERS) or (isinstance(value, str) and "\n" in value):
            return True
        n_chars += len(value) if isinstance(value, str) else 0
    return n_chars > MAX_LINE_ARGUMENTS_CHARS


def argument_lines(args: Mapping[str, Any]) -> list[str]:
    """Return the arguments as lines of HTML; a long text has its own lines below its name."""
    lines: list[str] = []
    for name, value in args.items():
        title = f"<b>{escape_in_pre(cut(name, MAX_NAME_CHARS))}</b>: "
        if isinstance(value, str) and ("\n" in value or len(value) > MAX_INLINE_CHARS):
            picked = pick_lines(value)
            lines.append(f"{title}{counted(picked.total, 'line')}, {size(picked.n_bytes)}")
            shown = picked.lines[:MAX_ARGUMENT_LINES]
            lines += [f"  {escape_in_pre(line[:MAX_LINE_CHARS])}" for line in shown]
            continue
        short = compact_value(value, MAX_INLINE_CHARS + 1)
        if len(short) <= MAX_INLINE_CHARS:
            lines.append(title + escape_in_pre(short))
        else:
            first, *rest = json_lines(value)[0]
            lines += [title + first, *rest]
    return lines
