"""What a view is told about a call: names, words and numbers, never objects."""

from __future__ import annotations

import contextlib
import time
from functools import lru_cache
from typing import Any

from pi_kernel.protocol.json import well_formed
from pi_kernel.protocol.results import text_of
from pi_kernel.render._arguments import call_line
from pi_kernel.render._status import SHELLS, word_of
from pi_kernel.render._text import in_one_line
from pi_kernel.runtime.call import Call

__all__ = ("arguments_line", "is_path_line", "kind_of", "running_ms", "tail_of", "word_of_call")

MAX_LINE_CHARS = 400
MAX_NAME_CHARS = 80
PATH_TOOLS = frozenset({"read", "write", "edit", "ls"})
_KINDS = {"not_found": "notfound"}


def kind_of(call: Call) -> str:
    """Return the status as the views name it; ``queued`` and ``running`` before the end."""
    if call.status is None:
        return "queued" if call.executing_since is None else "running"
    return _KINDS.get(call.status, call.status)


def word_of_call(call: Call) -> str:
    """Return the status in words; a shell's error tells its exit status."""
    if call.status is None:
        return kind_of(call)
    is_shell = call.status == "error" and call.name in SHELLS
    return word_of(call.status, call.name, call.result.structured_content if is_shell else None)


def arguments_line(call: Call, max_chars: int = MAX_LINE_CHARS) -> str:
    """Return the arguments on one line."""
    parameters = getattr(call.tool, "parameters", None)
    return well_formed(call_line(call.name, call.raw, parameters, max_chars=max_chars))


def name_of(call: Call) -> str:
    """Return the tool's name, which a model may have made up, on one line."""
    return _name(call.name)


@lru_cache(maxsize=256)
def _name(name: str) -> str:
    return well_formed(in_one_line(name, MAX_NAME_CHARS))


def is_path_line(call: Call) -> bool:
    """Whether the arguments are a path, whose last part says most."""
    return call.name in PATH_TOOLS


def about(call: Call) -> str:
    """Return what the call is doing, as its tool says; empty where it says nothing."""
    activity = getattr(call.tool, "activity", None)
    if activity is not None:
        with contextlib.suppress(Exception):  # a text for people must not harm the call
            said = str(activity(getattr(call, "args", call.raw)))
            return well_formed(in_one_line(said, MAX_LINE_CHARS))
    return ""


def running_ms(call: Call) -> float | None:
    """Return how long the call ran, or has been here; None when it did not run."""
    if call.status is None:
        return (time.perf_counter() - call.started_perf) * 1000
    return call.duration_ms


def tail_of(call: Call, max_bytes: int) -> dict[str, Any] | None:
    """Return the end of what a running call has told, or None when it has told nothing."""
    partial = call.last_update
    if partial is None:
        return None
    text = text_of(partial.content)
    end = text[-max_bytes:].encode("utf-8", "surrogatepass")[-max_bytes:]
    kept = end.decode("utf-8", "ignore")
    if len(kept) < len(text) and (cut := kept.find("\n")) >= 0:
        kept = kept[cut + 1 :]
    lines = _lines(text)
    n_bytes = len(text.encode("utf-8", "surrogatepass"))
    details = partial.details
    truncation = details.get("truncation") if isinstance(details, dict) else None
    if isinstance(truncation, dict):
        lines = max(lines, _whole(truncation.get("totalLines")))
        n_bytes = max(n_bytes, _whole(truncation.get("totalBytes")))
    return {
        "text": kept,
        "earlier": max(lines - _lines(kept), 0),
        "lines": lines,
        "bytes": n_bytes,
        "terminal": call.name in SHELLS,
    }


def _lines(text: str) -> int:
    return text.count("\n") + (not text.endswith("\n")) if text else 0


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0
