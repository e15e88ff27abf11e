"""HTML as text."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel.tools.extra._html import html_to_text


def plain(page: str, *, max_chars: int = 9999, **options: Any) -> str:
    return html_to_text(page, base_url="https://a.example/d/p", max_chars=max_chars, **options)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("", ""),
        ("just text", "just text"),
        ("a  b\n\tc&nbsp;d", "a b c d"),
        ("<p>one<p>two", "one\n\ntwo"),
        ("<div>one</div><div>two</div>", "one\ntwo"),
        ("one<br>two<br/>three", "one\ntwo\nthree"),
        ("<b>a</b>b <i> c</i>", "ab c"),
        ("<title>T</title><body><h1>A  b</h1>x<h3>C</h3>", "T\n\n# A b\n\nx\n\n### C"),
        ("<h1></h1>text", "text"),
        ("<ul><li>a<li><p>b</p></ul>c", "- a\n- b\n\nc"),
        ("<ol><li>a<ul><li>b</ul><li>c</ol>", "- a\n  - b\n- c"),
        ("<li>alone", "- alone"),
        ("</ul></ul><ul><li>a", "- a"),
        ("x<pre>\n a\r\n  b\n</pre>y", "x\n\n a\n  b\n\ny"),
        ("<pre>a <b> b</b></pre>", "a  b"),
        ("<table><tr><th>a<th>b<tr><td>1</td><td>2</td></table>", "a | b\n1 | 2"),
        ("a<hr>b", "a\n\nb"),
        ("<img alt='a cat' src=x> sat", "a cat sat"),
        ("<img src=x>", ""),
    ],
)
def test_blocks_become_lines(page: str, text: str) -> None:
    assert plain(page) == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<a href=/x>t</a>", "[t](https://a.example/x)"),
        ("see <a href='y?a=1&amp;b=2'> t </a>.", "see [t](https://a.example/d/y?a=1&b=2) ."),
        ('<a class="c" HREF = "http://b.example/">t<b>u</b></a>', "[tu](http://b.example/)"),
        ("<a href=/x><img alt=pic></a>", "[pic](https://a.example/x)"),
        ("<a href=/x></a>t", "t"),
        ("<a href=/x>t<a href=/y>u", "[t](https://a.example/x)[u](https://a.example/y)"),
        ("<a href=#top>t</a>", "t"),
        ("<a href=''>t</a>", "t"),
        ("<a>t</a></a>", "t"),
        ("<a href='javascript:x()'>t</a>", "t"),
        ("<a href='http://[/'>t</a>", "t"),
        ("<a href='http://b/a b'>t</a>", "t"),
        (f"<a href='{'x' * 3000}'>t</a>", "t"),
        ("<a data-href=/x>t</a>", "t"),
    ],
)
def test_links_keep_their_address(page: str, text: str) -> None:
    assert plain(page) == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("a<script>if (a < b) '</p>'</script>b", "ab"),
        ("a<SCRIPT>x</Script >b", "ab"),
        ("a<style>x{}", "a"),
        ("a<script>x</scriptx>y</script", "a"),
        ("a<svg><title>t</title></svg>b", "ab"),
        ("a<svg>b<svg>c", "abc"),
        ("a</script>b", "ab"),
        ("a<!-- <p>no --> b", "a b"),
        ("a<!-->b", "ab"),
        ("a<!-- no", "a"),
        ("<!doctype html>a<?pi?>b<![CDATA[c]]>d", "abd"),
        ("a<!doctype", "a"),
        ("a</>b</ >c", "abc"),
        ("1 < 2 <3 <", "1 < 2 <3 <"),
        ("a<b", "a"),
        ("a</b", "a"),
        ("<p title='1>0'>a", "a"),
        ("<p don't>a", "a"),
        ('<p title="no end>a', "a"),
        ("&lt;b&gt; &amp;amp; &#65;&#x42; &nosuch; &#xD800;", "<b> &amp; AB &nosuch; \ufffd"),
        (f"&#{'9' * 5000};", f"&#{'9' * 5000};"),
    ],
)
def test_what_is_not_text_is_left_out_well_formed_or_not(page: str, text: str) -> None:
    assert plain(page) == text


def test_reading_stops_once_there_is_more_than_can_be_shown() -> None:
    n_checks: list[None] = []
    text = plain("<p>word" * 100_000, max_chars=60, check_stop=lambda: n_checks.append(None))
    assert len(text) == 64
    assert not n_checks
    text = plain("<p>word" * 1000, max_chars=9999, check_stop=lambda: n_checks.append(None))
    assert len(text) == 5998
    assert len(n_checks) == 3


def test_reading_can_be_stopped() -> None:
    def stop() -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        plain("<b>" * 1000, check_stop=stop)


HOSTILE = [
    *("<!--", "<a ", "</", "</a ", "<![CDATA[", "&", "&#", "&#9", "<a b=", "<a b='", "<!", "<?"),
    *("<", "<a b c ", "&amp", "<script>", "<script></script ", "</a <", '</a "="><', "<svg>"),
    *('<a "="></a ', "<a href='", "<a href ", "<a href=x>", "<a href=x>y", "<ul><li>", "<pre>\n"),
    *("<td>", "<p>x", " ", "<svg></svg ", "href ", "<a href=", "<img alt ", "<b", "<h1>", "=\"'"),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_time_grows_with_the_length_only(piece: str) -> None:
    # The standard library's parser needs from 20 seconds to minutes for some of these.
    start = time.process_time()
    plain(piece * (300_000 // len(piece)), max_chars=500_000)
    assert time.process_time() - start < 5


@given(
    st.lists(st.sampled_from([*HOSTILE, "a", ">", "</a>", "</pre>", "</ul>", "\n"]), max_size=30)
)
def test_no_mark_up_is_too_odd(pieces: list[str]) -> None:
    page = "".join(pieces)
    text = plain(page)
    assert len(text) <= 60 * (len(page) + 1)
    assert text == text.rstrip()
