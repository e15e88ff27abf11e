"""The tools on another machine: what they give locally, and nothing that outlives the connection.

The far machine is another interpreter, in a container where that works. That processes are gone is
seen in the process list, after they were seen there.
"""

from __future__ import annotations

import ast
import asyncio
import gc
import io
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import psutil
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pi_kernel import AbortSignal, PiKernelError, ToolDefinition, ToolSession
from pi_kernel.protocol.results import ToolResult
from pi_kernel.tools import _remote_link, create_all_tools, create_tool_definition
from pi_kernel.tools import remote as remote_module
from pi_kernel.tools._preview import preview
from pi_kernel.tools._remote_guard import COMMANDS_PER_REAPING
from pi_kernel.tools._remote_program import INTERPRETER_OPTIONS, far_modules
from pi_kernel.tools._undo import undo
from pi_kernel.tools.remote import REMOTE_TOOLS, SubprocessOperations, create_remote_tools

BOUND_SECONDS = 10
"""No test waits longer for anything; commands sleep far longer, so a hang shows."""
HERE = [sys.executable, "-"]


def other_pythons() -> Iterator[str]:
    """Yield interpreters of other versions, the oldest and the newest that there is."""
    names = [shutil.which(f"python3.{minor}") for minor in range(8, 20)]
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    names += [str(path) for path in pyenv.glob("3.*/bin/python3")]
    versions: dict[tuple[int, ...], str] = {}
    for name in filter(None, names):
        probe = [name, "-c", "import sys; print(*sys.version_info[:2])"]
        run = subprocess.run(probe, capture_output=True, check=False)  # noqa: S603 - found above
        version = tuple(map(int, run.stdout.split()))
        if version >= (3, 8):
            versions[version] = name
    for version in sorted({min(versions), max(versions)} if versions else ()):
        yield versions[version]


COMMANDS = [HERE, *([python, "-"] for python in other_pythons())]


@pytest.fixture(scope="module", params=COMMANDS, ids=lambda command: command[0])
def there(request: pytest.FixtureRequest) -> Iterator[SubprocessOperations]:
    """Return a connection that all tests of an interpreter share, from loop to loop."""
    operations = SubprocessOperations(request.param)
    yield operations
    operations.close_now()


@pytest.fixture
async def fresh() -> AsyncIterator[SubprocessOperations]:
    """Return a connection of the test's own."""
    async with SubprocessOperations(HERE) as operations:
        yield operations


async def result_of(
    tool: ToolDefinition, params: dict[str, Any], *, ctx: object = None, **options: Any
) -> Any:
    """Return a result as it is sent, or the text of the failure."""
    execute: Any = tool.execute
    signal_, on_update = options.get("signal"), options.get("on_update")
    with anyio.fail_after(BOUND_SECONDS):
        try:
            result: ToolResult = await execute("call-1", params, signal_, on_update, ctx)
        except Exception as error:  # noqa: BLE001 - its text is compared
            return str(error)
    wire = result.to_wire()
    if "structuredContent" in wire and isinstance(wire["structuredContent"], dict):
        wire["structuredContent"].pop("wall_time_seconds", None)
    return wire


async def eventually(condition: Callable[[], bool]) -> bool:
    with anyio.move_on_after(BOUND_SECONDS):
        while not condition():  # noqa: ASYNC110 - the process list tells nobody of its changes
            await anyio.sleep(0.01)
    return condition()


def running(name: str) -> int:
    """Return how many processes have the name as their first argument."""
    count = 0
    for process in psutil.process_iter(["cmdline", "status"]):
        is_dead = process.info["status"] == psutil.STATUS_ZOMBIE
        count += (process.info["cmdline"] or [""])[0] == name and not is_dead
    return count


def children_of(pid: int) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children(recursive=True)]


def new_children(before: list[int]) -> list[int]:
    return [pid for pid in children_of(os.getpid()) if pid not in before]


class Output:
    """Collects partial results and lets a test wait for a text in them."""

    def __init__(self) -> None:
        self.text = ""
        self._changed = asyncio.Event()

    def __call__(self, result: ToolResult) -> None:
        self.text = "".join(getattr(block, "text", "") for block in result.content)
        self._changed.set()

    async def until(self, wanted: str) -> None:
        with anyio.fail_after(BOUND_SECONDS):
            while wanted not in self.text:
                self._changed.clear()
                await self._changed.wait()


def three_sleepers(name: str) -> str:
    """Return a command with a child, a child in a session of its own and a daemon."""
    return (
        f"(exec -a {name} sleep 300) & "
        f"setsid bash -c 'exec -a {name} sleep 300' & "
        f"(setsid bash -c '(exec -a {name} sleep 300) & disown' &) ; "
        "echo ready; wait; sleep 300"
    )


# -- the same results --------------------------------------------------------------------------


