"""The two diffs that an edit reports: one with line numbers for people, one that `patch` applies.

Both are made from the replacements of the edit. Only the lines around them are compared, so the
cost does not grow with the size of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from pi_kernel.tools._diff_align import Sign, align
from pi_kernel.tools._edit_splice import Replacement, splice_lf

__all__ = ("EditDiff", "diff_replacements")

CONTEXT_LINES = 4
WINDOW_LINES = 32
"""How many lines around a replacement may take part in the alignment."""
_NO_NEWLINE = "\n\\ No newline at end of file\n"


@dataclass(frozen=True, slots=True)
class EditDiff:
    """What an edit changed."""

    diff: str
    """Rows of a sign, a line number and a line, for people."""
    patch: str
    """A unified diff."""
    first_changed_line: int
    """Counted from 1, in the new text."""


def diff_replacements(view: str, replacements: Sequence[Replacement], *, path: str) -> EditDiff:
    r"""Compare a text before and after some replacements.

    Lines keep their old numbers in rows of context and removed rows, added rows have new ones.

    Args:
        view: The text before, with LF line breaks.
        replacements: In order of position, not overlapping; at least one changes the text.
        path: The file's name in the header of the patch.

    Source:
        Pi 1.6.0, ``generateDiffString`` and ``generateUnifiedPatch``.

    Example:
        >>> diff = diff_replacements("a\nb\nc\n", [Replacement(2, 3, "B")], path="x.txt")
        >>> print(diff.diff)
         1 a
        -2 b
        +2 B
         3 c
    """
    changes = _find_changes(view, replacements)
    sections = _with_context(view, changes)
    breaks_before = changes[-1].old_line + view.count("\n", changes[-1].start)
    breaks_after = breaks_before + sum(
        change.new_text.count("\n") - view.count("\n", change.start, change.end)
        for change in replacements
    )
    number_width = len(str(max(breaks_before, breaks_after) + 1))
    return EditDiff(
        diff="\n".join(_display_rows(sections, number_width=number_width)),
        patch=f"--- {path}\n+++ {path}\n{''.join(_patch_rows(sections))}",
        first_changed_line=changes[0].new_line + 1,
    )


@dataclass(frozen=True, slots=True)
class _Change:
    """Removed and added lines without a kept one between; lines are counted from 0."""

    old_line: int
    new_line: int
    start: int
    """Offset of the first removed line in the old text, or of the line that follows."""
    end: int
    rows: list[tuple[Sign, str]]
    """Lines with their newline."""
    removed: int
    added: int


@dataclass(slots=True)
class _Section:
    """A change and the kept lines that are shown with it."""

    change: _Change
    before: list[str]
    joins_previous: bool
    """All lines between this change and the previous one are in ``before``."""
    is_cut_before: bool
    after: list[str] = field(default_factory=list[str])
    is_cut_after: bool = False


def _find_changes(view: str, replacements: Sequence[Replacement]) -> list[_Change]:
    changes: list[_Change] = []
    position = line = shift = 0
    for start, end, members in _windows(view, replacements):
        line += view.count("\n", position, start)
        position = start
        old = _lines(view[start:end])
        moved = [Replacement(m.start - start, m.end - start, m.new_text) for m in members]
        new = _lines(splice_lf(view[start:end], moved))
        changes += _changes_of_window(old, new, line=line, shift=shift, offset=start)
        shift += len(new) - len(old)
    return changes


def _windows(
    view: str, replacements: Sequence[Replacement]
) -> list[tuple[int, int, list[Replacement]]]:
    """Return ranges of whole lines to compare, with their replacements.

    The lines before the first touched one are equal and would be matched first, so they are left
    out; they count when it is decided whether two windows are one.
    """
    windows: list[tuple[int, int, list[Replacement]]] = []
    for replacement in replacements:
        start = view.rfind("\n", 0, replacement.start) + 1
        end = _skip_lines_forward(view, replacement.end, WINDOW_LINES + 1)
        if windows and _skip_lines_back(view, start, WINDOW_LINES) <= windows[-1][1]:
            first, previous_end, members = windows[-1]
            members.append(replacement)
            windows[-1] = (first, max(previous_end, end), members)
        else:
            windows.append((start, end, [replacement]))
    return windows


def _changes_of_window(
    old: Sequence[str], new: Sequence[str], *, line: int, shift: int, offset: int
) -> Iterator[_Change]:
    old_index = new_index = 0
    for is_kept, runs in groupby(align(old, new), key=lambda run: run[0] == " "):
        first_old, first_new = old_index, new_index
        rows: list[tuple[Sign, str]] = []
        for sign, count in runs:
            if sign == "+":
                rows.extend((sign, text) for text in new[new_index : new_index + count])
            elif sign == "-":
                rows.extend((sign, text) for text in old[old_index : old_index + count])
            old_index += count if sign != "+" else 0
            new_index += count if sign != "-" else 0
        start, offset = offset, offset + sum(map(len, old[first_old:old_index]))
        if not is_kept:
            yield _Change(
                old_line=line + first_old,
                new_line=line + shift + first_new,
                start=start,
                end=offset,
                rows=rows,
                removed=old_index - first_old,
                added=new_index - first_new,
            )


def _with_context(view: str, changes: Sequence[_Change]) -> list[_Section]:
    sections: list[_Section] = []
    for change in changes:
        previous = sections[-1] if sections else None
        if previous is not None:
            between = change.old_line - previous.change.old_line - previous.change.removed
            if between <= 2 * CONTEXT_LINES:
                before = _lines(view[previous.change.end : change.start])
                sections.append(_Section(change, before, joins_previous=True, is_cut_before=False))
                continue
            _add_context_after(view, previous)
        start = _skip_lines_back(view, change.start, CONTEXT_LINES)
        before = _lines(view[start : change.start])
        sections.append(_Section(change, before, joins_previous=False, is_cut_before=start > 0))
    _add_context_after(view, sections[-1])
    return sections


def _add_context_after(view: str, section: _Section) -> None:
    end = _skip_lines_forward(view, section.change.end, CONTEXT_LINES)
    section.after = _lines(view[section.change.end : end])
    section.is_cut_after = end < len(view)


def _display_rows(sections: Sequence[_Section], *, number_width: int) -> Iterator[str]:
    cut = f" {'':{number_width}} ..."

    def row(sign: Sign, line: int, text: str) -> str:
        return f"{sign}{line + 1:>{number_width}} " + text.removesuffix("\n")

    was_cut = False
    for section in sections:
        change = section.change
        if section.is_cut_before and not was_cut:
            yield cut
        old_line, new_line = change.old_line, change.new_line
        for line, text in enumerate(section.before, old_line - len(section.before)):
            yield row(" ", line, text)
        for sign, text in change.rows:
            if sign == "-":
                yield row(sign, old_line, text)
                old_line += 1
            else:
                yield row(sign, new_line, text)
                new_line += 1
        for line, text in enumerate(section.after, old_line):
            yield row(" ", line, text)
        was_cut = section.is_cut_after
        if was_cut:
            yield cut


def _patch_rows(sections: Sequence[_Section]) -> Iterator[str]:
    start = 0
    for stop in range(1, len(sections) + 1):
        if stop == len(sections) or not sections[stop].joins_previous:
            yield from _hunk(sections[start:stop])
            start = stop


def _hunk(sections: Sequence[_Section]) -> Iterator[str]:
    kept = sum(len(section.before) + len(section.after) for section in sections)
    removed = sum(section.change.removed for section in sections)
    added = sum(section.change.added for section in sections)
    lead = len(sections[0].before)
    old_range = _range(sections[0].change.old_line - lead, kept + removed)
    new_range = _range(sections[0].change.new_line - lead, kept + added)
    yield f"@@ -{old_range} +{new_range} @@\n"
    for section in sections:
        for text in section.before:
            yield _patch_row(" ", text)
        for sign, text in section.change.rows:
            yield _patch_row(sign, text)
        for text in section.after:
            yield _patch_row(" ", text)


def _range(first_line: int, count: int) -> str:
    return f"{first_line + 1 if count else first_line},{count}"


def _patch_row(sign: Sign, text: str) -> str:
    return f"{sign}{text}" if text.endswith("\n") else f"{sign}{text}{_NO_NEWLINE}"


def _lines(text: str) -> list[str]:
    """Split into lines that keep their newline."""
    pieces = text.split("\n")
    last = pieces.pop()
    lines = [f"{piece}\n" for piece in pieces]
    if last:
        lines.append(last)
    return lines


def _skip_lines_forward(text: str, offset: int, count: int) -> int:
    """Return the start of the count-th line after the one at the offset, at most the end."""
    for _ in range(count):
        newline = text.find("\n", offset)
        if newline < 0:
            return len(text)
        offset = newline + 1
    return offset


def _skip_lines_back(text: str, line_start: int, count: int) -> int:
    """Return the start of the count-th line before the one that starts at the offset."""
    for _ in range(count):
        if line_start == 0:
            break
        line_start = text.rfind("\n", 0, line_start - 1) + 1
    return line_start
