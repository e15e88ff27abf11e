"""A real Python kernel, spoken to over the Jupyter protocol."""

from __future__ import annotations

import queue
import time
from dataclasses import dataclass, field
from typing import Any, Self

from jupyter_client.manager import KernelManager

START_SECONDS = 30
REPLY_SECONDS = 20
LOAD = "%load_ext pi_kernel"


@dataclass
class Reply:
    """What one request gave: the reply's content and the messages of its output."""

    content: dict[str, Any]
    messages: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def status(self) -> str:
        """``ok``, ``error`` or ``aborted``."""
        return str(self.content["status"])

    @property
    def error(self) -> str:
        """The exception as ``Name: text``; empty without one."""
        if self.status != "error":
            return ""
        return f"{self.content['ename']}: {self.content['evalue']}"

    @property
    def traceback(self) -> str:
        """The traceback as it is shown."""
        return "\n".join(self.content.get("traceback", []))

    def of_type(self, kind: str) -> list[dict[str, Any]]:
        """The contents of the messages of one type."""
        return [m["content"] for m in self.messages if m["msg_type"] == kind]

    @property
    def stdout(self) -> str:
        """What was printed to stdout."""
        return "".join(c["text"] for c in self.of_type("stream") if c["name"] == "stdout")

    @property
    def stderr(self) -> str:
        """What was printed to stderr."""
        return "".join(c["text"] for c in self.of_type("stream") if c["name"] == "stderr")

    @property
    def result(self) -> str:
        """The text form of the last expression."""
        results = self.of_type("execute_result")
        return str(results[-1]["data"]["text/plain"]) if results else ""

    @property
    def displays(self) -> list[dict[str, Any]]:
        """The data of displays and of their updates, in order."""
        kinds = ("display_data", "update_display_data", "execute_result")
        return [m["content"]["data"] for m in self.messages if m["msg_type"] in kinds]


class Kernel:
    """One running kernel."""

    def __init__(self, kernel_name: str = "python3", *, cwd: str | None = None) -> None:
        self.manager = KernelManager(kernel_name=kernel_name)
        self.manager.start_kernel(cwd=cwd)
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=START_SECONDS)

    def send(self, code: str, **options: Any) -> str:
        """Send a cell without waiting; returns its message id."""
        options.setdefault("allow_stdin", False)
        return str(self.client.execute(code, **options))

    def wait(self, message_id: str, *, seconds: float = REPLY_SECONDS) -> Reply:
        """Wait for a cell's reply and for its output to be complete."""
        deadline = time.monotonic() + seconds
        messages: list[dict[str, Any]] = []
        start = time.monotonic()
        while True:
            message = self._next(deadline)
            if message["parent_header"].get("msg_id") != message_id:
                continue
            if message["msg_type"] == "status":
                if message["content"]["execution_state"] == "idle":
                    break
                continue
            messages.append(message)
        while True:
            reply = self.client.get_shell_msg(timeout=max(0.1, deadline - time.monotonic()))
            if reply["parent_header"].get("msg_id") == message_id:
                return Reply(reply["content"], messages, time.monotonic() - start)

    def _next(self, deadline: float) -> dict[str, Any]:
        try:
            message: dict[str, Any] = self.client.get_iopub_msg(
                timeout=max(0.1, deadline - time.monotonic())
            )
        except queue.Empty:
            raise TimeoutError("the kernel sent nothing more in time") from None
        return message

    def wait_for_output(self, message_id: str, text: str) -> None:
        """Wait until a running cell has printed a text."""
        deadline = time.monotonic() + REPLY_SECONDS
        printed = ""
        while text not in printed:
            message = self._next(deadline)
            if message["parent_header"].get("msg_id") != message_id:
                continue
            if message["msg_type"] == "stream":
                printed += message["content"]["text"]

    def run(self, code: str, *, seconds: float = REPLY_SECONDS, **options: Any) -> Reply:
        """Run a cell to its end."""
        return self.wait(self.send(code, **options), seconds=seconds)

    def interrupt(self) -> None:
        """Send what the stop button sends."""
        self.manager.interrupt_kernel()

    def complete(self, code: str) -> list[str]:
        """Return the completions at the end of the code."""
        message_id = self.client.complete(code, len(code))
        while True:
            reply = self.client.get_shell_msg(timeout=REPLY_SECONDS)
            if reply["parent_header"].get("msg_id") == message_id:
                return list(reply["content"]["matches"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
