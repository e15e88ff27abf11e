"""Small types about tools and models, and the declaration that a transcript stores."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from pi_kernel.protocol.json import JsonObject, WireModel, compact_json

__all__ = ("ModelInfo", "ToolAnnotations", "ToolDeclaration", "ToolNamespace")


class ToolAnnotations(WireModel):
    """Unverified hints. Absent reads as: not read-only, destructive, not idempotent, open world."""

    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class ToolNamespace(WireModel):
    """A group of tools.

    ``aliases`` are other names for look-ups, ``description`` is shown in listings,
    ``instructions`` are long guidance that is never listed.
    """

    name: str
    aliases: tuple[str, ...] | None = None
    description: str | None = None
    instructions: str | None = None


class ToolDeclaration(WireModel):
    """What a system message stores about a tool that the model may call."""

    name: str
    description: str
    parameters: JsonObject
    constrained_sampling: Any = None

    def same_as(self, other: ToolDeclaration | None) -> bool:
        """Whether both serialise to the same text."""
        return other is not None and compact_json(self.to_wire()) == compact_json(other.to_wire())


class ModelInfo(WireModel):
    """Which model answers, what input it takes, and how it wants images resized.

    ``image_resize`` has the snake_case keys ``max_width``, ``max_height``, ``max_bytes`` and
    ``jpeg_quality``; given keys override single defaults.
    """

    provider: str
    id: str
    input: tuple[str, ...] = ("text", "image")
    image_resize: dict[str, Any] | None = Field(default=None)

    def __init__(self, provider: Any = None, id: Any = None, /, **data: Any) -> None:  # noqa: A002 - the field's name
        if provider is not None:
            data["provider"] = provider
        if id is not None:
            data["id"] = id
        super().__init__(**data)