def make_tree(root: Path) -> None:
    """Fill a folder with what tools meet."""
    from PIL import Image  # noqa: PLC0415 - only this makes a picture

    root.mkdir()
    (root / "a.txt").write_text("one\ntwo\nthree\n")
    (root / "crlf.txt").write_bytes(b"\xef\xbb\xbfone\r\ntwo\r\n")
    (root / "binary").write_bytes(bytes(range(256)) * 40)
    (root / "long.txt").write_text("".join(f"line {n}\n" for n in range(30_000)))
    (root / "empty").write_text("")
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "sub" / "b.py").write_text("print(1)\n")
    (root / "sub" / "deep" / "C.py").write_text("print(2)\n")
    (root / ".hidden").write_text("h\n")
    (root / "folder").mkdir()
    (root / "link").symlink_to("a.txt")
    (root / "folder link").symlink_to("sub")
    (root / "dangling").symlink_to("nowhere")
    (root / "loop").symlink_to("loop")
    os.mkfifo(root / "pipe")
    (root / "new\nline").write_text("x")
    (root / "blank ").write_text("x")
    (root / "\u00e9\u4e2d\U0001f600").write_text("x")
    with open(os.fsencode(root) + b"/undecodable\xff", "wb"):  # noqa: PTH123 - bytes
        pass
    buffer = io.BytesIO()
    Image.new("RGB", (30, 20), "red").save(buffer, "PNG")
    (root / "picture").write_bytes(buffer.getvalue())


