"""All tool calls of one assistant message: who starts when, and in which order results come."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from pi_kernel.protocol.calls import CallStatus
from pi_kernel.protocol.content import ToolCall
from pi_kernel.protocol.results import error_result
from pi_kernel.runtime._failures import shielded
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.arguments import ArgumentsNotJson, to_json_arguments
from pi_kernel.runtime.call import Call, Caller
from pi_kernel.runtime.nested import LATE_CALL, take_record, tell_end, tell_start
from pi_kernel.runtime.outcome import ToolOutcome
from pi_kernel.runtime.pipeline import (
    OPERATION_ABORTED,
    end_cancelled_call,
    prepare_tool_call,
    run_tool_call,
    run_validated_call,
)

if TYPE_CHECKING:
    from pi_kernel.runtime.tool import CallHost, Tool

__all__ = ("OnResult", "refuse_batch", "run_batch", "votes_to_end")

OnResult = Callable[[ToolOutcome], Awaitable[None]]
"""Called once for each call, in source order, when its result becomes a message."""

CUT_OFF = (
    'Tool call "{name}" was not executed: the response hit the output token limit, so its'
    " arguments may be truncated. Re-issue the tool call with complete arguments."
)


async def run_batch(
    caller: Caller,
    calls: Sequence[ToolCall],
    tools: Mapping[str, Tool],
    *,
    signal: AbortSignal,
    on_result: OnResult,
) -> list[ToolOutcome]:
    """Run a model's calls; every call gets exactly one result, also after an abort.

    The whole batch is sequential when the session is or when any tool of it is.

    Args:
        caller: The run, or the cell, that the calls belong to.
        calls: In source order. Ids are the model's own.
        tools: The set as it was when the batch was issued.
        signal: Asks the whole batch to stop.
        on_result: Makes the message of a result.
    """
    opened = [
        _open(caller, message, tools, signal, index) for index, message in enumerate(calls, 1)
    ]
    if caller.closed:
        return await _refuse(caller.host, opened, on_result, _Refusal("error", LATE_CALL))
    sequential = caller.host.is_sequential or any(
        tool is not None and tool.execution_mode == "sequential"
        for tool in (tools.get(call.name) for call in opened)
    )
    if sequential:
        return await _run_sequential(caller.host, opened, on_result)
    return await _run_parallel(caller.host, opened, on_result)


def _open(
    caller: Caller, message: ToolCall, tools: Mapping[str, Tool], signal: AbortSignal, index: int
) -> Call:
    call = Call(caller.host, message.id, caller, message.name)
    call.message = message
    call.parent_signal = signal
    call.arguments_error = message.arguments_error
    try:
        call.raw = to_json_arguments(message.arguments)
    except ArgumentsNotJson as error:
        call.raw = {}
        call.arguments_error = call.arguments_error or str(error)
    call.tools = tools
    call.open_root(caller)
    call.reach = "model"
    call.origin = "model"
    call.holds_queue = False
    call.index = index
    recorder = caller.child_recorder()
    if recorder is not None:
        recorder.add(call)
    return call


async def _begin(host: CallHost, call: Call) -> bool:
    """Tell of the start; False when the call was cancelled meanwhile and has its result."""
    host.calls.append(call)
    host.pending[call.id] = call
    return await tell_start(host, call)


async def _run_sequential(
    host: CallHost, calls: list[Call], on_result: OnResult
) -> list[ToolOutcome]:
    outcomes = []
    for number, call in enumerate(calls, 1):
        if await _begin(host, call):
            await run_tool_call(host, call)
        call.completion_index = number
        with shielded(after=call.foreign_cancellation):
            await _end(host, call)
        with shielded(after=call.foreign_cancellation):
            outcomes.append(await _take(call, on_result))
        if call.foreign_cancellation is not None:
            refusal = _Refusal("aborted", OPERATION_ABORTED, call.foreign_cancellation)
            return await _refuse(host, calls[number:], on_result, refusal)
    return outcomes


async def _run_parallel(
    host: CallHost, calls: list[Call], on_result: OnResult
) -> list[ToolOutcome]:
    prepared: list[Call] = []
    done = 0
    cancellation: asyncio.CancelledError | None = None

    async def end(call: Call) -> None:
        nonlocal done
        call.leave()
        done += 1
        call.completion_index = done
        await _end(host, call)

    for call in calls:
        with shielded(after=cancellation):
            may_go_on = await _begin(host, call)
            if may_go_on and cancellation is not None:
                _abort(call)
            elif may_go_on and await _prepare(host, call):
                prepared.append(call)
                continue
            await end(call)
            cancellation = cancellation or call.foreign_cancellation

    async def run(call: Call) -> None:
        call.watch()
        if call.is_aborted:
            _abort(call)
        else:
            await run_validated_call(host, call)
        await end(call)

    cancellation = await _settle_all(run, prepared, cancellation)
    outcomes = []
    for call in calls:
        with shielded(after=cancellation):
            outcomes.append(await _take(call, on_result))
        cancellation = cancellation or call.foreign_cancellation
    if cancellation is not None:
        raise cancellation
    return outcomes


def _abort(call: Call) -> None:
    call.finish("aborted", error_result(OPERATION_ABORTED), is_error=True)


async def _prepare(host: CallHost, call: Call) -> bool:
    """Take a call up to its execution, which another task runs; False when it has its result."""
    call.watch()
    try:
        is_ready = await prepare_tool_call(host, call)
    except asyncio.CancelledError as error:
        await end_cancelled_call(call, error)
        return False
    if is_ready and call.has_swallowed_cancellation:
        await end_cancelled_call(call, asyncio.CancelledError())
        return False
    if is_ready:
        call.release_task()
    return is_ready


async def _settle_all(
    run: Callable[[Call], Coroutine[Any, Any, None]],
    calls: list[Call],
    cancellation: asyncio.CancelledError | None,
) -> asyncio.CancelledError | None:
    """Run all at once and wait for all; a cancellation from outside stops them first.

    Plain tasks instead of a task group: a call never raises, so no sibling can be cancelled by
    another's failure, and each needs its own task for its own abort.

    Returns:
        The cancellation, which goes on when every call has its result.
    """
    tasks = {asyncio.ensure_future(run(call)): call for call in calls}
    if cancellation is not None:
        _stop_all(tasks)
    while pending := [task for task in tasks if not task.done()]:
        try:
            with shielded(after=cancellation):
                await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            cancellation = error
            _stop_all(tasks)
    for task in tasks:
        task.result()
    return cancellation


def _stop_all(tasks: Mapping[asyncio.Task[None], Call]) -> None:
    for task, call in tasks.items():
        if call.ended:
            task.cancel()  # somebody who is told of the end takes his time
        else:
            call.signal.abort("cancelled")


class _Refusal(NamedTuple):
    """Why calls get a result without running."""

    status: CallStatus
    text: str
    """The name of the call stands for ``{name}``."""
    cancellation: asyncio.CancelledError | None = None
    """What goes on when all have their results."""


async def _refuse(
    host: CallHost, calls: list[Call], on_result: OnResult, refusal: _Refusal
) -> list[ToolOutcome]:
    """Give calls that do not run their events and results."""
    outcomes = []
    cancellation = refusal.cancellation
    for call in calls:
        with shielded(after=cancellation):
            if await _begin(host, call):
                result = error_result(refusal.text.format(name=call.name))
                call.finish(refusal.status, result, is_error=True)
            call.leave()
            await _end(host, call)
            outcomes.append(await _take(call, on_result))
        cancellation = cancellation or call.foreign_cancellation
    if cancellation is not None:
        raise cancellation
    return outcomes


async def _end(host: CallHost, call: Call) -> None:
    """Tell of the end. A cancellation meanwhile is kept: every call gets its result first."""
    if host.pending.get(call.id) is call:
        del host.pending[call.id]
    try:
        await tell_end(host, call)
    except asyncio.CancelledError as error:
        call.foreign_cancellation = error


async def _take(call: Call, on_result: OnResult) -> ToolOutcome:
    outcome = take_record(call)
    try:
        await on_result(outcome)
    except asyncio.CancelledError as error:
        call.foreign_cancellation = error
    return outcome


async def refuse_batch(
    caller: Caller, calls: Sequence[ToolCall], *, signal: AbortSignal, on_result: OnResult
) -> list[ToolOutcome]:
    """Answer the calls of a reply that hit the token limit: none runs, not even a look-up."""
    opened = [_open(caller, message, {}, signal, index) for index, message in enumerate(calls, 1)]
    refusal = _Refusal("error", CUT_OFF)
    return await _refuse(caller.host, opened, on_result, refusal)


def votes_to_end(outcomes: Sequence[ToolOutcome]) -> bool:
    """Whether the batch ends the run: it is not empty and every result votes for it."""
    return bool(outcomes) and all(outcome.terminate is True for outcome in outcomes)
