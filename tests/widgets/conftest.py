"""What tests of the live views share: a widget whose messages are kept."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from pi_kernel.widgets._base import PiWidget

Opened = Callable[[PiWidget], list[dict[str, Any]]]


async def until(condition: Callable[[], object]) -> None:
    """Let the loop run until something is so."""
    while not condition():  # noqa: ASYNC110 - what is waited for tells nobody
        await asyncio.sleep(0)


@pytest.fixture
def opened() -> Iterator[Opened]:
    """Give a function that keeps what a widget sends; all widgets are closed in the end."""
    widgets: list[PiWidget] = []

    def open_it(widget: PiWidget) -> list[dict[str, Any]]:
        sent: list[dict[str, Any]] = []
        widget.send = sent.append
        widgets.append(widget)
        return sent

    yield open_it
    for widget in widgets:
        widget.close()
