"""A real HTTP server on loopback: answers by path, notes every request and who hung up."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Self

import anyio

HEAD_END = b"\r\n\r\n"


@dataclass(frozen=True)
class HttpRequest:
    """What a client sent."""

    method: str
    target: str
    headers: dict[str, str]
    """By name in lower case."""


Answer = bytes | Callable[[HttpRequest], AsyncIterator[bytes]]
"""Raw bytes of a whole response, or an async generator function of its pieces."""


def response(body: bytes | str = b"", status: str = "200 OK", **headers: str) -> bytes:
    """Return a whole response; `Content_Type="text/html"` is a header."""
    data = body.encode() if isinstance(body, str) else body
    fields = {"Content_Type": "text/plain; charset=utf-8", "Content_Length": str(len(data))}
    return head(status, **(fields | headers)) + data


def head(status: str = "200 OK", **headers: str) -> bytes:
    """Return the head of a response whose body ends with the connection."""
    lines = [f"{name.replace('_', '-')}: {value}" for name, value in headers.items() if value]
    return "\r\n".join([f"HTTP/1.1 {status}", *lines, "Connection: close"]).encode() + HEAD_END


def redirect(location: str, status: str = "302 Found") -> bytes:
    """Return a redirect."""
    return response(status=status, Location=location)


class HttpServer:
    """Serves while it is entered.

    Args:
        answers: By path, without query; other paths are not found.
        tls: The certificate to serve with; None: without TLS.
    """

    def __init__(
        self, answers: Mapping[str, Answer] | None = None, *, tls: ssl.SSLContext | None = None
    ) -> None:
        self.answers = dict(answers or {})
        self.requests: list[HttpRequest] = []
        self.hung_up = anyio.Event()
        """Set when a client closed its connection before the answer was complete."""
        self.n_sent_bytes = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._tls = tls
        self._server: asyncio.Server | None = None

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """Return the URL of a path."""
        return f"{'https' if self._tls else 'http'}://{host}:{self.port}{path}"

    @property
    def port(self) -> int:
        """The port it listens on."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0, ssl=self._tls)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._server.wait_closed()

    def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            request = await _read_request(reader)
            if request is None:
                return
            self.requests.append(request)
            path = request.target.partition("?")[0]
            answer = self.answers.get(path, response("nothing here", "404 Not Found"))
            sending = asyncio.ensure_future(self._send(request, answer, writer))
            # A client that waits for more sends nothing, so this ends when it hangs up.
            watching = asyncio.ensure_future(reader.read(1))
            try:
                await asyncio.wait((sending, watching), return_when=asyncio.FIRST_COMPLETED)
                if not sending.done() or sending.exception() is not None:
                    self.hung_up.set()
            finally:
                for task in (sending, watching):
                    task.cancel()
                await asyncio.gather(sending, watching, return_exceptions=True)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    async def _send(
        self, request: HttpRequest, answer: Answer, writer: asyncio.StreamWriter
    ) -> None:
        pieces = _whole(answer) if isinstance(answer, bytes) else answer(request)
        async for piece in pieces:
            writer.write(piece)
            self.n_sent_bytes += len(piece)
            await writer.drain()


async def _whole(answer: bytes) -> AsyncIterator[bytes]:
    yield answer


async def _read_request(reader: asyncio.StreamReader) -> HttpRequest | None:
    try:
        data = await reader.readuntil(HEAD_END)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = data.decode("latin-1").removesuffix("\r\n\r\n").split("\r\n")
    method, target, _ = first.split(" ", 2)
    fields = (line.partition(":") for line in lines)
    return HttpRequest(method, target, {name.lower(): value.strip() for name, _, value in fields})
