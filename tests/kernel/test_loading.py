"""Loading, reloading and unloading the extension, and what is left of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.kernels import LOAD, Kernel
from tests.support.processes import below, still_alive

pytestmark = pytest.mark.kernel

UNLOADED = "PiKernelError: this ctx was unloaded; run: %load_ext pi_kernel"
REPLACED = "PiKernelError: this ctx was unloaded; use the ctx of the newer %load_ext pi_kernel"
NOTE = """
import asyncio

@pi_kernel.ctx.tool
async def note(text: str = "x") -> str:
    "Give the text back."
    return text
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with Kernel(cwd=str(tmp_path_factory.mktemp("kernel"))) as kernel:
        kernel.run(
            "import pi_kernel\ntransformers = list(get_ipython().input_transformers_cleanup)"
        )
        yield kernel


@pytest.fixture
def fresh(shared: Kernel) -> Iterator[Kernel]:
    """Give a kernel without the extension and without the names that it uses."""
    yield shared
    reply = shared.run(
        "%unload_ext pi_kernel\n"
        "for name in ('ctx', 'tools', 'held'): globals().pop(name, None)\n"
        "hooks = {e: [c for c in get_ipython().events.callbacks[e] if 'pi_kernel' in c.__module__]"
        " for e in ('pre_execute', 'pre_run_cell', 'post_execute', 'post_run_cell')}\n"
        "assert not any(hooks.values()), hooks\n"
        "assert not hasattr(pi_kernel, 'ctx')\n"
        "assert get_ipython().input_transformers_cleanup == transformers"
    )
    assert reply.status == "ok", reply.traceback


@pytest.fixture
def loaded(fresh: Kernel) -> Kernel:
    reply = fresh.run(LOAD)
    assert (reply.status, reply.stdout, reply.stderr) == ("ok", "", "")
    assert fresh.run(NOTE).status == "ok"
    return fresh


def test_loading_gives_names_and_magics_and_shows_nothing(loaded: Kernel) -> None:
    assert loaded.value("ctx is pi_kernel.ctx, ctx.tools is tools, sorted(tools)[:2]") == (
        True,
        True,
        ["bash", "edit"],
    )
    assert loaded.run("%who_ls").result.count("ctx") == 0
    assert loaded.value(
        "[n in get_ipython().magics_manager.magics['line'] for n in ('tools', 'trace')]"
    ) == [True, True]
    assert loaded.value("(await ctx.tools.note(), await tools.note(text='y'))") == ("x", "y")


@pytest.mark.parametrize("again", [LOAD, "pi_kernel.load_ipython_extension(get_ipython())"])
def test_loading_twice_changes_nothing(loaded: Kernel, again: str) -> None:
    assert loaded.run(f"held = ctx\n{again}").status == "ok"
    assert loaded.value("o = await ctx.execute_tool('note', {}); held is ctx, o.id[-2:]") == (
        True,
        "/1",
    )


def test_reloading_gives_a_new_session_and_says_so_of_the_old_ctx(loaded: Kernel) -> None:
    assert loaded.run("held, held_tools = ctx, tools\n%reload_ext pi_kernel").status == "ok"
    assert loaded.value("held is ctx, len(ctx.trace), repr(held)") == (False, 0, "<ctx: unloaded>")
    for use in ("held.session", "held.cell()", "held_tools.read", "held.trace", "held.cwd"):
        assert loaded.run(use).error == REPLACED
    for use in ("await held.execute_tool('ls', {})", "await held.map('ls', [{}])", "held.tool(id)"):
        assert loaded.run(use).error == REPLACED
    assert loaded.value("(await ctx.execute_tool('ls', {})).id[-2:]") == "/1"


def test_a_cell_can_unload_and_load_and_go_on(loaded: Kernel) -> None:
    n = loaded.next_count()
    assert loaded.value(
        "await ctx.tools.note()\n"
        "%unload_ext pi_kernel\n"
        "%load_ext pi_kernel\n"
        "(await ctx.execute_tool('ls', {})).id, ctx.cell().status"
    ) == (f"cell-{n}/1", "running")


def test_after_unloading_names_and_magics_are_gone_and_ctx_says_so(loaded: Kernel) -> None:
    assert loaded.run("held = ctx\n%unload_ext pi_kernel").status == "ok"
    assert loaded.run("ctx").error == "NameError: name 'ctx' is not defined"
    assert loaded.run("tools").error == "NameError: name 'tools' is not defined"
    assert "`%trace` not found" in loaded.run("%trace").stderr
    for use in ("held.tools.ls()", "await held.execute_tool('ls', {})", "held.last", "held.signal"):
        assert loaded.run(use).error == UNLOADED
    assert loaded.run("print(1)").stdout == "1\n"


