"""The command line, run as people run it: exit codes, what goes where, what it leaves alone."""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import json
import os
import pty
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

import pi_kernel
from pi_kernel.cli import main
from pi_kernel.cli.doctor import Requirement, findings, read_requirement
from pi_kernel.cli.terminal import Terminal, standard_output
from pi_kernel.cli.tools import type_name

ROOT = Path(__file__).parent.parent
COMMAND = (sys.executable, "-m", "pi_kernel")


@dataclass(frozen=True)
class Place:
    """A working directory, an empty home folder and an empty folder for temporary files."""

    path: Path
    home: Path
    temporary: Path

    @property
    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "PYTHONIOENCODING")}
        return {
            **kept,
            "HOME": str(self.home),
            "TMPDIR": str(self.temporary),
            "PYTHONPATH": str(ROOT),
            "PYTHONUTF8": "1",
            "TERM": "xterm",
        }

    def run(self, *arguments: str | bytes, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run one command line to its end."""
        environment = self.environment | options.pop("environment", {})
        return subprocess.run(  # noqa: S603 - our own program
            [*COMMAND, *arguments],
            cwd=self.path,
            env=environment,
            check=False,
            capture_output=True,
            encoding="utf-8",
            errors="surrogateescape",
            **options,
        )

    def folder(self, files: dict[str, bytes], name: str = "given") -> Path:
        """Make a folder of files."""
        folder = self.path / name
        folder.mkdir()
        for file_name, content in files.items():
            (folder / file_name).write_bytes(content)
        return folder


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    """A place of its own for each test; nothing may be left in its home and temporary folder."""
    made = Place(tmp_path / "work", tmp_path / "home", tmp_path / "temporary")
    for path in (made.path, made.home, made.temporary):
        path.mkdir()
    yield made
    assert list(made.home.iterdir()) == []
    assert list(made.temporary.iterdir()) == []


def wait_for(condition: Any, *, seconds: float = 10) -> Any:
    """Ask until there is an answer."""
    end = time.monotonic() + seconds
    while not (answer := condition()):
        assert time.monotonic() < end
        time.sleep(0.005)
    return answer


# -- the command itself ------------------------------------------------------------------------


def test_version_is_printed_without_loading_the_engine(place: Place) -> None:
    code = (
        "import json, sys\nfrom pi_kernel.cli import main\ncode = main(['--version'])\n"
        "loaded = {'pydantic', 'anyio', 'jsonschema_rs', 'pi_kernel.sessions'} & set(sys.modules)\n"
        "print(json.dumps([code, sorted(loaded)]))"
    )
    run = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code],
        check=True,
        capture_output=True,
        env=place.environment,
        encoding="utf-8",
    )
    assert run.stdout == f"pi-kernel {pi_kernel.__version__}\n[0, []]\n"


def test_console_script_is_the_same_program() -> None:
    [script] = importlib.metadata.entry_points(group="console_scripts", name="pi-kernel")
    assert script.load() is main


def test_help_lists_the_commands(place: Place) -> None:
    run = place.run("--help")
    assert (run.returncode, run.stderr) == (0, "")
    listed = re.findall(r"^    (\w+) ", run.stdout, re.MULTILINE)
    assert {"demo", "tools", "doctor"} <= set(listed)


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), "the following arguments are required: COMMAND; see pi-kernel --help"),
        (("demo", "--wrong"), "unrecognized arguments: --wrong; see pi-kernel --help"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    place: Place, arguments: tuple[str, ...], error: str
) -> None:
    run = place.run(*arguments)
    assert (run.returncode, run.stdout, run.stderr) == (2, "", f"pi-kernel: {error}\n")


@pytest.mark.parametrize(
    ("folder", "error"),
    [
        ("gone", "cannot use gone: No such file or directory"),
        ("two\nlines", "cannot use two\\nlines: No such file or directory"),
        (b"caf\xe9", "cannot use caf\\udce9: No such file or directory"),
        ("x" * 300, f"cannot use {'x' * 300}: File name too long"),
        ("file.txt", "file.txt is not a folder"),
        ("file.txt/below", "cannot use file.txt/below: Not a directory"),
        ("", "the name of the folder is empty"),
    ],
)
def test_folder_that_cannot_be_meant_is_wrong_usage(
    place: Place, folder: str | bytes, error: str
) -> None:
    (place.path / "file.txt").write_text("text", encoding="utf-8")
    run = place.run("demo", folder)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == f"pi-kernel: argument DIR: {error}; see pi-kernel demo --help\n"


def test_unknown_command_is_one_line_that_names_the_commands(place: Place) -> None:
    run = place.run("dance")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.count("\n") == 1
    assert all(word in run.stderr for word in ("dance", "demo", "tools", "doctor"))


def test_broken_installation_is_one_line_and_a_traceback_only_when_asked_for(
    place: Place,
) -> None:
    (place.path / "anyio.py").write_text("raise RuntimeError('two\\nlines')", encoding="utf-8")
    broken = {"PYTHONPATH": f"{place.path}:{ROOT}", "PYTHONDONTWRITEBYTECODE": "1"}
    error = "pi-kernel: internal error, please report it: RuntimeError: two\\nlines\n"
    run = place.run("tools", environment=broken)
    assert (run.returncode, run.stdout, run.stderr) == (1, "", error)
    run = place.run("tools", environment=broken | {"PI_KERNEL_DEBUG": "1"})
    assert run.returncode == 1
    assert run.stderr.startswith(error + "Traceback (most recent call last):\n")
    run = place.run("doctor", environment=broken)
    assert (run.returncode, run.stderr) == (1, "pi-kernel: this does not work here: a tool call\n")


# -- demo --------------------------------------------------------------------------------------


def test_demo_on_the_data_set_of_the_package_is_done(place: Place) -> None:
    run = place.run("demo")
    assert (run.returncode, run.stderr) == (0, "")
    assert "readings.csv has the most words: 193 in 193 lines." in run.stdout
    assert list(place.path.iterdir()) == []


def test_demo_prints_what_the_readme_shows_of_it(place: Place) -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8").partition("## The demo")[2]
    shown = readme.partition("```text\n")[2].partition("```")[0]

    def comparable(text: str) -> list[str]:
        """Drop times, temporary names, ends that are cut and the order of almost equal times."""
        text = re.sub(r"\d+\.\d ms", "? ms", re.sub(r"'/.*", "'", text))
        lines = [" ".join(line.split())[:80] for line in text.splitlines()]
        return [line for line in lines if line not in ("", "...") and "completion" not in line]

    printed = comparable(place.run("demo").stdout)
    assert [line for line in comparable(shown) if line not in printed] == []
    assert len(comparable(shown)) == 20


def test_demo_prints_what_the_json_says(place: Place) -> None:
    folder = place.folder({"a.csv": b"x\n1\n2\n", "b.md": b"# Title\n"})
    data = json.loads(place.run("demo", str(folder), "--json").stdout)
    text = place.run("demo", str(folder)).stdout
    assert data["folder"] == str(folder)
    for call in data["calls"]:
        parent = re.escape(call.get("parentId", "-"))
        row = rf"^{re.escape(call['id'])} +{parent} +{call['tool']} +{call['status']} "
        assert re.search(row, text, re.MULTILINE)
    assert data["agent"]["answer"] in text


def test_demo_of_a_changed_file_gives_changed_values(place: Place) -> None:
    folder = place.folder({"levels.csv": b"station,level_cm\nA,10\nB,20\n", "b.md": b"# Title\n"})

    def means() -> Any:
        run = place.run("demo", "given", "--json")
        assert (run.returncode, run.stderr) == (0, "")
        calls = {call["id"]: call for call in json.loads(run.stdout)["calls"]}
        return calls["call-5/3"]["structured"]["means"]

    assert means() == {"level_cm": 15.0}
    (folder / "levels.csv").write_bytes(b"station,level_cm\nA,10\nB,50\n")
    assert means() == {"level_cm": 30.0}


def test_demo_changes_no_file_of_the_folder(place: Place) -> None:
    folder = place.folder({"a.csv": b"x\n1\n2\n", "b.md": b"# Title\n"})

    def state() -> dict[str, tuple[bytes, int]]:
        return {p.name: (p.read_bytes(), p.stat().st_mtime_ns) for p in folder.iterdir()}

    before = state()
    assert place.run("demo", str(folder)).returncode == 0
    assert state() == before


@pytest.mark.parametrize("files", [{}, {"a.bin": b"\0\1"}, {".hidden": b"text"}])
def test_demo_of_a_folder_without_text_fails_in_one_line(
    place: Place, files: dict[str, bytes]
) -> None:
    folder = place.folder(files)
    run = place.run("demo", "given")
    assert (run.returncode, run.stdout) == (1, "")
    assert run.stderr.startswith(f"pi-kernel: {folder} holds no text file")
    assert run.stderr.count("\n") == 1


def test_demo_of_a_locked_folder_fails_in_one_line(place: Place) -> None:
    code = (
        "import os, sys, pi_kernel.demo\nfrom pi_kernel.cli import main\n"
        "if os.geteuid() == 0: os.setuid(65534)\n"  # root may read everything
        "os._exit(main(['demo', sys.argv[1]]))"  # another user can write no coverage
    )
    top = Path(tempfile.mkdtemp())  # pytest's own folders are closed to other users
    locked = top / "locked"
    try:
        locked.mkdir()
        top.chmod(0o755)
        locked.chmod(0)
        run = subprocess.run(  # noqa: S603 - our own program
            [sys.executable, "-c", code, str(locked)],
            check=False,
            capture_output=True,
            env=place.environment | {"TMPDIR": tempfile.gettempdir()},
            encoding="utf-8",
        )
    finally:
        locked.chmod(0o755)
        shutil.rmtree(top)
    error = f"pi-kernel: cannot read {locked}: Permission denied\n"
    assert (run.returncode, run.stdout, run.stderr) == (1, "", error)


def test_demo_takes_names_of_any_kind_and_its_json_is_utf_8(place: Place) -> None:
    names = (b"caf\xe9.txt", b"two\nlines.md", b"@at.csv", b"-rf.txt", "k\u00a0b.md".encode())
    place.folder({os.fsdecode(name): b"some text\n" for name in names}, os.fsdecode(b"odd\xe9"))
    run = place.run("demo", "--json", b"odd\xe9")
    assert (run.returncode, run.stderr) == (0, "")
    data = json.loads(run.stdout.encode("utf-8", "surrogateescape").decode("utf-8"))
    assert sorted(copy["source"] for copy in data["copies"]) == sorted(
        name.decode("utf-8", "replace") for name in names
    )
    assert place.run("demo", b"odd\xe9").returncode == 0


@pytest.mark.slow
@pytest.mark.timeout(120)
def test_demo_of_a_huge_folder_is_done(place: Place) -> None:
    folder = place.folder({"a.md": b"# Title\n"})
    for number in range(100_000):
        os.close(os.open(folder / f"{number:06}.dat", os.O_CREAT | os.O_WRONLY))
    run = place.run("demo", str(folder), "--json")
    shutil.rmtree(folder)  # pytest keeps its folders
    assert (run.returncode, run.stderr) == (0, "")
    data = json.loads(run.stdout)
    assert [copy["name"] for copy in data["copies"]] == ["a.md"]
    assert "500 entries limit reached" in data["calls"][0]["content"][0]["text"]


def test_demo_of_a_huge_file_works_on_its_beginning(place: Place) -> None:
    folder = place.folder({"start.csv": b"x\n" + b"1\n" * 100})
    with (folder / "huge.csv").open("wb") as file:
        file.write(b"x\n" + b"3\n" * 40_000)
        file.truncate(50 * 1024**3)  # sparse
    run = place.run("demo", str(folder), "--json")
    assert (run.returncode, run.stderr) == (0, "")
    data = json.loads(run.stdout)
    assert [(copy["name"], copy["isWhole"]) for copy in data["copies"]] == [
        ("huge.csv", False),
        ("start.csv", True),
    ]
    calls = {call["id"]: call for call in data["calls"]}
    assert calls["call-5/2"]["structured"] == {
        "path": "huge.csv",
        "lines": 1_999,
        "words": 2_000,
        "means": {"x (checked)": 3.0},
    }


def test_demo_without_a_place_for_temporary_files_fails_in_one_line(place: Place) -> None:
    nowhere = {"TMPDIR": "/nowhere", "TEMP": "/nowhere", "TMP": "/nowhere"}
    code = (
        "import sys, tempfile\nfrom pi_kernel.cli import main\n"
        "tempfile._candidate_tempdir_list = lambda: ['/nowhere']\nsys.exit(main(['demo']))"
    )
    run = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", code],
        check=False,
        capture_output=True,
        env=place.environment | nowhere,
        encoding="utf-8",
    )
    assert (run.returncode, run.stdout) == (1, "")
    assert re.fullmatch(r"pi-kernel: .*No usable temporary directory found.*\n", run.stderr)


def test_ctrl_c_stops_the_demo_and_its_commands_and_leaves_nothing(place: Place) -> None:
    process = subprocess.Popen(  # noqa: S603 - our own program
        [*COMMAND, "demo"],
        cwd=place.path,
        env=place.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    running = psutil.Process(process.pid)

    def sleeping() -> psutil.Process | None:
        for child in running.children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                if child.name() == "sleep":
                    return child
        return None

    command = wait_for(sleeping)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=10)
    assert (process.returncode, output, errors) == (130, b"", b"")
    assert not command.is_running() or command.status() == psutil.STATUS_ZOMBIE


# -- where the output goes ---------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [("demo",), ("tools",), ("--help",)])
def test_output_to_a_closed_pipe_is_quiet(place: Place, arguments: tuple[str, ...]) -> None:
    process = subprocess.Popen(  # noqa: S603 - our own program
        [*COMMAND, *arguments],
        cwd=place.path,
        env=place.environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(timeout=10) == 0


def test_output_that_cannot_be_written_fails_in_one_line(place: Place) -> None:
    with open("/dev/full", "wb") as full:  # noqa: PTH123 - a device
        run = subprocess.run(  # noqa: S603 - our own program
            [*COMMAND, "tools"],
            check=False,
            env=place.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            encoding="utf-8",
        )
    assert (run.returncode, run.stderr) == (1, "pi-kernel: No space left on device\n")


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", ">&- 2>&-"])
def test_closed_standard_streams_are_no_error(place: Place, closed: str) -> None:
    run = subprocess.run(  # noqa: S602 - the shell closes the stream
        f'"{sys.executable}" -m pi_kernel demo {closed}',
        shell=True,
        check=False,
        capture_output=True,
        cwd=place.path,
        env=place.environment,
    )
    assert (run.returncode, run.stderr) == (0, b"")


def test_output_is_ascii_where_the_encoding_is(place: Place) -> None:
    place.folder({"größe.md": "# Größe ☃\n".encode()})
    ascii_only = {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    run = place.run("demo", "given", environment=ascii_only)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.isascii()
    assert "# Gr\\xf6\\xdfe \\u2603" in run.stdout
    assert "`- call-5/2/1 read ok" in run.stdout
    data = json.loads(place.run("demo", "given", "--json", environment=ascii_only).stdout)
    assert data["copies"][0]["name"] == "größe.md"


def in_a_terminal(place: Place, *arguments: str, **environment: str) -> str:
    """Return what a command writes to a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(  # noqa: S603 - our own program
        [*COMMAND, *arguments],
        cwd=place.path,
        env=place.environment | environment,
        stdout=theirs,
        stderr=theirs,
        stdin=theirs,
    ) as process:
        os.close(theirs)
        pieces = []
        with contextlib.suppress(OSError):  # Linux says so when the last writer has gone
            while piece := os.read(ours, 65_536):
                pieces.append(piece)
        os.close(ours)
    assert process.returncode == 0
    return b"".join(pieces).decode("utf-8")


def test_colours_are_for_terminals_only_and_can_be_turned_off(place: Place) -> None:
    assert "\x1b[" in in_a_terminal(place, "tools")
    assert "\x1b[" not in in_a_terminal(place, "tools", NO_COLOR="1")
    assert "\x1b[" not in in_a_terminal(place, "tools", TERM="dumb")
    assert "\x1b[" not in place.run("tools").stdout


def test_text_is_cut_to_the_width_and_control_characters_are_escaped() -> None:
    assert Terminal().one_line("a\tb\r\n\x1b\u202e\ud800ü", 99) == "a b\\r\\n\\x1b\\u202e\\ud800ü"
    assert Terminal().one_line("abcdef", 6) == "abcdef"
    assert Terminal().one_line("abcdefg", 6) == "abcde…"
    assert Terminal(is_unicode=False).one_line("abcdefg", 6) == "abc..."
    assert Terminal(width=4).one_line("abcdefg") == "abc…"


def test_stream_that_stands_in_for_standard_output_is_written_to(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    stream = io.StringIO()
    monkeypatch.setattr("sys.stdout", stream)
    standard_output().line("text")
    assert stream.getvalue() == "text\n"


# -- tools and doctor --------------------------------------------------------------------------


def test_tools_lists_every_tool_with_its_parameters(place: Place) -> None:
    run = place.run("tools")
    assert (run.returncode, run.stderr) == (0, "")
    lines = run.stdout.splitlines()
    assert lines[0].split() == [
        *("name", "exposure", "active", "callable", "declared", "description"),
    ]
    tools = [line.split()[0] for line in lines[1:-2] if not line.startswith(" ")]
    assert tools == list(pi_kernel.ToolSession().registered)
    read = next(n for n, line in enumerate(lines) if line.startswith("read "))
    assert lines[read].split()[:5] == ["read", "direct", "yes", "yes", "yes"]
    assert [line.split("  ")[2] for line in lines[read + 1 : read + 4]] == [
        "path: string",
        "offset?: number",
        "limit?: number",
    ]
    assert "    edits: array of object {oldText, newText}  " in run.stdout


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        ({"type": "string"}, "string"),
        ({"type": ["integer", "null"]}, "integer | null"),
        ({"enum": ["a", 1]}, "'a' | 1"),
        ({"const": "a"}, "'a'"),
        ({"anyOf": [{"type": "string"}, {"type": "number"}]}, "string | number"),
        ({"type": "array", "items": {"type": "number"}}, "array of number"),
        ({"oneOf": [{"type": "null"}, True]}, "null | any"),
        ({"type": "array"}, "array"),
        ({"type": "object"}, "object"),
        ({"type": "object", "properties": {"a": {}, "b": {}}}, "object {a, b}"),
        ({}, "any"),
        (True, "any"),
    ],
)
def test_type_of_a_parameter_is_named_in_short(schema: object, name: str) -> None:
    assert type_name(schema) == name


