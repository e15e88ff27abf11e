"""`ToolSession`: one working directory, one registry, one pipeline, one trace. Wiring only."""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any, Literal, Self, TypeVar

import anyio

from pi_kernel.agent.agent import Agent
from pi_kernel.agent.queues import QueueMode
from pi_kernel.errors import PiKernelError
from pi_kernel.models.stream import Model
from pi_kernel.protocol.content import ToolCall
from pi_kernel.protocol.events import MessageEnd, MessageStart
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ModelInfo
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.registry.filters import NameFilter
from pi_kernel.registry.host import ToolHost
from pi_kernel.registry.namespace import ToolsNamespace
from pi_kernel.registry.registry import ToolRegistry
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.call import Call, current_caller
from pi_kernel.runtime.events import EventSink
from pi_kernel.runtime.outcome import ToolOutcome
from pi_kernel.scale.map import OnError, map_calls
from pi_kernel.sessions.conversation import Conversation
from pi_kernel.sessions.options import (
    ToolSet,
    check_choice,
    check_names,
    read_calls,
    read_cwd,
    read_tools,
)
from pi_kernel.tools import Preview, preview_call, undo
from pi_kernel.traces.trace import Trace

__all__ = ("ToolSession",)

T = TypeVar("T")

CLOSE_SECONDS = 5.0
"""How long closing waits for calls that were asked to stop."""
LOOK_SECONDS = 0.01


