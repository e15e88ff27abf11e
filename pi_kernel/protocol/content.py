"""Content blocks: what messages and tool results are made of."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from pi_kernel.protocol.json import JsonObject, WireModel, well_formed

__all__ = (
    "AssistantContent",
    "ImageContent",
    "ResultContent",
    "TextContent",
    "ThinkingContent",
    "ToolCall",
)


class TextContent(WireModel):
    """A piece of text. Lone surrogates, which no file and no wire can hold, become U+FFFD."""

    type: Literal["text"] = "text"
    text: str
    text_signature: str | None = None

    def __init__(self, text: Any = None, /, **data: Any) -> None:
        if text is None:
            text = data.get("text")
        if isinstance(text, str):
            text = well_formed(text)
        if text is not None:
            data["text"] = text
        super().__init__(**data)


class ImageContent(WireModel):
    """A picture: base64 text without a ``data:`` prefix, and its media type."""

    type: Literal["image"] = "image"
    data: str
    mime_type: str


class ThinkingContent(WireModel):
    """Reasoning of a model; only in assistant messages."""

    type: Literal["thinking"] = "thinking"
    thinking: str
    thinking_signature: str | None = None
    redacted: bool | None = None


class ToolCall(WireModel):
    """One request of a model to run a tool.

    ``arguments`` is exactly what the model sent and is never changed by the pipeline.
    ``arguments_error`` is set when the model's argument text was not a JSON object; ``arguments``
    is then empty.
    """

    type: Literal["toolCall"] = "toolCall"
    id: str
    name: str
    arguments: JsonObject = Field(default_factory=dict)
    arguments_error: str | None = None
    thought_signature: str | None = None
    namespace: str | None = None


ResultContent = Annotated[TextContent | ImageContent, Field(discriminator="type")]
AssistantContent = Annotated[
    TextContent | ThinkingContent | ToolCall | ImageContent, Field(discriminator="type")
]
