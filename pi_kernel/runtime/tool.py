"""What the runtime needs to know of a tool, and of whoever hosts the calls."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal, Protocol

from pi_kernel.protocol.results import ToolResult

if TYPE_CHECKING:
    from pi_kernel.runtime.call import Call
    from pi_kernel.runtime.events import EventSink
    from pi_kernel.runtime.hooks import Hooks
    from pi_kernel.runtime.queue import ExclusiveQueue
    from pi_kernel.runtime.validation import SchemaValidator

__all__ = ("CallHost", "Tool")


class Tool(Protocol):
    """A tool as the pipeline sees it; `ToolDefinition` is one."""

    @property
    def name(self) -> str: ...  # noqa: D102 - as in ToolDefinition
    @property
    def validator(self) -> SchemaValidator: ...  # noqa: D102
    @property
    def is_async(self) -> bool: ...  # noqa: D102
    @property
    def execute(self) -> Callable[..., Any]: ...  # noqa: D102
    @property
    def plain(self) -> Callable[..., Coroutine[Any, Any, Any]] | None: ...  # noqa: D102
    @property
    def check_arguments(self) -> Callable[..., Any] | None: ...  # noqa: D102
    @property
    def execution_mode(self) -> Literal["sequential", "parallel"] | None: ...  # noqa: D102
    @property
    def prepare_arguments(self) -> Callable[[Any], Any] | None: ...  # noqa: D102
    @property
    def validate_input(self) -> Callable[[dict[str, Any], Any], Any] | None: ...  # noqa: D102
    @property
    def check_permissions(self) -> Callable[[dict[str, Any], Any], Any] | None: ...  # noqa: D102
    @property
    def interrupt_behavior(self) -> Literal["cancel", "block"]: ...  # noqa: D102
    @property
    def max_result_chars(self) -> int | None: ...  # noqa: D102
    @property
    def tool_version(self) -> str: ...  # noqa: D102


class CallHost(Protocol):
    """Where calls are made: it finds tools, keeps the record of calls and tells of events."""

    events: EventSink
    hooks: Hooks
    queue: ExclusiveQueue
    session_id: str
    is_sequential: bool
    """Whether calls run one after another whatever their tools say."""
    calls: list[Call]
    """Every call, in start order."""
    pending: dict[str, Call]
    """A model's calls between their start and end."""

    def find_tool(self, call: Call) -> Tool | None:
        """Return the tool that the call's caller can reach by this name, or None."""

    def context_for(self, call: Call) -> Any:
        """Return what execute gets as ``ctx``."""

    def to_result(self, value: Any) -> ToolResult:
        """Convert what a tool returned."""
        ...

    def bound(self, call: Call, result: ToolResult) -> ToolResult:
        """Cut a result that is too long for a model."""
        ...
