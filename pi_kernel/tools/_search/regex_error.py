"""The text of an error in a regular expression: the pattern, marks below it, and the reason.

Source:
    regex-syntax 0.8.11, ``error.rs``.
"""

from __future__ import annotations

__all__ = ("RegexError", "Span", "refused", "syntax_error")

Span = tuple[int, int]
"""Start and end in the pattern, in characters."""

INDENT = "    "
DIVIDER = "~" * 79


class RegexError(ValueError):
    """A pattern that ripgrep would refuse; the text is ripgrep's without ``rg: ``."""


def syntax_error(pattern: str, reason: str, *spans: Span) -> RegexError:
    """Return the error for a pattern that cannot be parsed."""
    marked, across = _marked(pattern, spans)
    if "\n" in pattern:
        marked = "\n".join([DIVIDER, marked + DIVIDER, *across, ""])
    text = f"regex parse error:\n{marked}error: {reason}"
    if reason.startswith(("backreferences", "look-around")):
        text += (
            "\n\nConsider enabling PCRE2 with the --pcre2 flag, which can handle backreferences\n"
            "and look-around."
        )
    return RegexError(text)


def refused(byte: str) -> RegexError:
    """Return the error for a pattern that needs a newline or a NUL byte."""
    if byte == "\n":
        return RegexError(
            'the literal "\\n" is not allowed in a regex\n\n'
            "Consider enabling multiline mode with the --multiline flag (or -U for short).\n"
            "When multiline mode is enabled, new line characters can be matched."
        )
    return RegexError(
        'pattern contains "\\0" but it is impossible to match\n\n'
        "Consider enabling text mode with the --text flag (or -a for short). Otherwise,\n"
        "binary detection is enabled and matching a NUL byte is impossible."
    )


def _marked(pattern: str, spans: tuple[Span, ...]) -> tuple[str, list[str]]:
    """Return the pattern with a line of marks below, and notes on spans over several lines."""
    places = sorted((_place(pattern, start), _place(pattern, end)) for start, end in spans)
    across = [
        f"on line {first[0]} (column {first[1]}) through line {last[0]} (column {last[1] - 1})"
        for first, last in places
        if first[0] != last[0]
    ]
    lines = pattern.split("\n")
    width = len(str(len(lines))) if len(lines) > 1 else 0
    indent = " " * (width + 2) if width else INDENT
    text = ""
    for number, line in enumerate(lines, 1):
        if number == len(lines) > 1 and not line:
            break
        text += f"{number:>{width}}: {line}\n" if width else f"{INDENT}{line}\n"
        marks = ""
        for first, last in places:
            if first[0] == last[0] == number:
                marks = marks.ljust(first[1] - 1) + "^" * max(1, last[1] - first[1])
        if marks:
            text += f"{indent}{marks}\n"
    return text, across


def _place(pattern: str, at: int) -> tuple[int, int]:
    before = pattern[:at]
    return before.count("\n") + 1, at - (before.rfind("\n") + 1) + 1
