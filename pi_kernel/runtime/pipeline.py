"""The path of one call: lookup, prepare, validate, before, execute, after.

Any failure becomes an error result; nothing but a cancellation from outside leaves this module
as an exception, and that only after the call has its result.
"""

from __future__ import annotations

import asyncio
import copy
import inspect
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pi_kernel.errors import ToolAborted, ToolTimeout
from pi_kernel.protocol.calls import CallStatus
from pi_kernel.protocol.results import ABSENT, ToolResult, error_result, text_of
from pi_kernel.runtime._failures import is_cancellation, is_stop, message_of
from pi_kernel.runtime.call import Call, current_caller
from pi_kernel.runtime.execution import (
    ToolExited,
    as_coroutine,
    run_in_thread,
    step_then_watch,
    watch_and_resume,
)
from pi_kernel.runtime.updates import UpdateDelivery

if TYPE_CHECKING:
    from pi_kernel.runtime.tool import CallHost, Tool

__all__ = (
    "OPERATION_ABORTED",
    "aborted_result",
    "ask_after",
    "ask_before",
    "end_cancelled_call",
    "execute_tool_call",
    "look_up_and_validate",
    "must_ask",
    "prepare_tool_call",
    "run_at_once",
    "run_tool_call",
    "run_validated_call",
    "settle_tool_call",
)

MAX_DEPTH_CALLS = 50
"""Tools that call each other deeper than this would soon fail in Python's own recursion limit."""
TOO_DEEP = f"Tool calls are nested more than {MAX_DEPTH_CALLS} levels deep"
OPERATION_ABORTED = "Operation aborted"
BLOCKED = "Tool execution was blocked"


async def run_tool_call(host: CallHost, call: Call) -> None:
    """Take one call from its request to its result.

    A cancellation of the awaiting task is kept in ``call.foreign_cancellation`` for the caller to
    raise again after it has told of the end.
    """
    if look_up_and_validate(host, call):
        await run_validated_call(host, call)


async def run_validated_call(host: CallHost, call: Call) -> None:
    """Take a call with validated arguments to its result."""
    try:
        if call.may_run or not must_ask(host, call) or await ask_before(host, call):
            await execute_tool_call(host, call)
            if host.events.has_after:
                await ask_after(host, call)
            settle_tool_call(host, call)
            if call.has_swallowed_cancellation:
                await end_cancelled_call(call, call.last_cancellation or asyncio.CancelledError())
    except asyncio.CancelledError as cancellation:
        await end_cancelled_call(call, cancellation)
    finally:
        call.leave()


def run_at_once(host: CallHost, call: Call) -> bool:
    """Take a validated call to its result without waiting, where nobody has to be asked.

    The same steps as in `run_validated_call`, for the many tools that are an async function of
    their arguments and never wait: no coroutine is made but the function's own.

    Returns:
        True when the call has its result. Otherwise `run_validated_call` goes on, with what the
        function has begun.
    """
    tool, events = call.tool, host.events
    assert tool is not None  # noqa: S101 - it was found
    plain = tool.plain
    if (
        plain is None
        or events.has_after
        or events.has_before
        or tool.validate_input is not None
        or tool.check_permissions is not None
    ):
        return False
    status: CallStatus = "ok"
    token = current_caller.set(call)
    started = time.perf_counter()
    try:
        function = plain(**call.args)
        try:
            call.begun = (function, function.send(None))
        except StopIteration as finished:
            result = host.to_result(finished.value)
            if result is finished.value:  # others are JSON by their making
                result.check()
        else:
            call.may_run = True
            call.executing_since = started
            return False
    except BaseException as error:  # noqa: BLE001 - a tool's failure is a result, SystemExit too
        status, result = _failure(call, error)
    finally:
        current_caller.reset(token)
    ended = time.perf_counter()
    call.duration_ms = (ended - started) * 1000
    call.settled = True
    if result.is_error and status == "ok":
        status = "error"
    call.finish(status, result, is_error=status != "ok", ended_perf=ended)
    if call.own_signal is not None:  # it has called other tools
        call.leave()
    return True


async def prepare_tool_call(host: CallHost, call: Call) -> bool:
    """Go through the steps before execute, for a call that runs later.

    Returns:
        True when the call may run. Otherwise it has its result already, without a duration, and
        no after hook sees it.
    """
    call.may_run = look_up_and_validate(host, call) and (
        not must_ask(host, call) or await ask_before(host, call)
    )
    return call.may_run


async def end_cancelled_call(call: Call, cancellation: asyncio.CancelledError) -> None:
    """Give a call that a cancellation reached its result, whoever sent the cancellation."""
    call.note_cancellation(cancellation)
    call.settled = True
    call.finish("aborted", aborted_result(call), is_error=True)
    if call.delivery is not None:
        cancellation_meanwhile = await call.delivery.stop()
        if cancellation_meanwhile is not None:
            call.foreign_cancellation = cancellation_meanwhile


