"""``pi-kernel lab``: the notebooks that it opens, and a real JupyterLab that ends with it."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

import pi_kernel
from pi_kernel.cli import main
from pi_kernel.cli.notebooks import FIRST
from tests.cli.conftest import COMMAND, ROOT, Desk

AS_ROOT = os.geteuid() == 0
TOKEN = "of-a-test"  # noqa: S105 - of a server that lives for a second
SHIPPED = sorted(
    str(path.relative_to(ROOT / "notebooks"))
    for pattern in ("*.ipynb", "data/*")
    for path in (ROOT / "notebooks").glob(pattern)
)
STAND_IN = """
import json, os, sys
print(json.dumps({"arguments": sys.argv[1:], "folder": os.getcwd()}))
sys.exit(int(os.environ.get("LAB_CODE", "0")))
"""


@pytest.fixture
def started(desk: Desk) -> Callable[..., Any]:
    """Return what JupyterLab would be started with; a program of its name says so and ends."""
    package = desk.home / "stand-in" / "jupyterlab"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(STAND_IN, encoding="utf-8")

    def start(*arguments: str, path: str = str(ROOT), **environment: str) -> Any:
        environment["PYTHONPATH"] = f"{package.parent}{os.pathsep}{path}"
        run = desk.run("lab", *arguments, environment=environment)
        assert run.stderr == ""
        first, *rest, told = run.stdout.splitlines()
        assert rest == (["JupyterLab runs as root here"] if AS_ROOT else [])
        told = json.loads(told)
        if AS_ROOT:
            told["arguments"].remove("--allow-root")
        return first, run.returncode, told

    return start


def files_in(folder: Path) -> list[str]:
    """List the files below a folder."""
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


# -- what is opened ------------------------------------------------------------------------------


def test_notebooks_are_copied_to_a_folder_of_their_own(
    desk: Desk, started: Callable[..., Any]
) -> None:
    first, code, told = started()
    folder = desk.path / "pi-kernel-notebooks"
    assert (first, code) == (f"Notebooks in {folder}", 0)
    assert told == {"arguments": [str(folder / FIRST)], "folder": str(folder)}
    assert files_in(folder) == SHIPPED


def test_options_reach_jupyterlab(desk: Desk, started: Callable[..., Any]) -> None:
    _, _, told = started("--no-browser", "--port", "9123", "mine")
    folder = desk.path / "mine"
    assert told["folder"] == str(folder)
    assert told["arguments"][0] == str(folder / FIRST)
    assert sorted(told["arguments"][1:]) == sorted(["--no-browser", "--port=9123"])


def test_exit_code_of_jupyterlab_is_passed_on(started: Callable[..., Any]) -> None:
    assert started(LAB_CODE="3")[1] == 3


def test_checkout_is_opened_where_it_is(desk: Desk, started: Callable[..., Any]) -> None:
    shutil.copytree(ROOT / "notebooks", desk.path / "notebooks")
    _, _, told = started()
    assert told["folder"] == str(desk.path / "notebooks")
    assert [path.name for path in desk.path.iterdir()] == ["notebooks"]


def test_copies_of_the_installed_package_leave_changed_files_alone(
    desk: Desk, started: Callable[..., Any], tmp_path: Path
) -> None:
    installed = tmp_path / "site"
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(pi_kernel.__file__).parent, installed / "pi_kernel", ignore=ignore)
    shutil.copytree(ROOT / "notebooks", installed / "pi_kernel" / "tutorials")
    folder = desk.path / "pi-kernel-notebooks"
    started(path=str(installed))
    assert files_in(folder) == SHIPPED
    (folder / FIRST).write_text("changed", encoding="utf-8")
    (folder / "data" / "readings.csv").unlink()
    started(path=str(installed))
    assert (folder / FIRST).read_text(encoding="utf-8") == "changed"
    shipped = ROOT / "notebooks" / "data" / "readings.csv"
    assert (folder / "data" / "readings.csv").read_bytes() == shipped.read_bytes()


def test_file_of_the_person_takes_no_library_s_place(
    desk: Desk, started: Callable[..., Any]
) -> None:
    folder = desk.path / "pi-kernel-notebooks"
    folder.mkdir()
    (folder / "json.py").write_text("raise RuntimeError('mine')", encoding="utf-8")
    assert started()[1] == 0


def test_missing_jupyterlab_is_told_before_anything_is_copied(desk: Desk) -> None:
    run = desk.run("lab", environment=desk.without("jupyterlab"))
    assert (run.returncode, run.stdout) == (1, "")
    way = f"{sys.executable} -m pip install 'pi-kernel[lab]'"
    assert run.stderr == f"pi-kernel: JupyterLab is not installed; run: {way}\n"
    assert list(desk.path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--port", "0"), "argument --port: '0' is not a port"),
        (("--port", "65536"), "argument --port: '65536' is not a port"),
        (("--port", "x"), "argument --port: 'x' is not a port"),
        (("",), "argument DIR: the name of the folder is empty"),
    ],
)
def test_wrong_usage_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], error: str
) -> None:
    assert main(["lab", *arguments]) == 2
    assert capsys.readouterr() == ("", f"pi-kernel: {error}; see pi-kernel lab --help\n")


def test_folder_that_is_a_file_is_one_line(desk: Desk) -> None:
    (desk.path / "file").touch()
    run = desk.run("lab", "file")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith("pi-kernel: ")
    assert str(desk.path / "file") in run.stderr
    assert run.stderr.count("\n") == 1


# -- a real JupyterLab ---------------------------------------------------------------------------

ON_A_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


@contextmanager
def terminal(desk: Desk, *arguments: str, **environment: str) -> Iterator[tuple[Any, int]]:
    """Start the command on a terminal of its own."""
    ours, its = pty.openpty()
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", ON_A_TERMINAL, *COMMAND, *arguments],
        cwd=desk.path,
        env=desk.environment | environment,
        stdin=its,
        stdout=its,
        stderr=its,
        start_new_session=True,
    )
    os.close(its)
    try:
        yield process, ours
    finally:
        if process.poll() is None:  # the test failed
            for child in psutil.Process(process.pid).children(recursive=True):
                child.kill()
            process.kill()
            process.wait()
        os.close(ours)


def read_until(terminal_file: int, pattern: str) -> str:
    """Read what is printed up to a match."""
    printed = ""
    while not (match := re.search(pattern, printed)):
        printed += os.read(terminal_file, 65_536).decode()
    return match[0]


def ask(url: str, **data: Any) -> Any:
    """Send a request to the server's API."""
    request = urllib.request.Request(  # noqa: S310 - the server of this test
        url,
        data=json.dumps(data).encode() if data else None,
        headers={"Authorization": f"token {TOKEN}"},
    )
    with urllib.request.urlopen(request, timeout=20) as answer:  # noqa: S310 - as above
        return json.load(answer)


