"""What stopped calls had given so far, as static cards and as text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pi_kernel.render import _style as style
from pi_kernel.render._ansi import ansi_lines
from pi_kernel.render._arguments import call_line
from pi_kernel.render._html import Room, div, mono, span
from pi_kernel.render._lines import escape_lines, pick_lines, shown_lines
from pi_kernel.render._status import SHELLS, facts_html, time_of, word_html
from pi_kernel.render._text import cut, escape, in_one_line, line_of, plain, strip_escapes
from pi_kernel.render.formats import counted
from pi_kernel.runtime.call import Call
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("MAX_HTML_BYTES", "aborted_bundle")

MAX_HTML_BYTES = 24 * 1024
"""Of all cards together."""
MAX_CARDS = 5
VISIBLE_LINES = 10
MAX_NAME_CHARS = 80
MAX_TEXT_LINE_CHARS = 400
FRAME_BYTES = 1_000
"""Of the tags of a card and of its share of the sentence below all."""
_ENDING = re.compile(r"(?:^|\n\n)(?:Operation|Command) aborted\Z")
"""What the model is told below the text so far."""


@dataclass(frozen=True, slots=True)
class _Stopped:
    """A stopped call and the text that it had given."""

    call: Call
    text: str

    @property
    def arguments(self) -> str:
        call = self.call
        args = getattr(call, "args", call.raw)
        return call_line(call.name, args, getattr(call.tool, "parameters", None))

    @property
    def time(self) -> str:
        return time_of("aborted", self.call.duration_ms)


def aborted_bundle(calls: Sequence[Call]) -> dict[str, str]:
    """Return the MIME bundle of what stopped calls had given; empty when that was nothing.

    Args:
        calls: Calls in start order; those that ended in another way are passed over.
    """
    stopped = list(_stopped(calls))
    if not stopped:
        return {}
    left_out = len(stopped) - MAX_CARDS
    more = f"{counted(left_out, 'more stopped call')} had output; %trace lists all." * (
        left_out > 0
    )
    shown = stopped[:MAX_CARDS]
    html = "".join(_card(item, MAX_HTML_BYTES // len(shown)) for item in shown)
    text = "\n".join(line for item in shown for line in _text_lines(item))
    if more:
        html += div(f"{style.MUTED};font-size:12px", escape(more))
        text += f"\n({more})"
    return {"text/html": html, "text/plain": text}


def _stopped(calls: Sequence[Call]) -> Iterator[_Stopped]:
    for call in calls:
        if call.status == "aborted":
            text = _ENDING.sub("", ToolOutcome(call).text).strip("\n")
            if text:
                yield _Stopped(call, text)


def _card(item: _Stopped, max_bytes: int) -> str:
    room = Room(max_bytes - FRAME_BYTES)
    name = in_one_line(item.call.name, MAX_NAME_CHARS)
    parts = [word_html("aborted", "aborted")]
    named = [mono(name, bold=True)]
    if item.arguments:
        named.append(span(style.ARGUMENTS, line_of(item.arguments)))
    parts += filter(room.take, named)  # marks for hidden characters are long
    parts.append(facts_html([item.time]))
    head = f'<summary style="{style.HEAD}">{" ".join(parts)}</summary>'
    is_shell = item.call.name in SHELLS
    lines, note = shown_lines(
        pick_lines(item.text, from_end=True),
        room,
        convert=ansi_lines if is_shell else escape_lines,
        visible=VISIBLE_LINES,
        look=style.PROSE,
    )
    foot = div(style.FOOT, escape(f"The output up to the stop. {note}".rstrip()))
    return f'<details open style="{style.CARD}">{head}{lines}{foot}</details>'


def _text_lines(item: _Stopped) -> Iterator[str]:
    name = in_one_line(item.call.name, MAX_NAME_CHARS)
    yield plain("  ".join(filter(None, ("aborted", name, item.arguments, item.time))))
    picked = pick_lines(item.text, from_end=True)
    kept = picked.lines[-VISIBLE_LINES:]
    if picked.total > len(kept):
        yield f"    ({counted(picked.total - len(kept), 'earlier line')})"
    for line in kept:
        yield f"    {plain(cut(strip_escapes(line.rstrip(chr(13))), MAX_TEXT_LINE_CHARS))}"
