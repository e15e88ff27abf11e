"""A folder in which permissions count, also where the tests run as root."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

NOBODY = 65534


@pytest.fixture
def unprivileged_folder() -> Iterator[Path]:
    """Return a folder of a user to whom permissions apply; the test runs as that user."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        is_root = os.geteuid() == 0
        if is_root:
            os.chown(folder, NOBODY, NOBODY)
            os.seteuid(NOBODY)
        try:
            yield folder
        finally:
            if is_root:
                os.seteuid(0)
            for path in (folder, *folder.iterdir()):
                if not path.is_symlink():
                    path.chmod(0o755)
