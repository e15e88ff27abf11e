from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel import Block, ToolAborted, ToolCall, ToolContext, ToolSession, ToolTimeout, tool
from pi_kernel.protocol.content import ImageContent, TextContent
from pi_kernel.protocol.results import ToolResult
from pi_kernel.protocol.usage import Usage
from pi_kernel.render.call import MAX_HTML_BYTES, call_bundle, call_text
from pi_kernel.runtime.outcome import ToolOutcome
from tests.render.reading import (
    forget_time,
    outcome_of,
    shell_outcome,
    tags_in,
    text_in,
    tool_of,
)

MONO = "font-family:Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:12px"


def html_of(outcome: ToolOutcome) -> str:
    return call_bundle(outcome)["text/html"]


def seen(outcome: ToolOutcome) -> str:
    return text_in(forget_time(html_of(outcome)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    (tmp_path / "src/app.py").write_text("import os\n\n\ndef f():\n    return 1  # one\n")
    return tmp_path


def call_in(folder: Path, name: str, args: dict[str, Any]) -> ToolOutcome:
    session = ToolSession(cwd=folder)
    return session.run(session.execute_tool(name, args))


def test_the_exact_card_of_a_small_call() -> None:
    outcome = outcome_of("greet", {"name": "Ada"}, ToolResult("Hello <b>Ada</b>"))
    assert forget_time(html_of(outcome)) == (
        '<details open style="border:1px solid rgba(128,128,128,0.40);border-radius:6px;'
        'margin:0 0 8px 0;line-height:20px;font-size:13px"><summary style="padding:6px 10px;'
        'background:rgba(128,128,128,0.12);cursor:pointer"><span style="background:'
        "rgba(46,160,67,0.22);border-radius:3px;padding:1px 6px;margin-right:8px;font-size:12px"
        f'">ok</span> <span style="{MONO};font-weight:bold">greet</span> <span style="{MONO}">'
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


def test_a_missing_file_is_told_in_our_words_above_the_models(folder: Path) -> None:
    outcome = call_in(folder, "read", {"path": "src/pipline.py"})
    assert seen(outcome) == (
        "error read src/pipline.py TIMENo file at src/pipline.py\n"
        "Paths start at the working directory.Text the model got"
        f"ENOENT: no such file or directory, access '{folder}/src/pipline.py'"
    )


def test_a_misspelt_tool_has_the_closest_names(folder: Path) -> None:
    assert seen(call_in(folder, "reed", {"path": "x"})) == (
        'not found reed path="x" did not runNo tool named reed\n'
        "Closest names: read.Text the model gotTool reed not found"
    )


def test_a_tool_that_cannot_be_called_says_why() -> None:
    session = ToolSession(tools=[tool_of("secret", ToolResult(), exposure="hidden")])
    text = seen(session.run(session.execute_tool("secret", {})))
    assert "secret cannot be called from here\nIts exposure is hidden; %tools secret says" in text


def test_wrong_arguments_say_where_the_right_ones_are(folder: Path) -> None:
    text = seen(call_in(folder, "read", {"pth": "x"}))
    assert text.startswith(
        'invalid read pth="x" did not runThe arguments do not fit read, so it did not run\n'
        "ctx.tools.read? shows the parameters."
    )


def test_an_exception_says_where_it_was_raised() -> None:
    @tool
    def fails() -> str:
        raise ValueError("near SELEC\nsyntax error")

    session = ToolSession(tools=[fails])
    outcome = session.run(session.execute_tool("fails", {}))
    text = seen(outcome)
    assert text.startswith("error fails TIMEfails raised ValueError\nIn fails, test_call.py, line ")
    assert text.endswith("Text the model gotnear SELEC\nsyntax error")


def test_a_refused_call_says_that_nothing_ran() -> None:
    session = ToolSession(tools=[tool_of("push", ToolResult("x"))])
    session.on("tool_call", lambda _: Block(reason="Push to a branch."))
    outcome = session.run(session.execute_tool("push", {}))
    assert seen(outcome) == (
        "blocked push did not runThe call was refused, nothing ranText the model got"
        "Push to a branch."
    )


def test_a_timeout_and_an_abort_keep_the_text_so_far() -> None:
    late = outcome_of("job", {"timeout": 5}, ToolTimeout("so far\n\nTimed out"))
    text = seen(late)
    assert text.startswith("timeout job timeout=5 TIMEThe time ran out after")
    assert text.endswith("A longer timeout may help.Text the model gotso far\n\nTimed out")
    stopped = seen(outcome_of("job", {}, ToolAborted("so far")))
    assert stopped.startswith("aborted job TIMEStopped after")
    assert stopped.endswith("so far")


def test_a_failure_that_the_tool_tells_itself_keeps_its_text() -> None:
    outcome = outcome_of("job", {}, ToolResult("half done", is_error=True, details={"n": 1}))
    assert seen(outcome) == (
        'error job TIMEText the model gothalf doneDetails, 1 key{\n  "n": 1\n}'
    )


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
    assert "   1  for x in y:\n   2      z(x)fok one x=1 < 1 mserror missing" in text
    assert text.endswith("Tool missing not found")
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


HOSTILE = (
    "<script>alert(1)</script></pre></details><img src=x onerror=alert(1)>&lt;&amp;\"'"
    "\u202eevil\u202c\u200b\x00\x1b[31m\x1b]8;;javascript:x\x07\ud800]]>-->"
)


@pytest.mark.parametrize(
    "name",
    ["read", "bash", "edit", "write", "grep", "find", "ls", "codemode", "other", HOSTILE],
)
def test_hostile_text_stays_text_in_every_place(name: str) -> None:
    args = dict.fromkeys(("path", "command", "pattern", "glob", "code", "content"), HOSTILE)
    results: list[Any] = [
        ToolResult(HOSTILE, details={HOSTILE: HOSTILE, "patch": f"@@ -1 +1 @@\n-{HOSTILE}\n+x"}),
        ToolResult(f"a:1: {HOSTILE}", structured_content={HOSTILE: [HOSTILE]}),
        ValueError(HOSTILE),
        {"key": HOSTILE, HOSTILE: {"deep": HOSTILE}},
    ]
    for result in results:
        outcome = outcome_of(name, {**args, HOSTILE: HOSTILE}, result)
        bundle = call_bundle(outcome)
        text = text_in(bundle["text/html"])
        assert "\u202e" not in text
        assert len(bundle["text/html"].encode()) <= MAX_HTML_BYTES
        for plain in (bundle["text/plain"], call_text(outcome)):
            assert not {"\x1b", "\x00", "\u202e", "\ud800"} & set(plain)
        assert "\n" not in bundle["text/plain"]


@given(
    st.sampled_from(["read", "bash", "edit", "write", "grep", "find", "ls", "codemode", "other"]),
    st.dictionaries(
        st.sampled_from(["path", "command", "pattern", "code", "content", "offset", "limit"]),
        st.text(st.characters(exclude_categories=()), max_size=20)
        | st.integers(-5, 10**20)
        | st.none()
        | st.floats(allow_nan=False, allow_infinity=False)
        | st.lists(st.integers()),
    ),
    st.text(st.characters(exclude_categories=()), max_size=200),
    st.booleans(),
    st.none()
    | st.dictionaries(
        st.sampled_from(["truncation", "patch", "diff", "fullOutputPath", "exit_code"]),
        st.text(max_size=10) | st.integers() | st.just({"totalLines": 3, "totalBytes": -1}),
    ),
)
def test_any_call_has_a_card_and_texts(
    name: str,
    args: dict[str, Any],
    text: str,
    is_error: bool,  # noqa: FBT001 - given by hypothesis
    details: dict[str, Any] | None,
) -> None:
    result = ToolResult(text, details=details, structured_content=details, is_error=is_error)
    outcome = outcome_of(name, args, result)
    bundle = call_bundle(outcome)
    text_in(bundle["text/html"])
    assert "cannot be shown" not in bundle["text/html"]
    assert "\n" not in bundle["text/plain"]
    call_text(outcome)


BOMBS = {
    "one long line": "x" * 10_000_000,
    "many lines": "a line of text\n" * 1_000_000,
    "colours": "\x1b[31ma\x1b[32mb" * 500_000,
    "unfinished sequences": "\x1b[" * 2_000_000,
    "redraws": "50%\r" * 1_000_000,
    "hidden characters": "\u202e\u202d" * 1_000_000,
    "entities": "<&>\"'" * 1_000_000,
    "empty lines": "\n" * 5_000_000,
    "json": "[" * 5_000_000,
    "rows": "a:1: x\n" * 1_000_000,
    "surrogates": "\ud800" * 1_000_000,
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
@pytest.mark.parametrize("name", ["read", "bash", "grep", "find", "other"])
def test_a_card_of_megabytes_is_small_and_quick(name: str, text: str) -> None:
    args = {"path": "a.py", "command": text, "pattern": text}
    outcome = outcome_of(name, args, ToolResult([TextContent(text)]))
    started = time.perf_counter()
    bundle = call_bundle(outcome)
    long_text = call_text(outcome)
    assert time.perf_counter() - started < 4
    text_in(bundle["text/html"])
    assert len(bundle["text/html"].encode()) <= MAX_HTML_BYTES
    assert len(bundle["text/plain"]) < 2_500
    assert len(long_text) < 20_000
    assert "MB" in text_in(bundle["text/html"])


def test_a_failure_of_megabytes_is_small_too() -> None:
    outcome = outcome_of(
        "job", {"x": ["y" * 1_000_000] * 5}, ValueError("\u202e\u202d" * 1_000_000)
    )
    html = html_of(outcome)
    assert len(html.encode()) <= MAX_HTML_BYTES
    text_in(html)


def test_one_line_tells_status_tool_arguments_time_and_the_first_line() -> None:
    outcome = outcome_of("greet", {"name": "Ada"}, ToolResult("\n\nHello\nAda"))
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
    assert lines[23].split() == ["ok", "<", "1", "ms", "└─", "inner", "x=1"]


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


def test_a_value_whose_parts_fail_still_has_a_card() -> None:
    class Broken(dict[str, Any]):
        def items(self) -> Any:
            raise RuntimeError

        def __len__(self) -> int:
            raise RuntimeError

    outcome = outcome_of("odd", {}, ToolResult("{text}", value=Broken(a=1)))
    assert seen(outcome).startswith("ok odd TIME{text}")


@pytest.mark.needs("pandas")
def test_a_frame_is_a_table_and_its_rows_are_not_made_into_json() -> None:
    import pandas as pd  # noqa: PLC0415 - may be missing

    @tool
    def orders() -> pd.DataFrame:
        return pd.DataFrame({"a": range(2_000_000)})

    session = ToolSession(tools=[orders])
    outcome = session.run(session.execute_tool("orders", {}))
    started = time.perf_counter()
    text = text_in(html_of(outcome))
    assert time.perf_counter() - started < 1
    assert text.startswith("ok orders 2,000,000 rows, ")


def test_pictures_of_any_tool_are_shown_with_the_text_around_them() -> None:
    picture = ImageContent(data="AAAA", mime_type="image/png")
    result = ToolResult([TextContent("before"), picture, TextContent("after"), picture])
    outcome = outcome_of("draw", {}, result)
    assert seen(outcome) == "ok draw PNG, 2 lines, TIMEbefore\nafterPNG, 3 B. PNG, 3 B."
    assert tags_in(html_of(outcome)).count("img") == 2
    alone = outcome_of("draw", {}, ToolResult([picture]))
    assert seen(alone) == "ok draw PNG, TIMEPNG, 3 B."


def test_structured_content_that_does_not_fit_is_cut_at_a_line() -> None:
    value = {f"key {number}": "x" * 190 for number in range(49)}
    text = "\n".join("y" * 100 for _ in range(2_000))
    outcome = outcome_of("big", {}, ToolResult(text, structured_content=value))
    html = html_of(outcome)
    assert len(html.encode()) <= MAX_HTML_BYTES
    shown = text_in(html)
    assert "Structured content, 49 keys{" in shown
    assert shown.partition("Structured content")[2].count("… ") == 1
    assert "more lines" in shown.partition("Structured content")[2]


def test_waiting_for_other_calls_is_a_fact_of_the_line() -> None:
    outcome = outcome_of("job", {}, ToolResult("x"))
    outcome.call.queued_ms = 6_100.0
    assert seen(outcome) == "ok job 6.1 s queued, TIMEx"


def test_a_card_of_nothing_but_marks_keeps_what_matters_most() -> None:
    marks = "\u202e\u202d" * 300
    name = marks
    args = {marks: marks, f"{marks}2": [marks]}
    result = ToolResult(marks, details={marks: marks}, structured_content={marks: marks})
    html = html_of(outcome_of(name, args, result))
    assert len(html.encode()) <= MAX_HTML_BYTES
    assert text_in(html).startswith("ok U+202EU+202D")


def test_a_call_that_never_ended_says_so() -> None:
    outcome = outcome_of("job", {}, ToolResult(""))
    outcome.call.status = "unfinished"
    outcome.call.duration_ms = None
    assert seen(outcome) == "unfinished job no end recordedNo end was recorded"
