"""The schema engine (jsonschema-rs): the only module that calls it, and only when a tool is used.

It answers whether a value is valid; what to say about one that is not is decided elsewhere. It
never reads a file or a network address: references are resolved before it sees a schema.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any
from urllib.parse import unquote, urlsplit

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import JsonValue, well_formed
from pi_kernel.runtime._kinds import is_array, is_object
from pi_kernel.runtime._patterns import to_engine_pattern

Check = Callable[[Any], bool]

FORMATS = frozenset(
    (
        "date",
        "date-time",
        "duration",
        "email",
        "hostname",
        "idn-email",
        "idn-hostname",
        "ipv4",
        "ipv6",
        "iri",
        "iri-reference",
        "json-pointer",
        "json-pointer-uri-fragment",
        "regex",
        "relative-json-pointer",
        "time",
        "uri",
        "uri-reference",
        "uri-template",
        "url",
        "uuid",
    )
)
"""Formats that are checked; schemas with others are used without them."""

MAX_PATTERN_BYTES = 64 * 1024 * 1024
"""The most memory that one compiled pattern may take."""

_HOST_SCHEMES = frozenset(("ftp", "http", "https", "ws", "wss"))
_POINTER = re.compile(r"(?:/(?:[^~/]|~[01])*)*")


def compile_check(schema: dict[str, Any]) -> Check:
    """Compile a JSON Schema 2020-12 into a function that says whether a value is valid.

    Raises:
        PiKernelError: If the engine refuses the schema.
    """
    import jsonschema_rs  # noqa: PLC0415 - 40 ms that a program without a call does not pay

    try:
        return jsonschema_rs.Draft202012Validator(
            schema,
            validate_formats=True,
            formats={"url": _is_url, "json-pointer-uri-fragment": _is_pointer_fragment},
            pattern_options=jsonschema_rs.FancyRegexOptions(size_limit=MAX_PATTERN_BYTES),
            offline=True,
        ).is_valid
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        problem = next(iter(str(error).splitlines()), "")
        raise PiKernelError(f"The parameter schema cannot be compiled: {problem}") from error


def unevaluated_parts(schema: dict[str, Any], value: JsonValue) -> list[str]:
    """Return what ``unevaluatedProperties`` or ``unevaluatedItems`` at the top refuses.

    Keys of an object; for a list one entry an item, of which only the number counts.
    """
    import jsonschema_rs  # noqa: PLC0415 - as above

    kinds = jsonschema_rs.ValidationErrorKind
    validator = jsonschema_rs.Draft202012Validator(schema, validate_formats=True, offline=True)
    return [
        str(part)
        for error in validator.iter_errors(value)
        if isinstance(error.kind, kinds.UnevaluatedProperties | kinds.UnevaluatedItems)
        and not error.instance_path
        for part in error.kind.unexpected
    ]


def answer(check: Check, value: JsonValue) -> bool:
    """Ask a compiled check about any JSON; lone surrogates count as U+FFFD."""
    try:
        return check(value)
    except UnicodeEncodeError:  # the engine reads UTF-8
        return check(_well_formed_copy(value))


@lru_cache(maxsize=1024)
def pattern_check(pattern: str) -> Check | None:
    """Return the search for a pattern, None when it is not a regular expression."""
    engine_pattern = usable_pattern(pattern)
    return None if engine_pattern is None else compile_check({"pattern": engine_pattern})


@lru_cache(maxsize=1024)
def usable_pattern(pattern: str) -> str | None:
    """Return the form of an ECMAScript pattern that the engine compiles, None if there is none."""
    for candidate in dict.fromkeys((to_engine_pattern(pattern), pattern)):
        try:
            compile_check({"pattern": candidate})
        except PiKernelError:
            continue
        return candidate
    return None


def _well_formed_copy(value: JsonValue) -> JsonValue:
    if isinstance(value, str):
        return well_formed(value)
    if is_object(value):
        return {well_formed(key): _well_formed_copy(item) for key, item in value.items()}
    if is_array(value):
        return [_well_formed_copy(item) for item in value]
    return value


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text.strip())
    except ValueError:
        return False
    return bool(parts.hostname if parts.scheme in _HOST_SCHEMES else parts.scheme)


def _is_pointer_fragment(text: str) -> bool:
    return text.startswith("#") and _POINTER.fullmatch(unquote(text[1:])) is not None
