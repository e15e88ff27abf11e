"""When live views are shown, and how: in front of the static form, while somebody can see them."""

from __future__ import annotations

import asyncio
import importlib
import logging
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display

from pi_kernel.notebook.cells import Cell
from pi_kernel.notebook.live_line import muted
from pi_kernel.runtime.call import Call
from pi_kernel.runtime.outcome import ToolOutcome
from pi_kernel.traces.trace import Trace
from pi_kernel.widgets.place import new_place, placed

if TYPE_CHECKING:
    from pi_kernel.widgets._base import PiWidget

__all__ = (
    "LiveCell",
    "attach_displays",
    "detach_displays",
    "has_live_page",
    "live_cell",
    "show_call",
    "show_trace",
    "unload_views",
)

MAX_AT_ONCE_CALLS = 500
"""Of a trace whose static form is made before it is shown; that of a longer one comes behind."""
STATIC_BEHIND_SECONDS = 1.0
MAX_OPEN_TRACES = 8
"""Of more, the oldest goes back to its static form."""

logger = logging.getLogger("pi_kernel")

_open: list[PiWidget] = []
_tasks: set[asyncio.Task[None]] = set()


def has_live_page() -> bool:
    """Whether a page may be looking at the running cell and answer.

    Where nobody can be asked for input, as in nbclient, nobody looks.
    """
    kernel = getattr(get_ipython(), "kernel", None)
    if kernel is None or threading.current_thread() is not threading.main_thread():
        return False
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    content = (kernel.get_parent() or {}).get("content") or {}
    return bool(content.get("allow_stdin"))


def _open_later(
    module: str, make: Callable[[Any], PiWidget], is_wanted: Callable[[], bool] = lambda: True
) -> None:
    """Make a widget once its module is there; importing it takes a thread some time."""

    async def work() -> None:
        try:
            there = sys.modules.get(module)
            loaded = there or await asyncio.to_thread(importlib.import_module, module)
            if is_wanted():
                _open.append(make(loaded))
        except Exception:  # the cell must not suffer from how it is shown
            logger.exception("a live view could not be shown")

    _start(work())


def _start(coroutine: Coroutine[Any, Any, None]) -> None:
    task = asyncio.get_running_loop().create_task(coroutine)
    _tasks.add(task)
    task.add_done_callback(_tasks.discard)


def _close(widget: PiWidget) -> None:
    if widget in _open:
        _open.remove(widget)
    widget.close()


def unload_views() -> None:
    """Tell every view that the extension is gone."""
    for widget in _open:
        widget.unload()
    _open.clear()


# -- the calls of a running cell ----------------------------------------------------------------


class LiveCell:
    """The view of a cell's calls while it runs.

    Args:
        cell: The running cell.
    """

    def __init__(self, cell: Cell) -> None:
        self._calls = _CallsOf(cell)
        self._place = new_place()
        self._widget: Any = None
        self._note = ""
        self._is_started = False
        self._is_over = False

    @property
    def is_live(self) -> bool:
        """Whether a page shows the view, so that the static line need not change."""
        return self._widget is not None and bool(self._widget.is_live)

    def placed(self, markup: str) -> str:
        """Return the HTML of the static line as the place of the view, which opens now."""
        if not self._is_started:
            self._is_started = True
            _open_later("pi_kernel.widgets.calls", self._open, lambda: not self._is_over)
        return str(placed(self._place, {"text/html": markup})["text/html"])

    def _open(self, module: Any) -> PiWidget:
        widget: PiWidget = module.CallsWidget(self._calls, place=self._place)
        self._widget = widget
        self.note(self._note)
        return widget

    def note(self, text: str) -> None:
        """Show a note of the cell's own above its calls."""
        self._note = text
        if self._widget is not None:
            self._widget.note(text)

    def close(self) -> None:
        """Take the view away."""
        self._is_over = True
        if self._widget is not None:
            _close(self._widget)


def live_cell(cell: Cell) -> LiveCell | None:
    """Return the view of a running cell; None where no page could show it."""
    return LiveCell(cell) if has_live_page() else None


class _CallsOf:
    """The root calls of a cell, in start order; what is known is not looked at again."""

    def __init__(self, cell: Cell) -> None:
        self._cell = cell
        source = cell.host.calls
        self._looked_at = len(source)
        while self._looked_at and source[self._looked_at - 1].started_perf >= cell.started:
            self._looked_at -= 1
        self._found: list[Call] = []

    def __call__(self) -> list[Call]:
        source = self._cell.host.calls
        for call in source[self._looked_at :]:
            if call.root is call and call.cell_call_id == self._cell.id:
                self._found.append(call)
        self._looked_at = len(source)
        return self._found


