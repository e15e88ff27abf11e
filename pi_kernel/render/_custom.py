"""What a tool's own ``render_call`` and ``render_result`` return, as static HTML and text."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from pi_kernel.render import _style as style
from pi_kernel.render._arguments import args_of
from pi_kernel.render._html import Room, div
from pi_kernel.render._lines import pick_lines, shown_lines
from pi_kernel.render._sanitize import sanitized
from pi_kernel.render._text import in_one_line
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("own_call_line", "own_result")

THEME = "static"
"""The theme that renderers are told: no colours, nothing live."""
OPTIONS = {"expanded": True, "is_partial": False}
VISIBLE_LINES = 20
MAX_CALL_CHARS = 120
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def own_call_line(outcome: ToolOutcome) -> str | None:
    """Return the text that ``render_call(args, theme, context)`` gives, or None."""
    render = getattr(outcome.call.tool, "render_call", None)
    if render is None:
        return None
    view = _call(render, (args_of(outcome), THEME, outcome))
    text = view if isinstance(view, str) else _bundle(view).get("text/plain")
    return in_one_line(text, MAX_CALL_CHARS) if isinstance(text, str) and text.strip() else None


def own_result(outcome: ToolOutcome, room: Room) -> tuple[str, str] | None:
    """Return HTML of what ``render_result(result, options, theme, context)`` gives, and a note.

    None when there is no such function, when it fails, or when what it gives cannot be shown.
    """
    render = getattr(outcome.call.tool, "render_result", None)
    if render is None:
        return None
    view = _call(render, (outcome.result, dict(OPTIONS), THEME, outcome))
    if isinstance(view, str):
        return _text(view, room)
    bundle = _bundle(view)
    html = bundle.get("text/html")
    if isinstance(html, str):
        clean = sanitized(html)
        whole = None if clean is None else div("padding:8px 12px;overflow:auto", clean)
        if whole is not None and room.take(whole):
            return whole, ""
    text = bundle.get("text/plain")
    return _text(text, room) if isinstance(text, str) else None


def _text(text: str, room: Room) -> tuple[str, str]:
    return shown_lines(pick_lines(text), room, visible=VISIBLE_LINES, look=style.PROSE)


def _call(render: Callable[..., Any], given: tuple[Any, ...]) -> Any:
    """Return what a renderer gives; it gets as many of the arguments as it takes."""
    try:
        view = render(*given[: _accepted(render, len(given))])
    except Exception:  # noqa: BLE001 - the card has a view of its own to fall back to
        return None
    if inspect.iscoroutine(view):
        view.close()
        return None
    return view


def _accepted(render: Callable[..., Any], most: int) -> int:
    try:
        parameters = inspect.signature(render).parameters.values()
    except (TypeError, ValueError):
        return most
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters):
        return most
    return min(most, sum(parameter.kind in _POSITIONAL for parameter in parameters))


def _bundle(view: Any) -> Mapping[str, Any]:
    """Return the MIME bundle of a view; empty when it has none."""
    if view is None or isinstance(view, str):
        return {}
    try:
        if hasattr(type(view), "_repr_mimebundle_"):
            bundle: Any = view._repr_mimebundle_()
            bundle = bundle[0] if isinstance(bundle, tuple) else bundle
            if isinstance(bundle, Mapping):
                return cast("Mapping[str, Any]", bundle)
        if hasattr(type(view), "_repr_html_"):
            return {"text/html": view._repr_html_(), "text/plain": str(view)}
    except Exception:  # noqa: BLE001 - the card has a view of its own to fall back to
        return {}
    return {}
