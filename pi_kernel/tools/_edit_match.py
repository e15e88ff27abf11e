"""Finding the ranges that an edit's old texts name: exactly, or else in a relaxed reading.

The relaxed reading ignores blanks at line ends and the difference between typographic and plain
quotes, dashes and spaces. Whether an old text is unique is always decided in the relaxed reading,
so that a near twin cannot be meant by mistake.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise

from pi_kernel.errors import PiKernelError
from pi_kernel.tools._edit_splice import Replacement, lf_view, splice_lf
from pi_kernel.tools._js_text import JS_WHITESPACE, trim_end, utf16_length

__all__ = ("Edit", "EditRefusedError", "find_replacements", "relax")

_PLAIN_FORMS = (
    *((quote, "'") for quote in "\u2018\u2019\u201a\u201b"),
    *((quote, '"') for quote in "\u201c\u201d\u201e\u201f"),
    *((dash, "-") for dash in "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"),
)
_LINE_BLANKS = JS_WHITESPACE.replace("\n", "")
_BLANK_BEFORE_NEWLINE = re.compile(f"\n(?<=[{_LINE_BLANKS}]\n)")
"""Starts with the newline because a literal start is what makes the search fast."""
_SHORT_TEXT_CHARS = 4096
"""Below this the straightforward normalisation is the fastest."""
_MOST_KINDS_REPLACED = 64
_BLOCK = 256
_BASIC_PLANE = 0x10000


class EditRefusedError(PiKernelError):
    """The edits do not fit the text; nothing was changed."""


@dataclass(frozen=True, slots=True)
class Edit:
    """One old text, to be found exactly once, and what takes its place."""

    old_text: str
    new_text: str


def relax(text: str) -> str:
    r"""Return the relaxed reading of a text with LF line breaks.

    NFKC, without the blanks at the end of each line, with plain quotes, dashes and spaces. The
    number of line breaks stays the same.

    Source:
        Pi 1.6.0, ``normalizeForFuzzyMatch``.

    Example:
        >>> relax("say \u201chi\u201d\u00a0\u2014 it\u2019s \ufb01ne \t\n")
        'say "hi" - it\'s fine\n'
    """
    if text.isascii():
        return _trim_lines(text)
    text = _trim_lines(_compatibility_form(text))  # NFKC made plain spaces of the others
    for fancy, plain in _PLAIN_FORMS:
        text = text.replace(fancy, plain)
    return text


def find_replacements(view: str, edits: Sequence[Edit], *, path: str) -> list[Replacement]:
    """Find every edit in a text and return what has to be replaced, in order of position.

    When one edit is found in the relaxed reading only, the ranges are whole lines and the new
    texts are those lines in the relaxed reading with the edits applied; other lines stay as
    they are.

    Args:
        view: The file's text with LF line breaks.
        edits: All of them are looked up in this text; none sees the result of another.
        path: The file as the caller named it, for the messages.

    Returns:
        Replacements of ranges of ``view`` that change it.

    Raises:
        EditRefusedError: If an old text is empty, missing or not unique, if two edits overlap, or
            if nothing would change.

    Source:
        Pi 1.6.0, ``applyEditsToNormalizedContent``.
    """
    wording = _Wording(path, len(edits))
    wanted = [Edit(lf_view(edit.old_text), lf_view(edit.new_text)) for edit in edits]
    for index, edit in enumerate(wanted):
        if not edit.old_text:
            raise wording.empty(index)
    text = _Text(view)
    starts = [view.find(edit.old_text) for edit in wanted]
    is_relaxed = any(
        start < 0 and relax(edit.old_text) in text.relaxed
        for edit, start in zip(wanted, starts, strict=True)
    )
    if is_relaxed:
        text = _Text(text.relaxed, is_relaxed=True)
        starts = [text.view.find(edit.old_text) for edit in wanted]
    matches = [
        (index, text.match(edit, start=start, index=index, wording=wording))
        for index, (edit, start) in enumerate(zip(wanted, starts, strict=True))
    ]
    matches.sort(key=lambda match: match[1].start)
    for (index, match), (next_index, next_match) in pairwise(matches):
        if match.end > next_match.start:
            raise wording.overlap(index, next_index)
    replacements = [match for _, match in matches]
    if is_relaxed:
        replacements = _widen_to_lines(view, text.view, replacements)
    if _changes_nothing(view, replacements):
        raise wording.no_change()
    return replacements


class _Wording:
    """The messages; with several edits they name the edit by its index."""

    def __init__(self, path: str, edit_count: int) -> None:
        self._path = path
        self._is_single = edit_count == 1

    def empty(self, index: int) -> EditRefusedError:
        name = "oldText" if self._is_single else f"edits[{index}].oldText"
        return EditRefusedError(f"{name} must not be empty in {self._path}.")

    def not_found(self, index: int) -> EditRefusedError:
        if self._is_single:
            what, field = "the exact text", "old text"
        else:
            what, field = f"edits[{index}]", "oldText"
        return EditRefusedError(
            f"Could not find {what} in {self._path}."
            f" The {field} must match exactly including all whitespace and newlines."
        )

    def not_unique(self, index: int, count: int) -> EditRefusedError:
        if self._is_single:
            what, rule = "the text", "The text"
        else:
            what, rule = f"edits[{index}]", "Each oldText"
        return EditRefusedError(
            f"Found {count} occurrences of {what} in {self._path}. {rule} must be unique."
            " Please provide more context to make it unique."
        )

    def overlap(self, index: int, next_index: int) -> EditRefusedError:
        return EditRefusedError(
            f"edits[{index}] and edits[{next_index}] overlap in {self._path}."
            " Merge them into one edit or target disjoint regions."
        )

    def no_change(self) -> EditRefusedError:
        if not self._is_single:
            return EditRefusedError(
                f"No changes made to {self._path}. The replacements produced identical content."
            )
        return EditRefusedError(
            f"No changes made to {self._path}. The replacement produced identical content."
            " This might indicate an issue with special characters or the text not existing as"
            " expected."
        )


class _Text:
    """A text that is searched; its relaxed reading is made only when it is needed."""

    def __init__(self, view: str, *, is_relaxed: bool = False) -> None:
        self.view = view
        self._is_relaxed = is_relaxed

    @cached_property
    def relaxed(self) -> str:
        return self.view if self._is_relaxed else relax(self.view)

    def match(self, edit: Edit, *, start: int, index: int, wording: _Wording) -> Replacement:
        """Return the only place of an old text, or refuse the edit.

        Args:
            edit: The edit.
            start: Where the old text was found exactly, or -1.
            index: The edit's number, for the messages.
            wording: Makes the messages.
        """
        relaxed_old_text = relax(edit.old_text)
        length = len(edit.old_text)
        if start < 0 and self._is_relaxed:
            start, length = self.view.find(relaxed_old_text), len(relaxed_old_text)
        if start < 0:
            raise wording.not_found(index)
        is_exact = relaxed_old_text == edit.old_text
        if not self._has_at_most_one(relaxed_old_text, first=start if is_exact else None):
            count = self._count(relaxed_old_text)
            if count > 1:
                raise wording.not_unique(index, count)
        return Replacement(start, start + length, edit.new_text)

    def _has_at_most_one(self, relaxed_old_text: str, *, first: int | None) -> bool:
        """Tell cheaply, where that is possible, that there is no second occurrence.

        In ASCII text the relaxed reading only drops blanks at line ends. The longest line of the
        relaxed old text ends in none, so the text itself shows how often that line occurs.

        Args:
            relaxed_old_text: The old text in the relaxed reading.
            first: Where this very text was found first, if that is known.
        """
        if not self.view.isascii():
            return False
        line = max(relaxed_old_text.split("\n"), key=len)
        if not line:
            return False
        if first is None or line != relaxed_old_text:
            first = self.view.find(line)
        return first < 0 or self.view.find(line, first + len(line)) < 0

    def _count(self, relaxed_old_text: str) -> int:
        """Count the occurrences in the relaxed reading, without overlaps."""
        if not relaxed_old_text:
            return utf16_length(self.relaxed) - 1
        return self.relaxed.count(relaxed_old_text)


def _trim_lines(text: str) -> str:
    if not text or (text[-1] not in _LINE_BLANKS and not _BLANK_BEFORE_NEWLINE.search(text)):
        return text
    return "\n".join([trim_end(line) for line in text.split("\n")])


def _compatibility_form(text: str) -> str:
    """Return the NFKC form.

    Python normalises a text as a whole or, when nothing is to be done, very fast not at all. So
    in a long text the kinds of characters that NFKC replaces are replaced one by one first.
    """
    if len(text) > _SHORT_TEXT_CHARS:
        position = 0
        for _ in range(_MOST_KINDS_REPLACED):
            unstable = _unstable_character().search(text, position)
            if unstable is None:
                break
            position = unstable.start()
            text = text.replace(unstable[0], unicodedata.normalize("NFKC", unstable[0]))
    return unicodedata.normalize("NFKC", text)


@cache
def _unstable_character() -> re.Pattern[str]:
    """Match a character of the basic plane that NFKC replaces wherever it stands."""
    unstable: list[str] = []
    for first in range(0, _BASIC_PLANE, _BLOCK):
        block = [chr(code) for code in range(first, first + _BLOCK)]
        if not unicodedata.is_normalized("NFKC", "".join(block)):
            unstable += [char for char in block if unicodedata.normalize("NFKC", char) != char]
    return re.compile(f"[{''.join(unstable)}]")


def _widen_to_lines(
    view: str, relaxed: str, replacements: Sequence[Replacement]
) -> list[Replacement]:
    """Turn replacements of the relaxed reading into replacements of whole lines of the view."""
    if _has_open_end(view) != _has_open_end(relaxed):
        raise EditRefusedError(
            "Cannot preserve unchanged lines because the base content has a different line count."
        )
    if not relaxed:
        raise EditRefusedError("Replacement range is outside the base content.")
    groups: list[tuple[int, int, list[Replacement]]] = []
    for replacement in replacements:
        start = relaxed.rfind("\n", 0, replacement.start) + 1
        last = max(replacement.start, replacement.end - 1)
        end = relaxed.find("\n", last) + 1 or len(relaxed)
        if groups and start < groups[-1][1]:
            first, previous_end, members = groups[-1]
            members.append(replacement)
            groups[-1] = (first, max(previous_end, end), members)
        else:
            groups.append((start, end, [replacement]))
    widened: list[Replacement] = []
    relaxed_position = view_position = 0
    for start, end, members in groups:
        line_count = relaxed.count("\n", relaxed_position, start)
        view_start = _skip_lines(view, view_position, line_count)
        view_end = _skip_lines(view, view_start, relaxed.count("\n", start, end))
        if not relaxed.endswith("\n", start, end):
            view_end = len(view)
        shifted = [Replacement(m.start - start, m.end - start, m.new_text) for m in members]
        new_text = splice_lf(relaxed[start:end], shifted)
        widened.append(Replacement(view_start, view_end, new_text))
        relaxed_position, view_position = end, view_end
    return widened


def _has_open_end(text: str) -> bool:
    return bool(text) and not text.endswith("\n")


def _skip_lines(text: str, position: int, line_count: int) -> int:
    for _ in range(line_count):
        position = text.index("\n", position) + 1
    return position


def _changes_nothing(view: str, replacements: Sequence[Replacement]) -> bool:
    changing = [
        change for change in replacements if view[change.start : change.end] != change.new_text
    ]
    if not changing:
        return True
    first = changing[0]
    shorter = min(first.end - first.start, len(first.new_text))
    if not view.startswith(first.new_text[:shorter], first.start):
        return False
    # Changes can undo each other, as when a repeated piece moves.
    growth = sum(len(change.new_text) - (change.end - change.start) for change in changing)
    return growth == 0 and splice_lf(view, changing) == view
