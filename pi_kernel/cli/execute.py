"""Running a notebook's cells in a kernel of its own, which ends with the run, however that ends."""

from __future__ import annotations

import asyncio  # noqa: TID251 - nbclient runs on nothing else
import contextlib
import signal
from pathlib import Path
from typing import Any, Literal

import anyio
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from traitlets import TraitError
from traitlets.config import Config

from pi_kernel.cli.terminal import Terminal

__all__ = ("execute",)

INTERRUPT_SECONDS = 3.0
"""How long a cell may take to end after an interrupt."""


class _StoppedError(Exception):
    """The cell ended by itself after it was asked to stop."""


class _Client(NotebookClient):
    """A client that interrupts a cell before it gives up on it.

    What the cell started ends then, what it printed is kept, and the kernel is idle when it is shut
    down. nbclient kills the kernel under the running cell.
    """

    seconds: float | None = None
    """The most that one cell may take."""
    stopped_by: Literal["signal", "timeout"] | None = None

    def __init__(self, notebook: Any, **options: Any) -> None:
        super().__init__(notebook, **options)
        self._run: asyncio.Task[Any] | None = None
        self._is_in_cell = False
        self._question: asyncio.Task[str] | None = None
        """What was sent to the kernel after an interrupt."""
        self._last_resort: asyncio.TimerHandle | None = None

    async def async_start_new_kernel(self, **options: Any) -> None:
        """Start the kernel; from here on signals are ours."""
        self._run = asyncio.current_task()
        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # Windows: Python's own way
                asyncio.get_running_loop().add_signal_handler(number, self._stop, "signal")
        await super().async_start_new_kernel(**options)

    async def async_execute_cell(self, *args: Any, **options: Any) -> Any:
        """Run one cell, for its time."""
        loop = asyncio.get_running_loop()
        timer = loop.call_later(self.seconds, self._stop, "timeout") if self.seconds else None
        self._is_in_cell = True
        try:
            cell = await super().async_execute_cell(*args, **options)
        finally:
            self._is_in_cell = False
            if timer is not None:
                timer.cancel()
            await self._until_idle()
        if self.stopped_by is not None:
            raise _StoppedError
        return cell

    def _stop(self, reason: Literal["signal", "timeout"]) -> None:
        is_first = self.stopped_by is None
        self.stopped_by = self.stopped_by or reason
        if self._run is None:
            return
        if is_first and self._is_in_cell:
            loop = asyncio.get_running_loop()
            self._question = loop.create_task(self._interrupt())
            self._last_resort = loop.call_later(INTERRUPT_SECONDS, self._run.cancel)
        else:
            self._run.cancel()

    @property
    def _kernel(self) -> Any:
        return self.km, self.kc  # set while cells run

    async def _interrupt(self) -> str:
        manager, client = self._kernel
        await manager.interrupt_kernel()
        return str(client.kernel_info())  # wakes a kernel that waits

    async def _until_idle(self) -> None:
        """Wait until an interrupted kernel has nothing more to do, within the time for that."""
        if self._question is None or self._last_resort is None:
            return
        self._last_resort.cancel()
        _, client = self._kernel
        with anyio.CancelScope(deadline=self._last_resort.when()):
            question = await self._question
            while True:
                message = await client.get_iopub_msg(timeout=None)
                is_answer = message["parent_header"].get("msg_id") == question
                if is_answer and message["content"].get("execution_state") == "idle":
                    return


def execute(
    notebook: Any, *, path: Path, kernel: str | None, seconds: float | None, terminal: Terminal
) -> str | None:
    """Run the cells and put their outputs into the notebook.

    Args:
        notebook: As nbformat reads it; outputs of earlier runs are removed.
        path: Its file; the cells run in the file's folder.
        kernel: The kernel's name; the notebook's own when None.
        seconds: The most that one cell may take.
        terminal: Told which cell is running.

    Returns:
        What went wrong, or None.

    Raises:
        KeyboardInterrupt: If a signal ended the run.
    """
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell in cells:
        cell.outputs, cell.execution_count = [], None
    total = sum(1 for cell in cells if cell.source.strip())
    done = 0

    def tell(cell: Any, cell_index: int) -> None:
        nonlocal done
        del cell_index
        done += 1
        first = cell.source.strip().splitlines()[0]
        terminal.line(terminal.one_line(f"[{done}/{total}] {first}"))
        if terminal.stream is not None:
            terminal.stream.flush()

    options: dict[str, Any] = {} if kernel is None else {"kernel_name": kernel}
    client = _Client(
        notebook,
        config=_config(),
        on_cell_execute=tell,
        resources={"metadata": {"path": str(path.parent.resolve())}},
        **options,
    )
    client.seconds = seconds
    where = f"{path}: cell {{}} of {total}"
    try:
        asyncio.run(client.async_execute())
    except (asyncio.CancelledError, CellExecutionError, DeadKernelError, _StoppedError) as error:
        if client.stopped_by == "signal":
            raise KeyboardInterrupt from None
        if client.stopped_by == "timeout":
            return f"{where.format(done)} took longer than {seconds:g} s"
        if not isinstance(error, CellExecutionError):
            return f"{where.format(done)} ended the kernel"
        text = f"{error.ename}: {error.evalue}".splitlines()[0]
        return f"{where.format(done)} failed: {text}"
    except NoSuchKernel as error:
        known = ", ".join(sorted(KernelSpecManager().find_kernel_specs()))
        return f"{path}: no kernel named {error.name!r}; --kernel takes one of: {known}"
    except RuntimeError as error:
        return f"{path}: the kernel does not work: {error}"
    terminal.line(f"{path}: {total} {'cell' if total == 1 else 'cells'} ran")
    return None


def _config() -> Config:
    """Encrypt what goes between us and the kernel, where both sides can."""
    config = Config()
    if "transport_encryption" in KernelManager.class_traits():
        with contextlib.suppress(TraitError):  # libzmq was built without it
            KernelManager(transport_encryption="auto")
            config.KernelManager.transport_encryption = "auto"
    return config
