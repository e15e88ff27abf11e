"""The arguments of a call on one line, as each tool reads best."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from pi_kernel.render._json import compact_value
from pi_kernel.render._text import in_one_line
from pi_kernel.render.formats import counted
from pi_kernel.runtime.outcome import ToolOutcome

__all__ = ("MAX_SHOWN_CHARS", "args_of", "call_line", "is_shape_of")

MAX_CHARS = 400
"""Of a line before it is cut for a view."""
MAX_SHOWN_CHARS = 120
LONG_VALUE_CHARS = 40
"""A value longer than this stands last."""
INVALID = "[invalid arg]"

Args = Mapping[str, Any]


def call_line(
    name: str, args: Any, parameters: Mapping[str, Any] | None, *, max_chars: int = MAX_SHOWN_CHARS
) -> str:
    """Return the arguments on one line, such as ``src/app.py:1-40`` or ``limit=5 sql="..."``.

    Args:
        name: The tool's name.
        args: The arguments as given; anything but an object gives an empty line.
        parameters: The tool's JSON Schema, where there is one: it orders the arguments.
        max_chars: Cut to this length.

    Source:
        Pi 1.6.0, the call lines of its built-in tools; others ours.
    """
    if not isinstance(args, Mapping):
        return ""
    values = cast("Args", args)
    writer = _LINES.get(name)
    if writer is not None and is_shape_of(name, values):
        try:
            return in_one_line(writer(values), max_chars)
        except (OverflowError, ValueError):  # a number that no file has lines for
            pass
    return in_one_line(_pairs(values, parameters), max_chars)


def args_of(outcome: ToolOutcome) -> Args:
    """Return the arguments that execute got; as given where they were never validated."""
    args = getattr(outcome.call, "args", None)
    return cast("Args", args) if isinstance(args, Mapping) else outcome.args


def is_shape_of(name: str, args: Args) -> bool:
    """Whether these are arguments of the built-in tool of this name."""
    known = _KNOWN.get(name)
    if known is None:
        return False
    return known[0] in args or (name == "ls" and args.keys() <= set(known))


def _text(args: Args, key: str, otherwise: str | None = None) -> str:
    value = args.get(key, otherwise)
    return value[: MAX_CHARS * 2] if isinstance(value, str) else INVALID


def _path(args: Args, otherwise: str | None = None) -> str:
    return short_path(_text(args, "path", otherwise))


def short_path(path: str) -> str:
    """Return the path with ``~`` for the home folder."""
    home = str(Path.home())
    return f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path


def _number(args: Args, key: str) -> float | None:
    value = args.get(key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _read(args: Args) -> str:
    offset, limit = _number(args, "offset"), _number(args, "limit")
    if offset is None and limit is None:
        return _path(args)
    first = int(offset or 1)
    last = f"-{first + int(limit) - 1}" if limit is not None and limit >= 1 else ""
    return f"{_path(args)}:{first}{last}"


def _shell(prompt: str) -> Callable[[Args], str]:
    def line(args: Args) -> str:
        seconds = _number(args, "timeout")
        return f"{prompt} {_text(args, 'command')}" + (
            f" (timeout {seconds:g}s)" if seconds else ""
        )

    return line


def _grep(args: Args) -> str:
    glob = f" ({_text(args, 'glob')})" if args.get("glob") else ""
    limit = _number(args, "limit")
    end = f" limit {limit:g}" if limit else ""
    return f"/{_text(args, 'pattern')}/ in {_path(args, '.')}{glob}{end}"


def _find(args: Args) -> str:
    limit = _number(args, "limit")
    end = f" (limit {limit:g})" if limit else ""
    return f"{_text(args, 'pattern')} in {_path(args, '.')}{end}"


def _ls(args: Args) -> str:
    limit = _number(args, "limit")
    return _path(args, ".") + (f" (limit {limit:g})" if limit else "")


def _codemode(args: Args) -> str:
    code = args.get("code")
    if not isinstance(code, str):
        return INVALID
    return counted(len(code.rstrip("\n").split("\n")), "line")


_LINES: dict[str, Callable[[Args], str]] = {
    "read": _read,
    "bash": _shell("$"),
    "powershell": _shell("PS>"),
    "edit": _path,
    "write": _path,
    "grep": _grep,
    "find": _find,
    "ls": _ls,
    "codemode": _codemode,
}
_KNOWN = {
    "read": ("path",),
    "bash": ("command",),
    "powershell": ("command",),
    "edit": ("path",),
    "write": ("path",),
    "grep": ("pattern",),
    "find": ("pattern",),
    "ls": ("path", "limit"),
    "codemode": ("code",),
}
"""The argument that a tool cannot do without; of ls all of them, as it can."""


def _pairs(args: Args, parameters: Mapping[str, Any] | None) -> str:
    """Return ``key=value`` in the schema's order, the longest value last."""
    properties = (parameters or {}).get("properties")
    order = [*(cast("Args", properties) if isinstance(properties, Mapping) else ()), *args]
    names = [name for name in dict.fromkeys(order) if name in args]
    pairs = [f"{name}={compact_value(args[name], MAX_CHARS)}" for name in names]
    longest = max(pairs, key=len, default="")
    if len(longest) > LONG_VALUE_CHARS:
        pairs.remove(longest)
        pairs.append(longest)
    return " ".join(pairs)
