"""Which ignore files ripgrep and fd honour, below a given folder."""
# Paths are bytes here: names need not be UTF-8.
# ruff: noqa: PTH118, PTH120

from __future__ import annotations

import os

from pi_kernel.tools._search.git_excludes import config_home, global_excludes_file
from pi_kernel.tools._search.ignore import GIT, IgnoreFiles, read_rules

__all__ = ("fd_files", "ripgrep_files")

JUJUTSU = b".jj"


def ripgrep_files() -> IgnoreFiles:
    """Return what ``rg`` honours: ``.gitignore`` inside repositories only.

    Source:
        ripgrep 15.2.0, ``walk_builder``.
    """
    return IgnoreFiles(
        custom=b".rgignore",
        require_git=True,
        repository_marks=(GIT, JUJUTSU),
        global_git=read_rules(*_global_excludes()),
    )


def fd_files(start: bytes) -> IgnoreFiles:
    """Return what ``fd`` honours below a folder, with ``--no-require-git`` outside repositories.

    Args:
        start: Absolute path of the folder.

    Source:
        fd 10.2.0, ``build_walker``; Pi 1.6.0, ``find``.
    """
    home = config_home(os.environ)
    own = [os.fsencode(f"{home}/fd/ignore")] if home else []
    return IgnoreFiles(
        custom=b".fdignore",
        require_git=_is_in_repository(start),
        global_git=read_rules(*_global_excludes()),
        last=(read_rules(*own),),
    )


def _global_excludes() -> list[bytes]:
    file = global_excludes_file(os.environ)
    return [os.fsencode(file)] if file is not None else []


def _is_in_repository(start: bytes) -> bool:
    folder = os.path.realpath(start)
    while not os.path.lexists(os.path.join(folder, GIT)):
        above = os.path.dirname(folder)
        if above == folder:
            return False
        folder = above
    return True
