"""The lines that a terminal shows of a demo: each call, the tree, both orders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from pi_kernel.demo.scenario import DemoBatch, DemoRun
from pi_kernel.traces import CallRecord, TraceNode

__all__ = ("Screen", "report_lines")

TITLES = ("id", "parent", "tool", "status", "time")
STATUS_COLUMN = TITLES.index("status")
GAP = "  "
MIN_RESULT_CHARS = 20
MAX_SHOWN_CHARS = 1_000
LINE_END = " / "
MS_PER_SECOND = 1_000


class Screen(Protocol):
    """Where the lines are shown."""

    @property
    def width(self) -> int:
        """How many characters a line has."""
        ...

    @property
    def is_unicode(self) -> bool:
        """Whether other characters than ASCII can be shown."""
        ...

    def one_line(self, text: str, width: int) -> str:
        """Return a text without line ends and control characters, cut to a width."""
        ...

    def paint(self, text: str, role: str) -> str:
        """Return a text in the colour of its role (a status or ``heading``), if any."""
        ...


def report_lines(run: DemoRun, screen: Screen) -> Iterator[str]:
    """Give the report of a run line by line."""
    yield from _input_lines(run, screen)

    rows = {call.id: _cells(call) for call in run.calls}
    columns = zip(TITLES, *rows.values(), strict=True)
    widths = [max(map(len, column)) for column in columns]
    for step in run.steps:
        yield ""
        yield screen.paint(step.title, "heading")
        yield GAP.join([*_padded(TITLES, widths), "result"])
        for call in step.calls:
            yield _call_line(call, _padded(rows[call.id], widths), screen)

    yield ""
    yield screen.paint("Tree", "heading")
    for node in run.tree:
        yield _node_line(node, screen)
        yield from _branch_lines(node, screen, indent="")
    for batch in run.batches:
        yield ""
        yield from _batch_lines(batch, screen)
    yield ""
    yield screen.paint("The model's answer", "heading")
    yield screen.one_line(run.answer, MAX_SHOWN_CHARS)
    yield ""
    counts = ", ".join(f"{count} {status}" for status, count in run.counts.items())
    seconds = run.duration_ms / MS_PER_SECOND
    yield f"{len(rows)} calls ({counts}) in {seconds:.1f} s; only copies were changed."


def _input_lines(run: DemoRun, screen: Screen) -> Iterator[str]:
    yield screen.one_line(f"Folder  {run.folder}", screen.width)
    label = "Copies"
    for copy in run.copies:
        origin = "" if copy.source == copy.name else f" of {copy.source}"
        part = "" if copy.is_whole else ", the beginning only"
        text = f"{label}  {copy.name}{origin} ({copy.size_bytes} bytes{part})"
        yield screen.one_line(text, screen.width)
        label = " " * len(label)


def _cells(call: CallRecord) -> tuple[str, ...]:
    time = "-" if call.duration_ms is None else f"{call.duration_ms:.1f} ms"
    return call.id, call.parent_id or "-", call.tool, call.status, time


def _padded(cells: Sequence[str], widths: Sequence[int]) -> list[str]:
    *texts, time = cells
    *text_widths, time_width = widths
    padded = [text.ljust(width) for text, width in zip(texts, text_widths, strict=True)]
    return [*padded, time.rjust(time_width)]


def _call_line(call: CallRecord, cells: list[str], screen: Screen) -> str:
    taken = len(GAP.join([*cells, ""]))
    room = max(screen.width - taken, MIN_RESULT_CHARS)
    cells[STATUS_COLUMN] = screen.paint(cells[STATUS_COLUMN], call.status)
    return GAP.join([*cells, screen.one_line(_in_one_line(call.text), room)])


def _in_one_line(text: str) -> str:
    """Return the lines beside each other; those of JSON need no mark between them."""
    lines = [" ".join(line.split()) for line in text[:MAX_SHOWN_CHARS].split("\n")]
    between = " " if text.startswith(("{", "[")) else LINE_END
    return between.join(filter(None, lines))


def _node_line(node: TraceNode, screen: Screen) -> str:
    return f"{node.call.id} {node.call.tool} {screen.paint(node.call.status, node.call.status)}"


def _branch_lines(node: TraceNode, screen: Screen, *, indent: str) -> Iterator[str]:
    middle, last, through = ("├─ ", "└─ ", "│  ") if screen.is_unicode else ("|- ", "`- ", "|  ")
    for child in node.children:
        is_last = child is node.children[-1]
        yield indent + (last if is_last else middle) + _node_line(child, screen)
        below = indent + (" " * len(through) if is_last else through)
        yield from _branch_lines(child, screen, indent=below)


def _batch_lines(batch: DemoBatch, screen: Screen) -> Iterator[str]:
    yield screen.paint(f"Both orders of the {batch.issued_by}'s batch", "heading")
    yield f"source order      {', '.join(batch.source_order)}"
    yield f"completion order  {', '.join(batch.completion_order)}"
