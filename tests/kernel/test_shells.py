"""Where the extension is used besides a cell of a notebook in JupyterLab."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import psutil
import pytest
from nbclient.exceptions import CellTimeoutError

from tests.support.kernels import LOAD, REPLY_SECONDS, Kernel
from tests.support.processes import below, still_alive

pytestmark = pytest.mark.kernel

COMMAND = "sleep 300 & echo started; wait"
SHOW = (
    "def show(event): print(*(b.text for b in event.partial_result.content), flush=True)\n"
    "ctx.session.on('tool_execution_update', show)"
)
TERMINAL = (
    "-m",
    "IPython",
    "--simple-prompt",
    "--no-banner",
    "--no-confirm-exit",
    "--colors=nocolor",
)
SECONDS = 60


# -- subshells -------------------------------------------------------------------------------------


class Subshell:
    """A second place to run cells in the same kernel, in a thread of its own."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        message = kernel.client.session.msg("create_subshell_request", {})
        kernel.client.control_channel.send(message)
        reply = kernel.client.get_control_msg(timeout=REPLY_SECONDS)
        self.id = reply["content"]["subshell_id"]

    def run(self, code: str) -> Any:
        return self.kernel.wait(self.kernel.request(code, header={"subshell_id": self.id}))


@pytest.fixture(scope="module")
def two_shells(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Kernel, Subshell]]:
    with Kernel(cwd=str(tmp_path_factory.mktemp("kernel"))) as kernel:
        if not kernel.supports("kernel subshells"):
            pytest.skip("ipykernel has subshells from 7.0 on")
        assert kernel.run(f"import asyncio\n{LOAD}").status == "ok"
        assert kernel.run(SHOW).status == "ok"
        yield kernel, Subshell(kernel)


def test_in_a_subshell_awaiting_a_call_says_how_to_make_it(
    two_shells: tuple[Kernel, Subshell],
) -> None:
    _kernel, subshell = two_shells
    for code in ("await ctx.execute_tool('ls', {})", "ctx.tools.ls()", "await ctx.map('ls', [{}])"):
        assert subshell.run(code).error == (
            "PiKernelError: this session runs on another thread's event loop;"
            " use session.run(...) from this thread"
        )
    assert subshell.run("print('fine')").stdout == "fine\n"


def test_a_subshell_can_look_and_call_while_the_main_shell_waits(
    two_shells: tuple[Kernel, Subshell],
) -> None:
    kernel, subshell = two_shells
    call = {"command": COMMAND}
    main = kernel.send(f"o = await ctx.execute_tool('bash', {call!r})\nctx.cell().id")
    kernel.wait_for_output(main, "started")
    first = subshell.run("o = ctx.session.run(ctx.execute_tool('ls', {'path': '.'})); o.id")
    second = subshell.run("o = ctx.session.run(ctx.execute_tool('ls', {'path': '.'})); o.status")
    assert (first.status, second.result) == ("ok", "'ok'")
    assert first.result.startswith("'cell-")
    assert subshell.run("ctx.cell().status").result == "'running'"
    kernel.interrupt()
    assert kernel.wait(main).error == "KeyboardInterrupt: the cell was interrupted"
    assert subshell.run("1 + 1").result == "2"


def test_a_cell_of_the_main_shell_is_itself_while_a_subshell_runs_others(
    two_shells: tuple[Kernel, Subshell],
) -> None:
    kernel, subshell = two_shells
    main = kernel.send(
        "before = ctx.cell().id\n"
        "event = asyncio.Event()\n"
        "loop = asyncio.get_running_loop()\n"
        "print('ready', flush=True)\n"
        "await event.wait()\n"
        "print(before == ctx.cell().id == ctx.tool_call_id)"
    )
    kernel.wait_for_output(main, "ready")
    assert subshell.run("loop.call_soon_threadsafe(event.set)").status == "ok"
    assert kernel.wait(main).stdout == "ready\nTrue\n"


# -- a kernel that ends ----------------------------------------------------------------------------


def test_a_restart_in_a_call_leaves_no_process_behind(bare_kernel: Kernel) -> None:
    bare_kernel.run(f"{LOAD}\n{SHOW}")
    message_id = bare_kernel.send(f"await ctx.tools.bash(command={COMMAND!r})")
    bare_kernel.wait_for_output(message_id, "started")
    running = below(bare_kernel.pid)
    assert len(running) == 2
    bare_kernel.client.stop_channels()
    bare_kernel.manager.restart_kernel(now=False)
    assert still_alive(running) == []
    bare_kernel.connect()
    assert bare_kernel.run(f"{LOAD}\nlen(ctx.trace)").result == "0"


