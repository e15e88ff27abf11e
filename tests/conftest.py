"""What every test gets: the asyncio backend, no traces in the user's folders, no silent skips."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import pytest

MODULES = {
    "matplotlib": "matplotlib",
    "numpy": "numpy",
    "pandas": "pandas",
    "pillow": "PIL",
    "polars": "polars",
    "pyarrow": "pyarrow",
}
PROGRAMS = {"bwrap": "bwrap", "chromium": "chromium", "node": "node", "rg": "rg"}

# No deadline: a busy machine is not a fault. On CI the examples are the same on every run.
hypothesis.settings.register_profile("local", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "local")


def is_there(name: str) -> bool:
    """Whether a program or package can be used, by its name in PI_KERNEL_REQUIRE."""
    if name in MODULES:
        return importlib.util.find_spec(MODULES[name]) is not None
    program = shutil.which(PROGRAMS[name])
    if program is None or name != "bwrap":
        return program is not None
    # Without leave to make namespaces bubblewrap is installed and still of no use.
    probe = [program, "--ro-bind", "/", "/", "--unshare-all", "true"]
    return subprocess.run(probe, check=False, capture_output=True).returncode == 0  # noqa: S603


def pytest_sessionstart() -> None:
    """Stop, instead of skipping tests, when something in PI_KERNEL_REQUIRE is missing."""
    required = [name for name in os.environ.get("PI_KERNEL_REQUIRE", "").split(",") if name]
    unknown = sorted(set(required) - MODULES.keys() - PROGRAMS.keys())
    if unknown:
        pytest.exit(f"PI_KERNEL_REQUIRE lists unknown names: {', '.join(unknown)}", returncode=4)
    missing = [name for name in required if not is_there(name)]
    if missing:
        pytest.exit(f"required by PI_KERNEL_REQUIRE but missing: {', '.join(missing)}", 4)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests whose `needs(...)` are missing here; keep kernels and browsers on one worker."""
    there: dict[str, bool] = {}
    for item in items:
        if item.get_closest_marker("kernel") or item.get_closest_marker("browser"):
            item.add_marker(pytest.mark.xdist_group("kernels"))
        for marker in item.iter_markers("needs"):
            for name in marker.args:
                if not there.setdefault(name, is_there(name)):
                    item.add_marker(pytest.mark.skip(reason=f"needs {name}"))


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run async tests on asyncio, as a kernel does."""
    return "asyncio"


@pytest.fixture(scope="session", autouse=True)
def _private_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep sessions, IPython's history and kernel files out of the user's folders."""
    folder = tmp_path_factory.mktemp("home")
    names = ("PI_KERNEL_SESSION_DIR", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR", "JUPYTER_CONFIG_DIR")
    with pytest.MonkeyPatch.context() as patch:
        for name in names:
            path = Path(folder, name.lower())
            path.mkdir()
            patch.setenv(name, str(path))
        patch.setenv("MPLBACKEND", "agg")
        yield
