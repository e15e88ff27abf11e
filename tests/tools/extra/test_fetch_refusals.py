"""What fetch_url refuses, each with the control that the same server answers when allowed."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pi_kernel import PiKernelError, ToolAborted, ToolDefinition
from pi_kernel.runtime.abort import AbortSignal
from pi_kernel.tools import create_tool_definition
from pi_kernel.tools.extra import _client
from pi_kernel.tools.extra._client import PinnedTransport
from tests.support.http_server import Answer, HttpRequest, HttpServer, head, redirect, response
from tests.tools.extra.running import failure, run, text

LIMIT_SECONDS = 10
SITE_PEM = Path(__file__).with_name("site.pem")
"""A certificate for site.example and its key, made for this test; it ends in 2126."""


def fetch_tool(**options: Any) -> ToolDefinition:
    return create_tool_definition("fetch_url", **options)


def outcome_of(tool: ToolDefinition, url: str) -> str:
    """Return the text or the error of one call; both can be sent, and an error is one line."""
    try:
        result = anyio.run(text, tool, {"url": url})
    except PiKernelError as error:
        result = str(error)
        assert "\n" not in result
    assert result.encode()
    return result


ODD_CHARACTERS = "a.-_%[]:@\\/0123456789x?#\ud800é。\u200b \n"


@given(
    st.sampled_from(["", "http://", "https://", "http:", "HTTP://a/", "http://a?"]),
    st.text(max_size=20) | st.text(alphabet=ODD_CHARACTERS, max_size=20),
)
def test_any_text_is_fetched_or_refused_in_one_line(start: str, rest: str) -> None:
    transport = httpx2.MockTransport(lambda _: httpx2.Response(200, text="here"))
    outcome_of(fetch_tool(transport=transport), start + rest)


@given(
    st.sampled_from([200, 204, 301, 302, 404, 599]),
    st.fixed_dictionaries(
        {
            b"Content-Type": st.binary(max_size=60) | st.just(b"text/html; charset=\xff"),
            b"Content-Encoding": st.binary(max_size=9) | st.sampled_from([b"gzip", b"deflate"]),
            b"Location": st.binary(max_size=60),
        }
    ),
    st.binary(max_size=100),
)
def test_any_answer_is_shown_or_refused_in_one_line(
    status: int, headers: dict[bytes, bytes], body: bytes
) -> None:
    class Stream(httpx2.AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            yield body

    def answer(_request: httpx2.Request) -> httpx2.Response:
        return httpx2.Response(status, headers=list(headers.items()), stream=Stream())

    outcome_of(fetch_tool(transport=httpx2.MockTransport(answer)), "http://a.example/")


class Names:
    """A resolver of fixed names that notes what it is asked."""

    def __init__(self, *answers: tuple[str, ...]) -> None:
        self.asked: list[str] = []
        self._answers = list(answers)

    async def __call__(self, host: str) -> tuple[str, ...]:
        self.asked.append(host)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


@pytest.mark.parametrize(
    "host",
    [
        *("127.0.0.1", "localhost", "LOCALHOST", "127.1", "2130706433", "0x7f000001"),
        *("0177.1", "127.0.0.1."),
    ],
)
async def test_loopback_is_refused_however_it_is_written_and_answers_when_allowed(
    host: str,
) -> None:
    async with HttpServer({"/": response("here")}) as server:
        url = server.url(host=host)
        message = await failure(fetch_tool(), {"url": url})
        assert message.startswith(f"Refused to fetch {url}: ")
        assert message.endswith(" not on the public internet")
        assert server.requests == []
        assert await text(fetch_tool(allow_private=True), {"url": url}) == "here"


@pytest.mark.parametrize(
    "host",
    [
        *("10.0.0.1", "169.254.169.254", "192.168.0.1", "100.64.0.1", "224.0.0.1", "[::1]"),
        *("[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[fe80::1]", "[fc00::1]"),
        *("[::]", "0", "[2002:7f00:1::]"),
    ],
)
async def test_an_address_off_the_public_internet_is_refused_with_any_transport(host: str) -> None:
    reached: list[str] = []

    def answer(request: httpx2.Request) -> httpx2.Response:
        reached.append(request.url.host)
        return httpx2.Response(200, text="here")

    transport = httpx2.MockTransport(answer)
    url = f"http://{host}/"
    message = await failure(fetch_tool(transport=transport), {"url": url})
    assert message == (f"Refused to fetch {url}: {host.strip('[]')} is not on the public internet")
    assert reached == []
    tool = fetch_tool(transport=transport, allow_private=True)
    assert await text(tool, {"url": url}) == "here"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("ftp://a.example/", "only http and https URLs are fetched"),
        ("file:///etc/passwd", "only http and https URLs are fetched"),
        ("javascript:alert(1)", "only http and https URLs are fetched"),
        ("//a.example/", "only http and https URLs are fetched"),
        ("a.example", "only http and https URLs are fetched"),
        ("", "only http and https URLs are fetched"),
        ("http://u@a.example/", "the URL holds a user name or password"),
        ("http://u:p@a.example/", "the URL holds a user name or password"),
        ("http://a.example\\@127.0.0.1/", "the URL holds a user name or password"),
    ],
)
async def test_what_the_url_alone_forbids_is_refused(url: str, message: str) -> None:
    assert await failure(fetch_tool(), {"url": url}) == f"Refused to fetch {url}: {message}"


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("http:///path", "the URL has no valid host name"),
        ("http://a b/", "the URL has no valid host name"),
        ("http://a%2eb/", "the URL has no valid host name"),
        ("http://a..b/", "the URL has no valid host name"),
        ("http://127.0.0.1%00.a.example/", "the URL has no valid host name"),
        ("http://a.example:0/", "the URL's port is not between 1 and 65535"),
        ("http://a.example:65536/", "the URL's port is not between 1 and 65535"),
        ("http://a.example/" + "x" * 9000, "the URL is longer than 8192 characters"),
    ],
)
async def test_a_url_that_leads_nowhere_is_an_error(url: str, message: str) -> None:
    shown = url if len(url) <= 300 else f"{url[:300]}..."
    assert await failure(fetch_tool(), {"url": url}) == f"Could not fetch {shown}: {message}"


@pytest.mark.parametrize(
    "url", ["http://[/", "http://a\nb/", "http://a:port/", "http://0177.0.0.1/"]
)
async def test_what_is_no_url_is_an_error_in_one_line(url: str) -> None:
    message = await failure(fetch_tool(), {"url": url})
    assert message.startswith("Could not fetch http://")


async def test_blanks_around_a_url_do_no_harm() -> None:
    async with HttpServer({"/": response("here")}) as server:
        url = f" {server.url()}\n"
        assert await text(fetch_tool(allow_private=True), {"url": url}) == "here"


async def test_a_name_with_a_private_address_is_refused_and_answers_when_allowed() -> None:
    names = Names(("127.0.0.1",))
    async with HttpServer({"/": response("here")}) as server:
        url = server.url(host="site.example")
        message = await failure(fetch_tool(resolver=names), {"url": url})
        assert message == (
            f"Refused to fetch {url}: site.example has the address 127.0.0.1, which is not on the"
            " public internet"
        )
        assert server.requests == []
        assert await text(fetch_tool(resolver=names, allow_private=True), {"url": url}) == "here"
        (request,) = server.requests
        assert request.headers["host"] == f"site.example:{server.port}"
    assert names.asked == ["site.example"] * 2


async def test_one_private_address_among_public_ones_refuses_the_name() -> None:
    message = await failure(
        fetch_tool(resolver=Names(("1.1.1.1", "10.0.0.1"))), {"url": "http://site.example/"}
    )
    assert message.endswith(
        "site.example has the address 10.0.0.1, which is not on the public internet"
    )


class Web:
    """A public internet of one page, seen from below the look-up of names."""

    def __init__(self, *names: tuple[str, ...], answers: dict[str, httpx2.Response]) -> None:
        self.names = Names(*names)
        self.connected: list[tuple[str, str, object]] = []
        self._answers = answers

    def transport(self) -> PinnedTransport:
        return PinnedTransport(
            httpx2.MockTransport(self._answer), resolver=self.names, allow_private=False
        )

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        host = request.headers["host"]
        self.connected.append((request.url.host, host, request.extensions["sni_hostname"]))
        return self._answers[host + request.url.path]


async def test_the_connection_goes_to_the_address_that_was_checked_under_the_name() -> None:
    web = Web(("1.1.1.1",), ("127.0.0.1",), answers={"a.example/": httpx2.Response(200, text="x")})
    tool = fetch_tool(transport=web.transport())
    assert await text(tool, {"url": "https://A.example/"}) == "x"
    # A second look-up would have given loopback.
    assert web.names.asked == ["a.example"]
    assert web.connected == [("1.1.1.1", "a.example", "a.example")]


async def test_each_redirect_is_looked_up_and_checked_again() -> None:
    moved = httpx2.Response(302, headers={"Location": "http://b.example/secret"})
    web = Web(("1.1.1.1",), ("10.0.0.1",), answers={"a.example/": moved})
    message = await failure(fetch_tool(transport=web.transport()), {"url": "http://a.example/"})
    assert message == (
        "Refused to fetch http://a.example/: b.example has the address 10.0.0.1, which is not on"
        " the public internet"
    )
    assert web.names.asked == ["a.example", "b.example"]
    assert len(web.connected) == 1


async def test_a_name_that_turns_private_after_a_redirect_to_itself_is_refused() -> None:
    moved = httpx2.Response(302, headers={"Location": "/again"})
    web = Web(("1.1.1.1",), ("127.0.0.1",), answers={"a.example/": moved})
    message = await failure(fetch_tool(transport=web.transport()), {"url": "http://a.example/"})
    assert message.endswith(
        "a.example has the address 127.0.0.1, which is not on the public internet"
    )


@pytest.mark.parametrize(
    ("location", "message"),
    [
        ("http://127.0.0.1:{port}/", "127.0.0.1 is not on the public internet"),
        ("http://127.1:{port}/", "127.1 is not on the public internet"),
        ("file:///etc/passwd", "only http and https URLs are fetched"),
        ("http://u:p@a.example/", "the URL holds a user name or password"),
    ],
)
async def test_a_redirect_from_the_public_internet_to_what_is_refused_is_refused(
    location: str, message: str
) -> None:
    async with HttpServer({"/": response("secret")}) as server:
        target = location.format(port=server.port)
        moved = httpx2.Response(302, headers={"Location": target})
        transport = httpx2.MockTransport(lambda _: moved)
        url = "http://a.example/"
        refused = await failure(fetch_tool(transport=transport), {"url": url})
        assert refused == f"Refused to fetch {url}: {message}"
        assert server.requests == []
        if "127" in location:
            # The redirect would have been followed where it is allowed.
            async with HttpServer({"/": redirect(target)}) as first:
                allowed = fetch_tool(allow_private=True)
                assert (await text(allowed, {"url": first.url()})).endswith("secret")


async def test_a_redirect_to_an_invalid_url_is_an_error() -> None:
    async with HttpServer({"/": redirect("http://a:port/")}) as server:
        message = await failure(fetch_tool(allow_private=True), {"url": server.url()})
    assert message.endswith(": it redirects to an invalid URL")


async def test_a_redirect_to_an_endless_url_is_an_error() -> None:
    async with HttpServer({"/": redirect("/" + "x" * 9000)}) as server:
        message = await failure(fetch_tool(allow_private=True), {"url": server.url()})
    assert message.endswith(": the URL is longer than 8192 characters")


async def test_a_host_that_takes_no_connection_in_time_is_an_error() -> None:
    def answer(request: httpx2.Request) -> httpx2.Response:
        raise httpx2.ConnectTimeout("", request=request)

    tool = fetch_tool(transport=httpx2.MockTransport(answer))
    assert await failure(tool, {"url": "http://a.example/"}) == (
        "Could not fetch http://a.example/: no connection within 10 seconds"
    )


async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    async with HttpServer({"/": response("here")}) as server:
        # Nobody listens on 127.0.0.9.
        tool = fetch_tool(allow_private=True, resolver=Names(("127.0.0.9", "127.0.0.1")))
        assert await text(tool, {"url": server.url(host="site.example")}) == "here"
        tool = fetch_tool(allow_private=True, resolver=Names(("127.0.0.9", "127.0.0.8")))
        message = await failure(tool, {"url": server.url(host="site.example")})
    assert message.endswith(": Connection refused")


@pytest.fixture
def site_tls(monkeypatch: pytest.MonkeyPatch) -> Iterator[ssl.SSLContext]:
    """Return a server's TLS with a certificate for site.example that clients trust."""
    monkeypatch.setenv("SSL_CERT_FILE", os.fspath(SITE_PEM))
    _client._tls_context.cache_clear()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(SITE_PEM)
    yield context
    _client._tls_context.cache_clear()


