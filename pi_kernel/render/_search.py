"""What grep, find and ls found, as rows: by file, matches marked."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pi_kernel.render import _style as style
from pi_kernel.render._arguments import args_of
from pi_kernel.render._html import Body, Room, div, muted, span, utf8_bytes
from pi_kernel.render._lines import Picked, pick_lines, shown_lines
from pi_kernel.render._safe_pattern import safe_pattern
from pi_kernel.render._text import cut, escape, escape_in_pre
from pi_kernel.render.formats import at_least, counted
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("find_body", "grep_body", "ls_body")

VISIBLE_GREP_ROWS = 20
VISIBLE_NAMES = 20
MAX_ROW_CHARS = 1_000
MAX_MARKED_LINE_CHARS = 300
MAX_MARK_SECONDS = 0.2
MAX_MARKS_IN_LINE = 50
NOTHING = {
    "No matches found": "No matches.",
    "No files found matching pattern": "No matches.",
    "(empty directory)": "Empty folder.",
}
_ROW = re.compile(r"(.+?)(?::(\d{1,9}): |-(\d{1,9})- )")
_MATCH = re.compile(r"(.+?):(\d{1,9}): ()")
"""A row of a search without context: names may look like the number of a context row."""
_NOTICE = re.compile(r"\n\n\[([^\n]*)\]\Z")


@dataclass(slots=True)
class _File:
    path: str
    rows: list[tuple[int, bool, str]] = field(default_factory=list[tuple[int, bool, str]])
    """Line number, whether it matches, text."""

    @property
    def matches(self) -> int:
        return sum(is_match for _, is_match, _ in self.rows)


def grep_body(outcome: ToolOutcome, room: Room) -> Body | None:
    """Return the rows of a search, by file; None when the text has another form."""
    text, notice = split_notice(outcome)
    if text in NOTHING:
        return Body(html=nothing(text), facts=["0 matches"])
    files = _files(text, _ROW if args_of(outcome).get("context") else _MATCH)
    if files is None:
        return None
    n_matches = sum(file.matches for file in files)
    total = (at_least if _is_cut(outcome) else counted)(n_matches, "match", "matches")
    facts = [f"{total} in {counted(len(files), 'file')}"]
    pattern = args_of(outcome).get("pattern")
    marker = safe_pattern(
        pattern if isinstance(pattern, str) else "",
        literal=args_of(outcome).get("literal") is True,
        ignore_case=args_of(outcome).get("ignoreCase") is True,
    )
    lines = list(_grep_lines(files, marker))
    picked = Picked(lines, len(lines), utf8_bytes(text))
    html, note = shown_lines(picked, room, convert=list, visible=VISIBLE_GREP_ROWS)
    return Body(html=html, facts=facts, foot=sentences(notice, note), shows_details=True)


def find_body(outcome: ToolOutcome, room: Room) -> Body | None:
    """Return the paths that were found."""
    return _names(outcome, room, "file")


def ls_body(outcome: ToolOutcome, room: Room) -> Body | None:
    """Return the entries of a folder."""
    return _names(outcome, room, "entry", "entries")


def _names(outcome: ToolOutcome, room: Room, noun: str, plural: str | None = None) -> Body:
    text, notice = split_notice(outcome)
    if text in NOTHING:
        return Body(html=nothing(text), facts=[counted(0, noun, plural)])
    picked = pick_lines(text)
    html, note = shown_lines(picked, room, convert=_name_lines, visible=VISIBLE_NAMES)
    fact = (at_least if _is_cut(outcome) else counted)(picked.total, noun, plural)
    return Body(html=html, facts=[fact], foot=sentences(notice, note), shows_details=True)


def _name_lines(lines: Sequence[str]) -> list[str]:
    """Return names with the last part of each path in front of the eye, folders in bold."""
    return [_name(line) for line in lines]


def _name(path: str) -> str:
    if path.endswith("/"):
        return f"<b>{escape_in_pre(path)}</b>"
    folder, slash, name = path.rpartition("/")
    return muted(folder + slash) + escape_in_pre(name) if slash else escape_in_pre(name)


def split_notice(outcome: ToolOutcome) -> tuple[str, str]:
    """Return the rows, and the notice of a limit, which the tool puts below them in brackets."""
    text = outcome.text
    if not outcome.details:
        return text, ""
    match = _NOTICE.search(text, max(0, len(text) - MAX_ROW_CHARS))
    return (text[: match.start()], match[1]) if match is not None else (text, "")


def _is_cut(outcome: ToolOutcome) -> bool:
    """Whether a limit was reached; a notice may also be of lines that are too long."""
    details = outcome.details
    return isinstance(details, Mapping) and bool(details.keys() - {"linesTruncated"})


def sentences(*parts: str) -> list[str]:
    """Return the parts that say something, each with a full stop."""
    return [part if part.endswith(".") else f"{part}." for part in parts if part]


def nothing(text: str) -> str:
    """Return the line that stands for no rows at all."""
    return div("padding:8px 12px;opacity:0.75", escape(NOTHING[text]))


def _files(text: str, row: re.Pattern[str]) -> list[_File] | None:
    files: list[_File] = []
    picked = pick_lines(text)
    if picked.total > len(picked.lines):
        return None
    for line in picked.lines:
        match = row.match(line[:MAX_ROW_CHARS])
        if match is None:
            return None
        path, number = match[1], match[2] or match[3]
        if not files or files[-1].path != path:
            files.append(_File(path))
        files[-1].rows.append((int(number), match[2] is not None, line[match.end() :]))
    return files or None


def _grep_lines(files: Sequence[_File], marker: re.Pattern[str] | None) -> Iterator[str]:
    deadline = time.perf_counter() + MAX_MARK_SECONDS
    width = max(len(str(number)) for file in files for number, _, _ in file.rows) + 3
    for file in files:
        n_matches = counted(file.matches, "match", "matches")
        yield f"<b>{escape_in_pre(cut(file.path, MAX_ROW_CHARS))}</b>  {muted(n_matches)}"
        for number, is_match, text in file.rows:
            if time.perf_counter() > deadline:
                marker = None
            sign = ":" if is_match else "-"
            place = span(style.FAINT, f"{number:>{width}}{sign}")
            shown = cut(text, MAX_ROW_CHARS)
            yield f"{place} {_marked(shown, marker if is_match else None)}"


def _marked(text: str, marker: re.Pattern[str] | None) -> str:
    if marker is None or len(text) > MAX_MARKED_LINE_CHARS:
        return escape_in_pre(text)
    parts: list[str] = []
    position = 0
    for match, _ in zip(marker.finditer(text), range(MAX_MARKS_IN_LINE), strict=False):
        if match.end() > match.start():
            parts += (
                escape_in_pre(text[position : match.start()]),
                span(style.MARK, escape_in_pre(match[0])),
            )
            position = match.end()
    return "".join([*parts, escape_in_pre(text[position:])])
