"""Real processes; that they are gone is seen in the process list, after they were seen there."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import psutil
import pytest

from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools._process import CommandAbortedError, CommandTimeoutError, run_process
from pi_kernel.tools._process_tree import kill_tree

BOUND_SECONDS = 10
"""No test waits longer for anything; commands sleep far longer, so a hang shows."""
MOST_KEPT_BYTES = 4096
PROMPT_SECONDS = 3
"""What "at once" means on a busy machine."""


class Output:
    """Collects what a command writes and lets a test wait for it."""

    def __init__(self) -> None:
        self.data = b""
        self._changed = threading.Condition()

    def add(self, block: bytes) -> None:
        with self._changed:
            self.data += block[: MOST_KEPT_BYTES - len(self.data)]
            self._changed.notify_all()

    async def until(self, wanted: bytes) -> None:
        def wait() -> bool:
            with self._changed:
                return self._changed.wait_for(lambda: wanted in self.data, BOUND_SECONDS)

        assert await anyio.to_thread.run_sync(wait), self.data


async def run(
    command: str,
    output: Output,
    *,
    cwd: Path | None = None,
    signal: AbortSignal | None = None,
    timeout: float | None = None,  # noqa: ASYNC109
) -> int:
    with anyio.fail_after(BOUND_SECONDS):
        return await run_process(
            ["/bin/bash", "-c", command],
            cwd=str(cwd or Path.cwd()),
            env=os.environ | MEMBERS,
            on_data=output.add,
            signal=signal,
            timeout=timeout,
        )


async def eventually(condition: Callable[[], bool]) -> bool:
    with anyio.move_on_after(BOUND_SECONDS):
        while not condition():  # noqa: ASYNC110 - the process list tells nobody of its changes
            await anyio.sleep(0.005)
    return condition()


def is_running(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def pids_in(output: Output) -> list[int]:
    return [int(word) for word in output.data.split() if word.isdigit()]


async def test_both_streams_come_in_the_order_in_which_they_were_written() -> None:
    output = Output()
    code = await run("for i in 1 2 3; do echo out$i; echo err$i >&2; done; exit 7", output)
    assert code == 7
    assert output.data == b"out1\nerr1\nout2\nerr2\nout3\nerr3\n"


async def test_stdin_is_empty_even_when_ours_never_ends() -> None:
    ours, (reader, writer) = os.dup(0), os.pipe()
    os.dup2(reader, 0)
    try:
        output = Output()
        assert await run("cat; echo end", output) == 0
        assert output.data == b"end\n"
    finally:
        os.dup2(ours, 0)
        for fd in (ours, reader, writer):
            os.close(fd)


async def test_the_command_leads_a_session_of_its_own(tmp_path: Path) -> None:
    output = Output()
    code = await run("echo $$; ps -o sid=,pgid= -p $$; pwd", output, cwd=tmp_path)
    pid, sid, pgid, cwd = output.data.decode().split()
    assert (code, pid, pid, cwd) == (0, sid, pgid, str(tmp_path))
    assert int(sid) != os.getsid(0)


@pytest.mark.parametrize(
    ("name", "code"), [("HUP", 129), ("INT", 130), ("KILL", 137), ("SEGV", 139), ("TERM", 143)]
)
async def test_a_shell_killed_by_a_signal_ends_with_128_and_its_number(
    name: str, code: int
) -> None:
    assert await run(f"kill -{name} $$; sleep 60", Output()) == code


async def test_a_quiet_background_process_neither_holds_the_call_nor_is_killed() -> None:
    output = Output()
    started_at = time.monotonic()
    assert await run("sleep 60 & echo $!", output) == 0
    assert time.monotonic() - started_at < PROMPT_SECONDS
    (pid,) = pids_in(output)
    assert is_running(pid)
    os.kill(pid, 9)


async def test_output_soon_after_the_exit_is_kept() -> None:
    output = Output()
    assert await run("(sleep 0.03; echo late; sleep 0.03; echo later) & echo early", output) == 0
    assert output.data == b"early\nlate\nlater\n"


async def test_a_command_that_closes_its_output_is_waited_for() -> None:
    output = Output()
    busy_seconds = time.process_time()
    assert await run("echo x; exec >&- 2>&-; sleep 0.5; exit 3", output) == 3
    assert output.data == b"x\n"
    assert time.process_time() - busy_seconds < 0.2


async def test_a_command_that_closes_its_output_is_killed_at_its_deadline() -> None:
    with pytest.raises(CommandTimeoutError, match=r"^timeout:0.2$"):
        await run("exec >&- 2>&-; sleep 60", Output(), timeout=0.2)


# Members of a family tell their process id. A silent one does not write to the command's output by
# its stdout or stderr (a builtin would, for a moment); an orphan speaks when its parent is gone.
SILENT = "exec 3>&1 >/dev/null 2>&1; "
ORPHAN = "while kill -0 $PARENT 2>/dev/null; do sleep 0.01; done; "
MEMBERS = {
    "SILENT": f"{SILENT} env echo $$ ready >&3; exec sleep 60",
    "ORPHAN": f"{ORPHAN} {SILENT} env echo $$ ready >&3; exec sleep 60",
    "WRITER": f"{ORPHAN} echo $$ ready; exec sleep 60",
    "FLOOD": f"{ORPHAN} {SILENT} env echo $$ ready >&3; exec tee /dev/fd/3 </dev/zero",
}
FAMILIES = {
    "ignores TERM": "trap '' TERM HUP INT; echo $$ ready; while :; do sleep 60; done",
    "shell replaced": "echo $$ ready; exec sleep 60",
    "child": 'bash -c "$SILENT" & wait',
    "grandchild": '(bash -c "$SILENT" & wait) & wait',
    "orphan": '(export PARENT=$BASHPID; bash -c "$ORPHAN" &); sleep 60',
    "own group": 'set -m; bash -c "$SILENT" & wait',
    "orphan in its own group": '(set -m; export PARENT=$BASHPID; bash -c "$ORPHAN" &); sleep 60',
    "own session": 'setsid bash -c "$SILENT" & wait',
    "child in another session": """setsid bash -c 'bash -c "$SILENT" & wait' & wait""",
    "forks on": "f() { while :; do sleep 60 & sleep 0.005; done; }; f & echo $$ $! ready; wait",
    "stopped": "sleep 60 & kill -STOP $!; echo $$ $! ready; wait",
}
if sys.platform == "linux":  # found by the pipe that it holds
    FAMILIES["daemon that writes"] = (
        '(export PARENT=$BASHPID; setsid bash -c "$WRITER" &); sleep 60'
    )
SILENT_DAEMON = '(export PARENT=$BASHPID; setsid bash -c "$ORPHAN" &); sleep 60'
FLOODING_DAEMON = '(export PARENT=$BASHPID; setsid bash -c "$FLOOD" &); sleep 60'


async def start(command: str, output: Output, **options: Any) -> asyncio.Task[int]:
    """Start a command and see its processes in the process list."""
    running = asyncio.ensure_future(run(command, output, **options))
    await output.until(b"ready")
    assert pids_in(output)
    assert all(map(is_running, pids_in(output)))
    return running


async def end_by_timeout(command: str, output: Output) -> None:
    running = await start(command, output, timeout=1)
    with pytest.raises(CommandTimeoutError):
        await running


async def end_by_abort(command: str, output: Output) -> None:
    signal = AbortSignal()
    running = await start(command, output, signal=signal)
    signal.abort()
    with pytest.raises(CommandAbortedError):
        await running


async def end_by_cancelling_the_task(command: str, output: Output) -> None:
    running = await start(command, output)
    running.cancel()
    await asyncio.sleep(0)
    running.cancel()  # once more, while it cleans up
    with pytest.raises(asyncio.CancelledError):
        await running


async def end_by_cancelling_the_scope(command: str, output: Output) -> None:
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run, command, output)
        await output.until(b"ready")
        assert all(map(is_running, pids_in(output)))
        tasks.cancel_scope.cancel()


ENDS = {
    "abort": end_by_abort,
    "timeout": end_by_timeout,
    "task": end_by_cancelling_the_task,
    "scope": end_by_cancelling_the_scope,
}
ESCAPES = [("abort", family) for family in FAMILIES] + [
    (end, family) for end in ENDS for family in ("ignores TERM", "own session") if end != "abort"
]


@pytest.mark.parametrize(("end", "family"), ESCAPES)
async def test_nothing_that_a_killed_command_started_survives(end: str, family: str) -> None:
    output = Output()
    ours = set(psutil.Process().children(recursive=True))
    started_at = time.monotonic()
    await ENDS[end](FAMILIES[family], output)
    assert time.monotonic() - started_at < PROMPT_SECONDS
    assert await eventually(lambda: not any(map(is_running, pids_in(output))))
    assert await eventually(lambda: set(psutil.Process().children(recursive=True)) <= ours)


async def test_all_of_it_works_where_an_exit_cannot_be_awaited_without_reaping(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(os, "waitid", raising=False)  # as on macOS
    output = Output()
    assert await run("(sleep 0.03; echo late) & exit 3", output) == 3
    assert output.data == b"late\n"
    await end_by_abort(FAMILIES["own session"], output)
    assert await eventually(lambda: not any(map(is_running, pids_in(output))))


async def test_an_interrupted_call_ends_within_the_grace_that_tools_get() -> None:
    await end_by_abort(FAMILIES["own session"], Output())  # psutil loads once
    signal = AbortSignal()
    running = await start(FAMILIES["own session"], Output(), signal=signal)
    signal.abort()
    with anyio.fail_after(0.2), pytest.raises(CommandAbortedError):
        await running


async def test_a_daemon_that_let_go_of_the_output_stays() -> None:
    output = Output()
    await end_by_abort(SILENT_DAEMON, output)
    (pid,) = pids_in(output)
    assert is_running(pid)
    os.kill(pid, 9)


async def test_a_writer_out_of_reach_does_not_hold_a_killed_call() -> None:
    output = Output()
    running = await start(FLOODING_DAEMON, output, timeout=1)
    with pytest.raises(CommandTimeoutError):
        await running
    pid = pids_in(output)[0]
    assert await eventually(lambda: not is_running(pid))  # nobody reads its output any more


async def test_other_processes_are_left_alone() -> None:
    bystander = await asyncio.create_subprocess_exec("sleep", "60")
    try:
        await end_by_abort(FAMILIES["child"], Output())
        assert is_running(bystander.pid)
    finally:
        bystander.kill()
        await bystander.wait()


async def test_a_deadline_after_the_exit_tells_when_the_shell_exited() -> None:
    output = Output()
    with pytest.raises(CommandTimeoutError) as caught:
        await run("(while :; do echo tick; sleep 0.02; done) & exit 3", output, timeout=0.5)
    assert caught.value.exit_code == 3
    assert caught.value.exit_after_seconds is not None
    assert caught.value.exit_after_seconds < 0.5
    assert output.data.count(b"tick\n") > 3


async def test_endless_output_is_cut_at_the_deadline() -> None:
    sizes: list[int] = []
    with anyio.fail_after(BOUND_SECONDS), pytest.raises(CommandTimeoutError):
        await run_process(
            ["yes"],
            cwd="/",
            env=dict(os.environ),
            on_data=lambda block: sizes.append(len(block)),
            timeout=0.3,
        )
    assert sum(sizes) > 1 << 20


async def test_a_signal_that_is_set_already_starts_nothing(tmp_path: Path) -> None:
    signal = AbortSignal()
    signal.abort()
    with pytest.raises(CommandAbortedError):
        await run("touch started", Output(), cwd=tmp_path, signal=signal)
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("program", "cwd", "message"),
    [
        ("/no/such/program", "/", "spawn /no/such/program ENOENT"),
        ("/etc/passwd", "/", "spawn /etc/passwd EACCES"),
        ("/bin/sh", "/etc/passwd", "spawn ENOTDIR"),
    ],
)
async def test_a_failed_start_is_worded_as_node_words_it(
    program: str, cwd: str, message: str
) -> None:
    with pytest.raises(OSError, match=f"^{message}$"):
        await run_process([program], cwd=cwd, env={}, on_data=bytes)


async def test_too_long_a_command_is_worded_as_node_words_it() -> None:
    with pytest.raises(OSError, match=r"^spawn E2BIG$"):
        await run("x" * (4 << 20), Output())


async def test_a_failure_of_the_receiver_kills_the_command_and_is_raised() -> None:
    seen: list[bytes] = []

    def refuse(block: bytes) -> None:
        seen.append(block)
        raise RuntimeError("no more")

    with anyio.fail_after(BOUND_SECONDS), pytest.raises(RuntimeError, match="no more"):
        await run_process(
            ["/bin/bash", "-c", "echo $$; sleep 60"],
            cwd="/",
            env=dict(os.environ),
            on_data=refuse,
        )
    assert await eventually(lambda: not is_running(int(b"".join(seen))))


async def test_descriptors_threads_and_zombies_do_not_pile_up() -> None:
    await run("true", Output())

    def held() -> tuple[int, int, int]:
        me = psutil.Process()
        return me.num_fds(), me.num_threads(), len(me.children())

    before = held()
    for _ in range(10):
        await run("echo x; exit 1", Output())
        with pytest.raises(CommandTimeoutError):
            await run("sleep 60", Output(), timeout=0.01)
        with pytest.raises(OSError, match="ENOENT"):
            await run_process(["/no/such/program"], cwd="/", env={}, on_data=bytes)
    assert await eventually(lambda: all(map(int.__le__, held(), before)))


async def test_many_commands_run_side_by_side() -> None:
    outputs = [Output() for _ in range(30)]
    async with asyncio.TaskGroup() as tasks:
        runs = [
            tasks.create_task(run(f"sleep 0.2; echo {index}; exit {index}", output))
            for index, output in enumerate(outputs)
        ]
    assert [task.result() for task in runs] == list(range(30))
    assert [output.data for output in outputs] == [b"%d\n" % index for index in range(30)]


async def test_a_signal_set_in_another_thread_kills() -> None:
    signal = AbortSignal()
    running = await start(FAMILIES["child"], Output(), signal=signal)
    await anyio.to_thread.run_sync(signal.abort)
    with pytest.raises(CommandAbortedError):
        await running


def test_a_loop_in_another_thread_runs_commands_too() -> None:
    output = Output()
    codes: list[int] = []
    thread = threading.Thread(
        target=lambda: codes.append(asyncio.run(run("echo hi; exit 4", output)))
    )
    thread.start()
    thread.join(BOUND_SECONDS)
    assert (codes, output.data) == ([4], b"hi\n")


ABANDON = """
import asyncio, os, sys
from pi_kernel.tools._process import run_process

