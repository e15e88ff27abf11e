"""How a call ended, in one word with its ground, and how long it took."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from pi_kernel.render import _style as style
from pi_kernel.render._html import span
from pi_kernel.render._style import Ground, ground
from pi_kernel.render._text import escape
from pi_kernel.render.formats import duration

__all__ = ("FAILED", "SHELLS", "facts_html", "time_of", "word_cell", "word_html", "word_of")

FAILED = frozenset({"error", "invalid", "not_found", "timeout", "blocked"})
"""Cards of these are open."""
SHELLS = frozenset({"bash", "powershell"})
SIGNAL_BASE = 128
MAX_SIGNAL = 64
MAX_UNBROKEN_CHARS = 36
UNBROKEN = f"{style.META};white-space:nowrap"
"""Short facts go to the next line as a whole."""
_GROUNDS: dict[str, Ground] = {
    "ok": "ok",
    "error": "bad",
    "invalid": "bad",
    "not_found": "bad",
    "timeout": "bad",
    "blocked": "warn",
}


def word_of(status: str, tool_name: str = "", structured: Any = None) -> str:
    """Return the word for a status; a shell's error tells its exit status or signal."""
    if status == "error" and tool_name in SHELLS and isinstance(structured, Mapping):
        code = cast("Mapping[str, Any]", structured).get("exit_code")
        if isinstance(code, int) and code:
            is_signal = SIGNAL_BASE < code <= SIGNAL_BASE + MAX_SIGNAL
            return f"signal {code - SIGNAL_BASE}" if is_signal else f"exit {code}"
    return status.replace("_", " ")


def word_html(status: str, word: str, *, quiet: bool = False) -> str:
    """Return the word on its ground; a quiet ``ok`` has none."""
    if quiet and status == "ok":
        return escape(word)
    return span(ground(_GROUNDS.get(status, "neutral")), escape(word))


def word_cell(status: str, word: str) -> str:
    """Return the word in a column of its own."""
    return span("display:inline-block;min-width:80px", word_html(status, word, quiet=True))


def time_of(status: str, duration_ms: float | None) -> str:
    """Return how long execute took, or why there is no such time."""
    if duration_ms is not None:
        return duration(duration_ms)
    return "no end recorded" if status == "unfinished" else "did not run"


def facts_html(facts: list[str]) -> str:
    """Return the facts of a call's line; empty when there are none."""
    text = ", ".join(fact for fact in facts if fact)
    if not text:
        return ""
    return span(style.META if len(text) > MAX_UNBROKEN_CHARS else UNBROKEN, escape(text))
