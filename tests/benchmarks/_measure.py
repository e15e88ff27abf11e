"""Interleaved repetitions, ratios of minima, and the table that is printed and kept."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

REPETITIONS = 7
SHOWN_IN_MS_SECONDS = 0.01
LIBRARIES = ("pi-kernel", "pydantic", "anyio", "jsonschema-rs")


@dataclass
class Figure:
    """One figure: ours against a peer, with the limit that it should keep."""

    name: str
    value: float
    unit: str
    limit: float | None = None
    goal: float | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    note: str = ""
    """What the value was made of, where it is not seconds."""

    @property
    def is_over(self) -> bool:
        """Whether the limit is passed."""
        return self.limit is not None and self.value > self.limit

    def line(self) -> str:
        """Return the row that is printed."""
        limit = "" if self.limit is None else f"  limit {self.limit:g}"
        goal = "" if self.goal is None else f"  goal {self.goal:g}"
        times = ", ".join(f"{name} {_duration(s)}" for name, s in self.seconds.items())
        over = "  OVER" if self.is_over else ""
        made_of = f"  ({times or self.note})"
        return f"{self.name:<58} {self.value:8.2f} {self.unit:<6}{limit}{goal}{made_of}{over}"


def _duration(seconds: float) -> str:
    if seconds < SHOWN_IN_MS_SECONDS:
        return f"{seconds * 1e6:.2f} us"
    return f"{seconds * 1e3:.1f} ms"


def minima(
    runs: dict[str, Callable[[], float]], repetitions: int = REPETITIONS
) -> dict[str, float]:
    """Run each in turn, several times over, and return the least seconds of each.

    Each function returns the seconds that its work took. Turns are taken one by one so that a
    machine whose speed drifts slows all alike.
    """
    best = dict.fromkeys(runs, float("inf"))
    for _ in range(repetitions):
        for name, run in runs.items():
            best[name] = min(best[name], run())
    return best


def timed(work: Callable[[], object]) -> float:
    """Return the seconds that a piece of work takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def report(figures: list[Figure], file: Path) -> None:
    """Print the figures and keep them with versions and load."""
    for figure in figures:
        print(figure.line())
    over = sum(figure.is_over for figure in figures)
    print(f"{len(figures)} figures, {over} over their limit")
    file.parent.mkdir(parents=True, exist_ok=True)
    content = {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": {name: metadata.version(name) for name in LIBRARIES},
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "repetitions": REPETITIONS,
        "figures": [
            {
                "name": f.name,
                "value": f.value,
                "unit": f.unit,
                "limit": f.limit,
                "goal": f.goal,
                "over": f.is_over,
                "seconds": f.seconds,
                "note": f.note,
            }
            for f in figures
        ],
    }
    file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    sys.stdout.flush()
