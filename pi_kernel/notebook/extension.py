"""`%load_ext pi_kernel`: attach to a shell, and detach."""

from __future__ import annotations

import asyncio
import contextlib
import os
import warnings
from typing import Any

from IPython.core.interactiveshell import InteractiveShell

import pi_kernel
from pi_kernel.notebook.cells import Cell, Cells
from pi_kernel.notebook.ctx import NotebookContext
from pi_kernel.notebook.interrupt import InterruptHandler
from pi_kernel.notebook.magics import MAGIC_NAMES, PiMagics
from pi_kernel.notebook.status_line import StatusLine
from pi_kernel.registry.namespace import ToolsNamespace
from pi_kernel.runtime.call import current_caller
from pi_kernel.sessions.session import ToolSession

__all__ = ("Extension", "load_ipython_extension", "unload_ipython_extension")


class Extension:
    """What one shell holds while the extension is loaded."""

    def __init__(self, shell: InteractiveShell) -> None:
        self.shell = shell
        self.session: ToolSession | None = ToolSession(cwd=os.getcwd())  # noqa: PTH109 - as text
        self.cells = Cells(self.session.host)
        self.tools = ToolsNamespace(self._caller, self._reachable)
        self.ctx = NotebookContext(self, self.tools)
        self._interrupts = InterruptHandler()
        self._open: dict[int, Cell] = {}
        self._lines: dict[str, StatusLine] = {}
        self._names: dict[str, object] = {}
        self._closing: asyncio.Task[None] | None = None

    def _caller(self) -> Any:
        return self.ctx.session._caller()  # noqa: SLF001 - one package

    def _reachable(self) -> Any:
        return self.ctx.session.registry.reachable

    # -- loading -----------------------------------------------------------------------------

    def attach(self) -> None:
        """Put the names, the hooks and the magics into the shell."""
        self._put_names()
        self.shell.events.register("pre_run_cell", self._pre_run_cell)
        self.shell.events.register("post_run_cell", self._post_run_cell)
        self.shell.register_magics(PiMagics(self.shell, self))
        pi_kernel.ctx = self.ctx  # type: ignore[attr-defined]  # the way in when ctx is taken
        if self.shell.execution_count and _inside_a_cell(self.shell):
            self._begin(None)

    def _put_names(self) -> None:
        taken = []
        for name, value in (("ctx", self.ctx), ("tools", self.tools)):
            held = self.shell.user_ns.get(name)
            if held is not None and not isinstance(held, NotebookContext | ToolsNamespace):
                taken.append(name)
                continue
            self._names[name] = value
        self.shell.push(self._names, interactive=False)
        if taken:
            names = " and ".join(taken)
            verb = "is" if len(taken) == 1 else "are"
            warnings.warn(
                f"{names} {verb} yours and kept; the context is pi_kernel.ctx",
                stacklevel=2,
            )

    def detach(self) -> None:
        """Take everything back; calls that run are asked to stop."""
        self.shell.events.unregister("pre_run_cell", self._pre_run_cell)
        self.shell.events.unregister("post_run_cell", self._post_run_cell)
        for name in MAGIC_NAMES:
            self.shell.magics_manager.magics["line"].pop(name, None)
        for name, value in self._names.items():
            if self.shell.user_ns.get(name) is value:
                self.shell.drop_by_id({name: value})
        if getattr(pi_kernel, "ctx", None) is self.ctx:
            del pi_kernel.ctx
        for cell in list(self._open.values()):
            self._interrupts.remove(cell)
        session, self.session = self.session, None
        current_caller.set(None)
        if session is not None:
            session.abort("pi_kernel was unloaded")
            for cell in self.cells:
                cell.signal.abort("pi_kernel was unloaded")
            with contextlib.suppress(RuntimeError):  # no loop: nothing runs that could be awaited
                self._closing = asyncio.get_running_loop().create_task(session.close())

    # -- cells -------------------------------------------------------------------------------

    def _pre_run_cell(self, info: Any) -> None:
        self._begin(info)

    def _begin(self, info: Any) -> None:
        """Make the cell that is about to run the caller of what its code calls."""
        if self.session is None:
            return
        self.session.host.cwd = os.getcwd()  # noqa: PTH109 - %cd counts
        cell = self.cells.open(self.shell.execution_count)
        cell.cell_id = getattr(info, "cell_id", None) or _cell_id(self.shell)
        cell.task = _cell_task()
        cell.on_first_call = self._first_call
        cell.on_idle_interrupted = self._interrupts.child_ended
        self._open[id(info)] = cell
        current_caller.set(cell)

    def _first_call(self, cell: Cell) -> None:
        if cell.status != "running":
            return
        self._interrupts.install(cell)
        if self.session is not None and cell.id not in self._lines:
            self._lines[cell.id] = StatusLine(cell)

    def _post_run_cell(self, result: Any) -> None:
        info = getattr(result, "info", None)
        cell = self._open.pop(id(info), None) or self._open.pop(id(None), None)
        if cell is None:
            return
        self._interrupts.remove(cell)
        cell.on_idle_interrupted = None
        aborted = cell.is_interrupted
        cell.finish("aborted" if aborted else "ok" if result.success else "error")
        line = self._lines.pop(cell.id, None)
        if line is not None:
            line.close()
        if current_caller.get() is cell:
            current_caller.set(None)

    def show_update(self, partial: Any) -> None:
        """Show how far the running cell is."""
        caller = current_caller.get()
        line = self._lines.get(caller.id) if caller is not None else None
        if line is not None:
            line.show(str(partial))
        else:
            print(partial)


def _cell_task() -> asyncio.Task[Any] | None:
    """Return the task of an async cell; None for a plain one, which runs in the kernel's own."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return None
    if task is None:
        return None
    name = getattr(task.get_coro(), "__qualname__", "")
    return task if "run_cell" in name else None


def _cell_id(shell: InteractiveShell) -> str | None:
    kernel = getattr(shell, "kernel", None)
    parent = kernel.get_parent() if kernel is not None else {}
    cell_id = ((parent or {}).get("metadata") or {}).get("cellId")
    return cell_id if isinstance(cell_id, str) else None


def _inside_a_cell(shell: InteractiveShell) -> bool:
    """Whether the extension is being loaded by a cell, not by the configuration."""
    kernel = getattr(shell, "kernel", None)
    if kernel is not None:
        return bool((kernel.get_parent() or {}).get("header"))
    return bool(getattr(shell, "displayhook", None)) and shell.execution_count >= 1


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
