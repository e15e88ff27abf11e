from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel import ToolSession, tool
from pi_kernel.protocol.content import TextContent
from pi_kernel.protocol.results import ToolResult
from pi_kernel.render.call import MAX_HTML_BYTES, call_bundle, call_text
from tests.render.reading import (
    html_of,
    outcome_of,
    seen,
    text_in,
)

HOSTILE = (
    "<script>alert(1)</script></pre></details><img src=x onerror=alert(1)>&lt;&amp;\"'"
    "$x$ $$y$$ \\(z\\) \\[w\\] \\begin{a}b\\end{a}"
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
    "formulas": "$\\" * 2_000_000,
    "surrogates": "\ud800" * 1_000_000,
}


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
@pytest.mark.parametrize("name", ["read", "bash", "grep", "find", "other"])
def test_a_card_of_megabytes_is_small_and_quick(name: str, text: str) -> None:
    args = {"path": "a.py", "command": text, "pattern": text}
    outcome = outcome_of(name, args, ToolResult([TextContent(text)]))
    bundle = call_bundle(outcome)
    long_text = call_text(outcome)
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
    text = text_in(html_of(outcome))
    assert text.startswith("ok orders 2,000,000 rows, ")


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


def test_a_card_of_nothing_but_marks_keeps_what_matters_most() -> None:
    marks = "\u202e\u202d" * 300
    name = marks
    args = {marks: marks, f"{marks}2": [marks]}
    result = ToolResult(marks, details={marks: marks}, structured_content={marks: marks})
    html = html_of(outcome_of(name, args, result))
    assert len(html.encode()) <= MAX_HTML_BYTES
    assert text_in(html).startswith("ok U+202EU+202D")
