from __future__ import annotations

import asyncio
import os
import re
import stat
import sysconfig
import tempfile
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import psutil
import pytest

from pi_kernel.errors import ToolAborted, ToolTimeout
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.tools import ModelInfo
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools import bash

BOUND_SECONDS = 10
FOREVER_SECONDS = 60


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))


class Scripted:
    """Operations that feed chunks, then return or raise; remembers what it was asked."""

    def __init__(self, *chunks: bytes, end: int | Exception | None = 0) -> None:
        self.chunks = chunks
        self.end = end
        self.asked: dict[str, Any] = {}

    async def exec(
        self, command: str, cwd: str, *, on_data: Callable[[bytes], Any], **rest: Any
    ) -> int | None:
        self.asked = {"command": command, "cwd": cwd, **rest}
        for chunk in self.chunks:
            on_data(chunk)
        if isinstance(self.end, Exception):
            raise self.end
        return self.end


class Live:
    """Operations that a test drives while the call runs."""

    def __init__(self, act: Callable[[Callable[[bytes], Any]], Awaitable[int]]) -> None:
        self._act = act

    async def exec(
        self, _command: str, _cwd: str, *, on_data: Callable[[bytes], Any], **_rest: Any
    ) -> int:
        return await self._act(on_data)


async def run(  # noqa: PLR0913
    command: str = "(custom)",
    timeout: float | None = None,  # noqa: ASYNC109
    *,
    ctx: Any = None,
    signal: AbortSignal | None = None,
    on_update: Callable[[ToolResult], object] | None = None,
    cwd: Path | str | None = None,
    **options: Any,
) -> ToolResult:
    params = {"command": command} | ({} if timeout is None else {"timeout": timeout})
    execute = bash.create(cwd, **options).execute
    with anyio.fail_after(BOUND_SECONDS):
        result = execute("call-1", params, signal, on_update, ctx)
        assert isinstance(result, Awaitable)
        answer = await result
    assert isinstance(answer, ToolResult)
    return answer


def text_of(result: ToolResult) -> str:
    (block,) = result.content
    return str(block.to_wire()["text"])


def saved_paths() -> list[Path]:
    return list(Path(tempfile.gettempdir()).iterdir())


def saved_path(result: ToolResult) -> Path:
    return Path(result.details["fullOutputPath"])


async def test_a_command_gives_its_output_as_text_and_as_a_value(tmp_path: Path) -> None:
    result = await run("echo out; echo err >&2; pwd", cwd=tmp_path)
    output = f"out\nerr\n{tmp_path}\n"
    assert text_of(result) == output
    assert (result.details, result.is_error) == (None, False)
    seconds = result.structured_content.pop("wall_time_seconds")
    assert 0 <= seconds <= 2
    assert not (isinstance(seconds, float) and seconds.is_integer())  # JSON shows 0, not 0.0
    assert result.structured_content == {"output": output, "truncated": False, "exit_code": 0}


async def test_a_failing_command_is_an_error_result_with_its_value() -> None:
    result = await run("echo bad; exit 3")
    assert text_of(result) == "bad\n\n\nCommand exited with code 3"
    assert result.is_error
    assert result.structured_content["exit_code"] == 3


async def test_no_output_is_said_in_words() -> None:
    assert text_of(await run("true")) == "(no output)"
    assert text_of(await run("false")) == "(no output)\n\nCommand exited with code 1"
    assert text_of(await run("")) == "(no output)"


@pytest.mark.parametrize(
    ("chunks", "exit_code", "text"),
    [
        ((b"a", b"b\n", b"c"), 0, "ab\nc"),
        ((b"\xe2\x82", b"\xac"), 0, "€"),
        ((b"\xf0", b"\x9f\x91", b"\x8b\n"), 0, "👋\n"),
        ((b"\xef", b"\xbb\xbfhi"), 0, "hi"),
        ((), -1, "(no output)\n\nCommand exited with code -1"),
    ],
)
async def test_operations_give_output_in_blocks_and_a_status(
    chunks: tuple[bytes, ...], exit_code: int, text: str
) -> None:
    result = await run(operations=Scripted(*chunks, end=exit_code))
    assert (text_of(result), result.is_error) == (text, exit_code != 0)


