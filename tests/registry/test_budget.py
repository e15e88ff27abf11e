"""The budget of a result's text: both ends stay, the whole is in a private file."""

from __future__ import annotations

import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel import ImageContent, TextContent, ToolCall, ToolResult, Usage
from pi_kernel.registry.budget import bound_result
from tests.support.engine import make_tool, session_with


@pytest.fixture(autouse=True)
def _here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))


def saved(result: ToolResult) -> Path:
    return Path(result.details["fullOutputPath"])


def test_a_text_within_the_limit_is_left_alone() -> None:
    result = ToolResult("x" * 10)
    assert bound_result(result, 10) is result


def test_a_longer_text_keeps_both_ends_and_names_the_file() -> None:
    result = bound_result(ToolResult("a" * 3_000 + "b" * 2_000), 1_001)
    path = saved(result)
    assert result.content == [
        TextContent(
            "a" * 500 + "b" * 501
            + f"\n[Output too long: 5000 characters, limit 1001. Full output: {path}]"
        )
    ]  # fmt: skip
    assert path.read_text() == "a" * 3_000 + "b" * 2_000
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_blocks_are_joined_and_images_follow() -> None:
    image = ImageContent(data="AAAA", mime_type="image/png")
    result = bound_result(ToolResult(["aaa", image, "bbb"]), 4)
    assert saved(result).read_text() == "aaa\nbbb"
    assert result.content[1] is image
    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text.startswith("aabb\n[Output too long: 7 characters, limit 4. ")


def test_everything_else_of_the_result_stays() -> None:
    given_result = ToolResult(
        "x" * 9,
        details={"own": 1},
        structured_content={"s": 1},
        usage=Usage(input=1),
        is_error=True,
        terminate=True,
        value=[1],
    )
    result = bound_result(given_result, 2)
    assert result.details == {"own": 1, "fullOutputPath": str(saved(result))}
    assert given_result.details == {"own": 1}
    assert result.structured_content == {"s": 1}
    assert (result.usage, result.is_error, result.terminate) == (Usage(input=1), True, True)
    assert result.value == [1]


@pytest.mark.parametrize(("limit", "shown"), [(0, ""), (1, "c"), (2, "ac")])
def test_tiny_limits_work(limit: int, shown: str) -> None:
    result = bound_result(ToolResult("abc"), limit)
    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text.split("\n")[0] == shown


def test_a_file_that_cannot_be_written_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", "/nowhere/at/all")
    result = bound_result(ToolResult("x" * 9), 2)
    assert isinstance(result.content[0], TextContent)
    assert result.content[0].text.startswith(
        "xx\n[Output too long: 9 characters, limit 2. Could not save the full output: "
    )
    assert result.details is None


@given(st.text(max_size=60), st.integers(0, 50))
def test_the_file_has_the_whole_text(text: str, limit: int) -> None:
    result = bound_result(ToolResult(text), limit)
    if len(text) > limit:
        assert saved(result).read_bytes() == text.encode()
        saved(result).unlink()
    else:
        assert result.details is None


def test_a_lone_surrogate_is_written_as_a_replacement_character() -> None:
    result = bound_result(ToolResult([TextContent("ab\ud800cd")]), 2)
    assert saved(result).read_text(encoding="utf-8") == "ab\ufffdcd"


def test_details_that_are_no_dict_stay_and_the_text_alone_names_the_file() -> None:
    result = bound_result(ToolResult("abcd", details=[1]), 2)
    assert result.details == [1]
    path = Path(result.content[0].text.rpartition("Full output: ")[2].rstrip("]"))  # type: ignore[union-attr]  # a text
    assert path.read_text(encoding="utf-8") == "abcd"
    path.unlink()


async def test_only_a_models_own_calls_are_cut() -> None:
    long = make_tool("long", lambda _p, _c: "x" * 5_000, max_result_chars=1_000)

    async def outer(_params: dict[str, Any], ctx: Any) -> str:
        return str(len((await ctx.execute_tool("long")).text))

    session = session_with(long, make_tool("outer", outer))
    assert len((await session.execute_tool("long")).text) == 5_000
    calls = [ToolCall(id="A", name="long"), ToolCall(id="B", name="outer")]
    cut, whole = await session.execute_batch(calls)
    assert cut.text.startswith("x" * 1_000 + "\n[Output too long: 5000 characters, limit 1000.")
    assert saved(cut.result).stat().st_size == 5_000
    assert whole.text == "5000"


async def test_the_cut_is_made_after_all_hooks() -> None:
    session = session_with(make_tool("a", lambda _p, _c: "short", max_result_chars=10))
    session.on("tool_result", lambda _event: {"content": ["y" * 50]})
    (outcome,) = await session.execute_batch([ToolCall(id="A", name="a")])
    assert outcome.text.startswith("y" * 10 + "\n[Output too long: 50 characters, limit 10.")