# -- one call that a person looks at ------------------------------------------------------------


def show_call(call: Call) -> None:
    """Display a call: live while it runs, then its card."""
    if call.status is not None or not has_live_page():
        display(_line_bundle(call) if call.status is None else _card(call), raw=True)
        return
    place = new_place()
    handle: Any = display(placed(place, _line_bundle(call)), raw=True, display_id=True)

    made: list[PiWidget] = []

    def end() -> None:
        handle.update(_card(call), raw=True)
        for widget in made:
            _close(widget)

    def make(module: Any) -> PiWidget:
        made.append(module.CallsWidget(lambda: [call], place=place, on_idle=end))
        return made[0]

    _open_later("pi_kernel.widgets.calls", make)


def _card(call: Call) -> dict[str, str]:
    from pi_kernel.render.call import call_bundle  # noqa: PLC0415 - loads on first use

    return call_bundle(ToolOutcome(call).take_record())


def _line_bundle(call: Call) -> dict[str, str]:
    return _note_bundle(f"{call.name}: running when this was shown")


def _note_bundle(text: str) -> dict[str, str]:
    return {"text/html": muted(text), "text/plain": text}


# -- traces -------------------------------------------------------------------------------------


def show_trace(trace: Trace, title: str, cell_call_id: str | None = None) -> None:
    """Display a trace: live while the kernel is there, a table in what is saved.

    Args:
        trace: The calls of a session.
        title: What is shown of it.
        cell_call_id: Only the calls of this cell.
    """

    def is_part(call: Call) -> bool:
        return call.root.cell_call_id == cell_call_id

    def bundle() -> dict[str, str]:
        from pi_kernel.render.trace import trace_bundle  # noqa: PLC0415 - loads on first use

        roots = trace.tree()
        if cell_call_id is not None:
            roots = [node for node in roots if node.call.cell_call_id == cell_call_id]
        return trace_bundle(roots, title=title)

    if not has_live_page():
        display(bundle(), raw=True)
        return
    place = new_place()
    is_big = len(trace) > MAX_AT_ONCE_CALLS
    first = _note_bundle(f"Trace of {len(trace):,} calls") if is_big else bundle()
    handle: Any = display(placed(place, first), raw=True, display_id=True)

    async def show_static(pause_seconds: float = 0.0) -> None:
        await asyncio.sleep(pause_seconds)
        handle.update(placed(place, await asyncio.to_thread(bundle)), raw=True)

    if is_big:
        _start(show_static(STATIC_BEHIND_SECONDS))

    def make(module: Any) -> PiWidget:
        while sum(type(widget) is module.TraceWidget for widget in _open) >= MAX_OPEN_TRACES:
            _close(next(widget for widget in _open if type(widget) is module.TraceWidget))
        widget: PiWidget = module.TraceWidget(
            trace._calls,  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - the live list
            title,
            place=place,
            is_part=None if cell_call_id is None else is_part,
            bundle=bundle,
            on_idle=lambda: _start(show_static()),
        )
        return widget

    _open_later("pi_kernel.widgets.trace", make)


# -- what IPython displays ----------------------------------------------------------------------


def attach_displays(shell: InteractiveShell) -> None:
    """Let running calls and traces show themselves."""

    def task(value: asyncio.Task[Any]) -> None:
        call = _call_of(value)
        if call is None:
            raise NotImplementedError  # IPython goes on with the next form
        show_call(call)

    if getattr(shell, "kernel", None) is not None:  # a terminal has room for their repr
        formatter = _formatter(shell)
        formatter.for_type(asyncio.Task, task)
        formatter.for_type(Trace, lambda trace: show_trace(trace, "session"))


def detach_displays(shell: InteractiveShell) -> None:
    """Take `attach_displays` back."""
    for kind in (asyncio.Task, Trace):
        _formatter(shell).pop(kind, None)


def _formatter(shell: InteractiveShell) -> Any:
    return shell.display_formatter.ipython_display_formatter  # type: ignore[union-attr]


def _call_of(task: asyncio.Task[Any]) -> Call | None:
    """Return the call that ``tools.name(...)`` began as this task, while it has not ended."""
    frame = getattr(task.get_coro(), "cr_frame", None)
    call = frame.f_locals.get("call") if frame is not None else None
    return call if isinstance(call, Call) else None
