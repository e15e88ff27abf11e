"""The agent loop: turns until a reply has no tool calls and nothing waits.

Knows nothing of sessions or files: `LoopState` is what it works on.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence

import anyio

from pi_kernel.agent.prompt import with_system_changes
from pi_kernel.agent.reply import ABORTED, FAILED, ask_model, failed_reply
from pi_kernel.agent.state import Decision, LoopState
from pi_kernel.models.stream import ModelContext
from pi_kernel.protocol.events import AgentEnd, AgentStart, MessageStart, TurnEnd, TurnStart
from pi_kernel.protocol.messages import AssistantMessage, Message, ToolResultMessage
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.registry.loadout import replay_declarations
from pi_kernel.runtime.batch import refuse_batch, run_batch, votes_to_end
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("run_loop",)

LAST_WORDS_SECONDS = 1.0
"""How long a cancelled run may take to tell of its end."""

Tools = Mapping[str, ToolDefinition]


async def run_loop(state: LoopState, prompts: Sequence[Message]) -> list[Message]:
    """Run until the model has nothing left to do.

    A failure inside the loop ends the run with a reply that failed. A cancellation does too, as an
    abort, and goes on.

    Returns:
        All messages that this run produced.
    """
    try:
        await _run_turns(state, prompts)
    except anyio.get_cancelled_exc_class():
        state.signal.abort("cancelled")
        if not state.has_ended:
            with anyio.move_on_after(LAST_WORDS_SECONDS, shield=True):
                await _end_with(state, failed_reply(state, "aborted", ABORTED))
        raise
    except Exception as error:  # noqa: BLE001 - a failure of the loop is a reply that failed
        text = str(error) or type(error).__name__
        await _end_with(state, failed_reply(state, FAILED[state.signal.aborted], text))
    return state.produced


async def _end_with(state: LoopState, reply: AssistantMessage) -> None:
    if state.open_reply is None:
        await state.emit(MessageStart(reply))
    state.open_reply = None
    reply = await state.complete(reply)  # type: ignore[assignment]  # a handler keeps the role
    await state.emit(TurnEnd(reply, [], state.turns))
    await _end(state)


async def _end(state: LoopState) -> None:
    state.has_ended = True
    await state.emit(AgentEnd(list(state.produced)))


async def _run_turns(state: LoopState, prompts: Sequence[Message]) -> None:
    await state.emit(AgentStart())
    await state.emit(TurnStart(state.turns))
    tools = _next_tools(state)
    await _append(state, tools, prompts)
    pending = await state.drain(state.steering)
    decision: Decision | None = None
    is_first = more = True
    while True:
        while more or pending:
            if not is_first:
                pending = pending or await state.drain(state.steering)
                await state.emit(TurnStart(state.turns))
                tools = _next_tools(state)
            is_first = False
            await _append(state, tools, pending)

            was_aborted = state.signal.aborted
            reply = await ask_model(state, _context(state, tools))
            results: list[ToolResultMessage] = []
            if reply.stop_reason in ("error", "aborted"):
                await _finish_turn(state, reply, results)
                return await _end(state)

            outcomes = await _run_calls(state, reply, tools, results)
            more = bool(outcomes) and not votes_to_end(outcomes)
            decision = await _finish_turn(state, reply, results)
            # A model that answers on and on although it was asked to stop would never end.
            if decision == "end" or state.turns == state.max_turns or was_aborted:
                return await _end(state)
            pending = await state.drain(state.steering)
        pending = await state.drain(state.follow_up)
        more = decision == "continue" and not pending
        if not pending and not more:
            return await _end(state)


def _next_tools(state: LoopState) -> Tools:
    """Return the tools of the next request, as they and the loadout hooks want it now."""
    state.host.registry.apply_loadout()
    return state.host.registry.executable


async def _append(state: LoopState, tools: Tools, pending: Sequence[Message]) -> None:
    """Append messages, and before them what has changed for the model since the last request."""
    registry = state.host.registry
    hidden = registry.hidden_declarations
    for message in with_system_changes(
        state.messages,
        list(pending),
        declarations=registry.declarations(tools),
        shown=[tool for name, tool in tools.items() if name not in hidden],
    ):
        await state.add(message)


def _context(state: LoopState, tools: Tools) -> ModelContext:
    """Return the request: the transcript less what is hidden, and the tools that it declares."""
    hidden = state.host.registry.hidden_declarations
    messages = state.request.messages(state.messages, hidden)
    declared = replay_declarations(messages)
    return ModelContext(messages, [declared[name] for name in tools if name in declared])


async def _run_calls(
    state: LoopState, reply: AssistantMessage, tools: Tools, results: list[ToolResultMessage]
) -> list[ToolOutcome]:
    calls = reply.tool_calls
    if not calls:
        return []
    state.caller.turn_index = state.turns

    async def on_result(outcome: ToolOutcome) -> None:
        message = await state.add(outcome.to_message())
        results.append(message)  # type: ignore[arg-type]  # a handler keeps the role

    if reply.stop_reason == "length":
        return await refuse_batch(state.caller, calls, signal=state.signal, on_result=on_result)
    return await run_batch(state.caller, calls, tools, signal=state.signal, on_result=on_result)


async def _finish_turn(
    state: LoopState, reply: AssistantMessage, results: list[ToolResultMessage]
) -> Decision | None:
    decision: Decision | None = None
    if state.finish_turn is not None:
        answer = state.finish_turn(reply, results)
        decision = await answer if inspect.isawaitable(answer) else answer
    await state.emit(TurnEnd(reply, results, state.turns))
    state.turns += 1
    return decision
