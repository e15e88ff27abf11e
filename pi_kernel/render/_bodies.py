"""What a card shows below its line, chosen by tool and by what the result is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from pi_kernel.protocol.content import ImageContent
from pi_kernel.protocol.results import ABSENT
from pi_kernel.registry._kinds import kind_of
from pi_kernel.render import _style as style
from pi_kernel.render._arguments import is_shape_of
from pi_kernel.render._custom import own_result
from pi_kernel.render._diff import diff_body
from pi_kernel.render._files import code_html, read_body, write_body
from pi_kernel.render._html import Body, Room, div, fold, muted, pre, utf8_bytes
from pi_kernel.render._images import image_facts, images_html
from pi_kernel.render._json import compact_value, json_lines, outline
from pi_kernel.render._lines import Picked, pick_lines, shown_lines
from pi_kernel.render._search import find_body, grep_body, ls_body
from pi_kernel.render._sentences import sentence_and_hint
from pi_kernel.render._shell import shell_body
from pi_kernel.render._status import SHELLS
from pi_kernel.render._table import table_body
from pi_kernel.render._text import cut, escape
from pi_kernel.render.formats import counted, size
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("body_of", "extras_of")

VISIBLE_LINES = 20
VISIBLE_SCRIPT_LINES = 12
MAX_INLINE_CHARS = 120
MAX_ARGUMENT_LINES = 200
BORDERED = f"border-top:{style.LINE}"
EMPTY = "padding:8px 12px;opacity:0.75"

Make = Callable[[ToolOutcome, Room], Body | None]


def body_of(outcome: ToolOutcome, room: Room) -> Body:
    """Return the body of a call's card; whatever a result holds, there is one."""
    for make in _makers(outcome):
        share = room.share(room.left)
        try:
            body = make(outcome, share)
        except Exception:  # noqa: BLE001 - a result of another form than the view expects
            room.left += max(0, share.left)
            continue
        room.left += max(0, share.left)
        if body is not None:
            return body
    return Body(html=div(EMPTY, "This result cannot be shown."))


def _makers(outcome: ToolOutcome) -> list[Make]:
    if outcome.status != "ok" and not _is_shell_exit(outcome):
        return [_failure, _text]
    makers: list[Make] = [_own]
    if is_shape_of(outcome.tool_name, outcome.args):
        makers.append(_BY_TOOL[outcome.tool_name])
    return [*makers, _table, _json, _text]


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
    label = div(style.FOOT if html else "padding:5px 12px;font-size:12px;opacity:0.75", "Text the model got")
    from_end = outcome.tool_name in SHELLS
    lines, note = shown_lines(
        pick_lines(text, from_end=from_end),
        room,
        visible=VISIBLE_LINES,
        from_end=from_end,
        look=style.PROSE.replace("padding:8px 12px", "padding:0 12px 8px 12px"),
    )
    return Body(html=html + label + lines, foot=[note] if note else [])


def _codemode(outcome: ToolOutcome, room: Room) -> Body | None:
    code = outcome.args.get("code")
    if not isinstance(code, str):
        return None
    html, note, _ = code_html(
        code.rstrip("\n"), "script.py", room, first=1, visible=VISIBLE_SCRIPT_LINES
    )
    output = _text(outcome, room)
    body = Body(
        html=html + div(BORDERED, output.html),
        images=output.images,
        foot=[part for part in (note, *output.foot) if part],
        shows_arguments=True,
    )
    return body


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
    picked = Picked(lines, 0, len(lines), 0)
    html, note = shown_lines(picked, room, convert=_as_they_are, visible=VISIBLE_LINES)
    foot = [f"JSON, {outline(value)}."]
    if note or not is_whole:
        foot.append(f"Long values and lists are shortened here; the model got {_text_size(outcome)}.")
    return Body(html=html, facts=[outline(value)], foot=foot, shows_structured=True)


def _text(outcome: ToolOutcome, room: Room) -> Body:
    images = [block for block in outcome.content if isinstance(block, ImageContent)]
    text = outcome.text
    body = Body(images=images_html(images))
    if images:
        body.facts = [image_facts(images[0]).partition(",")[0]]
        body.foot = [f"{image_facts(image)}." for image in images[:3]]
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


def _text_size(outcome: ToolOutcome) -> str:
    return size(utf8_bytes(outcome.text))


def _as_they_are(lines: Sequence[str]) -> list[str]:
    return list(lines)


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


def value_of(outcome: ToolOutcome) -> Any:
    """Return what programs got, without making the JSON of large values."""
    value = outcome.result.value
    return outcome.structured_content if value is ABSENT else value


def extras_of(outcome: ToolOutcome, body: Body, room: Room) -> str:
    """Return what is folded away below the body: arguments, structured content, details."""
    parts: list[str] = []
    if not body.shows_arguments and _has_more_to_tell(outcome.args):
        _add(parts, "Arguments", _argument_lines(outcome.args), room)
    if not body.shows_structured and outcome.has_structured_content:
        value = value_of(outcome)
        is_text = isinstance(value, str) and value == outcome.text
        if not is_text and kind_of(value) is None and isinstance(value, Mapping | list | tuple):
            _add(parts, f"Structured content, {outline(value)}", json_lines(value)[0], room)
    details = outcome.details
    if isinstance(details, Mapping) and details and outcome.tool_name not in _BY_TOOL:
        named = cast("Mapping[str, Any]", details)
        _add(parts, f"Details, {outline(named)}", json_lines(named)[0], room)
    return "".join(parts)


def _add(parts: list[str], label: str, lines: list[str], room: Room) -> None:
    html = fold(label, pre(lines))
    if not room.take(html):
        html = fold(f"{label}, too long to keep here", pre([escape("Ask the outcome for it.")]))
        if not room.take(html):
            return
    parts.append(html)


def _has_more_to_tell(args: Mapping[str, Any]) -> bool:
    """Whether the card's line cannot say all of the arguments."""
    length = 0
    for value in args.values():
        if isinstance(value, str):
            length += len(value)
            if "\n" in value:
                return True
        elif isinstance(value, Mapping | list):
            return True
    return length > MAX_INLINE_CHARS // 2


def _argument_lines(args: Mapping[str, Any]) -> list[str]:
    """Return the arguments as lines of HTML; a long text has its own lines below its name."""
    lines: list[str] = []
    for name, value in args.items():
        title = f"<b>{escape(cut(name, MAX_INLINE_CHARS))}</b>: "
        if isinstance(value, str) and ("\n" in value or len(value) > MAX_INLINE_CHARS):
            picked = pick_lines(value)
            lines.append(f"{title}{counted(picked.total, 'line')}, {size(picked.n_bytes)}")
            lines += [f"  {escape(line[:2_000])}" for line in picked.lines[:MAX_ARGUMENT_LINES]]
        elif isinstance(value, Mapping | list):
            first, *rest = json_lines(value)[0]
            lines += [title + first, *rest]
        else:
            lines.append(title + escape(compact_value(value, MAX_INLINE_CHARS)))
    return lines