def test_doctor_says_what_is_here_and_what_works(place: Place) -> None:
    run = place.run("doctor")
    assert (run.returncode, run.stderr) == (0, "")
    found = {
        match[2]: (match[1], match[3])
        for match in re.finditer(r"^  (\w+) +(.+?)  +(.+)$", run.stdout, re.MULTILINE)
    }
    assert found["Python"] == ("ok", f"{sys.version.split()[0]}, {sys.executable}")
    assert found["pi-kernel"][0] == "ok"
    assert found["a tool call"][0] == "ok"
    assert found["pydantic"] == ("ok", importlib.metadata.version("pydantic"))
    assert found["bash"][0] == "ok"
    assert list(place.path.iterdir()) == []


def test_doctor_tells_how_to_get_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "rg").write_text("#!/bin/sh\necho broken >&2\nexit 3\n", encoding="utf-8")
    (tmp_path / "rg").chmod(0o755)
    (tmp_path / "node").write_text("no program", encoding="utf-8")
    (tmp_path / "node").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = {finding.name: (finding.status, finding.facts) for finding in findings()}
    assert found["bash"] == (
        "missing",
        "not found; it runs the commands of the bash tool; to have it: install bash",
    )
    assert found["rg"] == ("unusable", f"{tmp_path}/rg ends with 3: broken")
    assert found["node"][0] == "unusable"


