"""``pi-kernel install`` and the "Pi" kernel that it installs."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from pi_kernel.cli import main
from tests.support.kernels import START_SECONDS, Kernel

kernel = pytest.mark.kernel

KERNELS = "share/jupyter/kernels"


def install(prefix: Path, *arguments: str) -> int:
    """Run the command for a prefix."""
    return main(["install", "--prefix", str(prefix), *arguments])


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A prefix whose kernels Jupyter finds."""
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "prefix" / "share" / "jupyter"))
    return tmp_path / "prefix"


# -- the command ---------------------------------------------------------------------------------


def test_kernelspec_starts_this_python(prefix: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert install(prefix) == 0
    folder = prefix / KERNELS / "pi"
    assert capsys.readouterr() == (f'Installed the kernel "Pi" in {folder}\n', "")
    spec = json.loads((folder / "kernel.json").read_bytes())
    assert spec["display_name"] == "Pi"
    assert spec["argv"] == [
        *(sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"),
        "--IPKernelApp.extra_extensions=pi_kernel",
    ]


def test_place_that_jupyter_does_not_search_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install(tmp_path) == 0
    told = f"Jupyter finds it when JUPYTER_PATH names {tmp_path}/share/jupyter\n"
    assert capsys.readouterr().out.endswith(told)


def test_other_name_has_its_own_kernel_in_the_list_of_jupyter(
    prefix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install(prefix) == 0
    assert install(prefix, "--name", "My.Pi-2") == 0
    spec = json.loads((prefix / KERNELS / "my.pi-2" / "kernel.json").read_bytes())
    assert spec["display_name"] == "Pi (my.pi-2)"
    capsys.readouterr()
    assert install(prefix, "--name", "My.Pi-2", "--remove") == 0
    assert capsys.readouterr().out == f"Removed {prefix / KERNELS / 'my.pi-2'}\n"
    assert [folder.name for folder in (prefix / KERNELS).iterdir()] == ["pi"]


def test_installing_twice_is_the_same_as_once(prefix: Path) -> None:
    assert install(prefix) == 0
    first = (prefix / KERNELS / "pi" / "kernel.json").read_bytes()
    assert install(prefix) == 0
    assert (prefix / KERNELS / "pi" / "kernel.json").read_bytes() == first


def test_user_folder_is_the_one_of_jupyter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path))
    assert main(["install", "--user"]) == 0
    assert (tmp_path / "kernels" / "pi" / "kernel.json").is_file()
    assert main(["install", "--user", "--remove"]) == 0
    assert list((tmp_path / "kernels").iterdir()) == []


def test_removing_what_is_not_there_is_one_line(
    prefix: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install(prefix, "--remove") == 1
    assert capsys.readouterr() == ("", f"pi-kernel: no kernel named 'pi' in {prefix / KERNELS}\n")


@pytest.mark.parametrize("more", [(), ("--remove",)], ids=["install", "remove"])
def test_kernel_of_somebody_else_is_left_alone(
    prefix: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    folder = prefix / KERNELS / "python3"
    folder.mkdir(parents=True)
    content = '{"argv": ["python", "-m", "ipykernel_launcher"]}'
    (folder / "kernel.json").write_text(content, encoding="utf-8")
    assert install(prefix, "--name", "python3", *more) == 1
    error = f"pi-kernel: {folder} is not a kernel of pi_kernel; it was left alone\n"
    assert capsys.readouterr() == ("", error)
    assert (folder / "kernel.json").read_text(encoding="utf-8") == content


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "a b", "a/b", "../x", "é", "a\nb"])
@pytest.mark.parametrize("more", [(), ("--remove",)], ids=["install", "remove"])
def test_name_that_cannot_be_one_is_wrong_usage(
    prefix: Path, capsys: pytest.CaptureFixture[str], name: str, more: tuple[str, ...]
) -> None:
    (prefix / KERNELS).mkdir(parents=True)
    assert install(prefix, "--name", name, *more) == 2
    out, error = capsys.readouterr()
    assert out == ""
    assert "cannot be a kernel's name" in error
    assert error.count("\n") == 1
    assert list((prefix / KERNELS).iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("--prefix", ""), "argument --prefix: the name of the folder is empty"),
        (("--user", "--prefix", "x"), "argument --prefix: not allowed with argument --user"),
    ],
)
def test_wrong_usage_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], error: str
) -> None:
    assert main(["install", *arguments]) == 2
    assert capsys.readouterr() == ("", f"pi-kernel: {error}; see pi-kernel install --help\n")


def test_place_that_cannot_be_made_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert install(tmp_path / "file") == 1
    out, error = capsys.readouterr()
    assert out == ""
    assert error.startswith(f"pi-kernel: Not a directory: {tmp_path / 'file'}")
    assert error.count("\n") == 1


# -- the kernel ----------------------------------------------------------------------------------


@kernel
def test_first_cell_has_ctx_when_nbclient_runs_it(prefix: Path, tmp_path: Path) -> None:
    assert install(prefix) == 0
    v4: Any = nbformat.v4
    cell = v4.new_code_cell("(await ctx.execute_tool('bash', {'command': 'echo hi'})).text")
    notebook = v4.new_notebook(cells=[cell])
    resources = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, kernel_name="pi", resources=resources).execute()
    [output] = notebook.cells[0].outputs
    assert output.data["text/plain"] == "'hi\\n'"


@kernel
def test_file_of_the_person_takes_no_library_s_place_and_can_be_imported(
    prefix: Path, tmp_path: Path
) -> None:
    assert install(prefix) == 0
    work = tmp_path / "work"
    work.mkdir()
    for name in ("argparse", "json", "random"):
        (work / f"{name}.py").write_text("raise RuntimeError('mine')", encoding="utf-8")
    (work / "mine.py").write_text("VALUE = 7", encoding="utf-8")
    with Kernel("pi", cwd=str(work)) as running:
        assert running.run("import mine\nmine.VALUE").result == "7"
        assert running.run("(await ctx.execute_tool('ls', {})).status").result == "'ok'"


@kernel
def test_extensions_of_the_person_s_own_configuration_are_loaded_too(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = tmp_path / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    code = "get_config().InteractiveShellApp.extensions = ['autoreload']\n"
    (profile / "ipython_config.py").write_text(code, encoding="utf-8")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    assert install(prefix) == 0
    with Kernel("pi") as running:
        assert running.run("ctx").status == "ok"
        assert running.run("%autoreload 0").status == "ok"


@kernel
def test_kernel_can_be_started_by_hand(tmp_path: Path) -> None:
    path, _ = write_connection_file(str(tmp_path / "connection.json"))
    command = (sys.executable, "-m", "pi_kernel", "kernel", "-f", path)
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:  # noqa: S603 - ours
        client: Any = BlockingKernelClient(connection_file=path)
        client.load_connection_file()
        client.start_channels()
        try:
            client.wait_for_ready(timeout=START_SECONDS)
            reply = client.execute_interactive("ctx", timeout=START_SECONDS, allow_stdin=False)
            assert reply["content"]["status"] == "ok"
            client.shutdown()
            assert process.wait(START_SECONDS) == 0
        finally:
            client.stop_channels()
            process.kill()
