"""`ToolSession`: one working directory, one registry, one pipeline, one trace. Wiring only."""

from __future__ import annotations

import os
import warnings
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, Self, TypeVar, overload

import anyio

from pi_kernel.agent.agent import Agent, RunOptions
from pi_kernel.agent.queues import QueueMode
from pi_kernel.agent.run import AgentRun
from pi_kernel.agent.state import FinishTurn
from pi_kernel.errors import PiKernelError
from pi_kernel.models.stream import Model
from pi_kernel.protocol.content import ToolCall
from pi_kernel.protocol.events import Event, MessageEnd, MessageStart
from pi_kernel.protocol.messages import AssistantMessage, Message
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ModelInfo
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.registry.filters import NameFilter
from pi_kernel.registry.host import RootCaller, ToolHost
from pi_kernel.registry.namespace import ToolsNamespace
from pi_kernel.registry.registry import ToolRegistry
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.call import Call, Caller, current_caller
from pi_kernel.runtime.events import EventSink, Handler, Unsubscribe
from pi_kernel.runtime.outcome import ToolOutcome
from pi_kernel.sessions.loops import SessionLoop
from pi_kernel.sessions.options import (
    ToolSet,
    check_choice,
    check_max_turns,
    check_model,
    check_names,
    read_calls,
    read_tools,
)
from pi_kernel.traces.trace import Trace

__all__ = ("ToolSession",)

T = TypeVar("T")

CLOSE_SECONDS = 5.0
"""How long closing waits for calls that were asked to stop."""
LOOK_SECONDS = 0.01


