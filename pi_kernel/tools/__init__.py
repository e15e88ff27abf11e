"""The built-in tools, made by name, and what tools of your own can share with them.

Importing this package imports no tool: each one's module is loaded when it is first made.
"""

from __future__ import annotations

from pi_kernel.tools._factories import (
    ALIASES,
    ALL_TOOLS,
    CODING_TOOLS,
    EXTRA_TOOLS,
    READ_ONLY_TOOLS,
    ToolFactory,
    create_all_tools,
    create_coding_tools,
    create_read_only_tools,
    create_tool_definition,
    register_factory,
)
from pi_kernel.tools._mutation_queue import with_file_mutation_queue
from pi_kernel.tools._preview import Preview, preview, preview_call
from pi_kernel.tools._truncate import (
    DEFAULT_MAX_BYTES,
    DEFAULT_MAX_LINES,
    GREP_MAX_LINE_LENGTH,
    Truncation,
    format_size,
    truncate_head,
    truncate_line,
    truncate_tail,
)
from pi_kernel.tools._undo import undo

__all__ = (
    "ALIASES",
    "ALL_TOOLS",
    "CODING_TOOLS",
    "DEFAULT_MAX_BYTES",
    "DEFAULT_MAX_LINES",
    "EXTRA_TOOLS",
    "GREP_MAX_LINE_LENGTH",
    "READ_ONLY_TOOLS",
    "Preview",
    "ToolFactory",
    "Truncation",
    "create_all_tools",
    "create_coding_tools",
    "create_read_only_tools",
    "create_tool_definition",
    "format_size",
    "preview",
    "preview_call",
    "register_factory",
    "truncate_head",
    "truncate_line",
    "truncate_tail",
    "undo",
    "with_file_mutation_queue",
)
