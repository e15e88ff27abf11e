"""Ignore files: single lines, whole files, and which file counts where in a tree."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pi_kernel.tools._search.files import fd_files, ripgrep_files
from pi_kernel.tools._search.git_excludes import global_excludes_file
from pi_kernel.tools._search.globs import GlobError
from pi_kernel.tools._search.ignore import Overrides, Rules, parse_rule
from pi_kernel.tools._search.walk import EntryKind, walk


@pytest.fixture(autouse=True)
def _no_user_excludes(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    home = tmp_path_factory.mktemp("empty-home")
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_SYSTEM", str(home / "none"))


def verdict(rules: str, path: str, *, is_folder: bool = False) -> bool | None:
    parsed = [rule for line in rules.split("\n") if (rule := parse_rule(line)) is not None]
    name = path.rpartition("/")[2]
    return Rules(parsed).verdict(path.encode(), name.encode(), is_folder=is_folder)


def fill(root: Path, files: dict[str, str | None]) -> None:
    """Make files with their texts; None makes a folder."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if text is None:
            path.mkdir(exist_ok=True)
        else:
            path.write_text(text, encoding="utf-8")


def seen(
    root: Path, start: str = ".", *, by: str = "rg", overrides: tuple[str, ...] = ()
) -> list[str]:
    """Return the files that a walk gives, without hidden ones."""
    folder = os.fsencode(os.path.normpath(root / start))
    files = ripgrep_files() if by == "rg" else fd_files(folder)
    found = walk(folder, files, overrides=Overrides(overrides))
    names = [path.decode() for path, kind in found if kind is not EntryKind.FOLDER]
    return [name for name in names if not name.startswith(".") and "/." not in name]


@pytest.mark.parametrize(
    ("rules", "path"),
    [
        ("a", "a"),
        ("a", "x/a"),
        ("*.log", "x/y.log"),
        ("/a", "a"),
        ("x/a", "x/a"),
        ("x/**", "x/a"),
        ("**/a", "x/y/a"),
        ("a/**/b", "a/x/b"),
        ("a  ", "a"),
        ("a\t", "a"),
        ("a\\ ", "a "),
        ("\\#a", "#a"),
        ("\\!a", "!a"),
        ("[a", "[a"),
        ("!a\na", "a"),
        ("**", "x"),
    ],
)
def test_rule_ignores_the_file(rules: str, path: str) -> None:
    assert verdict(rules, path) is True


@pytest.mark.parametrize(
    ("rules", "path"),
    [
        ("", "a"),
        ("# a", "# a"),
        ("#", "#"),
        ("/a", "x/a"),
        ("x/a", "y/x/a"),
        ("x/**", "x"),
        ("a/", "a"),
        ("*.log", "log"),
        ("/", "a"),
        (" ", " "),
    ],
)
def test_rule_has_no_opinion_about_the_file(rules: str, path: str) -> None:
    assert verdict(rules, path) is None


def test_rule_with_a_slash_at_the_end_is_for_folders() -> None:
    assert verdict("a/", "x/a", is_folder=True) is True
    assert verdict("a\\/", "a", is_folder=True) is True


def test_last_rule_that_matches_counts() -> None:
    assert verdict("*.log\n!keep.log", "keep.log") is False
    assert verdict("!keep.log\n*.log", "keep.log") is True


def test_invalid_rule_names_its_line() -> None:
    with pytest.raises(GlobError, match=r"^error parsing glob '!\{a/': unclosed alternate group"):
        parse_rule("!{a/")


def test_overrides_ask_for_files_and_leave_files_out() -> None:
    asked = Overrides(["*.py", "!test_*"])
    assert asked.verdict(b"a.py", b"a.py", is_folder=False) is False
    assert asked.verdict(b"test_a.py", b"test_a.py", is_folder=False) is True
    assert asked.verdict(b"a.md", b"a.md", is_folder=False) is True
    assert asked.verdict(b"src", b"src", is_folder=True) is None
    assert Overrides(["!*.py"]).verdict(b"a.md", b"a.md", is_folder=False) is None
    assert Overrides(["#", ""]).verdict(b"a", b"a", is_folder=False) is None


def test_overrides_refuse_an_unclosed_class() -> None:
    with pytest.raises(GlobError):
        Overrides(["[a"])


def test_gitignore_counts_for_ripgrep_inside_a_repository_only(tmp_path: Path) -> None:
    fill(tmp_path, {".gitignore": "a\n", "a": "", "b": "", "s/a": ""})
    assert seen(tmp_path) == ["a", "b", "s/a"]
    (tmp_path / ".git").mkdir()
    assert seen(tmp_path) == ["b"]


