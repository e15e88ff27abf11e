"""Line endings: the view of a text in which every line ends in LF, and splicing into the original.

An edit is matched in the view. It is written into the original text, so that every line that no
edit touches keeps its own ending, however mixed the file is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = ("Replacement", "lf_view", "splice", "splice_lf")


@dataclass(frozen=True, slots=True)
class Replacement:
    """One range of the LF view and the text, with LF line breaks, that takes its place."""

    start: int
    end: int
    new_text: str


def lf_view(text: str) -> str:
    r"""Return the text with every CRLF and every lone CR turned into LF.

    Example:
        >>> lf_view("a\r\nb\rc\n")
        'a\nb\nc\n'
    """
    if "\r" not in text:
        return text
    return text.replace("\r\n", "\n").replace("\r", "\n")


def splice_lf(view: str, replacements: Sequence[Replacement]) -> str:
    """Apply replacements to a text that has LF line breaks only.

    Args:
        view: The LF view.
        replacements: In order of position, not overlapping.
    """
    pieces: list[str] = []
    position = 0
    for replacement in replacements:
        pieces += (view[position : replacement.start], replacement.new_text)
        position = replacement.end
    pieces.append(view[position:])
    return "".join(pieces)


def splice(text: str, replacements: Sequence[Replacement]) -> str:
    r"""Apply replacements of the LF view to the original text.

    Line breaks of a new text take the ending of the line in which its range starts. Where a lone
    CR would meet an LF at a seam and the two line breaks would become one, an LF is put between.

    Args:
        text: The original text, with any line endings.
        replacements: Ranges of ``lf_view(text)``, in order of position, not overlapping.

    Source:
        Pi 1.6.0, edit tool.

    Example:
        >>> splice("a\r\nb\nc\n", [Replacement(0, 1, "x\ny"), Replacement(2, 3, "B\nBB")])
        'x\r\ny\r\nB\nBB\nc\n'
    """
    if "\r" not in text:
        return splice_lf(text, replacements)
    offsets = _OriginalOffsets(text)
    pieces: list[str] = []
    position = 0
    for replacement in replacements:
        start, end = offsets.of(replacement.start), offsets.of(replacement.end)
        new_text = replacement.new_text
        if "\n" in new_text:
            new_text = new_text.replace("\n", _line_ending_at(text, start))
        pieces += (text[position:start], new_text)
        position = end
    pieces.append(text[position:])
    return _join_keeping_breaks(pieces)


class _OriginalOffsets:
    """Maps ascending offsets of the LF view to the original; only CRLF makes a difference."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._position = 0
        self._crlfs = 0

    def of(self, view_offset: int) -> int:
        text = self._text
        while (target := view_offset + self._crlfs) > self._position:
            # One back: the CR of a CRLF may be the last character that was counted before.
            self._crlfs += text.count("\r\n", max(0, self._position - 1), target)
            self._position = target
        if self._position > 0 and text.startswith("\r\n", self._position - 1):
            self._position += 1
            self._crlfs += 1
        return self._position


def _line_ending_at(text: str, offset: int) -> str:
    """Return the ending of the line at an offset; an unterminated line takes its predecessor's."""
    newline = text.find("\n", offset)
    if newline < 0:
        newline = text.rfind("\n", 0, offset)
    if newline < 0:
        return "\r"
    return "\r\n" if text.endswith("\r", 0, newline) else "\n"


def _join_keeping_breaks(pieces: Sequence[str]) -> str:
    kept: list[str] = []
    ends_in_cr = False
    for piece in pieces:
        if piece:
            if ends_in_cr and piece.startswith("\n"):
                kept.append("\n")
            kept.append(piece)
            ends_in_cr = piece.endswith("\r")
    return "".join(kept)
