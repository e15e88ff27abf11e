"""A real Python kernel, spoken to over the Jupyter protocol."""

from __future__ import annotations

import ast
import os
import queue
import re
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import KernelManager

START_SECONDS = 30
REPLY_SECONDS = 20
COMPLETE_SECONDS = 5
LOAD = "%load_ext pi_kernel"
ROOT = Path(__file__).parents[2]
OTHER_PYTHON = os.environ.get("PI_KERNEL_TEST_PYTHON")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


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
        """The traceback as it is shown, without colours."""
        return COLOURS.sub("", "\n".join(self.content.get("traceback", [])))

    @property
    def help(self) -> str:
        """What the pager shows, without colours."""
        pages = [part["data"]["text/plain"] for part in self.content.get("payload", [])]
        return COLOURS.sub("", "\n".join(pages))

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
    """One running kernel.

    Args:
        kernel_name: A kernelspec.
        cwd: Where it starts.
        env: The kernel's environment.

    With ``PI_KERNEL_TEST_PYTHON`` ipykernel is started with that interpreter instead of this one.
    """

    def __init__(
        self,
        kernel_name: str = "python3",
        *,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
    ) -> None:
        self.manager = KernelManager(kernel_name=kernel_name)
        env = dict(os.environ) if env is None else env
        if kernel_name == "python3" and OTHER_PYTHON:
            self.manager._kernel_spec = KernelSpec(
                argv=[OTHER_PYTHON, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
                display_name="another Python",
                language="python",
            )
            env["PYTHONPATH"] = str(ROOT)
        self.manager.start_kernel(cwd=cwd, env=env)
        self.connect()

    def connect(self) -> None:
        """Open the channels of a kernel that has just started, and wait for it."""
        self._messages: defaultdict[str, list[dict[str, Any]]] = defaultdict(list)
        self._idle: set[str] = set()
        self._replies: dict[str, dict[str, Any]] = {}
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=START_SECONDS)

    def supports(self, feature: str) -> bool:
        """Whether the kernel says that it has a feature of the protocol."""
        message_id = self.client.kernel_info()
        while True:
            reply = self.client.get_shell_msg(timeout=REPLY_SECONDS)
            if reply["parent_header"].get("msg_id") == message_id:
                return feature in reply["content"].get("supported_features", ())

    @property
    def pid(self) -> int:
        """The process id of the kernel."""
        return int(self.manager.provisioner.pid)  # type: ignore[union-attr]  # a local one

    def send(self, code: str, **options: Any) -> str:
        """Send a cell without waiting; returns its message id."""
        options.setdefault("allow_stdin", False)
        # Otherwise the kernel refuses what comes within a moment after an error.
        options.setdefault("stop_on_error", False)
        return str(self.client.execute(code, **options))

    def request(self, code: str, *, header: dict[str, Any] | None = None, **metadata: Any) -> str:
        """Send a cell as a front end does that adds metadata or header fields."""
        message = self.client.session.msg(
            "execute_request",
            {
                "code": code,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": False,
                "stop_on_error": False,
            },
            metadata=metadata,
        )
        message["header"] |= header or {}
        self.client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    def wait(self, message_id: str, *, seconds: float = REPLY_SECONDS) -> Reply:
        """Wait for a cell's reply and for its output to be complete."""
        deadline = time.monotonic() + seconds
        start = time.monotonic()
        while message_id not in self._idle:
            self._read_output(deadline)
        while message_id not in self._replies:
            reply = self.client.get_shell_msg(timeout=max(0.1, deadline - time.monotonic()))
            self._replies[reply["parent_header"].get("msg_id", "")] = reply["content"]
        content = self._replies.pop(message_id)
        return Reply(content, self._messages[message_id], time.monotonic() - start)

    def _read_output(self, deadline: float) -> None:
        try:
            message: dict[str, Any] = self.client.get_iopub_msg(
                timeout=max(0.1, deadline - time.monotonic())
            )
        except queue.Empty:
            raise TimeoutError("the kernel sent nothing more in time") from None
        parent = message["parent_header"].get("msg_id", "")
        if message["msg_type"] != "status":
            self._messages[parent].append(message)
        elif message["content"]["execution_state"] == "idle":
            self._idle.add(parent)

    def wait_until(self, message_id: str, is_there: Callable[[Reply], bool]) -> None:
        """Wait until the output of a running cell so far satisfies a condition."""
        deadline = time.monotonic() + REPLY_SECONDS
        while not is_there(Reply({"status": "running"}, self._messages[message_id])):
            self._read_output(deadline)

    def wait_for_output(self, message_id: str, text: str, *, times: int = 1) -> None:
        """Wait until a running cell has printed a text, as often as given."""
        self.wait_until(message_id, lambda so_far: so_far.stdout.count(text) >= times)

    def run(self, code: str, *, seconds: float = REPLY_SECONDS, **options: Any) -> Reply:
        """Run a cell to its end."""
        return self.wait(self.send(code, **options), seconds=seconds)

    def next_count(self) -> int:
        """Return the execution count that the next cell gets."""
        return int(self.run("None").content["execution_count"]) + 1

    def value(self, code: str) -> Any:
        """Run a cell and return its last expression, which must be written as a literal."""
        reply = self.run(code)
        assert reply.status == "ok", reply.traceback
        return ast.literal_eval(reply.result or "None")

    def interrupt(self) -> None:
        """Send what the stop button sends."""
        self.manager.interrupt_kernel()

    def stop(self, message_id: str) -> Reply:
        """Interrupt a running cell and wait for its end; `Reply.seconds` is the time between."""
        self.interrupt()
        return self.wait(message_id)

    def complete(self, code: str) -> list[str]:
        """Return the completions at the end of the code.

        IPython gives up when its time is over, which on a busy machine is at once: ask again.
        """
        deadline = time.monotonic() + COMPLETE_SECONDS
        while not (found := self._complete_once(code)) and time.monotonic() < deadline:
            continue
        return found

    def _complete_once(self, code: str) -> list[str]:
        message_id = self.client.complete(code, len(code))
        while True:
            reply = self.client.get_shell_msg(timeout=REPLY_SECONDS)
            if reply["parent_header"].get("msg_id") == message_id:
                return list(reply["content"]["matches"])

    def close(self) -> None:
        """End the kernel; asked and not killed, so that it writes what coverage has seen."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=False)
        self.manager.cleanup_resources()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
