"""Where the tutorial notebooks are, and a copy of them that a person may change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pi_kernel
from pi_kernel.errors import PiKernelError

__all__ = ("FIRST", "own_copy", "shipped")

FIRST = "01_quickstart.ipynb"
COPIED = ("*.ipynb", "data/*")


def shipped() -> Path:
    """Return the folder of the tutorial notebooks: in the installed package, or in a checkout.

    Raises:
        PiKernelError: If neither has them.
    """
    package = Path(pi_kernel.__file__).parent
    for folder in (package / "tutorials", package.parent / "notebooks"):
        if (folder / FIRST).is_file():
            return folder
    raise PiKernelError("the tutorial notebooks are not part of this installation")


def own_copy(folder: Path) -> Path:
    """Copy the notebooks and their data into a folder, leaving alone what is there already.

    Returns:
        The first notebook's path.

    Raises:
        OSError: If a file cannot be written.
    """
    source = shipped()
    if folder.resolve() == source.resolve():
        return folder / FIRST
    for pattern in COPIED:
        for path in sorted(source.glob(pattern)):
            target = folder / path.relative_to(source)
            if not (target.exists() or target.is_symlink()):
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, target)
    return folder / FIRST
