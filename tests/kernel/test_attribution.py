"""Which cell a call belongs to."""

from __future__ import annotations

import os

import pytest

from tests.support.kernels import Kernel

pytestmark = pytest.mark.kernel


def test_a_cells_calls_are_numbered_below_its_execution_count(kernel: Kernel) -> None:
    n = kernel.next_count()
    first, second, parent = kernel.value(
        "a = await ctx.execute_tool('note', {})\n"
        "b = await ctx.execute_tool('note', {})\n"
        "a.id, b.id, a.parent_tool_call_id"
    )
    assert (first, second, parent) == (f"cell-{n}/1", f"cell-{n}/2", f"cell-{n}")
    assert kernel.value(f"ids('cell-{n}')") == [
        (f"cell-{n}/1", None, 0),
        (f"cell-{n}/2", None, 0),
    ]
    assert kernel.value(
        f"[(c.id, c.name, c.status, c.arguments) for c in ctx.cell({n}).nested_calls.calls]"
    ) == [(f"cell-{n}/1", "note", "ok", {}), (f"cell-{n}/2", "note", "ok", {})]


def test_the_cell_that_loads_the_extension_is_a_caller_too(bare_kernel: Kernel) -> None:
    reply = bare_kernel.run(
        "%load_ext pi_kernel\n"
        "first = await ctx.execute_tool('ls', {'path': '.'})\n"
        "first.id, ctx.cell().id, ctx.cell().status"
    )
    assert reply.result == "('cell-1/1', 'cell-1', 'running')"
    assert bare_kernel.value("ctx.cell(1).status, ctx.cell().id") == ("ok", "cell-2")


def test_gathered_calls_are_numbered_in_the_order_they_were_written(kernel: Kernel) -> None:
    n = kernel.next_count()
    found = kernel.value(
        "o = await asyncio.gather(*(ctx.execute_tool('note', {'text': t}) for t in 'abc'))\n"
        "v = await asyncio.gather(*(ctx.tools.note(text=t) for t in 'abc'))\n"
        "[(x.id, x.text) for x in o], v, [i for i, _p, _d in ids()]"
    )
    assert found == (
        [(f"cell-{n}/1", "a"), (f"cell-{n}/2", "b"), (f"cell-{n}/3", "c")],
        ["a", "b", "c"],
        [f"cell-{n}/{k}" for k in range(1, 7)],
    )


def test_a_task_that_outlives_its_cell_keeps_the_cells_id(kernel: Kernel) -> None:
    n = kernel.next_count()
    kernel.run(
        "async def late():\n"
        "    await ctx.execute_tool('wait_for', {'gate': 'late'})\n"
        "    return await ctx.execute_tool('note', {})\n"
        "task = asyncio.create_task(late())\n"
        "await asyncio.sleep(0)"
    )
    assert kernel.value(
        "gates['late'].set()\n(await task).id, ctx.cell().id, len(ctx.cell().nested_calls.calls)"
    ) == (f"cell-{n}/2", f"cell-{n + 1}", 0)
    assert kernel.value(f"ends('cell-{n}')") == [("1", "ok"), ("2", "ok")]
    assert kernel.value(
        f"r = ctx.cell({n})\n"
        "r.status, [(c.id, c.status) for c in r.nested_calls.calls], r.nested_calls.complete"
    ) == ("ok", [(f"cell-{n}/1", "unfinished")], False)


def test_a_call_started_in_one_cell_can_be_awaited_in_another(kernel: Kernel) -> None:
    n = kernel.next_count()
    kernel.run("started = ctx.tools.wait_for(gate='started')")
    assert kernel.value("gates.setdefault('started', asyncio.Event()).set(); await started") == (
        "started"
    )
    assert kernel.value(f"ends('cell-{n}'), ends('cell-{n + 1}')") == ([("1", "ok")], [])


def test_tasks_of_two_cells_that_run_at_once_are_told_apart(kernel: Kernel) -> None:
    n = kernel.next_count()
    work = (
        "async def work_{name}():\n"
        "    for k in range(3):\n"
        "        await ctx.execute_tool('wait_for', {{'gate': f'{name}{{k}}'}})\n"
        "{name} = asyncio.create_task(work_{name}())\n"
        "await asyncio.sleep(0)"
    )
    kernel.run(work.format(name="left"))
    kernel.run(work.format(name="right"))
    kernel.run(
        "for k in range(3):\n"
        "    for name in ('left', 'right'):\n"
        "        while f'{name}{k}' not in gates: await asyncio.sleep(0)\n"
        "        gates[f'{name}{k}'].set()\n"
        "await asyncio.gather(left, right)"
    )
    named = "[(c.id, c.text) for c in ctx.trace.calls() if c.cell_call_id == 'cell-%d']"
    assert kernel.value(named % n) == [(f"cell-{n}/{k + 1}", f"left{k}") for k in range(3)]
    assert kernel.value(named % (n + 1)) == [
        (f"cell-{n + 1}/{k + 1}", f"right{k}") for k in range(3)
    ]


