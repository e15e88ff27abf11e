"""`%load_ext pi_kernel`: attach to a shell, and detach."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

import pi_kernel
from pi_kernel.errors import PiKernelError
from pi_kernel.notebook.cells import Cell, Cells
from pi_kernel.notebook.ctx import NotebookContext
from pi_kernel.notebook.interrupt import InterruptHandler
from pi_kernel.notebook.interrupted_errors import InterruptedErrors
from pi_kernel.notebook.live import attach_displays, detach_displays, unload_views
from pi_kernel.notebook.magics import MAGIC_NAMES, PiMagics
from pi_kernel.notebook.shell import (
    cell_numbers,
    cell_task,
    execution_count,
    front_end_cell_id,
    is_in_cell,
)
from pi_kernel.notebook.status_line import StatusLine
from pi_kernel.notebook.timed import Stopwatch, TimedCells
from pi_kernel.registry.namespace import ToolsNamespace
from pi_kernel.render.places import use_cell_numbers
from pi_kernel.runtime.call import Caller, current_caller
from pi_kernel.sessions.session import ToolSession

__all__ = ("Extension", "load_ipython_extension", "unload_ipython_extension")


@dataclass(eq=False)
class _Run:
    """A cell that is running."""

    cell: Cell
    thread: int
    above: Caller | None
    """Whose code was running here before the cell."""
    info: Any = None
    """What IPython tells of the cell; a silent one has none."""
    inner_runs: int = 0
    """How often the code of a silent cell is inside the shell again."""
    line: StatusLine | None = None
    clock: Stopwatch | None = None
    """Of a cell that is to be timed."""


class Extension:
    """What one shell holds while the extension is loaded."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.session: ToolSession | None = ToolSession(cwd=_cwd())
        self.cells = Cells(self.session.host)
        self.tools = ToolsNamespace(self._caller, self._reachable)
        self.ctx = NotebookContext(self, self.tools)
        self._errors = InterruptedErrors(shell)
        self._interrupts = InterruptHandler(shell.user_global_ns, self._errors.expect)
        self._timed = TimedCells(shell, self._start_clock)
        self._runs: list[_Run] = []
        self._begun: dict[int, _Run] = {}
        """By thread: the cell whose `pre_run_cell` would come next."""
        self._names: dict[str, object] = {}
        self._events: dict[str, Callable[..., object]] = {
            "pre_execute": self._pre_execute,
            "pre_run_cell": self._pre_run_cell,
            "post_execute": self._post_execute,
            "post_run_cell": self._post_run_cell,
        }
        self._closing: asyncio.Task[None] | None = None

    def _caller(self) -> Caller:
        return self.ctx.session._start()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

    def _reachable(self) -> Any:
        return self.ctx.session.registry.reachable

    # -- loading -----------------------------------------------------------------------------

    def attach(self) -> None:
        """Put the names, the hooks and the magics into the shell."""
        self._put_names()
        for event, hook in self._events.items():
            self.shell.events.register(event, hook)
        self.shell.register_magics(PiMagics(self.shell, self))
        self._timed.attach()
        attach_displays(self.shell)
        use_cell_numbers(cell_numbers(self.shell))
        setattr(pi_kernel, "ctx", self.ctx)  # noqa: B010 - the way in when ctx is taken
        if is_in_cell():
            self.cells.show(self._begin().cell)

    def _put_names(self) -> None:
        taken = []
        for name, value in (("ctx", self.ctx), ("tools", self.tools)):
            if name in self.shell.user_ns and not _is_ours(self.shell.user_ns[name]):
                taken.append(name)
            else:
                self._names[name] = value
        self.shell.push(self._names, interactive=False)
        if taken:
            verb = "is" if len(taken) == 1 else "are"
            warnings.warn_explicit(
                f"{' and '.join(taken)} {verb} yours and kept; the context is pi_kernel.ctx",
                UserWarning,
                filename="%load_ext pi_kernel",
                lineno=1,
            )

    def detach(self) -> None:
        """Take everything back; calls that run are asked to stop."""
        for event, hook in self._events.items():
            self.shell.events.unregister(event, hook)
        for name in MAGIC_NAMES:
            self.shell.magics_manager.magics["line"].pop(name, None)
        self._timed.detach()
        detach_displays(self.shell)
        unload_views()
        use_cell_numbers(None)
        self.shell.drop_by_id(self._names)
        if vars(pi_kernel).get("ctx") is self.ctx:
            delattr(pi_kernel, "ctx")
        session, self.session = self.session, None
        if session is not None:
            session.abort("pi_kernel was unloaded")
            for cell in self.cells:
                cell.signal.abort("pi_kernel was unloaded")
            with contextlib.suppress(RuntimeError):  # no loop: nothing runs that could be awaited
                self._closing = asyncio.get_running_loop().create_task(session.close())
        for run in list(self._runs):
            self._end(run, is_ok=True)

    def way_back(self) -> str:
        """Return what to do after this extension was unloaded."""
        if id(self.shell) in _loaded:
            return "use the ctx of the newer %load_ext pi_kernel"
        return "run: %load_ext pi_kernel"

    # -- cells -------------------------------------------------------------------------------

    def _pre_execute(self) -> None:
        """Begin a cell, unless a running cell or call handed this code to the shell."""
        self._begun.pop(threading.get_ident(), None)
        outer = self._run_of(current_caller.get())
        if outer is None:
            self._begun[threading.get_ident()] = self._begin()
        elif outer.info is None:
            outer.inner_runs += 1

    def _run_of(self, caller: Caller | None) -> _Run | None:
        cell_call_id = caller.root.cell_call_id if caller is not None else None
        return next((run for run in self._runs if run.cell.id == cell_call_id), None)

    def _begin(self) -> _Run:
        """Make the cell that is about to run the caller of what its code calls."""
        host = self.cells.host
        host.cwd = _cwd(host.cwd)
        self._bind()
        cell = self.cells.open(execution_count(self.shell))
        cell.task = cell_task()
        cell.cell_id = front_end_cell_id(self.shell)
        cell.on_first_use = self._first_use
        run = _Run(cell, threading.get_ident(), current_caller.get())
        self._runs.append(run)
        current_caller.set(cell)
        self._interrupts.install(cell)
        return run

    def _bind(self) -> None:
        """Let the session run on the loop of the main thread, not on that of a subshell."""
        if self.session is not None and threading.current_thread() is threading.main_thread():
            with contextlib.suppress(RuntimeError, PiKernelError):
                self.session._loop.bind()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]

    def _pre_run_cell(self, info: Any) -> None:
        run = self._begun.pop(threading.get_ident(), None)
        if run is not None:
            run.info = info
            run.cell.cell_id = getattr(info, "cell_id", None) or run.cell.cell_id
            self.cells.show(run.cell)

    def _first_use(self, cell: Cell) -> None:
        run = self._run_of(cell)
        if run is not None:
            self.cells.show(cell)
            if run.info is not None and run.line is None:
                run.line = StatusLine(cell)

    def _post_execute(self) -> None:
        """End silent cells: nothing else is told of their end."""
        for run in list(self._runs):
            if run.info is not None or not self._is_over(run):
                continue
            if run.inner_runs:
                run.inner_runs -= 1
            else:
                self._end(run, is_ok=bool(self.shell.last_execution_succeeded))

    @staticmethod
    def _is_over(run: _Run) -> bool:
        task = run.cell.task
        return task.done() if task is not None else run.thread == threading.get_ident()

    def _post_run_cell(self, result: Any) -> None:
        info = getattr(result, "info", None)
        for run in list(self._runs):
            # Without a result the cell was ended from outside.
            if run.info is info if info is not None else self._is_over(run):
                self._end(run, is_ok=bool(result and result.success), result=result)

    def _end(self, run: _Run, *, is_ok: bool, result: Any = None) -> None:
        self._runs.remove(run)
        cell = run.cell
        self._interrupts.remove(cell)
        if cell.is_interrupted:
            self._errors.restore(result)
        cell.finish("aborted" if cell.is_interrupted else "ok" if is_ok else "error")
        cell.task = None  # it holds the cell's last value
        if run.line is not None:
            run.line.close()
        if run.clock is not None:
            run.clock.report()
        if current_caller.get() is cell:
            current_caller.set(run.above)

    def _start_clock(self) -> None:
        run = self._run_of(current_caller.get())
        if run is not None:
            run.clock = Stopwatch()

    # -- what a cell shows -------------------------------------------------------------------

    def show_update(self, caller: Caller | None, partial: Any) -> None:
        """Show how far the running cell is; after its end the text is printed."""
        run = self._run_of(caller)
        if run is None:
            sys.stdout.write(f"{partial}\n")
            return
        if run.line is None:
            run.line = StatusLine(run.cell)
        run.line.show(str(partial))


def _cwd(otherwise: str = os.sep) -> str:
    """Return the working directory; it may have been removed under us."""
    try:
        return os.getcwd()  # noqa: PTH109 - a plain text is wanted
    except FileNotFoundError:
        return otherwise


def _is_ours(value: object) -> bool:
    return isinstance(value, NotebookContext | ToolsNamespace)


_loaded: dict[int, Extension] = {}


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Load into a shell; loading twice changes nothing."""
    held = _loaded.get(id(shell))
    if held is not None and held.shell is shell and held.session is not None:
        return
    extension = Extension(shell)
    extension.attach()
    _loaded[id(shell)] = extension


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take everything back."""
    extension = _loaded.pop(id(shell), None)
    if extension is not None:
        extension.detach()