def aborted_result(call: Call) -> ToolResult:
    """Return the result of an aborted call: its last update's text, then that it was aborted."""
    partial = text_of(call.last_update.content) if call.last_update is not None else ""
    return error_result(f"{partial}\n\n{OPERATION_ABORTED}" if partial else OPERATION_ABORTED)


def look_up_and_validate(host: CallHost, call: Call) -> bool:  # noqa: PLR0911 - one a step
    """Find the tool, prepare and validate the arguments; False when the call has its result."""
    if (call.own_signal or call.parent_signal).aborted:
        return _stop(call, "aborted", OPERATION_ABORTED)
    if call.depth > MAX_DEPTH_CALLS:
        return _stop(call, "error", TOO_DEEP)

    tool = call.tool
    if tool is None:
        tool = call.tool = host.find_tool(call)
        if tool is None:
            return _stop(call, "not_found", f"Tool {call.name} not found")

    prepared: Any = call.raw
    if tool.prepare_arguments is not None:
        try:
            prepared = tool.prepare_arguments(copy.deepcopy(prepared))
        except BaseException as error:  # noqa: BLE001 - a tool's failure is a result
            return _stop(call, *_refusal(error), error)
    if call.arguments_error is not None:
        text = f'Invalid arguments for tool "{call.name}": {call.arguments_error}'
        return _stop(call, "invalid", text)

    try:
        call.args = tool.validator.check(call.name, prepared)
        if tool.check_arguments is not None:
            tool.check_arguments(call.args, prepared)
    except BaseException as error:  # noqa: BLE001 - what the schema or a converter says is a result
        return _stop(call, *_refusal(error), error)
    return True


def _refusal(error: BaseException) -> tuple[CallStatus, str]:
    """Return the status and text of a call whose arguments could not be prepared or checked."""
    if isinstance(error, KeyboardInterrupt):
        return "aborted", OPERATION_ABORTED
    return "invalid", message_of(error)


def must_ask(host: CallHost, call: Call) -> bool:
    """Whether the tool or a before hook has a say in whether the call runs."""
    tool = call.tool
    return (
        host.events.has_before
        or tool.validate_input is not None  # type: ignore[union-attr]  # it was found
        or tool.check_permissions is not None  # type: ignore[union-attr]
    )


async def ask_before(host: CallHost, call: Call) -> bool:
    """Ask the tool's own checks, then the before hooks; False when the call has its result."""
    tool = call.tool
    assert tool is not None  # noqa: S101 - it was found
    try:
        if tool.validate_input is not None:
            problem = await _problem_with_input(host, call)
            if problem is not None:
                return _stop(call, "invalid", problem, call.error)
        if tool.check_permissions is not None:
            denial = await _tools_own_denial(host, call)
            if denial is not None:
                call.block_reason = denial
                text = f'Permission denied for tool "{call.name}": {denial}'
                return _stop(call, "blocked", text, call.error)
        block = await host.hooks.before_tool_call(call)
    except KeyboardInterrupt as error:
        return _stop(call, "aborted", OPERATION_ABORTED, error)
    if call.is_aborted:
        return _stop(call, "aborted", OPERATION_ABORTED)
    if block is None:
        return True
    call.block_reason = block.reason or BLOCKED
    result = error_result(call.block_reason)
    result.terminate = True if block.terminate else None
    call.finish("blocked", result, is_error=True)
    call.leave()
    return False


def _stop(call: Call, status: CallStatus, text: str, error: BaseException | None = None) -> bool:
    call.error = error
    call.finish(status, error_result(text), is_error=True)
    call.leave()
    return False


async def _problem_with_input(host: CallHost, call: Call) -> str | None:
    check = call.tool.validate_input  # type: ignore[union-attr]  # the caller has looked
    try:
        problem = check(call.args, host.context_for(call))  # type: ignore[misc]
        if inspect.isawaitable(problem):
            call.watch()
            problem = await problem
    except BaseException as error:
        if is_stop(error):
            raise
        call.error = error
        return message_of(error)
    if problem is None or problem is True or problem == "":
        return None
    if problem is False:
        return f'Invalid input for tool "{call.name}"'
    return message_of(problem) if isinstance(problem, BaseException) else str(problem)


async def _tools_own_denial(host: CallHost, call: Call) -> str | None:
    check = call.tool.check_permissions  # type: ignore[union-attr]  # the caller has looked
    answer: Any
    try:
        answer = check(call.args, host.context_for(call))  # type: ignore[misc]
        if inspect.isawaitable(answer):
            call.watch()
            answer = await answer
    except BaseException as error:
        if is_stop(error):
            raise
        call.error = error
        return message_of(error)
    reason: Any = None
    if isinstance(answer, tuple | list) and answer:
        answer, reason = answer[0], answer[1] if len(answer) > 1 else None
    elif isinstance(answer, Mapping):
        answer, reason = answer.get("decision"), answer.get("reason")
    elif hasattr(answer, "decision"):
        answer, reason = getattr(answer, "decision"), getattr(answer, "reason", None)  # noqa: B009 - of any object
    if answer is None or answer is True or answer in ("allow", "ask"):
        return None
    if answer is False or answer == "deny":
        return str(reason or "the tool refused it")
    # Whoever meant to refuse must not be taken to have agreed.
    return f"check_permissions answered {answer!r}, which is not allow, ask, deny or None"


