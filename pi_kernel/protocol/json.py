"""JSON values and the base of everything that is written to disk or sent on a wire.

Python attributes are snake_case, wire keys camelCase. A field that is None is absent on the wire;
nulls inside JSON values are data and stay.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from pi_kernel.errors import PiKernelError

__all__ = (
    "MAX_DEPTH_LEVELS",
    "JsonObject",
    "JsonValue",
    "WireModel",
    "check_depth",
    "compact_json",
    "to_wire_value",
    "well_formed",
)

MAX_DEPTH_LEVELS = 200
"""Readers of JSON recurse too: deeper values would fail at some later, unrelated place."""
CYCLE = "The result contains itself: a cycle cannot be written as JSON"
TOO_DEEP = f"The result is nested more than {MAX_DEPTH_LEVELS} levels deep"

JsonValue = Any
"""None, bool, int, float, str, list or dict of these (checked where values enter)."""
JsonObject = dict[str, Any]


class WireModel(BaseModel):
    """An immutable value with a camelCase wire form; unknown keys are kept."""

    model_config = ConfigDict(
        frozen=True,
        extra="allow",
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,
        arbitrary_types_allowed=True,
    )

    def to_wire(self) -> JsonObject:
        """Return plain JSON with camelCase keys; absent fields have no key."""
        wire: JsonObject = {}
        for name, field in type(self).model_fields.items():
            value = getattr(self, name)
            if value is not None:
                wire[field.alias or name] = to_wire_value(value)
        for name, value in (self.model_extra or {}).items():
            wire[name] = to_wire_value(value)
        return wire

    @classmethod
    def from_wire(cls, wire: Mapping[str, Any]) -> Self:
        """Read the form that `to_wire` writes."""
        return cls.model_validate(wire)


def to_wire_value(value: Any) -> Any:
    """Return the wire form of a value that may hold models at any depth.

    What JSON cannot say is replaced: NaN and infinities by null, lone surrogates by U+FFFD.
    """
    if isinstance(value, str):
        return well_formed(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {well_formed(str(key)): to_wire_value(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_wire_value(item) for item in value]
    convert = getattr(value, "to_wire", None)
    if convert is not None and not isinstance(value, type):
        return convert()
    return value


def check_depth(value: Any) -> None:
    """Refuse a value that no reader of JSON could take.

    Raises:
        PiKernelError: If it contains itself or is nested deeper than `MAX_DEPTH_LEVELS`.
    """
    if isinstance(value, dict | list | tuple):
        _check_depth(value, [], set())


def _check_depth(value: Any, above: list[int], checked: set[int]) -> None:
    if id(value) in above:
        raise PiKernelError(CYCLE)
    if len(above) == MAX_DEPTH_LEVELS:
        raise PiKernelError(TOO_DEEP)
    above.append(id(value))
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, dict | list | tuple) and id(item) not in checked:
            _check_depth(item, above, checked)
    checked.add(above.pop())


def compact_json(value: Any) -> str:
    """Return JSON without blanks, non-ASCII text kept."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def well_formed(text: str) -> str:
    """Return the text with lone surrogates replaced by U+FFFD, so that it can be sent as UTF-8."""
    if text.isascii():  # known without a look at the text
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
