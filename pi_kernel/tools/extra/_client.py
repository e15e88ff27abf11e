"""One GET over HTTP: redirects followed by hand, every host checked before it is connected to.

The client is httpx2: it is kept up, the SDKs of models and of MCP bring it anyway, it runs on
anyio, and its transports can be replaced. Only this module knows it, and only `fetch_url` loads
this module, when it is first called.
"""

from __future__ import annotations

import functools
import os
import re
import ssl
from collections.abc import AsyncIterable, Callable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

import anyio
import anyio.to_thread
import httpx2

from pi_kernel.errors import PiKernelError
from pi_kernel.tools.extra._addresses import (
    AddressRefusedError,
    Resolver,
    checked_addresses,
    is_public,
    literal_address,
)
from pi_kernel.tools.extra._body import ACCEPTED_ENCODINGS, BodyStart

__all__ = ("ChooseLimit", "FetchSettings", "Fetched", "PinnedTransport", "fetch", "shown_url")

CONNECT_TIMEOUT_SECONDS = 10
"""For each address of a host; the whole call has its own limit."""
MAX_URL_CHARS = 8192
MAX_SHOWN_URL_CHARS = 300
MAX_REASON_CHARS = 300
MAX_PORT = 65535
TOO_LONG = f"the URL is longer than {MAX_URL_CHARS} characters"
HEADERS = {
    "User-Agent": "pi-kernel",
    "Accept": "text/markdown, text/plain;q=0.9, text/html;q=0.8, */*;q=0.5",
    "Accept-Encoding": ACCEPTED_ENCODINGS,
}

_HOST_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?", re.IGNORECASE)

ChooseLimit = Callable[[str], int]
"""Takes a Content-Type, returns the most bytes to read; raises to refuse the content."""


@dataclass(frozen=True, kw_only=True)
class FetchSettings:
    """How far a fetch may go."""

    resolver: Resolver
    allow_private: bool = False
    transport: httpx2.AsyncBaseTransport | None = None
    """In place of the network; names are then its own to resolve."""
    max_redirects: int


@dataclass(frozen=True, kw_only=True)
class Fetched:
    """What a GET gave."""

    url: str
    """Where it came from, after redirects."""
    status: int
    content_type: str
    body: bytes
    is_cut: bool
    """Whether there was more than the limit."""
    n_redirects: int


class PinnedTransport(httpx2.AsyncBaseTransport):
    """Looks a host up once and connects to the addresses that were checked.

    A second look-up could give another address. The name stays in the Host header, in TLS's server
    name and in the check of the certificate.
    """

    def __init__(
        self, inner: httpx2.AsyncBaseTransport, *, resolver: Resolver, allow_private: bool
    ) -> None:
        self._inner = inner
        self._resolver = resolver
        self._allow_private = allow_private
        self._connections: list[Any] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send the request to the first address that takes the connection."""
        host = request.url.raw_host.decode("ascii")
        addresses = await checked_addresses(
            host, resolver=self._resolver, allow_private=self._allow_private
        )
        extensions = {
            **request.extensions,
            "sni_hostname": host.removesuffix("."),
            "trace": self._note_connection,
        }
        failure: httpx2.TransportError | None = None
        for address in addresses:
            pinned = httpx2.Request(
                request.method,
                request.url.copy_with(host=str(address)),
                headers=request.headers,
                extensions=extensions,
            )
            try:
                return await self._inner.handle_async_request(pinned)
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                failure = error
        assert failure is not None  # noqa: S101 - there is at least one address
        raise failure

    async def aclose(self) -> None:
        """Close the connections, also when the call has been cancelled."""
        with anyio.CancelScope(shield=True):
            await self._inner.aclose()
            # A call that is cancelled while TLS is set up leaves its connection open (httpx2 2.16).
            for connection in self._connections:
                await connection.aclose()

    async def _note_connection(self, event: str, info: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            self._connections.append(info["return_value"])


class _BorrowedTransport(httpx2.AsyncBaseTransport):
    """A transport of somebody else's, which one call must not close."""

    def __init__(self, inner: httpx2.AsyncBaseTransport) -> None:
        self._inner = inner

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        return await self._inner.handle_async_request(request)


async def fetch(url: str, *, settings: FetchSettings, choose_limit: ChooseLimit) -> Fetched:
    """GET a URL.

    Args:
        url: An absolute http or https URL.
        settings: How far to go.
        choose_limit: Decides about the content once its type is known.

    Raises:
        PiKernelError: In one line: what was refused, or why it failed.
    """
    try:
        return await _fetch(_parsed(url), settings, choose_limit)
    except AddressRefusedError as error:
        raise PiKernelError(f"Refused to fetch {shown_url(url)}: {error}") from error
    except (httpx2.HTTPError, httpx2.InvalidURL, PiKernelError) as error:
        raise PiKernelError(f"Could not fetch {shown_url(url)}: {_reason(error)}") from error