def test_unloading_stops_the_calls_that_run(loaded: Kernel) -> None:
    message_id = loaded.send(
        "held = ctx.trace\n"
        "def show(event): print(*(b.text for b in event.partial_result.content), flush=True)\n"
        "ctx.session.on('tool_execution_update', show)\n"
        "call = {'command': 'sleep 300 & echo started; wait'}\n"
        "outcome = asyncio.create_task(ctx.execute_tool('bash', call))\n"
        "value = ctx.tools.bash(call)\n"
        "value_awaited_later = ctx.tools.bash(call)\n"
        "await asyncio.sleep(0)"
    )
    loaded.wait_for_output(message_id, "started", times=3)
    loaded.wait(message_id)
    running = below(loaded.pid)
    assert len(running) == 6
    assert loaded.run("%unload_ext pi_kernel").status == "ok"
    assert still_alive(running) == []
    assert loaded.value("(await outcome).status, [c.status for c in held]") == (
        "aborted",
        ["aborted"] * 3,
    )
    reply = loaded.run("await value")
    assert reply.error.startswith("ToolCallError: started")
    assert loaded.run("print(1)").stdout == "1\n"


def test_a_cell_that_unloads_while_it_waits_gets_the_aborted_call(loaded: Kernel) -> None:
    reply = loaded.run(
        "t = ctx.tools.bash(command='sleep 300')\n"
        "await asyncio.sleep(0)\n"
        "%unload_ext pi_kernel\n"
        "await t"
    )
    assert reply.error == "ToolCallError: Command aborted"


@pytest.mark.parametrize(
    ("taken", "said"),
    [(["ctx"], "ctx is"), (["tools"], "tools is"), (["ctx", "tools"], "ctx and tools are")],
)
def test_names_that_are_taken_are_kept_with_a_warning(
    fresh: Kernel, taken: list[str], said: str
) -> None:
    fresh.run("\n".join(f"{name} = None" for name in taken))
    reply = fresh.run(LOAD)
    assert reply.status == "ok"
    assert reply.stderr == (
        f"%load_ext pi_kernel:1: UserWarning: {said} yours and kept; the context is pi_kernel.ctx\n"
    )
    assert fresh.value(f"[{', '.join(taken)}]") == [None] * len(taken)
    assert fresh.value(
        "from pi_kernel import ctx as mine\n"
        "(await mine.execute_tool('ls', {})).status, 'read' in mine.tools"
    ) == ("ok", True)
    fresh.run("%unload_ext pi_kernel")
    assert fresh.value(f"[{', '.join(taken)}]") == [None] * len(taken)


def test_a_name_that_the_person_takes_later_is_kept_by_unloading(loaded: Kernel) -> None:
    loaded.run("ctx = 5\n%unload_ext pi_kernel")
    assert loaded.value("ctx") == 5


def test_loading_again_after_unloading_is_as_new(loaded: Kernel) -> None:
    loaded.run("%unload_ext pi_kernel")
    assert loaded.run(LOAD).stderr == ""
    n = loaded.next_count()
    assert loaded.value("(await ctx.execute_tool('ls', {})).id") == f"cell-{n}/1"


def test_ctx_does_not_exist_before_loading(fresh: Kernel) -> None:
    assert fresh.run("from pi_kernel import ctx").error.startswith("ImportError: cannot import")


def test_code_outside_every_cell_is_a_caller_of_its_own(loaded: Kernel) -> None:
    assert loaded.value(
        "import contextvars\n"
        "found = asyncio.get_running_loop().create_future()\n"
        "async def outside():\n"
        "    o = await ctx.execute_tool('note', {})\n"
        "    found.set_result((o.id, o.parent_tool_call_id, ctx.tool_call_id, ctx.cell_id))\n"
        "task = contextvars.Context().run(asyncio.ensure_future, outside())\n"
        "await found"
    ) == ("call-1", None, None, None)


def test_loading_is_quick_and_imports_nothing_heavy(bare_kernel: Kernel) -> None:
    bare_kernel.run("import sys; before = set(sys.modules)")
    assert bare_kernel.run(LOAD).status == "ok"
    heavy = "PIL anywidget ipywidgets jsonschema_rs matplotlib mcp numpy pandas polars pyarrow"
    assert (
        bare_kernel.value(
            f"[name for name in {heavy.split()} if name in set(sys.modules) - before]"
        )
        == []
    )