@pytest.fixture(scope="module")
def trees(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return two equal folders."""
    folder = tmp_path_factory.mktemp("trees")
    make_tree(folder / "near")
    make_tree(folder / "away")
    return folder / "near", folder / "away"


EQUAL_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("read", {"path": "a.txt"}),
    ("read", {"path": "a.txt", "offset": 2, "limit": 1}),
    ("read", {"path": "a.txt", "offset": 9}),
    ("read", {"path": "crlf.txt"}),
    ("read", {"path": "binary"}),
    ("read", {"path": "long.txt"}),
    ("read", {"path": "long.txt", "offset": 29_000}),
    ("read", {"path": "long.txt", "limit": -3}),
    ("read", {"path": "empty"}),
    ("read", {"path": "picture"}),
    ("read", {"path": "link"}),
    ("read", {"path": "dangling"}),
    ("read", {"path": "loop"}),
    ("read", {"path": "missing"}),
    ("read", {"path": "a.txt/b"}),
    ("read", {"path": "sub"}),
    ("read", {"path": "a\0b"}),
    ("read", {"path": "\u00e9\u4e2d\U0001f600"}),
    ("read", {"path": "n" * 300}),
    ("read", {"path": "/proc/sys/kernel/ostype"}),
    ("ls", {}),
    ("ls", {"limit": 3}),
    ("ls", {"path": "folder link"}),
    ("ls", {"path": "folder"}),
    ("ls", {"path": "missing"}),
    ("ls", {"path": "a.txt"}),
    ("ls", {"path": "dangling"}),
    ("find", {"pattern": "*"}),
    ("find", {"pattern": "*.py"}),
    ("find", {"pattern": "**/*.py"}),
    ("find", {"pattern": "sub/**"}),
    ("find", {"pattern": "./sub/*.py"}),
    ("find", {"pattern": "{a,b}.{txt,py}"}),
    ("find", {"pattern": "c.py"}),
    ("find", {"pattern": "C.py"}),
    ("find", {"pattern": "*[!a]*t"}),
    ("find", {"pattern": "nothing"}),
    ("find", {"pattern": "", "path": "sub"}),
    ("find", {"pattern": "[a"}),
    ("find", {"pattern": "{a"}),
    ("find", {"pattern": "*.py", "path": "folder link"}),
    ("bash", {"command": "cat a.txt; echo err >&2; pwd -P | wc -l"}),
    ("bash", {"command": "exit 3"}),
    ("bash", {"command": "kill -9 $$"}),
    ("bash", {"command": "true"}),
    ("bash", {"command": "cat"}),
    ("bash", {"command": "printf 'a\\xffb\\0c'"}),
    ("bash", {"command": "echo started; sleep 60", "timeout": 0.3}),
    ("bash", {"command": "echo x", "timeout": -1}),
    ("bash", {"command": "no-such-program-here"}),
    ("bash", {"command": "(sleep 0.03; echo late) & echo early"}),
    ("write", {"path": "w/x/new.txt", "content": "\u00e9\r\n\ud800"}),
    ("write", {"path": "w/x/new.txt", "content": "again"}),
    ("write", {"path": "link", "content": "one\ntwo\nthree\n"}),
    ("write", {"path": "sub", "content": ""}),
    ("write", {"path": "a.txt/b", "content": ""}),
    ("write", {"path": "a.txt/b/c", "content": ""}),
    ("write", {"path": "pipe", "content": ""}),
    ("write", {"path": "loop", "content": ""}),
    ("write", {"path": "n" * 300, "content": ""}),
    ("edit", {"path": "crlf.txt", "edits": [{"oldText": "two", "newText": "2\n3"}]}),
    ("edit", {"path": "a.txt", "edits": [{"oldText": "four", "newText": "4"}]}),
    ("edit", {"path": "a.txt", "edits": []}),
    ("edit", {"path": "sub", "edits": [{"oldText": "a", "newText": "b"}]}),
    ("edit", {"path": "missing", "edits": [{"oldText": "a", "newText": "b"}]}),
    ("edit", {"path": "pipe", "edits": [{"oldText": "a", "newText": "b"}]}),
    ("edit", {"path": "loop", "edits": [{"oldText": "a", "newText": "b"}]}),
]


@pytest.mark.parametrize(("name", "params"), EQUAL_CALLS)
async def test_result_is_that_of_the_local_tool(
    there: SubprocessOperations, trees: tuple[Path, Path], name: str, params: dict[str, Any]
) -> None:
    near, away = trees
    expected = await result_of(create_all_tools(near)[name], params)
    found = await result_of(create_remote_tools(str(away), there)[name], params)
    assert found == _with_root(expected, near, away)
    assert contents(away) == contents(near)


def _with_root(result: Any, near: Path, away: Path) -> Any:
    if isinstance(result, dict):
        return {key: _with_root(value, near, away) for key, value in result.items()}
    if isinstance(result, list):
        return [_with_root(value, near, away) for value in result]
    return result.replace(str(near), str(away)) if isinstance(result, str) else result


def contents(root: Path) -> dict[str, bytes | str]:
    found: dict[str, bytes | str] = {}
    for path in root.rglob("*"):
        if path.is_symlink():
            content: bytes | str = str(path.readlink())
        else:
            content = path.read_bytes() if path.is_file() else oct(path.stat().st_mode)
        found[str(path.relative_to(root))] = content
    return found


async def test_a_timeout_after_the_shell_s_exit_is_told_as_locally(
    there: SubprocessOperations, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # for the file with all output
    bash = create_remote_tools(str(tmp_path), there)["bash"]
    params = {"command": "while :; do echo y; done & exit 4", "timeout": 0.5}
    text = await result_of(bash, params)
    assert text.endswith(
        " seconds, but background processes it started kept writing output until the timeout."
    )
    assert "\n\nCommand timed out after 0.5 seconds. The shell exited with code 4 after " in text


async def test_special_file_is_refused_as_locally_but_for_the_path_that_is_shown(
    there: SubprocessOperations, trees: tuple[Path, Path]
) -> None:
    _, away = trees
    tools = create_remote_tools(str(away), there)
    assert await result_of(tools["read"], {"path": "pipe"}) == (
        f"Cannot read {away}/pipe: it is a named pipe (FIFO), not a regular file"
    )


@settings(max_examples=40)
@given(pattern=st.text(alphabet="abC.*?/[]!{},py\\subdeep", max_size=8))
async def test_find_gives_what_the_local_one_gives_for_any_pattern(
    there: SubprocessOperations, trees: tuple[Path, Path], pattern: str
) -> None:
    near, away = trees
    params = {"pattern": pattern}
    expected = await result_of(create_all_tools(near)["find"], params)
    found = await result_of(create_remote_tools(str(away), there)["find"], params)
    if "too complex" not in str(found):
        assert found == _with_root(expected, near, away)


async def test_find_leaves_out_what_the_tool_asks_it_to_and_tells_of_more(
    there: SubprocessOperations, tmp_path: Path
) -> None:
    for name in ("a/node_modules/x.js", ".git/config.js", "a/b.js", "c.js"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    find = create_remote_tools(str(tmp_path), there)["find"]
    found = await result_of(find, {"pattern": "*.js"})
    assert found["content"][0]["text"] == "a/b.js\nc.js"
    found = await result_of(find, {"pattern": "*.js", "limit": 1})
    assert found["content"][0]["text"] == "a/b.js\n\n[1 results limit reached]"
    missing = await result_of(find, {"pattern": "*", "path": "missing"})
    assert missing == f"Path not found: {tmp_path}/missing"
    assert await result_of(find, {"pattern": "*", "path": "c.js"}) == (
        f"[fd error]: Search path '{tmp_path}/c.js' is not a directory.\n"
        "[fd error]: No valid search paths given."
    )


async def test_a_pattern_that_is_too_much_for_an_older_python_is_refused(
    there: SubprocessOperations, tmp_path: Path
) -> None:
    (tmp_path / ("a" * 200)).write_text("")
    find = create_remote_tools(str(tmp_path), there)["find"]
    found = await result_of(find, {"pattern": "*a*a*a*a*a*a*a*a*b"})
    if isinstance(found, str):
        assert re.fullmatch(
            r"\[fd error\]: the pattern is too complex for Python 3\.(8|9|10) there", found
        )
    else:
        assert found["content"][0]["text"] == "No files found matching pattern"


async def test_find_heeds_ignore_files(fresh: SubprocessOperations, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("*.log\n/build/\n")
    (tmp_path / "build").mkdir()
    for name in ("a.log", "a.txt", "build/b.txt"):
        (tmp_path / name).write_text("")
    expected = await result_of(create_all_tools(tmp_path)["find"], {"pattern": "*"})
    assert expected["content"][0]["text"] == ".gitignore\na.txt"
    find = create_remote_tools(str(tmp_path), fresh)["find"]
    assert await result_of(find, {"pattern": "*"}) == expected


async def test_files_without_permission_give_the_local_errors(
    unprivileged_folder: Path,
) -> None:
    python = shutil.which("python3", path="/usr/bin:/bin")
    if python is None:
        pytest.skip("needs a python3 that everybody may run")
    (unprivileged_folder / "secret").write_text("x\n")
    (unprivileged_folder / "secret").chmod(0)
    (unprivileged_folder / "fixed").write_text("x\n")
    (unprivileged_folder / "fixed").chmod(0o444)
    closed = unprivileged_folder / "closed"
    closed.mkdir()
    closed.chmod(0o500)
    calls: list[tuple[str, dict[str, Any]]] = [
        ("read", {"path": "secret"}),
        ("write", {"path": "secret", "content": "y"}),
        ("write", {"path": "closed/new", "content": "y"}),
        ("write", {"path": "closed/sub/new", "content": "y"}),
        ("edit", {"path": "secret", "edits": [{"oldText": "x", "newText": "y"}]}),
        ("edit", {"path": "fixed", "edits": [{"oldText": "x", "newText": "y"}]}),
    ]
    # The user of the test is the effective one; an interpreter takes its real one as well.
    become = (
        f"import os,sys; os.setresuid(*3*({os.geteuid()},)); os.execv(sys.executable, sys.argv)"
    )
    command = [str(python), "-c", become]
    near = create_all_tools(unprivileged_folder)
    async with SubprocessOperations(command) as operations:
        far = create_remote_tools(str(unprivileged_folder), operations)
        for name, params in calls:
            expected = await result_of(near[name], params)
            assert "EACCES" in expected
            assert await result_of(far[name], params) == expected


async def test_large_binary_content_goes_there_and_back(
    there: SubprocessOperations, tmp_path: Path
) -> None:
    path = str(tmp_path / "large")
    content = secrets.token_bytes(20 * 1024 * 1024 + 1)
    with anyio.fail_after(BOUND_SECONDS):
        await there.write_file(path, content)
        assert (tmp_path / "large").read_bytes() == content
        assert await there.read_file(path) == content


@settings(max_examples=30)
@given(content=st.binary(max_size=300))
async def test_any_bytes_go_there_and_back(
    there: SubprocessOperations, tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = str(tmp_path_factory.mktemp("bytes") / "a")
    await there.write_file(path, content)
    assert Path(path).read_bytes() == content == await there.read_file(path)


async def test_write_keeps_mode_and_links_there(
    there: SubprocessOperations, tmp_path: Path
) -> None:
    (tmp_path / "real").write_text("old")
    (tmp_path / "real").chmod(0o751)
    (tmp_path / "link").symlink_to("real")
    before = (tmp_path / "real").stat()
    write = create_remote_tools(str(tmp_path), there)["write"]
    await result_of(write, {"path": "link", "content": "new"})
    after = (tmp_path / "real").stat()
    assert (tmp_path / "link").is_symlink()
    assert (after.st_mode, (tmp_path / "real").read_text()) == (before.st_mode, "new")
    assert after.st_ino != before.st_ino  # it was replaced as a whole
    assert sorted(os.listdir(tmp_path)) == ["link", "real"]  # noqa: PTH208 - names


async def test_many_calls_run_at_once_from_several_loops(
    there: SubprocessOperations, tmp_path: Path
) -> None:
    tools = create_remote_tools(str(tmp_path), there)
    # Each waits for a file that the next one makes: one after the other they would never end.
    command = "until [ -e {n} ]; do sleep 0.01; done; touch {next}; echo {n}"
    results: list[Any] = []

    async def run_some(numbers: range) -> None:
        async with anyio.create_task_group() as group:
            for number in numbers:
                group.start_soon(run_one, number)

    async def run_one(number: int) -> None:
        params = {"command": command.format(n=number, next=number + 1)}
        results.append((await result_of(tools["bash"], params))["content"][0]["text"])

    threads = [
        threading.Thread(target=asyncio.run, args=(run_some(numbers),))
        for numbers in (range(12), range(12, 24))
    ]
    for thread in threads:
        thread.start()
    (tmp_path / "0").touch()
    for thread in threads:
        await anyio.to_thread.run_sync(thread.join)
    assert sorted(results, key=int) == [f"{number}\n" for number in range(24)]


async def test_output_of_a_command_comes_while_it_runs(
    there: SubprocessOperations, tmp_path: Path
) -> None:
    bash = create_remote_tools(str(tmp_path), there)["bash"]
    output = Output()
    go_on = tmp_path / "go"
    command = "echo first; until [ -e go ]; do sleep 0.01; done; echo second"
    async with anyio.create_task_group() as group:

        async def release() -> None:
            await output.until("first")
            go_on.touch()

        group.start_soon(release)
        result = await result_of(bash, {"command": command}, on_update=output)
    assert result["content"][0]["text"] == "first\nsecond\n"


async def test_a_stream_that_is_left_early_stops_there(
    fresh: SubprocessOperations, tmp_path: Path
) -> None:
    (tmp_path / "large").write_bytes(b"x" * 50_000_000)
    stream = fresh.create_read_stream(str(tmp_path / "large"))
    first = await anext(stream)
    assert first == b"x" * len(first)
    await stream.aclose()
    # The file is not open any more in any child: the far end has heard of it.
    path = str(tmp_path / "large")

    def is_open() -> bool:
        processes = [psutil.Process(pid) for pid in children_of(os.getpid())]
        return any(file.path == path for process in processes for file in process.open_files())

    assert await eventually(lambda: not is_open())
    assert await fresh.exists(path)


# -- the far machine's own -----------------------------------------------------------------------


async def test_commands_get_the_environment_there_and_what_was_set_for_the_tool(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ONLY_HERE", "a secret")
    monkeypatch.setenv("PI_SESSION_ID", "somebody else's")
    command = ["env", "-i", "PATH=/usr/bin:/bin", "ONLY_THERE=yes", "PI_MODEL=old", *HERE]
    async with SubprocessOperations(command) as operations:

        def hook(facts: dict[str, Any]) -> dict[str, Any]:
            return {"env": {**facts["env"], "FROM_HOOK": "set"}}

        tools = create_remote_tools(str(tmp_path), operations, bash={"spawn_hook": hook})
        ctx = SimpleNamespace(cwd="/nowhere", session_id="ours", session=None)
        result = await result_of(tools["bash"], {"command": "env | sort"}, ctx=ctx)
    names = dict(
        line.split("=", 1) for line in result["structuredContent"]["output"].split("\n")[:-1]
    )
    assert (
        names.items()
        >= {
            "FROM_HOOK": "set",
            "ONLY_THERE": "yes",
            "PATH": "/usr/bin:/bin",
            "PI_SESSION_ID": "ours",
        }.items()
    )
    assert not names.keys() & {"ONLY_HERE", "PI_MODEL"}


async def test_a_session_s_own_folder_does_not_count_there(
    there: SubprocessOperations, tmp_path: Path
) -> None:
    (tmp_path / "here").mkdir()
    (tmp_path / "there").mkdir()
    tools = create_remote_tools(str(tmp_path / "there"), there)
    async with ToolSession(tmp_path / "here", tools=tools.values()) as session:
        outcome = await session.execute_tool("write", {"path": "a.txt", "content": "one\n"})
        assert outcome.status == "ok"
        assert (await session.execute_tool("ls", {})).text == "a.txt"
        assert (await session.execute_tool("bash", {"command": "pwd"})).text == (
            f"{tmp_path}/there\n"
        )
        with pytest.raises(PiKernelError, match="tool's own operations"):
            await undo(session, "call-1")


async def test_the_home_folder_is_the_one_there(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    async with SubprocessOperations(["env", f"HOME={tmp_path}", *HERE]) as operations:
        tools = create_remote_tools("~/project", operations)
        await result_of(tools["write"], {"path": "a.txt", "content": "x"})
        await result_of(tools["write"], {"path": "@~/b.txt", "content": "x"})
        listing = await result_of(tools["ls"], {"path": "~"})
    assert listing["content"][0]["text"] == "b.txt\nproject/"
    assert (tmp_path / "project" / "a.txt").read_text() == "x"


async def test_previews_compare_with_the_files_there(
    there: SubprocessOperations, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    tools = create_remote_tools(str(tmp_path), there)
    edits = [{"oldText": "one", "newText": "1"}]
    assert (await preview(tools["edit"], {"path": "a.txt", "edits": edits})).diff == "-1 one\n+1 1"
    seen = await preview(tools["write"], {"path": "a.txt", "content": "2\n"}, cwd="/nowhere")
    assert (seen.path, seen.diff) == (f"{tmp_path}/a.txt", "-1 one\n+1 2")
    seen = await preview(tools["write"], {"path": "a.txt/b", "content": "2\n"})
    assert seen.problem == f"EEXIST: file already exists, mkdir '{tmp_path}/a.txt'"
    seen = await preview(tools["write"], {"path": "new", "content": "2\n"})
    assert (seen.diff, seen.is_new_file) == ("+1 2", True)
    with pytest.raises(PiKernelError, match=r"^read has no preview; edit and write have one$"):
        await preview(tools["read"], {"path": "a.txt"})
    assert (tmp_path / "a.txt").read_text() == "one\n"


@pytest.mark.needs("bwrap")
async def test_tools_work_in_a_container_and_their_processes_end_with_the_connection(
    tmp_path: Path,
) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    name = f"sleeper-{secrets.token_hex(4)}"
    command = [
        "bwrap",
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        "--tmpfs",
        "/home",
    ]
    command += ["--bind", str(inside), "/home/work", "--unshare-pid", "--unshare-net"]
    async with SubprocessOperations([*command, *HERE]) as operations:
        tools = create_remote_tools("/home/work", operations)
        await result_of(tools["write"], {"path": "x/a.txt", "content": "one\n"})
        edits = [{"oldText": "one", "newText": "two"}]
        await result_of(tools["edit"], {"path": "x/a.txt", "edits": edits})
        assert (inside / "x" / "a.txt").read_text() == "two\n"
        found = await result_of(tools["find"], {"pattern": "*.txt", "path": "/home"})
        assert found["content"][0]["text"] == "work/x/a.txt"
        refused = await result_of(tools["write"], {"path": "/usr/new", "content": ""})
        assert refused == "EROFS: read-only file system, open '/usr/new'"
        background = f"(exec -a {name} sleep 300) >/dev/null 2>&1 & echo started"
        await result_of(tools["bash"], {"command": background})
        assert await eventually(lambda: running(name) == 1)
    assert await eventually(lambda: running(name) == 0)


async def test_a_host_behind_a_shell_that_joins_the_arguments_works(tmp_path: Path) -> None:
    script = tmp_path / "ssh"
    script.write_text(
        "#!/bin/sh\necho Welcome to $1; printf 'no newline'; shift; exec sh -c \"$*\"\n"
    )
    script.chmod(0o755)
    async with SubprocessOperations([str(script), "host", *HERE]) as operations:
        assert await operations.exists("/")


# -- the end of commands -----------------------------------------------------------------------


async def test_abort_kills_everything_there_and_keeps_the_output_so_far(
    there: SubprocessOperations, tmp_path: Path
) -> None:
    name = f"sleeper-{secrets.token_hex(4)}"
    bash = create_remote_tools(str(tmp_path), there)["bash"]
    stop, output = AbortSignal(), Output()
    async with anyio.create_task_group() as group:

        async def abort() -> None:
            await output.until("ready")
            assert await eventually(lambda: running(name) == 3)
            stop.abort()

        group.start_soon(abort)
        command = {"command": three_sleepers(name)}
        text = await result_of(bash, command, signal=stop, on_update=output)
    assert text == "ready\n\n\nCommand aborted"
    assert await eventually(lambda: running(name) == 0)


async def test_a_timeout_kills_everything_there(
    fresh: SubprocessOperations, tmp_path: Path
) -> None:
    name = f"sleeper-{secrets.token_hex(4)}"
    bash = create_remote_tools(str(tmp_path), fresh)["bash"]
    output = Output()
    seen: list[int] = []
    async with anyio.create_task_group() as group:

        async def look() -> None:
            await output.until("ready")
            assert await eventually(lambda: running(name) == 3)
            seen.append(running(name))

        group.start_soon(look)
        command = {"command": three_sleepers(name), "timeout": 2}
        text = await result_of(bash, command, on_update=output)
    assert (text, seen) == ("ready\n\n\nCommand timed out after 2 seconds", [3])
    assert await eventually(lambda: running(name) == 0)


async def test_a_cancelled_task_kills_its_command_before_it_ends(
    there: SubprocessOperations, tmp_path: Path
) -> None:
    name = f"sleeper-{secrets.token_hex(4)}"
    bash: Any = create_remote_tools(str(tmp_path), there)["bash"]
    output = Output()
    params = {"command": three_sleepers(name)}
    task = asyncio.create_task(bash.execute("call-1", params, None, output, None))
    await output.until("ready")
    assert await eventually(lambda: running(name) == 3)
    task.cancel()
    with anyio.fail_after(BOUND_SECONDS):
        with pytest.raises(asyncio.CancelledError):
            await task
    assert await eventually(lambda: running(name) == 0)


@pytest.mark.needs("bwrap")
async def test_where_nobody_tells_of_processes_the_group_is_killed_all_the_same() -> None:
    name = f"sleeper-{secrets.token_hex(4)}"
    command = ["bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--tmpfs", "/proc", *HERE]
    async with SubprocessOperations(command) as operations:
        bash = create_remote_tools("/", operations)["bash"]
        stop, output = AbortSignal(), Output()
        async with anyio.create_task_group() as group:

            async def abort() -> None:
                await output.until("ready")
                assert await eventually(lambda: running(name) == 1)
                stop.abort()

            group.start_soon(abort)
            params = {"command": f"(exec -a {name} sleep 300) & echo ready; wait"}
            text = await result_of(bash, params, signal=stop, on_update=output)
        assert text == "ready\n\n\nCommand aborted"
        assert await eventually(lambda: running(name) == 0)


async def test_an_abort_before_the_call_starts_nothing(tmp_path: Path) -> None:
    stop = AbortSignal()
    stop.abort()
    before = children_of(os.getpid())
    async with SubprocessOperations(HERE) as operations:
        tools = create_remote_tools(str(tmp_path), operations)
        params = {"command": "touch made"}
        assert await result_of(tools["bash"], params, signal=stop) == "Command aborted"
        assert await result_of(tools["ls"], {}, signal=stop) == "Operation aborted"
        assert new_children(before) == []


async def test_an_abort_ends_the_wait_for_a_machine_that_does_not_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_module, "STOP_SECONDS", 0.1)
    before = children_of(os.getpid())
    async with SubprocessOperations(HERE) as operations:
        bash = create_remote_tools(str(tmp_path), operations)["bash"]
        stop, output = AbortSignal(), Output()
        async with anyio.create_task_group() as group:

            async def freeze_and_abort() -> None:
                await output.until("ready")
                for pid in new_children(before):
                    os.kill(pid, signal.SIGSTOP)
                stop.abort()

            group.start_soon(freeze_and_abort)
            params = {"command": "echo ready; sleep 300"}
            text = await result_of(bash, params, signal=stop, on_update=output)
        assert text == "ready\n\n\nCommand aborted"
        assert new_children(before) != []
    assert await eventually(lambda: new_children(before) == [])


# -- the end of the connection -----------------------------------------------------------------


async def test_closing_kills_what_runs_and_what_runs_on_in_the_background(tmp_path: Path) -> None:
    name = f"sleeper-{secrets.token_hex(4)}"
    before = children_of(os.getpid())
    operations = SubprocessOperations(HERE)
    bash = create_remote_tools(str(tmp_path), operations)["bash"]
    left_behind = f"setsid bash -c '(exec -a {name} sleep 300) >/dev/null 2>&1 & disown'"
    await result_of(bash, {"command": left_behind})
    output = Output()
    async with anyio.create_task_group() as group:

        async def close() -> None:
            await output.until("ready")
            assert await eventually(lambda: running(name) == 4)
            await operations.close()
            await operations.close()

        group.start_soon(close)
        text = await result_of(bash, {"command": three_sleepers(name)}, on_update=output)
    assert text == "The connection was closed"
    assert running(name) == 0
    assert await eventually(lambda: new_children(before) == [])
    assert await result_of(bash, {"command": "true"}) == "The connection was closed"


@pytest.mark.parametrize("victim", ["keeper", "server"])
async def test_a_killed_far_end_fails_its_calls_clearly_and_leaves_nothing(
    fresh: SubprocessOperations, tmp_path: Path, victim: str
) -> None:
    name = f"sleeper-{secrets.token_hex(4)}"
    before = children_of(os.getpid())
    tools = create_remote_tools(str(tmp_path), fresh)
    await result_of(tools["ls"], {})
    keeper, server = sorted(
        new_children(before), key=lambda pid: psutil.Process(pid).ppid() != os.getpid()
    )
    assert psutil.Process(server).ppid() == keeper
    output = Output()
    texts: list[Any] = []
    async with anyio.create_task_group() as group:

        async def kill() -> None:
            await output.until("ready")
            assert await eventually(lambda: running(name) == 3)
            os.kill(keeper if victim == "keeper" else server, signal.SIGKILL)

        async def read_a_pipe() -> None:
            texts.append(await result_of(tools["bash"], {"command": "sleep 300"}))

        group.start_soon(kill)
        group.start_soon(read_a_pipe)
        command = {"command": three_sleepers(name)}
        texts.append(await result_of(tools["bash"], command, on_update=output))
    how = "was killed by signal 9" if victim == "keeper" else "ended with code 137"
    assert texts == [f"The connection ({sys.executable} -) {how}"] * 2
    assert await eventually(lambda: running(name) == 0)
    # The next call connects anew.
    assert (await result_of(tools["ls"], {}))["content"][0]["text"] == "(empty directory)"


async def test_nothing_is_left_there_when_this_process_is_killed(tmp_path: Path) -> None:
    name = f"sleeper-{secrets.token_hex(4)}"
    script = f"""
import asyncio, sys
from pi_kernel.tools.remote import create_remote_tools
bash = create_remote_tools("/", [sys.executable, "-"])["bash"]
params = {{"command": {three_sleepers(name)!r}}}
asyncio.run(bash.execute("call-1", params, None, None, None))
"""
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    with subprocess.Popen([sys.executable, "-c", script], env=env, cwd=tmp_path) as process:  # noqa: ASYNC220, S603
        assert await eventually(lambda: running(name) == 3)
        process.kill()
    assert await eventually(lambda: running(name) == 0)


async def test_nothing_is_left_when_this_process_ends_without_closing(tmp_path: Path) -> None:
    name = f"sleeper-{secrets.token_hex(4)}"
    background = f"(exec -a {name} sleep 300) >/dev/null 2>&1 & echo $!"
    script = f"""
import asyncio, sys
from pi_kernel.tools.remote import create_remote_tools
bash = create_remote_tools("/", [sys.executable, "-"])["bash"]
params = {{"command": {background!r}}}
result = asyncio.run(bash.execute("call-1", params, None, None, None))
pid = int(result.content[0].text)
import psutil
print(psutil.Process(pid).cmdline()[0])
"""
    root = Path(__file__).parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    run = await anyio.run_process([sys.executable, "-c", script], env=env, cwd=tmp_path)
    assert (run.stdout.decode(), run.stderr) == (f"{name}\n", b"")
    assert running(name) == 0


async def test_operations_that_nobody_holds_any_more_end_their_connection(tmp_path: Path) -> None:
    before = children_of(os.getpid())
    tools = create_remote_tools(str(tmp_path), HERE)
    await result_of(tools["ls"], {})
    assert len(new_children(before)) == 2
    del tools
    gc.collect()
    assert await eventually(lambda: new_children(before) == [])


@pytest.mark.parametrize(
    ("command", "text"),
    [
        (["/no/such/program"], "cannot be started: [Errno 2] No such file or directory"),
        (
            ["sh", "-c", "echo no route to host >&2; exit 255"],
            "ended with code 255: no route to host",
        ),
        (["sh", "-c", "kill -9 $$"], "was killed by signal 9"),
        (["sh", "-c", "yes | head -c 100000; sleep 60"], "does not start Python"),
    ],
)
async def test_a_command_that_starts_no_python_is_told_of_in_words(
    tmp_path: Path, command: list[str], text: str
) -> None:
    before = children_of(os.getpid())
    async with SubprocessOperations(command) as operations:
        tools = create_remote_tools(str(tmp_path), operations)
        for name, params in (("ls", {}), ("bash", {"command": "true"})):
            found = await result_of(tools[name], params)
            assert found.startswith("The connection (")
            assert found.partition(") ")[2].startswith(text)
    assert await eventually(lambda: new_children(before) == [])


async def test_a_command_that_never_answers_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_remote_link, "START_SECONDS", 0.2)
    before = children_of(os.getpid())
    async with SubprocessOperations(["sh", "-c", "cat; sleep 300"]) as operations:
        tools = create_remote_tools(str(tmp_path), operations)
        text = await result_of(tools["ls"], {})
    assert text == "The connection (sh -c 'cat; sleep 300') did not answer within 0.2 seconds"
    assert await eventually(lambda: new_children(before) == [])


async def test_a_python_that_is_too_old_is_refused_in_words(tmp_path: Path) -> None:
    # What an old interpreter answers, without one: the first line comes with the mark in two parts.
    script = tmp_path / "python"
    script.write_text(
        "#!/bin/sh\nread line\n"
        "mark=$(printf %s \"$line\" | grep -o 'kernel [0-9a-f]*' | head -n 1)\n"
        'echo "pi-$mark 3 6"\n'
    )
    script.chmod(0o755)
    async with SubprocessOperations([str(script)]) as operations:
        with pytest.raises(PiKernelError) as refused:
            await operations.exists("/")
    assert str(refused.value) == f"The connection ({script}) runs Python 3.6; 3.8 is needed"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody adopts")
async def test_adopted_children_do_not_stay_as_zombies(
    fresh: SubprocessOperations, tmp_path: Path
) -> None:
    before = children_of(os.getpid())
    bash = create_remote_tools(str(tmp_path), fresh)["bash"]

    def zombies() -> int:
        states = [psutil.Process(pid).status() for pid in new_children(before)]
        return states.count(psutil.STATUS_ZOMBIE)

    for _ in range(5):
        await result_of(bash, {"command": "(setsid sleep 0.01 >/dev/null 2>&1 &)"})
    assert await eventually(lambda: zombies() == 5)
    for _ in range(COMMANDS_PER_REAPING):
        await result_of(bash, {"command": "true"})
    assert zombies() == 0


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a server outlives its keeper")
async def test_something_else_on_the_output_is_told_of(tmp_path: Path) -> None:
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\n{sys.executable} "$@"; echo and so on and so on\n')
    script.chmod(0o755)
    before = children_of(os.getpid())
    async with SubprocessOperations([str(script)]) as operations:
        await operations.exists("/")
        (shell,) = [c for c in psutil.Process().children() if c.pid in new_children(before)]
        (keeper,) = shell.children()
        waiting = asyncio.create_task(
            result_of(create_remote_tools("/", operations)["bash"], {"command": "sleep 300"})
        )
        keeper.kill()
        text = await waiting
    assert "something else writes to its output" in text


# -- what is public ----------------------------------------------------------------------------


def test_the_tools_there_are_those_whose_operations_cover_all_of_them() -> None:
    tools = create_remote_tools("/", HERE)
    assert tuple(tools) == REMOTE_TOOLS
    for name, tool in tools.items():
        assert tool.parameters == create_tool_definition(name).parameters


def test_grep_can_ask_there_what_is_a_folder(there: SubprocessOperations, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n")
    grep = create_tool_definition("grep", tmp_path, operations=there)
    found = asyncio.run(result_of(grep, {"pattern": "one"}))
    assert found["content"][0]["text"] == "a.txt:1: one"


@pytest.mark.parametrize("cwd", ["", "project", "./x", "~other"])
def test_a_relative_folder_is_refused(cwd: str) -> None:
    with pytest.raises(PiKernelError) as refused:
        create_remote_tools(cwd, HERE)
    assert str(refused.value) == (
        f"the directory there must be absolute or start with ~, not {cwd!r}"
    )


def test_options_for_a_tool_that_is_not_there_are_refused() -> None:
    with pytest.raises(PiKernelError) as refused:
        create_remote_tools("/", HERE, grep={"engine": "python"})
    assert str(refused.value) == (
        "options for grep are given, but the tools there are read, bash, edit, write, find, ls"
    )


@pytest.mark.parametrize("command", [[], "ssh host python3", ()])
def test_a_command_that_is_no_list_is_refused(command: Any) -> None:
    with pytest.raises(PiKernelError, match="must be a list of a program and its arguments"):
        SubprocessOperations(command)


def test_the_interpreter_s_options_need_no_quotes() -> None:
    assert all(re.fullmatch("[A-Za-z0-9-]+", option) for option in INTERPRETER_OPTIONS)


@pytest.mark.parametrize(("name", "source"), far_modules().items(), ids=far_modules())
def test_what_is_sent_away_needs_nothing_but_the_standard_library(name: str, source: str) -> None:
    del name
    imported: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            imported.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            imported.add(str(node.module))
    packages = {module.partition(".")[0] for module in imported}
    assert packages <= {"pi_kernel", *sys.stdlib_module_names}


@pytest.mark.parametrize("name", [n for n in far_modules() if "._search." not in n])
def test_what_is_sent_away_is_python_3_8(name: str) -> None:
    tree = ast.parse(far_modules()[name], feature_version=(3, 8))
    names = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    keywords = {node.arg for node in ast.walk(tree) if isinstance(node, ast.keyword)}
    assert not names & {"NOFLAG", "pidfd_open", "removeprefix", "removesuffix"}
    assert not keywords & {"kw_only", "slots", "strict"}