async def main():
    def on_data(block):
        os.write(1, block)
        loop.call_soon_threadsafe(loop.stop)

    asyncio.ensure_future(run_process(
        ["/bin/bash", "-c", "setsid sleep 60 & echo $$ $!; wait"],
        cwd="/", env=dict(os.environ), on_data=on_data,
    ))

loop = asyncio.new_event_loop()
loop.create_task(main())
loop.run_forever()
os.close(1)
sys.exit(5)
"""


def test_an_interpreter_that_ends_in_the_middle_leaves_no_process() -> None:
    ended = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", ABANDON],
        capture_output=True,
        timeout=BOUND_SECONDS,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert ended.returncode == 5, ended.stderr
    pids = [int(word) for word in ended.stdout.split()]
    assert len(pids) == 2
    deadline = time.monotonic() + BOUND_SECONDS
    while any(map(is_running, pids)) and time.monotonic() < deadline:
        psutil.wait_procs([], timeout=0.01)
    assert not any(map(is_running, pids))


async def test_a_tree_can_be_killed_without_a_run() -> None:
    leader = subprocess.Popen(  # noqa: ASYNC220
        ["/bin/bash", "-c", "setsid sleep 60 & echo $!; wait"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with leader:
        assert leader.stdout is not None
        child = int(leader.stdout.readline())
        assert is_running(child)
        kill_tree(leader.pid)
        assert leader.wait(BOUND_SECONDS) == -9
    assert await eventually(lambda: not is_running(child))
    kill_tree(leader.pid)  # nobody there any more
