"""What a model is sent of a transcript."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence

from pi_kernel.protocol.content import TextContent, ToolCall
from pi_kernel.protocol.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    ToolResultMessage,
    UserMessage,
)
from pi_kernel.registry.loadout import project_messages

__all__ = ("request_messages",)

NO_RESULT = "No result provided"


def request_messages(messages: Sequence[Message], hidden: frozenset[str]) -> list[Message]:
    """Return the messages of one request.

    Replies that failed or were aborted are left out. Each reply's results follow it, in the order
    of its calls; a call without a result gets the error text ``No result provided``. Results carry
    only what models read. Messages of the application become user messages, and declarations of
    hidden tools are filtered.

    Args:
        messages: The transcript.
        hidden: Names of tools that the request does not show.

    Source:
        Pi 1.6.0.
    """
    kept = [
        m
        for m in messages
        if not (isinstance(m, AssistantMessage) and m.stop_reason in ("error", "aborted"))
    ]
    request: list[Message] = []
    start = 0
    for index, message in enumerate(kept):
        if isinstance(message, AssistantMessage):
            request.extend(_section(kept[start:index]))
            start = index
    request.extend(_section(kept[start:]))
    return project_messages(request, hidden)


def _section(messages: Sequence[Message]) -> Iterator[Message]:
    """Give one reply, its results, and what follows up to the next reply."""
    if not messages:
        return
    first, *rest = messages
    calls = first.tool_calls if isinstance(first, AssistantMessage) else []
    results: defaultdict[str, deque[ToolResultMessage]] = defaultdict(deque)
    for message in rest if calls else ():
        if isinstance(message, ToolResultMessage):
            results[message.tool_call_id].append(message)
    answers = [_answer(call, results[call.id]) for call in calls]
    placed = {id(answer) for answer in answers}
    yield _for_model(first)
    for answer in answers:
        yield _for_model(answer)
    for message in rest:
        if id(message) not in placed:
            yield _for_model(message)


def _answer(call: ToolCall, results: deque[ToolResultMessage]) -> ToolResultMessage:
    if results:
        return results.popleft()
    return ToolResultMessage(
        tool_call_id=call.id,
        tool_name=call.name,
        content=[TextContent(NO_RESULT)],
        is_error=True,
    )


def _for_model(message: Message) -> Message:
    if isinstance(message, CustomMessage):
        return UserMessage(content=message.content, timestamp=message.timestamp)
    if isinstance(message, ToolResultMessage):
        return ToolResultMessage(
            tool_call_id=message.tool_call_id,
            tool_name=message.tool_name,
            content=message.content,
            is_error=message.is_error,
            timestamp=message.timestamp,
        )
    return message
