"""The budget of a result's text for a model: too long goes to a file, both ends stay."""

from __future__ import annotations

import os
import secrets
import tempfile
from pathlib import Path
from typing import Any

from pi_kernel.protocol.content import TextContent
from pi_kernel.protocol.json import well_formed
from pi_kernel.protocol.results import ToolResult, text_of

__all__ = ("bound_result",)


def bound_result(result: ToolResult, limit: int) -> ToolResult:
    """Cut the joined text of a result to ``limit`` characters, half from each end.

    The whole text is written to a private temporary file, named in the text and in
    ``details["fullOutputPath"]``. Images stay, after the text.
    """
    text = text_of(result.content)
    if len(text) <= limit:
        return result
    details: Any = result.details
    try:
        path = _save(text)
    except OSError as error:
        where = f"Could not save the full output: {error}"
    else:
        where = f"Full output: {path}"
        if details is None:
            details = {"fullOutputPath": path}
        elif isinstance(details, dict):
            details = {**details, "fullOutputPath": path}
    head = limit // 2
    tail = limit - head
    shown = text[:head] + (text[-tail:] if tail else "")
    notice = f"[Output too long: {len(text)} characters, limit {limit}. {where}]"
    images = [block for block in result.content if not isinstance(block, TextContent)]
    bounded = result.replace(content=[TextContent(f"{shown}\n{notice}"), *images], details=details)
    bounded.value = result.value
    if result.has_structured_content:
        bounded.with_structured_factory(lambda: result.structured_content)
    return bounded


def _save(text: str) -> str:
    path = Path(tempfile.gettempdir()) / f"pi-result-{secrets.token_hex(8)}.txt"
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(well_formed(text).encode())
    return str(path)
