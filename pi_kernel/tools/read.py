"""The ``read`` tool: lines of a text file, or a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pi_kernel.protocol.content import ImageContent, TextContent
from pi_kernel.protocol.json import well_formed
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ModelInfo, ToolAnnotations
from pi_kernel.registry.definition import OnUpdate, ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._image_types import SNIFF_BYTES, sniff_image_type
from pi_kernel.tools._images import (
    MAX_IMAGE_FILE_BYTES,
    ImageOutcome,
    ResizeLimits,
    omitted_image,
    prepare_image,
)
from pi_kernel.tools._operations import check_operations
from pi_kernel.tools._paths import resolve_read_path, resolve_to_cwd, working_directory
from pi_kernel.tools._read_local import open_local_file
from pi_kernel.tools._read_remote import read_remote
from pi_kernel.tools._read_text import LineRange, select_lines, text_result
from pi_kernel.tools._text_select import Selection
from pi_kernel.tools._threads import StopCheck, run_abortable, until_aborted
from pi_kernel.tools._truncate import DEFAULT_MAX_BYTES, DEFAULT_MAX_LINES

__all__ = ("create",)

DESCRIPTION = (
    "Read a file. Text comes back as it is; an image (jpg, png, gif, webp, bmp) comes back as a"
    f" picture. Text is cut after {DEFAULT_MAX_LINES} lines or {DEFAULT_MAX_BYTES // 1024}KB,"
    " whichever comes first. Walk through a large file with offset and limit; when you need all"
    " of it, go on with the offset that the notice names until no notice comes."
)

PARAMETERS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "path": {"type": "string", "description": "The file, absolute or relative to the cwd"},
        "offset": {"type": "number", "description": "First line to return, counted from 1"},
        "limit": {"type": "number", "description": "Return at most this many lines"},
    },
    "required": ["path"],
}

OUTPUT_SCHEMA: dict[str, Any] = {
    "anyOf": [
        {"type": "string"},
        {
            "type": "object",
            "properties": {
                "type": {"type": "string", "const": "image"},
                "data": {"type": "string"},
                "mimeType": {"type": "string"},
                "note": {"type": "string"},
            },
            "required": ["type", "data", "mimeType", "note"],
        },
    ]
}


def create(
    cwd: str | None = None,
    *,
    operations: object | None = None,
    auto_resize_images: bool = True,
    resize_options: Mapping[str, Any] | None = None,
) -> ToolDefinition:
    """Return the ``read`` tool.

    Args:
        cwd: What relative paths refer to; None: the process's directory at each call. A context's
            own cwd wins.
        operations: I/O in place of the local files: ``read_file(path) -> bytes`` and
            ``access(path)``, which raises when the file cannot be read; optionally
            ``create_read_stream(path)``, an iterable of bytes, and
            ``detect_image_mime_type(path) -> str | None``.
        auto_resize_images: False: pictures keep their size, however large.
        resize_options: Any of ``max_width``, ``max_height``, ``max_bytes`` and ``jpeg_quality``;
            the model's own limits win.

    Raises:
        PiKernelError: If an operation is missing or a resize option does not exist.

    Source:
        Pi 1.6.0, ``createReadToolDefinition``.
    """
    own_limits = ResizeLimits.of(resize_options)
    if operations is not None:
        check_operations(operations, "read_file", "access", tool_name="read")

    async def execute(
        tool_call_id: str,
        params: dict[str, Any],
        signal: AbortSignal | None = None,
        on_update: OnUpdate | None = None,
        ctx: object = None,
    ) -> ToolResult:
        del tool_call_id, on_update
        model: ModelInfo | None = getattr(ctx, "model", None)
        limits = _limits_for(model, own_limits) if auto_resize_images else None
        directory = working_directory(ctx, cwd)
        path: str = params["path"]
        lines = LineRange(params.get("offset"), params.get("limit"))
        if operations is None:
            content = await run_abortable(
                lambda check_stop: _read_local(
                    path, directory, lines=lines, limits=limits, check_stop=check_stop
                ),
                signal,
            )
        else:
            resolved = resolve_to_cwd(path, directory)
            content = await until_aborted(
                lambda: read_remote(operations, resolved, lines=lines, limits=limits), signal
            )
        if isinstance(content, Selection):
            return text_result(content, lines, well_formed(path))
        return _image_result(content, model)

    return ToolDefinition(
        name="read",
        description=DESCRIPTION,
        parameters=PARAMETERS,
        output_schema=OUTPUT_SCHEMA,
        prompt_snippet="Look at a file: text or image",
        prompt_guidelines=("Look at files with read rather than with cat or sed.",),
        constrained_sampling={"type": "json_schema", "strict": "prefer"},
        annotations=ToolAnnotations(read_only_hint=True),
        is_read_only=lambda _: True,
        is_destructive=lambda _: False,
        activity=lambda params: f"Reading {params.get('path', '')}",
        execute=execute,
    )


def _read_local(
    path: str,
    cwd: str,
    *,
    lines: LineRange,
    limits: ResizeLimits | None,
    check_stop: StopCheck,
) -> Selection | ImageOutcome:
    """Read in the calling thread."""
    resolved = resolve_read_path(path, cwd)
    with open_local_file(resolved, shown=path, check_stop=check_stop) as file:
        mime_type = sniff_image_type(file.first_block[:SNIFF_BYTES])
        if mime_type is None:
            return select_lines(file.blocks, lines)
        if file.size_bytes > MAX_IMAGE_FILE_BYTES:
            return omitted_image(mime_type)
        data = b"".join(file.blocks())
    return prepare_image(data, mime_type, limits=limits, check_stop=check_stop)


def _limits_for(model: ModelInfo | None, own: ResizeLimits) -> ResizeLimits:
    """Return the model's limits if it has any, else the tool's own."""
    wanted = None if model is None else model.image_resize
    if wanted is None:
        return own
    known = ResizeLimits.__dataclass_fields__
    return ResizeLimits.of({key: value for key, value in wanted.items() if key in known})


def _image_result(image: ImageOutcome, model: ModelInfo | None) -> ToolResult:
    if image.data_base64 is None or image.mime_type is None:
        return ToolResult(image.note, structured_content=image.note)
    details = None
    if model is not None and "image" not in model.input:
        details = {"imageUnsupportedByModel": model.id}
    return ToolResult(
        [
            TextContent(image.note),
            ImageContent(data=image.data_base64, mime_type=image.mime_type),
        ],
        details=details,
        structured_content={
            "type": "image",
            "data": image.data_base64,
            "mimeType": image.mime_type,
            "note": image.note,
        },
    )
