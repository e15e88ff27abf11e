"""Another tool system's names for the built-in tools, for models that know those.

An alias is its tool under another name: the call's arguments are translated, the tool runs as
ever, and what its result says about its own parameters is put in the alias's words.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pi_kernel.protocol.content import TextContent
from pi_kernel.protocol.results import ABSENT, ToolResult
from pi_kernel.registry.definition import OnUpdate, ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._factories import ALIASES
from pi_kernel.tools._paths import resolve_to_cwd, working_directory
from pi_kernel.tools.extra._alias_table import ALIAS_TABLE, Alias, Arguments, Reword

__all__ = ("factory_of",)


class _ContextElsewhere:
    """A call's context, or none, with a working directory of its own."""

    def __init__(self, ctx: object, cwd: str) -> None:
        self._ctx = ctx
        self.cwd = cwd

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)


def factory_of(name: str) -> Callable[..., ToolDefinition]:
    """Return what makes the alias; its options are those of the tool that it stands for.

    Raises:
        KeyError: If there is no such alias.
    """
    alias = ALIAS_TABLE[name]
    module = importlib.import_module(f"pi_kernel.tools.{ALIASES[name]}")
    create_original: Callable[..., ToolDefinition] = module.create

    @functools.wraps(create_original)
    def create(cwd: str | os.PathLike[str] | None = None, **options: Any) -> ToolDefinition:
        return _definition(name, alias, create_original(cwd, **options), cwd)

    return create


def _definition(
    name: str, alias: Alias, original: ToolDefinition, cwd: str | os.PathLike[str] | None
) -> ToolDefinition:
    async def execute(
        tool_call_id: str,
        params: Arguments,
        signal: AbortSignal | None = None,
        on_update: OnUpdate | None = None,
        ctx: Any = None,
    ) -> ToolResult | None:
        if alias.has_cwd and params.get("cwd"):
            ctx = _ContextElsewhere(ctx, resolve_to_cwd(params["cwd"], working_directory(ctx, cwd)))
        arguments = alias.translate(params)
        answer = original.execute(tool_call_id, arguments, signal, on_update, ctx)
        result = await answer if inspect.isawaitable(answer) else answer
        return result if result is None or alias.reword is None else _reworded(result, alias.reword)

    def translated(field: str) -> Any:
        """Return the original's function of the arguments as one of the alias's arguments."""
        function: Callable[..., Any] | None = getattr(original, field)
        if function is None:
            return None
        return lambda arguments, *rest: function(alias.translate(arguments), *rest)

    return replace(
        original,
        name=name,
        label=name,
        description=alias.description,
        parameters=alias.parameters,
        execute=execute,
        prompt_snippet=alias.prompt_snippet,
        prompt_guidelines=(),
        prepare_arguments=None,
        render_shell="default",
        render_call=None,
        reaches_tools=translated("reaches_tools"),
        describe=translated("describe"),
        validate_input=translated("validate_input"),
        check_permissions=translated("check_permissions"),
        is_read_only=translated("is_read_only"),
        is_destructive=translated("is_destructive"),
        activity=translated("activity"),
    )


def _reworded(result: ToolResult, reword: Reword) -> ToolResult:
    details = result.details
    if not isinstance(details, Mapping) or not result.content:
        return result  # without details there is no notice
    last = result.content[-1]
    if not isinstance(last, TextContent):
        return result
    text = reword(last.text, details)
    structured = result.structured_content if result.has_structured_content else ABSENT
    return result.replace(
        content=[*result.content[:-1], TextContent(text)],
        structured_content=text if structured == last.text else structured,
    )
