from __future__ import annotations

from pathlib import Path

from pi_kernel import ToolCall, ToolContext, ToolSession, tool
from pi_kernel.protocol.content import ImageContent, TextContent
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.usage import Usage
from pi_kernel.runtime.outcome import ToolOutcome
from tests.render.reading import (
    call_in,
    forget_time,
    html_of,
    outcome_of,
    seen,
    shell_outcome,
    tags_in,
    text_in,
    tool_of,
)

MONO = "font-family:Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:12px"


def test_the_exact_card_of_a_small_call() -> None:
    outcome = outcome_of("greet", {"name": "Ada"}, ToolResult("Hello <b>Ada</b>"))
    assert forget_time(html_of(outcome)) == (
        '<details open style="border:1px solid rgba(128,128,128,0.40);border-radius:6px;'
        'margin:0 0 8px 0;line-height:20px;font-size:13px"><summary style="padding:6px 12px;'
        'background:rgba(128,128,128,0.12);cursor:pointer"><span style="background:'
        "rgba(46,160,67,0.22);border-radius:3px;padding:1px 6px;margin-right:8px;font-size:12px"
        f'">ok</span> <span style="{MONO};font-weight:bold">greet</span> '
        f'<span style="{MONO};margin-left:8px">'
        'name=&quot;Ada&quot;</span> <span style="opacity:0.75;font-size:12px;margin-left:8px;'
        'white-space:nowrap">TIME</span></summary><pre style="margin:0;padding:8px 12px;'
        f"background:transparent;border:0;{MONO};line-height:18px;white-space:pre-wrap;overflow-wrap:break-word;"
        'overflow:auto">Hello &lt;b&gt;Ada&lt;/b&gt;</pre></details>'
    )


def test_lines_of_a_file_have_numbers_and_marks(folder: Path) -> None:
    outcome = call_in(folder, "read", {"path": "src/app.py", "offset": 4, "limit": 1})
    assert seen(outcome) == (
        "ok read src/app.py:4-4 1 line, TIME   4  def f():Lines 4-4 of 6. Python, 8 B."
    )
    assert "<b>def</b> f():" in html_of(outcome)


def test_a_whole_file_has_its_size(folder: Path) -> None:
    text = seen(call_in(folder, "read", {"path": "src/app.py"}))
    assert text.endswith("   5      return 1  # one5 lines. Python, 41 B.")


def test_an_empty_file_says_so(folder: Path) -> None:
    (folder / "empty.txt").touch()
    assert seen(call_in(folder, "read", {"path": "empty.txt"})) == (
        "ok read empty.txt 0 lines, TIMEEmpty file.Text, 0 B."
    )


def test_a_cut_file_says_how_long_it_is(folder: Path) -> None:
    (folder / "long.txt").write_text("x\n" * 3_000)
    text = seen(call_in(folder, "read", {"path": "long.txt"}))
    assert "ok read long.txt 2,000 lines, TIME" in text
    assert "Lines 1-2000 of 3,001. Text, 3.9 KB." in text
    assert "Use offset" not in text


def test_a_written_file_shows_its_first_lines(folder: Path) -> None:
    content = "".join(f"line {number}\n" for number in range(1, 13))
    outcome = call_in(folder, "write", {"path": "a.txt", "content": content})
    text = seen(outcome)
    assert text.startswith("ok write a.txt 12 lines, TIME   1  line 1\n")
    assert "  10  line 102 more lines  11  line 11" in text
    assert text.endswith("Text, 87 B written.")


def test_an_edit_is_applied_and_counts_its_lines(folder: Path) -> None:
    edits = [{"oldText": "return 1", "newText": "return 2"}]
    outcome = call_in(folder, "edit", {"path": "src/app.py", "edits": edits})
    text = seen(outcome)
    assert text.startswith("applied edit src/app.py +1 -1 TIME")
    assert "   5      -     return 1  # one\n        5 +     return 2  # one\n" in text


def test_a_command_shows_its_last_lines_and_its_status(folder: Path) -> None:
    outcome = call_in(folder, "bash", {"command": "seq 1 30; exit 3"})
    text = seen(outcome)
    assert text.startswith("exit 3 bash $ seq 1 30; exit 3 TIME10 earlier lines1\n2\n")
    assert "\n29\n30Structured content, 4 keys" in text
    assert "Command exited with code" not in text


def test_a_killed_command_names_its_signal(folder: Path) -> None:
    text = seen(call_in(folder, "bash", {"command": "kill -9 $$"}))
    assert text.startswith("signal 9 bash $ kill -9 $$ TIME(no output)")


def test_a_cut_output_says_what_there_is_and_where(folder: Path) -> None:
    outcome = call_in(folder, "bash", {"command": "seq 1 3000"})
    text = seen(outcome)
    path = outcome.details["fullOutputPath"]
    Path(path).unlink()
    assert text.endswith(
        f"1,000 earlier lines are not kept here; 13.6 KB in all. Full output: {path}"
    )
    assert "[Showing" not in text


