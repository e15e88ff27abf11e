"""Arguments against a tool's parameter schema: coerced, checked, and explained when refused.

The one entry for the pipeline. How values are converted is in `coercion`, what is said about
refused ones in `_messages`, what is valid at all is the engine's decision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from pi_kernel.errors import PiKernelError
from pi_kernel.protocol.json import JsonObject, JsonValue
from pi_kernel.runtime._json_text import json_text
from pi_kernel.runtime._kinds import is_mapping, is_object, type_name
from pi_kernel.runtime._messages import Problem, find_problems
from pi_kernel.runtime._schema_reader import read_schema
from pi_kernel.runtime._whole_numbers import wants_integers, with_whole_numbers
from pi_kernel.runtime.arguments import ArgumentsNotJson, copy_json
from pi_kernel.runtime.coercion import changes_valid, coerce

__all__ = ("ArgumentsInvalid", "SchemaValidator", "compile_schema")

_SCALARS = frozenset((str, int, bool, type(None)))
_RECEIVED_INDENT = 2


class ArgumentsInvalid(PiKernelError):  # noqa: N818 - says what is wrong, like ToolTimeout
    """Arguments do not fit a tool's schema; the text is what the model reads."""

    @classmethod
    def of(
        cls, tool_name: str, problems: Iterable[Problem], *, received: JsonValue
    ) -> ArgumentsInvalid:
        """Return the error with Pi's frame around the problems.

        Args:
            tool_name: The tool that was called.
            problems: Pairs of a path (empty for the whole value) and a message.
            received: The arguments as they came, before coercion.

        Source:
            Pi 1.6.0, ``validateToolArguments``.

        Example:
            >>> print(ArgumentsInvalid.of("read", [(("path",), "missing")], received={}))
            Validation failed for tool "read":
              - path: missing
            <BLANKLINE>
            Received arguments:
            {}
        """
        lines = [
            f"  - {'.'.join(map(str, path)) if path else 'root'}: {message}"
            for path, message in problems
        ]
        frame = [f'Validation failed for tool "{tool_name}":', *lines, "", "Received arguments:"]
        return cls("\n".join([*frame, json_text(received, indent=_RECEIVED_INDENT)]))


class SchemaValidator:
    """A compiled parameter schema; may be used from any thread."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        nodes = read_schema(schema)
        self._root = nodes[0]
        self._is_valid = self._root.compile()
        self._wants_integers = any(wants_integers(node) for node in nodes)
        self._changes_valid = any(changes_valid(node) for node in nodes)

    def check(self, tool_name: str, arguments: JsonValue) -> JsonObject:
        """Return a call's own copy of its arguments, coerced and valid.

        Args:
            tool_name: The tool, for the error's text.
            arguments: Plain JSON; never changed and never shared with what is returned, so that
                hooks and tools may edit that in place.

        Raises:
            ArgumentsInvalid: If the arguments are not valid after coercion.

        Source:
            Pi 1.6.0, ``validateToolArguments``.
        """
        if type(arguments) is dict and not self._changes_valid:  # no call: every call comes here
            copied = arguments.copy()
            # Whole floats may have to become ints, NaN is no JSON: a closer look at both.
            for value in copied.values():
                if type(value) not in _SCALARS and not (type(value) is float and value % 1.0 > 0.0):
                    break
            else:
                try:
                    if self._is_valid(copied):
                        return copied
                except ValueError:  # a lone surrogate, which the engine cannot read
                    pass
        return self._check_any(tool_name, arguments)

    def _check_any(self, tool_name: str, arguments: JsonValue) -> JsonObject:
        received = arguments
        unwritable: list[Problem] = []
        try:
            received = copy_json(arguments)
        except ArgumentsNotJson as error:
            unwritable = [(error.path or (), error.problem)]
        try:
            if unwritable:  # the schema names NaN and infinities better, where it refuses them
                received = copy_json(arguments, keep_non_finite=True)
            value, problems = self._coerce(received)
        except ArgumentsNotJson:
            value, problems = None, unwritable
        except RecursionError:
            value, problems = None, [((), "nested too deeply to be checked")]
        problems = problems or unwritable
        if problems or not is_object(value):
            problems = problems or [((), f"expected object, got {type_name(value)}")]
            raise ArgumentsInvalid.of(tool_name, problems, received=received)
        return value

    def _coerce(self, value: JsonValue) -> tuple[Any, list[Problem]]:
        """Return the coerced value and what is wrong with it."""
        root = self._root
        if self._changes_valid or not root.accepts(value):
            value = coerce(root, value)
            if not root.accepts(value):
                return value, find_problems(root, value)
        return (with_whole_numbers(root, value) if self._wants_integers else value), []


def compile_schema(schema: Mapping[str, Any]) -> SchemaValidator:
    """Compile a tool's parameter schema, once for many checks.

    What is wrong with one place of a schema (a reference that names nothing or leads to another
    document, a pattern that is no regular expression) refuses the values at that place and leaves
    the rest usable. Nothing is read from files or the network.

    Args:
        schema: A JSON Schema of any draft since 4, read as 2020-12.

    Raises:
        PiKernelError: If it is not a schema at all.

    Example:
        >>> schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
        >>> compile_schema(schema).check("count", {"n": "42"})
        {'n': 42}
    """
    if not is_mapping(schema):
        raise PiKernelError(f"A parameter schema must be an object, got {type_name(schema)}")
    return SchemaValidator(schema)
