"""The registry as a static table: what there is, who can call it, and why."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.registry.registry import ToolRegistry
from pi_kernel.render import _style as style
from pi_kernel.render._html import Room, div, mono, muted, span
from pi_kernel.render._reach import Reach, ReachOf
from pi_kernel.render._schema_types import Parameter, parameters_of
from pi_kernel.render._status import facts_html
from pi_kernel.render._text import cut, escape, in_one_line, plain
from pi_kernel.render.formats import count, counted

__all__ = ("tools_bundle",)

MAX_HTML_BYTES = 50 * 1024
FRAME_BYTES = 3_000
MAX_ROWS = 200
MAX_NAME_CHARS = 60
MAX_DESCRIPTION_CHARS = 140
MAX_TEXT_CHARS = 60
MAX_PARAMETERS = 4
"""In a row; the rest is told when it is opened."""
MAX_LISTED_PARAMETERS = 30
MAX_PARAMETER_CHARS = 60
MAX_EXPLANATION_CHARS = 160
MAX_EXPLAINED_CHARS = 1_000
_SENTENCE = re.compile(r"(?<=[\w)\]`/'\"][.!?])(?<!e\.g\.)(?<!i\.e\.)(?<!etc\.)\s+")
"""Between two sentences."""
EMPTY = "No tools registered."
NO_MATCH = "No tool matches."
BUILT_IN = "Built into pi_kernel"
TITLES = ("Tool", "Exposure", "Model can call", "Scripts can call")
TABLE = "border-collapse:collapse;border:0;margin:0;width:100%;table-layout:auto;font-size:12px"
CELL = "padding:4px 8px;text-align:left;background:transparent;vertical-align:top;line-height:18px"
PARAGRAPH = "padding:0 0 6px 0"
TAG = (
    "background:rgba(128,128,128,0.20);border-radius:3px;padding:1px 5px;font-size:11px;"
    "margin-left:4px"
)
GROUP_GROUND = "background:rgba(128,128,128,0.08)"
FIRST_CELL = CELL.replace("4px 8px", "4px 8px 4px 12px")
"""Stands below the title of the card."""
MAX_UNBROKEN_CHARS = 24
"""A parameter up to this length goes to the next line as a whole."""
LINE = "border-top:1px solid rgba(128,128,128,0.20)"


@dataclass(frozen=True, slots=True)
class _Entry:
    """What is shown of one tool."""

    tool: ToolDefinition
    reach: Reach
    parameters: list[Parameter]
    group: str
    source: str

    @property
    def name(self) -> str:
        return in_one_line(self.tool.name, MAX_NAME_CHARS)

    @property
    def description(self) -> str:
        """The first sentence."""
        text = " ".join(self.tool.description[:MAX_EXPLAINED_CHARS].split())
        return cut(_SENTENCE.split(text, maxsplit=1)[0], MAX_DESCRIPTION_CHARS)

    @property
    def whole_description(self) -> str:
        text = " ".join(cut(self.tool.description, MAX_EXPLAINED_CHARS).split())
        return "" if text == self.description else text


def tools_bundle(definitions: Iterable[ToolDefinition], registry: ToolRegistry) -> dict[str, str]:
    """Return the MIME bundle of some tools of a registry.

    Args:
        definitions: What to show, in order.
        registry: Says which of them are active, callable and whose they are.
    """
    reach_of = ReachOf(registry)
    entries = [_entry(tool, registry, reach_of) for tool in definitions]
    nothing = NO_MATCH if registry.registered else EMPTY
    return {"text/html": _html(entries, nothing), "text/plain": _text(entries, nothing)}


def _entry(tool: ToolDefinition, registry: ToolRegistry, reach_of: ReachOf) -> _Entry:
    group, source = _origin(tool, registry)
    return _Entry(tool, reach_of(tool), parameters_of(tool.parameters), group, source)


def _origin(tool: ToolDefinition, registry: ToolRegistry) -> tuple[str, str]:
    """Return the group that a tool stands in, and where it came from."""
    kind, extension = registry.source_of(tool.name) or ("custom", None)
    if kind == "builtin":
        return BUILT_IN, BUILT_IN
    if extension is not None:
        name = in_one_line(extension, MAX_NAME_CHARS)
        return name, name
    if tool.namespace is not None:
        name = in_one_line(tool.namespace.name, MAX_NAME_CHARS)
        return name, name
    module = getattr(tool.function or tool.execute, "__module__", None)
    is_of_notebook = module in (None, "__main__")
    source = "this notebook" if is_of_notebook else in_one_line(str(module), MAX_NAME_CHARS)
    return "Your own", source


def _html(entries: Sequence[_Entry], nothing: str) -> str:
    facts = facts_html(_facts(entries)) if entries else ""
    head = f'<summary style="{style.HEAD}"><b>Tools</b> {facts}</summary>'
    body = _table(entries) if entries else div("padding:8px 12px;opacity:0.75", escape(nothing))
    return f'<details open style="{style.CARD}">{head}{body}</details>'


def _facts(entries: Sequence[_Entry]) -> list[str]:
    model = sum(entry.reach.model == "yes" for entry in entries)
    scripts = sum(entry.reach.scripts == "yes" for entry in entries)
    total = counted(len(entries), "tool")
    return [total, f"{count(model)} for the model", f"{count(scripts)} for scripts"]


def _table(entries: Sequence[_Entry]) -> str:
    room = Room(MAX_HTML_BYTES - FRAME_BYTES)
    sources: dict[str, set[str]] = {}
    for entry in entries:
        sources.setdefault(entry.group, set()).add(entry.source)

    def has_source(entry: _Entry) -> bool:
        return len(sources[entry.group]) > 1

    rows: list[str] = []
    for entry in entries[:MAX_ROWS]:
        row = _row(entry, "", has_source=has_source(entry))
        if not room.take(row):
            break
        rows.append(row)
    for index, entry in enumerate(entries[: len(rows)]):
        row = _row(entry, _explanation(entry), has_source=has_source(entry))
        if room.take_change(rows[index], row):
            rows[index] = row
    body: list[str] = []
    group = ""
    sizes = Counter(entry.group for entry in entries)
    for entry, row in zip(entries, rows, strict=False):
        if entry.group != group:
            group = entry.group
            source = "" if has_source(entry) or entry.source == group else entry.source
            body.append(_group(group, sizes[group], source))
        body.append(row)
    left_out = len(entries) - len(rows)
    foot = ""
    if left_out:
        foot = div(style.FOOT, f"{_more_tools(left_out)}.")
    titles = "".join(
        f'<th style="{FIRST_CELL if title == TITLES[0] else CELL};font-weight:normal;opacity:0.75">'
        f"{title}</th>"
        for title in TITLES
    )
    head = f'<thead><tr style="background:transparent">{titles}</tr></thead>'
    table = f'<table style="{TABLE}">{head}<tbody>{"".join(body)}</tbody></table>'
    return div("overflow:auto", table) + foot


def _more_tools(n_tools: int) -> str:
    """Return how many tools are left out and how to find them."""
    return (
        f"{counted(n_tools, 'more tool')}, %tools with a part of a name or description finds them"
    )


def _group(name: str, n_tools: int, source: str) -> str:
    cell = f"{FIRST_CELL};white-space:nowrap;{LINE}".replace("background:transparent", GROUP_GROUND)
    of = f" {muted(f'from {source}')}" if source else ""
    title = f'<td style="{cell}">{escape(name)}, {count(n_tools)}{of}</td>'
    rest = f'<td style="{GROUP_GROUND};{LINE}"></td>' * (len(TITLES) - 1)
    return f'<tr style="background:transparent">{title}{rest}</tr>'


def _row(entry: _Entry, explanation: str, *, has_source: bool) -> str:
    title = " ".join([mono(entry.name, bold=True), *_tags(entry.tool)])
    # Below the name instead of in columns of their own, which a narrow page has no room for.
    below = [muted(entry.description)] if entry.description else []
    if entry.parameters:
        below.append(span(style.FONT, _signatures(entry.parameters)))
    if has_source:
        below.append(muted(f"From {entry.source}"))
    title += "".join(f"<br>{line}" for line in below)
    if explanation:
        title = f'<details><summary style="cursor:pointer">{title}</summary>{explanation}</details>'
    cells = [
        (f"{FIRST_CELL};{LINE};min-width:200px", title),
        (f"{CELL};{LINE}", escape(entry.tool.exposure)),
        (f"{CELL};{LINE}", _answer(entry.reach.model)),
        (f"{CELL};{LINE}", _answer(entry.reach.scripts)),
    ]
    inner = "".join(f'<td style="{look}">{html}</td>' for look, html in cells)
    return f'<tr style="background:transparent">{inner}</tr>'


def _tags(tool: ToolDefinition) -> list[str]:
    hints = tool.annotations
    if hints is None:
        return []
    names = [("read-only", hints.read_only_hint), ("destructive", hints.destructive_hint)]
    return [span(TAG, name) for name, is_so in names if is_so]


def _answer(answer: str) -> str:
    return f"<b>{answer}</b>" if answer == "yes" else muted(answer)


def _signatures(parameters: Sequence[Parameter]) -> str:
    """Return the first parameters; optional ones step back."""
    parts = [
        _unbroken(text, escape(text) if parameter.is_required else muted(text))
        for parameter in parameters[:MAX_PARAMETERS]
        if (text := in_one_line(parameter.signature, MAX_PARAMETER_CHARS))
    ]
    if len(parameters) > MAX_PARAMETERS:
        parts.append(muted(f"{len(parameters) - MAX_PARAMETERS} more"))
    return ", ".join(parts)


def _unbroken(text: str, html: str) -> str:
    return span("white-space:nowrap", html) if len(text) <= MAX_UNBROKEN_CHARS else html


def _explanation(entry: _Entry) -> str:
    """Return what a row says when it is opened."""
    texts = [entry.reach.why, entry.whole_description]
    parts = [div(PARAGRAPH, escape(text)) for text in texts if text]
    for parameter in entry.parameters[:MAX_LISTED_PARAMETERS]:
        text = in_one_line(" ".join(parameter.description.split()), MAX_EXPLANATION_CHARS)
        signature = span(style.MONO, escape(in_one_line(parameter.signature, MAX_PARAMETER_CHARS)))
        parts.append(f"<div>{signature} {muted(text)}</div>" if text else f"<div>{signature}</div>")
    return div("padding:4px 0 6px 16px", "".join(parts))


def _text(entries: Sequence[_Entry], nothing: str) -> str:
    if not entries:
        return nothing
    shown = entries[:MAX_ROWS]
    titles = ("Tool", "Exposure", "Model", "Scripts", "Description")
    table = [
        (
            plain(entry.name),
            entry.tool.exposure,
            entry.reach.model,
            entry.reach.scripts,
            plain(in_one_line(entry.description, MAX_TEXT_CHARS)),
        )
        for entry in shown
    ]
    widths = [max(map(len, column)) for column in zip(titles, *table, strict=True)]
    lines = [_joined(titles, widths)]
    for entry, cells in zip(shown, table, strict=True):
        lines.append(_joined(cells, widths))
        if entry.parameters:
            signatures = ", ".join(item.signature for item in entry.parameters)
            lines.append(plain(f"    {in_one_line(signatures, MAX_DESCRIPTION_CHARS)}"))
    if len(entries) > MAX_ROWS:
        lines.append(f"({_more_tools(len(entries) - MAX_ROWS)})")
    lines.append("")
    lines.append(f"{', '.join(_facts(entries))}. A parameter with ? may be left out.")
    return "\n".join(lines)


def _joined(cells: Sequence[str], widths: Sequence[int]) -> str:
    return "  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip()
