"""Run all benchmarks: ``python -m tests.benchmarks.run``, with ``--no-quick`` more often."""

from __future__ import annotations

import argparse
from pathlib import Path

from tests.benchmarks import engine, notebook, tools
from tests.benchmarks._measure import REPETITIONS, report

QUICK_REPETITIONS = 3


def main() -> None:
    """Measure, print and keep the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick",
        action=argparse.BooleanOptionalAction,
        default=True,
        help=f"measure the slow ones {QUICK_REPETITIONS} times, not {REPETITIONS} (default)",
    )
    is_quick = parser.parse_args().quick
    figures = engine.figures() + notebook.figures()
    figures += tools.figures(QUICK_REPETITIONS if is_quick else REPETITIONS)
    report(figures, Path(__file__).parents[2] / "build" / "benchmarks.json")


if __name__ == "__main__":
    main()
