"""``pi-kernel doctor``: what is installed and what works here. Writes nothing."""

from __future__ import annotations

import argparse
import importlib.metadata
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pi_kernel import __version__
from pi_kernel.cli.terminal import Terminal, escaped

__all__ = (
    "SUMMARY",
    "Finding",
    "Requirement",
    "add_arguments",
    "findings",
    "read_requirement",
    "run",
)

SUMMARY = "show what is installed and what works here"
PACKAGE = "pi-kernel"
EXTRAS_LEFT_OUT = frozenset({"all", "test"})
"""The first repeats the others, the second is for developers."""
PROBE_SECONDS = 5.0
MS_PER_SECOND = 1_000
INDENT = "  "

Status = Literal["ok", "missing", "unusable", "fails"]
"""``missing`` and ``unusable`` for what one can do without, ``fails`` for the rest."""
STATUS_WIDTH = len("unusable")


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at: its heading, its name, how it is, and what that means."""

    topic: str
    name: str
    status: Status
    facts: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """A library that the package needs, or one of its extras does."""

    name: str
    minimum: str = ""
    extra: str | None = None


@dataclass(frozen=True, slots=True)
class _Program:
    names: tuple[str, ...]
    purpose: str
    to_have_it: str
    probe: tuple[str, ...] = ("--version",)
    """Arguments that write nothing and end at once; empty where there are none."""


PROGRAMS = (
    _Program(
        ("bash", "sh"),
        "runs the commands of the bash tool",
        "install bash",
        ("-c", 'echo "${BASH_VERSION:-no bash}"'),
    ),
    _Program(("rg",), "searches for the grep tool", "install ripgrep"),
    _Program(
        ("bwrap",),
        "can hold a remote side of SubprocessOperations in a sandbox",
        "install bubblewrap",
        ("--ro-bind", "/", "/", "--unshare-all", "true"),
    ),
    _Program(("node",), "checks the front end, for developers", "install Node.js"),
    _Program(
        ("chromium", "chromium-browser", "google-chrome"),
        "shows notebooks to the tests, for developers",
        "install Chromium",
        (),
    ),
)


def add_arguments(_parser: argparse.ArgumentParser) -> None:
    """Say what may follow the name of the command: nothing."""


def run(_options: argparse.Namespace, terminal: Terminal) -> str | None:
    """Print the findings; return what of it must not be, or None."""
    found = list(findings())
    name_width = max(len(finding.name) for finding in found)
    topic = ""
    for finding in found:
        if finding.topic != topic:
            if topic:
                terminal.line()
            topic = finding.topic
            terminal.line(terminal.paint(topic, "heading"))
        cells = (
            terminal.paint(finding.status.ljust(STATUS_WIDTH), finding.status),
            finding.name.ljust(name_width),
            escaped(finding.facts),  # whole: it may be a command to copy
        )
        terminal.line(INDENT + INDENT.join(cells))
    failed = [finding.name for finding in found if finding.status == "fails"]
    return f"this does not work here: {', '.join(failed)}" if failed else None


def findings() -> Iterator[Finding]:
    """Look at everything."""
    yield Finding("Here", "Python", "ok", f"{platform.python_version()}, {sys.executable}")
    yield Finding("Here", "system", "ok", platform.platform())
    place = Path(__file__).parent.parent
    yield Finding("Here", PACKAGE, "ok", f"{__version__}, {place}")
    yield _call_through_the_pipeline()
    yield from _libraries()
    for program in PROGRAMS:
        yield _look_for(program)


def _call_through_the_pipeline() -> Finding:
    """Make one call, which needs the libraries to load and to work together."""
    begin = time.perf_counter()
    try:
        import anyio  # noqa: PLC0415 - a library that does not load is a finding

        from pi_kernel import ToolSession, tool  # noqa: PLC0415 - as above

        @tool
        def add(a: int, b: int) -> int:
            """Add two numbers."""
            return a + b

        session = ToolSession(tools=[add])
        outcome = anyio.run(session.execute_tool, "add", {"a": 1, "b": 2})
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the finding
        return Finding("Here", "a tool call", "fails", f"{type(error).__name__}: {error}")
    if outcome.value != 3:  # noqa: PLR2004 - the sum
        return Finding("Here", "a tool call", "fails", outcome.text)
    took_ms = (time.perf_counter() - begin) * MS_PER_SECOND
    return Finding("Here", "a tool call", "ok", f"1 + 2 = 3, {took_ms:.0f} ms with loading")


def _libraries() -> Iterator[Finding]:
    try:
        lines = importlib.metadata.requires(PACKAGE) or []
    except importlib.metadata.PackageNotFoundError:
        facts = "the package is used from its source and not installed; pip install . does that"
        yield Finding("Libraries", "all", "missing", facts)
        return
    requirements = [read_requirement(line) for line in lines]
    extras = sorted({r.extra for r in requirements if r.extra} - EXTRAS_LEFT_OUT)
    for extra in (None, *extras):
        topic = "Libraries" if extra is None else f'Libraries of the extra "{extra}"'
        for requirement in requirements:
            if requirement.extra == extra:
                yield _look_at(requirement, topic)


def read_requirement(line: str) -> Requirement:
    """Read a line of the package's metadata.

    Example:
        >>> read_requirement('pyarrow>=15; extra == "data"')
        Requirement(name='pyarrow', minimum='15', extra='data')
    """
    specifier, _, marker = line.partition(";")
    name = re.match(r"\s*[\w.-]+", specifier)
    minimum = re.search(r">=\s*([\d.]+)", specifier)
    extra = re.search(r"""extra\s*==\s*["']([^"']+)["']""", marker)
    return Requirement(
        name[0].strip() if name else specifier,
        minimum[1] if minimum else "",
        extra[1] if extra else None,
    )


def _look_at(requirement: Requirement, topic: str) -> Finding:
    name, minimum, extra = requirement.name, requirement.minimum, requirement.extra
    target = f"{PACKAGE}[{extra}]" if extra else f"{name}>={minimum}"
    to_have_it = f"to have it: {sys.executable} -m pip install {shlex.quote(target)}"
    bad: Status = "missing" if extra else "fails"
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return Finding(topic, name, bad, f"not installed; {to_have_it}")
    if _numbers(version) < _numbers(minimum):
        return Finding(topic, name, bad, f"{version} is older than {minimum}; {to_have_it}")
    return Finding(topic, name, "ok", version)


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


def _look_for(program: _Program) -> Finding:
    topic, name = "Programs", program.names[0]
    path = next(filter(None, map(shutil.which, program.names)), None)
    if path is None:
        facts = f"not found; it {program.purpose}; to have it: {program.to_have_it}"
        return Finding(topic, name, "missing", facts)
    if not program.probe:
        return Finding(topic, name, "ok", f"{path}; {program.purpose}")
    try:
        answer = subprocess.run(  # noqa: S603 - arguments of ours, a program that a tool would run
            [path, *program.probe],
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=PROBE_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Finding(topic, name, "unusable", f"{path} cannot be run: {error}")
    if answer.returncode != 0:
        reason = (answer.stderr or answer.stdout).strip().partition("\n")[0]
        return Finding(topic, name, "unusable", f"{path} ends with {answer.returncode}: {reason}")
    version = answer.stdout.strip().partition("\n")[0]
    return Finding(topic, name, "ok", "; ".join(filter(None, (version, path, program.purpose))))
