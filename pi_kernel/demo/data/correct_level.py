#!/usr/bin/env python3
"""Take the offset of the staff gauges out: ``correct_level.py readings.csv > corrected.csv``."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path

OFFSETS_CM = {"BV1": 0.8, "BV2": -0.3, "BV3": 1.1}
"""From the field notes; BV4 has none, its gauge was bent."""


def corrected(readings: Path) -> Iterator[dict[str, str]]:
    """Give each reading with its corrected level, empty where there is no offset."""
    with readings.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            offset_cm = OFFSETS_CM.get(row["station"])
            level_cm = float(row["level_cm"])
            row["level_cm"] = "" if offset_cm is None else f"{level_cm - offset_cm:.1f}"
            yield row


if __name__ == "__main__":
    rows = list(corrected(Path(sys.argv[1])))
    writer = csv.DictWriter(sys.stdout, fieldnames=list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
