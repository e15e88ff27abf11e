"""Texts for a model: JSON in a readable form, and nothing longer than the limit."""

from __future__ import annotations

import json
from typing import Any

__all__ = ("MAX_TEXT_BYTES", "bounded", "json_text", "size_text")

MAX_TEXT_BYTES = 50 * 1024
ONE_LINE_CHARS = 100
"""JSON up to this length stays on one line: short values read best so and cost the fewest tokens.
Longer ones get lines, which a model can quote and a person can read and compare."""
KEPT_FOR_SCRIPTS = " Scripts get the whole value."

# Made once: json.dumps makes an encoder for every call that is not all defaults.
_compact = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_indented = json.JSONEncoder(ensure_ascii=False, indent=2)

_KIB = 1024
_MIB = 1024 * 1024


def size_text(byte_count: int) -> str:
    """Return a size as the built-in tools write it: ``50.0KB``, ``1.2MB``."""
    if byte_count < _MIB:
        return f"{byte_count / _KIB:.1f}KB"
    return f"{byte_count / _MIB:.1f}MB"


def json_text(value: Any, *, max_bytes: int | None) -> str:
    """Return plain JSON on one line when it is short, else with two blanks of indentation.

    What fits into ``max_bytes`` only without indentation has none. A longer text ends early, at the
    end of a line, with a notice of the size that the value has as JSON without blanks. None is no
    limit.
    """
    compact = _compact(value)
    if len(compact) <= ONE_LINE_CHARS:
        return compact
    if max_bytes is None:
        return _indented.encode(value)
    parts: list[str] = []
    room = max_bytes
    for part in _indented.iterencode(value):
        parts.append(part)
        room -= len(part)
        if room < 0:
            break
    text = "".join(parts)
    size = len(text.encode())
    if size <= max_bytes:
        return text
    if len(compact.encode()) <= max_bytes:
        return compact
    whole = size_text(len(compact.encode()))
    notice = f"[Truncated: the beginning of {whole} of JSON.{KEPT_FOR_SCRIPTS}]"
    return f"{_first_bytes(text, max_bytes)}\n\n{notice}"


def bounded(text: str, *, max_bytes: int | None, is_kept: bool = True) -> str:
    """Return the text, cut to ``max_bytes`` UTF-8 bytes with a notice of its true size.

    Args:
        text: Well-formed text.
        max_bytes: None is no limit.
        is_kept: Whether programs get the whole value all the same; the notice says so.
    """
    if max_bytes is None or len(text) * 4 <= max_bytes:
        return text
    size = len(text.encode())
    if size <= max_bytes:
        return text
    cut = f"the first {size_text(max_bytes)} of {size_text(size)}"
    kept = KEPT_FOR_SCRIPTS if is_kept else ""
    return f"{_first_bytes(text, max_bytes)}\n\n[Truncated: {cut}.{kept}]"


def _first_bytes(text: str, max_bytes: int) -> str:
    """Return the text's beginning, up to the end of a line unless that would lose half of it."""
    head = text.encode()[:max_bytes].decode("utf-8", "ignore")
    line_end = head.rfind("\n")
    return head[:line_end] if line_end >= len(head) // 2 else head