async def test_the_certificate_must_be_for_the_name(site_tls: ssl.SSLContext) -> None:
    tool = fetch_tool(allow_private=True, resolver=Names(("127.0.0.1",)))
    async with HttpServer({"/": response("here")}, tls=site_tls) as server:
        assert await text(tool, {"url": server.url(host="site.example")}) == "here"
        (request,) = server.requests
        assert request.headers["host"] == f"site.example:{server.port}"
        for host in ("other.example", "127.0.0.1"):
            message = await failure(tool, {"url": server.url(host=host)})
            assert "CERTIFICATE_VERIFY_FAILED" in message
        assert len(server.requests) == 1


async def test_tls_is_asked_for_the_name_and_not_for_the_address() -> None:
    hello: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        hello.append(await reader.read(4096))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    tool = fetch_tool(allow_private=True, resolver=Names(("127.0.0.1",)))
    with anyio.fail_after(LIMIT_SECONDS):
        message = await failure(tool, {"url": f"https://site.example.:{port}/"})
    assert message.startswith(f"Could not fetch https://site.example.:{port}/: ")
    assert b"site.example" in hello[0]
    assert b"site.example." not in hello[0]
    assert b"127.0.0.1" not in hello[0]
    server.close()
    await server.wait_closed()


async def aborted(tool: ToolDefinition, url: str, when: anyio.Event) -> None:
    """Abort a call when the event is set; it must end at once."""
    signal = AbortSignal()
    task = asyncio.ensure_future(run(tool, {"url": url}, signal=signal))
    with anyio.fail_after(LIMIT_SECONDS):
        await when.wait()
        signal.abort()
        with pytest.raises(ToolAborted) as caught:
            await task
    assert str(caught.value) == "Operation aborted"


