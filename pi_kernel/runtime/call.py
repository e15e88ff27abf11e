"""Who calls, and one call on its way through the pipeline."""

from __future__ import annotations

import asyncio
import time
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Literal

from pi_kernel.protocol.calls import CallStatus, Origin
from pi_kernel.protocol.content import ToolCall
from pi_kernel.protocol.events import ToolExecutionUpdate
from pi_kernel.protocol.json import JsonObject
from pi_kernel.protocol.results import ToolResult
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.records import NestedCallRecorder
from pi_kernel.runtime.updates import OnUpdate, UpdateDelivery

if TYPE_CHECKING:
    from pi_kernel.runtime.tool import CallHost, Tool

__all__ = ("Call", "Caller", "current_caller")

ABORT_GRACE_SECONDS = 0.2
"""How long a running tool may take to stop by itself after its signal was set."""
FIRST_FORCE_INTERVAL_SECONDS = 0.05
MAX_FORCE_INTERVAL_SECONDS = 1.0
MAX_CANCELLATIONS = 5
"""How many cancellations of an abort a tool may swallow before it is left behind."""

Reach = Literal["person", "nested", "model"]
"""``person``: all but hidden tools; ``nested``: callable ones; ``model``: the set of its batch."""

current_caller: ContextVar[Caller | None] = ContextVar("pi_kernel_caller", default=None)
"""The tool call or cell whose code is running."""


class Caller:
    """Something that makes calls: a tool call, a cell, a session. It numbers what it calls.

    Attributes have class-level defaults because one is made for every call and most stay unset.
    """

    id: str
    host: CallHost
    counter = 0
    recorder: NestedCallRecorder | None = None
    root: Caller
    """The caller that owns the recorder."""
    depth = -1
    """How many calls are above: -1 for a caller that is no call itself, 0 for its calls."""
    holds_queue = False
    closed = False
    origin: Origin = "tool"
    parent_id: str | None = None
    cell_call_id: str | None = None
    cell_id: str | None = None
    execution_count: int | None = None
    turn_id: str | None = None
    turn_index: int | None = None
    cwd: str | None = None
    is_parent = True
    """Whether its calls name it as their parent."""
    owns_children = False
    """Whether each of its calls is a root with a record of its own."""
    is_watching = False
    """Whether it wants `child_started` and `child_ended`."""
    is_interrupted = False
    """Whether a person stopped it; then `stop_here` ends its code where that gets a result."""
    child_reach: Reach = "nested"
    child_origin: Origin = "tool"

    _signal: AbortSignal

    def __init__(self, host: CallHost, caller_id: str, signal: AbortSignal) -> None:
        self.host = host
        self.id = caller_id
        self._signal = signal
        self.root = self

    @property
    def signal(self) -> AbortSignal:
        """The signal that asks this caller's calls to stop."""
        return self._signal

    def renew_signal(self) -> AbortSignal:
        """Give later calls a fresh signal; returns the old one."""
        old, self._signal = self._signal, AbortSignal()
        return old

    def next_id(self) -> str:
        """Return the id of the next call of this caller."""
        self.counter += 1
        return f"{self.id}/{self.counter}"

    async def stop_here(self) -> None:
        """Wait for the calls of an interrupted caller, then raise to end its code."""

    def child_started(self) -> None:
        """Take note that a call or a run of this caller begins."""

    def child_ended(self) -> None:
        """Take note that it ended."""

    def child_recorder(self) -> NestedCallRecorder | None:
        """Return the recorder that this caller's calls are written to."""
        return self.recorder


