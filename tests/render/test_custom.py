from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.protocol.results import ToolResult
from pi_kernel.render._sanitize import sanitized
from pi_kernel.render.call import call_bundle
from tests.render.reading import outcome_of, text_in


class Html:
    """Shows itself as HTML."""

    def __init__(self, html: str) -> None:
        self._html = html

    def _repr_html_(self) -> str:
        return self._html

    def __str__(self) -> str:
        return "text form"


class Bundle:
    """Shows itself as a MIME bundle."""

    def __init__(self, bundle: Any) -> None:
        self._bundle = bundle

    def _repr_mimebundle_(self, **_: Any) -> Any:
        return self._bundle


def card(args: dict[str, Any] | None = None, **fields: Any) -> str:
    outcome = outcome_of("mine", args or {}, ToolResult("own text"), **fields)
    return call_bundle(outcome)["text/html"]


def own_view(result: ToolResult, options: Any, theme: str, context: Any) -> str:
    assert (options, theme) == ({"expanded": True, "is_partial": False}, "static")
    assert context.result is result
    return f"<b>{context.text}</b>"


def test_own_renderers_may_give_text() -> None:
    html = card(
        {"x": 4},
        render_call=lambda args, theme, context: f"x is {args['x']}\n{theme} {context.status}",
        render_result=own_view,
    )
    text = text_in(html)
    assert "x is 4⏎ static ok" in text
    assert "<b>own text</b>" in text


def test_own_renderers_get_as_many_arguments_as_they_take() -> None:
    html = card(render_call=lambda: "none", render_result=lambda *given: f"{len(given)} given")
    assert "none" in text_in(html)
    assert "4 given" in text_in(html)


def test_html_of_a_renderer_is_kept_without_what_is_active() -> None:
    html = card(
        render_result=lambda _: Html(
            "<h3 onclick='x()'>Title</h3><p style='color:red;position:fixed'>a<script>alert(1)"
            "</script><a href='javascript:x()'>link</a></p></details><table><tr><td>1</table>"
        )
    )
    assert (
        '<b style="display:block">Title</b><div style="padding:2px 0;color:red">alink</div>'
        "<table><tr><td>1</td></tr></table>"
    ) in html


@pytest.mark.parametrize(
    ("view", "text"),
    [
        (Bundle({"text/html": "<i>a</i>", "text/plain": "b"}), "a"),
        (Bundle({"text/plain": "<i>b</i>"}), "<i>b</i>"),
        (Bundle(({"text/plain": "c"}, {})), "c"),
        (Bundle({"text/html": "x" * 300_000, "text/plain": "short"}), "short"),
        (Bundle({"text/html": "x" * 60_000, "text/plain": "short"}), "short"),
    ],
)
def test_an_object_shows_its_html_or_else_its_text(view: Any, text: str) -> None:
    assert text_in(card(render_result=lambda _: view)).endswith(text)


def raises(*_: Any) -> str:
    raise RuntimeError("broken")


async def coroutine(*_: Any) -> str:
    return "late"


BAD_RENDERERS: dict[str, Any] = {
    "raises": raises,
    "is async": coroutine,
    "gives nothing": lambda *_: None,
    "gives no bundle": lambda *_: Bundle(None),
    "gives an empty bundle": lambda *_: Bundle({}),
    "gives a bundle of numbers": lambda *_: Bundle({"text/html": 3, "text/plain": 4}),
    "is no function": 3,
}


@pytest.mark.parametrize("render", BAD_RENDERERS.values(), ids=BAD_RENDERERS)
def test_a_renderer_that_gives_nothing_to_show_is_passed_over(render: Any) -> None:
    text = text_in(card({"x": 1}, render_call=render, render_result=render))
    assert "x=1" in text
    assert text.endswith("own text")


def test_a_failed_call_is_shown_as_a_failure_whatever_its_renderer_says() -> None:
    outcome = outcome_of("mine", {}, ValueError("broken"), render_result=lambda _: "all is well")
    text = text_in(call_bundle(outcome)["text/html"])
    assert "all is well" not in text
    assert "mine raised ValueError" in text


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("<div><b>a", "<div><b>a</b></div>"),
        ("</div></details>a</b>", "a"),
        ("<b><i>a</b>b</i>", "<b><i>a</i></b>b"),
        ("<strong>a</strong><em>b</em><code>c</code>", "<b>a</b><i>b</i>"),
        ("<!-- c --><!DOCTYPE x><?pi?>a", "a"),
        ("<style>b{}</style><svg><b>x</b></svg>a", "a"),
        ("<script>alert(1)", ""),
        ("<embed src=x>a<br/>b", "a<br>b"),
        ("<img src=x onerror=y>a", "a"),
        ("<img src='https://x/y.png'>a", "a"),
        (
            '<span style="background:url(x);top:0;width:3px">a</span>',
            '<span style="width:3px">a</span>',
        ),
        ('<span style="color:expression(x);margin-left:-9px">a</span>', "<span>a</span>"),
        (
            "<details open onclick=x><summary>a</summary></details>",
            "<details open><summary>a</summary></details>",
        ),
        ("<div/>a", "<div>a</div>"),
        ("&lt;b&gt; &#x202e;", None),
    ],
)
def test_foreign_html_is_reduced(given: str, kept: str | None) -> None:
    html = sanitized(given)
    assert html is not None
    if kept is None:
        assert html.startswith("&lt;b&gt; <span")
        assert html.endswith(">U+202E</span>")
    else:
        assert html.startswith(kept)


def test_a_picture_of_foreign_html_is_kept_when_it_brings_its_data() -> None:
    html = sanitized("<img src='data:image/png;base64,AAAA' alt='a\"\u202e'>")
    assert html == (
        '<img src="data:image/png;base64,AAAA" alt="a&quot;[U+202E]" style="max-width:100%">'
    )


PIECES = st.sampled_from(
    "<b> </b> <div style=' color:red '> </div> <script> </script> < <img src= "
    'data:image/png;base64,AA== > " <td> </table> <br> a &amp <details+open> <summary> <!-- --> '
    "\u202e <svg> </svg> <p> <code>".replace("+", "\t").split(" ")
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_any_foreign_html_becomes_balanced_and_passive(given: str) -> None:
    html = sanitized(given)
    assert html is not None
    lowered = html.lower()
    assert "<script" not in lowered
    assert sum(lowered.count(f"<{tag}") for tag in ("b>", "div", "td")) >= 0
    text = html.replace("color:red", "opacity:0.75")
    text_in(text)


@pytest.mark.parametrize("piece", ["<b>", "<", "<!--", "<a ", "&#", "</b>", "<script>"])
def test_long_foreign_html_takes_no_longer_than_its_length(piece: str) -> None:
    sanitized(piece * (190_000 // len(piece)))
    assert sanitized("x" * 200_001) is None
