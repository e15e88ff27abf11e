"""What is known of one call, for the pane below a trace."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from pi_kernel.protocol.json import JsonObject, to_wire_value
from pi_kernel.protocol.results import text_of
from pi_kernel.render._html import pre
from pi_kernel.render._text import escape, strip_escapes
from pi_kernel.render.formats import duration, usage_text
from pi_kernel.runtime.call import Call
from pi_kernel.runtime.outcome import ToolOutcome
from pi_kernel.traces.record import parent_of, record_of
from pi_kernel.widgets._bodies import body_html
from pi_kernel.widgets._facts import word_of_call

__all__ = ("details_of",)

MAX_ARGUMENT_CHARS = 16 * 1024
MAX_JSON_CHARS = 64 * 1024
MAX_PARTIAL_CHARS = 16 * 1024
CUT = "\n… the rest is in ctx.trace"


def details_of(call: Call) -> JsonObject:
    """Return the facts, the arguments, the result's body and the JSON of a call."""
    record = record_of(call, [])
    details: JsonObject = {
        "id": call.id,
        "facts": _facts(call),
        "arguments": _json(record.args, MAX_ARGUMENT_CHARS),
        "html": _result(call),
        "json": _json(record.to_wire(), MAX_JSON_CHARS),
    }
    return {name: to_wire_value(value) for name, value in details.items()}


def _facts(call: Call) -> list[list[str]]:
    started = datetime.fromtimestamp(call.started_at).astimezone()
    parent = parent_of(call)
    facts = [["Call", call.id]]
    if parent is not None:
        facts.append(["Called by", parent.id])
    elif call.root.cell_call_id is not None:
        facts.append(["Made in", call.root.cell_call_id])
    facts += [
        ["Made by", {"cell": "a person", "model": "the model"}.get(call.origin, call.origin)],
        ["Status", word_of_call(call)],
        ["Started", f"{started:%H:%M:%S}.{started.microsecond // 1000:03d}"],
    ]
    if call.queued_ms:
        facts.append(["Queued", duration(call.queued_ms)])
    if call.status is not None:
        ran = call.duration_ms
        facts.append(["Ran", "did not run" if ran is None else duration(ran)])
        usage = call.result.usage
        facts.append(["Usage", "none" if usage is None else usage_text(usage)])
    if call.block_reason:
        facts.append(["Refused", call.block_reason])
    if call.updates:
        facts.append(["Updates", f"{call.updates:,}"])
    return facts


def _result(call: Call) -> str:
    if call.status is not None:
        return body_html(ToolOutcome(call))
    partial = call.last_update
    text = text_of(partial.content)[-MAX_PARTIAL_CHARS:] if partial is not None else ""
    return pre([escape(strip_escapes(text) or "It is still running.")])


def _json(value: Any, max_chars: int) -> str:
    text = json.dumps(to_wire_value(value), ensure_ascii=False, indent=2, default=repr)
    return text if len(text) <= max_chars else text[:max_chars] + CUT