def test_gitignore_counts_for_fd_everywhere(tmp_path: Path) -> None:
    fill(tmp_path, {".gitignore": "a\n", "a": "", "b": "", "s/a": ""})
    assert seen(tmp_path, by="fd") == ["b"]


def test_jujutsu_repository_counts_for_ripgrep(tmp_path: Path) -> None:
    fill(tmp_path, {".jj": None, ".gitignore": "a\n", "a": "", "b": ""})
    assert seen(tmp_path) == ["b"]


@pytest.mark.parametrize("by", ["rg", "fd"])
def test_files_of_folders_above_the_start_count(tmp_path: Path, by: str) -> None:
    fill(tmp_path, {".git": None, ".gitignore": "s/t/b\n*.log\n", ".ignore": "/s/c\n"})
    fill(tmp_path, {"s/t/a.log": "", "s/t/b": "", "s/c": "", "s/b": "", "s/u/c": ""})
    assert seen(tmp_path, "s", by=by) == ["b", "u/c"]


def test_start_is_walked_even_when_it_is_ignored(tmp_path: Path) -> None:
    fill(tmp_path, {".git": None, ".gitignore": "build/\n", "build/a": ""})
    assert seen(tmp_path) == []
    assert seen(tmp_path, "build") == ["a"]


@pytest.mark.parametrize("by", ["rg", "fd"])
def test_rules_of_an_outer_repository_stop_at_a_nested_one(tmp_path: Path, by: str) -> None:
    fill(tmp_path, {".git": None, ".gitignore": "*.log\n", ".ignore": "*.tmp\n"})
    fill(tmp_path, {"n/.git": None, "n/a.log": "", "n/a.tmp": "", "m/a.log": ""})
    assert seen(tmp_path, by=by) == ["n/a.log"]
    assert seen(tmp_path, "n", by=by) == ["a.log"]


def test_outside_a_repository_fd_takes_outer_rules_into_nested_ones(tmp_path: Path) -> None:
    fill(tmp_path, {".gitignore": "*.log\n", "n/.git": None, "n/a.log": "", "n/b": ""})
    assert seen(tmp_path, by="fd") == ["n/b"]


def test_nearer_file_and_more_special_kind_win(tmp_path: Path) -> None:
    fill(tmp_path, {".git": None, ".gitignore": "a\nb\n", "s/.gitignore": "!a\n"})
    fill(tmp_path, {".ignore": "!b\nc\n", ".rgignore": "!c\n", ".git/info/exclude": "!a\nd\n"})
    fill(tmp_path, {"a": "", "b": "", "c": "", "d": "", "s/a": "", "s/b": ""})
    assert seen(tmp_path) == ["b", "c", "s/a", "s/b"]


def test_each_program_has_an_ignore_file_of_its_own(tmp_path: Path) -> None:
    fill(tmp_path, {".rgignore": "a\n", ".fdignore": "b\n", ".ignore": "c\n"})
    fill(tmp_path, {"a": "", "b": "", "c": "", "d": ""})
    assert seen(tmp_path) == ["b", "d"]
    assert seen(tmp_path, by="fd") == ["a", "d"]


def test_exclude_file_of_a_repository_counts(tmp_path: Path) -> None:
    fill(tmp_path, {".git/info/exclude": "a\n", "a": "", "s/a": "", "b": ""})
    assert seen(tmp_path) == ["b"]


def test_exclude_file_is_found_from_a_worktree(tmp_path: Path) -> None:
    fill(tmp_path, {"main/.git/info/exclude": "a\n", "tree/a": "", "tree/b": ""})
    private = tmp_path / "main/.git/worktrees/tree"
    fill(private, {"commondir": "../..\n"})
    fill(tmp_path, {"tree/.git": f"gitdir: {private}\n"})
    assert seen(tmp_path, "tree") == ["b"]


def test_git_file_that_points_nowhere_makes_a_repository(tmp_path: Path) -> None:
    fill(tmp_path, {".git": "gitdir: /nowhere\n", ".gitignore": "a\n", "a": "", "b": ""})
    assert seen(tmp_path) == ["b"]


@pytest.mark.parametrize("by", ["rg", "fd"])
def test_excludes_of_the_user_count_inside_a_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    fill(tmp_path, {"home/.config/git/ignore": "*.log\n", "r/.git": None, "r/a.log": "", "r/b": ""})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert seen(tmp_path, "r", by=by) == ["b"]


def test_ignore_file_of_the_user_counts_for_fd(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, {"home/.config/fd/ignore": "*.log\n", "r/a.log": "", "r/b": ""})
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert seen(tmp_path, "r", by="fd") == ["b"]
    assert seen(tmp_path, "r") == ["a.log", "b"]


