"""`AgentRun`: what one prompt led to."""

from __future__ import annotations

from dataclasses import dataclass

from pi_kernel.protocol.messages import (
    AssistantMessage,
    Message,
    StopReason,
    ToolResultMessage,
)
from pi_kernel.protocol.usage import Usage, add_usage

__all__ = ("AgentRun",)

SHOWN_CHARS = 80
"""Of the last text or error in a repr."""


@dataclass(frozen=True, slots=True)
class AgentRun:
    """The messages of one run, in order, and what they say in short."""

    messages: list[Message]

    @property
    def replies(self) -> list[AssistantMessage]:
        """The model's replies."""
        return [m for m in self.messages if isinstance(m, AssistantMessage)]

    @property
    def text(self) -> str:
        """The text of the last reply."""
        return self.replies[-1].text if self.replies else ""

    @property
    def stop_reason(self) -> StopReason | None:
        """Why the last reply stopped."""
        return self.replies[-1].stop_reason if self.replies else None

    @property
    def error_message(self) -> str | None:
        """Why the run failed or was aborted, or None."""
        return self.replies[-1].error_message if self.replies else None

    @property
    def turns(self) -> int:
        """How many replies there were."""
        return len(self.replies)

    @property
    def usage(self) -> Usage | None:
        """Model work of the replies and of the tools."""
        total = None
        for message in self.messages:
            if isinstance(message, AssistantMessage | ToolResultMessage):
                total = add_usage(total, message.usage)
        return total

    def __repr__(self) -> str:
        noun = "turn" if self.turns == 1 else "turns"
        said = self.error_message or self.text
        return f"<AgentRun: {self.turns} {noun}, {self.stop_reason}: {said[:SHOWN_CHARS]!r}>"