def test_a_function_called_from_three_cells_at_once_calls_for_each_of_them(
    kernel: Kernel,
) -> None:
    n = kernel.next_count()
    kernel.run(
        "async def shared(name):\n"
        "    await ctx.execute_tool('wait_for', {'gate': name})\n"
        "    return (await ctx.execute_tool('note', {'text': name})).id, ctx.tool_call_id\n"
        "jobs = []"
    )
    for name in "abc":
        kernel.run(f"jobs.append(asyncio.create_task(shared('{name}'))); await asyncio.sleep(0)")
    assert kernel.value("for name in 'cab': gates[name].set()\nawait asyncio.gather(*jobs)") == [
        (f"cell-{n + k}/2", f"cell-{n + k}") for k in (1, 2, 3)
    ]


@pytest.mark.parametrize(
    ("run", "is_the_cells"),
    [
        ("await asyncio.to_thread(work)", True),
        ("in_thread(contextvars.copy_context().run, work)", True),
        ("in_thread(work)", False),
        ("await asyncio.get_running_loop().run_in_executor(None, work)", False),
    ],
)
def test_a_thread_calls_for_the_cell_whose_context_it_has(
    kernel: Kernel, run: str, *, is_the_cells: bool
) -> None:
    n = kernel.next_count()
    found = kernel.value(
        "result = []\n"
        "def work():\n"
        "    o = ctx.session.run(ctx.execute_tool('note', {}))\n"
        "    result.append((o.id, o.parent_tool_call_id, o.call.cell_call_id))\n"
        "async def join(thread):\n"
        "    while thread.is_alive(): await asyncio.sleep(0)\n"
        "def in_thread(*args):\n"
        "    global thread\n"
        "    thread = threading.Thread(target=args[0], args=args[1:]); thread.start()\n"
        "thread = threading.current_thread()\n"
        f"{run}\n"
        "if thread is not threading.current_thread(): await join(thread)\n"
        "result[0]"
    )
    if is_the_cells:
        assert found == (f"cell-{n}/1", f"cell-{n}", f"cell-{n}")
    else:
        assert found[0].startswith("call-")
        assert found[1:] == (None, None)


def test_running_a_call_on_the_loops_own_thread_says_to_use_await(kernel: Kernel) -> None:
    reply = kernel.run("ctx.session.run(ctx.execute_tool('note', {}))")
    assert reply.error == (
        "PiKernelError: session.run() would wait for the event loop that it runs on; use: await ..."
    )


@pytest.mark.parametrize("kind", ["async def", "def"])
def test_a_tool_of_the_notebook_that_uses_the_global_ctx_makes_nested_calls(
    kernel: Kernel, kind: str
) -> None:
    n = kernel.next_count()
    call = "ctx.execute_tool('note', {'text': ctx.tool_call_id})"
    call = f"await {call}" if kind == "async def" else f"ctx.session.run({call})"
    found = kernel.value(
        "@ctx.tool\n"
        f"{kind} outer(n: int) -> str:\n"
        "    'Call another tool.'\n"
        f"    return ({call}).text\n"
        "o = await ctx.execute_tool('outer', {'n': 1})\n"
        "o.text, ids(), [(c.id, c.status) for c in o.nested_calls.calls]"
    )
    assert found == (
        f"cell-{n}/1",
        [(f"cell-{n}/1", None, 0), (f"cell-{n}/1/1", f"cell-{n}/1", 1)],
        [(f"cell-{n}/1/1", "ok")],
    )


def test_running_the_cell_of_a_tool_again_replaces_it_and_the_trace_notes_the_version(
    kernel: Kernel,
) -> None:
    for text in ("one", "two"):
        kernel.run(
            f"@ctx.tool\ndef versioned() -> str:\n    'A tool.'\n    return '{text}'\n"
            "await ctx.tools.versioned()"
        )
    texts, versions = kernel.value(
        "c = [c for c in ctx.trace.calls() if c.tool == 'versioned']\n"
        "[x.text for x in c], len({x.tool_version for x in c})"
    )
    assert (texts, versions) == (["one", "two"], 2)


