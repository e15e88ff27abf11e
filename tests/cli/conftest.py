"""What the commands about Jupyter need: a private home, notebooks, and a way to run them."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-m", "pi_kernel")
WAIT_SECONDS = 20


@dataclass(frozen=True)
class Desk:
    """A working directory of a person whose home folder is empty."""

    path: Path
    home: Path

    @property
    def environment(self) -> dict[str, str]:
        """What the command gets."""
        return {
            **os.environ,
            "HOME": str(self.home),
            "JUPYTER_DATA_DIR": str(self.home / "data"),
            "PYTHONPATH": str(ROOT),
        }

    def run(self, *arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a command line to its end."""
        environment = self.environment | options.pop("environment", {})
        return subprocess.run(  # noqa: S603 - our own program
            [*COMMAND, *arguments],
            cwd=self.path,
            env=environment,
            check=False,
            capture_output=True,
            encoding="utf-8",
            **options,
        )

    def start(self, *arguments: str, **options: Any) -> subprocess.Popen[bytes]:
        """Start a command line."""
        environment = self.environment | options.pop("environment", {})
        return subprocess.Popen(  # noqa: S603 - our own program
            [*COMMAND, *arguments], cwd=self.path, env=environment, **options
        )

    def notebook(self, *cells: str, name: str = "some.ipynb", **metadata: Any) -> Path:
        """Write a notebook of code cells."""
        v4: Any = nbformat.v4
        made = v4.new_notebook(cells=[v4.new_code_cell(cell) for cell in cells], metadata=metadata)
        path = self.path / name
        path.write_text(nbformat.writes(made), encoding="utf-8")
        return path

    def without(self, module: str) -> dict[str, str]:
        """Return the environment of a Python in which a module is not installed."""
        folder = self.home / f"without-{module}"
        folder.mkdir()
        code = f"import sys\nsys.modules[{module!r}] = None\n"
        (folder / "sitecustomize.py").write_text(code, encoding="utf-8")
        return {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"}


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A desk of its own for each test."""
    made = Desk(tmp_path / "work", tmp_path / "home")
    made.path.mkdir()
    made.home.mkdir()
    return made


@pytest.fixture
def wait_for() -> Callable[[Callable[[], Any]], Any]:
    """Ask until there is an answer."""

    def wait(condition: Callable[[], Any]) -> Any:
        end = time.monotonic() + WAIT_SECONDS
        while not (answer := condition()):
            assert time.monotonic() < end
            time.sleep(0.01)
        return answer

    return wait
