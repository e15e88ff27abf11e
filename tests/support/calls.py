"""Small parts for tests of single calls: one-tool sessions, gates, results of errors."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

import anyio

from pi_kernel import AbortSignal, ToolContext, ToolDefinition, ToolOutcome, ToolResult, ToolSession
from tests.support.engine import make_tool, session_with

LIMIT_SECONDS = 10
"""Far more than any test of these needs; a test that hangs fails here and not in CI's limit."""


def object_of(*required: str, **properties: Any) -> dict[str, Any]:
    """Return a schema of an object; a text stands for a type."""
    schemas = {
        name: {"type": schema} if isinstance(schema, str) else schema
        for name, schema in properties.items()
    }
    return {"type": "object", "properties": schemas, "required": list(required)}


class Receiver:
    """A tool `t` that keeps the arguments it gets, in a session of its own."""

    def __init__(self, parameters: Mapping[str, Any], **fields: Any) -> None:
        self.received: list[Any] = []
        tool = make_tool("t", lambda params, _: self._take(params), parameters=parameters, **fields)
        self.session = session_with(tool)

    def _take(self, params: Any) -> ToolResult:
        self.received.append(params)
        return ToolResult("done")

    async def call(self, args: Any) -> ToolOutcome:
        """Make one call."""
        return await self.session.execute_tool("t", args)

    async def args_for(self, args: Any) -> Any:
        """Return what the tool receives for these arguments."""
        outcome = await self.call(args)
        assert not outcome.is_error, outcome.text
        return self.received[-1]

    async def problems_of(self, args: Any) -> list[str]:
        """Return the lines of what is wrong with these arguments; the tool must not run."""
        outcome = await self.call(args)
        assert (outcome.status, self.received) == ("invalid", [])
        head, _, _ = outcome.text.partition("\n\nReceived arguments:\n")
        first, *problems = head.split("\n")
        assert first == 'Validation failed for tool "t":'
        return problems


class Gate:
    """A tool's `run` that tells when it has started and waits until it may go on."""

    def __init__(self, answer: str | ToolResult = "done") -> None:
        self.started = anyio.Event()
        self.open = anyio.Event()
        self.answer = answer

    async def __call__(self, _params: Any, _ctx: ToolContext) -> str | ToolResult:
        self.started.set()
        await self.open.wait()
        return self.answer


class Meeting:
    """A tool's `run` that returns only when a number of calls are inside it at once."""

    def __init__(self, parties: int) -> None:
        self._missing = parties
        self._all_here = anyio.Event()

    async def __call__(self, _params: Any, _ctx: ToolContext) -> str:
        self._missing -= 1
        if self._missing == 0:
            self._all_here.set()
        await self._all_here.wait()
        return "met"


def never(_params: Any, _ctx: Any) -> Coroutine[Any, Any, None]:
    """Wait for ever."""
    return anyio.sleep_forever()


def calls(*names: str, args: Mapping[str, Any] | None = None) -> list[dict[str, Any]]:
    """Return a batch whose ids are the names in capitals."""
    return [{"id": name.upper(), "name": name, "arguments": dict(args or {})} for name in names]


def outer(run: Callable[[ToolContext], Any], name: str = "outer", **fields: Any) -> ToolDefinition:
    """Return a tool that does something with its context."""
    return make_tool(name, lambda _, ctx: run(ctx), **fields)


def error_wire(text: str) -> dict[str, Any]:
    """Return the wire form of an error result that the pipeline makes."""
    return {"content": [{"type": "text", "text": text}], "details": {}, "isError": True}


def signal_of(ctx: ToolContext) -> AbortSignal:
    """Return the signal of a tool's context, which is there inside a session."""
    assert ctx.signal is not None
    return ctx.signal


def task_is_clean() -> bool:
    """Whether no cancellation is left in the running task."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() == 0


async def started(session: ToolSession, name: str, gate: Gate) -> asyncio.Task[ToolOutcome]:
    """Start a call and return its task when the tool is running."""
    task = asyncio.ensure_future(session.execute_tool(name))
    await gate.started.wait()
    return task