def test_a_long_command_is_told_in_full_below() -> None:
    outcome = shell_outcome("done", "set -e\nmake all\nmake test")
    text = seen(outcome)
    assert text.startswith("ok bash $ set -e⏎ make all⏎ make test TIMEdone")
    assert "Argumentscommand: 3 lines, 25 B\n  set -e\n  make all\n  make test" in text


def test_a_picture_is_shown_with_its_facts() -> None:
    blocks: list[TextContent | ImageContent] = [
        TextContent("Read image file [image/png]\n[Image: original 9x9, displayed at 3x3.]"),
        ImageContent(data="AAAA", mime_type="image/png"),
    ]
    result = ToolResult(blocks, details={"imageUnsupportedByModel": "m-1"})
    outcome = outcome_of("read", {"path": "a.png"}, result)
    assert seen(outcome) == (
        "ok read a.png PNG, TIMEPNG, 3 B. Image: original 9x9, displayed at 3x3."
        " m-1 does not support images; it saw a placeholder instead."
    )
    assert "img" in tags_in(html_of(outcome))


def test_json_is_laid_out_and_structured_content_and_details_fold() -> None:
    listed = outcome_of("list", {}, [{"id": 1}, {"id": 2}])
    assert seen(listed) == ('ok list 2 items, TIME[\n  {"id": 1},\n  {"id": 2}\n]JSON, 2 items.')
    both = outcome_of(
        "both", {}, ToolResult("text", structured_content={"a": 1}, details={"b": [2]})
    )
    assert seen(both) == (
        'ok both TIMEtextStructured content, 1 key{\n  "a": 1\n}Details, 1 key{\n  "b": [2]\n}'
    )
    assert tags_in(html_of(both)).count("details") == 3


def test_nothing_and_null_are_told_apart() -> None:
    assert seen(outcome_of("nothing", {}, ToolResult())) == "ok nothing TIME(no output)"
    assert seen(outcome_of("null", {}, ToolResult.of_scalar(None))) == "ok null TIMEnull"


def test_calls_below_are_rows_of_a_tree() -> None:
    @tool
    async def codemode(ctx: ToolContext, code: str) -> str:
        await ctx.execute_tool("one", {"x": 1})
        await ctx.execute_tool("missing", {})
        return code[:1]

    session = ToolSession(tools=[codemode, tool_of("one", ToolResult("1"))])
    outcome = session.run(session.execute_tool("codemode", {"code": "for x in y:\n    z(x)\n"}))
    text = text_in(html_of(outcome))
    assert text.startswith("ok codemode 2 lines 2 calls, 1 failed, ")
    assert "   1  for x in y:\n   2      z(x)fok one x=1 " in text
    assert text.endswith("Tool missing not found")
    assert "mserror missing" in text
    assert "<b>for</b> x <b>in</b> y:" in html_of(outcome)


def test_usage_and_waiting_are_facts_of_the_line() -> None:
    outcome = outcome_of("ask", {}, ToolResult("x", usage=Usage(input=4_812, output=206)))
    assert seen(outcome) == "ok ask 4,812 in, 206 out, TIMEx"


def test_a_person_sees_the_own_call_open_and_a_models_call_shut() -> None:
    async def execute(session: ToolSession, name: str) -> ToolOutcome:
        [outcome] = await session.execute_batch([ToolCall(id="c1", name=name, arguments={})])
        return outcome

    tools = [tool_of("good", ToolResult("x")), tool_of("bad", ValueError("y"))]
    session = ToolSession(tools=tools)
    own = session.run(session.execute_tool("good", {}))
    assert html_of(own).startswith("<details open")
    assert html_of(session.run(execute(session, "good"))).startswith("<details style")
    assert html_of(session.run(execute(session, "bad"))).startswith("<details open")


def test_pictures_of_any_tool_are_shown_with_the_text_around_them() -> None:
    picture = ImageContent(data="AAAA", mime_type="image/png")
    result = ToolResult([TextContent("before"), picture, TextContent("after"), picture])
    outcome = outcome_of("draw", {}, result)
    assert seen(outcome) == "ok draw PNG, 2 lines, TIMEbefore\nafterPNG, 3 B. PNG, 3 B."
    assert tags_in(html_of(outcome)).count("img") == 2
    alone = outcome_of("draw", {}, ToolResult([picture]))
    assert seen(alone) == "ok draw PNG, TIMEPNG, 3 B."


def test_waiting_for_other_calls_is_a_fact_of_the_line() -> None:
    outcome = outcome_of("job", {}, ToolResult("x"))
    outcome.call.queued_ms = 6_100.0
    assert seen(outcome) == "ok job 6.1 s queued, TIMEx"
