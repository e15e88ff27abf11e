"""What went wrong, in a sentence and a hint for people; the model's text stands below them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from types import TracebackType
from typing import Any

from pi_kernel.render._arguments import args_of
from pi_kernel.render._text import cut, in_one_line
from pi_kernel.render.formats import duration
from pi_kernel.render.places import place_of
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("sentence_and_hint",)

MAX_NAMES = 2_000
"""Names that are compared with a misspelt one."""
MAX_PATH_CHARS = 200
_SYSTEM_ERROR = re.compile(r"(E[A-Z]{3,12}): [^,\n]{1,80}(?:, \w+)?(?: '([^'\n]{0,4096})')?")
_SYSTEM_SENTENCES = {
    "ENOENT": ("No file at {path}", "Paths start at the working directory."),
    "ENOTDIR": ("A part of the path is a file, not a folder: {path}", ""),
    "EISDIR": ("A folder, not a file: {path}", "ls lists what is in it."),
    "EACCES": ("No permission for {path}", ""),
    "EPERM": ("No permission for {path}", ""),
    "EROFS": ("Cannot be changed, the file system is read-only: {path}", ""),
    "ENOSPC": ("No space left on the device", ""),
}


def sentence_and_hint(outcome: ToolOutcome) -> tuple[str, str]:
    """Return what happened and what to do about it; both may be empty."""
    make = _BY_STATUS.get(outcome.status)
    return make(outcome) if make is not None else ("", "")


def _not_found(outcome: ToolOutcome) -> tuple[str, str]:
    name = in_one_line(outcome.tool_name, MAX_PATH_CHARS)
    registry = getattr(outcome.call.host, "registry", None)
    known: Mapping[str, Any] = getattr(registry, "registered", {})
    if outcome.tool_name in known:
        exposure = getattr(known[outcome.tool_name], "exposure", "")
        return (
            f"{name} cannot be called from here",
            f"Its exposure is {exposure}; %tools {name} says who can call it.",
        )
    close = _close_names(outcome.tool_name, known)
    hint = f"Closest names: {', '.join(close)}." if close else "%tools lists the tools."
    return f"No tool named {name}", hint


def _close_names(name: str, known: Iterable[str]) -> list[str]:
    names = [candidate for candidate, _ in zip(known, range(MAX_NAMES), strict=False)]
    return get_close_matches(name[:MAX_PATH_CHARS], names, n=3)


def _invalid(outcome: ToolOutcome) -> tuple[str, str]:
    name = in_one_line(outcome.tool_name, MAX_PATH_CHARS)
    hint = f"ctx.tools.{name}? shows the parameters." if name.isidentifier() else ""
    return f"The arguments do not fit {name}, so it did not run", hint


def _blocked(outcome: ToolOutcome) -> tuple[str, str]:
    reason = outcome.call.block_reason
    text = in_one_line(reason, MAX_PATH_CHARS) if reason else ""
    return "The call was refused, nothing ran", text if text != outcome.text.strip() else ""


def _timeout(outcome: ToolOutcome) -> tuple[str, str]:
    ran = outcome.duration_ms
    after = "" if ran is None else f" after {duration(ran)}"
    has_timeout = "timeout" in args_of(outcome)
    return f"The time ran out{after}", "A longer timeout may help." if has_timeout else ""


def _aborted(outcome: ToolOutcome) -> tuple[str, str]:
    ran = outcome.duration_ms
    return ("Stopped before it ran" if ran is None else f"Stopped after {duration(ran)}", "")


def _unfinished(_outcome: ToolOutcome) -> tuple[str, str]:
    return "No end was recorded", ""


def _error(outcome: ToolOutcome) -> tuple[str, str]:
    text = outcome.text
    match = _SYSTEM_ERROR.match(text[:5_000])
    if match is not None and match[1] in _SYSTEM_SENTENCES:
        sentence, hint = _SYSTEM_SENTENCES[match[1]]
        given = args_of(outcome).get("path")
        path = given if isinstance(given, str) else match[2] or ""
        return sentence.format(path=_short(path)), hint
    if outcome.error is None:
        return "", ""
    name = in_one_line(outcome.tool_name, MAX_PATH_CHARS)
    place = _place(outcome.error.__traceback__)
    return f"{name} raised {type(outcome.error).__name__}", f"In {place}." if place else ""


def _short(path: str) -> str:
    return cut(in_one_line(path, MAX_PATH_CHARS), MAX_PATH_CHARS) or "this path"


def _place(traceback: TracebackType | None) -> str:
    """Return where a tool's own code raised; the package's own frames say nothing to people."""
    place = ""
    while traceback is not None:
        code = traceback.tb_frame.f_code
        module = traceback.tb_frame.f_globals.get("__name__", "")
        if isinstance(module, str) and not module.startswith("pi_kernel."):
            place = f"{code.co_name}, {place_of(code.co_filename, traceback.tb_lineno)}"
        traceback = traceback.tb_next
    return place


_BY_STATUS = {
    "not_found": _not_found,
    "invalid": _invalid,
    "blocked": _blocked,
    "timeout": _timeout,
    "aborted": _aborted,
    "unfinished": _unfinished,
    "error": _error,
}
