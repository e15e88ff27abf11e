"""Tools as a user might write them: made with `tool`, calling other tools through their context."""

from __future__ import annotations

import contextlib
import csv
import io
import math
import statistics
from collections.abc import Sequence
from typing import Any

from pi_kernel import ToolAnnotations, ToolCallError, ToolContext, tool

__all__ = ("describe", "describe_text", "names_in", "survey")

DELIMITERS = {".csv": ",;", ".tsv": "\t"}
"""By suffix; of several the one that is most frequent in the header counts."""
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "-"})
MEAN_DIGITS = 4


@tool(annotations=ToolAnnotations(read_only_hint=True))
async def describe(path: str, ctx: ToolContext) -> dict[str, Any]:
    """Describe a text file: its lines and words and, of a table, the mean of each number column.

    Args:
        path: The file, relative to the working directory.
        ctx: Where the file is read through.
    """
    file = await ctx.execute_tool("read", {"path": path})
    if file.is_error:
        raise ToolCallError(file.text)
    return {"path": path, **describe_text(file.text, name=path)}


@tool(annotations=ToolAnnotations(read_only_hint=True))
async def survey(ctx: ToolContext, folder: str = ".") -> dict[str, Any]:
    """Describe every file of a folder and add up what they hold.

    Args:
        ctx: Where the folder is listed and its files are described through.
        folder: The folder, relative to the working directory.
    """
    listing = await ctx.execute_tool("ls", {"path": folder})
    if listing.is_error:
        raise ToolCallError(listing.text)
    files: list[dict[str, Any]] = []
    for name in names_in(listing.text):
        path = name if folder == "." else f"{folder}/{name}"
        described = await ctx.execute_tool("describe", {"path": path})
        if not described.is_error:
            files.append(described.value)
    longest = max(files, key=lambda file: file["words"], default=None)
    return {
        "files": len(files),
        "lines": sum(file["lines"] for file in files),
        "words": sum(file["words"] for file in files),
        "mostWords": longest["path"] if longest else None,
    }


def names_in(listing: str) -> list[str]:
    """Return the files in what ``ls`` printed, without the folders and without its notices."""
    names = listing.partition("\n\n")[0].split("\n")
    return [name for name in names if name and not name.endswith("/") and name[0] != "("]


def describe_text(text: str, *, name: str) -> dict[str, Any]:
    r"""Return lines, words and, where the name is a table's, the means of its columns.

    Example:
        >>> describe_text("site,height\nA,2\nB,4\n", name="sites.csv")
        {'lines': 3, 'words': 3, 'means': {'height': 3.0}}
    """
    facts: dict[str, Any] = {
        "lines": text.count("\n") + (not text.endswith("\n") and text != ""),
        "words": len(text.split()),
    }
    means = _column_means(text, name)
    return facts | {"means": means} if means else facts


def _column_means(text: str, name: str) -> dict[str, float]:
    delimiters = DELIMITERS.get(name[name.rfind(".") :].lower()) if "." in name else None
    if delimiters is None:
        return {}
    header = text.partition("\n")[0]
    delimiter = max(delimiters, key=header.count)
    try:
        rows = list(csv.reader(io.StringIO(text.removeprefix("\ufeff")), delimiter=delimiter))
    except csv.Error:
        return {}
    means: dict[str, float] = {}
    for index, title in enumerate(rows[0] if rows else ()):
        values = _numbers([row[index] for row in rows[1:] if index < len(row)])
        # Sums of huge numbers overflow; such a column has no mean.
        with contextlib.suppress(OverflowError):
            if values:
                means[title.strip()] = round(statistics.fmean(values), MEAN_DIGITS)
    return means


def _numbers(cells: Sequence[str]) -> list[float]:
    """Return the numbers of a column, or none when anything but numbers is in it."""
    numbers: list[float] = []
    for cell in cells:
        if cell.strip().lower() in MISSING:
            continue
        try:
            number = float(cell)
        except ValueError:
            return []
        if not math.isfinite(number):
            return []
        numbers.append(number)
    return numbers
