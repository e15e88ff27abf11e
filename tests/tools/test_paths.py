"""From what a model writes to the file that it means."""

from __future__ import annotations

import os
import sys
import types
import unicodedata
from pathlib import Path

import pytest

from pi_kernel.tools._paths import (
    path_variants,
    resolve_read_path,
    resolve_to_cwd,
    working_directory,
)


@pytest.fixture(autouse=True)
def _home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("a.txt", "/work/a.txt"),
        ("", "/work"),
        (".", "/work"),
        ("../x", "/x"),
        ("../../../x", "/x"),
        ("x/./y/../z//w/", "/work/x/z/w"),
        ("/a//b/../c", "/a/c"),
        ("//a/b", "/a/b"),
        ("///a", "/a"),
        (" a ", "/work/ a "),
        ("a\u00a0b\u202fc\u2003d\u205fe\u3000f", "/work/a b c d e f"),
        ("a\u200bb", "/work/a\u200bb"),
        ("@a.txt", "/work/a.txt"),
        ("@@a.txt", "/work/@a.txt"),
        ("./@a.txt", "/work/@a.txt"),
        ("~", "/home/me"),
        ("~/a", "/home/me/a"),
        ("@~/a", "/home/me/a"),
        ("~bob/a", "/work/~bob/a"),
        ("a/~", "/work/a/~"),
        ("$HOME/a", "/work/$HOME/a"),
        ("a\nb", "/work/a\nb"),
        ("file:///a%20b", "/a b"),
        ("@file:///a", "/a"),
        ("file://localhost/a", "/a"),
        ("file://LOCALHOST/a", "/a"),
        ("file://", "/"),
        ("file:///a b?q#h", "/a b"),
        ("file:///a/../b/%2e%2E/c", "/c"),
        ("file:///a\nb\tc ", "/abc"),
        ("file:///a\\b", "/a/b"),
        ("file:///%C3%A9", "/é"),
        ("FILE:///a", "/work/FILE:/a"),
        ("a\ud800b", "/work/a\ufffdb"),
        (os.fsdecode(b"a\xff"), "/work/" + os.fsdecode(b"a\xff")),
    ],
)
def test_a_path_resolves_by_the_rules_in_order(path: str, expected: str) -> None:
    assert resolve_to_cwd(path, "/work") == expected


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("file://host/x", f'File URL host must be "localhost" or empty on {sys.platform}'),
        ("file:///a%2Fb", "File URL path must not include encoded / characters"),
        ("file:///a%zz", "URI malformed"),
        ("file:///a%E9", "URI malformed"),
        ("file://a b/c", "Invalid URL"),
    ],
)
def test_a_file_url_that_names_no_local_path_is_refused_in_known_words(
    url: str, message: str
) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        resolve_to_cwd(url, "/work")
    assert str(caught.value) == message


def test_links_are_not_resolved(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("elsewhere")
    assert resolve_to_cwd("link/x", str(tmp_path)) == f"{tmp_path}/link/x"


def test_variants_come_in_order_and_each_starts_from_the_plain_spelling() -> None:
    resolved = "/d/it's \u00e9 10.30 AM.png"
    decomposed = unicodedata.normalize("NFD", resolved)
    assert list(path_variants(resolved)) == [
        resolved,
        "/d/it's \u00e9 10.30\u202fAM.png",
        decomposed,
        "/d/it\u2019s \u00e9 10.30 AM.png",
        decomposed.replace("'", "\u2019"),
    ]


def test_variants_of_a_plain_name_are_the_name_alone() -> None:
    assert list(path_variants("/d/a.txt")) == ["/d/a.txt"]


@pytest.mark.parametrize(
    ("on_disk", "asked"),
    [
        ("shot 10.30\u202fAM.png", "shot 10.30 AM.png"),
        ("shot 10.30\u202fpm.png", "shot 10.30 pm.png"),
        ("cafe\u0301.txt", "caf\u00e9.txt"),
        ("it\u2019s.txt", "it's.txt"),
        ("it\u2019s cafe\u0301.txt", "it's caf\u00e9.txt"),
        ("my file.txt", "my\u00a0file.txt"),
    ],
)
def test_reading_finds_the_name_that_is_on_the_disk(
    tmp_path: Path, on_disk: str, asked: str
) -> None:
    (tmp_path / on_disk).touch()
    assert resolve_read_path(asked, str(tmp_path)) == str(tmp_path / on_disk)


@pytest.mark.parametrize(
    ("on_disk", "asked"), [("it's.txt", "it\u2019s.txt"), ("caf\u00e9.txt", "cafe\u0301.txt")]
)
def test_there_are_no_variants_the_other_way(tmp_path: Path, on_disk: str, asked: str) -> None:
    (tmp_path / on_disk).touch()
    assert resolve_read_path(asked, str(tmp_path)) == str(tmp_path / asked)


def test_the_exact_name_wins_over_variants(tmp_path: Path) -> None:
    (tmp_path / "it's").touch()
    (tmp_path / "it\u2019s").touch()
    assert resolve_read_path("it's", str(tmp_path)) == str(tmp_path / "it's")


def test_a_context_wins_over_the_factory_and_both_over_the_process(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    context = types.SimpleNamespace(cwd="/context")
    assert working_directory(context, "/factory") == "/context"
    assert working_directory(types.SimpleNamespace(cwd=None), "/factory") == "/factory"
    assert working_directory(None, None) == str(tmp_path)
