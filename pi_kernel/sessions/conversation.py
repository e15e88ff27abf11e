"""A session's conversation with a model: prompts, what is queued, what has been said."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from pi_kernel.agent.agent import Agent, RunOptions
from pi_kernel.agent.run import AgentRun
from pi_kernel.agent.state import FinishTurn
from pi_kernel.errors import PiKernelError
from pi_kernel.models.stream import Model
from pi_kernel.protocol.events import Event
from pi_kernel.protocol.messages import AssistantMessage, Message
from pi_kernel.protocol.tools import ModelInfo
from pi_kernel.registry.host import RootCaller, ToolHost
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.call import Caller, current_caller
from pi_kernel.sessions.access import ToolAccess
from pi_kernel.sessions.loops import SessionLoop
from pi_kernel.sessions.options import check_max_turns, check_model, check_system_prompt

__all__ = ("Conversation",)


class Conversation(ToolAccess):
    """The agent of a session, as people use it."""

    def __init__(self, host: ToolHost, agent: Agent) -> None:
        super().__init__(host.registry, host.events)
        self._host = host
        self._agent = agent
        self._loop = SessionLoop()
        self._model: Model | None = None

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

    def _caller(self) -> Caller:
        """Return the tool call or cell whose code is running here, or the session itself."""
        caller = current_caller.get()
        if caller is not None and caller.host is self._host:
            return caller
        return self._host.root

    def _start(self) -> Caller:
        """Return who calls, when calls are possible here."""
        self._check_open()
        self._loop.bind()
        return self._caller()

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
        check_system_prompt(system_prompt)
        options = self._run_options(model, max_turns, finish_turn, signal)
        run = await self._agent.prompt(content, options, system_prompt=system_prompt)
        await self._stop_here_if_interrupted(options)
        return run

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
        options = self._run_options(model, max_turns, finish_turn, signal)
        run = await self._agent.continue_run(options)
        await self._stop_here_if_interrupted(options)
        return run

    @staticmethod
    async def _stop_here_if_interrupted(options: RunOptions) -> None:
        if options.caller is not None and options.caller.is_interrupted:
            await options.caller.stop_here()

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
