"""The stop button while a cell waits for tools: the first stop aborts, the second forces."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kernels import Kernel, Reply
from tests.support.processes import below, still_alive

pytestmark = pytest.mark.kernel

SHOWN = "KeyboardInterrupt: the cell was interrupted"
PROMPT_SECONDS = 0.3
ATTEMPTS = 5
"""The least time counts: the machine may be busy with something else."""
STOP_SECONDS = 5
"""Far less than what the cells wait for."""
COMMAND = "sleep 300 & echo started; wait"

SETUP = f"""
import anyio
COMMAND = {COMMAND!r}
call = {{"command": COMMAND}}

async def helper(times=1):
    for _ in range(times):
        outcome = await ctx.execute_tool("bash", call)
    print("helper went on")
    return outcome.value["output"]

async def in_group():
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(helper())

async def in_anyio_group():
    async with anyio.create_task_group() as group:
        for _ in range(2):
            group.start_soon(helper)

@ctx.tool(interrupt_behavior="block")
async def stubborn(seconds: float) -> str:
    "Must not be interrupted."
    print("stubborn works")
    await asyncio.sleep(seconds)
    return "done"

@ctx.tool
async def busy() -> str:
    "Keep the event loop busy."
    print("busy works", flush=True)
    while True:
        time.sleep(0.01)

@ctx.tool
async def deaf() -> str:
    "Swallow every cancellation."
    print("deaf works")
    while True:
        try:
            await asyncio.sleep(300)
        except asyncio.CancelledError:
            pass

thread_ends = threading.Event()

@ctx.tool
def slow_thread() -> str:
    "Work in a thread until told to stop."
    print("thread works", flush=True)
    thread_ends.wait(300)
    return "late"
