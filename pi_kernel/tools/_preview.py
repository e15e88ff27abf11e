"""What an edit or a write would change, without changing it."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from pi_kernel.errors import PiKernelError
from pi_kernel.registry.definition import ToolDefinition
from pi_kernel.runtime.arguments import ArgumentsNotJson, to_json_arguments
from pi_kernel.tools._diff import EditDiff, diff_replacements
from pi_kernel.tools._edit_splice import Replacement
from pi_kernel.tools._factories import create_tool_definition
from pi_kernel.tools._mutation_queue import with_file_mutation_queue
from pi_kernel.tools._paths import resolve_to_cwd, working_directory
from pi_kernel.tools._truncate import format_size

if TYPE_CHECKING:
    from pi_kernel.registry.host import ToolHost

__all__ = (
    "MAX_PREVIEW_BYTES",
    "Preview",
    "Previewable",
    "TooMuchToCompareError",
    "check_preview_size",
    "diff_of_texts",
    "preview",
    "preview_call",
    "preview_of",
)

MAX_PREVIEW_BYTES = 64 * 1024 * 1024
"""More text than this is not compared for somebody to look at."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What a call would do to its file. As a text it is the diff, or the problem."""

    path: str | None = None
    """The absolute path of the file; None when the arguments name none."""
    diff: str | None = None
    """Rows of a sign, a line number and a line, for people; empty when nothing would change, None
    when the call would fail."""
    patch: str | None = None
    """The same as a unified diff."""
    first_changed_line: int | None = None
    """Counted from 1, in the new text."""
    new_text: str | None = None
    """The whole text that the file would have."""
    is_new_file: bool = False
    """Whether the call would create the file."""
    problem: str | None = None
    """The text of the error with which the call would fail, as far as that can be foreseen."""

    def __str__(self) -> str:
        return self.diff or self.problem or "Nothing would change."


class TooMuchToCompareError(PiKernelError):
    """A text is too large for a preview; the call itself may be fine."""


@runtime_checkable
class Previewable(Protocol):
    """A tool that can be previewed: an object whose method is the definition's ``execute``."""

    async def preview(self, params: dict[str, Any], ctx: object) -> Preview:
        """Return what a call with validated arguments would do."""
        ...


def check_preview_size(path: str, size_bytes: int) -> None:
    """Refuse to compare what nobody could look at.

    Raises:
        TooMuchToCompareError: If the file is too large.
    """
    if size_bytes > MAX_PREVIEW_BYTES:
        size, limit = format_size(size_bytes), format_size(MAX_PREVIEW_BYTES)
        raise TooMuchToCompareError(f"{path} has {size}, too much to preview (at most {limit})")


def diff_of_texts(old: str, new: str, *, path: str) -> EditDiff | None:
    """Compare a whole text with the one that takes its place; None when they are the same."""
    if old == new:
        return None
    return diff_replacements(old, [Replacement(0, len(old), new)], path=path)


async def preview_of(
    path: str, ctx: object, cwd: str | None, *, look: Callable[[str], Awaitable[Preview]]
) -> Preview:
    """Return what ``look`` gives for the file; what the call itself would raise is the problem.

    It waits for the changes of the file that are queued before it.

    Args:
        path: The path as given.
        ctx: What is known of the call's context.
        cwd: The tool's own directory.
        look: Takes the absolute path.
    """
    absolute = None
    try:
        absolute = resolved = resolve_to_cwd(path, working_directory(ctx, cwd))
        return await with_file_mutation_queue(resolved, lambda: look(resolved))
    except TooMuchToCompareError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever the call would raise
        return Preview(path=absolute, problem=_text_of(error))


async def preview(
    tool: str | ToolDefinition, args: object, *, cwd: str | os.PathLike[str] | None = None
) -> Preview:
    r"""Return what a call of edit or write would change, without changing anything.

    Args:
        tool: ``"edit"``, ``"write"``, or a definition of one of them, whose own operations read.
        args: The arguments as a model gives them.
        cwd: What a relative path refers to; None: the definition's own directory.

    Returns:
        The diff, or the text with which the call would fail.

    Raises:
        PiKernelError: If the tool has no preview, or there is too much text to compare.

    Source:
        Ours.

    Example:
        >>> import asyncio
        >>> print(asyncio.run(preview("write", {"path": "/no/new", "content": "one\n"})))
        +1 one
    """
    definition = create_tool_definition(tool) if isinstance(tool, str) else tool
    return await _preview(definition, args, None if cwd is None else _Place(os.fspath(cwd)))


async def preview_call(host: ToolHost, name: str, args: object) -> Preview:
    """Return what a person's call of a session's tool would change; see `preview`.

    Args:
        host: The session's host.
        name: The name of any tool that the person can call.
        args: The arguments as a model gives them.
    """
    definition = host.registry.get_reachable(name)
    if definition is None:
        return Preview(problem=f"Tool {name} not found")
    return await _preview(definition, args, _Place(host.cwd))


@dataclass(frozen=True)
class _Place:
    """What a preview knows of a call's context."""

    cwd: str


async def _preview(definition: ToolDefinition, args: object, ctx: object) -> Preview:
    tool: object = getattr(definition.execute, "__self__", None)
    if not isinstance(tool, Previewable):
        raise PiKernelError(f"{definition.name} has no preview; edit and write have one")
    try:
        params = _checked(definition, args)
    except ArgumentsNotJson as error:
        return Preview(problem=f'Invalid arguments for tool "{definition.name}": {error}')
    except Exception as error:  # noqa: BLE001 - what a schema or a shim says is the call's result
        return Preview(problem=_text_of(error))
    return await tool.preview(params, ctx)


def _text_of(error: Exception) -> str:
    return str(error) or type(error).__name__


def _checked(definition: ToolDefinition, args: object) -> dict[str, Any]:
    """Return the arguments that execute would get; raise what the call would report."""
    prepared: Any = to_json_arguments(args)
    if definition.prepare_arguments is not None:
        prepared = definition.prepare_arguments(prepared)
    params = definition.validator.check(definition.name, prepared)
    if definition.check_arguments is not None:
        definition.check_arguments(params, prepared)
    return params
