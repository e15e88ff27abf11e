"""Running a notebook's cells in a kernel of its own, which ends with the run, however that ends."""

from __future__ import annotations

import asyncio  # noqa: TID251 - nbclient runs on nothing else
import contextlib
import signal
from pathlib import Path
from typing import Any

import anyio
from jupyter_client.kernelspec import KernelSpecManager, NoSuchKernel
from jupyter_client.manager import AsyncKernelManager, KernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from traitlets import TraitError
from traitlets.config import Config

from pi_kernel.cli.terminal import Terminal

__all__ = ("execute",)

INTERRUPT_SECONDS = 3.0
"""How long a cell may take to end after an interrupt."""


class _Client(NotebookClient):
    """A client that Ctrl-C ends at once; nbclient's stops the kernel and waits for its cell."""

    is_stopped = False

    async def async_start_new_kernel(self, **options: Any) -> None:
        """Start the kernel; from here on a signal cancels the run, and the kernel with it."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()

        def stop() -> None:
            self.is_stopped = True
            if task is not None:
                task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM):
            with contextlib.suppress(NotImplementedError):  # Windows: Python's own way
                loop.add_signal_handler(number, stop)
        await super().async_start_new_kernel(**options)

    async def async_execute_cell(self, *args: Any, **options: Any) -> Any:
        """Run one cell; let one that is given up end what it started before its kernel ends."""
        try:
            return await super().async_execute_cell(*args, **options)
        except (asyncio.CancelledError, CellTimeoutError):
            await self._interrupt()
            raise
        except DeadKernelError:  # nbclient takes every cancellation for that
            if not self.is_stopped:
                raise
            await self._interrupt()
            raise asyncio.CancelledError from None

    async def _interrupt(self) -> None:
        if not isinstance(self.km, AsyncKernelManager) or self.kc is None:
            return
        with anyio.move_on_after(INTERRUPT_SECONDS), contextlib.suppress(Exception):
            await self.km.interrupt_kernel()
            # The question wakes an idle kernel, and its answer comes after the cell's end.
            await self.async_wait_for_reply(self.kc.kernel_info())


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
        timeout_func=lambda _cell: seconds,  # nbclient's plain option takes whole seconds only
        **options,
    )
    where = f"{path}: cell {{}} of {total}"
    try:
        asyncio.run(client.async_execute())
    except asyncio.CancelledError:
        raise KeyboardInterrupt from None
    except CellExecutionError as error:
        text = f"{error.ename}: {error.evalue}".splitlines()[0]
        return f"{where.format(done)} failed: {text}"
    except CellTimeoutError:
        return f"{where.format(done)} took longer than {seconds:g} s"
    except NoSuchKernel as error:
        known = ", ".join(sorted(KernelSpecManager().find_kernel_specs()))
        return f"{path}: no kernel named {error.name!r}; --kernel takes one of: {known}"
    except DeadKernelError:
        return f"{where.format(done)} ended the kernel"
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
