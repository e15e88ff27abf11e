"""A function's parameters with their annotations resolved, and where it wants the context."""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from pi_kernel.errors import PiKernelError

__all__ = ("EMPTY", "FunctionShape", "Parameter", "read_signature")

EMPTY: Any = inspect.Parameter.empty
"""What an annotation or a default is when there is none."""

_CONTEXT_NAME = re.compile(
    r"(None\s*\|\s*)?(Optional\[)?([A-Za-z_]\w*\.)*ToolContext(\])?(\s*\|\s*None)?"
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter that the model fills."""

    name: str
    annotation: Any
    default: Any
    is_positional: bool
    """Whether it cannot be given by name."""


@dataclass(frozen=True, slots=True)
class FunctionShape:
    """What a function takes and gives back."""

    parameters: tuple[Parameter, ...]
    context_names: tuple[str, ...]
    positional_names: tuple[str, ...]
    """Every parameter that cannot be given by name, the context's too, in order."""
    extras: Any
    """The annotation of ``**kwargs``, or None when there is no such parameter."""
    returns: Any
    """The return annotation; `EMPTY` when it is absent or cannot be resolved."""


def read_signature(function: Callable[..., Any], *, tool_name: str) -> FunctionShape:
    """Read a function's parameters.

    Raises:
        PiKernelError: If the function takes ``*args``, is a method that lacks its object, or has an
            annotation that cannot be resolved.
    """
    try:
        signature = inspect.signature(function)
    except (NameError, TypeError, ValueError) as error:
        text = f'Tool "{tool_name}": the parameters of {function!r} cannot be read: {error}'
        raise PiKernelError(text) from error
    resolve = _Resolver(function)
    parameters: list[Parameter] = []
    context_names: list[str] = []
    positional_names: list[str] = []
    extras: Any = None
    for position, (name, parameter) in enumerate(signature.parameters.items()):
        if position == 0 and name == "self" and resolve.is_method_without_object():
            raise PiKernelError(
                f'Tool "{tool_name}": {function.__qualname__} is a method;'
                " make the tool from a bound one, as in tool(some_object.method)"
            )
        if parameter.kind is parameter.VAR_POSITIONAL:
            raise PiKernelError(
                f'Tool "{tool_name}": *{name} has no name in a JSON object;'
                f" take a list instead, as in {name}: list[str]"
            )
        annotation = resolve.annotation(parameter.annotation, name, tool_name=tool_name)
        if parameter.kind is parameter.VAR_KEYWORD:
            extras = Any if annotation is EMPTY else annotation
            continue
        is_positional = parameter.kind is parameter.POSITIONAL_ONLY
        if is_positional:
            positional_names.append(name)
        if _wants_context(annotation):
            context_names.append(name)
        else:
            given = Any if annotation is EMPTY else annotation
            parameters.append(Parameter(name, given, parameter.default, is_positional))
    return FunctionShape(
        parameters=tuple(parameters),
        context_names=tuple(context_names),
        positional_names=tuple(positional_names),
        extras=extras,
        returns=resolve.returns(signature.return_annotation),
    )


class ContextByName:
    """Stands for `ToolContext` where an annotation names it but cannot be resolved."""


def _wants_context(annotation: Any) -> bool:
    origin = get_origin(annotation)
    if origin is Annotated:
        return _wants_context(get_args(annotation)[0])
    if origin in (Union, UnionType):
        return any(_wants_context(member) for member in get_args(annotation))
    if not isinstance(annotation, type):
        return False
    return annotation is ContextByName or any(
        base.__name__ == "ToolContext" and base.__module__.startswith("pi_kernel.")
        for base in annotation.__mro__
    )


class _Resolver:
    """Evaluates annotations that are text, as the function's own module would."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = _plain_function(function)
        self._globals: dict[str, Any] = getattr(self._function, "__globals__", {})

    def is_method_without_object(self) -> bool:
        """Whether the function was defined in a class body."""
        outer = getattr(self._function, "__qualname__", "").rpartition(".")[0]
        return bool(outer) and not outer.endswith("<locals>")

    @functools.cached_property
    def _locals(self) -> dict[str, Any]:
        """Names of the function that defines this one, for classes that are local to it."""
        names: dict[str, Any] = {}
        outer, _, _ = getattr(self._function, "__qualname__", "").rpartition(".<locals>.")
        frame: FrameType | None = inspect.currentframe() if outer else None
        while frame is not None:
            if frame.f_globals is self._globals and frame.f_code.co_qualname == outer:
                names |= frame.f_locals
                break
            frame = frame.f_back
        code = getattr(self._function, "__code__", None)
        cells = getattr(self._function, "__closure__", None) or ()
        for name, cell in zip(code.co_freevars if code is not None else (), cells, strict=False):
            try:
                names[name] = cell.cell_contents
            except ValueError:  # not assigned yet: the function names itself, for one
                continue
        return names

    def _evaluate(self, annotation: Any) -> Any:
        if _is_resolved(annotation):
            return annotation

        def holder() -> None:
            """Carry one annotation, so that a failure is that parameter's."""

        holder.__annotations__ = {"it": annotation}
        hints: Mapping[str, Any] = get_type_hints(
            holder, self._globals, self._locals, include_extras=True
        )
        return hints["it"]

    def annotation(self, annotation: Any, name: str, *, tool_name: str) -> Any:
        """Return the resolved annotation of a parameter."""
        if annotation is EMPTY:
            return EMPTY
        try:
            return self._evaluate(annotation)
        except Exception as error:
            if isinstance(annotation, str) and _CONTEXT_NAME.fullmatch(annotation.strip("'\" ")):
                return ContextByName
            raise PiKernelError(
                f'Tool "{tool_name}": the annotation {annotation!r} of parameter "{name}"'
                f" cannot be resolved: {error}"
            ) from error

    def returns(self, annotation: Any) -> Any:
        """Return the resolved return annotation, `EMPTY` when that fails."""
        if annotation is EMPTY:
            return EMPTY
        try:
            return self._evaluate(annotation)
        except Exception:  # noqa: BLE001 - it only makes an output schema; types may be for checkers
            return EMPTY


def _is_resolved(annotation: Any) -> bool:
    """Whether an annotation is a plain class, which nothing needs to be looked up for."""
    return isinstance(annotation, type) and get_origin(annotation) is None


def _plain_function(function: Any) -> Any:
    """Return the function whose module and scope the annotations were written in."""
    while True:
        if isinstance(function, functools.partial):
            function = function.func
        elif hasattr(function, "__wrapped__"):
            function = function.__wrapped__
        elif inspect.ismethod(function):
            function = function.__func__
        elif inspect.isclass(function):
            return getattr(function, "__init__", None)
        elif not hasattr(function, "__code__"):
            call = type(function).__call__
            return call if hasattr(call, "__code__") else function
        else:
            return function
