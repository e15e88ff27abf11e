"""The model's part of the demo: turns that depend on what the model has read so far."""

from __future__ import annotations

import json
from typing import Any

from pi_kernel.demo.tools import names_in
from pi_kernel.models import ModelContext, ScriptedModel, Turn, call, say, turn
from pi_kernel.protocol.messages import AssistantMessage, ToolResultMessage
from pi_kernel.protocol.results import text_of

__all__ = ("PROMPT", "ReportWriter")

PROMPT = "Which of these files has the most words? Write a short report."
MAX_DESCRIBED_FILES = 3
SLOW_SECONDS = 0.2
REPORT = "report.md"


class ReportWriter:
    """A scripted model that lists, describes in parallel, meets an error and writes a report.

    Attributes:
        model: What to prompt.
        failing_call_id: The call that is meant to fail: it reads the report before it is there.
    """

    failing_call_id = "model-look"

    def __init__(self) -> None:
        self.model = ScriptedModel(
            [call("ls", path=".", id="model-ls"), _describe, self._look, self._write, self._end]
        )
        self._files: list[dict[str, Any]] = []
        self._report = REPORT

    def _look(self, context: ModelContext) -> Turn:
        results = _last_results(context)
        described = [r for r in results if r.tool_name == "describe" and not r.is_error]
        self._files = [json.loads(text_of(result.content)) for result in described]
        names = {name.casefold() for name in _names(context)}
        number = 1
        while self._report.casefold() in names:
            number += 1
            self._report = f"report-{number}.md"
        return call("read", path=self._report, id=self.failing_call_id)

    def _write(self, context: ModelContext) -> Turn:
        [looked] = _last_results(context)
        if not looked.is_error:
            return say(f"{self._report} is there already, so I leave it alone.")
        rows = [f"- {f['path']}: {f['words']} words, {f['lines']} lines" for f in self._files]
        text = "\n".join(["# The files", "", *rows, ""])
        return turn(
            "There is no report yet.",
            call("write", path=self._report, content=text, id="model-write"),
        )

    def _end(self, _context: ModelContext) -> Turn:
        if not self._files:
            return say("I could not read any of the files.")
        most = max(self._files, key=lambda file: file["words"])
        return say(
            f"Of the {len(self._files)} files that I looked at, {most['path']} has the most words:"
            f" {most['words']} in {most['lines']} lines. The report is in {self._report}."
        )


def _describe(context: ModelContext) -> Turn:
    """Ask for everything at once, the slow call first."""
    names = _names(context)[:MAX_DESCRIBED_FILES]
    slow = call("bash", command=f"sleep {SLOW_SECONDS}; ls | wc -l", id="model-slow")
    quick = [
        call("describe", path=name, id=f"model-{number}") for number, name in enumerate(names, 1)
    ]
    return turn(f"I look at {len(names)} of them.", slow, *quick)


def _names(context: ModelContext) -> list[str]:
    """Return the files that the model's first call listed."""
    results = [message for message in context.messages if isinstance(message, ToolResultMessage)]
    return names_in(text_of(results[0].content))


def _last_results(context: ModelContext) -> list[ToolResultMessage]:
    """Return the results of the last reply's calls."""
    results: list[ToolResultMessage] = []
    for message in reversed(context.messages):
        if isinstance(message, AssistantMessage):
            break
        if isinstance(message, ToolResultMessage):
            results.insert(0, message)
    return results
