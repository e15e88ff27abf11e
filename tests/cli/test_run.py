"""``pi-kernel run``: what is written where, how it fails, and that nothing outlives it."""

from __future__ import annotations

import json
import resource
import signal
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import psutil
import pytest

from pi_kernel.cli import main
from tests.cli.conftest import Desk

kernel = pytest.mark.kernel

WaitFor = Callable[[Callable[[], Any]], Any]


def cells_of(path: Path) -> list[Any]:
    """Read a notebook's code cells."""
    notebook: Any = nbformat.read(path, as_version=4)
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def texts(cell: Any) -> list[str]:
    """Return the outputs of a cell as text."""
    return [
        output.get("text") or output.get("ename") or output.data["text/plain"]
        for output in cell.outputs
    ]


# -- what it does --------------------------------------------------------------------------------


@kernel
def test_notebook_runs_in_its_own_folder_and_is_not_changed(desk: Desk) -> None:
    (desk.path / "below").mkdir()
    (desk.path / "below" / "data.txt").write_text("seven", encoding="utf-8")
    path = desk.notebook(
        "%load_ext pi_kernel\n(await ctx.execute_tool('read', {'path': 'data.txt'})).text",
        "",
        "\n  # second\nprint('x' * 3)",
        name="below/some.ipynb",
    )
    before = path.read_bytes()
    run = desk.run("run", "below/some.ipynb")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.splitlines() == [
        "[1/2] %load_ext pi_kernel",
        "[2/2] # second",
        "below/some.ipynb: 2 cells ran",
    ]
    assert path.read_bytes() == before
    run = desk.run("run", "below/some.ipynb", "--output", "out.ipynb")
    assert run.stdout.endswith("Wrote out.ipynb\n")
    assert [texts(cell) for cell in cells_of(desk.path / "out.ipynb")] == [
        ["'seven'"],
        [],
        ["xxx\n"],
    ]
    assert path.read_bytes() == before


@kernel
def test_failing_cell_is_one_line_and_keeps_the_outputs_until_there(desk: Desk) -> None:
    path = desk.notebook("1 + 1", "raise ValueError('two\\nlines')", "3")
    notebook = json.loads(path.read_bytes())
    stale = {"output_type": "stream", "name": "stdout", "text": ["of an earlier run"]}
    notebook["cells"][2]["outputs"] = [stale]
    path.write_text(json.dumps(notebook), encoding="utf-8")
    run = desk.run("run", "some.ipynb", "--in-place")
    assert run.returncode == 1
    assert run.stderr == "pi-kernel: some.ipynb: cell 2 of 3 failed: ValueError: two\n"
    assert [texts(cell) for cell in cells_of(path)] == [["2"], ["ValueError"], []]


@kernel
def test_cell_that_takes_too_long_is_stopped_with_what_it_started(desk: Desk) -> None:
    desk.notebook(
        "%load_ext pi_kernel",
        "print('before')\n"
        "await ctx.tools.bash(command='echo $$ > pid; echo partial; exec sleep 1000')",
        "print('not reached')",
    )
    run = desk.run("run", "some.ipynb", "--timeout", "1.5", "--output", "out.ipynb")
    assert run.returncode == 1
    assert run.stderr == "pi-kernel: some.ipynb: cell 2 of 3 took longer than 1.5 s\n"
    assert not psutil.pid_exists(int((desk.path / "pid").read_text()))
    cells = cells_of(desk.path / "out.ipynb")
    assert texts(cells[1])[0] == "before\n"
    assert texts(cells[1])[-1] == "KeyboardInterrupt"
    assert texts(cells[2]) == []


@kernel
def test_busy_cell_that_takes_too_long_ends_without_a_word_of_its_kernel(desk: Desk) -> None:
    desk.notebook("import time\ntime.sleep(1000)")
    run = desk.run("run", "some.ipynb", "--timeout", "0.3")
    assert run.returncode == 1
    assert run.stderr == "pi-kernel: some.ipynb: cell 1 of 1 took longer than 0.3 s\n"


@kernel
def test_cell_that_ends_its_kernel_is_one_line(desk: Desk) -> None:
    desk.notebook("import os\nos._exit(3)")
    run = desk.run("run", "some.ipynb")
    assert run.returncode == 1
    assert run.stderr == "pi-kernel: some.ipynb: cell 1 of 1 ended the kernel\n"


@kernel
def test_kernel_of_the_notebook_that_is_not_there_can_be_replaced(desk: Desk) -> None:
    spec = {"name": "gone", "display_name": "Gone", "language": "python"}
    desk.notebook("1", kernelspec=spec)
    run = desk.run("run", "some.ipynb")
    assert run.returncode == 1
    assert run.stderr.startswith(
        "pi-kernel: some.ipynb: no kernel named 'gone'; --kernel takes one of: "
    )
    assert "python3" in run.stderr
    assert run.stderr.count("\n") == 1
    run = desk.run("run", "some.ipynb", "--kernel", "python3")
    assert (run.returncode, run.stderr) == (0, "")


@kernel
def test_kernel_that_does_not_start_is_one_line(desk: Desk) -> None:
    folder = desk.home / "data" / "kernels" / "broken"
    folder.mkdir(parents=True)
    spec = {"argv": [str(desk.path / "gone")], "display_name": "Broken", "language": "python"}
    (folder / "kernel.json").write_text(json.dumps(spec), encoding="utf-8")
    desk.notebook("1")
    run = desk.run("run", "some.ipynb", "--kernel", "broken")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr == f"pi-kernel: No such file or directory: {desk.path / 'gone'}\n"


