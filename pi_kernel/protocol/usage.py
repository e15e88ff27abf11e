"""Token and money counts, and their sum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import WireModel

__all__ = ("Cost", "Usage", "add_usage", "as_usage")


class Cost(WireModel):
    """Money in US dollars."""

    input: float = 0
    output: float = 0
    cache_read: float = 0
    cache_write: float = 0
    total: float = 0
    total_from_provider: bool | None = None


class Usage(WireModel):
    """Tokens that model work took. ``reasoning`` is a part of ``output``."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cache_write_1h: int | None = Field(default=None, alias="cacheWrite1h")
    reasoning: int | None = None
    total_tokens: int = 0
    cost: Cost = Field(default_factory=Cost)


def as_usage(value: Any) -> Usage:
    """Read a usage, or its wire form.

    Raises:
        PiKernelError: If it is neither.
    """
    if isinstance(value, Usage):
        return value
    if isinstance(value, Mapping):
        try:
            return Usage.from_wire(value)
        except ValueError as error:
            raise PiKernelError(f"usage is not valid: {error}") from error
    raise PiKernelError(f"usage must be a Usage or a dict, got {type(value).__name__}")


def _optional_sum(left: int | None, right: int | None) -> int | None:
    return None if left is None and right is None else (left or 0) + (right or 0)


def add_usage(left: Usage | None, right: Usage | None) -> Usage | None:
    """Add two counts; None is no usage at all.

    Source: Pi 1.6.0: ``cost.totalFromProvider`` is written on every sum, true only if both are.
    """
    if left is None or right is None:
        return left if right is None else right
    a, b = left.cost, right.cost
    return Usage(
        input=left.input + right.input,
        output=left.output + right.output,
        cache_read=left.cache_read + right.cache_read,
        cache_write=left.cache_write + right.cache_write,
        # The checker knows the alias only.
        cache_write_1h=_optional_sum(  # pyright: ignore[reportCallIssue]
            left.cache_write_1h, right.cache_write_1h
        ),
        reasoning=_optional_sum(left.reasoning, right.reasoning),
        total_tokens=left.total_tokens + right.total_tokens,
        cost=Cost(
            input=a.input + b.input,
            output=a.output + b.output,
            cache_read=a.cache_read + b.cache_read,
            cache_write=a.cache_write + b.cache_write,
            total=a.total + b.total,
            total_from_provider=a.total_from_provider is True and b.total_from_provider is True,
        ),
    )
