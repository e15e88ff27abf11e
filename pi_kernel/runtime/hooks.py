"""The two hook points of a call, and how their answers merge."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.results import ABSENT, ToolResult, content_blocks
from pi_kernel.protocol.usage import Usage, as_usage
from pi_kernel.runtime._failures import is_stop, message_of
from pi_kernel.runtime.abort import AbortSignal

if TYPE_CHECKING:
    from pi_kernel.runtime.call import Call
    from pi_kernel.runtime.events import EventSink

__all__ = (
    "Block",
    "Hooks",
    "ResultPatch",
    "ToolCallEvent",
    "ToolResultEvent",
    "merge_patch",
)

FAILED_HANDLER = "Extension failed, blocking execution"
BLOCK_KEYS = frozenset({"block", "reason", "terminate"})
PATCH_KEYS = frozenset(
    {"content", "details", "structured_content", "is_error", "usage", "terminate"}
)


@dataclass(frozen=True, slots=True)
class Block:
    """A before hook's refusal of one call.

    Args:
        reason: The text that the model reads; empty or None gives the default text.
        terminate: A vote to end the agent's run after this batch.
    """

    reason: str | None = None
    terminate: bool = False


@dataclass(frozen=True, slots=True)
class ResultPatch:
    """What an after hook changes; a field that is None stays as it is.

    New ``content`` drops structured content unless that is given too. There is no deep merge.
    """

    content: Any = None
    details: Any = None
    structured_content: Any = None
    is_error: bool | None = None
    usage: Usage | None = None
    terminate: bool | None = None


class _HookEvent:
    """A view of a call: what both hook points are told."""

    type = ""
    __slots__ = ("_call", "input")

    def __init__(self, call: Call) -> None:
        self._call = call
        self.input: dict[str, Any] = call.args
        """The validated arguments: the very object that execute gets, to be edited in place."""

    @property
    def tool_name(self) -> str:
        """The name as called."""
        return self._call.name

    @property
    def tool_call_id(self) -> str:
        """The id of the call."""
        return self._call.id

    @property
    def parent_tool_call_id(self) -> str | None:
        """The id of the calling tool call or cell."""
        return self._call.parent_id

    @property
    def signal(self) -> AbortSignal:
        """The signal that asks the call to stop."""
        return self._call.signal

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self._call.host.session_id

    @property
    def turn_id(self) -> str | None:
        """The entry id of the assistant message; None outside a turn."""
        return self._call.root.turn_id

    @property
    def turn_index(self) -> int | None:
        """The number of the turn; None outside one."""
        return self._call.root.turn_index

    @property
    def cell_id(self) -> str | None:
        """The notebook cell, where the front end tells one."""
        return self._call.root.cell_id

    def _facts(self) -> dict[str, Any]:
        facts = {
            "type": self.type,
            "toolName": self.tool_name,
            "toolCallId": self.tool_call_id,
            "parentToolCallId": self.parent_tool_call_id,
            "input": self.input,
            "sessionId": self.session_id,
            "turnId": self.turn_id,
            "turnIndex": self.turn_index,
            "cellId": self.cell_id,
        }
        return {key: value for key, value in facts.items() if value is not None}

    def to_wire(self) -> dict[str, Any]:
        """Return plain JSON with camelCase keys; absent fields have no key."""
        return self._facts()

    def __repr__(self) -> str:
        return f"<{self.type} {self.tool_name} {self.tool_call_id}>"


class ToolCallEvent(_HookEvent):
    """Asked before a call runs.

    A handler returns None, ``Block(...)`` or a dict with ``block``, ``reason``, ``terminate``.
    Arguments are changed in place only.
    """

    type = "tool_call"
    __slots__ = ()


class ToolResultEvent(_HookEvent):
    """Asked after a call ran, with the result as earlier handlers left it.

    A handler returns None, ``ResultPatch(...)`` or a dict with any of ``content``, ``details``,
    ``structured_content``, ``is_error``, ``usage``.
    """

    type = "tool_result"
    __slots__ = ("is_error", "result")

    def __init__(self, call: Call, result: ToolResult, *, is_error: bool) -> None:
        self._call = call
        self.input = call.args
        self.result = result
        self.is_error = is_error

    @property
    def content(self) -> list[Any]:
        """The blocks that the model will see."""
        return self.result.content

    @property
    def details(self) -> Any:
        """Data for people and logs, or None."""
        return self.result.details

    @property
    def structured_content(self) -> Any:
        """The value for programs, or None."""
        return self.result.structured_content

    @property
    def usage(self) -> Usage | None:
        """Model work that the tool itself did."""
        return self.result.usage

    def to_wire(self) -> dict[str, Any]:
        """Return plain JSON with camelCase keys; absent fields have no key."""
        return self._facts() | self.result.to_wire() | {"isError": self.is_error}


class Hooks:
    """Runs the ``tool_call`` and ``tool_result`` handlers of a sink for one call.

    The defaults are opposite on purpose: a ``tool_call`` handler that raises blocks the call, a
    ``tool_result`` handler that raises is reported and skipped.
    """

    def __init__(self, events: EventSink) -> None:
        self._events = events

    async def before_tool_call(self, call: Call) -> Block | None:
        """Ask the handlers in order; the first block wins, in-place edits of the input add up.

        A handler that raises blocks the call with its text.
        """
        event = ToolCallEvent(call)
        for handler in tuple(self._events.handlers_of("tool_call")):
            try:
                answer = handler(event)
                if answer is not None and hasattr(answer, "__await__"):
                    call.watch()
                    answer = await answer
            except BaseException as error:
                if is_stop(error):
                    raise
                call.error = error
                return Block(_blocking_text(error))
            if event.input is not call.args:
                self._report_ignored("input was replaced; edit it in place")
                event.input = call.args
            blocked = None if answer is None else self._read_block(answer)
            if blocked is not None:
                return blocked
        return None

    def _read_block(self, answer: Any) -> Block | None:
        if isinstance(answer, Mapping):
            if answer and not BLOCK_KEYS & set(answer):
                names = ", ".join(sorted(map(str, answer)))
                self._report_ignored(f"the answer has none of block, reason, terminate: {names}")
            if not answer.get("block"):
                return None
            answer = Block(answer.get("reason"), answer.get("terminate") is True)
        if not isinstance(answer, Block):
            kind = type(answer).__name__
            self._report_ignored(f"expected None, Block(...) or a dict, got {kind}")
            return None
        reason: Any = answer.reason
        if reason is None or isinstance(reason, str):
            return answer
        return Block(str(reason), answer.terminate)

    def _report_ignored(self, problem: str) -> None:
        self._events.report("tool_call", PiKernelError(f"{problem}; ignored"))

    async def after_tool_call(
        self, call: Call, result: ToolResult, *, is_error: bool
    ) -> tuple[ToolResult, bool]:
        """Let the handlers change the result, each seeing what the earlier ones left."""
        event = ToolResultEvent(call, result, is_error=is_error)
        for handler in tuple(self._events.handlers_of("tool_result")):
            try:
                answer = handler(event)
                if answer is None:
                    continue
                if hasattr(answer, "__await__"):
                    call.watch()
                    answer = await answer
                if answer is not None:
                    result, is_error = merge_patch(result, answer, is_error=is_error)
            except BaseException as error:
                if is_stop(error):
                    raise
                self._events.report("tool_result", error)
            event.result, event.is_error = result, is_error
        return result, is_error


def _blocking_text(error: BaseException) -> str:
    text = message_of(error)
    return text if isinstance(error, Exception) else f"{FAILED_HANDLER}: {text}"


def merge_patch(result: ToolResult, answer: Any, *, is_error: bool) -> tuple[ToolResult, bool]:
    """Apply one after hook's answer.

    Raises:
        PiKernelError: If the answer is not a patch; nothing of it is applied.
    """
    if isinstance(answer, Mapping):
        unknown = set(answer) - PATCH_KEYS
        if unknown and not set(answer) & PATCH_KEYS:
            names = ", ".join(sorted(map(str, unknown)))
            raise PiKernelError(f"no such field of a result: {names}; the answer was ignored")
        answer = ResultPatch(**{key: answer[key] for key in PATCH_KEYS & set(answer)})
    if not isinstance(answer, ResultPatch):
        raise PiKernelError(
            f"expected None, ResultPatch(...) or a dict, got {type(answer).__name__}; ignored"
        )
    if answer.is_error is not None and not isinstance(answer.is_error, bool):
        raise PiKernelError("is_error must be True or False; the answer was ignored")
    if answer.terminate is not None and not isinstance(answer.terminate, bool):
        raise PiKernelError("terminate must be True or False; the answer was ignored")
    changed = result.replace(
        content=None if answer.content is None else content_blocks(answer.content),
        details=answer.details,
        structured_content=ABSENT
        if answer.structured_content is None
        else answer.structured_content,
        usage=None if answer.usage is None else as_usage(answer.usage),
        terminate=answer.terminate,
    ).check()
    return changed, is_error if answer.is_error is None else answer.is_error
