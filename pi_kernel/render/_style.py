"""The look of the static form: inline styles only, because saved notebooks keep nothing else.

Text never has a colour of its own: none is readable on both a white and a dark page. Colour is a
translucent ground, muted is opacity, everything else is inherited.
"""

from __future__ import annotations

from typing import Literal

__all__ = (
    "ARGUMENTS",
    "BAR",
    "CARD",
    "FAINT",
    "FOLD",
    "FONT",
    "FOOT",
    "HEAD",
    "LINE",
    "MARK",
    "META",
    "MONO",
    "MUTED",
    "PRE",
    "PROSE",
    "ROW",
    "Ground",
    "ground",
)

LINE = "1px solid rgba(128,128,128,0.40)"
FONT = "font-family:Menlo,Consolas,'DejaVu Sans Mono',monospace"
MONO = f"{FONT};font-size:12px"
ARGUMENTS = f"{MONO};margin-left:8px"
"""As far from the tool's name as that is from the word before it."""
MUTED = "opacity:0.75"
FAINT = "opacity:0.65"
CARD = f"border:{LINE};border-radius:6px;margin:0 0 8px 0;line-height:20px;font-size:13px"
HEAD = "padding:6px 12px;background:rgba(128,128,128,0.12);cursor:pointer"
META = "opacity:0.75;font-size:12px;margin-left:8px"
FOOT = f"padding:5px 12px;border-top:{LINE};font-size:12px;opacity:0.75"
FOLD = "padding:3px 12px;cursor:pointer;font-size:12px;opacity:0.75"
PRE = (
    "margin:0;padding:8px 12px;background:transparent;border:0;"
    f"{MONO};line-height:18px;white-space:pre;overflow:auto"
)
PROSE = PRE.replace("white-space:pre;", "white-space:pre-wrap;overflow-wrap:break-word;")
ROW = f"padding:4px 12px;border-top:{LINE};font-size:12px"
MARK = "background:rgba(255,204,0,0.40)"
WORD = "border-radius:3px;padding:1px 6px;margin-right:8px;font-size:12px"
BAR = "display:inline-block;height:8px;vertical-align:middle"

Ground = Literal["ok", "bad", "warn", "neutral"]

_GROUNDS: dict[Ground, str] = {
    "ok": "background:rgba(46,160,67,0.22)",
    "bad": "background:rgba(229,72,77,0.26)",
    "warn": "background:rgba(214,150,20,0.30)",
    "neutral": "background:rgba(128,128,128,0.30)",
}


def ground(kind: Ground) -> str:
    """Return the style of a word with the colour of its status behind it."""
    return f"{_GROUNDS[kind]};{WORD}"
