from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pi_kernel import Block, ToolAborted, ToolSession, ToolTimeout, tool
from pi_kernel.protocol.results import ToolResult
from pi_kernel.render.places import use_cell_numbers
from tests.render.reading import (
    call_in,
    outcome_of,
    seen,
    tool_of,
)


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
    assert text.startswith(
        "error fails TIMEfails raised ValueError\nIn fails, test_call_failures.py, line "
    )
    assert text.endswith("Text the model gotnear SELEC\nsyntax error")


FAILS = "def fails():\n    raise ValueError\n"


def fails_in(file_name: str) -> str:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(FAILS, file_name, "exec"), namespace)  # noqa: S102 - as a kernel does
    session = ToolSession(tools=[tool(namespace["fails"])])
    return seen(session.run(session.execute_tool("fails", {})))


@pytest.mark.parametrize("file_name", ["/var/ipykernel_12/1294157598.py", "<ipython-input-7-3c5f>"])
def test_an_exception_in_a_cell_names_the_cell(file_name: str) -> None:
    assert "\nIn fails, the cell, line 2." in fails_in(file_name)
    use_cell_numbers({file_name: 7}.get)
    try:
        assert "\nIn fails, cell [7], line 2." in fails_in(file_name)
        assert "\nIn fails, app.py, line 2." in fails_in("/src/app.py")
    finally:
        use_cell_numbers(None)
    assert "\nIn fails, the cell, line 2." in fails_in(file_name)


@pytest.mark.parametrize("raised", [True, False])
def test_coerced_arguments_are_shown_as_the_tool_got_them(
    folder: Path,
    raised: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    if not raised:
        (folder / "3").write_text("three")
    text = seen(call_in(folder, "read", {"path": 3, "limit": "1"}))
    assert text.startswith(
        "error read 3:1-1 TIMENo file at 3\n" if raised else "ok read 3:1-1 1 line, TIME"
    )


def test_a_missing_file_is_named_as_it_was_given(folder: Path) -> None:
    for path in ("gone.csv", "src/gone.csv", "./gone.csv", f"{folder}/gone.csv"):
        assert f"No file at {path}\n" in seen(call_in(folder, "read", {"path": path}))


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


def test_a_call_that_never_ended_says_so() -> None:
    outcome = outcome_of("job", {}, ToolResult(""))
    outcome.call.status = "unfinished"
    outcome.call.duration_ms = None
    assert seen(outcome) == "unfinished job no end recordedNo end was recorded"