class ToolSession(Conversation):
    """The tools of one working directory, and everything that is called on them.

    Args:
        cwd: The directory that relative paths start from.
        tools: A named set of built-in tools, or definitions of your own.
        session_file: Reserved for session files.
        tool_execution: ``sequential`` runs calls one after another, whatever their tools say.
        allow: Names or ``*`` patterns that may be registered; ``+name`` and ``-name`` change the
            selection. None allows everything.
        deny: Names or patterns that may not; deny beats allow.
        steering_mode: How many steering messages one drain takes.
        follow_up_mode: How many follow-up messages one drain takes.
        model: Who reads the results (`ModelInfo`) or answers prompts (a `Model`).
        session_id: An id of your own; a UUID when None.
        thinking_level: How much the model thinks, as tools are told.
        codemode_mode: Reserved for codemode.
        permissions: Reserved for permissions; without them every call is allowed.

    Raises:
        PiKernelError: If an argument is not one of its choices, or a reserved one is used.

    Example:
        >>> session = ToolSession(tools="read_only")
        >>> outcome = session.run(session.execute_tool("ls", {"path": "."}))
        >>> outcome.status
        'ok'
    """

    def __init__(  # noqa: PLR0913 - each is a switch of its own
        self,
        cwd: str | os.PathLike[str] = ".",
        tools: ToolSet | Iterable[ToolDefinition] = "all",
        session_file: str | os.PathLike[str] | None = None,
        tool_execution: Literal["parallel", "sequential"] = "parallel",
        *,
        allow: Iterable[str] | None = None,
        deny: Iterable[str] = (),
        steering_mode: QueueMode = "one-at-a-time",
        follow_up_mode: QueueMode = "one-at-a-time",
        model: ModelInfo | Model | None = None,
        session_id: str | None = None,
        thinking_level: str | None = None,
        codemode_mode: Literal["on", "only"] = "on",
        permissions: Any = None,
    ) -> None:
        check_choice("tool_execution", tool_execution, ("parallel", "sequential"))
        check_choice("codemode_mode", codemode_mode, ("on",))
        for name, value in (("session_file", session_file), ("permissions", permissions)):
            if value is not None:
                raise PiKernelError(f"{name}= is not part of this version; leave it out")
        self._cwd = read_cwd(cwd)
        events = EventSink()
        name_filter = NameFilter(
            None if allow is None else check_names("allow", allow), check_names("deny", deny)
        )
        host = ToolHost(
            registry=ToolRegistry(name_filter, events.report),
            events=events,
            cwd=self._cwd,
            session=self,
            session_id=session_id,
            execution=tool_execution,
        )
        host.thinking_level = thinking_level
        agent = Agent(host, steering_mode=steering_mode, follow_up_mode=follow_up_mode)
        super().__init__(host, agent)
        self.model = model
        definitions, source = read_tools(tools, self._cwd)
        for definition in definitions:
            self._registry.register(definition, source=source, announce=False)
        self._registry.apply_loadout()

    # -- facts -------------------------------------------------------------------------------

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self._host.session_id

    @property
    def session_file(self) -> None:
        """The file of the session; None: this session is in memory only."""
        return

    @property
    def cwd(self) -> str:
        """The absolute working directory."""
        return self._cwd

    @property
    def host(self) -> ToolHost:
        """The door for every call, for extenders."""
        return self._host

    @property
    def thinking_level(self) -> str | None:
        """How much the model thinks, as tools are told."""
        return self._host.thinking_level

    @property
    def tools(self) -> ToolsNamespace:
        """Tools as functions, with a person's reach: ``await session.tools.ls(path=".")``."""
        return ToolsNamespace(self._start, lambda: self._registry.reachable)

    # -- calls -------------------------------------------------------------------------------

    async def execute_tool(
        self,
        name: str,
        args: Any = None,
        *,
        signal: AbortSignal | None = None,
        on_update: Callable[[ToolResult], object] | None = None,
    ) -> ToolOutcome:
        """Make one call; never raises for the tool's failure.

        Args:
            name: The exact name of any tool that is not hidden. Inside a tool, of a callable one.
            args: One JSON object. Paths, dates, dataclasses, pydantic models and numpy scalars
                convert; None is an empty object.
            signal: Asks the call to stop.
            on_update: Gets the partial results.

        Raises:
            PiKernelError: If the session is closed or the name is not a text.
        """
        return await self._host.execute_tool(
            name, args, caller=self._start(), signal=signal, on_update=on_update
        )

    async def execute_batch(
        self,
        calls: Sequence[ToolCall | Mapping[str, Any]],
        *,
        signal: AbortSignal | None = None,
    ) -> list[ToolOutcome]:
        """Run calls as one reply of a model: they keep their ids, results come in source order.

        A model reaches active tools only. Nothing enters the transcript.
        """
        caller = self._start()

        async def on_result(outcome: ToolOutcome) -> None:
            message = outcome.to_message()
            await self._events.emit(MessageStart(message))
            await self._events.emit(MessageEnd(message))

        wanted = read_calls(calls)
        caller.child_started()
        try:
            outcomes = await self._host.execute_batch(
                wanted, caller=caller, signal=signal or caller.signal, on_result=on_result
            )
        finally:
            caller.child_ended()
        if caller.is_interrupted:
            await caller.stop_here()
        return outcomes

    async def map(  # noqa: PLR0913 - each is a switch of its own
        self,
        name: str,
        list_of_args: Iterable[Any],
        *,
        limit: int | None = None,
        executor: Any = None,
        on_error: OnError = "keep",
        on_done: Callable[[ToolOutcome], object] | None = None,
    ) -> list[ToolOutcome]:
        """Call one tool many times at once.

        Args:
            name: The exact name of the tool.
            list_of_args: One JSON object a call.
            limit: How many run at the same time; 16 when None.
            executor: Reserved for running on other machines.
            on_error: ``keep`` keeps failed outcomes, ``stop`` starts no more calls after one.
            on_done: Told of each outcome as it comes.

        Returns:
            The outcomes in the order of the arguments.

        Raises:
            PiKernelError: If an argument is not one of its choices, or the session is closed.
        """
        self._start()
        if executor is not None:
            raise PiKernelError("executor= is not part of this version; leave it out")
        return await map_calls(
            lambda args: self.execute_tool(name, args),
            list_of_args,
            limit=limit,
            on_error=on_error,
            on_done=on_done,
        )

    async def preview(self, name: str, args: Any = None) -> Preview:
        """Return what a call of edit or write would change, without changing it."""
        self._start()
        return await preview_call(self._host, name, args)

    async def undo(self, call_id: str) -> str:
        """Take back what a call of write or edit did; returns a line that says what was restored.

        Raises:
            PiKernelError: If there is nothing to take back, or the file has changed since.
        """
        self._start()
        return await undo(self._host, call_id)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine of this session from code that is not async, in any thread.

        Raises:
            PiKernelError: If it is no coroutine, or if an event loop runs in this thread; there,
                use await.
        """
        try:
            return self._loop.run(coroutine)
        finally:
            if self._closed:
                self._loop.close()

    @property
    def trace(self) -> Trace:
        """The calls so far."""
        return Trace(self._host.calls)

    # -- the end -----------------------------------------------------------------------------

    async def close(self) -> None:
        """Stop what is running and wait for it; closing twice is fine."""
        if self._closed:
            return
        self._closed = True
        self.abort("the session was closed")
        own = self._own_calls()
        with anyio.move_on_after(CLOSE_SECONDS):
            while self._in_flight(own):  # noqa: ASYNC110 - ends of calls wake nobody
                await anyio.sleep(LOOK_SECONDS)

    def _own_calls(self) -> set[int]:
        """Return the calls that this very code runs in; closing must not wait for them."""
        caller: Any = current_caller.get()
        own = set()
        while isinstance(caller, Call):
            own.add(id(caller))
            caller = caller.caller
        return own

    def _in_flight(self, own: set[int]) -> bool:
        if self._agent.is_running_elsewhere:
            return True
        return any(c.status is None and id(c) not in own for c in self._host.calls)

    async def __aenter__(self) -> Self:
        self._check_open()
        self._loop.bind()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        state = "closed" if self._closed else f"{len(self._registry.active)} active tools"
        return f"<ToolSession {self.cwd}: {state}, {len(self._host.calls)} calls>"