async def hanging_answer(sent: anyio.Event, *pieces: bytes) -> Answer:
    async def answer(_request: HttpRequest) -> Any:
        for piece in pieces:
            yield piece
        sent.set()
        await anyio.sleep_forever()

    return answer


@pytest.mark.parametrize(
    "pieces",
    [(), (b"HTTP/1.1 200",), (head(Content_Type="text/plain"), b"part"), (redirect("/")[:30],)],
)
async def test_an_abort_at_any_stage_closes_the_connection(pieces: tuple[bytes, ...]) -> None:
    sent = anyio.Event()
    async with HttpServer({"/": await hanging_answer(sent, *pieces)}) as server:
        await aborted(fetch_tool(allow_private=True), server.url(), sent)
        with anyio.fail_after(LIMIT_SECONDS):
            await server.hung_up.wait()


async def test_an_abort_while_tls_is_set_up_closes_the_connection() -> None:
    greeted, hung_up = anyio.Event(), anyio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(4096)
        greeted.set()
        await reader.read(1)
        hung_up.set()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await aborted(fetch_tool(allow_private=True), f"https://127.0.0.1:{port}/", greeted)
    with anyio.fail_after(LIMIT_SECONDS):
        await hung_up.wait()
    server.close()
    await server.wait_closed()


async def test_an_abort_while_a_name_is_looked_up_ends_the_call() -> None:
    asked = anyio.Event()

    async def resolver(_host: str) -> list[str]:
        asked.set()
        await anyio.sleep_forever()
        raise AssertionError

    await aborted(fetch_tool(resolver=resolver), "http://site.example/", asked)


async def test_a_call_that_is_aborted_before_it_starts_touches_nothing() -> None:
    signal = AbortSignal()
    signal.abort()
    async with HttpServer({"/": response("here")}) as server:
        with pytest.raises(ToolAborted):
            await run(fetch_tool(allow_private=True), {"url": server.url()}, signal=signal)
        assert server.requests == []
