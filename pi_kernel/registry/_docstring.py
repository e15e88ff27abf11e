"""What a docstring says about a function and its parameters, in the three common styles.

Google (``Args:``), numpy (``Parameters`` over dashes) and reST (``:param name:``). Text that fits
no style is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

__all__ = ("Docstring", "read_docstring")

_GOOGLE_HEADING = re.compile(
    r"(Args|Arguments|Params|Parameters|(Keyword|Other) (Args|Arguments|Parameters)):\s*"
)
_HEADING = re.compile(r"[A-Z][A-Za-z]*( [A-Za-z]+)?:\s*")
_GOOGLE_ENTRY = re.compile(
    r"(?P<names>\*{0,2}\w+(, ?\*{0,2}\w+)*)\s*(\((?:[^()]|\([^()]*\))*\))?\s*:(?:\s+|$)(?P<text>.*)"
)
_NUMPY_HEADING = re.compile(r"(Other )?Parameters\s*")
_UNDERLINE = re.compile(r"\s*-{3,}\s*")
_NUMPY_ENTRY = re.compile(r"(?P<names>\*{0,2}\w+(, ?\*{0,2}\w+)*)\s*(:.*)?")
_REST_FIELD = re.compile(r":(?P<field>\w+)(?P<argument>[^:]*):(?:\s+|$)(?P<text>.*)")
_REST_PARAMETER = frozenset({"param", "parameter", "arg", "argument", "key", "keyword"})


@dataclass(frozen=True, slots=True)
class Docstring:
    """The first paragraph, and one line of text a parameter."""

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict[str, str])


def read_docstring(text: str | None) -> Docstring:
    """Read a docstring as `inspect.getdoc` returns it: without the indentation of the code."""
    lines = (text or "").splitlines()
    parameters: dict[str, list[str]] = {}
    for number, line in enumerate(lines):
        if _GOOGLE_HEADING.fullmatch(line):
            _read_google(lines[number + 1 :], parameters)
        elif _NUMPY_HEADING.fullmatch(line) and _is_underlined(lines, number):
            _read_numpy(lines[number + 2 :], parameters)
    _read_rest(lines, parameters)
    return Docstring(
        summary=_joined(_first_paragraph(lines)),
        parameters={name: text for name, found in parameters.items() if (text := _joined(found))},
    )


def _joined(lines: Iterable[str]) -> str:
    return " ".join(stripped for line in lines if (stripped := line.strip()))


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _is_underlined(lines: list[str], number: int) -> bool:
    return number + 1 < len(lines) and _UNDERLINE.fullmatch(lines[number + 1]) is not None


def _first_paragraph(lines: list[str]) -> list[str]:
    """Return the lines up to a blank one, a section or a field."""
    paragraph: list[str] = []
    for number, line in enumerate(lines):
        is_section = (
            _HEADING.fullmatch(line) is not None
            and number + 1 < len(lines)
            and _indent(lines[number + 1]) > 0
        )
        if not line.strip() or is_section or _is_underlined(lines, number):
            break
        if _REST_FIELD.match(line):
            break
        paragraph.append(line)
    return paragraph


def _add(parameters: dict[str, list[str]], names: str, text: str) -> list[str]:
    """Start the text of one or more names; what is appended to the list belongs to all."""
    lines = [text]
    for name in names.split(","):
        parameters.setdefault(name.strip().lstrip("*"), lines)
    return lines


def _read_google(lines: list[str], parameters: dict[str, list[str]]) -> None:
    entry_indent: int | None = None
    current: list[str] | None = None
    for line in lines:
        if not line.strip():
            continue
        indent = _indent(line)
        if indent == 0:
            return
        if entry_indent is None:
            entry_indent = indent
        found = _GOOGLE_ENTRY.fullmatch(line.strip()) if indent <= entry_indent else None
        if found is not None:
            current = _add(parameters, found["names"], found["text"])
        elif current is not None:
            current.append(line)


def _read_numpy(lines: list[str], parameters: dict[str, list[str]]) -> None:
    current: list[str] | None = None
    for number, line in enumerate(lines):
        if _is_underlined(lines, number):
            return
        if not line.strip():
            continue
        found = _NUMPY_ENTRY.fullmatch(line) if _indent(line) == 0 else None
        if found is not None:
            current = _add(parameters, found["names"], "")
        elif _indent(line) == 0:
            return
        elif current is not None:
            current.append(line)


def _read_rest(lines: list[str], parameters: dict[str, list[str]]) -> None:
    current: list[str] | None = None
    for line in lines:
        found = _REST_FIELD.match(line)
        if found is not None:
            words = found["argument"].split()
            is_parameter = found["field"] in _REST_PARAMETER and bool(words)
            current = _add(parameters, words[-1], found["text"]) if is_parameter else None
        elif not line.strip():
            current = None
        elif current is not None:
            current.append(line)