def notebook(*cells: str) -> Any:
    return nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])


def timeout_of(cell: Any) -> float:
    """Return the seconds that a cell may take."""
    return 1.0 if "sleep" in cell.source else float(SECONDS)


@pytest.fixture
def seen_processes(monkeypatch: pytest.MonkeyPatch) -> list[psutil.Process]:
    """Collect what runs below this process when nbclient loses patience."""
    seen: list[psutil.Process] = []
    handle = nbclient.NotebookClient._async_handle_timeout

    async def look(self: Any, *args: Any) -> Any:
        seen.extend(p for p in below(os.getpid()) if p.name() in ("bash", "sleep"))
        return await handle(self, *args)

    monkeypatch.setattr(nbclient.NotebookClient, "_async_handle_timeout", look)
    return seen


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_nbclient_with_a_timeout_ends_the_call_and_the_kernel(
    tmp_path: Path, seen_processes: list[psutil.Process]
) -> None:
    book = notebook(LOAD, f"await ctx.tools.bash(command={COMMAND!r})", "print('never')")
    client = nbclient.NotebookClient(
        book,
        timeout_func=timeout_of,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    with pytest.raises(CellTimeoutError):
        client.execute()
    assert len(seen_processes) == 2
    assert still_alive(seen_processes) == []
    assert book.cells[2].outputs == []


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_nbclient_that_interrupts_on_a_timeout_goes_on_with_the_next_cell(
    tmp_path: Path, seen_processes: list[psutil.Process]
) -> None:
    book = notebook(
        LOAD,
        f"await ctx.tools.bash(command={COMMAND!r})",
        "ctx.last.status, (await ctx.tools.bash(command='echo on'))['output']",
    )
    client = nbclient.NotebookClient(
        book,
        timeout_func=timeout_of,
        kernel_name="python3",
        interrupt_on_timeout=True,
        allow_errors=True,
        resources={"metadata": {"path": str(tmp_path)}},
    )
    client.execute()
    assert len(seen_processes) == 2
    assert still_alive(seen_processes) == []
    errors = [out for out in book.cells[1].outputs if out.output_type == "error"]
    assert [(e.ename, e.evalue) for e in errors] == [
        ("KeyboardInterrupt", "the cell was interrupted")
    ]
    assert book.cells[2].outputs[0].data["text/plain"] == "('aborted', 'on\\n')"


# -- without a kernel ------------------------------------------------------------------------------


def python(*args: str, stdin: str = "", folder: Path) -> subprocess.CompletedProcess[str]:
    """Run an interpreter like ours in a folder."""
    return subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, *args],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        cwd=folder,
    )


def test_terminal_ipython_runs_tools_and_shows_them_as_text(tmp_path: Path) -> None:
    lines = (
        LOAD,
        "await ctx.execute_tool('bash', {'command': 'echo hello'})",
        "(await ctx.tools.bash(command='echo two'))['output'], ctx.cell().id",
        "await ctx.tools.read(path='missing.txt')",
        "ctx.session.run(ctx.execute_tool('bash', {'command': 'echo sync'})).id",
        "x = await ctx.map('bash', [{'command': 'sleep 0.4'}] * 2, limit=1)",
        "ctx.cell(6).status, [c.status for c in ctx.cell(6).nested_calls.calls]",
        "%unload_ext pi_kernel",
        "ctx",
    )
    done = python(*TERMINAL, stdin="\n".join(lines), folder=tmp_path)
    out = done.stdout
    assert "Out[2]: ok  bash  $ echo hello" in out
    assert "Out[3]: ('two\\n', 'cell-3')" in out
    assert "ToolCallError: ENOENT: no such file or directory" in out
    assert "in the call cell-4/1 of read (error)" in out
    assert "cell [4], line 1: await ctx.tools.read(path='missing.txt')" in out
    assert "Out[5]: 'cell-5/1'" in out
    assert "Out[7]: ('ok', ['ok', 'ok'])" in out
    assert "NameError: name 'ctx' is not defined" in out
    assert done.stderr.startswith("ctx.map bash [########################] 2 of 2, ")
    assert done.stderr.count("\n") == 1
    assert done.returncode == 0


def test_without_autoawait_a_cell_says_so_and_session_run_works(tmp_path: Path) -> None:
    lines = (
        LOAD,
        "%autoawait False",
        "await ctx.tools.ls()",
        "ctx.tools.ls()",
        "ctx.session.run(ctx.execute_tool('ls', {})).status",
    )
    out = python(*TERMINAL, stdin="\n".join(lines), folder=tmp_path).stdout
    assert "SyntaxError: 'await' outside function" in out
    assert (
        "PiKernelError: tools.ls() needs a running event loop;"
        " without one use session.run(session.execute_tool(...))\n"
        "  cell [4], line 1: ctx.tools.ls()"
    ) in out
    assert "Out[5]: 'ok'" in out


