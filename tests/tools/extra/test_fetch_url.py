"""fetch_url against a real server: what its text, its structured content and its errors are."""

from __future__ import annotations

import gzip
import importlib
import json
import subprocess
import sys
import zlib
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest

from pi_kernel import PiKernelError, ToolDefinition, ToolSession, ToolTimeout
from pi_kernel.tools import create_tool_definition
from tests.support.http_server import Answer, HttpRequest, HttpServer, head, redirect, response
from tests.tools.extra.running import failure, run, text

CUT = "A larger max_length shows more, up to 500000.]"


def local(**options: Any) -> ToolDefinition:
    """Return the tool where loopback is allowed."""
    return create_tool_definition("fetch_url", allow_private=True, **options)


async def fetched(answer: Answer, **params: Any) -> str:
    async with HttpServer({"/": answer}) as server:
        return await text(local(), {"url": server.url(), **params})


async def failed(answer: Answer) -> str:
    """Return the error's text without its start, which names the URL."""
    async with HttpServer({"/": answer}) as server:
        message = await failure(local(), {"url": server.url()})
        start = f"Could not fetch {server.url()}: "
        assert message.startswith(start)
        return message.removeprefix(start)


async def test_text_comes_back_as_it_is_with_the_facts_for_people_and_programs() -> None:
    async with HttpServer({"/": response("Zürich\n")}) as server:
        result = await run(local(), {"url": server.url("/?q=1#part")})
        url = server.url("/?q=1#part")
    assert result.to_wire() == {
        "content": [{"type": "text", "text": "Zürich\n"}],
        "details": {
            "url": url,
            "status": 200,
            "contentType": "text/plain",
            "redirects": 0,
            "bytesRead": 8,
            "truncated": False,
        },
        "structuredContent": {
            "url": url,
            "status": 200,
            "content_type": "text/plain",
            "text": "Zürich\n",
            "truncated": False,
        },
    }


async def test_one_get_is_sent_and_nothing_else() -> None:
    async with HttpServer({"/a": response("x")}) as server:
        await run(local(), {"url": server.url("/a?b=c d")})
        (request,) = server.requests
        host = f"127.0.0.1:{server.port}"
    assert (request.method, request.target) == ("GET", "/a?b=c%20d")
    assert request.headers == {
        "host": host,
        "accept": "text/markdown, text/plain;q=0.9, text/html;q=0.8, */*;q=0.5",
        "accept-encoding": "gzip, deflate",
        "connection": "keep-alive",
        "user-agent": "pi-kernel",
    }


async def test_html_comes_back_as_readable_text() -> None:
    page = "<title>T</title><script>x</script><p>See <a href=b>b</a>"
    async with HttpServer({"/a/": response(page, Content_Type="Text/HTML")}) as server:
        expected = f"T\n\nSee [b]({server.url('/a/b')})"
        assert await text(local(), {"url": server.url("/a/")}) == expected


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("application/json", b'{"a": "\xc3\xa9"}', '{"a": "é"}'),
        ("application/problem+json", b"{}", "{}"),
        ("image/svg+xml", b"<svg/>", "<svg/>"),
        ("text/csv; charset=windows-1252", b"caf\xe9", "café"),
        ("text/plain; charset=nonsense", b"caf\xe9", "café"),
        ("text/plain; charset=utf-8", b"caf\xe9", "caf\ufffd"),
        ("text/plain; charset=utf-16", "é".encode("utf-16"), "é"),
        ("application/xhtml+xml", b"<p>a</p>", "a"),
        ("text/html", b"<meta charset=windows-1251>\xcf", "П"),
        ("", b"no type", "no type"),
        ("", b"\n<!DOCTYPE HTML><p>a<p>b", "a\n\nb"),
        ("application/octet-stream", "é".encode(), "é"),
        ("nonsense", b"a", "a"),
        ("text/plain", b"", "(empty response)"),
    ],
)
async def test_text_of_any_type_and_charset(content_type: str, body: bytes, expected: str) -> None:
    assert await fetched(response(body, Content_Type=content_type)) == expected


@pytest.mark.parametrize(
    ("content_type", "body", "message"),
    [
        ("image/png", b"\x89PNG", "its content is image/png, not text"),
        ("application/pdf", b"%PDF", "its content is application/pdf, not text"),
        ("text/plain", b"a\0b", "its content is not text"),
        ("application/octet-stream", b"\xfd\xfe", "its content is not text"),
        ("", b"\x89PNG\r\n", "its content is not text"),
    ],
)
async def test_binary_content_is_refused(content_type: str, body: bytes, message: str) -> None:
    assert await failed(response(body, Content_Type=content_type)) == message


async def test_a_picture_is_refused_before_it_is_read() -> None:
    async def endless(_request: HttpRequest) -> AsyncIterator[bytes]:
        yield head(Content_Type="image/png")
        while True:
            yield bytes(1 << 16)

    async with HttpServer({"/": endless}) as server:
        message = await failure(local(), {"url": server.url()})
        await server.hung_up.wait()
    assert message.endswith("its content is image/png, not text")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "x-gzip", "identity"])
