"""Gitignore-style rules: one line, one file, and the chain of folders whose files count.

`Rules` holds the rules of one place. `Folder` holds, for one folder of a walk, which rules apply to
its entries: its own and those of the folders above, up to the root of the file system. Kinds of
ignore files have an order; the first kind with an opinion decides, and within a kind the nearest
folder.

Source:
    The crate ignore 0.4.29 (ripgrep 15.2.0), ``gitignore.rs``, ``overrides.rs``, ``dir.rs``.
"""
# Paths are bytes here: names need not be UTF-8.
# ruff: noqa: PTH113, PTH116, PTH118

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pi_kernel.tools._search.globs import Glob, GlobError, PathTest, parse_glob
from pi_kernel.tools._search.plain_file import open_plain

__all__ = ("Folder", "IgnoreFiles", "Overrides", "Rule", "Rules", "parse_rule", "read_rules")

BYTE_ORDER_MARK = "\ufeff"
UNICODE_WHITE_SPACE = (
    "\t\n\v\f\r \x85\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
MAX_FILE_BYTES = 128 * 1024
MAX_LINE_BYTES = 8 * 1024
RULES_PER_EXPRESSION = 500
GIT = b".git"
GIT_POINTER = b"gitdir: "
"""How a ``.git`` file of a worktree starts."""


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One line of an ignore file."""

    glob: Glob
    by_name: bool
    """Whether the glob is for the last component of a path, not for all of it."""
    negated: bool
    """Written with ``!``."""
    only_folders: bool
    """Written with ``/`` at the end."""

    @cached_property
    def test(self) -> PathTest:
        """The glob, compiled: most rules never need it."""
        return self.glob.compile()


def parse_rule(line: str, *, allow_unclosed_class: bool = True) -> Rule | None:
    """Read one line; None when it is blank or a comment.

    Raises:
        GlobError: If the glob is not valid or too large; it names the line.
    """
    if line.startswith("#"):
        return None
    if not line.endswith("\\ "):
        line = line.rstrip(UNICODE_WHITE_SPACE)
    if not line:
        return None
    original = line
    is_escaped = line.startswith(("\\!", "\\#"))
    negated = line.startswith("!")
    line = line[1:] if is_escaped or negated else line
    is_absolute = line.startswith("/") and not is_escaped
    line = line[1:] if is_absolute else line
    only_folders = line.endswith("/")
    if only_folders:
        line = line[:-1].removesuffix("\\")
    if not is_absolute and "/" not in line and line != "**":
        line = f"**/{line}"
    if line.endswith("/**"):
        line = f"{line}/*"
    try:
        glob = parse_glob(line, allow_unclosed_class=allow_unclosed_class)
        for_names = glob.for_names()
        glob = glob if for_names is None else for_names
        rule = Rule(
            glob=glob,
            by_name=for_names is not None,
            negated=negated,
            only_folders=only_folders,
        )
        if not glob.is_quick:
            _ = rule.test  # it may be too large
    except GlobError as error:
        raise GlobError(original, error.reason) from error
    return rule


class Rules:
    """The rules of one place, in order; the last one that matches counts."""

    def __init__(self, rules: Iterable[Rule]) -> None:
        self._rules = list(rules)
        # Most paths match no rule at all: one expression over all of them says so at once.
        quick = [rule for rule in self._rules if rule.glob.is_quick]
        self._any_name = _union([rule.glob.pattern() for rule in quick if rule.by_name])
        self._any_path = _union([rule.glob.pattern() for rule in quick if not rule.by_name])
        self._has_others = len(quick) < len(self._rules)
        self.has_positive = any(not rule.negated for rule in self._rules)

    def __bool__(self) -> bool:
        return bool(self._rules)

    def verdict(self, path: bytes, name: bytes, *, is_folder: bool) -> bool | None:
        """Say whether the path is ignored: True, False (a ``!`` rule), or None for no opinion.

        Args:
            path: The path relative to the place of the rules.
            name: Its last component.
            is_folder: Whether the entry is a folder; a link to one is not.
        """
        if not (
            self._has_others
            or any(pattern.fullmatch(name) for pattern in self._any_name)
            or any(pattern.fullmatch(path) for pattern in self._any_path)
        ):
            return None
        for rule in reversed(self._rules):
            if (is_folder or not rule.only_folders) and rule.test.fullmatch(
                name if rule.by_name else path
            ):
                return not rule.negated
        return None


def _union(patterns: Sequence[bytes]) -> list[re.Pattern[bytes]]:
    """Return expressions that match what one of the patterns matches."""
    return [
        re.compile(b"|".join(map(b"(?:%s)".__mod__, several)), re.DOTALL)
        for start in range(0, len(patterns), RULES_PER_EXPRESSION)
        if (several := patterns[start : start + RULES_PER_EXPRESSION])
    ]


NO_RULES = Rules([])


class Overrides:
    """Globs of a caller: they win over every ignore file; ``!`` leaves files out.

    Raises:
        GlobError: If a glob is not valid.
    """

    def __init__(self, globs: Iterable[str]) -> None:
        parsed = (parse_rule(glob, allow_unclosed_class=False) for glob in globs)
        self._rules = Rules(rule for rule in parsed if rule is not None)

    def verdict(self, path: bytes, name: bytes, *, is_folder: bool) -> bool | None:
        """Say whether the path is left out: True, False (asked for), or None for no opinion."""
        if not self._rules:
            return None
        found = self._rules.verdict(path, name, is_folder=is_folder)
        if found is not None:
            return not found
        return True if self._rules.has_positive and not is_folder else None


def read_rules(*files: bytes, problems: list[str] | None = None) -> Rules:
    """Read the rules of the files that can be read; lines that are not valid are left out.

    A line that is not UTF-8 ends its file. What is larger than anybody writes is left out: the
    rest of a file, and a line.

    Args:
        files: Absolute paths.
        problems: Gets a text for each line that is not valid.
    """
    rules: list[Rule] = []
    for file in files:
        try:
            with open_plain(file) as stream:
                lines = stream.read(MAX_FILE_BYTES).split(b"\n")
        except OSError:
            continue
        for number, raw in enumerate(lines):
            if len(raw) > MAX_LINE_BYTES:
                continue
            try:
                line = raw.removesuffix(b"\r").decode()
            except UnicodeDecodeError:
                break
            if number == 0:
                line = line.lstrip(BYTE_ORDER_MARK)
            try:
                rule = parse_rule(line)
            except GlobError as error:
                if problems is not None:
                    shown = file.decode("utf-8", "replace")
                    problems.append(f"{shown}: line {number + 1}: {error}")
                continue
            if rule is not None:
                rules.append(rule)
    return Rules(rules) if rules else NO_RULES


@dataclass(frozen=True, kw_only=True)
class IgnoreFiles:
    """Which ignore files a tool honours."""

    custom: bytes
    """The tool's own file name; it wins over the others."""
    require_git: bool
    """Whether ``.gitignore`` counts inside repositories only."""
    repository_marks: tuple[bytes, ...] = (GIT,)
    """What makes a folder the root of a repository."""
    last: tuple[Rules, ...] = ()
    """Rules that come after all ignore files, with paths relative to the start of the walk."""
    global_git: Rules = NO_RULES
    """The user's own git excludes; they count where ``.gitignore`` counts."""


@dataclass(frozen=True)
class _Source:
    """The rules of one folder, and how to make a path relative to it."""

    rules: Rules
    cut: int
    """How many bytes go from the start of the path."""
    is_absolute: bool
    """Whether the cut is from the absolute path, not from the path below the walk's start."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Folder:
    """The ignore rules that hold for the entries of one folder; in each kind the nearest first."""

    files: IgnoreFiles
    base: bytes
    """Absolute path of the walk's start, without symbolic links and without ``/`` at the end."""
    custom: tuple[_Source, ...] = ()
    plain: tuple[_Source, ...] = ()
    git: tuple[_Source, ...] = ()
    exclude: tuple[_Source, ...] = ()
    git_counts: bool

    @classmethod
    def at_start(
        cls,
        files: IgnoreFiles,
        start: bytes,
        names: Collection[bytes],
        *,
        problems: list[str] | None = None,
    ) -> Folder:
        """Return the rules for the entries of the folder where a walk starts.

        Args:
            files: Which ignore files count.
            start: Absolute path of the folder.
            names: The names in it.
            problems: Gets a text for each line that is not valid in the files above the start.
        """
        base = os.path.realpath(start).rstrip(b"/")
        parents: list[bytes] = []
        above = base
        while above:
            above = above.rpartition(b"/")[0]
            parents.append(above)
        folder = cls(files=files, base=base, git_counts=not files.require_git)
        for parent in reversed(parents):
            folder = folder.inner(parent, None, cut=len(parent) + 1, problems=problems)
        return folder.inner(start, names, cut=0)

    def enter(self, path: bytes, relative: bytes, names: Collection[bytes]) -> Folder:
        """Return the rules for the entries of a folder inside this one.

        Args:
            path: Where it can be opened.
            relative: Its path below the start of the walk.
            names: The names in it.
        """
        return self.inner(path, names, cut=len(relative) + 1)

    def inner(
        self,
        path: bytes,
        names: Collection[bytes] | None,
        *,
        cut: int,
        problems: list[str] | None = None,
    ) -> Folder:
        """Return the rules with a folder's own ones in front.

        Args:
            path: The folder.
            names: The names in it; None for a folder above the start, which is not listed.
            cut: How many bytes a path has before its part below the folder.
            problems: Gets a text for each line that is not valid.
        """
        files, is_absolute = self.files, names is None

        def may_have(name: bytes) -> bool:
            return names is None or name in names

        def own(name: bytes) -> tuple[_Source, ...]:
            file = path + b"/" + name
            rules = read_rules(file, problems=problems) if may_have(name) else NO_RULES
            return (_Source(rules, cut, is_absolute),) if rules else ()

        is_repository = files.require_git and any(
            may_have(mark) and _exists(path + b"/" + mark) for mark in files.repository_marks
        )
        custom, plain, git = own(files.custom), own(b".ignore"), own(b".gitignore")
        excludes = _read_excludes(path, problems) if may_have(GIT) else NO_RULES
        exclude = (_Source(excludes, cut, is_absolute),) if excludes else ()
        return Folder(
            files=files,
            base=self.base,
            custom=custom + self.custom,
            plain=plain + self.plain,
            git=git + (() if is_repository else self.git),
            exclude=exclude + (() if is_repository else self.exclude),
            git_counts=is_repository or self.git_counts,
        )

    def ignores(self, relative: bytes, name: bytes, *, is_folder: bool) -> bool:
        """Whether an entry of this folder is ignored.

        Args:
            relative: Its path below the start of the walk.
            name: Its last component.
            is_folder: Whether it is a folder; a link to one is not.
        """
        absolute = b""
        sources = self.custom + self.plain
        last: tuple[Rules, ...] = self.files.last
        if self.git_counts:
            sources += self.git + self.exclude
            last = (self.files.global_git, *last)
        for source in sources:
            if source.is_absolute:
                absolute = absolute or self.base + b"/" + relative
            path = (absolute if source.is_absolute else relative)[source.cut :]
            verdict = source.rules.verdict(path, name, is_folder=is_folder)
            if verdict is not None:
                return verdict
        for rules in last:
            verdict = rules.verdict(relative, name, is_folder=is_folder)
            if verdict is not None:
                return verdict
        return False


def _exists(path: bytes) -> bool:
    try:
        os.stat(path)
    except OSError:
        return False
    return True


def _read_excludes(folder: bytes, problems: list[str] | None) -> Rules:
    """Read ``info/exclude`` of the repository that a folder holds, also for a worktree."""
    git = folder + b"/" + GIT
    if os.path.isfile(git):
        pointer = _first_line(git)
        if not pointer.startswith(GIT_POINTER):
            return NO_RULES
        real = os.path.join(folder, pointer.removeprefix(GIT_POINTER))
        common = _first_line(real + b"/commondir")
        if not common:
            return NO_RULES
        git = os.path.join(real, common) if common.startswith(b".") else common
    return read_rules(git + b"/info/exclude", problems=problems)


def _first_line(file: bytes) -> bytes:
    try:
        with open_plain(file) as stream:
            return stream.readline(MAX_FILE_BYTES).removesuffix(b"\n").removesuffix(b"\r")
    except OSError:
        return b""
