"""All tool calls of one assistant message: who starts when, and in which order results come."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from pi_kernel.protocol.content import ToolCall
from pi_kernel.protocol.results import error_result
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.arguments import ArgumentsNotJson, to_json_arguments
from pi_kernel.runtime.call import Call, Caller
from pi_kernel.runtime.nested import take_record, tell_end, tell_start
from pi_kernel.runtime.outcome import ToolOutcome
from pi_kernel.runtime.pipeline import (
    OPERATION_ABORTED,
    ask_after,
    end_cancelled_call,
    execute_tool_call,
    prepare_tool_call,
    run_tool_call,
    settle_tool_call,
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


async def _begin(host: CallHost, call: Call) -> None:
    host.calls.append(call)
    host.pending[call.id] = call
    await tell_start(host, call)


async def _run_sequential(
    host: CallHost, calls: list[Call], on_result: OnResult
) -> list[ToolOutcome]:
    outcomes = []
    for number, call in enumerate(calls, 1):
        await _begin(host, call)
        await run_tool_call(host, call)
        call.completion_index = number
        await _end(host, call)
        outcomes.append(await _take(call, on_result))
        if call.foreign_cancellation is not None:
            await _abort_rest(host, calls[number:], on_result)
            raise call.foreign_cancellation
    return outcomes


async def _run_parallel(
    host: CallHost, calls: list[Call], on_result: OnResult
) -> list[ToolOutcome]:
    prepared: list[Call] = []
    done = 0
    cancellation: asyncio.CancelledError | None = None
    for call in calls:
        await _begin(host, call)
        call.watch()
        ready = False
        try:
            if cancellation is None:
                ready = await prepare_tool_call(host, call)
            else:
                call.finish("aborted", error_result(OPERATION_ABORTED), is_error=True)
        except asyncio.CancelledError as error:
            end_cancelled_call(call, error)
            cancellation = call.foreign_cancellation  # type: ignore[assignment]  # set just now
        if ready:
            call.release_task()
            prepared.append(call)
        else:
            call.leave()
            done += 1
            call.completion_index = done
            await _end(host, call)

    async def run(call: Call) -> None:
        nonlocal done
        call.watch()
        try:
            if call.is_aborted:
                call.finish("aborted", error_result(OPERATION_ABORTED), is_error=True)
            else:
                await execute_tool_call(host, call)
                if host.events.has_after:
                    await ask_after(host, call)
                settle_tool_call(host, call)
        except asyncio.CancelledError as error:
            end_cancelled_call(call, error)
        finally:
            call.leave()
        done += 1
        call.completion_index = done
        await _end(host, call)

    stopped = await _settle_all([functools.partial(run, call) for call in prepared], prepared)
    cancellation = stopped or cancellation
    outcomes = [await _take(call, on_result) for call in calls]
    if cancellation is not None:
        raise cancellation
    return outcomes


async def _settle_all(
    runs: list[Callable[[], Awaitable[None]]], calls: list[Call]
) -> asyncio.CancelledError | None:
    """Run all at once and wait for all; a cancellation from outside stops them first.

    Plain tasks instead of a task group: a call never raises, so no sibling can be cancelled by
    another's failure, and each needs its own task for its own abort.
    """
    tasks = [asyncio.ensure_future(run()) for run in runs]
    cancellation = None
    while pending := [task for task in tasks if not task.done()]:
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError as error:
            cancellation = error
            for call in calls:
                call.signal.abort("cancelled")
    for task in tasks:
        task.result()
    return cancellation


async def _abort_rest(host: CallHost, calls: list[Call], on_result: OnResult) -> None:
    for call in calls:
        await _begin(host, call)
        call.finish("aborted", error_result(OPERATION_ABORTED), is_error=True)
        call.leave()
        await _end(host, call)
        await _take(call, on_result)


async def _end(host: CallHost, call: Call) -> None:
    if host.pending.get(call.id) is call:
        del host.pending[call.id]
    await tell_end(host, call)


async def _take(call: Call, on_result: OnResult) -> ToolOutcome:
    outcome = take_record(call)
    await on_result(outcome)
    return outcome


async def refuse_batch(
    caller: Caller, calls: Sequence[ToolCall], *, signal: AbortSignal, on_result: OnResult
) -> list[ToolOutcome]:
    """Answer the calls of a reply that hit the token limit: none runs, not even a look-up."""
    outcomes = []
    for index, message in enumerate(calls, 1):
        call = _open(caller, message, {}, signal, index)
        await _begin(caller.host, call)
        call.finish("error", error_result(CUT_OFF.format(name=call.name)), is_error=True)
        call.leave()
        await _end(caller.host, call)
        outcomes.append(await _take(call, on_result))
    return outcomes


def votes_to_end(outcomes: Sequence[ToolOutcome]) -> bool:
    """Whether the batch ends the run: it is not empty and every result votes for it."""
    return bool(outcomes) and all(outcome.terminate is True for outcome in outcomes)
