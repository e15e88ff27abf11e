"""What a model is sent of a transcript."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence

from pi_kernel.protocol.content import TextContent, ToolCall
from pi_kernel.protocol.messages import (
    AssistantMessage,
    CustomMessage,
    Message,
    ToolResultMessage,
    UserMessage,
)
from pi_kernel.registry.loadout import project_messages

__all__ = ("Request",)

NO_RESULT = "No result provided"


class Request:
    """Makes the messages of one request after another from a growing transcript.

    Results carry only what models read; their short forms are kept, because every later request
    has them again.
    """

    def __init__(self) -> None:
        self._short: dict[int, tuple[ToolResultMessage, ToolResultMessage]] = {}
        """By the id of a result, which is kept too so that the id stays its own."""

    def messages(self, transcript: Sequence[Message], hidden: frozenset[str]) -> list[Message]:
        """Return the messages of one request.

        Replies that failed or were aborted are left out. Each reply's results follow it, in the
        order of its calls; a call without a result gets the error text ``No result provided``.
        Messages of the application become user messages, and declarations of hidden tools are
        filtered.

        Args:
            transcript: Everything so far.
            hidden: Names of tools that the request does not show.

        Source:
            Pi 1.6.0.
        """
        request: list[Message] = []
        rest = deque(transcript)
        while rest:
            message = rest.popleft()
            if not isinstance(message, AssistantMessage):
                request.append(self._for_model(message))
            elif message.stop_reason not in ("error", "aborted"):
                request.append(message)
                if calls := message.tool_calls:
                    request.extend(self._answers(calls, rest))
        return project_messages(request, hidden)

    def _answers(self, calls: list[ToolCall], rest: deque[Message]) -> list[Message]:
        """Take the results of a reply's calls out of what follows, up to the next reply."""
        results: defaultdict[str, deque[ToolResultMessage]] = defaultdict(deque)
        ids = {call.id for call in calls}
        between: list[Message] = []
        found = 0
        while rest and found < len(calls) and not isinstance(rest[0], AssistantMessage):
            message = rest.popleft()
            if isinstance(message, ToolResultMessage) and message.tool_call_id in ids:
                results[message.tool_call_id].append(message)
                found += 1
            else:
                between.append(message)
        rest.extendleft(reversed(between))
        return [self._answer(call, results[call.id]) for call in calls]

    def _answer(self, call: ToolCall, results: deque[ToolResultMessage]) -> Message:
        if results:
            return self._for_model(results.popleft())
        return ToolResultMessage(
            tool_call_id=call.id,
            tool_name=call.name,
            content=[TextContent(NO_RESULT)],
            is_error=True,
        )

    def _for_model(self, message: Message) -> Message:
        if isinstance(message, CustomMessage):
            return UserMessage(content=message.content, timestamp=message.timestamp)
        if not isinstance(message, ToolResultMessage):
            return message
        known = self._short.get(id(message))
        if known is None:
            short = ToolResultMessage(
                tool_call_id=message.tool_call_id,
                tool_name=message.tool_name,
                content=message.content,
                is_error=message.is_error,
                timestamp=message.timestamp,
            )
            known = self._short[id(message)] = (message, short)
        return known[1]
