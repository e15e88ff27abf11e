"""More tools, made on request: another published system's own tools and its names for ours.

``todo_write``, ``fetch_url`` and ``web_search`` are ``deferred``: found by tool search, declared to
a model only when asked for. The aliases are ``direct``, like the tools they stand for. Importing
this package loads neither a tool that an alias stands for nor the library that speaks HTTP.
"""

from __future__ import annotations

from pi_kernel.tools.extra.todo_write import todo_list
from pi_kernel.tools.extra.web_search import SearchProvider, SearchResult

__all__ = ("SearchProvider", "SearchResult", "todo_list")
