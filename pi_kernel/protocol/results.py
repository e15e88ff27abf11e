"""What one run of a tool gives back, before hooks: `ToolResult`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.content import ImageContent, TextContent
from pi_kernel.protocol.json import JsonObject, check_depth, to_wire_value, well_formed
from pi_kernel.protocol.usage import Usage, as_usage

__all__ = ("ABSENT", "Absent", "ToolResult", "content_blocks", "error_result", "text_of")


class Absent:
    """The type of `ABSENT`: a field that has no value, where None would be a value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ABSENT"

    def __bool__(self) -> Literal[False]:
        return False


ABSENT: Final = Absent()

Block = TextContent | ImageContent


class ToolResult:
    """What a tool's ``execute`` returns.

    Args:
        content: What the model sees: a text, or a list of `TextContent`, `ImageContent`, their
            wire forms or texts. Missing content is an empty list.
        details: JSON for people and logs; kept with the result, never sent to a model.
        structured_content: A JSON value for programs. None is a value; leave it out for no value.
        usage: Model work that the tool itself did: a `Usage` or its wire form.
        is_error: A failure told without raising; the other fields are kept.
        terminate: A vote to end the agent's run after this batch.
        value: The live Python object, for callers in the same process.

    Raises:
        PiKernelError: If ``content`` is neither text nor a list of blocks, or ``usage`` no usage.
    """

    __slots__ = (
        "_content",
        "_structured",
        "_structured_factory",
        "details",
        "is_error",
        "terminate",
        "usage",
        "value",
    )

    def __init__(  # noqa: PLR0913 - one argument a field, all but the first by keyword
        self,
        content: str | Iterable[Block | str | Mapping[str, Any]] | Block | None = None,
        *,
        details: Any = None,
        structured_content: Any = ABSENT,
        usage: Usage | Mapping[str, Any] | None = None,
        is_error: bool = False,
        terminate: bool | None = None,
        value: Any = ABSENT,
    ) -> None:
        self._content: list[Block] | None = content_blocks(content)
        self.details = details
        self._structured = structured_content
        self._structured_factory: Any = None
        self.usage = None if usage is None else as_usage(usage)
        self.is_error = is_error
        self.terminate = terminate
        self.value = value

    @classmethod
    def of_scalar(cls, value: str | float | bool | None) -> ToolResult:  # noqa: FBT001 - the value
        """Wrap a JSON scalar; its text block is made when somebody reads it."""
        result = cls.__new__(cls)
        result._content = None
        result.details = None
        result._structured = ABSENT if type(value) is str else value
        result._structured_factory = None
        result.usage = None
        result.is_error = False
        result.terminate = None
        result.value = value
        return result

    @property
    def content(self) -> list[Block]:
        """The blocks that the model sees."""
        if self._content is None:
            value = self.value
            text = well_formed(value) if type(value) is str else json.dumps(value)
            self._content = [TextContent(text)]
        return self._content

    @property
    def has_structured_content(self) -> bool:
        """Whether there is structured content; a present null counts."""
        return self._structured is not ABSENT or self._structured_factory is not None

    @property
    def structured_content(self) -> Any:
        """The value for programs, or None when there is none."""
        if self._structured_factory is not None:
            self._structured, self._structured_factory = self._structured_factory(), None
        return None if self._structured is ABSENT else self._structured

    def check(self) -> ToolResult:
        """Return the result itself, when its details and structured content can be JSON.

        Raises:
            PiKernelError: If one of them contains itself or is nested too deep.
        """
        if self.details is not None:
            check_depth(self.details)
        if type(self._structured) is dict or type(self._structured) is list:
            check_depth(self._structured)
        return self

    def with_structured_factory(self, factory: Any) -> ToolResult:
        """Set structured content that is made on first use, for large values such as tables."""
        self._structured_factory = factory
        return self

    def replace(
        self,
        *,
        content: list[Block] | None = None,
        details: Any = None,
        structured_content: Any = ABSENT,
        usage: Usage | None = None,
        terminate: bool | None = None,
    ) -> ToolResult:
        """Return a copy with the given fields; new content drops structured content.

        A field counts as given when it is not None; an empty list is given. The live value goes
        when the content or the structured content is replaced.
        """
        new = ToolResult.__new__(ToolResult)
        new._content, new.value = self._content, self.value
        new._structured, new._structured_factory = self._structured, self._structured_factory
        is_structured_given = structured_content is not ABSENT and structured_content is not None
        if content is not None or is_structured_given:
            new._content = self.content if content is None else content
            new._structured = structured_content if is_structured_given else ABSENT
            new._structured_factory = None
            new.value = ABSENT
        new.details = self.details if details is None else details
        new.usage = self.usage if usage is None else usage
        new.is_error = self.is_error
        new.terminate = self.terminate if terminate is None else terminate
        return new

    def to_wire(self) -> JsonObject:
        """Return plain JSON with camelCase keys; absent fields have no key."""
        wire: JsonObject = {"content": [block.to_wire() for block in self.content]}
        if self.details is not None:
            wire["details"] = to_wire_value(self.details)
        if self.has_structured_content:
            wire["structuredContent"] = to_wire_value(self.structured_content)
        if self.usage is not None:
            wire["usage"] = self.usage.to_wire()
        if self.is_error:
            wire["isError"] = True
        if self.terminate is not None:
            wire["terminate"] = self.terminate
        return wire

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ToolResult) and self.to_wire() == other.to_wire()

    __hash__ = None  # type: ignore[assignment]  # mutable details

    def __repr__(self) -> str:
        return f"ToolResult({text_of(self.content)!r}, is_error={self.is_error})"


def content_blocks(content: Any) -> list[Block]:
    """Read content in any of the accepted forms.

    Raises:
        PiKernelError: If it is neither a text nor a list of blocks.
    """
    if content is None:
        return []
    if isinstance(content, str | TextContent | ImageContent):
        content = [content]
    if isinstance(content, Mapping) or not isinstance(content, Iterable):
        raise PiKernelError(
            "content must be a text or a list of text and image blocks,"
            f" got {type(content).__name__}"
        )
    return [_block(item) for item in content]


def _block(item: Any) -> Block:
    if isinstance(item, TextContent | ImageContent):
        return item
    if isinstance(item, str):
        return TextContent(well_formed(item))
    if isinstance(item, Mapping):
        kind = item.get("type")
        try:
            if kind == "text":
                return TextContent.from_wire(item)
            if kind == "image":
                return ImageContent.from_wire(item)
        except ValueError as error:
            raise PiKernelError(f"content block is not valid: {error}") from error
        raise PiKernelError(f'content block type must be "text" or "image", got {kind!r}')
    raise PiKernelError(f"content block must be a text or image block, got {type(item).__name__}")


def text_of(content: Iterable[Block]) -> str:
    """Join the text blocks by newlines."""
    return "\n".join(block.text for block in content if isinstance(block, TextContent))


def error_result(text: str) -> ToolResult:
    """Return the error result that the pipeline makes: one text block, empty details."""
    return ToolResult([TextContent(well_formed(text))], details={}, is_error=True)