def ask_once(url: str) -> Any:
    """Send a request to a server that may not listen yet; None then."""
    try:
        return ask(url)
    except urllib.error.URLError as error:
        if isinstance(error.reason, ConnectionRefusedError):
            return None
        raise


def command_of(process: psutil.Process) -> list[str]:
    """Return the arguments of a process; one that has ended meanwhile has none."""
    try:
        return list(process.cmdline())
    except psutil.NoSuchProcess:  # a zombie is one too
        return []


def is_alive(process: psutil.Process) -> bool:
    """Whether a process still runs; a zombie does not, whenever its parent takes note of it."""
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def free_port() -> int:
    """Return a port that nobody listens on."""
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_process_that_has_ended_but_was_not_waited_for_is_not_alive(
    wait_for: Callable[[Callable[[], Any]], Any],
) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    ) as child:
        process = psutil.Process(child.pid)
        assert is_alive(process)
        assert command_of(process)[1:] == ["-c", "import sys; sys.stdin.read()"]
        assert child.stdin is not None
        child.stdin.close()
        wait_for(lambda: process.status() == psutil.STATUS_ZOMBIE)
        assert not is_alive(process)
        assert command_of(process) == []
    assert not is_alive(process)


@pytest.mark.kernel
@pytest.mark.timeout(90)
def test_real_jupyterlab_answers_and_ends_by_ctrl_c_with_its_kernels(
    desk: Desk, wait_for: Callable[[Callable[[], Any]], Any]
) -> None:
    port = free_port()
    options = ("--no-browser", "--port", str(port))
    with terminal(desk, "lab", *options, JUPYTER_TOKEN=TOKEN) as (process, screen):
        read_until(screen, rf"http://[^\s]*:{port}/lab")
        found = wait_for(lambda: ask_once(f"http://127.0.0.1:{port}/api/contents/{FIRST}"))
        assert found["content"]["cells"][0]["source"].startswith("# Quick start")
        ask(f"http://127.0.0.1:{port}/api/kernels", name="python3")
        children = psutil.Process(process.pid).children(recursive=True)
        assert any("ipykernel_launcher" in command_of(child) for child in children)
        os.write(screen, b"\x03")
        read_until(screen, r"Shut down this Jupyter server")
        os.write(screen, b"\x03")
        with os.fdopen(os.dup(screen), "rb", buffering=0) as rest:
            _drain(rest)
        assert process.wait(20) == 0
        wait_for(lambda: not any(is_alive(child) for child in children))


def _drain(file: Any) -> None:
    """Read to the end, so that the program never waits for its terminal."""
    try:
        while file.read(65_536):
            pass
    except OSError:  # how a terminal says that nobody is there any more
        return
