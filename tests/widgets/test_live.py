"""Live views over the Jupyter protocol, without a page."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.kernels import LOAD, Kernel, Reply

pytestmark = pytest.mark.kernel

SLEEP = 'outcome = await ctx.execute_tool("bash", {"command": "echo begun; sleep 60"})'


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with Kernel(cwd=str(tmp_path_factory.mktemp("kernel"))) as kernel:
        assert kernel.run(LOAD).status == "ok"
        yield kernel


def opened(so_far: Reply) -> list[str]:
    """The ids of the widgets that were opened."""
    return [one["comm_id"] for one in so_far.of_type("comm_open")]


def heard(so_far: Reply) -> list[dict[str, Any]]:
    """What the widgets have said."""
    said = [one["data"] for one in so_far.of_type("comm_msg")]
    return [one["content"] for one in said if one["method"] == "custom"]


def say(kernel: Kernel, comm_id: str, message: dict[str, Any]) -> None:
    data = {"method": "custom", "content": message}
    content = {"comm_id": comm_id, "data": data}
    kernel.client.shell_channel.send(kernel.client.session.msg("comm_msg", content))


def so_far(kernel: Kernel, message_id: str) -> Reply:
    return Reply({"status": "running"}, kernel._messages[message_id])


def test_a_page_that_answers_gets_the_calls_and_stops_one(kernel: Kernel) -> None:
    cell = kernel.send(SLEEP, allow_stdin=True)
    kernel.wait_until(cell, lambda reply: bool(opened(reply)))
    (comm_id,) = opened(so_far(kernel, cell))
    shown = so_far(kernel, cell).displays[0]
    state = so_far(kernel, cell).of_type("comm_open")[0]["data"]["state"]
    assert shown["text/html"].startswith(f'<div class="{state["place"]}"><div style=')
    assert "application/vnd.jupyter.widget-view+json" not in shown
    say(kernel, comm_id, {"type": "hello", "page": "a", "try": 1})
    kernel.wait_until(cell, lambda reply: len(heard(reply)) > 1)
    ack, calls = heard(so_far(kernel, cell))[:2]
    assert ack == {"type": "ack"}
    (call,) = calls["calls"]
    assert (call["kind"], call["tail"]["text"]) == ("running", "begun\n")
    n_displays = len(so_far(kernel, cell).displays)
    say(kernel, comm_id, {"type": "stop", "id": call["id"]})
    reply = kernel.wait(cell)
    assert reply.status == "ok"
    assert kernel.value("outcome.status") == "aborted"
    assert [one["comm_id"] for one in reply.of_type("comm_close")] == [comm_id]
    # Of the static line nothing was sent while the page showed more, but for the summary.
    assert len(reply.displays) <= n_displays + 2
    assert reply.displays[-1]["text/plain"].startswith("cell-")


def test_where_nobody_answers_the_line_goes_on(kernel: Kernel) -> None:
    cell = kernel.send(SLEEP.replace("60", "1"), allow_stdin=True)
    reply = kernel.wait(cell)
    assert len(opened(reply)) == 1
    assert len({shown["text/plain"] for shown in reply.displays}) > 2


def test_where_nobody_can_look_no_widget_is_opened(kernel: Kernel) -> None:
    reply = kernel.run(f"{SLEEP.replace('60', '1')}\n%trace all")
    assert opened(reply) == []
    assert "pi-at-" not in str(reply.displays)


def test_a_trace_is_live_after_its_cell_and_ends_with_the_extension(kernel: Kernel) -> None:
    cell = kernel.send("%trace all", allow_stdin=True)
    kernel.wait_until(cell, lambda reply: bool(opened(reply)))
    (comm_id,) = opened(so_far(kernel, cell))
    kernel.wait(cell)
    say(kernel, comm_id, {"type": "hello", "page": "a", "try": 1})
    kernel.wait_until(cell, lambda reply: len(heard(reply)) > 1)
    ack, rows = heard(so_far(kernel, cell))[:2]
    assert ack == {"type": "ack"}
    assert {row[2] for row in rows["rows"]} == {"bash"}
    unloading = kernel.run("%unload_ext pi_kernel")
    assert unloading.status == "ok"
    said = heard(so_far(kernel, cell)) + heard(unloading)
    assert said[-1] == {"type": "unloaded"}
    assert kernel.run(LOAD).status == "ok"


def test_a_running_call_that_is_displayed_ends_as_its_card(kernel: Kernel) -> None:
    code = 'task = ctx.tools.bash(command="sleep 0.5; echo over")\ntask'
    cell = kernel.send(code, allow_stdin=True)
    kernel.wait_until(cell, lambda reply: len(reply.displays) > 1)
    first, last = so_far(kernel, cell).displays[:2]
    assert first["text/plain"] == "bash: running when this was shown"
    assert last["text/plain"].startswith("ok  bash  $ sleep 0.5; echo over")
    assert "pi-at-" not in last["text/html"]