@pytest.mark.parametrize(
    ("chunks", "end", "error"),
    [
        ((b"partial\n",), None, "partial\n\n\nCommand terminated without an exit code"),
        ((), None, "(no output)\n\nCommand terminated without an exit code"),
        ((b"x",), RuntimeError("timeout:1.5"), "x\n\nCommand timed out after 1.5 seconds"),
        ((), RuntimeError("timeout:7"), "Command timed out after 7 seconds"),
        ((b"x\n",), RuntimeError("aborted"), "x\n\n\nCommand aborted"),
        ((b"x",), ToolAborted(), "x\n\nCommand aborted"),
        ((b"some",), OSError("ssh: connection refused"), "ssh: connection refused"),
    ],
)
async def test_operations_that_fail_are_told_in_known_words(
    chunks: tuple[bytes, ...], end: Exception | None, error: str
) -> None:
    with pytest.raises(Exception, match=f"^{re.escape(error)}$"):
        await run(operations=Scripted(*chunks, end=end))


async def test_operations_may_write_from_another_thread() -> None:
    async def act(on_data: Callable[[bytes], Any]) -> int:
        for index in range(100):
            await anyio.to_thread.run_sync(on_data, b"%d\n" % index)
        return 0

    updates: list[ToolResult] = []
    result = await run(operations=Live(act), on_update=updates.append)
    assert text_of(result) == "".join(f"{index}\n" for index in range(100))
    assert text_of(updates[-1]) == text_of(result)


async def test_many_lines_are_cut_to_the_last_ones_and_saved_whole() -> None:
    result = await run("seq 1 2500")
    shown = "\n".join(map(str, range(501, 2501)))
    path = saved_path(result)
    assert text_of(result) == f"{shown}\n\n[Showing lines 501-2500 of 2500. Full output: {path}]"
    assert path.read_bytes() == b"".join(b"%d\n" % number for number in range(1, 2501))
    assert re.fullmatch(r"pi-bash-[0-9a-f]{16}\.log", path.name)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    truncation = result.details["truncation"]
    assert truncation == {
        "content": shown,
        "truncated": True,
        "truncatedBy": "lines",
        "totalLines": 2500,
        "totalBytes": 11393,
        "outputLines": 2000,
        "outputBytes": len(shown),
        "lastLinePartial": False,
        "firstLineExceedsLimit": False,
        "maxLines": 2000,
        "maxBytes": 51200,
    }
    assert result.structured_content["output"] == path.read_text()
    assert "full_output_path" not in result.structured_content


@pytest.mark.parametrize(
    ("chunks", "notice"),
    [
        ((b"x" * 99 + b"\n",) * 513, "Showing lines 2-513 of 513 (50.0KB limit)"),
        ((b"first\n", b"z" * 61440), "Showing last 50.0KB of line 2 (line is 60.0KB)"),
        ((b"y" * 61440, b"\n"), "Showing last 50.0KB of line 1 (line is 0B)"),
        ((b"y" * 51200, b"\n"), "Showing lines 1-1 of 1"),
        ((b"\xff" * 30000,), "Showing last 50.0KB of line 1 (line is 87.9KB)"),
    ],
)
async def test_each_way_to_cut_has_its_notice(chunks: tuple[bytes, ...], notice: str) -> None:
    result = await run(operations=Scripted(*chunks))
    assert text_of(result).endswith(f"\n\n[{notice}. Full output: {saved_path(result)}]")
    assert saved_path(result).read_bytes() == b"".join(chunks)


async def test_a_cut_that_leaves_nothing_still_has_words_and_a_notice() -> None:
    result = await run(operations=Scripted(b"x" * 60000 + b"\n\n"))
    path = saved_path(result)
    assert text_of(result) == (
        f"(no output)\n\n[Showing lines 2-2 of 2 (50.0KB limit). Full output: {path}]"
    )


