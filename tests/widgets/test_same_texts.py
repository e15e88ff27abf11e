"""The live views write as the static forms do: `widgets/test` checks the same examples."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pi_kernel.render import formats
from pi_kernel.render._text import plain, strip_escapes

HERE = Path(__file__).parent
FORMATS = json.loads((HERE / "formats.json").read_text(encoding="utf-8"))
TEXTS = json.loads((HERE / "texts.json").read_text(encoding="utf-8"))


def _counted(n: int) -> str:
    return formats.counted(n, "call")


MAKERS: dict[str, Callable[[Any], str]] = {
    "duration": lambda ms: formats.duration(math.nan if ms is None else ms),
    "size": formats.size,
    "count": formats.count,
    "counted": _counted,
    "money": formats.money,
}


@pytest.mark.parametrize("name", FORMATS)
def test_numbers_are_written_alike(name: str) -> None:
    assert [[value, MAKERS[name](value)] for value, _ in FORMATS[name]] == FORMATS[name]


@pytest.mark.parametrize(("text", "shown"), TEXTS["plain"])
def test_hidden_characters_are_named_alike(text: str, shown: str) -> None:
    assert plain(text) == shown


@pytest.mark.parametrize(("text", "shown"), TEXTS["escapes"])
def test_escape_sequences_are_left_out_alike(text: str, shown: str) -> None:
    assert strip_escapes(text) == shown
