"""Find the user's own git excludes (``core.excludesFile``) the way ripgrep and fd do.

It is a search for one line, not a reader of git's configuration: no includes, no conditions.

Source:
    The crate ignore 0.4.29, ``gitconfig_excludes_path``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping

from pi_kernel.tools._search.plain_file import open_plain

__all__ = ("config_home", "global_excludes_file")

EXCLUDES_LINE = re.compile(
    rb'^\s*excludesfile\s*=\s*"?\s*(\S+?)\s*"?\s*$', re.IGNORECASE | re.MULTILINE
)


def config_home(environ: Mapping[str, str]) -> str | None:
    """Return the folder of the user's configuration files."""
    home = environ.get("HOME")
    return environ.get("XDG_CONFIG_HOME") or (f"{home}/.config" if home else None)


def global_excludes_file(environ: Mapping[str, str]) -> str | None:
    """Return where the user's own excludes are, whether or not there is such a file."""
    home = environ.get("HOME")
    for config in _configs(environ):
        try:
            with open_plain(os.fsencode(config)) as stream:
                found = EXCLUDES_LINE.search(stream.read())
        except OSError:
            continue
        if found is not None:
            path = os.fsdecode(found[1])
            return path.replace("~", home) if home else path
    folder = config_home(environ)
    return f"{folder}/git/ignore" if folder else None


def _configs(environ: Mapping[str, str]) -> Iterator[str]:
    if named := environ.get("GIT_CONFIG_GLOBAL"):
        yield named
    if home := environ.get("HOME"):
        yield f"{home}/.gitconfig"
    if folder := config_home(environ):
        yield f"{folder}/git/config"
    yield environ.get("GIT_CONFIG_SYSTEM") or "/etc/gitconfig"
