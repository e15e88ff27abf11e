from __future__ import annotations

import re
from typing import Any

import pytest

from pi_kernel import ToolAborted, ToolSession
from pi_kernel.protocol.results import ToolResult
from pi_kernel.render.aborted import MAX_HTML_BYTES, aborted_bundle
from pi_kernel.runtime.call import Call
from tests.render.reading import tags_in, text_in, tool_of


def call_of(name: str, result: Any, **args: Any) -> Call:
    session = ToolSession(tools=[tool_of(name, result)])
    return session.run(session.execute_tool(name, args)).call


def stopped(text: str, name: str = "bash") -> Call:
    return call_of(name, ToolAborted(text), command="make")


def timeless(text: str) -> str:
    return re.sub(r"< 1 ms|\d+ ms", "TIME", text)


def test_a_stopped_command_shows_what_it_wrote_up_to_the_stop() -> None:
    bundle = aborted_bundle([stopped("one\n\x1b[31mtwo\x1b[0m\n\n\nCommand aborted")])
    assert timeless(text_in(bundle["text/html"])) == (
        "aborted bash $ make TIMEone\ntwoThe output up to the stop."
    )
    assert timeless(bundle["text/plain"]) == "aborted  bash  $ make  TIME\n    one\n    two"


def test_other_tools_show_their_last_update_or_their_own_words() -> None:
    calls = [stopped("half\n\nOperation aborted", "job"), stopped("stopped in row 7", "sum")]
    text = text_in(aborted_bundle(calls)["text/html"])
    assert re.findall("half|stopped in row 7", text) == ["half", "stopped in row 7"]


def test_nothing_is_shown_where_nothing_was_given() -> None:
    calls = [
        stopped("Command aborted"),
        stopped("Operation aborted", "job"),
        call_of("job", ToolResult("done")),
        call_of("job", ValueError("broken")),
    ]
    assert aborted_bundle(calls) == {}
    assert aborted_bundle([]) == {}


def test_long_output_shows_its_end() -> None:
    text = "\n".join(f"line {number}" for number in range(5_000))
    bundle = aborted_bundle([stopped(f"{text}\n\nCommand aborted")])
    lines = bundle["text/plain"].split("\n")
    assert (lines[1], lines[-1], len(lines)) == ("    (4,990 earlier lines)", "    line 4999", 12)
    assert len(bundle["text/html"].encode()) <= MAX_HTML_BYTES
    assert "earlier lines are not kept here" in text_in(bundle["text/html"])


@pytest.mark.parametrize("mark", ["x", "\u202e\u202d", "<&", "$\\\\", "\x1b[31ma\x1b[32mb"])
def test_many_stopped_calls_of_much_text_are_bounded(mark: str) -> None:
    calls = [call_of("bash", ToolAborted(mark * 100_000), command=mark * 1_000) for _ in range(7)]
    bundle = aborted_bundle(calls)
    assert len(bundle["text/html"].encode()) <= MAX_HTML_BYTES
    assert len(bundle["text/plain"]) <= 25_000
    assert tags_in(bundle["text/html"]).count("summary") >= 5
    assert "2 more stopped calls had output; %trace lists all." in text_in(bundle["text/html"])
    assert bundle["text/plain"].endswith("\n(2 more stopped calls had output; %trace lists all.)")
