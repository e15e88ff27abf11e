"""What several tests of cards use."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with one small file."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src/app.py").write_text("import os\n\n\ndef f():\n    return 1  # one\n")
    return tmp_path
