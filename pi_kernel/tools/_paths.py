"""From the path that a caller wrote to the absolute path of a file.

Compatibility, not a sandbox: nothing confines a path to the working directory, and symbolic links
are not resolved. Models write paths with odd spaces, a leading ``@`` or a straight apostrophe where
the name has a curly one; the rules here forgive exactly those.
"""
# A path stays the text that messages show; Path would normalise it its own way.
# ruff: noqa: PTH100, PTH109, PTH110, PTH111, PTH118

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections.abc import Iterator
from urllib.parse import unquote_to_bytes

from pi_kernel.protocol.json import well_formed

__all__ = ("path_variants", "resolve_read_path", "resolve_to_cwd", "working_directory")

_ODD_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f\u3000]")
_SPACE_BEFORE_MERIDIEM = re.compile(r" (AM|PM)\.", re.IGNORECASE | re.ASCII)
_NARROW_NO_BREAK_SPACE = "\u202f"
_CURLY_APOSTROPHE = "\u2019"

_FILE_URL = "file://"
_LOCAL_HOSTS = ("", "localhost")
_URL_IGNORED = str.maketrans("", "", "\t\n\r")
_C0_CONTROLS_AND_SPACE = "".join(map(chr, range(0x21)))
_FORBIDDEN_IN_HOST = re.compile(r"[\x00-\x20\x7f<>\[\]^|%:@]")
_BROKEN_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_ENCODED_SLASH = re.compile("%2f", re.IGNORECASE)
_ENCODED_DOT = re.compile("%2e", re.IGNORECASE)


def working_directory(ctx: object, cwd: str | os.PathLike[str] | None) -> str:
    """Return the directory of one call: the context's, else the factory's, else the process's."""
    given: str | os.PathLike[str] | None = getattr(ctx, "cwd", None) or cwd
    return os.getcwd() if given is None else os.fspath(given)


def resolve_to_cwd(path: str, cwd: str) -> str:
    """Return the absolute, lexically normalised path that ``path`` stands for.

    In this order: each no-break or typographic space becomes a space, one leading ``@`` goes,
    ``~`` and ``~/`` become the home directory, ``file://`` URLs are decoded, the rest is joined to
    ``cwd``. Blanks around are kept, variables are not expanded, an empty path is ``cwd``.

    Raises:
        ValueError: If a ``file://`` URL has another host or cannot be decoded.

    Source:
        Pi 1.6.0, ``resolveToCwd``.

    Example:
        >>> resolve_to_cwd("@src/../a.py", "/work")
        '/work/a.py'
    """
    expanded = _ODD_SPACES.sub(" ", path).removeprefix("@")
    if expanded == "~" or expanded.startswith("~/"):
        expanded = os.path.expanduser("~") + expanded[1:]
    elif expanded.startswith(_FILE_URL):
        expanded = _from_file_url(expanded)
    return _encodable(_normalize(expanded, cwd))


def resolve_read_path(path: str, cwd: str) -> str:
    """Return the first spelling of ``path`` that exists, else the plain one.

    For reading only. Looks at the file system, so call it in a worker thread.

    Source:
        Pi 1.6.0, ``resolveReadPath``.
    """
    first, *others = path_variants(resolve_to_cwd(path, cwd))
    for candidate in (first, *others):
        if "\0" not in candidate and os.path.exists(candidate):
            return candidate
    return first


def path_variants(resolved: str) -> Iterator[str]:
    """Yield the spellings that reading tries, in order and without repeats.

    macOS writes screenshot names with a narrow no-break space before AM and PM, stores names
    decomposed, and uses curly apostrophes.
    """
    decomposed = unicodedata.normalize("NFD", resolved)
    yield from dict.fromkeys(
        (
            resolved,
            _SPACE_BEFORE_MERIDIEM.sub(_NARROW_NO_BREAK_SPACE + r"\1.", resolved),
            decomposed,
            resolved.replace("'", _CURLY_APOSTROPHE),
            decomposed.replace("'", _CURLY_APOSTROPHE),
        )
    )


def _normalize(path: str, cwd: str) -> str:
    if not path.startswith("/"):
        path = os.path.join(os.path.abspath(cwd), path)
    path = os.path.normpath(path)
    # POSIX gives exactly two leading slashes a meaning of their own, which no caller wants.
    return path[1:] if path.startswith("//") else path


def _encodable(path: str) -> str:
    """Return the path with what no file name can hold (lone surrogates) as U+FFFD."""
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return well_formed(path)
    return path


def _from_file_url(url: str) -> str:
    """Return the path of a ``file://`` URL, by the URL standard's rules.

    Source:
        Node 22, ``fileURLToPath`` on POSIX, with its error texts.
    """
    text = well_formed(url)[len(_FILE_URL) :].rstrip(_C0_CONTROLS_AND_SPACE).translate(_URL_IGNORED)
    text = re.split("[?#]", text, maxsplit=1)[0].replace("\\", "/")
    host, slash, path = text.partition("/")
    if _FORBIDDEN_IN_HOST.search(host):
        raise ValueError("Invalid URL")
    if host.lower() not in _LOCAL_HOSTS:
        raise ValueError(f'File URL host must be "localhost" or empty on {sys.platform}')
    path = slash + path or "/"
    if _ENCODED_SLASH.search(path):
        raise ValueError("File URL path must not include encoded / characters")
    if _BROKEN_PERCENT.search(path):
        raise ValueError("URI malformed")
    # Dots are decoded first: encoded ones are path segments like plain ones.
    try:
        return unquote_to_bytes(_ENCODED_DOT.sub(".", path)).decode()
    except UnicodeDecodeError:
        raise ValueError("URI malformed") from None
