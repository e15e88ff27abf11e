"""One call as a card for saved notebooks, as one line, and as text for a terminal."""

from __future__ import annotations

from pi_kernel.render import _style as style
from pi_kernel.render._arguments import args_of, call_line
from pi_kernel.render._bodies import body_of
from pi_kernel.render._custom import own_call_line
from pi_kernel.render._extras import extras_of
from pi_kernel.render._html import Body, Room, div, mono, span, utf8_bytes
from pi_kernel.render._images import image_facts
from pi_kernel.render._lines import pick_lines
from pi_kernel.render._sentences import sentence_and_hint
from pi_kernel.render._shell import VISIBLE_LINES, shell_output
from pi_kernel.render._status import FAILED, SHELLS, facts_html, time_of, word_html, word_of
from pi_kernel.render._text import cut, escape, in_one_line, line_of, plain, strip_escapes
from pi_kernel.render._tree import facts_of_calls, rows_of, text_rows, tree_html
from pi_kernel.render.formats import counted, duration, usage_text
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("MAX_HTML_BYTES", "call_bundle", "call_text")

MAX_HTML_BYTES = 50 * 1024
"""Of one card without its pictures."""
TREE_BYTES = 24 * 1024
EXTRAS_BYTES = 8 * 1024
FRAME_BYTES = 1_536
MAX_NAME_CHARS = 80
MAX_FACTS_CHARS = 200
MAX_SENTENCE_CHARS = 400
MAX_RESULT_CHARS = 80
MAX_LOOKED_AT_CHARS = 2_000
MAX_TEXT_LINE_CHARS = 400
QUEUED_FROM_MS = 100


def call_bundle(outcome: ToolOutcome) -> dict[str, str]:
    """Return the MIME bundle of a call: the card, and one line of text.

    The HTML has only what a notebook that is not trusted keeps, and at most 50 KB of it beside
    pictures. Everything that came from outside is shown as text.
    """
    return {"text/html": _card(outcome), "text/plain": _call_line_text(outcome)}


def _card(outcome: ToolOutcome) -> str:
    """Return the card: a line that opens, with the result below it."""
    record = outcome.nested_calls
    rows = rows_of(record.calls, outcome.id)
    room = Room(MAX_HTML_BYTES - FRAME_BYTES)
    tree_room = room.share(TREE_BYTES if rows else 0)
    tree = tree_html(rows, tree_room)
    room.merge(tree_room)
    extras_room = room.share(EXTRAS_BYTES)
    body = body_of(outcome, room)
    room.merge(extras_room)
    extras = _extras(outcome, body, room)
    calls = facts_of_calls(record.calls, is_complete=record.complete)
    head = _head(outcome, body, calls)
    foot = _foot(body)
    opened = " open" if _is_open(outcome) else ""
    parts = [head, body.html, extras, foot, tree]
    # Marks for hidden characters are long: what is least needed goes first.
    for part in (2, 4, 1, 3):
        if sum(map(utf8_bytes, parts)) <= MAX_HTML_BYTES - len(style.CARD):
            break
        parts[part] = ""
    head, *rest = parts
    inner = head + body.images + "".join(rest)
    return f'<details{opened} style="{style.CARD}">{inner}</details>'


def _extras(outcome: ToolOutcome, body: Body, room: Room) -> str:
    try:
        return extras_of(outcome, body, room)
    except Exception:  # noqa: BLE001 - a live value may fail in any way; the body is there
        return ""


def _head(outcome: ToolOutcome, body: Body, calls: list[str]) -> str:
    word = _word(outcome)
    if outcome.status == "ok" and body.word:
        word = body.word
    facts = [*body.facts, *calls, *_facts(outcome)]
    arguments = _arguments(outcome)
    parts = [
        word_html(outcome.status, word),
        mono(in_one_line(outcome.tool_name, MAX_NAME_CHARS), bold=True),
        span(style.ARGUMENTS, line_of(arguments)) if arguments else "",
        span(style.ARGUMENTS, escape(body.counts)) if body.counts else "",
        facts_html([in_one_line(fact, MAX_FACTS_CHARS) for fact in facts]),
    ]
    return f'<summary style="{style.HEAD}">{" ".join(filter(None, parts))}</summary>'


