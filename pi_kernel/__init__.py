"""pi_kernel: an agent's tools as one registry, in notebook cells, scripts and agent loops.

Names load on first use, so that importing the package stays light.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pi_kernel.errors import PiKernelError, ToolAborted, ToolCallError, ToolTimeout
    from pi_kernel.protocol.content import ImageContent, TextContent, ToolCall
    from pi_kernel.protocol.results import ToolResult
    from pi_kernel.protocol.tools import ModelInfo, ToolAnnotations, ToolNamespace
    from pi_kernel.protocol.usage import Usage
    from pi_kernel.registry.context import ToolContext
    from pi_kernel.registry.decorator import define_tool, tool
    from pi_kernel.registry.definition import (
        AgentTool,
        ToolDefinition,
        create_tool_definition_from_agent_tool,
        wrap_tool_definition,
    )
    from pi_kernel.runtime.abort import AbortSignal
    from pi_kernel.runtime.hooks import Block, ResultPatch
    from pi_kernel.runtime.outcome import ToolOutcome
    from pi_kernel.sessions.session import ToolSession
    from pi_kernel.tools import (
        create_all_tools,
        create_coding_tools,
        create_read_only_tools,
        with_file_mutation_queue,
    )

__version__ = "0.1.0"

_HOMES = {
    "pi_kernel.errors": ("PiKernelError", "ToolAborted", "ToolCallError", "ToolTimeout"),
    "pi_kernel.protocol.content": ("ImageContent", "TextContent", "ToolCall"),
    "pi_kernel.protocol.results": ("ToolResult",),
    "pi_kernel.protocol.tools": ("ModelInfo", "ToolAnnotations", "ToolNamespace"),
    "pi_kernel.protocol.usage": ("Usage",),
    "pi_kernel.registry.context": ("ToolContext",),
    "pi_kernel.registry.decorator": ("define_tool", "tool"),
    "pi_kernel.registry.definition": (
        "AgentTool",
        "ToolDefinition",
        "create_tool_definition_from_agent_tool",
        "wrap_tool_definition",
    ),
    "pi_kernel.runtime.abort": ("AbortSignal",),
    "pi_kernel.runtime.hooks": ("Block", "ResultPatch"),
    "pi_kernel.runtime.outcome": ("ToolOutcome",),
    "pi_kernel.sessions.session": ("ToolSession",),
    "pi_kernel.tools": (
        "create_all_tools",
        "create_coding_tools",
        "create_read_only_tools",
        "with_file_mutation_queue",
    ),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}

__all__ = (
    "AbortSignal",
    "AgentTool",
    "Block",
    "ImageContent",
    "ModelInfo",
    "PiKernelError",
    "ResultPatch",
    "TextContent",
    "ToolAborted",
    "ToolAnnotations",
    "ToolCall",
    "ToolCallError",
    "ToolContext",
    "ToolDefinition",
    "ToolNamespace",
    "ToolOutcome",
    "ToolResult",
    "ToolSession",
    "ToolTimeout",
    "Usage",
    "create_all_tools",
    "create_coding_tools",
    "create_read_only_tools",
    "create_tool_definition_from_agent_tool",
    "define_tool",
    "load_ipython_extension",
    "tool",
    "unload_ipython_extension",
    "with_file_mutation_queue",
    "wrap_tool_definition",
)


def load_ipython_extension(shell: Any) -> None:
    """Load into an IPython shell: what ``%load_ext pi_kernel`` calls."""
    importlib.import_module("pi_kernel.notebook.extension").load_ipython_extension(shell)


def unload_ipython_extension(shell: Any) -> None:
    """Take everything back: what ``%unload_ext pi_kernel`` calls."""
    importlib.import_module("pi_kernel.notebook.extension").unload_ipython_extension(shell)


def __getattr__(name: str) -> Any:
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