@kernel
def test_question_to_the_person_fails_at_once(desk: Desk) -> None:
    desk.notebook("input('name? ')")
    run = desk.run("run", "some.ipynb")
    assert run.returncode == 1
    assert "cell 1 of 1 failed: StdinNotImplementedError: " in run.stderr


# -- writing back --------------------------------------------------------------------------------


@kernel
def test_writing_in_place_keeps_links_and_the_mode(desk: Desk) -> None:
    path = desk.notebook("6 * 7")
    path.chmod(0o640)
    (desk.path / "link.ipynb").symlink_to(path)
    run = desk.run("run", "link.ipynb", "--in-place")
    assert (run.returncode, run.stderr) == (0, "")
    assert (desk.path / "link.ipynb").is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [texts(cell) for cell in cells_of(path)] == [["42"]]
    assert sorted(p.name for p in desk.path.iterdir()) == ["link.ipynb", "some.ipynb"]


@kernel
def test_notebook_that_does_not_fit_on_the_disk_leaves_the_old_one(desk: Desk) -> None:
    path = desk.notebook("print('x' * 300_000)")
    before = path.read_bytes()

    def allow_files_of_100_kb() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    run = desk.run("run", "some.ipynb", "--in-place", preexec_fn=allow_files_of_100_kb)
    assert run.returncode == 1
    assert run.stderr == "pi-kernel: EFBIG: file too large, write\n"
    assert path.read_bytes() == before
    assert list(desk.path.iterdir()) == [path]


# -- Ctrl-C --------------------------------------------------------------------------------------


@kernel
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_the_run_the_kernel_and_its_children(
    desk: Desk, wait_for: WaitFor, number: signal.Signals
) -> None:
    path = desk.notebook(
        "%load_ext pi_kernel\n"
        "import os\n"
        "await ctx.tools.bash(command=f'echo {os.getpid()} $$ > new; mv new pids; sleep 1000')"
    )
    before = path.read_bytes()
    process = desk.start("run", "some.ipynb", "--in-place", stderr=subprocess.PIPE)
    pids = wait_for(lambda: (p := desk.path / "pids").exists() and p.read_text().split())
    kernel_pid, shell_pid = map(int, pids)
    assert psutil.pid_exists(kernel_pid)
    process.send_signal(number)
    _, stderr = process.communicate(timeout=10)
    assert (process.returncode, stderr) == (130, b"")
    assert not psutil.pid_exists(kernel_pid)
    assert not psutil.pid_exists(shell_pid)
    assert path.read_bytes() == before


# -- wrong usage ---------------------------------------------------------------------------------

NOT_NOTEBOOKS = {
    "empty": b"",
    "text": b"print(1)",
    "binary": b"\xff\xfe\0",
    "a list": b"[]",
    "null": b"null",
    "a number": b"3",
    "an object": b"{}",
    "deep": b"[" * 100_000,
    "of the future": b'{"nbformat": 9, "nbformat_minor": 0, "metadata": {}, "cells": []}',
    "without cells": b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": 3}',
    "of texts": b'{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": ["a"]}',
}


@pytest.mark.parametrize("content", NOT_NOTEBOOKS.values(), ids=NOT_NOTEBOOKS)
def test_file_that_is_no_notebook_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes
) -> None:
    path = tmp_path / "some.ipynb"
    path.write_bytes(content)
    assert main(["run", str(path), "--in-place"]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"pi-kernel: {path} is not a notebook: ")
    assert captured.err.count("\n") == 1
    assert path.read_bytes() == content


def test_notebook_that_cannot_be_read_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", str(tmp_path / "gone.ipynb")]) == 1
    assert capsys.readouterr().err == f"pi-kernel: no such notebook: {tmp_path / 'gone.ipynb'}\n"
    assert main(["run", str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"pi-kernel: Is a directory: {tmp_path}\n"


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--timeout", "0"), "argument --timeout: '0' is not a number of seconds above 0"),
        (("--timeout", "-1"), "argument --timeout: '-1' is not a number of seconds above 0"),
        (("--timeout", "nan"), "argument --timeout: 'nan' is not a number of seconds above 0"),
        (("--timeout", "inf"), "argument --timeout: 'inf' is not a number of seconds above 0"),
        (("--timeout", "x"), "argument --timeout: 'x' is not a number of seconds above 0"),
        (("--kernel", ""), "argument --kernel: the name of the kernel is empty"),
        (("--output", "."), "argument --output: . is a folder"),
        (("--output", ""), "argument --output: . is a folder"),
        (("--output", "gone/o"), "argument --output: the folder of gone/o does not exist"),
        (
            ("--output", "o", "--in-place"),
            "argument --in-place: not allowed with argument --output",
        ),
        ((), "the following arguments are required: notebook"),
    ],
)
def test_wrong_usage_is_found_before_anything_runs(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], error: str
) -> None:
    notebook = ["some.ipynb"] if arguments else []
    assert main(["run", *notebook, *arguments]) == 2
    assert capsys.readouterr() == ("", f"pi-kernel: {error}; see pi-kernel run --help\n")


def test_missing_nbclient_is_told_with_the_way_to_have_it(desk: Desk) -> None:
    desk.notebook("1")
    run = desk.run("run", "some.ipynb", environment=desk.without("nbclient"))
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith("pi-kernel: nbclient is not installed; run: ")
    assert run.stderr.endswith(" -m pip install 'pi-kernel[lab]'\n")