class ToolSession:
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
        self._cwd = str(Path(cwd).expanduser().absolute())
        self._events = EventSink()
        self._registry = ToolRegistry(
            NameFilter(check_names("allow", allow), check_names("deny", deny) or ()),
            self._events.report,
        )
        self._host = ToolHost(
            registry=self._registry,
            events=self._events,
            cwd=self._cwd,
            session=self,
            session_id=session_id,
            execution=tool_execution,
        )
        self._host.thinking_level = thinking_level
        self._agent = Agent(self._host, steering_mode=steering_mode, follow_up_mode=follow_up_mode)
        self._model: Model | None = None
        self.model = model
        self._loop = SessionLoop()
        self._closed = False
        self._warned: set[str] = set()
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
    def registry(self) -> ToolRegistry:
        """The registry, for extenders."""
        return self._registry

    @property
    def model(self) -> ModelInfo | None:
        """Which model reads the results, or None."""
        return self._host.model

    @model.setter
    def model(self, model: ModelInfo | Model | None) -> None:
        if model is None or isinstance(model, ModelInfo):
            self._host.model, self._model = model, None
        elif isinstance(getattr(model, "info", None), ModelInfo):
            self._host.model, self._model = model.info, model
        else:
            raise PiKernelError(
                f"model must be a ModelInfo or a Model with .info and .stream(),"
                f" got {type(model).__name__}"
            )

    @property
    def thinking_level(self) -> str | None:
        """How much the model thinks, as tools are told."""
        return self._host.thinking_level

    # -- tools -------------------------------------------------------------------------------

    def register(self, definition: ToolDefinition) -> ToolDefinition:
        """Add a tool, or replace the one of this name; a shadowed built-in gives one warning.

        Returns:
            The definition, so that this works as a decorator of one.
        """
        self._check_open()
        name = getattr(definition, "name", "")
        held = self._registry.source_of(name)
        if held is not None and held[0] == "builtin" and name not in self._warned:
            self._warned.add(name)
            warnings.warn(f'tool "{name}" replaces the built-in tool', stacklevel=2)
        self._registry.register(definition)
        return definition

    def set_active(self, names: Iterable[str]) -> None:
        """Replace the active set; ``+name`` and ``-name`` change it instead.

        A model sees the change from its next request on, nested calls at once.
        """
        self._check_open()
        self._registry.set_active(check_names("names", names) or [])

    def refresh(self, names: Iterable[str] | None = None) -> None:
        """Compute the active set again, from the given names or the current ones."""
        self._check_open()
        self._registry.refresh(check_names("names", names))

    @property
    def registered(self) -> Mapping[str, ToolDefinition]:
        """Every tool, hidden ones included."""
        return MappingProxyType(self._registry.registered)

    @property
    def active(self) -> Mapping[str, ToolDefinition]:
        """The tools that are on, in order."""
        return MappingProxyType(self._registry.active)

    @property
    def callable(self) -> Mapping[str, ToolDefinition]:
        """The tools that tools and scripts can call."""
        return MappingProxyType(self._registry.callable)

    @property
    def declared(self) -> Mapping[str, ToolDefinition]:
        """The tools that the next model request shows."""
        return MappingProxyType(self._registry.declared)

    @property
    def tools(self) -> ToolsNamespace:
        """Tools as functions, with a person's reach: ``await session.tools.ls(path=".")``."""
        return ToolsNamespace(self._start, lambda: self._registry.reachable)

    # -- events ------------------------------------------------------------------------------

    @overload
    def on(self, event_type: str) -> Callable[[Handler], Handler]: ...
    @overload
    def on(self, event_type: str, handler: Handler) -> Unsubscribe: ...
    def on(self, event_type: str, handler: Handler | None = None) -> Any:
        """Call ``handler(event)`` for each event of one type; usable as a decorator too.

        ``tool_call`` handlers may change or block a call, ``tool_result`` handlers may change its
        result; the other types are told only.
        """
        if not isinstance(event_type, str) or (handler is not None and not callable(handler)):
            raise PiKernelError("on() takes the name of an event and a function")
        if handler is None:

            def decorate(function: Handler) -> Handler:
                self._events.on(event_type, function)
                return function

            return decorate
        return self._events.on(event_type, handler)

    def subscribe(self, callback: Handler) -> Unsubscribe:
        """Call ``callback(event)`` for every event, in order."""
        if not callable(callback):
            raise PiKernelError("subscribe() takes a function")
        return self._events.subscribe(callback)

    # -- calls -------------------------------------------------------------------------------

    def _caller(self) -> Caller:
        """Return the tool call or cell whose code is running here, or the session itself."""
        caller = current_caller.get()
        if caller is not None and caller.host is self._host:
            return caller
        return self._host.root

    def _check_open(self) -> None:
        if self._closed:
            raise PiKernelError("this session is closed; make a new ToolSession")

    def _start(self) -> Caller:
        """Return who calls, when calls are possible here."""
        self._check_open()
        self._loop.bind()
        return self._caller()

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

        return await self._host.execute_batch(
            read_calls(calls), caller=caller, signal=signal or caller.signal, on_result=on_result
        )

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

    # -- the agent ---------------------------------------------------------------------------

    async def prompt(  # noqa: PLR0913 - each is a switch of its own
        self,
        content: Any,
        *,
        model: Model | None = None,
        system_prompt: str | None = None,
        max_turns: int | None = None,
        finish_turn: FinishTurn | None = None,
        signal: AbortSignal | None = None,
    ) -> AgentRun:
        """Ask a model, run the tools it calls, and go on until it has nothing left to do.

        Args:
            content: A text, a content block or a list of blocks.
            model: Who answers; the session's model when None.
            system_prompt: Instructions; sent once, and again when they change.
            max_turns: How many replies at most.
            finish_turn: Asked after each turn; may end or continue the run.
            signal: Asks the run to stop.

        Returns:
            The run's messages. A model's failure is a reply with the stop reason ``error``.

        Raises:
            PiKernelError: If there is no model, a run is going on, or the session is closed.
        """
        if system_prompt is not None and not isinstance(system_prompt, str):
            kind = type(system_prompt).__name__
            raise PiKernelError(f"system_prompt must be a text, got {kind}")
        options = self._run_options(model, max_turns, finish_turn, signal)
        return await self._agent.prompt(content, options, system_prompt=system_prompt)

    async def continue_run(
        self,
        *,
        model: Model | None = None,
        max_turns: int | None = None,
        finish_turn: FinishTurn | None = None,
        signal: AbortSignal | None = None,
    ) -> AgentRun:
        """Ask again from the transcript as it is, without a new message; else as `prompt`.

        Raises:
            PiKernelError: As `prompt`, and if the transcript is empty or ends with a reply.
        """
        return await self._agent.continue_run(
            self._run_options(model, max_turns, finish_turn, signal)
        )

    def _run_options(
        self,
        model: Model | None,
        max_turns: int | None,
        finish_turn: FinishTurn | None,
        signal: AbortSignal | None,
    ) -> RunOptions:
        caller = self._start()
        check_max_turns(max_turns)
        return RunOptions(
            model=check_model(model or self._model),
            caller=None if isinstance(caller, RootCaller) else caller,
            max_turns=max_turns,
            finish_turn=finish_turn,
            signal=signal or caller.signal,
        )

    def stream(self, content: Any, **options: Any) -> AsyncIterator[Event]:
        """Do the same as `prompt`, giving the events as they come."""
        return self._agent.stream(lambda: self.prompt(content, **options))

    def steer(self, content: Any) -> None:
        """Queue a user message for after the calls that are running."""
        self._check_open()
        self._agent.queue(content, self._agent.steering)

    def follow_up(self, content: Any) -> None:
        """Queue a user message for when the run would end."""
        self._check_open()
        self._agent.queue(content, self._agent.follow_up)

    def abort(self, reason: Any = None) -> None:
        """Ask the run and all calls of the session to stop; later calls are not affected."""
        self._agent.abort(reason)
        self._host.root.renew_signal().abort(reason)

    @property
    def messages(self) -> list[Message]:
        """The transcript."""
        return list(self._agent.messages)

    @property
    def is_running(self) -> bool:
        """Whether a run is going on."""
        return self._agent.is_running

    @property
    def pending_tool_calls(self) -> frozenset[str]:
        """Ids of a model's calls between their start and end events."""
        return frozenset(self._host.pending)

    @property
    def streaming_message(self) -> AssistantMessage | None:
        """The reply that is coming in, so far."""
        return self._agent.streaming_message

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
