"""The demo's job: real calls on copies of a folder's files, by a person, a tool and a model.

Returns data; knows nothing of terminals.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio

from pi_kernel import Block, ToolCall, ToolSession, __version__
from pi_kernel.agent import AgentRun
from pi_kernel.demo.folder import CopiedFile, copy_text_files
from pi_kernel.demo.script import PROMPT, ReportWriter
from pi_kernel.demo.tools import describe, survey
from pi_kernel.protocol.calls import CallStatus
from pi_kernel.protocol.events import ToolExecutionEnd, ToolExecutionStart, TurnEnd
from pi_kernel.protocol.json import JsonObject, well_formed
from pi_kernel.runtime.hooks import ToolCallEvent
from pi_kernel.tools._edit_match import relax
from pi_kernel.tools._edit_splice import lf_view
from pi_kernel.tools._paths import resolve_to_cwd
from pi_kernel.traces import CallRecord, TraceNode

__all__ = ("DEMO_DATA", "DemoBatch", "DemoRun", "DemoStep", "run_demo")

DEMO_DATA = Path(__file__).parent / "data"
"""The data set that ships with the package: a small measuring campaign."""

SLOW_SECONDS = 0.3
TABLES = (".csv", ".tsv")
MAX_EDITED_CHARS = 400
"""The longest text that the edit names; a longer line is not a readable example."""


@dataclass(frozen=True, slots=True)
class DemoStep:
    """Calls that belong together, in start order."""

    title: str
    calls: list[CallRecord]

    def to_wire(self) -> JsonObject:
        """Return plain JSON with camelCase keys; the calls by their ids."""
        return {"title": self.title, "callIds": [call.id for call in self.calls]}


@dataclass(frozen=True, slots=True)
class DemoBatch:
    """The two orders of one batch.

    Attributes:
        issued_by: ``person`` or ``model``.
        source_order: The ids as they were asked for, which is the order of the results.
        completion_order: The ids as the calls ended.
    """

    issued_by: str
    source_order: list[str]
    completion_order: list[str]

    def to_wire(self) -> JsonObject:
        """Return plain JSON with camelCase keys."""
        return {
            "issuedBy": self.issued_by,
            "sourceOrder": self.source_order,
            "completionOrder": self.completion_order,
        }


@dataclass(frozen=True, kw_only=True)
class DemoRun:
    """Everything that happened.

    Attributes:
        folder: The folder that was given.
        copies: The copied files; the calls worked on these.
        steps: The calls by what they show.
        tree: The root calls with the calls below them.
        source_order: Every id, as the calls were asked for.
        completion_order: Every id, as the calls ended.
        batches: The batches of more than one call.
        prompt: What the model was asked.
        answer: What it said in the end.
        turns: How many replies it gave.
        stop_reason: Why the last one stopped.
        duration_ms: The whole job.
        unexpected: What did not go as it should; empty when the job is done.
    """

    folder: str
    copies: list[CopiedFile]
    steps: list[DemoStep]
    tree: list[TraceNode]
    source_order: list[str]
    completion_order: list[str]
    batches: list[DemoBatch]
    prompt: str
    answer: str
    turns: int
    stop_reason: str | None
    duration_ms: float
    unexpected: list[str]

    @property
    def calls(self) -> list[CallRecord]:
        """Every call, in start order."""
        return [call for step in self.steps for call in step.calls]

    @property
    def counts(self) -> dict[str, int]:
        """How many calls ended in each way."""
        counts: dict[str, int] = {}
        for call in self.calls:
            counts[call.status] = counts.get(call.status, 0) + 1
        return counts

    def to_wire(self) -> JsonObject:
        """Return plain JSON with camelCase keys."""
        return {
            "version": __version__,
            "folder": well_formed(self.folder),
            "copies": [copy.to_wire() for copy in self.copies],
            "steps": [step.to_wire() for step in self.steps],
            "calls": [call.to_wire() for call in self.calls],
            "tree": [_node_to_wire(node) for node in self.tree],
            "sourceOrder": self.source_order,
            "completionOrder": self.completion_order,
            "batches": [batch.to_wire() for batch in self.batches],
            "agent": {
                "prompt": self.prompt,
                "answer": self.answer,
                "turns": self.turns,
                "stopReason": self.stop_reason,
            },
            "counts": self.counts,
            "durationMs": self.duration_ms,
            "unexpected": self.unexpected,
        }


def _node_to_wire(node: TraceNode) -> JsonObject:
    return {
        "id": node.call.id,
        "tool": node.call.tool,
        "status": node.call.status,
        "children": [_node_to_wire(child) for child in node.children],
    }


def run_demo(folder: str | os.PathLike[str] = DEMO_DATA) -> DemoRun:
    """Run the job on copies of a folder's text files; the folder itself is only read.

    Args:
        folder: Any folder; the data set of the package when left out.

    Raises:
        PiKernelError: If the folder cannot be read or holds no text file.
        OSError: If the copies cannot be written.
    """
    folder = Path(os.path.abspath(folder))  # noqa: PTH100 - links in the path stay as they are
    begin = time.perf_counter()
    with TemporaryDirectory(prefix="pi-kernel-demo-", ignore_cleanup_errors=True) as top:
        work = Path(top, "copies")
        copies = copy_text_files(folder, work)
        return anyio.run(partial(_run, folder, work, copies, begin))


async def _run(folder: Path, work: Path, copies: list[CopiedFile], begin: float) -> DemoRun:
    async with ToolSession(cwd=work) as session:
        job = _Job(session, folder, copies)
        await job.by_hand()
        await job.by_a_tool()
        await job.failures()
        await job.batch()
        run = await job.by_a_model()
        return DemoRun(
            folder=str(folder),
            copies=copies,
            steps=job.steps(),
            tree=session.trace.tree(),
            source_order=job.started,
            completion_order=job.ended,
            batches=job.batches,
            prompt=PROMPT,
            answer=run.text,
            turns=run.turns,
            stop_reason=run.stop_reason,
            duration_ms=(time.perf_counter() - begin) * 1000,
            unexpected=job.unexpected,
        )


@dataclass
class _Job:
    """One session and what is noted while it works."""

    session: ToolSession
    folder: Path
    copies: list[CopiedFile]
    started: list[str] = field(default_factory=list)
    ended: list[str] = field(default_factory=list)
    batches: list[DemoBatch] = field(default_factory=list)
    unexpected: list[str] = field(default_factory=list)
    _starts: list[tuple[str, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.session.register(describe)
        self.session.register(survey)
        self.session.on("tool_call", self._only_inside)
        self.session.subscribe(self._note)

    def _only_inside(self, event: ToolCallEvent) -> Block | None:
        """Refuse to change anything but the copies."""
        if event.tool_name in ("edit", "write"):
            path = resolve_to_cwd(event.input["path"], self.session.cwd)
            if os.path.commonpath((self.session.cwd, path)) != self.session.cwd:
                return Block(f"Only the copies may be changed, not {event.input['path']}")
        return None

    def _note(self, event: object) -> None:
        if isinstance(event, ToolExecutionStart):
            self.started.append(event.tool_call_id)
        elif isinstance(event, ToolExecutionEnd):
            self.ended.append(event.tool_call_id)
        elif isinstance(event, TurnEnd):
            self._note_batch("model", [result.tool_call_id for result in event.tool_results])

    def _note_batch(self, issued_by: str, source_order: list[str]) -> None:
        if len(source_order) > 1:
            completion_order = [call_id for call_id in self.ended if call_id in source_order]
            self.batches.append(DemoBatch(issued_by, source_order, completion_order))

    def _begin(self, title: str) -> None:
        self._starts.append((title, len(self.session.trace)))

    def _expect(self, statuses: Mapping[str, CallStatus] | None = None) -> None:
        """Compare the calls of the step with how they should have ended: ``ok`` if not told."""
        statuses = statuses or {}
        for call in self.session.trace.calls()[self._starts[-1][1] :]:
            if call.status != statuses.get(call.id, "ok"):
                self.unexpected.append(
                    f"{call.id} ({call.tool}) ended as {call.status}: {call.text}"
                )

    def steps(self) -> list[DemoStep]:
        """Return the calls by the step that made them."""
        calls = self.session.trace.calls()
        ends = [start for _, start in self._starts[1:]] + [len(calls)]
        return [
            DemoStep(title, calls[start:end])
            for (title, start), end in zip(self._starts, ends, strict=True)
        ]

    async def _call_each(self, calls: Iterable[tuple[str, dict[str, Any]]]) -> list[str]:
        return [(await self.session.execute_tool(name, args)).id for name, args in calls]

    async def by_hand(self) -> None:
        """List the folder, read a file, run a command, edit a copy."""
        self._begin("A person lists, reads, runs a command and edits a copy")
        name, old, new = _choose_edit(self.copies)
        await self._call_each(
            [
                ("ls", {"path": _as_tool_path(self.folder)}),
                ("read", {"path": self.copies[0].name}),
                ("bash", {"command": f"wc -l -w -c {_quoted(self.copies)}"}),
                ("edit", {"path": name, "edits": [{"oldText": old, "newText": new}]}),
            ]
        )
        self._expect()

    async def by_a_tool(self) -> None:
        """Call a tool of the user's own, which calls other tools."""
        self._begin("A tool of the user's calls other tools")
        await self._call_each([("survey", {})])
        self._expect()

    async def failures(self) -> None:
        """Make calls that cannot succeed: each ends as a result, none as an exception."""
        self._begin("Calls that fail are results too")
        missing = "no-such-file.txt"
        while any(copy.name == missing for copy in self.copies):
            missing = f"really-{missing}"
        ids = await self._call_each(
            [
                ("read", {"path": missing}),
                ("read", {}),
                ("write", {"path": "../outside.txt", "content": "not here\n"}),
            ]
        )
        self._expect(dict(zip(ids, ("error", "invalid", "blocked"), strict=True)))

    async def batch(self) -> None:
        """Make several calls at once, the slow one first."""
        self._begin("A parallel batch, the slow call first")
        first, last = self.copies[0].name, self.copies[-1].name
        slow = f"sleep {SLOW_SECONDS}; wc -c {_quoted(self.copies[:1])}"
        outcomes = await self.session.execute_batch(
            [
                ToolCall(id="batch-slow", name="bash", arguments={"command": slow}),
                ToolCall(id="batch-read", name="read", arguments={"path": first}),
                ToolCall(id="batch-own", name="describe", arguments={"path": last}),
            ]
        )
        self._note_batch("person", [outcome.id for outcome in outcomes])
        self._expect()

    async def by_a_model(self) -> AgentRun:
        """Let a scripted model work; its calls go through the same runner."""
        self._begin("A scripted model works in turns")
        writer = ReportWriter()
        run = await self.session.prompt(PROMPT, model=writer.model)
        self._expect({writer.failing_call_id: "error"})
        if run.stop_reason != "stop":
            self.unexpected.append(f"the model stopped ({run.stop_reason}): {run.error_message}")
        return run


def _as_tool_path(folder: Path) -> str:
    """Return the folder's path in a form that tools leave as it is.

    They turn typographic spaces into plain ones, but not those in a ``file://`` address.
    """
    path = str(folder)
    has_odd_space = any(character.isspace() and character != " " for character in path)
    return folder.as_uri() if has_odd_space else path


def _quoted(copies: Iterable[CopiedFile]) -> str:
    return " ".join(shlex.quote(copy.name) for copy in copies)


def _choose_edit(copies: list[CopiedFile]) -> tuple[str, str, str]:
    """Return a file, a text that it holds exactly once, and what to put in its place.

    Prose goes before tables, whose first line is a header.
    """
    for copy in sorted(copies, key=lambda copy: copy.name.lower().endswith(TABLES)):
        relaxed = relax(lf_view(copy.text))
        for line in copy.text.removeprefix("\ufeff").split("\n"):
            old = line.removesuffix("\r")
            is_usable = old.strip() and "\r" not in old and "\ufffd" not in old
            if is_usable and len(old) <= MAX_EDITED_CHARS and relaxed.count(relax(old)) == 1:
                return copy.name, old, f"{old} (checked)"
    return copies[0].name, copies[0].text, f"{copies[0].text} (checked)"