async def test_notices_come_before_the_status_also_of_raised_failures() -> None:
    result = await run(operations=Scripted(b"x\n" * 3000, end=2))
    assert text_of(result).endswith(
        f"Full output: {saved_path(result)}]\n\nCommand exited with code 2"
    )
    with pytest.raises(ToolAborted, match=r"of 3000\. Full output: .*\]\n\nCommand aborted$"):
        await run(operations=Scripted(b"x\n" * 3000, end=RuntimeError("aborted")))


async def test_very_large_output_keeps_both_ends_for_programs(tmp_path: Path) -> None:
    result = await run("head -c 50000000 /dev/zero; echo; echo end", cwd=tmp_path)
    value = result.structured_content
    mark = "\n\n[... 48951429 bytes omitted ...]\n\n"
    tail = "\0" * (524288 - 5) + "\nend\n"
    assert value["truncated"]
    assert value["output"] == "\0" * 524288 + mark + tail
    assert value["full_output_path"] == str(saved_path(result))
    assert saved_path(result).stat().st_size == 50000005
    assert text_of(result).startswith(
        "end\n\n\n[Showing lines 2-2 of 2 (50.0KB limit). Full output"
    )
    saved_path(result).unlink()


async def test_output_that_cannot_be_saved_is_still_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "missing"))
    result = await run("seq 1 300000")
    assert text_of(result).endswith(
        "\n300000\n\n[Showing lines 298001-300000 of 300000."
        " Full output: not saved (ENOENT: no such file or directory, open)]"
    )
    assert result.details.keys() == {"truncation"}
    assert "full_output_path" not in result.structured_content


@pytest.mark.parametrize(
    "seconds", [0, -1, float("nan"), float("inf"), 10**400], ids=["0", "-1", "nan", "inf", "huge"]
)
async def test_a_timeout_must_be_a_positive_number(seconds: float) -> None:
    with pytest.raises(ValueError, match=r"^Invalid timeout: must be a finite number of seconds$"):
        await run("echo x", seconds)


@pytest.mark.parametrize("seconds", [1e12, 2147483.648])
async def test_a_timeout_has_a_maximum(seconds: float) -> None:
    with pytest.raises(ValueError, match=r"^Invalid timeout: maximum is 2147483\.647 seconds$"):
        await run("echo x", seconds)


async def test_the_longest_timeout_is_taken() -> None:
    assert text_of(await run("sleep 0.05; echo x", 2147483.647)) == "x\n"


@pytest.mark.parametrize(("seconds", "shown"), [(0.3, "0.3"), (1.0, "1"), (1e-7, "1e-7")])
async def test_a_timeout_kills_and_tells_the_output_so_far(seconds: float, shown: str) -> None:
    with pytest.raises(ToolTimeout, match=f"Command timed out after {shown} seconds$"):
        await run(f"sleep {FOREVER_SECONDS}", seconds)


async def test_a_timeout_while_background_jobs_write_tells_of_the_shell() -> None:
    with pytest.raises(ToolTimeout) as caught:
        await run("(while echo tick; do sleep 0.02; done) & echo main; exit 3", 0.5)
    assert re.fullmatch(
        r"(main\n|tick\n)+\n\nCommand timed out after 0\.5 seconds\. The shell exited with code 3"
        r" after 0(\.\d)? seconds, but background processes it started kept writing output until"
        r" the timeout\.",
        str(caught.value),
    )


async def test_a_signal_that_is_set_already_runs_nothing() -> None:
    signal, operations = AbortSignal(), Scripted()
    signal.abort()
    with pytest.raises(ToolAborted, match=r"^Command aborted$"):
        await run(timeout=-1, signal=signal, operations=operations)
    assert operations.asked == {}


