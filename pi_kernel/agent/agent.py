"""`Agent`: the transcript, the queues and the run that is going on."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import anyio

from pi_kernel.agent.caller import RunCaller
from pi_kernel.agent.loop import LAST_WORDS_SECONDS, run_loop
from pi_kernel.agent.queues import MessageQueue, QueueMode
from pi_kernel.agent.run import AgentRun
from pi_kernel.agent.state import FinishTurn, LoopState
from pi_kernel.errors import PiKernelError
from pi_kernel.models.stream import Model
from pi_kernel.protocol.events import AgentSettled, Event, QueueUpdate
from pi_kernel.protocol.messages import (
    AssistantMessage,
    Message,
    SystemMessage,
    UserMessage,
    user_message,
)
from pi_kernel.registry.host import ToolHost
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.call import Caller

__all__ = ("Agent", "RunOptions")

ALREADY_RUNNING = (
    "Agent is already processing a prompt."
    " Use steer() or followUp() to queue messages, or wait for completion."
)


inside_run: ContextVar[Agent | None] = ContextVar("pi_kernel_run", default=None)
"""Whose run the running code belongs to."""


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """How one run goes.

    Attributes:
        model: Who answers.
        caller: The cell or tool call that starts the run; None for the session itself.
        max_turns: How many replies at most; None is no limit.
        finish_turn: Asked after each turn.
        signal: Asks the run to stop.
    """

    model: Model
    caller: Caller | None = None
    max_turns: int | None = None
    finish_turn: FinishTurn | None = None
    signal: AbortSignal | None = None


class Agent:
    """One conversation: runs prompts one at a time on the tools of a host."""

    def __init__(
        self,
        host: ToolHost,
        *,
        steering_mode: QueueMode = "one-at-a-time",
        follow_up_mode: QueueMode = "one-at-a-time",
    ) -> None:
        self._host = host
        self.messages: list[Message] = []
        self.steering = MessageQueue(steering_mode)
        self.follow_up = MessageQueue(follow_up_mode)
        self.streaming_message: AssistantMessage | None = None
        self._signal: AbortSignal | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._untold: deque[Event] = deque()
        self._telling: asyncio.Task[None] | None = None

    @property
    def is_running(self) -> bool:
        """Whether a run is going on."""
        return self._signal is not None

    @property
    def is_running_elsewhere(self) -> bool:
        """Whether a run is going on that the asking code is no part of."""
        return self.is_running and inside_run.get() is not self

    def abort(self, reason: Any = None) -> None:
        """Ask the run to stop; it ends with every call answered."""
        if self._signal is not None:
            self._signal.abort(reason)

    def queue(self, content: Any, queue: MessageQueue) -> None:
        """Add a message to one of the two queues and tell of it; may be called from any thread.

        Raises:
            PiKernelError: If it is neither a text nor content blocks.
        """
        queue.add(_read_prompt(content))
        event = QueueUpdate(self.steering.peek(), self.follow_up.peek())
        if self._loop is not None and self._loop.is_running() and self._loop is not _here():
            self._loop.call_soon_threadsafe(self._tell, event)
        else:
            self._tell(event)

    def _tell(self, event: Event) -> None:
        """Deliver in order, at once where nobody async listens; without a loop, at the next run."""
        self._untold.append(event)
        loop = _here()
        if loop is None or (self._telling is not None and not self._telling.done()):
            return
        while self._untold:
            waiting = self._host.events.deliver(self._untold.popleft())
            if waiting is not None:
                self._telling = loop.create_task(self._tell_rest(waiting))
                return

    async def _tell_rest(self, waiting: Awaitable[None] | None = None) -> None:
        if waiting is not None:
            await waiting
        while self._untold:
            await self._host.events.emit(self._untold.popleft())

    async def _all_told(self) -> None:
        if self._telling is not None:
            await asyncio.wait({self._telling})
        await self._tell_rest()

    async def prompt(
        self, content: Any, options: RunOptions, *, system_prompt: str | None = None
    ) -> AgentRun:
        """Run one prompt to its end.

        Args:
            content: A text, a content block or a list of blocks.
            options: How the run goes.
            system_prompt: Instructions; sent once, and again when they change.

        Raises:
            PiKernelError: If a run is going on already, or the content is of another kind.
        """
        self._check_idle()
        prompts: list[Message] = [_read_prompt(content)]
        if system_prompt is not None and system_prompt != self._last_instructions():
            prompts.insert(0, SystemMessage(content=system_prompt))
        return await self._run(prompts, options)

    async def continue_run(self, options: RunOptions) -> AgentRun:
        """Go on from the transcript as it is, without a new message.

        Raises:
            PiKernelError: If a run is going on already, or the transcript is empty or ends with a
                reply.
        """
        self._check_idle()
        if not self.messages:
            raise PiKernelError("Cannot continue: no messages in context")
        if isinstance(self.messages[-1], AssistantMessage):
            raise PiKernelError("Cannot continue from message role: assistant")
        return await self._run([], options)

    def _check_idle(self) -> None:
        if self.is_running:
            raise PiKernelError(ALREADY_RUNNING)

    async def _run(self, prompts: list[Message], options: RunOptions) -> AgentRun:
        self._signal = own = AbortSignal()
        self._loop = asyncio.get_running_loop()
        caller = options.caller
        parent = options.signal or (caller.signal if caller is not None else None)
        if parent is not None:
            own.follow(parent)
        self._host.registry.clear_pending()
        level = self._host.thinking_level
        state = LoopState(
            host=self._host,
            messages=self.messages,
            model=options.model,
            signal=own,
            caller=RunCaller(self._host, caller, own),
            steering=self.steering,
            follow_up=self.follow_up,
            max_turns=options.max_turns,
            options={} if level is None else {"thinking_level": level},
            finish_turn=options.finish_turn,
            on_streaming=self._note_streaming,
            queues_told=self._all_told,
        )
        if caller is not None:
            caller.child_started()
        token = inside_run.set(self)
        try:
            produced = await run_loop(state, prompts)
        except BaseException:
            self._signal = None
            with anyio.move_on_after(LAST_WORDS_SECONDS, shield=True):
                await self._host.events.emit(AgentSettled(aborted=own.aborted))
            raise
        else:
            self._signal = None
            await state.emit(AgentSettled(aborted=own.aborted))
            return AgentRun(list(produced))
        finally:
            inside_run.reset(token)
            if parent is not None:
                own.unfollow(parent)
            if caller is not None:
                caller.child_ended()

    def _note_streaming(self, message: AssistantMessage | None) -> None:
        self.streaming_message = message

    def _last_instructions(self) -> str | None:
        contents = [m.content for m in self.messages if isinstance(m, SystemMessage) and m.content]
        last = contents[-1] if contents else None
        return last if isinstance(last, str) else None

    async def stream(self, run: Callable[[], Coroutine[Any, Any, object]]) -> AsyncIterator[Event]:
        """Give the events of a run as they come; leaving the iteration aborts the run.

        Raises:
            PiKernelError: What the run raises, after its events.
        """
        queue: asyncio.Queue[Event | None] = asyncio.Queue()
        unsubscribe = self._host.events.subscribe(queue.put_nowait)
        task = asyncio.ensure_future(run())
        task.add_done_callback(lambda _task: queue.put_nowait(None))
        try:
            while (event := await queue.get()) is not None:
                yield event
            await task
        finally:
            unsubscribe()
            if not task.done():
                self.abort("the stream was left")
                await asyncio.wait({task})
            if not task.cancelled():
                task.exception()


def _read_prompt(content: Any) -> UserMessage:
    """Make a user message of a text, a content block, a list of blocks, or a user message.

    Raises:
        PiKernelError: If it is none of these.
    """
    try:
        return user_message(content)
    except ValueError:
        raise PiKernelError(
            "a prompt must be a text, a content block or a list of blocks,"
            f" got {type(content).__name__}"
        ) from None


def _here() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
