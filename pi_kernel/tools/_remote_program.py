"""What is sent to a far machine: our modules as text, and the line that makes Python read them.

The interpreter there reads statements from its input, one at a time. The first one prints a mark
and takes the rest of the input away from the interpreter.
"""

from __future__ import annotations

import ast
import functools
import inspect
import json
import secrets
import zlib
from dataclasses import dataclass
from importlib import util
from importlib.abc import InspectLoader
from typing import TypeGuard

from pi_kernel.protocol.json import well_formed

__all__ = ("INTERPRETER_OPTIONS", "MINIMUM_PYTHON", "Program", "far_modules", "far_program")

MINIMUM_PYTHON = (3, 8)
INTERPRETER_OPTIONS = ("-q", "-I", "-S", "-X", "utf8", "-i")
"""Nothing of that machine's Python settings counts, and a program is taken line by line. None of
them needs quotes, because ssh hands its arguments to a shell."""

PACKAGE = "pi_kernel"
FIRST_MODULE = "pi_kernel.tools._remote_server"
REPLACED_MODULES = {
    "pi_kernel.protocol.json": inspect.getsource(well_formed),
    "pi_kernel.tools._threads": "StopCheck = None\n",
}
"""Of these the far modules use one function and the name of a type."""

MARK_RANDOM_BYTES = 8

LOADER = """
import importlib.abc, importlib.util, sys

class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path=None, target=None):
        if name in SOURCES:
            is_package = any(other.startswith(name + ".") for other in SOURCES)
            return importlib.util.spec_from_loader(name, self, is_package=is_package)

    def exec_module(self, module):
        name = module.__name__
        exec(compile(SOURCES[name], name, "exec"), module.__dict__)

sys.meta_path.insert(0, Finder())
from pi_kernel.tools._remote_server import serve
serve()
"""

FIRST_STATEMENT = """
import os, sys
os.write(1, {mark!r} + b"%d %d\\n" % sys.version_info[:2])
if sys.version_info < {minimum!r}:
    os._exit(1)
import json, zlib
data = b""
while len(data) < {size}:
    piece = os.read(0, {size} - len(data))
    if not piece:
        os._exit(1)
    data += piece
try:
    sources = json.loads(zlib.decompress(data).decode())
    exec(sources[""], {{"__name__": "pi_kernel remote", "SOURCES": sources}})
except BaseException:  # the interpreter would take what follows for statements
    sys.excepthook(*sys.exc_info())
    sys.stderr.flush()
    os._exit(1)
"""


@dataclass(frozen=True)
class Program:
    """What the near end sends, and what tells it that the interpreter is there."""

    mark: bytes
    """Printed before the two numbers of the version, whatever else is printed before."""
    first_line: bytes
    rest: bytes
    """To be sent once the mark has come."""


def far_program() -> Program:
    """Return the program for one connection."""
    mark = b"pi-kernel %s " % secrets.token_hex(MARK_RANDOM_BYTES).encode()
    rest = _sources()
    # Written in two halves, because a terminal or shell might print the line itself.
    statement = FIRST_STATEMENT.format(mark=mark, minimum=MINIMUM_PYTHON, size=len(rest))
    statement = statement.replace("b'pi-kernel ", "b'pi-' + b'kernel ")
    return Program(mark, f"exec({statement!r})\n".encode(), rest)


@functools.cache
def _sources() -> bytes:
    sources = {"": LOADER}
    for name, source in far_modules().items():
        parts = name.split(".")
        for count in range(1, len(parts)):
            sources.setdefault(".".join(parts[:count]), "")
        sources[name] = source
    return zlib.compress(json.dumps(sources).encode(), level=9)


def far_modules() -> dict[str, str]:
    """Return by name the source of the server and of all of ours that it imports."""
    found: dict[str, str] = {}
    unread = [FIRST_MODULE]
    while unread:
        name = unread.pop()
        if name in found:
            continue
        source = REPLACED_MODULES.get(name) or _source_of(name)
        found[name] = source
        unread += [
            node.module
            for node in ast.walk(ast.parse(source))
            if isinstance(node, ast.ImportFrom) and _is_ours(node.module)
        ]
    return found


def _is_ours(module: str | None) -> TypeGuard[str]:
    return module is not None and module.partition(".")[0] == PACKAGE


def _source_of(name: str) -> str:
    spec = util.find_spec(name)
    source = None
    if spec is not None and isinstance(spec.loader, InspectLoader):
        source = spec.loader.get_source(name)
    assert source is not None  # noqa: S101 - modules of this very package
    return source