async def test_an_abort_kills_and_tells_the_output_so_far() -> None:
    signal, seen = AbortSignal(), anyio.Event()
    pids: list[int] = []

    def on_update(update: ToolResult) -> None:
        if update.content:
            pids.extend(map(int, text_of(update).split()))
            seen.set()

    running = asyncio.ensure_future(
        run(f"setsid sleep {FOREVER_SECONDS} & echo $!; wait", signal=signal, on_update=on_update)
    )
    with anyio.fail_after(BOUND_SECONDS):
        await seen.wait()
    (pid,) = pids
    process = psutil.Process(pid)
    signal.abort()
    with pytest.raises(ToolAborted, match=rf"^{pid}\n\n\nCommand aborted$"):
        await running
    with anyio.fail_after(BOUND_SECONDS):
        while process.is_running() and process.status() != psutil.STATUS_ZOMBIE:  # noqa: ASYNC110
            await anyio.sleep(0.005)


async def test_a_cancelled_call_stops_its_operations_and_its_updates() -> None:
    started, stopped = anyio.Event(), anyio.Event()
    writers: list[Callable[[bytes], Any]] = []

    async def act(on_data: Callable[[bytes], Any]) -> int:
        writers.append(on_data)
        on_data(b"x\n" * 3000)
        started.set()
        try:
            await anyio.sleep(FOREVER_SECONDS)
        finally:
            stopped.set()
        return 0

    updates: list[ToolResult] = []
    running = asyncio.ensure_future(run(operations=Live(act), on_update=updates.append))
    await started.wait()
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert stopped.is_set()
    count = len(updates)
    writers[0](b"late")
    await anyio.sleep(0.15)  # more than the time between updates
    assert len(updates) == count
    (saved,) = saved_paths()
    assert saved.read_bytes() == b"x\n" * 3000


async def test_updates_start_empty_are_spaced_and_end_with_the_last_output() -> None:
    loop = asyncio.get_running_loop()
    updates: list[tuple[float, ToolResult]] = []
    news = asyncio.Condition()

    async def tell() -> None:
        async with news:
            news.notify_all()

    def on_update(update: ToolResult) -> None:
        updates.append((loop.time(), update))
        tellers.append(loop.create_task(tell()))

    tellers: list[asyncio.Task[None]] = []

    async def until(text: str) -> None:
        async with news:
            await news.wait_for(lambda: bool(updates[-1][1].content))
            await news.wait_for(lambda: text_of(updates[-1][1]) == text)

    async def act(on_data: Callable[[bytes], Any]) -> int:
        on_data(b"a")
        await until("a")
        on_data(b"b")
        on_data(b"c")
        await until("abc")
        on_data(b"d")
        return 0

    result = await run(operations=Live(act), on_update=on_update)
    await anyio.sleep(0.15)  # an update after the result would come now
    assert [update.to_wire() for _, update in updates] == [
        {"content": []},
        {"content": [{"type": "text", "text": "a"}], "details": {}},
        {"content": [{"type": "text", "text": "abc"}], "details": {}},
        {"content": [{"type": "text", "text": "abcd"}], "details": {}},
    ]
    assert updates[2][0] - updates[1][0] > 0.095
    assert text_of(result) == "abcd"


async def test_updates_of_long_output_tell_of_the_cut_and_the_file() -> None:
    updates: list[ToolResult] = []
    result = await run("seq 1 2500; sleep 0.15; echo x", on_update=updates.append)
    told = [update.details.keys() for update in updates[1:-1]]
    assert told[-1] == {"truncation", "fullOutputPath"}
    assert updates[-1].details == result.details
    assert text_of(updates[-1]) == result.details["truncation"]["content"]


async def test_the_last_output_before_a_failure_is_an_update_too() -> None:
    updates: list[ToolResult] = []
    with pytest.raises(ToolAborted):
        await run(operations=Scripted(b"x", end=RuntimeError("aborted")), on_update=updates.append)
    assert [text_of(update) for update in updates[1:]] == ["x"]


