"""web_search: the application's search service behind one tool."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import anyio
import pytest

from pi_kernel import PiKernelError, ToolAborted, ToolDefinition, ToolSession, ToolTimeout
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools import create_tool_definition
from pi_kernel.tools.extra import SearchResult
from tests.tools.extra.running import failure, run, text


class Provider:
    """A search service that answers with what a function returns or raises."""

    def __init__(self, answer: Callable[[], Any]) -> None:
        self.asked: list[tuple[str, int, AbortSignal | None]] = []
        self._answer = answer

    async def search(self, query: str, max_results: int, signal: AbortSignal | None) -> Any:
        self.asked.append((query, max_results, signal))
        return self._answer()


def search_tool(answer: Callable[[], Any]) -> ToolDefinition:
    return create_tool_definition("web_search", provider=Provider(answer))


HITS = [
    SearchResult(title="One", url="https://a.example/1", snippet="First\n hit"),
    {"url": "https://a.example/2"},
]


async def test_hits_come_back_as_text_and_as_a_list() -> None:
    provider = Provider(lambda: HITS)
    tool = create_tool_definition("web_search", provider=provider)
    signal = AbortSignal()
    result = await run(tool, {"query": "one two"}, signal=signal)
    assert provider.asked == [("one two", 8, signal)]
    assert result.to_wire() == {
        "content": [
            {
                "type": "text",
                "text": (
                    "1. One\n"
                    "   https://a.example/1\n"
                    "   First hit\n"
                    "2. https://a.example/2\n"
                    "   https://a.example/2"
                ),
            }
        ],
        "structuredContent": [
            {"title": "One", "url": "https://a.example/1", "snippet": "First hit"},
            {"title": "https://a.example/2", "url": "https://a.example/2", "snippet": ""},
        ],
    }


async def test_no_hits_are_no_error() -> None:
    result = await run(search_tool(list), {"query": "x"})
    assert (result.structured_content, result.is_error) == ([], False)
    assert await text(search_tool(list), {"query": "x"}) == "No results"


@pytest.mark.parametrize(("asked", "n_hits"), [(None, 8), (1, 1), (20, 20)])
async def test_no_more_hits_are_taken_than_asked_for(asked: int | None, n_hits: int) -> None:
    def endless() -> Iterable[SearchResult]:
        return (SearchResult(title="t", url=f"https://a/{n}") for n in itertools.count())

    params: dict[str, Any] = {"query": "x"} | ({} if asked is None else {"max_results": asked})
    result = await run(search_tool(endless), params)
    assert len(result.structured_content) == n_hits


async def test_long_hits_are_cut() -> None:
    long = {"title": "t" * 9999, "url": "https://a/" + "u" * 9999, "snippet": "s" * 9999}
    (hit,) = (await run(search_tool(lambda: [long]), {"query": "x"})).structured_content
    assert {name: len(value) for name, value in hit.items()} == {
        "title": 303,
        "url": 2003,
        "snippet": 1003,
    }


async def test_text_that_cannot_be_sent_is_made_well_formed() -> None:
    hit = {"title": "\ud800", "url": "https://a/", "snippet": 5}
    result = await run(search_tool(lambda: [hit]), {"query": "x"})
    assert result.structured_content == [{"title": "\ufffd", "url": "https://a/", "snippet": "5"}]


async def test_without_a_provider_one_clear_error_says_what_is_missing() -> None:
    assert await failure(create_tool_definition("web_search"), {"query": "x"}) == (
        "no search provider configured: create web_search with provider=..., an object with"
        " async search(query, max_results, signal)"
    )


def _raise(error: Exception) -> Any:
    raise error


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda: _raise(RuntimeError("quota used up\n(429)")), "quota used up (429)"),
        (lambda: _raise(KeyError()), "KeyError"),
        (lambda: _raise(RuntimeError("x" * 9999)), "x" * 500 + "..."),
        (lambda: None, "the provider returned NoneType, not a list of results"),
        (lambda: "text", "the provider returned str, not a list of results"),
        (lambda: HITS[1], "the provider returned dict, not a list of results"),
        (lambda: [{"title": "t"}], "the provider returned a result without a url"),
        (lambda: [None], "the provider returned a result without a url"),
        (lambda: [{"url": 5}], "the provider returned a result without a url"),
        (lambda: (_raise(OSError("gone")) for _ in "x"), "gone"),
    ],
    ids=map(str, range(10)),
)
async def test_a_failure_is_told_with_the_providers_words(
    answer: Callable[[], Any], message: str
) -> None:
    assert await failure(search_tool(answer), {"query": "x"}) == f"The search failed: {message}"


@pytest.mark.parametrize("error", [ToolTimeout("too slow"), ToolAborted("stopped")])
async def test_a_provider_may_say_how_it_ended(error: Exception) -> None:
    with pytest.raises(type(error), match=str(error)):
        await run(search_tool(lambda: _raise(error)), {"query": "x"})


async def test_a_provider_that_is_not_async_does_not_hold_up_the_loop() -> None:
    release = anyio.Event()
    loop = asyncio.get_running_loop()

    class Blocking:
        def search(self, query: str, max_results: int, signal: AbortSignal | None) -> Any:
            del max_results, signal
            # Only a loop that still runs can answer this.
            asyncio.run_coroutine_threadsafe(release.wait(), loop).result(10)
            return [SearchResult(title=query, url="https://a/")]

    loop.call_soon(release.set)
    tool = create_tool_definition("web_search", provider=Blocking())
    assert await text(tool, {"query": "q"}) == "1. q\n   https://a/"


async def test_an_abort_ends_the_call_and_cancels_the_search() -> None:
    started, cancelled = anyio.Event(), anyio.Event()

    class Endless:
        async def search(self, *_: object) -> Any:
            started.set()
            try:
                await anyio.sleep_forever()
            finally:
                cancelled.set()

    signal = AbortSignal()
    tool = create_tool_definition("web_search", provider=Endless())
    task = asyncio.ensure_future(run(tool, {"query": "x"}, signal=signal))
    with anyio.fail_after(10):
        await started.wait()
        signal.abort()
        with pytest.raises(ToolAborted):
            await task
        await cancelled.wait()


async def test_a_call_that_is_aborted_before_it_starts_asks_nobody() -> None:
    provider = Provider(lambda: HITS)
    signal = AbortSignal()
    signal.abort()
    tool = create_tool_definition("web_search", provider=provider)
    assert await failure(tool, {"query": "x"}, signal=signal) == "Operation aborted"
    assert provider.asked == []


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        ({}, "query: missing"),
        ({"query": "x", "max_results": 0}, "max_results: "),
        ({"query": "x", "max_results": 21}, "max_results: "),
    ],
)
async def test_the_session_checks_the_arguments(arguments: dict[str, Any], problem: str) -> None:
    session = ToolSession(tools=[search_tool(list)])
    outcome = await session.execute_tool("web_search", arguments)
    assert outcome.status == "invalid"
    assert outcome.text.split("\n")[1].startswith(f"  - {problem}")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"provider": object()}, 'the provider of tool "web_search" must have search'),
        ({"operations": {}}, 'tool "web_search" has no operations; give it a provider'),
        ({"key": "x"}, "Unknown option 'key' for tool \"web_search\"; its options: provider"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(PiKernelError) as caught:
        create_tool_definition("web_search", **options)
    assert str(caught.value) == message


def test_the_tool_is_deferred_and_reads_the_open_world() -> None:
    tool = create_tool_definition("web_search")
    assert tool.exposure == "deferred"
    assert tool.annotations is not None
    assert tool.annotations.to_wire() == {"readOnlyHint": True, "openWorldHint": True}
