"""Steering and follow-up: user messages that wait for their moment in a run."""

from __future__ import annotations

from collections import deque
from typing import Literal

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.messages import Message

__all__ = ("MessageQueue", "QueueMode")

QueueMode = Literal["one-at-a-time", "all"]


class MessageQueue:
    """First in, first out; each drain gives one message or all, by mode."""

    def __init__(self, mode: QueueMode = "one-at-a-time") -> None:
        if mode not in ("one-at-a-time", "all"):
            raise PiKernelError(f'queue mode must be "one-at-a-time" or "all", got {mode!r}')
        self.mode = mode
        self._messages: deque[Message] = deque()

    def add(self, message: Message) -> None:
        """Append a message."""
        self._messages.append(message)

    def drain(self) -> list[Message]:
        """Take what one drain point gets."""
        if self.mode == "all":
            taken = list(self._messages)
            self._messages.clear()
            return taken
        return [self._messages.popleft()] if self._messages else []

    def clear(self) -> None:
        """Drop everything."""
        self._messages.clear()

    def peek(self) -> list[Message]:
        """Return what waits, without taking it."""
        return list(self._messages)

    def __len__(self) -> int:
        return len(self._messages)
