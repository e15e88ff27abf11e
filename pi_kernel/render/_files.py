"""What read and write show: the text of a file with line numbers, or a picture."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pi_kernel.protocol.content import ImageContent
from pi_kernel.render._arguments import args_of
from pi_kernel.render._code import highlighter, numbered
from pi_kernel.render._html import Body, Room, div, utf8_bytes
from pi_kernel.render._images import image_facts, images_html
from pi_kernel.render._lines import pick_lines, shown_lines
from pi_kernel.render._text import in_one_line
from pi_kernel.render.formats import count, counted, size
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("code_html", "read_body", "write_body")

VISIBLE_READ_LINES = 40
VISIBLE_WRITTEN_LINES = 10
MAX_NOTICE_CHARS = 250
MAX_MODEL_CHARS = 80
_SHOWING = re.compile(r"\n\n\[Showing lines (\d+)-(\d+) of (\d+)[^\]\n]*\]\Z")
_MORE = re.compile(r"(?:\n\n|\A)\[(\d+) more lines in file\. [^\]\n]*\]\Z")


def read_body(outcome: ToolOutcome, room: Room) -> Body | None:
    """Return the lines that were read, or the picture."""
    path = args_of(outcome).get("path")
    images = [block for block in outcome.content if isinstance(block, ImageContent)]
    if images:
        return _picture(outcome, images)
    if not isinstance(path, str) or _has_no_lines(outcome):
        return None
    text, total = _without_notice(outcome)
    offset = args_of(outcome).get("offset")
    first = int(offset) if isinstance(offset, int | float) and offset >= 1 else 1
    html, note, language = code_html(text, path, room, first=first, visible=VISIBLE_READ_LINES)
    n_lines = pick_lines(text).total
    last = first + n_lines - 1
    if not n_lines:
        html = div("padding:8px 12px;opacity:0.75", "No lines." if total else "Empty file.")
        where = ""
    elif total is None and first == 1:
        where = f"{counted(n_lines, 'line')}."
    else:
        where = f"Lines {first}-{last} of {count(total or last)}."
    facts = [counted(n_lines, "line")]
    kind = f"{language}, {size(utf8_bytes(text))}." if language else f"{size(utf8_bytes(text))}."
    foot = [part for part in (where, kind, note) if part]
    return Body(
        html=html,
        facts=facts,
        foot=foot,
        shows_arguments=True,
        shows_structured=True,
        shows_details=True,
    )


def write_body(outcome: ToolOutcome, room: Room) -> Body | None:
    """Return what was written."""
    path, text = args_of(outcome).get("path"), args_of(outcome).get("content")
    if not isinstance(path, str) or not isinstance(text, str):
        return None
    html, note, language = code_html(text, path, room, first=1, visible=VISIBLE_WRITTEN_LINES)
    n_lines = pick_lines(text).total
    kind = f"{language}, " if language else ""
    foot = [f"{kind}{size(utf8_bytes(text))} written.", note]
    if not n_lines:
        html = div("padding:8px 12px;opacity:0.75", "Empty file.")
    return Body(
        html=html,
        facts=[counted(n_lines, "line")],
        foot=[part for part in foot if part],
        shows_arguments=True,
    )


def code_html(
    text: str, file_name: str, room: Room, *, first: int, visible: int
) -> tuple[str, str, str]:
    """Return numbered, highlighted lines, a note of what is missing, and the language."""
    picked = pick_lines(text)
    highlight, language = highlighter(file_name)
    last = first + picked.total - 1

    def convert(lines: Sequence[str]) -> list[str]:
        return numbered(highlight(lines), first, last)

    html, note = shown_lines(picked, room, convert=convert, visible=visible)
    return html, note, language


def _has_no_lines(outcome: ToolOutcome) -> bool:
    """Whether the text is about a file instead of from it."""
    truncation = _details(outcome).get("truncation")
    if isinstance(truncation, Mapping):
        return bool(cast("Mapping[str, Any]", truncation).get("firstLineExceedsLimit"))
    return outcome.text.startswith("Read image file [")


def _details(outcome: ToolOutcome) -> Mapping[str, Any]:
    details = outcome.details
    return cast("Mapping[str, Any]", details) if isinstance(details, Mapping) else {}


def _without_notice(outcome: ToolOutcome) -> tuple[str, int | None]:
    """Return the lines of the file, and how many it has, where the tool's notice tells."""
    text = outcome.text
    start = max(0, len(text) - MAX_NOTICE_CHARS)
    if "truncation" in _details(outcome):
        match = _SHOWING.search(text, start)
        return (text[: match.start()], int(match[3])) if match else (text, None)
    if "limit" in args_of(outcome):
        match = _MORE.search(text, start)
        if match is not None:
            text = text[: match.start()]
            offset = args_of(outcome).get("offset")
            first = int(offset) if isinstance(offset, int | float) and offset >= 1 else 1
            shown = text.count("\n") + 1 if text else 0
            return text, first - 1 + shown + int(match[1])
    return text, None


def _picture(outcome: ToolOutcome, images: Sequence[ImageContent]) -> Body:
    facts = image_facts(images[0])
    hints = [line.strip("[]") for line in outcome.text.split("\n")[1:4]]
    foot = [f"{facts}.", *(in_one_line(hint, MAX_NOTICE_CHARS) for hint in hints if hint)]
    blind = _details(outcome).get("imageUnsupportedByModel")
    if isinstance(blind, str):
        name = in_one_line(blind, MAX_MODEL_CHARS)
        foot.append(f"{name} does not support images; it saw a placeholder instead.")
    return Body(
        images=images_html(images),
        facts=[facts.partition(",")[0]],
        foot=foot,
        shows_arguments=True,
        shows_structured=True,
        shows_details=True,
    )
