"""From a Python function to a tool's ``execute``: arguments in, a result out."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic.fields import FieldInfo

from pi_kernel.protocol.results import ToolResult
from pi_kernel.registry._arguments import Arguments
from pi_kernel.registry._signature import EMPTY, FunctionShape
from pi_kernel.registry.definition import Execute
from pi_kernel.registry.values import to_result
from pi_kernel.runtime.execution import run_in_thread

__all__ = ("Run", "make_execute", "make_plain", "runs_async", "with_field_defaults")


def runs_async(function: Callable[..., Any]) -> bool:
    """Whether calling the function gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - the method itself is asked
    )


def with_field_defaults(
    function: Callable[..., Any], defaults: Mapping[str, FieldInfo]
) -> Callable[..., Any]:
    """Return the function, made to take its defaults from ``Field(...)`` where one is given."""
    if not defaults:
        return function
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind_partial(*args, **kwargs)
        for name, field in defaults.items():
            if name in bound.arguments:
                continue
            if field.is_required():
                raise TypeError(f"{call.__name__}() missing 1 required argument: {name!r}")
            bound.arguments[name] = field.get_default(call_default_factory=True)
        return function(*bound.args, **bound.kwargs)

    return call


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """What there is to know about running a function."""

    function: Callable[..., Any]
    is_async: bool
    arguments: Arguments
    shape: FunctionShape
    is_bounded: bool
    """Whether its texts are cut to the common limit."""

    @property
    def is_simple(self) -> bool:
        """Whether it is awaited with the validated arguments as they are, and nothing else."""
        shape = self.shape
        has_more = self.arguments.is_converting or shape.context_names or shape.positional_names
        return self.is_async and self.is_bounded and not has_more


def make_plain(run: Run) -> Callable[..., Coroutine[Any, Any, Any]] | None:
    """Return the shorter way to run a simple function, None for others."""
    return run.function if run.is_simple else None


def make_execute(run: Run) -> Execute:
    """Return the ``execute`` of a function.

    An async function is awaited where the call runs; another one runs in a worker thread, where
    its value is converted too. A thread whose call is cancelled is left to end by itself.
    """
    function, is_bounded = run.function, run.is_bounded
    bind = _binder(run)

    async def execute(
        tool_call_id: str,
        params: dict[str, Any],
        signal: object,
        on_update: object,
        ctx: object,
    ) -> ToolResult:
        del tool_call_id, signal, on_update
        positional, named = bind(params, ctx)
        return to_result(await function(*positional, **named), is_bounded=is_bounded)

    def work(positional: Sequence[Any], named: dict[str, Any]) -> ToolResult | Awaitable[Any]:
        value = function(*positional, **named)
        return value if inspect.isawaitable(value) else to_result(value, is_bounded=is_bounded)

    async def execute_in_thread(
        tool_call_id: str,
        params: dict[str, Any],
        signal: object,
        on_update: object,
        ctx: object,
    ) -> ToolResult:
        del tool_call_id, signal, on_update
        result = await run_in_thread(work, *bind(params, ctx))
        if isinstance(result, ToolResult):
            return result
        return to_result(await result, is_bounded=is_bounded)

    return execute if run.is_async else execute_in_thread


Bind = Callable[[dict[str, Any], object], tuple[Sequence[Any], dict[str, Any]]]


def _binder(run: Run) -> Bind:
    """Return what turns validated arguments and the context into a call's arguments."""
    if run.is_simple:
        return lambda params, _: ((), params)
    arguments, shape = run.arguments, run.shape
    signature = inspect.signature(run.function) if shape.positional_names else None

    def bind(params: dict[str, Any], ctx: object) -> tuple[Sequence[Any], dict[str, Any]]:
        named = arguments.convert(params) if arguments.is_converting else dict(params)
        for name in shape.context_names:
            named[name] = ctx
        positional: list[Any] = []
        if signature is not None:
            for name in shape.positional_names:
                value = named.pop(name, signature.parameters[name].default)
                if value is EMPTY:
                    break  # the call itself says best what is missing
                positional.append(value)
        return positional, named

    return bind
