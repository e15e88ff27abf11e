"""Run all benchmarks: ``python -m tests.benchmarks.run``."""

from __future__ import annotations

from pathlib import Path

from tests.benchmarks import engine
from tests.benchmarks._measure import report


def main() -> None:
    """Measure, print and keep the figures."""
    report(engine.figures(), Path(__file__).parents[2] / "build" / "benchmarks.json")


if __name__ == "__main__":
    main()
