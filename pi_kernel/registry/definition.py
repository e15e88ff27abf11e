"""`ToolDefinition`, what an application says about a tool, and its runtime form `AgentTool`."""

from __future__ import annotations

import hashlib
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import compact_json
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ToolAnnotations, ToolDeclaration, ToolNamespace
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.runtime.execution import run_in_thread

if TYPE_CHECKING:
    from pi_kernel.runtime.validation import SchemaValidator

    cached_property = property  # for the checker both give a value that cannot be set
else:
    from functools import cached_property

__all__ = (
    "AgentTool",
    "Execute",
    "Exposure",
    "ToolDefinition",
    "create_tool_definition_from_agent_tool",
    "wrap_tool_definition",
)

Exposure = Literal["direct", "model-only", "codemode", "deferred", "hidden"]
EXPOSURES: tuple[Exposure, ...] = ("direct", "model-only", "codemode", "deferred", "hidden")

OnUpdate = Callable[[ToolResult], object]
Execute = Callable[
    [str, dict[str, Any], AbortSignal | None, OnUpdate | None, Any],
    "Awaitable[ToolResult | None] | ToolResult | None",
]
"""``execute(tool_call_id, params, signal, on_update, ctx)``.

``params`` are validated and the call's own copy. ``signal`` asks to stop. ``on_update`` takes a
partial `ToolResult`, from any thread, until execute returns; later ones are dropped. ``ctx`` is a
`ToolContext`, or None without a session. A plain function runs in a worker thread.
"""

VERSION_HEX_DIGITS = 12


@dataclass(frozen=True, kw_only=True)
class ToolDefinition:
    """Everything an application says about a tool.

    Raises:
        PiKernelError: If the parameters are not a JSON Schema object or a choice is unknown.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    execute: Execute
    label: str = ""
    """For people; the name when empty."""
    prompt_snippet: str | None = None
    """One line for the prompt's list of tools."""
    prompt_guidelines: Sequence[str] = ()
    """Bullets for the prompt's rules."""
    constrained_sampling: Any = None
    """A hint for providers; arguments are validated all the same."""
    render_shell: Literal["default", "self"] = "default"
    prepare_arguments: Callable[[Any], Any] | None = None
    """A shim for older forms of arguments, run before validation."""
    output_schema: Mapping[str, Any] | None = None
    """JSON Schema of the structured content."""
    exposure: Exposure = "direct"
    namespace: ToolNamespace | None = None
    reaches_tools: Callable[[dict[str, Any]], Literal["all"] | list[str]] | None = None
    """Which other tools a call with these arguments may reach; may name too many."""
    annotations: ToolAnnotations | None = None
    default_active: bool = True
    """False: registering does not activate (for ``direct`` and ``model-only``)."""
    prepare_loadout: Callable[..., Any] | None = None
    """Takes a `ToolLoadout`, returns changed descriptions and hidden declarations, or None."""
    execution_mode: Literal["sequential", "parallel"] | None = None
    render_call: Callable[..., Any] | None = None
    render_result: Callable[..., Any] | None = None
    describe: Callable[[dict[str, Any]], str] | None = None
    """What a call with these arguments does, for people."""
    is_enabled: Callable[[], bool] | None = None
    """Asked before every model request and every look-up; never cached."""
    validate_input: Callable[[dict[str, Any], Any], Any] | None = None
    """A check of meaning after the schema's: None, or a text or exception saying what is wrong."""
    check_permissions: Callable[[dict[str, Any], Any], Any] | None = None
    """None, ``allow``, ``ask``, ``deny`` or a pair with a reason; raising denies."""
    is_read_only: Callable[[dict[str, Any]], bool] | None = None
    is_destructive: Callable[[dict[str, Any]], bool] | None = None
    interrupt_behavior: Literal["cancel", "block"] = "cancel"
    max_result_chars: int | None = None
    """The most characters of text that a model gets; the rest goes to a file. None: no limit."""
    activity: Callable[[dict[str, Any]], str] | None = None
    """What the tool is doing, for people, such as ``Reading src/foo.ts``."""
    function: Callable[..., Any] | None = field(default=None, compare=False)
    """The Python function behind the tool, where there is one."""
    check_arguments: Callable[..., Any] | None = field(default=None, compare=False)
    """A converter's check right after the schema's, of the coerced and the prepared arguments."""
    plain: Callable[..., Coroutine[Any, Any, Any]] | None = field(default=None, compare=False)
    """A shorter way to run a tool that needs its arguments only: an async function of them."""
    returns_json: bool = False
    """Whether scripts should get structured content although there is no output schema."""

    def __post_init__(self) -> None:
        name: Any = self.name
        if not isinstance(name, str) or not name:
            raise PiKernelError(f"a tool's name must be a text that is not empty, got {name!r}")
        if not callable(self.execute):
            raise PiKernelError(f'Tool "{self.name}": execute must be callable')
        parameters: Any = self.parameters
        if not isinstance(parameters, Mapping):
            where = getattr(self.execute, "__module__", None) or "unknown"
            raise PiKernelError(
                f'Tool "{self.name}" registered by extension "{where}"'
                " must define an object parameter schema."
            )
        if self.exposure not in EXPOSURES:
            raise PiKernelError(
                f'Tool "{self.name}": exposure must be one of {", ".join(EXPOSURES)},'
                f" got {self.exposure!r}"
            )
        if self.execution_mode not in (None, "sequential", "parallel"):
            raise PiKernelError(
                f'Tool "{self.name}": execution_mode must be "sequential" or "parallel",'
                f" got {self.execution_mode!r}"
            )
        if self.interrupt_behavior not in ("cancel", "block"):
            raise PiKernelError(
                f'Tool "{self.name}": interrupt_behavior must be "cancel" or "block",'
                f" got {self.interrupt_behavior!r}"
            )
        limit: Any = self.max_result_chars
        if limit is not None and (type(limit) is not int or limit < 0):
            raise PiKernelError(
                f'Tool "{self.name}": max_result_chars must be None or an integer from 0,'
                f" got {limit!r}"
            )
        if not self.label:
            object.__setattr__(self, "label", self.name)
        if self.prompt_snippet is not None:
            snippet = " ".join(self.prompt_snippet.split())
            object.__setattr__(self, "prompt_snippet", snippet or None)
        bullets = dict.fromkeys(text for item in self.prompt_guidelines if (text := item.strip()))
        object.__setattr__(self, "prompt_guidelines", tuple(bullets))

    @cached_property
    def validator(self) -> SchemaValidator:
        """The compiled parameter schema."""
        from pi_kernel.runtime.validation import compile_schema  # noqa: PLC0415 - the schema engine loads on first use

        return compile_schema(self.parameters)

    @cached_property
    def is_async(self) -> bool:
        """Whether execute is a coroutine function; others run in a worker thread."""
        return _is_async(self.execute)

    @cached_property
    def tool_version(self) -> str:
        """12 hex digits over schema, description and, where known, the function's source."""
        source = ""
        function = self.function or self.execute
        try:
            source = inspect.getsource(function)
        except (OSError, TypeError):
            code = getattr(function, "__code__", None)
            source = repr((code.co_code, code.co_consts)) if code is not None else ""
        text = compact_json([self.name, dict(self.parameters), self.description]) + source
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return digest[:VERSION_HEX_DIGITS]

    def declaration(self, description: str | None = None) -> ToolDeclaration:
        """Return what a transcript stores about the tool."""
        return ToolDeclaration(
            name=self.name,
            description=self.description if description is None else description,
            parameters=dict(self.parameters),
            constrained_sampling=self.constrained_sampling,
        )

    def __repr__(self) -> str:
        return f"ToolDefinition({self.name!r}, exposure={self.exposure!r})"