def test_doctor_tells_how_to_get_libraries_and_fails_for_those_that_are_needed(
    place: Place,
) -> None:
    # A folder of metadata that comes first on the path says what is needed.
    metadata = place.path / "pi_kernel-9.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: pi-kernel\nVersion: 9\n"
        "Requires-Dist: pydantic>=999\nRequires-Dist: no-such-library>=1.5\n"
        'Requires-Dist: no-such-extra>=2; extra == "more"\n',
        encoding="utf-8",
    )
    run = place.run("doctor", environment={"PYTHONPATH": f"{place.path}:{ROOT}"})
    version = importlib.metadata.version("pydantic")
    install = f"to have it: {sys.executable} -m pip install"
    lines = [" ".join(line.split()) for line in run.stdout.splitlines()]
    assert f"fails pydantic {version} is older than 999; {install} 'pydantic>=999'" in lines
    assert f"fails no-such-library not installed; {install} 'no-such-library>=1.5'" in lines
    assert 'Libraries of the extra "more"' in lines
    assert f"missing no-such-extra not installed; {install} 'pi-kernel[more]'" in lines
    assert run.returncode == 1
    assert run.stderr == "pi-kernel: this does not work here: pydantic, no-such-library\n"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("anyio>=4.4", Requirement("anyio", "4.4")),
        ("pi-kernel[data,lab]; extra == 'all'", Requirement("pi-kernel", "", "all")),
        ('polars>=1.0 ; extra == "data"', Requirement("polars", "1.0", "data")),
        ("x.y_z", Requirement("x.y_z")),
    ],
)
def test_requirement_is_read_from_metadata(line: str, expected: Requirement) -> None:
    assert read_requirement(line) == expected
