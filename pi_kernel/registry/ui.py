"""What a tool can ask a person: the Protocol, and the form that has nobody to ask."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

__all__ = ("UI", "HeadlessUI")


class UI(Protocol):
    """Questions to the person; all are async."""

    async def confirm(self, title: str, message: str = "") -> bool:
        """Ask for yes or no; False when nobody can answer."""
        ...

    async def select(self, title: str, options: Sequence[str]) -> str | None:
        """Ask for one of the options; None when nobody chose."""
        ...

    async def input(self, title: str, placeholder: str = "") -> str | None:
        """Ask for a text; None when nobody answered."""
        ...

    async def notify(self, message: str, level: str = "info") -> None:
        """Tell something."""
        ...


class HeadlessUI:
    """Answers at once, as if nobody were there."""

    async def confirm(self, title: str, message: str = "") -> bool:  # noqa: ARG002 - the Protocol's
        """Return False."""
        return False

    async def select(self, title: str, options: Sequence[str]) -> str | None:  # noqa: ARG002
        """Return None."""
        return None

    async def input(self, title: str, placeholder: str = "") -> str | None:  # noqa: ARG002
        """Return None."""
        return None

    async def notify(self, message: str, level: str = "info") -> None:
        """Do nothing."""

    def __repr__(self) -> str:
        return "HeadlessUI()"
