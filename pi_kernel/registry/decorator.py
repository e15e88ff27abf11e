"""`tool` makes a definition from a Python function, `define_tool` from its parts."""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import sys
from collections.abc import Callable, Mapping
from typing import Any, Generic, ParamSpec, TypeVar, overload

from pi_kernel.errors import PiKernelError
from pi_kernel.registry._arguments import Arguments
from pi_kernel.registry._docstring import read_docstring
from pi_kernel.registry._execution import (
    Run,
    make_execute,
    make_plain,
    runs_async,
    with_field_defaults,
)
from pi_kernel.registry._schema import output_schema
from pi_kernel.registry._signature import EMPTY, read_signature
from pi_kernel.registry.definition import ToolDefinition

__all__ = ("FunctionTool", "define_tool", "tool")

P = ParamSpec("P")
R = TypeVar("R")

_FIELDS = tuple(field.name for field in dataclasses.fields(ToolDefinition))
_FROM_THE_FUNCTION = ("parameters", "execute", "function", "check_arguments", "plain")
_OPTIONS = tuple(name for name in _FIELDS if name not in _FROM_THE_FUNCTION)
_REQUIRED = ("name", "description", "parameters", "execute")


@dataclasses.dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class FunctionTool(ToolDefinition, Generic[P, R]):
    """A definition made from a function; calling it calls the function itself, without a pipeline.

    It can be pickled: by name where the module's name still leads to it, else with its function.
    """

    function: Callable[P, R] = dataclasses.field(compare=False)
    arguments: Arguments
    """How the function's parameters are read from JSON."""

    def __post_init__(self) -> None:
        super().__post_init__()
        function = self.function
        for name in ("__doc__", "__module__", "__name__", "__qualname__"):
            value = getattr(function, name, None)
            if isinstance(value, str):
                object.__setattr__(self, name, value)
        object.__setattr__(self, "__wrapped__", function)
        object.__setattr__(self, "__signature__", inspect.signature(function))

    @functools.cached_property
    def _direct(self) -> Callable[P, R]:
        return with_field_defaults(self.function, self.arguments.field_defaults)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        """Call the function."""
        return self._direct(*args, **kwargs)

    def __reduce__(self) -> str | tuple[Any, ...]:
        module = getattr(self.function, "__module__", None) or ""
        name = getattr(self.function, "__qualname__", "")
        if module != "__main__" and getattr(sys.modules.get(module), name, None) is self:
            return name
        return _restore, (self.function, {option: getattr(self, option) for option in _OPTIONS})


def _restore(function: Callable[..., Any], options: dict[str, Any]) -> FunctionTool[..., Any]:
    return tool(function, **options)


@overload
def tool(function: Callable[P, R], /, **options: Any) -> FunctionTool[P, R]: ...
@overload
def tool(
    function: None = None, /, **options: Any
) -> Callable[[Callable[P, R]], FunctionTool[P, R]]: ...
def tool(function: Callable[..., Any] | None = None, /, **options: Any) -> Any:
    """Make a tool from a function: ``@tool``, ``@tool(exposure="codemode")`` or ``tool(function)``.

    Name, schema and descriptions come from the function's name, type hints and docstring (its
    first paragraph, and its parameters in Google, numpy or reST style). A parameter annotated
    `ToolContext` gets the call's context and is not in the schema. A plain function runs in a
    worker thread. The value becomes a result as `to_result` says; ``max_result_chars`` takes the
    place of its limit.

    Args:
        function: The function; without it a decorator is returned.
        options: Fields of `ToolDefinition` that replace what the function says.

    Raises:
        PiKernelError: If an option is unknown or wrong, or a parameter cannot be given as JSON.
    """
    if function is None:
        _check_names(options, _OPTIONS, "tool()")
        return functools.partial(_make, options=options)
    return _make(function, options=options)


def _make(function: Callable[..., Any], *, options: Mapping[str, Any]) -> FunctionTool[..., Any]:
    if isinstance(function, FunctionTool):
        made: FunctionTool[..., Any] = function  # pyright: ignore[reportUnknownVariableType]
        options = {name: getattr(made, name) for name in _OPTIONS} | dict(options)
        function = made.function
    if not callable(function):
        raise PiKernelError(f"tool() takes a function, got {type(function).__name__}")
    name = options.get("name") or _name_of(function)
    where = f'Tool "{name}"'
    _check_names(options, _OPTIONS, where)
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise PiKernelError(f"{where}: the function yields; return a list instead")

    documentation = read_docstring(inspect.getdoc(_inner(function)))
    shape = read_signature(function, tool_name=name)
    arguments = Arguments(shape, documentation.parameters, tool_name=name)
    generated: dict[str, Any] = {
        "name": name,
        "description": documentation.summary,
        "output_schema": output_schema(shape.returns),
        "returns_json": shape.returns is EMPTY or shape.returns not in (str, None, type(None)),
    }
    run = Run(
        function=with_field_defaults(function, arguments.field_defaults),
        is_async=runs_async(function),
        arguments=arguments,
        shape=shape,
        is_bounded=options.get("max_result_chars") is None,
    )
    is_interruptible = options.get("interrupt_behavior", "cancel") == "cancel"
    return FunctionTool(
        **(generated | dict(options)),
        parameters=arguments.schema,
        function=function,
        arguments=arguments,
        check_arguments=arguments.checker(),
        execute=make_execute(run),
        plain=make_plain(run) if is_interruptible else None,
    )


def _name_of(function: Callable[..., Any]) -> str:
    name = getattr(_inner(function), "__name__", "")
    if not name.isidentifier():
        raise PiKernelError(f"{function!r} has no name that a tool could have; give name=...")
    return name


def _inner(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function inside of `functools.partial`, which has no name or docstring."""
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _check_names(options: Mapping[str, Any], known: tuple[str, ...], where: str) -> None:
    """Refuse options that nothing would read."""
    for name in options:
        if name in known:
            continue
        if name in _FROM_THE_FUNCTION:
            raise PiKernelError(
                f"{where}: {name} comes from the function; define_tool() takes it as it is"
            )
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"; did you mean {close[0]}?" if close else f"; there are {', '.join(known)}"
        raise PiKernelError(f"{where} has no option {name!r}{hint}")


def define_tool(**fields: Any) -> ToolDefinition:
    """Make a tool from its parts: `ToolDefinition` with a clear error for a wrong or missing one.

    Args:
        fields: ``name``, ``description``, ``parameters`` (a JSON Schema object), ``execute``, and
            any other field of `ToolDefinition`.

    Raises:
        PiKernelError: If a field is unknown, missing or wrong.
    """
    where = f'Tool "{fields["name"]}"' if fields.get("name") else "define_tool()"
    _check_names(fields, _FIELDS, where)
    missing = [name for name in _REQUIRED if name not in fields]
    if missing:
        raise PiKernelError(f"{where} needs {', '.join(missing)}")
    return ToolDefinition(**fields)
