"""`ToolsNamespace`: tools as attributes, ``await tools.read(path="notes.md")``."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import Callable, Coroutine, Generator, Iterator, Mapping
from typing import Any, Protocol

from pi_kernel.errors import PiKernelError, ToolCallError
from pi_kernel.protocol.results import error_result
from pi_kernel.registry._help import help_text, signature_of
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.registry.identifiers import MAX_LISTED, identifiers, missing_text, resolve_name
from pi_kernel.runtime.call import Call, Caller
from pi_kernel.runtime.nested import open_nested_call, run_opened_call
from pi_kernel.runtime.outcome import ToolOutcome
from pi_kernel.runtime.pipeline import OPERATION_ABORTED

__all__ = ("BoundTool", "StartedCall", "ToolsNamespace", "bound_tool", "value_or_raise")

INDEX_ONLY_PREFIX = "__"
"""Python asks objects for such names; tools must not answer."""
OWN_PREFIX = "_ToolsNamespace__"

_started: set[asyncio.Task[Any]] = set()
"""The loop holds its tasks weakly; a call that nobody awaits must run on."""


def value_or_raise(outcome: ToolOutcome, tool: ToolDefinition | None) -> Any:
    """Return what a call resolves to.

    A tool that declares an output schema resolves to its structured content, also when the result
    is an error, because the content says what went wrong (bash's exit code). Any other error
    raises.

    Raises:
        ToolCallError: With the text that a model would read.
    """
    if not outcome.is_error:
        return outcome.value
    if tool is not None and tool.output_schema is not None and outcome.has_structured_content:
        return outcome.structured_content
    raise ToolCallError(
        outcome.text or f'Tool "{outcome.tool_name}" failed',
        tool_name=outcome.tool_name,
        tool_call_id=outcome.id,
        outcome=outcome,
    )


class StartedCall(asyncio.Task[Any], Coroutine[Any, Any, Any]):
    """The task of a started call, which counts as a coroutine too.

    ``asyncio.create_task`` and ``TaskGroup.create_task`` take coroutines only; with one of these
    they wait for the call that has started already. As with any coroutine, ``asyncio.wait`` wants
    a task made of it first.
    """

    __name__ = "started_call"  # shown in the repr of a task made of it
    _steps: Generator[Any, None, Any] | None = None

    def send(self, value: Any) -> Any:
        """Go on waiting for the call."""
        if self._steps is None:
            self._steps = self.__await__()
        return self._steps.send(value)

    def throw(self, *error: Any) -> Any:
        """Stop waiting, with an error."""
        if self._steps is None:
            self._steps = self.__await__()
        return self._steps.throw(*error)

    def close(self) -> None:
        """Stop waiting; the call runs on."""
        if self._steps is not None:
            self._steps.close()


class BoundTool(Protocol):
    """One tool as a function: keyword arguments, or one mapping; awaiting it gives the value."""

    definition: ToolDefinition

    def __call__(self, *args: Any, **kwargs: Any) -> StartedCall:
        """Start the call at once.

        Returns:
            A task: awaiting it gives the value or raises `ToolCallError`. It counts as a coroutine
            too, so that it can be given to ``asyncio.create_task`` and to task groups.

        Raises:
            TypeError: If arguments are given in any other form than keywords or one mapping.
            PiKernelError: If no event loop is running here.
        """
        ...


def bound_tool(caller: Callable[[], Caller], definition: ToolDefinition) -> BoundTool:
    """Return a tool as a plain function, which completion and help show without any of ours."""
    name = definition.name

    def call(*args: Any, **kwargs: Any) -> StartedCall:
        if len(args) > 1 or (args and kwargs):
            raise TypeError(
                f"tools.{name}() takes keyword arguments or one mapping, not both or several"
            )
        if args and not isinstance(args[0], Mapping):
            raise TypeError(
                f"tools.{name}() takes keyword arguments or one mapping,"
                f" got {type(args[0]).__name__}"
            )
        return _start(caller, definition, dict(args[0]) if args else kwargs)

    function: Any = call
    function.definition = definition
    function.__name__ = name
    function.__qualname__ = f"tools.{name}"
    function.__module__ = "pi_kernel"
    function.__doc__ = help_text(definition)
    function.__signature__ = signature_of(definition)
    function.__wrapped__ = definition.function or definition.execute  # the source to show
    return function  # type: ignore[no-any-return]  # made above


def _start(
    caller: Callable[[], Caller], definition: ToolDefinition, arguments: dict[Any, Any]
) -> StartedCall:
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        raise PiKernelError(
            f"tools.{definition.name}() needs a running event loop; without one use"
            " session.run(session.execute_tool(...))"
        ) from None
    # Opened now, so that ids follow the order in which calls are made, not that of their tasks.
    call = open_nested_call(caller(), definition.name, arguments)
    task = StartedCall(_value_of(call, definition), loop=loop)
    _started.add(task)
    task.add_done_callback(functools.partial(_settle, call))
    return task


async def _value_of(call: Call, definition: ToolDefinition) -> Any:
    return value_or_raise(await run_opened_call(call), definition)


def _settle(call: Call, task: asyncio.Task[Any]) -> None:
    """Look at a failure, so that one nobody awaits is not reported as never retrieved."""
    _started.discard(task)
    if call.status is None:  # cancelled before its task had begun
        call.finish("aborted", error_result(OPERATION_ABORTED), is_error=True)
    if not task.cancelled():
        task.exception()


class ToolsNamespace:
    """The tools that a caller can reach, by identifier or raw name.

    ``dir()`` and completion list them; ``tools["raw name"]`` reaches names that are no identifiers.

    Args:
        caller: Returns who makes the calls.
        reach: Returns the tools, by name; asked at each access.
        hint: How to find tools, said about a name that does not exist.
    """

    # Names in two underscores, which Python rewrites: any other name may be a tool's.
    def __init__(
        self,
        caller: Callable[[], Caller],
        reach: Callable[[], Mapping[str, ToolDefinition]],
        hint: str = "",
    ) -> None:
        self.__caller = caller
        self.__reach = reach
        self.__hint = hint
        self.__bound: dict[str, BoundTool] = {}

    def __bind(self, definition: ToolDefinition) -> BoundTool:
        bound = self.__bound.get(definition.name)
        if bound is None or bound.definition is not definition:
            bound = self.__bound[definition.name] = bound_tool(self.__caller, definition)
        return bound

    def __getattr__(self, key: str) -> BoundTool:
        if key.startswith((INDEX_ONLY_PREFIX, OWN_PREFIX)):
            raise AttributeError(key)
        tools = self.__reach()
        name = resolve_name(key, tools)
        if name is None:
            raise AttributeError(missing_text(key, tools, self.__hint), name=key, obj=self)
        return self.__bind(tools[name])

    def __setattr__(self, key: str, value: Any) -> None:
        if not key.startswith(OWN_PREFIX):
            raise AttributeError(
                f"tools.{key} cannot be set; make a tool of a function with @ctx.tool or"
                " session.register(...)",
                name=key,
                obj=self,
            )
        super().__setattr__(key, value)

    def __getitem__(self, key: str) -> BoundTool:
        tools = self.__reach()
        name = key if key in tools else resolve_name(key, tools)
        if name is None:
            raise KeyError(missing_text(key, tools, self.__hint))
        return self.__bind(tools[name])

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and resolve_name(key, self.__reach()) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.__reach())

    def __len__(self) -> int:
        return len(self.__reach())

    def __dir__(self) -> list[str]:
        return [n for n in identifiers(self.__reach()) if not n.startswith(INDEX_ONLY_PREFIX)]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.__reach())

    def __repr__(self) -> str:
        names = list(identifiers(self.__reach()))
        more = ", ..." if len(names) > MAX_LISTED else ""
        noun = "tool" if len(self) == 1 else "tools"
        return f"<{len(self)} {noun}: {', '.join(names[:MAX_LISTED])}{more}>"
