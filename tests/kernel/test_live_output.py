"""What a cell shows while its calls run, and what is left of it."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import pytest

from tests.support.kernels import LOAD, Kernel, Reply

pytestmark = pytest.mark.kernel

MAX_UPDATES_PER_SECOND = 10
INTERVAL_SECONDS = 1 / MAX_UPDATES_PER_SECOND
QUIET_KINDS = {"execute_input"}


def shown(reply: Reply) -> list[str]:
    """Return the texts of displays and updates of displays, in order."""
    kinds = ("display_data", "update_display_data")
    return [m["content"]["data"]["text/plain"] for m in reply.messages if m["msg_type"] in kinds]


def times(reply: Reply) -> list[float]:
    """Return when displays were sent."""
    kinds = ("display_data", "update_display_data")
    return [m["header"]["date"].timestamp() for m in reply.messages if m["msg_type"] in kinds]


def test_calls_that_are_quick_and_not_shown_send_nothing(kernel: Kernel) -> None:
    reply = kernel.run("for _ in range(1000): await ctx.execute_tool('note', {})")
    assert {m["msg_type"] for m in reply.messages} == QUIET_KINDS
    reply = kernel.run("x = await ctx.map('note', [{}] * 100)")
    assert {m["msg_type"] for m in reply.messages} == QUIET_KINDS
    reply = kernel.run("x = await ctx.tools.bash(command='sleep 0.2')")
    assert {m["msg_type"] for m in reply.messages} == QUIET_KINDS | {"stream"}  # our own listener


def test_a_cell_that_takes_longer_shows_one_line_that_ends_as_a_summary(kernel: Kernel) -> None:
    n = kernel.next_count()
    reply = kernel.run(
        "await ctx.execute_tool('note', {})\n"
        "x = await ctx.execute_tool('bash', {'command': 'sleep 1.2'})"
    )
    first, *_, last = lines = shown(reply)
    assert len({m["content"]["transient"]["display_id"] for m in reply.messages
                if "display" in m["msg_type"]}) == 1  # fmt: skip
    assert "1 done" in first
    assert re.search(r"0\.[5-9] s$", first)
    assert re.fullmatch(rf"cell-{n}: 2 tool calls, 1\.\d s", last)
    assert lines.count(last) == 1
    html = reply.displays[-1]["text/html"]
    assert html.startswith("<div style=")
    assert f"cell-{n}: 2 tool calls" in html


def test_the_line_changes_ten_times_a_second_at_most(kernel: Kernel) -> None:
    reply = kernel.run("x = await ctx.execute_tool('bash', {'command': 'sleep 1.5'})")
    sent = times(reply)
    assert 2 <= len(sent) <= 1 + MAX_UPDATES_PER_SECOND + 1
    assert all(later - sooner > 0.9 * INTERVAL_SECONDS for sooner, later in pairwise(sent[:-1]))


def test_a_cell_that_makes_no_call_any_more_changes_nothing(kernel: Kernel) -> None:
    reply = kernel.run("await ctx.execute_tool('note', {})\nawait asyncio.sleep(0.8)")
    assert shown(reply) == []


def test_failed_and_unfinished_calls_are_counted_at_the_end(kernel: Kernel) -> None:
    n = kernel.next_count()
    reply = kernel.run(
        "t = ctx.tools.wait_for(gate='never')\n"
        "x = await ctx.execute_tool('bash', {'command': 'sleep 0.8; exit 1'})"
    )
    last = shown(reply)[-1]
    assert last.startswith(f"cell-{n}: 2 tool calls, 1 failed, 1 unfinished, ")
    kernel.run("gates['never'].set(); await t")


def test_a_silent_cell_shows_nothing(kernel: Kernel) -> None:
    reply = kernel.run("await ctx.execute_tool('bash', {'command': 'sleep 0.8'})", silent=True)
    assert shown(reply) == []


def test_a_cell_can_say_how_far_it_is(kernel: Kernel) -> None:
    reply = kernel.run("ctx.update('half way')\nctx.update('done')\nawait ctx.tools.note()")
    lines = shown(reply)
    assert [line.split(" · ")[0] for line in lines[:2]] == ["half way", "done"]
    assert "1 tool call" in lines[-1]
    assert kernel.run(
        "import contextvars\ncontextvars.Context().run(ctx.update, 'outside')"
    ).stdout == "outside\n"  # fmt: skip


def test_ctx_update_in_a_tool_is_the_tools_update(kernel: Kernel) -> None:
    reply = kernel.run(
        "@ctx.tool\n"
        "async def stepwise() -> str:\n"
        "    'Tell how far it is.'\n"
        "    ctx.update('first step')\n"
        "    return 'x'\n"
        "seen = []\n"
        "o = await ctx.execute_tool('stepwise', {}, on_update=lambda r: seen.append(r.content))\n"
        "print([c[0].text for c in seen])"
    )
    assert "['first step']" in reply.stdout
    assert shown(reply) == []


# -- ctx.map ---------------------------------------------------------------------------------------


def test_map_shows_a_bar_and_leaves_its_last_state(kernel: Kernel) -> None:
    calls = "[{'command': f'sleep 0.3; exit {n % 2}'} for n in range(8)]"
    reply = kernel.run(f"x = await ctx.map('bash', {calls}, limit=2)")
    lines = shown(reply)
    assert all(line.startswith("ctx.map bash [") for line in lines)
    assert re.search(r"\] [0-7] of 8, .*s(, about .* left)?$", lines[0])
    assert re.fullmatch(
        r"ctx\.map bash \[########################\] 8 of 8, 4 failed, 1\.\d s", lines[-1]
    )
    assert "width:100.0%" in reply.displays[-1]["text/html"]
    assert kernel.value("[o.status for o in x]") == ["ok", "error"] * 4


def test_a_stopped_map_leaves_how_far_it_came(kernel: Kernel) -> None:
    message_id = kernel.send(
        "calls = [{'command': 'true'}] * 3 + [{'command': 'sleep 300 & echo started; wait'}] * 3\n"
        "await ctx.map('bash', calls, limit=3)"
    )
    kernel.wait_for_output(message_id, "update: started", times=3)
    kernel.wait_until(message_id, lambda so_far: bool(shown(so_far)))
    reply = kernel.stop(message_id)
    assert reply.error == "KeyboardInterrupt: the cell was interrupted"
    bars = [line for line in shown(reply) if line.startswith("ctx.map")]
    assert re.fullmatch(r"ctx\.map bash \[############\.{12}\] 3 of 6, stopped, [\d.]+ s", bars[-1])


def test_a_map_of_bad_arguments_says_so_before_it_starts(kernel: Kernel) -> None:
    for code, text in (
        ("await ctx.map('note', {'text': 'x'})", "map() takes a list with one JSON object a call"),
        ("await ctx.map('note', 'xy')", "map() takes a list with one JSON object a call"),
        ("await ctx.map('note', 5)", "map() takes a list with one JSON object a call"),
        ("await ctx.map('note', [], limit=0)", "limit must be a positive integer or None, got 0"),
        (
            "await ctx.map('note', [], on_error='x')",
            'on_error must be "keep" or "stop", got \'x\'',
        ),
    ):
        assert kernel.run(code).error == f"PiKernelError: {text}"
    assert kernel.value("await ctx.map('note', [])") == []


# -- nbclient --------------------------------------------------------------------------------------


@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_notebook_that_was_run_keeps_the_last_states_only(tmp_path: Path) -> None:
    book: Any = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell(code)
            for code in (
                LOAD,
                "o = await ctx.execute_tool('bash', {'command': 'sleep 0.9; echo end'})\no",
                "x = await ctx.map('bash', [{'command': 'sleep 0.4'}] * 4, limit=2)",
                "o = await ctx.execute_tool('bash', {'command': 'true'})",
            )
        ]
    )
    nbclient.NotebookClient(
        book, timeout=60, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    load, line, bar, quick = ([dict(out) for out in cell.outputs] for cell in book.cells)
    assert (load, quick) == ([], [])
    assert [out["output_type"] for out in line] == ["display_data", "execute_result"]
    assert line[0]["data"]["text/plain"].startswith("cell-2: 1 tool call, ")
    assert [set(out["data"]) for out in line] == [{"text/html", "text/plain"}] * 2
    assert [out["output_type"] for out in bar] == ["display_data"]
    assert " 4 of 4, " in bar[0]["data"]["text/plain"]