def _foot(body: Body) -> str:
    sentences = " ".join(in_one_line(part, MAX_SENTENCE_CHARS) for part in body.foot if part)
    return div(style.FOOT, escape(sentences)) if sentences else ""


def _word(outcome: ToolOutcome) -> str:
    is_shell = outcome.status == "error" and outcome.tool_name in SHELLS
    return word_of(
        outcome.status, outcome.tool_name, outcome.structured_content if is_shell else None
    )


def _arguments(outcome: ToolOutcome) -> str:
    own = own_call_line(outcome)
    if own is not None:
        return own
    return call_line(
        outcome.tool_name, args_of(outcome), getattr(outcome.call.tool, "parameters", None)
    )


def _facts(outcome: ToolOutcome) -> list[str]:
    facts: list[str] = []
    queued_ms = outcome.call.queued_ms
    if queued_ms is not None and queued_ms >= QUEUED_FROM_MS:
        facts.append(f"{duration(queued_ms)} queued")
    if outcome.usage is not None:
        facts.append(usage_text(outcome.usage))
    facts.append(time_of(outcome.status, outcome.duration_ms))
    return facts


def _is_open(outcome: ToolOutcome) -> bool:
    """Whether there is something to look at: a failure, or what a person asked for."""
    return outcome.status in FAILED or outcome.call.root.origin != "model"


def _call_line_text(outcome: ToolOutcome) -> str:
    """Return the call on one line: status, tool, arguments, time, the result's first line."""
    line, has_more = _telling_line(outcome)
    result = f": {line}" if line else ""
    return plain(_summary(outcome) + result) + (" …" if has_more else "")


def _summary(outcome: ToolOutcome) -> str:
    name = in_one_line(outcome.tool_name, MAX_NAME_CHARS)
    parts = [_word(outcome), name, _arguments(outcome)]
    parts.append(time_of(outcome.status, outcome.duration_ms))
    return "  ".join(filter(None, parts))


def _telling_line(outcome: ToolOutcome) -> tuple[str, bool]:
    """Return the first line that says something, a failed command's last; and whether not all."""
    if outcome.is_error and outcome.tool_name in SHELLS:
        tail = shell_output(outcome)[-MAX_LOOKED_AT_CHARS:].rstrip()
        rest, _, line = tail.rpartition("\n")
    else:
        line, _, rest = outcome.text[:MAX_LOOKED_AT_CHARS].lstrip().partition("\n")
    return in_one_line(line, MAX_RESULT_CHARS), bool(rest.strip())


def call_text(outcome: ToolOutcome) -> str:
    """Return the call for a terminal: its line, up to 20 lines of the result, nested calls.

    Escape sequences are left out, other hidden characters are written as ``[U+202E]``.
    """
    lines = [plain(_summary(outcome))]
    if outcome.status in FAILED or outcome.status == "aborted":
        sentence, hint = sentence_and_hint(outcome)
        lines += [plain(part) for part in (sentence, hint) if part]
    lines += _content_lines(outcome)
    record = outcome.nested_calls
    if record.calls:
        lines.append(", ".join(facts_of_calls(record.calls, is_complete=record.complete)))
        lines += text_rows(rows_of(record.calls, outcome.id))
    return "\n".join(lines)


def _content_lines(outcome: ToolOutcome) -> list[str]:
    from_end = outcome.tool_name in SHELLS
    text = shell_output(outcome) if from_end else outcome.text
    picked = pick_lines(text, from_end=from_end)
    kept = picked.lines[-VISIBLE_LINES:] if from_end else picked.lines[:VISIBLE_LINES]
    shown = [plain(cut(strip_escapes(line.rstrip("\r")), MAX_TEXT_LINE_CHARS)) for line in kept]
    left_out = picked.total - len(kept)
    if left_out:
        note = f"({counted(left_out, 'earlier line' if from_end else 'more line')})"
        shown = [note, *shown] if from_end else [*shown, note]
    shown += [f"[{image_facts(block)}]" for block in outcome.content if block.type == "image"]
    return shown or ["(no output)"]
