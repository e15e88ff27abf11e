"""What a shell's command wrote: the last lines, with the terminal's own emphasis."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, cast

from pi_kernel.render._ansi import ansi_lines
from pi_kernel.render._arguments import args_of
from pi_kernel.render._html import Body, Room, div
from pi_kernel.render._lines import Picked, pick_lines, shown_lines
from pi_kernel.render._text import in_one_line
from pi_kernel.render.formats import counted, size
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("VISIBLE_LINES", "shell_body", "shell_output")

VISIBLE_LINES = 20
MAX_PATH_CHARS = 160
MAX_SHORT_CHARS = 100
"""A command up to this length is whole in the card's line."""
NO_OUTPUT = "(no output)"
_NOTICE = re.compile(r"\n\n\[Showing (?:lines|last) [^\n]{1,5000}\]\Z")
_EXIT = re.compile(r"\n\nCommand exited with code -?\d+\Z")


def shell_output(outcome: ToolOutcome) -> str:
    """Return the output without the lines that a shell's tool puts below it for the model."""
    text = _EXIT.sub("", outcome.text) if outcome.is_error else outcome.text
    return _NOTICE.sub("", text) if _details(outcome).get("truncation") else text


def shell_body(outcome: ToolOutcome, room: Room) -> Body | None:
    """Return the output of a command."""
    command = args_of(outcome).get("command")
    is_short = isinstance(command, str) and len(command) <= MAX_SHORT_CHARS
    body = Body(shows_arguments=is_short and "\n" not in str(command), shows_details=True)
    text = shell_output(outcome)
    if text in ("", NO_OUTPUT):
        body.html = div("padding:8px 12px;opacity:0.75", NO_OUTPUT)
        return body
    picked = pick_lines(text, from_end=True)
    details = _details(outcome)
    truncation = details.get("truncation")
    if isinstance(truncation, Mapping):
        whole = cast("Mapping[str, Any]", truncation)
        lines, n_bytes = whole.get("totalLines"), whole.get("totalBytes")
        if isinstance(lines, int) and isinstance(n_bytes, int) and lines >= picked.total:
            picked = Picked(picked.lines, lines, n_bytes, from_end=True)
            body.foot.append(f"{counted(lines, 'line')}, {size(n_bytes)}.")
    body.html, note = shown_lines(picked, room, convert=ansi_lines, visible=VISIBLE_LINES)
    if note:
        body.foot = [note]
    path = details.get("fullOutputPath")
    if isinstance(path, str):
        body.foot.append(f"Full output: {in_one_line(path, MAX_PATH_CHARS)}")
    return body


def _details(outcome: ToolOutcome) -> Mapping[str, Any]:
    details = outcome.details
    return cast("Mapping[str, Any]", details) if isinstance(details, Mapping) else {}
