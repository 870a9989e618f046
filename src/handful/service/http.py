"""HTTP/1.1 on one connection: uvicorn's protocol, and a shorter way for most requests.

A request for an operation whose head and body have come together, in one piece, goes to
`Service.answer`, without the task, the event and the messages that ASGI needs. Any other request
(in pieces, large, behind another one, for the page, a stream) takes uvicorn's way. Callers cannot
tell the two apart.
"""

from __future__ import annotations

import asyncio
import secrets
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from handful.service.app import Service
from handful.service.asgi import Headers
from handful.service.problems import Problem
from handful.service.request import Request

HEADER_SECONDS = 30.0
"""The head of a request must have come by then."""
MOST_HEAD = 2**16
"""Bytes of the head of a request that may come without its end."""


class Corked:
    """A connection that sends the head and the body of an answer in one packet.

    The server writes them one after the other, and each write would be a call of the system. What
    is written is held until the event loop has nothing else to do in this turn.
    """

    def __init__(self, transport: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._held: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        """Send data soon."""
        if not self._held:
            self._loop.call_soon(self.flush)
        self._held.append(data)

    def flush(self) -> None:
        """Send what is held."""
        if self._held:
            held, self._held = self._held, []
            self._transport.write(held[0] if len(held) == 1 else b"".join(held))

    def write_now(self, data: bytes) -> None:
        """Send what is held, and data."""
        self.flush()
        self._transport.write(data)

    def close(self) -> None:
        """Send what is held, and close the connection."""
        self.flush()
        self._transport.close()


class Whole:
    """A request that came in one piece, until it is answered: what uvicorn calls a cycle."""

    message_event = asyncio.Event()
    """Set by uvicorn when a connection is lost. Nobody waits for it here."""

    __slots__ = ("_protocol", "disconnected", "keep_alive", "response_complete")

    def __init__(self, protocol: PatientProtocol, keep_alive: bool) -> None:
        self._protocol = protocol
        self.keep_alive = keep_alive
        self.response_complete = False
        self.disconnected = False

    def reply(self, status: int, body: bytes, headers: Headers) -> None:
        """Send the answer."""
        self.response_complete = True
        self._protocol.send_answer(self, status, body, headers)


class PatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 that hangs up on callers who never finish the head of a request."""

    waiting_since: float | None = None
    """Since when a request is waited for; None while one is being handled."""
    _postponed: list[bytes] | None = None
    """The parts of the body of a request that may come in one piece; None: there is none."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        self._corked = corked = Corked(transport, self.loop)
        as_transport: Any = corked
        super().connection_made(as_transport)
        service = self.config.app
        assert isinstance(service, Service)
        self._service = service
        self._in_head = True
        self._heads = self._head_bytes = 0
        self.waiting_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head of a request is too large."""
        was_in_head, heads = self._in_head, self._heads
        super().data_received(data)
        if self._postponed is not None:
            self._take_uvicorns_way()
        if was_in_head and heads == self._heads:
            self._head_bytes += len(data)
            if self._head_bytes > MOST_HEAD and not self.transport.is_closing():
                self._refuse(431, f"the head of a request may have {MOST_HEAD} bytes: send less")

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        self._refuse(400, "this is not a request of HTTP/1.1")

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: who asks for another protocol is answered in this one."""

    def _refuse(self, status: int, detail: str) -> None:
        self._postponed = None
        body = Problem(status, detail).body(secrets.token_hex(8))
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
            "content-type: application/problem+json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self.transport.write(head.encode() + body)
        self.transport.close()

    def hang_up_if_late(self, now: float) -> None:
        """Close the connection if a request has been waited for too long."""
        if self.waiting_since is not None and now - self.waiting_since > HEADER_SECONDS:
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    # The parts of a request, as the parser finds them.

    def on_message_begin(self) -> None:
        """Begin a request."""
        self.url = b""
        self.expect_100_continue = False
        self.headers = []

    def on_headers_complete(self) -> None:
        """Wait no longer: the head is there."""
        self.waiting_since = None
        self._in_head = False
        self._heads += 1
        self._head_bytes = 0
        self._postponed = []
        if not self._may_be_short():
            self._take_uvicorns_way()

    def _may_be_short(self) -> bool:
        """Return whether a request may take the short way, if its body comes at once."""
        url = self.url
        return (
            (self.cycle is None or self.cycle.response_complete)
            and not self.expect_100_continue
            and url.startswith(b"/v1/")
            and b"%" not in url
            and b"#" not in url
            and url.isascii()
            and not self.parser.should_upgrade()
            and self.parser.get_http_version() == "1.1"
            and (self.limit_concurrency is None or len(self.connections) < self.limit_concurrency)
        )

    def _take_uvicorns_way(self) -> None:
        """Tell uvicorn what has come of a request so far."""
        parts, self._postponed = self._postponed, None
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers.extend(headers)
        super().on_headers_complete()
        for part in parts or ():
            super().on_body(part)

    def on_body(self, body: bytes) -> None:
        """Take in a part of the body."""
        if self._postponed is None:
            super().on_body(body)
        else:
            self._postponed.append(body)

    def on_message_complete(self) -> None:
        """Take what comes next for the head of another request."""
        self._in_head = True
        if self._postponed is not None:
            if self._answered(b"".join(self._postponed)):
                self._postponed = None
                return
            self._take_uvicorns_way()
        super().on_message_complete()

    # Answers.

    def _answered(self, body: bytes) -> bool:
        """Return whether a request has taken the short way."""
        path, _, query = self.url.partition(b"?")
        method = self.parser.get_method().decode("ascii")
        request = Request(method, path.decode("ascii"), query, self.headers)
        whole = Whole(self, self.parser.should_keep_alive())
        before: Any = self.cycle
        cycle: Any = whole
        self.cycle = cycle
        if self._service.answer(request, body, whole.reply):
            return True
        self.cycle = before
        return False

    def send_answer(self, whole: Whole, status: int, body: bytes, headers: Headers) -> None:
        """Send the answer to a request that took the short way."""
        if whole.disconnected or self.transport.is_closing():
            return
        lines = [STATUS_LINE[status]]
        for name, value in self.server_state.default_headers:
            lines.append(b"%b: %b\r\n" % (name, value))
        for name, value in headers:
            lines.append(b"%b: %b\r\n" % (name, value))
        if not whole.keep_alive:
            lines.append(b"connection: close\r\n")
        lines.append(b"content-length: %d\r\n\r\n" % len(body))
        lines.append(body)
        self._corked.write_now(b"".join(lines))
        if not whole.keep_alive:
            self.transport.close()
        self.server_state.total_requests += 1
        self.waiting_since = self.loop.time()
        if self.pipeline:
            super().on_response_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request on this connection."""
        self.waiting_since = self.loop.time()
        super().on_response_complete()
