"""The built-in tools, made by name, and what tools of your own can share with them.

Importing this package imports no tool: each one's module is loaded when it is first made.
"""

from __future__ import annotations

from pi_kernel.tools._factories import (
    ALL_TOOLS,
    CODING_TOOLS,
    READ_ONLY_TOOLS,
    ToolFactory,
    create_all_tools,
    create_coding_tools,
    create_read_only_tools,
    create_tool_definition,
    register_factory,
)
from pi_kernel.tools._mutation_queue import with_file_mutation_queue
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

__all__ = (
    "ALL_TOOLS",
    "CODING_TOOLS",
    "DEFAULT_MAX_BYTES",
    "DEFAULT_MAX_LINES",
    "GREP_MAX_LINE_LENGTH",
    "READ_ONLY_TOOLS",
    "ToolFactory",
    "Truncation",
    "create_all_tools",
    "create_coding_tools",
    "create_read_only_tools",
    "create_tool_definition",
    "format_size",
    "register_factory",
    "truncate_head",
    "truncate_line",
    "truncate_tail",
    "with_file_mutation_queue",
)
