"""A pattern of find: which paths below a folder it means."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pi_kernel.tools._search.globs import Glob, GlobError, PathTest, parse_glob

__all__ = ("PathPattern", "read_path_pattern")


@dataclass(frozen=True, kw_only=True)
class PathPattern:
    """Which paths below a folder are found."""

    glob: Glob
    ignore_case: bool
    by_name: bool
    """Whether the last component is tested, instead of the prefix and the whole path."""
    prefix: bytes
    """What the path below the folder gets in front."""
    test: PathTest

    def matcher(self) -> Callable[[bytes], object]:
        """Return the test of a path below the folder."""
        matches = self.test.fullmatch
        if self.by_name:
            return lambda relative: matches(relative.rpartition(b"/")[2])
        return lambda relative: matches(self.prefix + relative)


def read_path_pattern(pattern: str, folder: bytes) -> PathPattern:
    """Read a pattern as fd does.

    Args:
        pattern: A glob; without ``/`` it is about names.
        folder: Absolute path of the folder that is searched.

    Raises:
        GlobError: If the pattern is not a valid glob, or too large.

    Source:
        Pi 1.6.0, ``find``; fd 10.2.0.
    """
    while pattern.startswith("./"):
        pattern = pattern.removeprefix("./")
    by_name = "/" not in pattern
    # fd matches whole paths: a pattern that is not absolute comes after the folder's own path. Any
    # folder does here; without one `**/` at the start would mean something else.
    prefix = "" if by_name or pattern.startswith("/") else "./"
    try:
        glob = parse_glob(prefix + (pattern or "**"), skip_unopened_brace=True)
        test = glob.compile(ignore_case=not glob.has_uppercase)
    except GlobError as error:
        raise GlobError(pattern, error.reason) from error
    return PathPattern(
        glob=glob,
        ignore_case=not glob.has_uppercase,
        by_name=by_name,
        prefix=prefix.encode() or folder.rstrip(b"/") + b"/",
        test=test,
    )
