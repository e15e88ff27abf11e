"""Where code of people stands, as they know it: a cell by its number, a file by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath

__all__ = ("place_of", "use_cell_numbers")

CELL_FILES = ("ipykernel_", "xpython_", "<ipython-input")
"""How the names begin that kernels give to the code of cells, of a folder or of a file."""

CellNumber = Callable[[str], "int | None"]


def _unknown(_file_name: str) -> int | None:
    return None


_cell_number: CellNumber = _unknown


def use_cell_numbers(number_of: CellNumber | None) -> None:
    """Tell how to find a cell's number; None forgets it.

    Args:
        number_of: Gives the execution count of the cell whose code has this file name, or None.
    """
    global _cell_number  # noqa: PLW0603 - one notebook a process
    _cell_number = number_of or _unknown


def place_of(file_name: str, line: int) -> str:
    """Return a place in code, such as ``cell [7], line 12`` or ``app.py, line 12``."""
    number = _cell_number(file_name)
    if number is not None:
        return f"cell [{number}], line {line}"
    path = PurePath(file_name)
    if any(part.startswith(CELL_FILES) for part in path.parts[-2:]):
        return f"the cell, line {line}"
    return f"{path.name}, line {line}"
