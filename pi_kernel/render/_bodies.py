"""What a card shows below its line, chosen by tool and by what the result is."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pi_kernel.protocol.content import ImageContent
from pi_kernel.protocol.results import ABSENT
from pi_kernel.render import _style as style
from pi_kernel.render._ansi import ansi_lines
from pi_kernel.render._arguments import args_of, is_shape_of
from pi_kernel.render._custom import own_result
from pi_kernel.render._diff import diff_body
from pi_kernel.render._extras import value_of
from pi_kernel.render._files import code_html, read_body, write_body
from pi_kernel.render._html import Body, Room, div, muted, utf8_bytes
from pi_kernel.render._images import image_facts, images_html
from pi_kernel.render._json import json_lines, outline
from pi_kernel.render._lines import Picked, escape_lines, pick_lines, shown_lines
from pi_kernel.render._search import find_body, grep_body, ls_body
from pi_kernel.render._sentences import sentence_and_hint
from pi_kernel.render._shell import shell_body
from pi_kernel.render._status import SHELLS
from pi_kernel.render._table import table_body
from pi_kernel.render._text import escape
from pi_kernel.render.formats import counted, size
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("body_of",)

VISIBLE_LINES = 20
VISIBLE_SCRIPT_LINES = 12
MAX_IMAGE_FACTS = 3
EMPTY = "padding:8px 12px;opacity:0.75"
LABEL = "padding:5px 12px;font-size:12px;opacity:0.75"
MODEL_TEXT = style.PROSE.replace("padding:8px 12px", "padding:0 12px 8px 12px")

Make = Callable[[ToolOutcome, Room], Body | None]


def body_of(outcome: ToolOutcome, room: Room) -> Body:
    """Return the body of a call's card; whatever a result holds, there is one."""
    for make in _makers(outcome):
        before = room.left
        try:
            body = make(outcome, room)
        except Exception:  # noqa: BLE001 - a result of another form than the view expects
            body = None
        if body is not None:
            return body
        room.left = before
    return Body(html=div(EMPTY, "This result cannot be shown."))


def _makers(outcome: ToolOutcome) -> list[Make]:
    if outcome.status != "ok" and not _is_shell_exit(outcome):
        return [_failure]
    by_tool = _BY_TOOL.get(outcome.tool_name)
    if by_tool is None or not is_shape_of(outcome.tool_name, args_of(outcome)):
        return [_own, _table, _json, _text]
    return [_own, by_tool, _table, _json, _text]


def _is_shell_exit(outcome: ToolOutcome) -> bool:
    """Whether a command ran and told its status, which is no failure of the tool."""
    if outcome.status != "error" or outcome.tool_name not in SHELLS:
        return False
    structured = outcome.structured_content
    return isinstance(structured, dict) and "exit_code" in structured


def _own(outcome: ToolOutcome, room: Room) -> Body | None:
    view = own_result(outcome, room)
    if view is None:
        return None
    html, note = view
    return Body(html=html, foot=[note] if note else [])


def _failure(outcome: ToolOutcome, room: Room) -> Body:
    sentence, hint = sentence_and_hint(outcome)
    html = ""
    if sentence:
        below = f"<br>{muted(hint)}" if hint else ""
        html = div("padding:8px 12px", f"<b>{escape(sentence)}</b>{below}")
        room.take(html)
    text = outcome.text
    if not text:
        return Body(html=html)
    is_shell = outcome.tool_name in SHELLS
    lines, note = shown_lines(
        pick_lines(text, from_end=is_shell),
        room,
        convert=ansi_lines if is_shell else escape_lines,
        visible=VISIBLE_LINES,
        look=MODEL_TEXT,
    )
    label = div(style.FOOT if html else LABEL, "Text the model got")
    return Body(html=html + label + lines, foot=[note] if note else [])


def _codemode(outcome: ToolOutcome, room: Room) -> Body | None:
    code = args_of(outcome).get("code")
    if not isinstance(code, str):
        return None
    html, note, _ = code_html(
        code.rstrip("\n"), "script.py", room, first=1, visible=VISIBLE_SCRIPT_LINES
    )
    output = _text(outcome, room)
    return Body(
        html=html + div(f"border-top:{style.LINE}", output.html),
        images=output.images,
        foot=[part for part in (note, *output.foot) if part],
        shows_arguments=True,
    )


def _table(outcome: ToolOutcome, room: Room) -> Body | None:
    value = outcome.result.value
    body = None if value is ABSENT else table_body(value, room)
    if body is not None:
        body.shows_structured = True
    return body


def _json(outcome: ToolOutcome, room: Room) -> Body | None:
    if not outcome.text.startswith(("{", "[")) or len(outcome.content) != 1:
        return None
    value = value_of(outcome)
    if not isinstance(value, Mapping | list | tuple) or not value:
        return None
    lines, is_whole = json_lines(value)
    picked = Picked(lines, len(lines), 0)
    html, note = shown_lines(picked, room, convert=list, visible=VISIBLE_LINES)
    foot = [f"JSON, {outline(value)}."]
    if note or not is_whole:
        n_bytes = size(utf8_bytes(outcome.text))
        foot.append(f"Long values and lists are shortened here; the model got {n_bytes}.")
    return Body(html=html, facts=[outline(value)], foot=foot, shows_structured=True)


def _text(outcome: ToolOutcome, room: Room) -> Body:
    images = [block for block in outcome.content if isinstance(block, ImageContent)]
    text = outcome.text
    body = Body(images=images_html(images))
    if images:
        facts = [image_facts(image) for image in images[:MAX_IMAGE_FACTS]]
        body.facts = [facts[0].partition(",")[0]]
        body.foot = [f"{fact}." for fact in facts]
    if not text.strip("\n"):
        body.html = "" if images else div(EMPTY, "(no output)")
        return body
    picked = pick_lines(text)
    body.html, note = shown_lines(picked, room, visible=VISIBLE_LINES, look=style.PROSE)
    if picked.total > 1:
        body.facts.append(counted(picked.total, "line"))
    if note:
        body.foot.append(note)
    return body


_BY_TOOL: dict[str, Make] = {
    "read": read_body,
    "write": write_body,
    "edit": diff_body,
    "bash": shell_body,
    "powershell": shell_body,
    "grep": grep_body,
    "find": find_body,
    "ls": ls_body,
    "codemode": _codemode,
}