def test_a_prompt_in_a_cell_makes_the_cell_the_parent_of_the_models_calls(
    kernel: Kernel,
) -> None:
    n = kernel.next_count()
    found = kernel.value(
        "from pi_kernel.models import ScriptedModel, call, say\n"
        "model = ScriptedModel([call('note', id='m1', text='hi'), say('done')])\n"
        "run = await ctx.session.prompt('go', model=model)\n"
        "record = [c for c in ctx.trace.calls() if c.id == 'm1'][0]\n"
        "record.parent_id, record.cell_call_id, record.origin, record.text,"
        " [c.id for c in ctx.cell().nested_calls.calls], ctx.last.parent_tool_call_id"
    )
    assert found == (None, f"cell-{n}", "model", "hi", ["m1"], f"cell-{n}")
    assert kernel.run("await ctx.execute_tool('note', {})").status == "ok"


def test_a_timed_cell_makes_calls_like_any_other(kernel: Kernel) -> None:
    n = kernel.next_count()
    reply = kernel.run("%%time\no = await ctx.execute_tool('note', {})\nprint(o.id)")
    assert (reply.status, reply.error) == ("ok", "")
    assert f"cell-{n}/1" in reply.stdout
    assert "Wall time" in reply.stdout


def test_a_timed_cell_keeps_its_value_magics_and_line_numbers(kernel: Kernel) -> None:
    reply = kernel.run("\n%%time\n%cd -q .\no = await ctx.execute_tool('note', {})\no.text")
    assert reply.result == "'x'"
    assert "Wall time: " in reply.stdout
    reply = kernel.run("%%time\nawait ctx.tools.note()\n1 / 0")
    assert reply.error == "ZeroDivisionError: division by zero"
    assert "----> 3 1 / 0" in reply.traceback
    assert "Wall time: " in reply.stdout


def test_a_timed_cell_without_an_await_is_ipythons_own(kernel: Kernel) -> None:
    assert "CPU times: user" in kernel.run("%%time\nx = 'awaits nothing'").stdout
    assert kernel.run("%%time\nawait = 1").error.startswith("SyntaxError")
    assert "Time execution" in kernel.run("%%time?").help


def test_a_cell_run_from_a_cell_or_a_tool_makes_calls_for_the_outer_one(kernel: Kernel) -> None:
    n = kernel.next_count()
    found = kernel.value(
        "ip = get_ipython()\n"
        'code = "t = ctx.tools.note()"\n'
        "ip.run_cell(code)\n"
        "await t\n"
        'code = "await ctx.tools.note()"\n'
        "await ip.run_cell_async(code, transformed_cell=ip.transform_cell(code))\n"
        "await ctx.tools.note()\n"
        "[i for i, _p, _d in ids()]"
    )
    assert found == [f"cell-{n}/1", f"cell-{n}/2", f"cell-{n}/3"]
    assert kernel.value("ctx.cell().id") == f"cell-{n + 1}"


# -- ids -------------------------------------------------------------------------------------------


def test_a_number_used_again_gets_a_letter(kernel: Kernel) -> None:
    n = kernel.next_count()
    code = "o = await ctx.execute_tool('note', {}); print(o.id)"
    silent = "open('silent', 'w').write((await ctx.execute_tool('note', {})).id)"
    assert kernel.run(code, store_history=False).stdout == f"cell-{n}/1\n"
    assert kernel.run(code, store_history=False).stdout == f"cell-{n}b/1\n"
    assert kernel.run(silent, silent=True).status == "ok"
    assert kernel.run("print('no call')", store_history=False).status == "ok"
    assert kernel.run(code).stdout == f"cell-{n}d/1\n"
    assert kernel.run("print(open('silent').read(), ctx.cell().id)").stdout == (
        f"cell-{n}c/1 cell-{n + 1}\n"
    )


def test_a_silent_request_without_calls_is_not_the_last_cell(kernel: Kernel) -> None:
    n = kernel.next_count()
    kernel.run("o = await ctx.execute_tool('note', {})")
    kernel.run("1 + 1", silent=True)
    kernel.run("open('last', 'w').write(contextvars.Context().run(ctx.cell).id)", silent=True)
    assert kernel.value("open('last').read()") == f"cell-{n}"