async def execute_tool_call(host: CallHost, call: Call) -> None:
    """Run the tool; its result, or its failure, becomes the call's result."""
    tool = call.tool
    assert tool is not None  # noqa: S101 - prepare found it
    token = current_caller.set(call)
    status: CallStatus = "ok"
    started = call.executing_since = call.executing_since or time.perf_counter()
    try:
        if call.begun is not None:
            result = host.to_result(await watch_and_resume(call, *call.begun))
        elif tool.plain is not None:
            result = host.to_result(await step_then_watch(call, tool.plain(**call.args)))
        else:
            result = await _execute_in_context(host, call, tool)
            if type(result) is not ToolResult:
                result = _read_result(host, call, result)
        result.check()
    except GeneratorExit:  # the coroutine is being closed; a tool's own comes as ToolExited
        raise
    except BaseException as error:  # a tool's failure is a result, SystemExit too
        if is_cancellation(error):
            raise
        status, result = _failure(call, error)
    finally:
        call.duration_ms = (time.perf_counter() - started) * 1000
        call.settled = True
        call.begun = None
        try:  # noqa: SIM105 - suppress() takes longer than a quick tool
            current_caller.reset(token)
        except ValueError:  # the coroutine is collected as garbage, in whatever context
            pass
    if call.delivery is not None:
        await call.delivery.finish()
    if status == "ok" and result.is_error:
        status = "error"
    call.provisional_status = status
    call.result = result


def _failure(call: Call, error: BaseException) -> tuple[CallStatus, ToolResult]:
    """Return what an exception of a tool means for its call."""
    if isinstance(error, ToolExited):
        error = error.reason
    call.error = error
    if isinstance(error, KeyboardInterrupt):
        call.signal.abort("interrupted")  # for the calls that it has left running
        return "aborted", aborted_result(call)
    status: CallStatus = "error"
    if isinstance(error, ToolTimeout):
        status = "timeout"
    elif isinstance(error, ToolAborted):
        status = "aborted"
    return status, error_result(message_of(error))


async def _execute_in_context(host: CallHost, call: Call, tool: Tool) -> Any:
    """Run execute with all that it may ask for; a plain function runs in a worker thread."""
    call.watch()
    # Before it starts: its threads may send at once.
    call.delivery = UpdateDelivery(host.events, call.on_update, call.update_event)
    context = host.context_for(call)
    blocking = tool.interrupt_behavior == "block"
    if blocking:
        call.block(1)
    try:
        arguments = (call.id, call.args, call.signal, call.update, context)
        if tool.is_async:
            return await step_then_watch(call, tool.execute(*arguments))
        result = await run_in_thread(tool.execute, *arguments)
        if not inspect.isawaitable(result):
            return result
        return await step_then_watch(call, as_coroutine(result))
    finally:
        if blocking:
            call.block(-1)


RESULT_KEYS = frozenset(
    {"content", "details", "structured_content", "structuredContent", "usage"}
    | {"is_error", "isError", "terminate"}
)


def _read_result(host: CallHost, call: Call, result: Any) -> ToolResult:
    """Accept a result in another form: a subclass, a dict with a result's keys, or any value."""
    if isinstance(result, ToolResult):
        return result
    if result is None:
        return error_result(f'Tool "{call.name}" returned no result')
    if isinstance(result, Mapping) and result and RESULT_KEYS.issuperset(result):
        return ToolResult(
            result.get("content"),
            details=result.get("details"),
            structured_content=result.get(
                "structured_content", result.get("structuredContent", ABSENT)
            ),
            usage=result.get("usage"),
            is_error=bool(result.get("is_error", result.get("isError", False))),
            terminate=result.get("terminate"),
        )
    return host.to_result(result)


async def ask_after(host: CallHost, call: Call) -> None:
    """Let after hooks change the result; they may make a success of an error and the reverse."""
    was_error = call.provisional_status != "ok"
    try:
        call.result, is_error = await host.hooks.after_tool_call(
            call, call.result, is_error=was_error
        )
    except KeyboardInterrupt as error:
        call.provisional_status, call.result = _failure(call, error)
        return
    if is_error != was_error:
        call.provisional_status = "error" if is_error else "ok"


def settle_tool_call(host: CallHost, call: Call) -> None:
    """Bound the result for a model, and set the one that counts."""
    result = call.result
    if call.reach == "model":
        result = host.bound(call, result)
    status = call.provisional_status
    call.finish(status, result, is_error=status != "ok")