def test_a_stop_in_terminal_ipython_ends_the_call_and_gives_the_prompt_back(
    tmp_path: Path,
) -> None:
    import pexpect  # noqa: PLC0415 - not on Windows

    child = pexpect.spawn(
        sys.executable, [*TERMINAL], cwd=str(tmp_path), timeout=SECONDS, encoding="utf-8"
    )
    try:
        child.expect(r"In \[1\]: ")
        child.sendline(LOAD)
        child.expect(r"In \[2\]: ")
        child.sendline("show = lambda e: print('told', e.tool_name, flush=True)")
        child.expect(r"In \[3\]: ")
        child.sendline("stop = ctx.session.on('tool_execution_update', show)")
        child.expect(r"In \[4\]: ")
        for number in (4, 5):
            child.sendline(f"await ctx.tools.bash(command={COMMAND!r})")
            child.expect("told bash")
            child.expect("told bash")
            running = [p for p in below(child.pid) if p.name() in ("bash", "sleep")]
            assert len(running) == 2
            child.sendintr()
            child.expect("KeyboardInterrupt: the cell was interrupted")
            child.expect(rf"In \[{number + 1}\]: ")
            assert still_alive(running) == []
        child.sendline("[c.status for c in ctx.trace.calls()]")
        child.expect(r"\['aborted', 'aborted'\]")
        child.expect(r"In \[7\]: ")
        child.sendline("import time; print('sleeps'); time.sleep(300)")
        child.expect("sleeps\r")
        child.sendintr()
        child.expect("KeyboardInterrupt")
        child.expect(r"In \[8\]: ")
        child.sendline("exit")
        child.expect(pexpect.EOF)
    finally:
        child.close(force=True)


def test_ipython_with_a_command_runs_tools(tmp_path: Path) -> None:
    code = (
        "get_ipython().run_line_magic('load_ext', 'pi_kernel')\n"
        "print((await ctx.execute_tool('bash', {'command': 'echo hi'})).text, ctx.cell().id)"
    )
    done = python("-m", "IPython", "-c", code, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("hi\n cell-")


def test_ipython_with_the_extension_in_its_options_runs_tools(tmp_path: Path) -> None:
    code = "print((await ctx.execute_tool('bash', {'command': 'echo hi'})).text)"
    done = python("-m", "IPython", "--ext=pi_kernel", "-c", code, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n\n", "")


SCRIPT = """
from IPython.core.interactiveshell import InteractiveShell
import pi_kernel

shell = InteractiveShell.instance()
pi_kernel.load_ipython_extension(shell)
result = shell.run_cell("o = await ctx.execute_tool('bash', {'command': 'echo async'}); o.text")
print(result.success, result.result)
ctx = shell.user_ns["ctx"]
print(ctx.session.run(ctx.execute_tool("bash", {"command": "echo sync"})).id)
print(shell.run_cell("await ctx.tools.read(path='missing')", store_history=True).error_in_exec)
print([(c.id, c.status, c.parent_id) for c in ctx.trace.calls()])
pi_kernel.unload_ipython_extension(shell)
try:
    ctx.session
except pi_kernel.PiKernelError as error:
    print(error)
"""


def test_a_script_with_a_shell_of_its_own_runs_tools(tmp_path: Path) -> None:
    Path(tmp_path, "script.py").write_text(SCRIPT, encoding="utf-8")
    done = python("script.py", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    text = "ENOENT: no such file or directory"
    lines = [line for line in done.stdout.splitlines() if not line.startswith((" ", "ToolCall"))]
    assert "True async" in lines
    assert "call-1" in lines
    assert any(line.startswith(text) for line in lines)
    assert (
        "[('cell-1/1', 'ok', None), ('call-1', 'ok', None), ('cell-1b/1', 'error', None)]" in lines
    )
    assert lines[-1] == "this ctx was unloaded; run: %load_ext pi_kernel"


def test_a_plain_script_loads_nothing_of_ipython(tmp_path: Path) -> None:
    code = (
        "import sys\n"
        "from pi_kernel import ToolSession\n"
        "s = ToolSession()\n"
        "o = s.run(s.execute_tool('bash', {'command': 'echo hi'}))\n"
        "print(o.text, 'IPython' in sys.modules)"
    )
    done = python("-c", code, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "hi\n False\n", "")
