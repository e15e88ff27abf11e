"""Terminal output as static HTML: bold, italic, and red, green and yellow as grounds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pi_kernel.render._html import span
from pi_kernel.render._text import ESCAPES, TAG, escape_in_pre
from pi_kernel.render.formats import counted

__all__ = ("ansi_lines", "last_drawn")

RED = "background:rgba(229,72,77,0.22)"
GREEN = "background:rgba(46,160,67,0.22)"
YELLOW = "background:rgba(214,150,20,0.26)"
_BASIC = {1: RED, 2: GREEN, 3: YELLOW}
"""By the last digit of a colour's code. The other colours say nothing about a status."""
_COLOURS = re.compile(r"\x1b\[([0-9;:]*)m")
MAX_PARAMETERS = 32
MAX_CODE_DIGITS = 3
STRONG = 96
"""How much of a channel a colour needs to count as one."""


def ansi_lines(lines: Sequence[str]) -> list[str]:
    """Return HTML of each line; a colour stays on until the output changes it."""
    state = _State()
    return [_line(line, state) for line in lines]


def last_drawn(line: str) -> tuple[str, int]:
    """Return what a terminal shows of a line with carriage returns, and how much was redrawn."""
    if "\r" not in line:
        return line, 0
    parts = [part for part in line.split("\r") if part]
    return (parts[-1], len(parts) - 1) if parts else ("", 0)


def _line(line: str, state: _State) -> str:
    shown, redrawn = last_drawn(line)
    note = ""
    if redrawn:
        for match in _COLOURS.finditer(line, 0, len(line) - len(shown)):
            state.apply(match[1])
        note = span(TAG, counted(redrawn, "redraw")) + " "
    return note + "".join(_runs(shown, state))


def _runs(line: str, state: _State) -> Iterator[str]:
    position = 0
    for match in ESCAPES.finditer(line):
        if match.start() > position:
            yield state.wrap(escape_in_pre(line[position : match.start()]))
        position = match.end()
        colours = _COLOURS.fullmatch(match[0])
        if colours is not None:
            state.apply(colours[1])
    if position < len(line):
        yield state.wrap(escape_in_pre(line[position:]))


class _State:
    """What the escape sequences so far have switched on."""

    __slots__ = ("back", "fore", "is_bold", "is_faint", "is_italic", "is_underlined")

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.is_bold = self.is_faint = self.is_italic = self.is_underlined = False
        self.fore: str | None = None
        self.back: str | None = None

    def wrap(self, html: str) -> str:
        looks: list[str] = []
        if ground := self.back or self.fore:
            looks.append(ground)
        if self.is_faint:
            looks.append("opacity:0.75")
        if self.is_underlined:
            looks.append("text-decoration:underline")
        look = f' style="{";".join(looks)}"' if looks else ""
        if self.is_italic:
            html = f"<i>{html}</i>"
        if self.is_bold:
            return f"<b{look}>{html}</b>"
        return f"<span{look}>{html}</span>" if look else html

    def apply(self, parameters: str) -> None:
        """Obey one SGR sequence."""
        parts = re.split("[;:]", parameters)[:MAX_PARAMETERS]
        codes = iter([int(part[:MAX_CODE_DIGITS] or 0) for part in parts])
        for code in codes:
            if code in _EXTENDED:
                setattr(self, _EXTENDED[code], _extended(codes))
            elif code in _FORE:
                self.fore = _FORE[code]
            elif code in _BACK:
                self.back = _BACK[code]
            elif code == 0:
                self.clear()
            else:
                for name, is_on in _SWITCHES.get(code, ()):
                    setattr(self, name, is_on)


_FORE = {code: _BASIC.get(code % 10) for code in (*range(30, 38), 39, *range(90, 98))}
_BACK = {code: _BASIC.get(code % 10) for code in (*range(40, 48), 49, *range(100, 108))}
_EXTENDED = {38: "fore", 48: "back"}
INDEXED, CHANNELS = 5, 2
"""What follows the code of an extended colour: a number of the table, or three channels."""
CUBE_START, CUBE_END = 16, 232
_SWITCHES = {
    1: (("is_bold", True),),
    2: (("is_faint", True),),
    3: (("is_italic", True),),
    4: (("is_underlined", True),),
    22: (("is_bold", False), ("is_faint", False)),
    23: (("is_italic", False),),
    24: (("is_underlined", False),),
}


def _extended(codes: Iterator[int]) -> str | None:
    """Return the ground nearest to a colour of the table or of three channels, if there is one."""
    kind = next(codes, 0)
    if kind == CHANNELS:
        return _nearest(next(codes, 0), next(codes, 0), next(codes, 0))
    number = next(codes, 0) if kind == INDEXED else CUBE_END
    if number < CUBE_START:
        return _BASIC.get(number % 8)
    if number >= CUBE_END:
        return None
    cube = number - CUBE_START
    return _nearest(cube // 36 * 51, cube // 6 % 6 * 51, cube % 6 * 51)


def _nearest(red: int, green: int, blue: int) -> str | None:
    if red >= STRONG and red > 1.5 * max(green, blue):
        return RED
    if green >= STRONG and green > 1.3 * max(red, blue):
        return GREEN
    if min(red, green) >= STRONG and blue < 0.6 * min(red, green):
        return YELLOW
    return None
