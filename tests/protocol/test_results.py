"""Tool results: forms of content, replacing fields, what is present and what is absent."""

from __future__ import annotations

from typing import Any

import pytest

from pi_kernel import ImageContent, PiKernelError, TextContent, ToolResult, Usage
from pi_kernel.protocol.results import ABSENT, error_result, text_of
from tests.support.engine import Notes

PICTURE = ImageContent(data="aGk=", mime_type="image/png")


@pytest.mark.parametrize(
    ("content", "blocks"),
    [
        (None, []),
        ([], []),
        ("", [TextContent("")]),
        ("text", [TextContent("text")]),
        (TextContent("text"), [TextContent("text")]),
        (PICTURE, [PICTURE]),
        (["a", TextContent("b"), PICTURE], [TextContent("a"), TextContent("b"), PICTURE]),
        ((text for text in "ab"), [TextContent("a"), TextContent("b")]),
        ([{"type": "text", "text": "a"}], [TextContent("a")]),
        ([{"type": "image", "data": "aGk=", "mimeType": "image/png"}], [PICTURE]),
        ([{"type": "image", "data": "aGk=", "mime_type": "image/png"}], [PICTURE]),
    ],
)
def test_content_is_read_in_many_forms(content: Any, blocks: list[Any]) -> None:
    assert ToolResult(content).content == blocks


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (5, "content must be a text or a list of text and image blocks, got int"),
        ({"type": "text", "text": "a"}, "content must be a text or a list"),
        ([5], "content block must be a text or image block, got int"),
        ([{"type": "audio"}], 'content block type must be "text" or "image", got \'audio\''),
        ([{"type": "text"}], "content block is not valid: "),
    ],
)
def test_other_content_is_refused(content: Any, problem: str) -> None:
    with pytest.raises(PiKernelError) as refused:
        ToolResult(content)
    assert str(refused.value).startswith(problem)


def test_usage_is_read_and_checked() -> None:
    assert ToolResult(usage={"input": 1, "cacheRead": 2}).usage == Usage(input=1, cache_read=2)
    with pytest.raises(PiKernelError, match="usage must be a Usage or a dict, got int"):
        ToolResult(usage=5)  # type: ignore[arg-type]
    with pytest.raises(PiKernelError, match="usage is not valid"):
        ToolResult(usage={"input": "many"})


def test_a_present_null_differs_from_an_absent_value() -> None:
    absent, null = ToolResult("x"), ToolResult("x", structured_content=None)
    assert (absent.has_structured_content, null.has_structured_content) == (False, True)
    assert absent.structured_content is null.structured_content is None
    assert "structuredContent" not in absent.to_wire()
    assert null.to_wire()["structuredContent"] is None
    assert absent != null
    assert (bool(ABSENT), repr(ABSENT)) == (False, "ABSENT")


def test_structured_content_can_be_made_on_first_use() -> None:
    made = Notes()
    result = ToolResult("x").with_structured_factory(lambda: made.add(1, [1]))
    assert (result.has_structured_content, made) == (True, [])
    assert result.structured_content == result.structured_content == [1]
    assert made == [1]


@pytest.mark.parametrize(
    ("value", "text", "structured"),
    [
        ("x", "x", ABSENT),
        (1, "1", 1),
        (1.5, "1.5", 1.5),
        (True, "true", True),
        (None, "null", None),
        ("a\ud800", "a\ufffd", ABSENT),
    ],
)
def test_a_scalar_makes_its_text_when_it_is_read(value: Any, text: str, structured: Any) -> None:
    result = ToolResult.of_scalar(value)
    wire: dict[str, Any] = {"content": [{"type": "text", "text": text}]}
    if structured is not ABSENT:
        wire["structuredContent"] = structured
    assert result.to_wire() == wire
    assert result.value == value
    changed = ToolResult.of_scalar(value).replace(structured_content={"s": 1})
    assert changed.to_wire() == wire | {"structuredContent": {"s": 1}}
    assert changed.value is ABSENT


def test_replacing_nothing_is_a_copy() -> None:
    result = ToolResult("c", details=1, structured_content=2, usage=Usage(input=1), value="live")
    copy = result.replace()
    assert copy == result
    assert copy is not result
    assert copy.value == "live"


def test_replacing_compares_nothing_with_what_is_given() -> None:
    class Table:
        def __eq__(self, _other: object) -> bool:
            raise ValueError("ambiguous")

        __hash__ = None  # type: ignore[assignment]

    table = Table()
    assert ToolResult("c").replace(structured_content=table).structured_content is table


def test_wires_have_no_keys_for_absent_fields() -> None:
    assert ToolResult().to_wire() == {"content": []}
    full = ToolResult("c", details={}, is_error=True, terminate=False, usage=Usage())
    assert full.to_wire() == {
        "content": [{"type": "text", "text": "c"}],
        "details": {},
        "usage": Usage().to_wire(),
        "isError": True,
        "terminate": False,
    }


def test_nulls_inside_details_and_structured_content_stay() -> None:
    result = ToolResult("c", details={"a": None}, structured_content={"b": [None]})
    wire = result.to_wire()
    assert (wire["details"], wire["structuredContent"]) == ({"a": None}, {"b": [None]})


def test_error_results_have_one_text_and_empty_details() -> None:
    assert error_result("no\ud800").to_wire() == {
        "content": [{"type": "text", "text": "no\ufffd"}],
        "details": {},
        "isError": True,
    }


def test_the_text_joins_text_blocks() -> None:
    assert text_of([TextContent("a"), PICTURE, TextContent("b")]) == "a\nb"
    assert text_of([]) == ""


def test_results_are_equal_by_their_wire_and_say_what_they_are() -> None:
    assert ToolResult("a") == ToolResult([TextContent("a")])
    assert ToolResult("a") != ToolResult("b")
    assert ToolResult("a") != "a"
    with pytest.raises(TypeError):
        hash(ToolResult("a"))
    assert repr(ToolResult("a", is_error=True)) == "ToolResult('a', is_error=True)"


@pytest.mark.parametrize("field", ["details", "structured_content"])
def test_checking_refuses_cycles_and_takes_shared_parts(field: str) -> None:
    shared = [1]
    good: dict[str, Any] = {field: {"a": shared, "b": (shared, {"c": shared})}}
    result = ToolResult("x", **good)
    assert result.check() is result
    shared.append(good[field])  # the cycle
    with pytest.raises(PiKernelError, match="contains itself"):
        result.check()
