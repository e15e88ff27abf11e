from __future__ import annotations

from pathlib import Path

from pi_kernel import ToolContext, ToolSession, tool
from pi_kernel.protocol.content import ImageContent
from pi_kernel.protocol.results import ToolResult
from pi_kernel.render.call import call_bundle, call_text
from tests.render.reading import (
    call_in,
    outcome_of,
    tool_of,
)


def test_one_line_tells_status_tool_arguments_time_and_the_first_line() -> None:
    outcome = outcome_of("greet", {"name": "Ada"}, ToolResult("\n\nHello\nAda"))
    outcome.call.duration_ms = 0.3
    assert call_bundle(outcome)["text/plain"] == 'ok  greet  name="Ada"  < 1 ms: Hello …'
    refused = outcome_of("greet", {}, ToolResult("x"), parameters={"required": ["a"]})
    assert call_bundle(refused)["text/plain"].startswith("invalid  greet  did not run: ")


def test_of_a_failed_command_one_line_tells_the_last_line(folder: Path) -> None:
    outcome = call_in(folder, "bash", {"command": "echo first; echo last; exit 1"})
    line = call_bundle(outcome)["text/plain"]
    assert line.startswith("exit 1  bash  $ echo first; echo last; exit 1  ")
    assert line.endswith(": last …")


def test_the_long_text_has_twenty_lines_and_the_tree() -> None:
    @tool
    async def outer(ctx: ToolContext) -> str:
        await ctx.execute_tool("inner", {"x": 1})
        return "\n".join(map(str, range(25)))

    session = ToolSession(tools=[outer, tool_of("inner", ToolResult("1"))])
    lines = call_text(session.run(session.execute_tool("outer", {}))).split("\n")
    assert lines[0].startswith("ok  outer  ")
    assert lines[1:23] == [*map(str, range(20)), "(5 more lines)", "1 call"]
    assert lines[23].startswith("ok ")
    assert lines[23].endswith(" ms  └─ inner x=1")


def test_the_long_text_of_a_failure_has_our_sentence_first(folder: Path) -> None:
    text = call_text(call_in(folder, "read", {"path": "no.txt"}))
    assert text.split("\n")[1:] == [
        "No file at no.txt",
        "Paths start at the working directory.",
        f"ENOENT: no such file or directory, access '{folder}/no.txt'",
    ]


def test_a_picture_in_the_long_text_is_told_in_words() -> None:
    result = ToolResult([ImageContent(data="AAAA", mime_type="image/png")])
    assert call_text(outcome_of("draw", {}, result)).split("\n")[1:] == ["[PNG, 3 B]"]
