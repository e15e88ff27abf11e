"""Run one piece of `_work` in a new process and tell its seconds and how far its memory grew."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tests.benchmarks import _work

KIB = 1024
RESET_PEAK = "5"
"""What Linux takes for "forget the peak"."""
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


@dataclass(frozen=True)
class Run:
    """What one process has measured."""

    seconds: float
    peak_bytes: int
    """How far memory rose above what the process had before the work."""


def run_in_child(
    work: str, sample: Path, *, small: Path, temporary_folder: Path | None = None
) -> Run:
    """Do a piece of work in a new process: on the small sample first, so that all is imported."""
    folder = {} if temporary_folder is None else {"TMPDIR": str(temporary_folder)}
    done = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-m", __name__, work, str(sample), str(small)],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env=os.environ | folder,
    )
    return Run(**json.loads(done.stdout))


def main() -> None:
    """Work and print what it cost."""
    name, sample, small = sys.argv[1:]
    work = getattr(_work, name)
    work(small)
    with suppress(OSError):
        CLEAR.write_text(RESET_PEAK, encoding="ascii")
    before = _memory("VmRSS")
    seconds = work(sample)
    print(json.dumps({"seconds": seconds, "peak_bytes": _memory("VmHWM") - before}))


def _memory(key: str) -> int:
    """Return the memory now or at its peak; where there is no /proc, always the peak."""
    try:
        for line in STATUS.read_text(encoding="ascii").splitlines():
            if line.startswith(key):
                return int(line.split()[1]) * KIB
    except OSError:
        pass
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * KIB


if __name__ == "__main__":
    main()