async def test_endless_output_gives_few_updates_and_a_small_result() -> None:
    updates: list[ToolResult] = []
    with pytest.raises(ToolTimeout, match=r"Command timed out after 0\.5 seconds$") as caught:
        await run("yes", 0.5, on_update=updates.append)
    assert 2 <= len(updates) <= 10
    assert len(str(caught.value)) < 10000
    (saved,) = saved_paths()
    assert saved.stat().st_size > 1 << 20
    saved.unlink()


def context(**facts: Any) -> Any:
    known = {"cwd": None, "session_id": "s-1", "session_file": None, "model": None}
    return SimpleNamespace(**{**known, "thinking_level": None, **facts})


def session_variables(operations: Scripted) -> dict[str, str]:
    env = operations.asked["env"]
    return {name: value for name, value in env.items() if name.startswith("PI_")}


async def test_commands_know_their_session_and_nothing_of_another_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in os.environ if name.startswith("PI_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PI_SESSION_FILE", "/inherited")
    monkeypatch.setenv("PI_REASONING_LEVEL", "inherited")
    monkeypatch.setenv("PI_OFFLINE", "1")
    operations = Scripted()
    await run(operations=operations, ctx=context())
    assert session_variables(operations) == {"PI_OFFLINE": "1", "PI_SESSION_ID": "s-1"}
    full = context(
        session_file=Path("/s/f.jsonl"), model=ModelInfo("prov", "m-1"), thinking_level="high"
    )
    await run(operations=operations, ctx=full)
    assert session_variables(operations) == {
        "PI_OFFLINE": "1",
        "PI_SESSION_ID": "s-1",
        "PI_SESSION_FILE": "/s/f.jsonl",
        "PI_PROVIDER": "prov",
        "PI_MODEL": "m-1",
        "PI_REASONING_LEVEL": "high",
    }
    await run(operations=operations, ctx=full, expose_session_environment=False)
    assert session_variables(operations) == {"PI_OFFLINE": "1"}
    await run(operations=operations)
    assert session_variables(operations) == {"PI_OFFLINE": "1"}


async def test_our_programs_come_first_on_the_path_unless_they_are_on_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = sysconfig.get_path("scripts")
    operations = Scripted()
    for path, wanted in [
        ("/bin:/usr/bin", f"{ours}:/bin:/usr/bin"),
        (f"/bin:{ours}", f"/bin:{ours}"),
        ("", ours),
    ]:
        monkeypatch.setenv("PATH", path)
        await run(operations=operations)
        assert operations.asked["env"]["PATH"] == wanted