"""


@pytest.fixture(scope="module")
def ready(kernel: Kernel) -> Kernel:
    reply = kernel.run(SETUP)
    assert reply.status == "ok", reply.traceback
    return kernel


def is_interrupted(reply: Reply) -> bool:
    """Whether a cell ended as an interrupted one does, with one line and nothing else."""
    assert (reply.error, reply.traceback) == (SHOWN, SHOWN)
    assert [c["ename"] for c in reply.of_type("error")] == ["KeyboardInterrupt"]
    return True


@pytest.mark.parametrize(
    ("code", "n_calls"),
    [
        ("await ctx.execute_tool('bash', call)", 1),
        ("await ctx.tools.bash(command=COMMAND)", 1),
        ("await ctx.tools.bash(call)", 1),
        ("await asyncio.gather(*(ctx.execute_tool('bash', call) for _ in 'ab'))", 2),
        ("await asyncio.gather(*(ctx.tools.bash(call) for _ in 'ab'))", 2),
        ("await asyncio.gather(helper(), helper(2))", 2),
        ("await asyncio.gather(helper(), helper(), return_exceptions=True)", 2),
        ("await asyncio.gather(helper(), asyncio.sleep(300))", 1),
        ("await ctx.map('bash', [call] * 3, limit=2)", 2),
        ("await ctx.session.map('bash', [call] * 3, limit=2)", 2),
        ("await in_group()", 2),
        ("await in_anyio_group()", 2),
        ("for done in asyncio.as_completed([helper(), helper()]): await done", 2),
        ("await asyncio.wait([asyncio.create_task(helper()) for _ in 'ab'])", 2),
        ("await asyncio.wait_for(ctx.execute_tool('bash', call), 300)", 1),
        ("await asyncio.wait_for(helper(), 300)", 1),
        ("await asyncio.wait_for(ctx.tools.bash(call), 300)", 1),
        ("await asyncio.create_task(helper(2))", 1),
        ("await helper(2)", 1),
        ("await asyncio.shield(helper())", 1),
        ("async with asyncio.timeout(300): await helper()", 1),
        ("async for event in ctx.session.stream('go', model=model()): pass", 1),
        ("await ctx.session.prompt('go', model=model())", 1),
        ("await ctx.session.execute_batch([{'id': 'b', 'name': 'bash', 'arguments': call}])", 1),
        ("await asyncio.to_thread(lambda: ctx.session.run(ctx.execute_tool('bash', call)))", 1),
        ("t = asyncio.create_task(helper()); await asyncio.sleep(300)", 1),
        ("%%time\nawait ctx.execute_tool('bash', call)", 1),
    ],
)
def test_a_stop_ends_the_calls_the_processes_and_the_cell(
    ready: Kernel, code: str, n_calls: int
) -> None:
    kernel = ready
    kernel.run(
        "from pi_kernel.models import ScriptedModel, call as issue, say\n"
        "model = lambda: ScriptedModel([issue('bash', id=None, **call), say('never')])"
    )
    n = kernel.next_count()
    message_id = kernel.send(code)
    kernel.wait_for_output(message_id, "update: started", times=n_calls)
    running = below(kernel.pid)
    assert len(running) >= 2 * n_calls  # the shell and its sleep: they are seen while they run
    reply = kernel.stop(message_id)
    assert is_interrupted(reply)
    assert reply.seconds < STOP_SECONDS
    assert "went on" not in reply.stdout
    assert still_alive(running) == []
    # The partial output, then what the tool says, or the pipeline when the tool takes too long.
    assert (
        kernel.value(
            "[(c.tool, c.status, c.content[0].text.split()[0], c.content[0].text.split()[-1])"
            f" for c in ctx.trace.calls() if c.cell_call_id == 'cell-{n}']"
        )
        == [("bash", "aborted", "started", "aborted")] * n_calls
    )
    assert kernel.value(f"ctx.cell({n}).status") == "aborted"
    assert kernel.value("(await ctx.tools.bash(command='echo fine'))['output']") == "fine\n"


def test_a_stop_takes_less_than_three_tenths_of_a_second(ready: Kernel) -> None:
    seconds: list[float] = []
    while not seconds or (min(seconds) >= PROMPT_SECONDS and len(seconds) < ATTEMPTS):
        message_id = ready.send("await asyncio.gather(*(helper() for _ in range(4)))")
        ready.wait_for_output(message_id, "update: started", times=4)
        seconds.append(ready.stop(message_id).seconds)
    assert min(seconds) < PROMPT_SECONDS


def test_the_code_of_the_cell_can_catch_the_stop_but_call_nothing_more(ready: Kernel) -> None:
    n = ready.next_count()
    message_id = ready.send(
        "try:\n"
        "    await ctx.execute_tool('bash', call)\n"
        "except KeyboardInterrupt as error:\n"
        "    print('caught', error)\n"
        "    await asyncio.sleep(0.01)\n"
        "    print('cleaned up')\n"
        "    await ctx.execute_tool('note', {})\n"
        "    print('never')"
    )
    ready.wait_for_output(message_id, "update: started")
    reply = ready.stop(message_id)
    assert is_interrupted(reply)
    assert reply.stdout.endswith("caught the cell was interrupted\ncleaned up\n")
    assert ready.value(f"ends('cell-{n}')") == [("1", "aborted"), ("2", "aborted")]


def test_a_stop_between_two_calls_ends_the_await(ready: Kernel) -> None:
    n = ready.next_count()
    message_id = ready.send(
        "await ctx.execute_tool('note', {})\nprint('idle')\nawait asyncio.sleep(300)"
    )
    ready.wait_for_output(message_id, "idle")
    reply = ready.stop(message_id)
    assert is_interrupted(reply)
    assert reply.seconds < STOP_SECONDS
    assert ready.value(f"ends('cell-{n}')") == [("1", "ok")]


@pytest.mark.parametrize(
    "wait",
    [
        "await asyncio.sleep(300)",
        "await asyncio.Event().wait()",
        "await asyncio.gather(asyncio.sleep(300), asyncio.sleep(300))",
        "await asyncio.create_task(asyncio.sleep(300))",
        "while True: await asyncio.sleep(0)",
        "while True: time.sleep(0.01)",
        "await asyncio.create_task(spin())",
        "async for _ in ticks(): pass",
    ],
)
def test_a_stop_ends_a_cell_that_waits_for_anything_else(ready: Kernel, wait: str) -> None:
    message_id = ready.send(
        "async def spin():\n"
        "    while True: time.sleep(0.01)\n"
        "async def ticks():\n"
        "    while True: yield await asyncio.sleep(0.01)\n"
        "await asyncio.sleep(0)\n"
        "print('waits', flush=True)\n"
        f"{wait}"
    )
    ready.wait_for_output(message_id, "waits")
    reply = ready.stop(message_id)
    assert is_interrupted(reply)
    assert reply.seconds < STOP_SECONDS


def test_a_stop_that_comes_between_two_pieces_of_code_is_not_lost(ready: Kernel) -> None:
    message_id = ready.send(
        "async def spin():\n"
        "    while True: time.sleep(0.01)\n"
        "loop = asyncio.get_running_loop()\n"
        "print('waits', flush=True)\n"
        "loop.call_soon(signal.raise_signal, signal.SIGINT)\n"
        "await asyncio.create_task(spin())"
    )
    reply = ready.wait(message_id)
    assert is_interrupted(reply)
    assert reply.seconds < STOP_SECONDS


def test_a_stop_in_synchronous_code_ends_the_cell_and_the_calls_beside_it(ready: Kernel) -> None:
    n = ready.next_count()
    message_id = ready.send(
        "t = ctx.tools.bash(call)\n"
        "while not ctx.cell().nested_calls.calls: await asyncio.sleep(0)\n"
        "await asyncio.sleep(0)\n"
        "print('computes', flush=True)\n"
        "while True: time.sleep(0.01)"
    )
    ready.wait_for_output(message_id, "computes")
    reply = ready.stop(message_id)
    assert is_interrupted(reply)
    assert ready.run("x = await asyncio.gather(t, return_exceptions=True)").status == "ok"
    assert ready.value(f"ends('cell-{n}'), t.cancelled()") == ([("1", "aborted")], True)


def test_many_quick_calls_that_never_wait_are_stopped(ready: Kernel) -> None:
    message_id = ready.send(
        "print('counts', flush=True)\nwhile True: await ctx.execute_tool('note', {})"
    )
    ready.wait_for_output(message_id, "counts")
    assert is_interrupted(ready.stop(message_id))


def test_a_cell_that_waits_for_another_cells_call_is_stopped(ready: Kernel) -> None:
    n = ready.next_count()
    first = ready.send("t = ctx.tools.bash(call)")
    ready.wait(first)
    message_id = ready.send("print('waits'); await t")
    ready.wait_for_output(message_id, "waits")
    reply = ready.stop(message_id)
    assert is_interrupted(reply)
    assert reply.seconds < STOP_SECONDS
    assert ready.value(f"ends('cell-{n}')") == [("1", "aborted")]


def test_another_cells_detached_task_is_not_stopped(ready: Kernel) -> None:
    n = ready.next_count()
    ready.run("other = asyncio.create_task(ctx.execute_tool('wait_for', {'gate': 'other'}))")
    message_id = ready.send("await helper()")
    ready.wait_for_output(message_id, "update: started")
    assert is_interrupted(ready.stop(message_id))
    assert ready.value("gates['other'].set(); (await other).status") == "ok"
    assert ready.value(f"ends('cell-{n}')") == [("1", "ok")]


def test_tasks_that_an_interrupted_cell_left_behind_can_call_nothing_more(
    ready: Kernel,
) -> None:
    n = ready.next_count()
    message_id = ready.send(
        "go_on = asyncio.Event()\n"
        "async def detached():\n"
        "    await go_on.wait()\n"
        "    await ctx.execute_tool('note', {})\n"
        "    print('never')\n"
        "left = asyncio.create_task(detached())\n"
        "await helper()"
    )
    ready.wait_for_output(message_id, "update: started")
    assert is_interrupted(ready.stop(message_id))
    assert ready.value("go_on.set(); await asyncio.wait([left]); left.cancelled()") is True
    assert ready.value(f"ends('cell-{n}')") == [("1", "aborted"), ("2", "aborted")]


def test_a_tool_in_a_thread_is_left_behind(ready: Kernel) -> None:
    n = ready.next_count()
    message_id = ready.send("await ctx.tools.slow_thread()")
    ready.wait_for_output(message_id, "thread works")
    reply = ready.stop(message_id)
    assert is_interrupted(reply)
    assert reply.seconds < STOP_SECONDS
    assert ready.value(f"thread_ends.set(); ends('cell-{n}'), ctx.last.text") == (
        [("1", "aborted")],
        "Operation aborted",
    )


# -- the second stop -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "code",
    [
        "await ctx.execute_tool('stubborn', {'seconds': SECONDS})",
        "await ctx.tools.stubborn(seconds=SECONDS)",
        "await asyncio.gather(ctx.tools.stubborn(seconds=SECONDS), helper())",
        "await ctx.session.prompt('go', model=model())",
    ],
)
@pytest.mark.parametrize("is_forced", [False, True])
def test_a_tool_that_blocks_interrupts_is_waited_for_and_forced_by_a_second_stop(
    ready: Kernel, code: str, *, is_forced: bool
) -> None:
    n = ready.next_count()
    ready.run(
        f"SECONDS = {300 if is_forced else 0.5}\n"
        "from pi_kernel.models import ScriptedModel, call as issue, say\n"
        "model = lambda: ScriptedModel("
        "[issue('stubborn', id=None, seconds=SECONDS), say('never')])"
    )
    message_id = ready.send("ctx.signal.subscribe(lambda: print('told', flush=True))\n" + code)
    ready.wait_for_output(message_id, "stubborn works")
    ready.interrupt()
    ready.wait_for_output(message_id, "told")
    if is_forced:
        ready.interrupt()
    reply = ready.wait(message_id)
    assert is_interrupted(reply)
    status = "aborted" if is_forced else "ok"
    assert ready.value(
        f"[c.status for c in ctx.trace.calls() if c.cell_call_id == 'cell-{n + 1}'"
        " and c.tool == 'stubborn']"
    ) == [status]


@pytest.mark.parametrize(
    "code",
    [
        "await ctx.execute_tool('busy', {})",
        "await ctx.tools.busy()",
        "await asyncio.gather(ctx.tools.busy(), helper())",
    ],
)
def test_a_tool_that_keeps_the_loop_busy_is_ended_by_a_second_stop(
    ready: Kernel, code: str
) -> None:
    n = ready.next_count()
    message_id = ready.send(
        "hits = 0\n"
        "held = signal.getsignal(signal.SIGINT)\n"
        "def told(*args):\n"
        "    print('told', flush=True)\n"
        "    held(*args)\n"
        "signal.signal(signal.SIGINT, told)\n"
        f"try:\n    {code}\nfinally:\n    signal.signal(signal.SIGINT, held)"
    )
    ready.wait_for_output(message_id, "busy works")
    ready.interrupt()
    ready.wait_for_output(message_id, "told")
    ready.interrupt()
    assert is_interrupted(ready.wait(message_id))
    assert ("aborted", "busy") in ready.value(
        f"[(c.status, c.tool) for c in ctx.trace.calls() if c.cell_call_id == 'cell-{n}']"
    )


def test_a_tool_that_swallows_cancellations_is_left_behind(ready: Kernel) -> None:
    n = ready.next_count()
    message_id = ready.send("await ctx.tools.deaf()")
    ready.wait_for_output(message_id, "deaf works")
    ready.interrupt()
    assert is_interrupted(ready.wait(message_id))
    assert ready.value(f"ends('cell-{n}')") == [("1", "aborted")]


def test_code_that_swallows_the_stop_is_stopped_by_the_next_one(ready: Kernel) -> None:
    message_id = ready.send(
        "async def swallow():\n"
        "    for k in range(2):\n"
        "        try:\n"
        "            print('round', k, flush=True)\n"
        "            await asyncio.sleep(300)\n"
        "        except asyncio.CancelledError:\n"
        "            pass\n"
        "    print('last', flush=True)\n"
        "    await asyncio.sleep(300)\n"
        "await swallow()"
    )
    for text in ("round 0", "round 1", "last"):
        ready.wait_for_output(message_id, text)
        ready.interrupt()
    assert is_interrupted(ready.wait(message_id))


def test_a_task_that_swallows_the_stop_is_left_behind_by_the_second(ready: Kernel) -> None:
    message_id = ready.send(
        "async def swallow():\n"
        "    asyncio.get_running_loop().call_later(0.01, print, 'waits')\n"
        "    while not gates.get('let go'):\n"
        "        try:\n"
        "            await asyncio.sleep(0.05)\n"
        "        except asyncio.CancelledError:\n"
        "            print('swallowed', flush=True)\n"
        "swallower = asyncio.create_task(swallow())\n"
        "await swallower"
    )
    ready.wait_for_output(message_id, "waits")
    ready.interrupt()
    ready.wait_for_output(message_id, "swallowed")
    ready.interrupt()
    assert is_interrupted(ready.wait(message_id))
    assert ready.value("gates['let go'] = True; await asyncio.wait([swallower]); swallower.done()")


def test_a_busy_callback_of_the_loop_is_stopped(ready: Kernel) -> None:
    message_id = ready.send(
        "def work():\n"
        "    print('works', flush=True)\n"
        "    while True: time.sleep(0.01)\n"
        "asyncio.get_running_loop().call_soon(work)\n"
        "await asyncio.sleep(300)"
    )
    ready.wait_for_output(message_id, "works")
    assert is_interrupted(ready.stop(message_id))


# -- before and after ------------------------------------------------------------------------------


@pytest.fixture
def _handlers_kept(ready: Kernel) -> Iterator[None]:
    code = "signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    assert ready.value(code) is True
    yield
    assert ready.value(code) is True


@pytest.mark.usefixtures("_handlers_kept")
def test_the_kernels_own_handler_is_back_after_each_cell(ready: Kernel) -> None:
    inside = "'pi_kernel' in getattr(signal.getsignal(signal.SIGINT), '__module__', '')"
    assert ready.value(f"await ctx.tools.note(); {inside}") is True
    message_id = ready.send("await helper()")
    ready.wait_for_output(message_id, "update: started")
    assert is_interrupted(ready.stop(message_id))
    assert ready.value("get_ipython().custom_exceptions") == ()
    assert ready.run("raise asyncio.CancelledError('mine')").error == "CancelledError: mine"


def test_a_handler_that_the_cell_installs_stays(ready: Kernel) -> None:
    message_id = ready.send(
        "def mine(*_): print('mine', flush=True); done.set()\n"
        "done = asyncio.Event()\n"
        "asyncio.get_running_loop().add_signal_handler(signal.SIGINT, mine)\n"
        "await ctx.tools.note()\n"
        "print('ready', flush=True)\n"
        "await done.wait()\n"
        "asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)"
    )
    ready.wait_for_output(message_id, "ready")
    reply = ready.stop(message_id)
    assert (reply.status, reply.stdout) == ("ok", "ready\nmine\n")


def test_a_synchronous_cell_is_stopped_as_ever(ready: Kernel) -> None:
    message_id = ready.send("print('sleeps', flush=True)\ntime.sleep(300)")
    ready.wait_for_output(message_id, "sleeps")
    reply = ready.stop(message_id)
    assert reply.error == "KeyboardInterrupt: "


def test_a_custom_exception_hook_of_ones_own_goes_on_working(ready: Kernel) -> None:
    ready.run(
        "ip = get_ipython()\n"
        "def shown(self, kind, value, trace, tb_offset=None): print('mine:', value)\n"
        "ip.set_custom_exc((KeyError,), shown)"
    )
    message_id = ready.send(
        "try:\n    await helper()\nexcept KeyboardInterrupt:\n    raise KeyError('x') from None"
    )
    ready.wait_for_output(message_id, "update: started")
    assert ready.stop(message_id).stdout.endswith("mine: 'x'\n")
    assert ready.run("raise KeyError('y')").stdout == "mine: 'y'\n"
    ready.run("ip.set_custom_exc((), None)")
