"""The one nested runner: every call that is not part of a model's batch is made here."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.events import ToolExecutionEnd, ToolExecutionStart
from pi_kernel.protocol.results import ToolResult, error_result
from pi_kernel.runtime._failures import shielded
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.arguments import ArgumentsNotJson, to_json_arguments
from pi_kernel.runtime.call import Call, Caller
from pi_kernel.runtime.outcome import ToolOutcome
from pi_kernel.runtime.pipeline import (
    end_cancelled_call,
    look_up_and_validate,
    run_at_once,
    run_tool_call,
    run_validated_call,
)

if TYPE_CHECKING:
    from pi_kernel.runtime.tool import CallHost

__all__ = (
    "LATE_CALL",
    "close_call",
    "execute_nested_call",
    "open_nested_call",
    "run_opened_call",
    "take_record",
    "tell_end",
    "tell_start",
)

LATE_CALL = "The calling tool has already finished"


def execute_nested_call(
    caller: Caller,
    name: str,
    args: Any,
    *,
    signal: AbortSignal | None = None,
    on_update: Callable[[ToolResult], object] | None = None,
) -> Coroutine[Any, Any, ToolOutcome]:
    """Make one call for a caller (a tool call, a cell, or a session) and return it to be awaited.

    Never raises for the tool's failure. The id is given and the arguments are copied now, in call
    order. When the awaiting task is cancelled, the call ends as aborted and the cancellation goes
    on.

    Raises:
        PiKernelError: If the name is not a text or the signal is not an `AbortSignal`.
    """
    return run_opened_call(open_nested_call(caller, name, args, signal=signal, on_update=on_update))


def open_nested_call(
    caller: Caller,
    name: str,
    args: Any,
    *,
    signal: AbortSignal | None = None,
    on_update: Callable[[ToolResult], object] | None = None,
) -> Call:
    """Give a call its id and its place in the records; `run_opened_call` runs it."""
    host = caller.host
    if type(name) is not str or signal is not None:
        _check(name, signal)
    call = Call(host, caller.next_id(), caller, name)
    if signal is not None:
        call.parent_signal = signal
    if on_update is not None:
        call.on_update = on_update
    try:
        call.raw = to_json_arguments(args)
    except ArgumentsNotJson as error:
        call.raw = {}
        call.arguments_error = str(error)
    if caller.closed:
        call.finish("error", error_result(LATE_CALL), is_error=True)
        return call
    recorder = caller.child_recorder()
    if recorder is not None:
        recorder.add(call)
    host.calls.append(call)
    return call


def _check(name: object, signal: object) -> None:
    if not isinstance(name, str):
        raise PiKernelError(f"a tool's name must be a text, got {type(name).__name__}")
    if signal is not None and not isinstance(signal, AbortSignal):
        raise PiKernelError(f"signal must be an AbortSignal, got {type(signal).__name__}")


async def run_opened_call(call: Call) -> ToolOutcome:
    """Run a call to its end, told to a cell that watches its calls."""
    if call.status is not None:  # refused when it was made
        return ToolOutcome(call)
    host, caller = call.host, call.caller
    is_watched = caller.is_watching
    if is_watched:
        caller.child_started()
    try:
        if not host.events.listened or await tell_start(host, call):
            tool = call.tool = host.find_tool(call)
            if (
                host.is_sequential or (tool is not None and tool.execution_mode == "sequential")
            ) and not call.holds_queue:
                await _run_exclusively(host, call)
            elif look_up_and_validate(host, call) and not run_at_once(host, call):
                await run_validated_call(host, call)
        if call.foreign_cancellation is not None:
            with shielded(after=call.foreign_cancellation):
                await close_call(host, call)
            raise call.foreign_cancellation
        outcome = take_record(call)
        if host.events.listened:
            await tell_end(host, call)
    finally:
        if is_watched:
            caller.child_ended()
    if is_watched and caller.is_interrupted:
        await caller.stop_here()
    return outcome


async def _run_exclusively(host: CallHost, call: Call) -> None:
    queued_at = time.perf_counter()
    call.release_task()  # an abort does not end the waiting: the call takes its turn
    try:
        await host.queue.take()
    except asyncio.CancelledError as cancellation:  # while it waited: the call never started
        await end_cancelled_call(call, cancellation)
        call.leave()
        return
    call.holds_queue = True
    call.tool = None  # looked up again: the sets may have changed while it waited
    call.queued_ms = (time.perf_counter() - queued_at) * 1000
    try:
        await run_tool_call(host, call)
    finally:
        host.queue.release()


def take_record(call: Call) -> ToolOutcome:
    """Close the call for further calls, add its usage to the record above, freeze its own."""
    usage = call.result.usage
    if usage is not None:
        recorder = call.caller.child_recorder()
        if recorder is not None:
            recorder.add_usage(usage)
    call.closed = True
    outcome = ToolOutcome(call)
    return outcome if call.recorder is None else outcome.take_record()


async def close_call(host: CallHost, call: Call) -> ToolOutcome:
    """Take the record and tell of the end."""
    outcome = take_record(call)
    if host.events.listened:
        await tell_end(host, call)
    return outcome


async def tell_start(host: CallHost, call: Call) -> bool:
    """Emit the start event when somebody wants it.

    Returns:
        True when the call may go on; False when it was cancelled meanwhile and has its result.
    """
    events = host.events
    if events.wants("tool_execution_start"):
        waiting = events.deliver(
            ToolExecutionStart(
                call.id,
                call.name,
                call.raw,
                call.parent_id,
                call.origin,
                call.root.cell_id,
                call.started_at * 1000,
            )
        )
        if waiting is not None:
            call.watch()
            try:
                await waiting
            except asyncio.CancelledError as cancellation:
                await end_cancelled_call(call, cancellation)
                call.leave()
                return False
    return True


async def tell_end(host: CallHost, call: Call) -> None:
    """Emit the end event when somebody wants it."""
    events = host.events
    if events.wants("tool_execution_end"):
        waiting = events.deliver(
            ToolExecutionEnd(
                call.id,
                call.name,
                call.raw,
                call.result,
                call.is_error,
                call.duration_ms,
                call.parent_id,
                call.status,
                call.block_reason,
            )
        )
        if waiting is not None:
            await waiting