async def test_compressed_content_is_unpacked(encoding: str) -> None:
    body = {"identity": b"text", "deflate": zlib.compress(b"text")}.get(encoding)
    assert await fetched(response(body or gzip.compress(b"text"), Content_Encoding=encoding)) == (
        "text"
    )


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        ("404 Gone fishing", "HTTP 404 Not Found"),
        ("500 \x1b[31m", "HTTP 500 Internal Server Error"),
        ("418 x", "HTTP 418 I'm a Teapot"),
        ("304 Not Modified", "HTTP 304 Not Modified"),
        ("300 Choose", "HTTP 300 Multiple Choices"),
        ("799 Own", "HTTP 799"),
    ],
)
async def test_a_status_that_is_no_success_is_an_error(status: str, reason: str) -> None:
    if "\x1b" in status:
        assert "\x1b" not in await failed(response("text", status))
    else:
        assert await failed(response("text", status)) == reason


async def test_a_success_without_content_is_empty() -> None:
    assert await fetched(b"HTTP/1.1 204 No Content\r\n\r\n") == "(empty response)"


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "Server disconnected without sending a response."),
        (head(Content_Length="9") + b"x", "peer closed connection without sending complete"),
        (head(Transfer_Encoding="chunked") + b"zz\r\n", "illegal chunk header"),
        (b"no HTTP\r\n\r\n", "illegal status line"),
        (head(X="x" * 200_000), "Receive buffer too long"),
        (response(b"\x1f\x8bno", Content_Encoding="gzip"), "the gzip content is broken"),
        (response(b"x", Content_Encoding="br"), "the content is compressed as 'br'"),
    ],
)
async def test_what_goes_wrong_is_told_in_one_line(answer: bytes, reason: str) -> None:
    assert (await failed(answer)).startswith(reason)


async def test_a_server_that_is_not_there_is_an_error() -> None:
    async with HttpServer() as server:
        url = server.url()
    assert await failure(local(), {"url": url}) == f"Could not fetch {url}: Connection refused"


async def test_text_is_cut_at_max_length_with_a_notice_that_tells_how_much_there_is() -> None:
    result = await fetched(response("é" * 30), max_length=20)
    assert result == f"{'é' * 20}\n\n[Showing the first 20 of 30 characters. {CUT}"
    assert await fetched(response("é" * 20), max_length=20) == "é" * 20


async def test_the_cut_is_known_to_programs() -> None:
    async with HttpServer({"/": response("abc")}) as server:
        result = await run(local(), {"url": server.url(), "max_length": 2})
    assert result.structured_content["text"] == "ab"
    assert result.structured_content["truncated"]
    assert result.details["truncated"]


async def test_html_is_cut_by_its_readable_text() -> None:
    page = response("<p>one<p>two", Content_Type="text/html")
    assert await fetched(page, max_length=8) == "one\n\ntwo"
    assert await fetched(page, max_length=7) == (
        f"one\n\ntw\n\n[Showing the first 7 characters. {CUT}"
    )


async def test_at_the_highest_max_length_there_is_no_advice() -> None:
    result = await fetched(response("x" * 500_001), max_length=500_000)
    assert result.endswith("x\n\n[Showing the first 500000 of 500001 characters.]")


async def test_the_default_is_a_hundred_thousand_characters() -> None:
    result = await fetched(response("x" * 100_001))
    assert result == f"{'x' * 100_000}\n\n[Showing the first 100000 of 100001 characters. {CUT}"


async def test_endless_text_is_read_up_to_the_limit_only() -> None:
    async def endless(_request: HttpRequest) -> AsyncIterator[bytes]:
        yield head(Content_Type="text/plain")
        while True:
            yield b"0123456789" * 1000

    async with HttpServer({"/": endless}) as server:
        result = await text(local(), {"url": server.url(), "max_length": 15})
        await server.hung_up.wait()
    assert result == f"012345678901234\n\n[Showing the first 15 characters. {CUT}"


async def test_an_endless_page_is_read_up_to_the_byte_limit_only() -> None:
    async def endless(_request: HttpRequest) -> AsyncIterator[bytes]:
        yield head(Content_Type="text/html")
        while True:
            yield b"<p>a" + b"<!-- -->" * 1000

    async with HttpServer({"/": endless}) as server:
        result = await text(local(max_body_bytes=100_000), {"url": server.url()})
        await server.hung_up.wait()
    assert result.startswith("a\n\na\n\na")
    assert result.endswith("\n\n[Showing what the first 97.7KB hold; there is more.]")


async def test_a_bomb_is_unpacked_up_to_the_limit_only() -> None:
    bomb = gzip.compress(b"a" * 50_000_000)
    async with HttpServer({"/": response(bomb, Content_Encoding="gzip")}) as server:
        result = await run(local(), {"url": server.url(), "max_length": 1000})
    assert result.details["bytesRead"] == 4004
    assert len(result.structured_content["text"]) == 1000