def _is_async(execute: Callable[..., Any]) -> bool:
    return inspect.iscoroutinefunction(execute) or inspect.iscoroutinefunction(
        getattr(execute, "__call__", None)  # noqa: B004 - the method itself is asked
    )


async def _run(execute: Callable[..., Any], *arguments: Any) -> Any:
    """Run an execute of either kind, as the pipeline would."""
    result = execute(*arguments) if _is_async(execute) else await run_in_thread(execute, *arguments)
    return await result if inspect.isawaitable(result) else result


@dataclass(frozen=True, kw_only=True)
class AgentTool:
    """The narrower form that a bare agent runs: no exposure, no prompt texts, ``ctx`` optional."""

    name: str
    label: str
    description: str
    parameters: Mapping[str, Any]
    execute: Callable[..., Any]
    output_schema: Mapping[str, Any] | None = None
    constrained_sampling: Any = None
    prepare_arguments: Callable[[Any], Any] | None = None
    execution_mode: Literal["sequential", "parallel"] | None = None
    replay: Literal["never", "safe"] | None = None
    """Declared recovery policy of an effect whose outcome is unknown; lost by both conversions."""


_SHARED = (
    "name",
    "label",
    "description",
    "parameters",
    "output_schema",
    "constrained_sampling",
    "prepare_arguments",
    "execution_mode",
)


def wrap_tool_definition(
    definition: ToolDefinition,
    context_factory: Callable[[str, AbortSignal | None], Any] | None = None,
) -> AgentTool:
    """Narrow a definition; ``context_factory(tool_call_id, signal)`` serves calls without ctx."""

    async def execute(
        tool_call_id: str,
        params: dict[str, Any],
        signal: AbortSignal | None = None,
        on_update: OnUpdate | None = None,
        ctx: Any = None,
    ) -> Any:
        if ctx is None and context_factory is not None:
            ctx = context_factory(tool_call_id, signal)
        return await _run(definition.execute, tool_call_id, params, signal, on_update, ctx)

    shared = {name: getattr(definition, name) for name in _SHARED}
    return AgentTool(**shared, execute=execute)


def create_tool_definition_from_agent_tool(agent_tool: AgentTool) -> ToolDefinition:
    """Widen an agent tool; every field that it does not have keeps its default."""

    async def execute(
        tool_call_id: str,
        params: dict[str, Any],
        signal: AbortSignal | None,
        on_update: OnUpdate | None,
        ctx: Any,
    ) -> Any:
        return await _run(agent_tool.execute, tool_call_id, params, signal, on_update, ctx)

    shared = {name: getattr(agent_tool, name) for name in _SHARED}
    return ToolDefinition(**shared, execute=execute)