async def _fetch(url: httpx2.URL, settings: FetchSettings, choose_limit: ChooseLimit) -> Fetched:
    _check(url, allow_private=settings.allow_private)
    transport: httpx2.AsyncBaseTransport
    if settings.transport is not None:
        transport = _BorrowedTransport(settings.transport)
    else:
        tls = await anyio.to_thread.run_sync(_tls_context)
        transport = PinnedTransport(
            httpx2.AsyncHTTPTransport(verify=tls),
            resolver=settings.resolver,
            allow_private=settings.allow_private,
        )
    timeout = httpx2.Timeout(None, connect=CONNECT_TIMEOUT_SECONDS)
    async with httpx2.AsyncClient(transport=transport, headers=HEADERS, timeout=timeout) as client:
        request = client.build_request("GET", url)
        for n_redirects in range(settings.max_redirects + 1):
            response = await client.send(request, stream=True)
            try:
                if not response.has_redirect_location:
                    return await _read(response, choose_limit, n_redirects=n_redirects)
                if response.next_request is None:
                    raise PiKernelError("it redirects to an invalid URL")
                request = response.next_request
                _check(request.url, allow_private=settings.allow_private)
            finally:
                await response.aclose()
    raise PiKernelError(f"it redirects more than {settings.max_redirects} times")


async def _read(
    response: httpx2.Response, choose_limit: ChooseLimit, *, n_redirects: int
) -> Fetched:
    if not response.is_success:
        raise PiKernelError(f"HTTP {_status(response.status_code)}")
    content_type = response.headers.get("Content-Type", "")
    body = BodyStart(
        response.headers.get("Content-Encoding", ""), limit_bytes=choose_limit(content_type)
    )
    # The stream itself: the response's own iterators decompress without a limit.
    stream = response.stream
    assert isinstance(stream, AsyncIterable)  # noqa: S101 - an asynchronous client's always is
    async for chunk in stream:
        body.feed(chunk)
        if not body.wants_more:
            break
    return Fetched(
        url=str(response.url),
        status=response.status_code,
        content_type=content_type,
        body=body.finish(),
        is_cut=body.is_cut,
        n_redirects=n_redirects,
    )


def _parsed(url: str) -> httpx2.URL:
    if len(url) > MAX_URL_CHARS:  # before it is parsed: it may be of any length
        raise PiKernelError(TOO_LONG)
    return httpx2.URL(url.strip())


def _check(url: httpx2.URL, *, allow_private: bool) -> None:
    """Refuse what the URL alone shows to be wrong; the first one and that of each redirect."""
    if url.scheme not in ("http", "https"):
        raise AddressRefusedError("only http and https URLs are fetched")
    if len(str(url)) > MAX_URL_CHARS:
        raise PiKernelError(TOO_LONG)
    if url.userinfo:
        raise AddressRefusedError("the URL holds a user name or password")
    host = url.raw_host.decode("ascii")
    address = literal_address(host)
    if address is None and not _HOST_NAME.fullmatch(host):
        raise PiKernelError("the URL has no valid host name")
    if url.port is not None and not 0 < url.port <= MAX_PORT:
        raise PiKernelError(f"the URL's port is not between 1 and {MAX_PORT}")
    if address is not None and not allow_private and not is_public(address):
        raise AddressRefusedError(f"{host} is not on the public internet")


@functools.cache
def _tls_context() -> ssl.SSLContext:
    """Return the settings of TLS; reading the certificates takes tens of milliseconds."""
    return httpx2.create_ssl_context()


def shown_url(url: str) -> str:
    """Return a URL as messages show it: in one line, and not too long."""
    text = " ".join(url.split())
    return text if len(text) <= MAX_SHOWN_URL_CHARS else f"{text[:MAX_SHOWN_URL_CHARS]}..."


def _status(code: int) -> str:
    """Return the code and its name by the standard; the server's own name for it is not used."""
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return str(code)


def _reason(error: Exception) -> str:
    """Return in one line why it failed: the system's own error where there is one below."""
    text = str(error)
    if isinstance(error, httpx2.ConnectTimeout):
        text = f"no connection within {CONNECT_TIMEOUT_SECONDS} seconds"
    elif isinstance(error, httpx2.ConnectError):
        cause: BaseException | None = error
        while cause is not None:
            if isinstance(cause, OSError) and not isinstance(cause, ssl.SSLError) and cause.errno:
                text = os.strerror(cause.errno) if cause.errno > 0 else str(cause.strerror)
            cause = cause.__cause__ or cause.__context__
    return " ".join(text.split())[:MAX_REASON_CHARS] or type(error).__name__