def test_a_silent_cell_that_runs_a_cell_ends_once(kernel: Kernel) -> None:
    n = kernel.next_count()
    kernel.run(
        "get_ipython().run_cell('1'); get_ipython().run_cell('2'); t = ctx.tools.note()",
        silent=True,
    )
    kernel.run("await t", silent=True)
    assert kernel.value(f"ends('cell-{n}'), ctx.cell().id") == ([("1", "ok")], f"cell-{n}b")


def test_the_front_ends_cell_id_is_in_the_trace(kernel: Kernel) -> None:
    message_id = kernel.request(
        "o = await ctx.execute_tool('note', {})\no.call.cell_id, ctx.cell_id", cellId="abc-1"
    )
    assert kernel.wait(message_id).result == "('abc-1', 'abc-1')"
    assert kernel.value(
        "o = await ctx.execute_tool('note', {}); ctx.trace.calls()[-1].cell_id"
    ) is (None)


# -- what ctx says ---------------------------------------------------------------------------------


def test_ctx_says_which_cell_runs_and_what_was_last(kernel: Kernel) -> None:
    n = kernel.next_count()
    kernel.run("o = await ctx.execute_tool('note', {'text': 'last'})")
    assert kernel.value(
        "ctx.last.text, ctx.tool_call_id, ctx.cell().id, ctx.cell().status,"
        f" ctx.cell({n}).status, ctx.parent_tool_call_id, ctx.signal.aborted"
    ) == ("last", f"cell-{n + 1}", f"cell-{n + 1}", "running", "ok", None, False)
    kernel.run("await ctx.tools.note(text='x'); 1 / 0")
    assert kernel.value(f"ctx.cell({n + 2}).status, len(ctx.cell({n + 2}).nested_calls.calls)") == (
        "error",
        1,
    )
    assert kernel.run("ctx.cell(9999)").error == (
        "PiKernelError: no cell [9999] has run since %load_ext pi_kernel"
    )


def test_the_last_outcome_has_its_nested_calls(kernel: Kernel) -> None:
    assert kernel.value(
        "@ctx.tool\n"
        "async def parent() -> str:\n"
        "    'Call another tool.'\n"
        "    await ctx.tools.note()\n"
        "    return 'x'\n"
        "await ctx.tools.parent()\n"
        "ctx.last.tool_name, len(ctx.last.nested_calls.calls)"
    ) == ("parent", 1)


def test_the_working_directory_follows_cd(kernel: Kernel) -> None:
    kernel.run("import pathlib; start = os.getcwd(); pathlib.Path('below').mkdir()")
    kernel.run("open('below/inside.txt', 'w').write('found')")
    kernel.run("%cd below")
    assert kernel.value(
        "@ctx.tool\n"
        "async def where() -> str:\n"
        "    'Say where.'\n"
        "    return ctx.cwd\n"
        "(ctx.cwd == os.getcwd(), await ctx.tools.where() == os.getcwd(),"
        " (await ctx.tools.bash(command='pwd'))['output'].strip() == os.getcwd(),"
        " (await ctx.execute_tool('read', {'path': 'inside.txt'})).text)"
    ) == (True, True, True, "found")
    kernel.run("%cd $start")
    assert kernel.value("ctx.cwd == start") is True


def test_a_removed_working_directory_does_not_stop_cells(kernel: Kernel) -> None:
    kernel.run("start = os.getcwd(); os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone')")
    reply = kernel.run("o = await ctx.execute_tool('note', {}); o.text")
    assert (reply.result, reply.stdout, reply.stderr) == ("'x'", "", "")
    kernel.run("os.chdir(start)")
    assert kernel.value("ctx.cwd == start") is True


def test_a_session_of_ones_own_is_no_business_of_the_cell(kernel: Kernel) -> None:
    n = kernel.next_count()
    assert kernel.value(
        "from pi_kernel import ToolSession\n"
        "own = ToolSession(tools='read_only')\n"
        "o = await own.execute_tool('ls', {'path': '/'})\n"
        "o.id, o.status, ctx.cell().nested_calls.calls, ctx.tool_call_id"
    ) == ("call-1", "ok", [], f"cell-{n}")


def test_ctx_names_its_facts(kernel: Kernel) -> None:
    assert kernel.value(
        "len(ctx.session_id), ctx.turn_id, ctx.turn_index, ctx.model, ctx.cell_id"
    ) == (36, None, None, None, None)
    assert kernel.value("await ctx.ui.confirm('sure?', 'really?')") is False
    assert kernel.run("ctx").result.startswith("<ctx: <ToolSession ")
    assert os.sep in kernel.value("ctx.cwd")