def test_excludes_of_the_user_are_found_in_the_configuration_of_git(tmp_path: Path) -> None:
    fill(tmp_path, {".gitconfig": '[core]\n\texcludesFile = "~/mine"\n', "other": "x"})
    fill(tmp_path, {"env": "excludesfile=/from/env\n", "xdg/git/config": "excludesfile = /xdg\n"})
    home = {"HOME": str(tmp_path), "GIT_CONFIG_SYSTEM": "/nowhere"}
    assert global_excludes_file(home) == f"{tmp_path}/mine"
    assert global_excludes_file({**home, "GIT_CONFIG_GLOBAL": f"{tmp_path}/env"}) == "/from/env"
    elsewhere = {**home, "HOME": f"{tmp_path}/none"}
    assert global_excludes_file(elsewhere) == f"{tmp_path}/none/.config/git/ignore"
    xdg = {**elsewhere, "XDG_CONFIG_HOME": f"{tmp_path}/xdg"}
    assert global_excludes_file(xdg) == "/xdg"
    assert global_excludes_file({"GIT_CONFIG_SYSTEM": "/nowhere"}) is None


def test_mark_and_carriage_returns_of_windows_editors_do_not_count(tmp_path: Path) -> None:
    fill(tmp_path, {".ignore": "\ufeffa\r\nb\r\n", "a": "", "b": "", "c": ""})
    assert seen(tmp_path) == ["c"]


def test_line_that_is_not_utf_8_ends_its_file(tmp_path: Path) -> None:
    (tmp_path / ".ignore").write_bytes(b"a\n\xff\nb\n")
    fill(tmp_path, {"a": "", "b": ""})
    assert seen(tmp_path) == ["b"]


def test_line_that_is_not_valid_is_left_out(tmp_path: Path) -> None:
    fill(tmp_path, {".ignore": "{\na\n", "a": "", "b": ""})
    assert seen(tmp_path) == ["b"]


def test_invalid_lines_above_the_start_are_told(tmp_path: Path) -> None:
    fill(tmp_path, {".ignore": "a\n{\n", "s/a": "", "s/b": ""})
    problems: list[str] = []
    start = os.fsencode(tmp_path / "s")
    assert [path for path, _ in walk(start, ripgrep_files(), problems=problems)] == [b"b"]
    reason = "unclosed alternate group; missing '}' (maybe escape '{' with '[{]'?)"
    assert problems == [f"rg: {tmp_path}/.ignore: line 2: error parsing glob '{{': {reason}"]


def test_override_wins_over_ignore_files(tmp_path: Path) -> None:
    fill(tmp_path, {".ignore": "*.log\nbuild/\n", "a.log": "", "b": "", "build/c.log": ""})
    assert seen(tmp_path, overrides=("*.log",)) == ["a.log"]
    assert seen(tmp_path, overrides=("!b",)) == []
    assert seen(tmp_path, overrides=("build", "*.log")) == ["a.log", "build/c.log"]


def test_walk_goes_by_path_and_does_not_follow_links(tmp_path: Path) -> None:
    fill(tmp_path, {"a/b": "", "a.txt": "", "a/a/c": "", "z": ""})
    (tmp_path / "a/up").symlink_to("..")
    (tmp_path / "l").symlink_to("a")
    kinds = dict(walk(os.fsencode(tmp_path), ripgrep_files()))
    assert list(kinds) == [b"a", b"a/a", b"a/a/c", b"a/b", b"a/up", b"a.txt", b"l", b"z"]
    assert kinds[b"a"] is EntryKind.FOLDER
    assert kinds[b"a/b"] is EntryKind.FILE
    assert kinds[b"l"] is EntryKind.OTHER


def test_start_may_be_a_link_and_the_rules_above_its_target_count(tmp_path: Path) -> None:
    fill(tmp_path, {"r/.ignore": "/d/a\n", "r/d/a": "", "r/d/b": ""})
    (tmp_path / "l").symlink_to("r/d")
    assert seen(tmp_path, "l") == ["b"]


def test_folder_that_cannot_be_read_counts_as_empty_and_is_told(unprivileged_folder: Path) -> None:
    fill(unprivileged_folder, {"no": None, "b": ""})
    (unprivileged_folder / "no").chmod(0)
    problems: list[str] = []
    start = os.fsencode(unprivileged_folder)
    paths = [path for path, _ in walk(start, ripgrep_files(), problems=problems)]
    assert paths == [b"b", b"no"]
    assert problems == ["rg: ./no: Permission denied (os error 13)"]


def test_missing_start_is_told(tmp_path: Path) -> None:
    problems: list[str] = []
    assert list(walk(os.fsencode(tmp_path / "no"), ripgrep_files(), problems=problems)) == []
    assert problems == ["rg: .: No such file or directory (os error 2)"]
