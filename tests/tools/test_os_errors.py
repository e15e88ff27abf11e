"""Failures of system calls in the words that models know."""

from __future__ import annotations

import errno
import os

import pytest

from pi_kernel.tools._os_errors import FileError, error_code, file_error, node_message, wording


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (errno.ENOENT, "ENOENT: no such file or directory, open '/x'"),
        (errno.ENOTDIR, "ENOTDIR: not a directory, open '/x'"),
        (errno.EISDIR, "EISDIR: illegal operation on a directory, open '/x'"),
        (errno.EACCES, "EACCES: permission denied, open '/x'"),
        (errno.EEXIST, "EEXIST: file already exists, open '/x'"),
        (errno.ELOOP, "ELOOP: too many symbolic links encountered, open '/x'"),
        (errno.ENAMETOOLONG, "ENAMETOOLONG: name too long, open '/x'"),
        (errno.EPERM, "EPERM: operation not permitted, open '/x'"),
        (errno.EROFS, "EROFS: read-only file system, open '/x'"),
        (errno.ENOSPC, "ENOSPC: no space left on device, open '/x'"),
    ],
)
def test_each_code_has_its_fixed_description(number: int, text: str) -> None:
    assert node_message(OSError(number, os.strerror(number)), "open", "/x") == text


def test_a_call_on_an_open_file_has_no_path() -> None:
    assert node_message(IsADirectoryError(errno.EISDIR, ""), "read") == (
        "EISDIR: illegal operation on a directory, read"
    )


def test_a_code_without_fixed_words_takes_the_systems() -> None:
    assert node_message(OSError(errno.EDOM, "Some Words"), "read") == "EDOM: some words, read"


def test_an_error_without_a_number_is_unknown() -> None:
    assert error_code(OSError("odd")) == "UNKNOWN"


def test_a_worded_error_keeps_its_words_number_and_path() -> None:
    first = file_error(FileNotFoundError(errno.ENOENT, ""), "access", "/x")
    again = file_error(first, "open", "/y")
    assert again is first
    assert (str(first), first.errno, first.filename, first.code) == (
        "ENOENT: no such file or directory, access '/x'",
        errno.ENOENT,
        "/x",
        "ENOENT",
    )


def test_a_nul_character_in_a_path_is_worded_like_a_failed_call() -> None:
    with pytest.raises(FileError) as caught, wording("open", "/a\0b"):
        os.stat("/a\0b")  # noqa: PTH116 - the plain call
    assert (str(caught.value), caught.value.code) == (
        (
            "The argument 'path' must be a string, Uint8Array, or URL without null bytes."
            " Received '/a\\x00b'"
        ),
        "ERR_INVALID_ARG_VALUE",
    )


def test_an_unrelated_value_error_passes() -> None:
    with pytest.raises(ValueError, match=r"^other$"), wording("open", "/a"):
        raise ValueError("other")
