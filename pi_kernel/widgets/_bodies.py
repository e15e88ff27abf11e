"""The body of a result as the static HTML that saved notebooks get."""

from __future__ import annotations

from pi_kernel.render._bodies import body_of
from pi_kernel.render._html import Room
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("body_html",)

MAX_HTML_BYTES = 50 * 1024


def body_html(outcome: ToolOutcome) -> str:
    """Return what the card of a saved notebook shows below its line, pictures first."""
    body = body_of(outcome, Room(MAX_HTML_BYTES))
    return body.images + body.html