class Call(Caller):
    """One call of a tool: its request, its way and, in the end, its result."""

    caller: Caller
    parent_signal: AbortSignal
    own_signal: AbortSignal | None = None
    """Made when somebody needs it."""
    tool: Tool | None = None
    reach: Reach = "nested"
    name: str
    raw: JsonObject
    """The arguments as they were given, as plain JSON; empty where they cannot be."""
    args: JsonObject
    """The arguments that execute gets."""
    arguments_error: str | None = None
    message: ToolCall | None = None
    tools: Any = None
    """The set that a model's call looks its tool up in."""
    on_update: OnUpdate | None = None
    status: CallStatus | None = None
    is_error = False
    result: ToolResult
    error: BaseException | None = None
    block_reason: str | None = None
    index = 0
    completion_index: int | None = None
    started_at = 0.0
    started_perf = 0.0
    queued_ms: float | None = None
    duration_ms: float | None = None
    total_ms = 0.0
    updates = 0
    last_update: ToolResult | None = None
    delivery: UpdateDelivery | None = None
    may_run = False
    """Whether all who have a say have let it pass; a handler that comes then is too late."""
    begun: tuple[Any, Any] | None = None
    """A tool's coroutine and what it waits for, when it was begun before anybody could wait."""
    executing_since: float | None = None
    provisional_status: CallStatus = "ok"
    """How execute ended, until after hooks have seen it."""
    settled = False
    """Whether execute has returned: updates are dropped."""
    ended = False
    """Whether the call has its result: an abort does not reach it any more."""
    blockers = 0
    """How many calls at or below this one an interrupt must wait for."""
    foreign_cancellation: asyncio.CancelledError | None = None
    """Somebody else's cancellation of the awaiting task; raised again once the call has ended."""
    last_cancellation: asyncio.CancelledError | None = None
    """The last cancellation that reached the tool, in case it swallows one that was not ours."""

    _task: asyncio.Task[Any] | None = None
    _loop: asyncio.AbstractEventLoop | None = None
    _is_stopping = False
    _cancels = 0
    """Cancellations that an abort of this call has sent to the task and not taken back."""
    _others_before = 0
    """Cancellations by others that the task had when the call began to be watched."""

    def __init__(self, host: CallHost, call_id: str, caller: Caller, name: str) -> None:
        self.host = host
        self.id = call_id
        self.name = name
        self.caller = caller
        self.parent_signal = caller.signal
        self.index = caller.counter
        self.depth = caller.depth + 1
        self.origin = caller.child_origin
        if caller.is_parent:
            self.parent_id = caller.id
        if caller.holds_queue:
            self.holds_queue = True
        if caller.owns_children:
            self.open_root(caller)
        else:
            self.root = caller.root
        self.started_at = time.time()
        self.started_perf = time.perf_counter()

    def open_root(self, caller: Caller) -> None:
        """Take over the facts that the calls below this root share."""
        self.root = self
        self.reach = caller.child_reach
        self.cell_call_id = caller.cell_call_id
        self.cell_id = caller.cell_id
        self.execution_count = caller.execution_count
        self.turn_id = caller.turn_id
        self.turn_index = caller.turn_index

    def child_recorder(self) -> NestedCallRecorder | None:
        """Return the recorder of the root call, made when the first nested call needs it."""
        root = self.root
        recorder = root.recorder
        if recorder is None and isinstance(root, Call):
            recorder = root.recorder = NestedCallRecorder(root.caller.child_recorder())
        return recorder

    @property
    def signal(self) -> AbortSignal:
        """The call's own signal, made when somebody needs it; follows the one above."""
        own = self.own_signal
        if own is None:
            own = self.own_signal = AbortSignal()
            own.owner = self._on_abort
            own.follow(self.parent_signal)
        return own

    @property
    def is_aborted(self) -> bool:
        """Whether the call was asked to stop."""
        own = self.own_signal
        return self.parent_signal.aborted if own is None else own.aborted

    # -- updates ---------------------------------------------------------------------------

    def update(self, partial: Any) -> None:
        """Take a partial result, from any thread; after the call has settled it is dropped."""
        if not isinstance(partial, ToolResult) and not self.settled:
            partial = self.host.to_result(partial)
        if self.settled:
            return
        self.updates += 1
        self.last_update = partial
        if self.on_update is not None or self.host.events.wants("tool_execution_update"):
            self._deliver(partial)

    def _deliver(self, partial: ToolResult) -> None:
        if self.delivery is None:  # of a tool that is not given update() and got it elsewhere
            try:
                self.delivery = UpdateDelivery(self.host.events, self.on_update, self.update_event)
            except RuntimeError:  # in a thread that the tool waits for
                if self._loop is not None:
                    self._loop.call_soon_threadsafe(self._deliver, partial)
                return
        self.delivery.send(partial)

    def update_event(self, partial: ToolResult) -> ToolExecutionUpdate:
        """Return the event that tells of a partial result."""
        return ToolExecutionUpdate(self.id, self.name, self.raw, partial, self.parent_id)

    # -- abort -----------------------------------------------------------------------------

    def watch(self) -> None:
        """Note the task that the call runs in, so that an abort can reach it.

        Called before anything of the call waits; a call that never waits needs none of it.
        """
        if self._task is not None:
            return
        self._task = asyncio.current_task()
        self._loop = asyncio.get_running_loop()
        self._others_before = self._cancellations_by_others()
        if self.signal.aborted:
            self._start_grace()

    def release_task(self) -> None:
        """Forget the task that the call ran in so far: another one goes on, or an abort waits."""
        self._take_back_cancellations()
        self._task = None
        self._is_stopping = False

    def _on_abort(self) -> None:
        loop = self._loop
        if loop is not None and not self.ended:
            try:
                loop.call_soon_threadsafe(self._start_grace)
            except RuntimeError:  # the loop is closed: nothing runs there any more
                return

    def _start_grace(self) -> None:
        if not self.ended and not self._is_stopping and self._task is not None:
            self._is_stopping = True
            self._force_later(self._task, ABORT_GRACE_SECONDS, FIRST_FORCE_INTERVAL_SECONDS)

    def _force_later(self, task: asyncio.Task[Any], delay: float, interval: float) -> None:
        task.get_loop().call_later(delay, self._force, task, interval)

    def _force(self, task: asyncio.Task[Any], interval: float) -> None:
        """Cancel the task; again later, because code may swallow a cancellation."""
        if self.ended or task is not self._task or task.done():
            return
        if self.blockers <= 0:  # below: forced while it was blocked
            self._cancels += 1
            task.cancel()
        self._force_later(task, interval, min(interval * 2, MAX_FORCE_INTERVAL_SECONDS))

    def force(self) -> None:
        """Cancel the task now, also where an abort waits for the call."""
        self.blockers = 0
        if self._task is not None:
            self._force(self._task, FIRST_FORCE_INTERVAL_SECONDS)

    @property
    def is_out_of_patience(self) -> bool:
        """Whether the tool has swallowed as many cancellations of an abort as it may."""
        return self._cancels > MAX_CANCELLATIONS

    def _cancellations_by_others(self) -> int:
        """Return how often others than an abort of this call, or one above, cancelled the task."""
        task = self._task
        count = task.cancelling() if task is not None else 0
        caller: Caller = self
        while count and isinstance(caller, Call):
            if caller._task is task:  # noqa: SLF001 - another instance of this class
                count -= caller._cancels  # noqa: SLF001
            caller = caller.caller
        return count

    @property
    def has_swallowed_cancellation(self) -> bool:
        """Whether somebody else cancelled the task, and the call's code went on all the same."""
        return self._task is not None and self._cancellations_by_others() > self._others_before

    def note_cancellation(self, cancellation: asyncio.CancelledError) -> None:
        """Take back the cancellations that an abort of this call sent.

        Those of others go on once the call has ended. An abort of a call above is one of them: the
        same cancellation ends both calls.
        """
        self.ended = True
        self.last_cancellation = None
        was_ours = self._take_back_cancellations()
        task = self._task
        if not was_ours or task is None or task.cancelling() > self._others_before:
            self.foreign_cancellation = cancellation
            self.signal.abort("cancelled")

    def _take_back_cancellations(self) -> bool:
        task, count = self._task, self._cancels
        self._cancels = 0
        if task is not None:
            for _ in range(count):
                task.uncancel()
        return count > 0

    def leave(self) -> None:
        """Let go of the task and the signal above."""
        self.ended = True
        if self._cancels:
            self._take_back_cancellations()
        own = self.own_signal
        if own is not None:
            own.owner = None
            own.unfollow(self.parent_signal)

    def block(self, change: int) -> None:
        """Make interrupts of this call and of its callers wait (1) or not any more (-1)."""
        caller: Caller | None = self
        while isinstance(caller, Call):
            caller.blockers += change
            caller = caller.caller

    # -- the end ---------------------------------------------------------------------------

    def finish(
        self,
        status: CallStatus,
        result: ToolResult,
        *,
        is_error: bool,
        ended_perf: float | None = None,
    ) -> None:
        """Set the result that counts; it ends now, unless somebody has read the clock already."""
        self.result = result
        self.is_error = is_error
        self.total_ms = ((ended_perf or time.perf_counter()) - self.started_perf) * 1000
        self.status = status
