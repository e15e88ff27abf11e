"""Replacing files: all or nothing, and with everything that belongs to the old file."""

from __future__ import annotations

import errno
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from pi_kernel.errors import ToolAborted
from pi_kernel.tools._atomic import SpecialFileError, make_directories, write_atomically
from pi_kernel.tools._os_errors import FileError

NOBODY = 65534


@pytest.fixture(autouse=True)
def _usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def refuse() -> None:
    raise ToolAborted


def test_a_new_file_has_the_content_and_the_mode_of_the_umask(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"new"
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o644
    assert names_in(tmp_path) == ["a"]


def test_an_existing_file_is_exchanged_and_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o4751)
    before = path.stat().st_ino
    write_atomically(path, b"new")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", 0o4751)
    assert path.stat().st_ino != before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_an_existing_file_keeps_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    os.chown(path, 1234, 4321)
    write_atomically(path, b"new")
    assert (path.read_bytes(), path.stat().st_uid, path.stat().st_gid) == (b"new", 1234, 4321)


def test_extended_attributes_stay(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    try:
        os.setxattr(path, "user.note", b"kept")
    except (OSError, AttributeError):
        pytest.skip("no extended attributes here")
    write_atomically(path, b"new")
    assert (path.read_bytes(), os.getxattr(path, "user.note")) == (b"new", b"kept")


def test_a_link_stays_a_link_and_its_target_changes(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("sub/real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "sub" / "real").read_bytes() == b"new"


def test_a_dangling_link_makes_its_target(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("real")
    write_atomically(tmp_path / "link", b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


def test_a_link_into_a_missing_folder_fails_with_the_links_path(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("no/real")
    with pytest.raises(FileError) as caught:
        write_atomically(tmp_path / "link", b"new")
    assert str(caught.value) == f"ENOENT: no such file or directory, open '{tmp_path}/link'"


def test_all_hard_links_of_a_file_see_the_new_content(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    path.write_bytes(b"old and long")
    other.hardlink_to(path)
    write_atomically(path, b"new")
    assert other.read_bytes() == b"new"
    assert path.stat().st_ino == other.stat().st_ino


@pytest.mark.parametrize("is_linked", [False, True])
def test_a_refusal_before_the_change_leaves_the_file_and_no_temporary_one(
    tmp_path: Path,
    is_linked: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    if is_linked:
        (tmp_path / "b").hardlink_to(path)
    with pytest.raises(ToolAborted):
        write_atomically(path, b"new", before_change=refuse)
    assert path.read_bytes() == b"old"
    assert names_in(tmp_path) == ["a", "b"][: 1 + is_linked]


def test_a_refusal_for_a_new_file_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(ToolAborted):
        write_atomically(tmp_path / "a", b"new", before_change=refuse)
    assert names_in(tmp_path) == []


def test_a_target_that_becomes_a_folder_meanwhile_stays_one(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with pytest.raises(FileError) as caught:
        write_atomically(path, b"new", before_change=path.mkdir)
    assert str(caught.value) == f"EISDIR: illegal operation on a directory, rename '{path}'"
    assert names_in(tmp_path) == ["a"]


def test_the_temporary_file_of_a_private_file_is_private(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    path.chmod(0o600)
    modes: list[int] = []

    def look() -> None:
        modes.extend(stat.S_IMODE(entry.stat().st_mode) for entry in os.scandir(tmp_path))

    write_atomically(path, b"new", before_change=look)
    assert modes == [0o600, 0o600]


def test_a_folder_is_refused_in_known_words(tmp_path: Path) -> None:
    with pytest.raises(FileError) as caught:
        write_atomically(tmp_path, b"new")
    assert str(caught.value) == (f"EISDIR: illegal operation on a directory, open '{tmp_path}'")


def test_pipes_sockets_and_devices_are_refused_and_left_alone(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(tmp_path / "socket"))
        for path, kind in (
            (tmp_path / "pipe", "a named pipe (FIFO)"),
            (tmp_path / "socket", "a socket"),
            (Path("/dev/null"), "a character device"),
        ):
            with pytest.raises(SpecialFileError) as caught:
                write_atomically(path, b"new")
            assert str(caught.value) == f"Cannot write {path}: it is {kind}, not a regular file"
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)
    assert names_in(tmp_path) == ["pipe", "socket"]


def test_a_file_without_write_permission_stays(unprivileged_folder: Path) -> None:
    path = unprivileged_folder / "a"
    path.write_bytes(b"old")
    path.chmod(0o444)
    with pytest.raises(FileError) as caught:
        write_atomically(path, b"new")
    assert str(caught.value) == f"EACCES: permission denied, open '{path}'"
    assert path.read_bytes() == b"old"


def test_a_file_in_a_folder_that_takes_no_new_files_is_written_in_place(
    unprivileged_folder: Path,
) -> None:
    folder = unprivileged_folder / "folder"
    folder.mkdir()
    path = folder / "a"
    path.write_bytes(b"old and long")
    before = path.stat().st_ino
    folder.chmod(0o555)
    write_atomically(path, b"new")
    assert (path.read_bytes(), path.stat().st_ino) == (b"new", before)


def test_a_new_file_in_such_a_folder_fails_in_known_words(unprivileged_folder: Path) -> None:
    unprivileged_folder.chmod(0o555)
    with pytest.raises(FileError) as caught:
        write_atomically(unprivileged_folder / "a", b"new")
    assert str(caught.value) == f"EACCES: permission denied, open '{unprivileged_folder}/a'"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may give files away")
def test_a_file_of_somebody_else_is_written_in_place_and_stays_theirs(
    unprivileged_folder: Path,
) -> None:
    path = unprivileged_folder / "a"
    path.write_bytes(b"old")
    os.seteuid(0)
    os.chown(path, 0, 0)
    path.chmod(0o666)
    os.seteuid(NOBODY)
    write_atomically(path, b"new")
    assert (path.read_bytes(), path.stat().st_uid) == (b"new", 0)


def test_folders_are_made_with_their_parents(tmp_path: Path) -> None:
    make_directories(str(tmp_path / "a" / "b" / "c"))
    make_directories(str(tmp_path / "a" / "b" / "c"))
    assert (tmp_path / "a" / "b" / "c").is_dir()


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("file", "EEXIST: file already exists, mkdir '{}/file'"),
        ("file/x", "ENOTDIR: not a directory, mkdir '{}/file/x'"),
        ("file/x/y", "ENOTDIR: not a directory, mkdir '{}/file/x/y'"),
        ("dangling", "ENOENT: no such file or directory, mkdir '{}/dangling'"),
        ("dangling/x", "ENOTDIR: not a directory, mkdir '{}/dangling'"),
        ("loop/x", "ELOOP: too many symbolic links encountered, mkdir '{}/loop/x'"),
    ],
)
def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path, path: str, message: str) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(FileError) as caught:
        make_directories(f"{tmp_path}/{path}")
    assert str(caught.value) == message.format(tmp_path)


def test_the_parent_that_refuses_is_named(unprivileged_folder: Path) -> None:
    unprivileged_folder.chmod(0o555)
    with pytest.raises(FileError) as caught:
        make_directories(f"{unprivileged_folder}/x/y")
    assert str(caught.value) == f"EACCES: permission denied, mkdir '{unprivileged_folder}/x'"
    assert caught.value.errno == errno.EACCES


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_folder_in_a_file_system_that_takes_none_ends_with_an_error() -> None:
    with pytest.raises(FileError) as caught:
        make_directories("/proc/not-there/x")
    assert str(caught.value) == "ENOENT: no such file or directory, mkdir '/proc/not-there'"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a full device")
def test_a_full_disk_leaves_the_old_content(tmp_path: Path) -> None:
    """The limit on file sizes stands in for a full disk: both fail in write."""
    resource = pytest.importorskip("resource")
    import signal  # noqa: PLC0415 - only where resource is there

    path = tmp_path / "a"
    path.write_bytes(b"old")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        with pytest.raises(FileError) as caught:
            write_atomically(path, b"x" * 5000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert str(caught.value) == "EFBIG: file too large, write"
    assert (path.read_bytes(), names_in(tmp_path)) == (b"old", ["a"])
