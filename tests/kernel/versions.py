"""Run the kernel tests with other versions of ipykernel and IPython.

``python -m tests.kernel.versions [NAME ...]`` makes a virtual environment for each pair under
build/kernels (it needs a package index), runs tests/kernel with kernels of it and prints a table.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "kernels"
NEEDED = (
    "anyio", "anywidget", "ipywidgets", "jsonschema-rs", "numpy", "pandas", "pillow",
    "platformdirs", "psutil", "pydantic", "pygments",
)  # fmt: skip
PAIRS = {
    "k629-i820": ("ipykernel==6.29.0", "ipython==8.20.0"),
    "k629-i8": ("ipykernel==6.29.5", "ipython>=8.37,<9"),
    "k70-i8": ("ipykernel==7.0.1", "ipython>=8.37,<9"),
    "k73-i9": ("ipykernel==7.3.0", "ipython>=9,<9.10"),
}


def python_of(name: str) -> Path:
    """Return the interpreter of an environment, made when it is not there."""
    python = FOLDER / name / "bin" / "python"
    if not python.exists():
        venv.create(FOLDER / name, with_pip=True)
        subprocess.run(  # noqa: S603 - our own list of packages
            [python, "-m", "pip", "install", "-q", *PAIRS[name], *NEEDED], check=True
        )
    return python


def versions_of(python: Path) -> str:
    """Return what is installed."""
    code = "import IPython, ipykernel; print(ipykernel.__version__, IPython.__version__)"
    done = subprocess.run(  # noqa: S603 - our own code
        [python, "-c", code], check=True, capture_output=True, text=True
    )
    ours, shell = done.stdout.split()
    return f"ipykernel {ours}, IPython {shell}"


def main(names: list[str]) -> int:
    """Run the tests for some pairs, or for all."""
    rows, failed = [], 0
    for name in names or list(PAIRS):
        python = python_of(name)
        env = os.environ | {"PI_KERNEL_TEST_PYTHON": str(python)}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "tests/kernel", "-p", "no:cacheprovider"],
            cwd=ROOT,
            env=env,
            check=False,
            capture_output=True,
            text=True,
        )
        failed += done.returncode != 0
        names_failed = re.findall(r"^(?:FAILED|ERROR) (\S+)", done.stdout, re.MULTILINE)
        last = done.stdout.strip().splitlines()[-1]
        rows += [f"{versions_of(python):<40} {last}", *(f"    {test}" for test in names_failed)]
    sys.stdout.write("\n".join([*rows, ""]))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