async def test_redirects_are_followed_and_the_end_is_named() -> None:
    answers = {
        "/a": redirect("/b", "301 Moved Permanently"),
        "/b": redirect("c?d", "307 Temporary Redirect"),
        "/c": response("there"),
    }
    async with HttpServer(answers) as server:
        result = await run(local(), {"url": server.url("/a")})
        end = server.url("/c?d")
        methods = [request.method for request in server.requests]
    assert result.to_wire()["content"][0]["text"] == f"[Redirected to {end}]\n\nthere"
    assert result.details["redirects"] == 2
    assert result.structured_content["url"] == end
    assert result.structured_content["text"] == "there"
    assert methods == ["GET"] * 3


async def test_a_cookie_of_a_redirect_is_sent_back_in_the_same_call_only() -> None:
    answers = {
        "/a": response(status="302 Found", Location="/b", Set_Cookie="k=v"),
        "/b": response("there"),
    }
    tool = local()
    async with HttpServer(answers) as server:
        await run(tool, {"url": server.url("/a")})
        await run(tool, {"url": server.url("/b")})
        cookies = [request.headers.get("cookie") for request in server.requests]
    assert cookies == [None, "k=v", None]


@pytest.mark.parametrize(("max_redirects", "n_requests"), [(None, 6), (2, 3), (0, 1)])
async def test_a_redirect_loop_ends(max_redirects: int | None, n_requests: int) -> None:
    options = {} if max_redirects is None else {"max_redirects": max_redirects}
    async with HttpServer({"/": redirect("/")}) as server:
        message = await failure(local(**options), {"url": server.url()})
        assert len(server.requests) == n_requests
    assert message.endswith(f": it redirects more than {n_requests - 1} times")


async def test_time_runs_out_for_the_whole_call() -> None:
    async def slow(_request: HttpRequest) -> AsyncIterator[bytes]:
        yield head(Content_Type="text/plain") + b"part"
        await server.hung_up.wait()

    async with HttpServer({"/": slow}) as server:
        with pytest.raises(ToolTimeout) as caught:
            await run(local(timeout_seconds=0.2), {"url": server.url()})
        await server.hung_up.wait()
        assert str(caught.value) == f"Could not fetch {server.url()} within 0.2 seconds"


async def test_a_transport_takes_the_place_of_the_network_and_is_not_closed() -> None:
    seen: list[str] = []

    class Transport(httpx2.MockTransport):
        async def aclose(self) -> None:
            raise AssertionError

    def answer(request: httpx2.Request) -> httpx2.Response:
        seen.append(str(request.url))
        return httpx2.Response(200, text="from nowhere")

    tool = create_tool_definition("fetch_url", transport=Transport(answer))
    for _ in range(2):
        assert await text(tool, {"url": "https://a.example/b"}) == "from nowhere"
    assert seen == ["https://a.example/b"] * 2


async def test_the_session_checks_the_arguments() -> None:
    session = ToolSession(tools=[local()])

    async def problem(**params: Any) -> str:
        outcome = await session.execute_tool("fetch_url", params)
        assert outcome.status == "invalid"
        return outcome.text.split("\n")[1]

    assert await problem() == "  - url: missing"
    assert await problem(url=[]) == "  - url: expected string, got array"
    assert "max_length" in await problem(url="x", max_length=0)
    assert "max_length" in await problem(url="x", max_length=500_001)


def test_the_tool_is_deferred_and_says_that_it_reads_the_open_world() -> None:
    tool = create_tool_definition("fetch_url")
    assert tool.exposure == "deferred"
    assert tool.annotations is not None
    assert tool.annotations.to_wire() == {"readOnlyHint": True, "openWorldHint": True}
    properties = tool.parameters["properties"]
    assert list(properties) == ["url", "max_length"]
    assert (properties["max_length"]["default"], properties["max_length"]["maximum"]) == (
        *(100_000, 500_000),
    )


def test_operations_are_refused() -> None:
    with pytest.raises(PiKernelError) as caught:
        create_tool_definition("fetch_url", operations={})
    assert str(caught.value) == 'tool "fetch_url" has no operations; give it a transport'


async def test_without_the_library_one_error_names_the_extra(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    package = importlib.import_module("pi_kernel.tools.extra")
    monkeypatch.delattr(package, "_client", raising=False)
    monkeypatch.delitem(sys.modules, "pi_kernel.tools.extra._client", raising=False)
    monkeypatch.setitem(sys.modules, "httpx2", None)
    message = await failure(create_tool_definition("fetch_url"), {"url": "http://a.example/"})
    assert message == "fetch_url needs httpx2; install it with: pip install 'pi-kernel[web]'"


def test_the_library_is_loaded_by_the_first_call_only() -> None:
    code = (
        "import json, sys\n"
        "from pi_kernel.tools import create_all_tools\n"
        "create_all_tools('/', extra=['todo_write', 'fetch_url', 'web_search', 'aliases'])\n"
        "print(json.dumps([name for name in ('httpx2', 'ssl') if name in sys.modules]))"
    )
    done = subprocess.run(  # noqa: S603 - our own code
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert "httpx2" not in json.loads(done.stdout)