async def test_the_context_decides_about_the_directory(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    result = await run("pwd", cwd=tmp_path, ctx=context(cwd=str(tmp_path / "sub")))
    assert text_of(result) == f"{tmp_path}/sub\n"
    assert text_of(await run("pwd", cwd=tmp_path, ctx=context())) == f"{tmp_path}\n"
    assert text_of(await run("pwd")) == f"{Path.cwd()}\n"


async def test_calls_share_no_state(tmp_path: Path) -> None:
    await run("cd /; export KEPT=1; x=1", cwd=tmp_path)
    assert text_of(await run("echo [$KEPT$x] $PWD", cwd=tmp_path)) == f"[] {tmp_path}\n"


async def test_a_prefix_is_a_line_before_the_command() -> None:
    operations = Scripted()
    await run("echo x", operations=operations, command_prefix="shopt -s expand_aliases")
    assert operations.asked["command"] == "shopt -s expand_aliases\necho x"
    assert text_of(await run("echo $x", command_prefix="x=5")) == "5\n"


async def test_a_hook_may_replace_command_directory_and_environment(tmp_path: Path) -> None:
    seen: list[dict[str, Any]] = []

    def hook(facts: dict[str, Any]) -> dict[str, Any]:
        seen.append(facts)
        return {"command": "echo $ONLY; pwd", "cwd": tmp_path, "env": {"ONLY": "this"}}

    result = await run("echo x", spawn_hook=hook, command_prefix="y=1", cwd="/")
    assert text_of(result) == f"this\n{tmp_path}\n"
    assert (seen[0]["command"], seen[0]["cwd"]) == ("y=1\necho x", "/")
    assert seen[0].keys() == {"command", "cwd", "env"}

    async def later(facts: dict[str, Any]) -> dict[str, Any]:
        return {"command": facts["command"] + "; echo more"}

    assert text_of(await run("echo x", spawn_hook=later)) == "x\nmore\n"
    assert text_of(await run("echo x", spawn_hook=lambda _facts: None)) == "x\n"


async def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    message = f"Working directory does not exist: {missing}\nCannot execute bash commands."
    with pytest.raises(FileNotFoundError, match=f"^{re.escape(message)}$"):
        await run("pwd", cwd=missing)


async def test_the_shell_can_be_another_one(tmp_path: Path) -> None:
    assert text_of(await run("echo $0")) == "/bin/bash\n"
    assert text_of(await run("echo $0", shell_path="/bin/sh")) == "/bin/sh\n"
    with pytest.raises(FileNotFoundError, match=r"^Custom shell path not found: /no/shell$"):
        await run("echo x", shell_path="/no/shell", cwd=tmp_path / "missing")


async def test_a_null_byte_is_refused_and_a_lone_surrogate_replaced() -> None:
    with pytest.raises(
        ValueError,
        match=r"^The argument 'args\[1\]' must be a string without null bytes\."
        r" Received 'echo a\\x00b'$",
    ):
        await run("echo a\0b")
    assert text_of(await run("echo 'a\ud800é'")) == "a\ufffdé\n"


async def test_binary_output_is_replaced_character_by_character_and_saved_as_it_is() -> None:
    result = await run(r"for i in {1..60000}; do printf 'a\0\xff\x80'; done")
    assert saved_path(result).read_bytes() == b"a\0\xff\x80" * 60000
    assert result.details["truncation"]["totalBytes"] == 8 * 60000
    assert result.structured_content["output"] == "a\0\ufffd\ufffd" * 60000


def test_the_tool_runs_on_a_loop_of_another_thread() -> None:
    results: list[ToolResult] = []
    updates: list[ToolResult] = []
    thread = threading.Thread(
        target=lambda: results.append(asyncio.run(run("echo hi", on_update=updates.append)))
    )
    thread.start()
    thread.join(BOUND_SECONDS)
    assert [text_of(result) for result in results] == ["hi\n"]
    assert text_of(updates[-1]) == "hi\n"


async def test_many_calls_at_once_keep_their_output_apart() -> None:
    results: list[ToolResult] = []
    async with anyio.create_task_group() as tasks:
        for index in range(20):

            async def one(number: int = index) -> None:
                results.append(await run(f"seq {number} {number + 3000}"))

            tasks.start_soon(one)
    firsts = sorted(int(saved_path(result).read_text().split()[0]) for result in results)
    assert firsts == list(range(20))


def test_the_definition_tells_what_models_and_hosts_must_know() -> None:
    tool = bash.create()
    assert (tool.name, tool.label) == ("bash", "bash")
    for fact in ("working directory", "2000 lines", "50KB", "temporary file", "timeout"):
        assert fact in tool.description
    assert tool.parameters["required"] == ["command"]
    assert tool.parameters["properties"].keys() == {"command", "timeout"}
    assert tool.output_schema is not None
    assert tool.output_schema["required"] == [
        "output",
        "truncated",
        "exit_code",
        "wall_time_seconds",
    ]
    assert tool.constrained_sampling == {"type": "json_schema", "strict": "prefer"}
    assert tool.annotations is not None
    assert tool.annotations.to_wire() == {"destructiveHint": True, "openWorldHint": True}
    assert tool.execution_mode is None
    assert "PI_SESSION_ID" in tool.prompt_guidelines[0]
    assert bash.create(expose_session_environment=False).prompt_guidelines == ()
    assert tool.activity is not None
    assert tool.activity({"command": "ls"}) == "Running ls"
