"""HTTP/1.1 on one connection: uvicorn's protocol, with a fast path for most requests.

A request for an operation whose head and body arrive together, in one piece, goes to
`Service.answer`, without the task, the event and the messages that ASGI needs. Any other request
(in pieces, large, behind another one, for the page, a stream, from a caller who does not read)
takes uvicorn's path. Both paths give the same answers.

Limits protect against slow callers: on the time and the size of heads and trailers, on the time for
which a connection is idle or takes nothing of an answer, and on the requests that wait on it.
"""

from __future__ import annotations

import asyncio
import re
import secrets
from http import HTTPStatus
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from handful.service.app import Service
from handful.service.asgi import Headers
from handful.service.problems import Problem
from handful.service.request import Request
from handful.service.transport import Corked, Flow

HEADER_SECONDS = 30.0
"""The head of a request must have come so long after its first byte; the first after connecting."""
IDLE_SECONDS = 75.0
"""A connection on which no request comes is closed then. Proxies keep theirs for 60 s and less."""
UNREAD_SECONDS = 30.0
"""A caller must take something of an answer that waits to be sent by then."""
MOST_HEAD = 2**16
"""Bytes of the head or the trailers of a request that may come without their end."""
MOST_PIPELINED = 100
"""Requests on one connection that may wait for the answers to those before them."""
SHORT = re.compile(rb"/v1/[\x00-\x22\x24\x26-\x7f]*")
"""Addresses of the short way: of operations, ASCII, without escapes and fragments."""


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

    def reply(self, status: int, body: bytes, headers: Headers, id: bytes) -> None:
        """Send the answer to a request with an id."""
        self.response_complete = True
        self._protocol.send_answer(self, status, body, headers, id)


class PipelineError(Exception):
    """More requests wait on a connection than may."""


class PatientProtocol(HttpToolsProtocol, asyncio.BufferedProtocol):
    """HTTP/1.1 on one connection, whose caller may be slow, or may want to do harm."""

    flow: Flow
    headers: list[tuple[bytes, bytes]]
    expect_100_continue: bool
    waiting_since: float | None = None
    """Since when a request is waited for; None while one is being handled."""
    _head_since: float | None = None
    """Since when the rest of a head is waited for; None: nothing of it has come."""
    _head_bytes = 0
    _in_head = True
    """Whether what comes next is the head of a request, or belongs to it."""
    _moved = False
    """Whether the parser has found a whole head, a part of a body or the end of a request."""
    _postponed: list[bytes] | None = None
    """The parts of the body of a request that may come in one piece; None: there is none."""
    _handed_over = False
    """Whether uvicorn has the head of a request whose end has not come."""
    _refusal: bytes | None = None
    """What is sent after the last answer: what came after its request could not be read."""
    _unsent = 0
    _unsent_since = 0.0

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        self._corked = corked = Corked(transport, self.loop)
        as_transport: Any = corked
        super().connection_made(as_transport)
        self.flow = Flow(corked, self.pipeline)
        service = self.config.app
        assert isinstance(service, Service)
        self._service = service
        self._heads = service.heads
        self._buffer = service.received
        self._line = transport
        self._head_since = self.loop.time()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return where to put what comes next."""
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        """Take in what has come."""
        self.data_received(bytes(self._buffer[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head or the trailers of a request are too large."""
        self._moved = False
        super().data_received(data)
        if self._postponed is not None:
            self._take_uvicorns_way()
        if self._moved:
            self._head_since = None
            self._head_bytes = 0
        else:
            self._wait_on(len(data))

    def _wait_on(self, size: int) -> None:
        """Note that bytes came which do not yet make a head, or the end of trailers."""
        if self._refusal is not None:
            return
        if self._in_head and self._head_since is None:
            self._head_since = self.loop.time()
        self._head_bytes += size
        if self._head_bytes > MOST_HEAD:
            self._refuse(431, f"the head of a request may have {MOST_HEAD} bytes: send less")

    def hang_up_if_late(self, now: float) -> None:
        """Close the connection if a request, or a caller who reads, was waited for too long."""
        unsent = self.transport.get_write_buffer_size()
        if unsent == 0 or unsent != self._unsent:
            self._unsent, self._unsent_since = unsent, now
        elif now - self._unsent_since > UNREAD_SECONDS:
            self.transport.abort()
            return
        if self.cycle is None or self.cycle.response_complete:
            # Who was answered before the end of the request still owes the rest of it.
            idle = IDLE_SECONDS if self._in_head else HEADER_SECONDS
            if _is_late(self._head_since, HEADER_SECONDS, now) or _is_late(
                self.waiting_since, idle, now
            ):
                self.transport.close()

    # Refusals of what is not a request.

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP."""
        if len(self.pipeline) > MOST_PIPELINED:
            self._refuse(429, f"{MOST_PIPELINED} requests wait on this connection: read answers")
        else:
            self._refuse(400, "this is not a request of HTTP/1.1")

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: who asks for another protocol is answered in this one."""

    def _refuse(self, status: int, detail: str) -> None:
        """Refuse what is being received, after the answers to what has come before it."""
        body = Problem(status, detail).body(secrets.token_hex(8))
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
            "content-type: application/problem+json\r\n"
            f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
        )
        self._refusal = head.encode() + body
        cycle = self.cycle
        waits = cycle is not None and not cycle.response_complete
        if self._handed_over:
            # What cannot be read is the rest of the last request.
            if waits and cycle.response_started:
                self._refusal = b""
            waits = bool(self.pipeline)
            if waits:
                self.pipeline.popleft()
        self._postponed = None
        self.flow.is_stopped = True
        self.flow.pause_reading()
        if not waits:
            self._send_refusal()

    def _send_refusal(self) -> None:
        if self._refusal and not self.transport.is_closing():
            self.transport.write(self._refusal)
        self.transport.close()

    # The parts of a request, as the parser finds them.

    def on_message_begin(self) -> None:
        """Begin a request."""
        self.url = b""
        self.expect_100_continue = False
        self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take in a header. Trailers are dropped: a proxy may not have looked at them."""
        if self._in_head:
            self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        """Wait no longer: the head is there."""
        self.waiting_since = None
        self._in_head = False
        self._moved = True
        self._postponed = []
        self._head = head = dict(self.headers)
        if b"expect" in head:
            self.expect_100_continue = any(
                name == b"expect" and value.lower() == b"100-continue"
                for name, value in self.headers
            )
        if not self._may_be_short():
            self._take_uvicorns_way()
            if len(self.pipeline) > MOST_PIPELINED:
                raise PipelineError

    def _may_be_short(self) -> bool:
        """Return whether a request may take the short way, if its body comes at once."""
        cycle, parser = self.cycle, self.parser
        return (
            (cycle is None or cycle.response_complete)
            and not self.expect_100_continue
            and not self.flow.write_paused
            and SHORT.fullmatch(self.url) is not None
            and not parser.should_upgrade()
            and parser.get_http_version() == "1.1"
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
        self._handed_over = True
        for part in parts or ():
            super().on_body(part)

    def on_body(self, body: bytes) -> None:
        """Take in a part of the body."""
        self._moved = True
        if self._postponed is None:
            super().on_body(body)
        else:
            self._postponed.append(body)

    def on_message_complete(self) -> None:
        """Take what comes next for the head of another request."""
        self._in_head = True
        self._moved = True
        if self._postponed is not None:
            if self._answered(b"".join(self._postponed)):
                self._postponed = None
                return
            self._take_uvicorns_way()
        self._handed_over = False
        super().on_message_complete()

    # Answers.

    def _answered(self, body: bytes) -> bool:
        """Return whether a request has taken the short way."""
        path, _, query = self.url.partition(b"?")
        parser = self.parser
        request = Request(parser.get_method().decode(), path.decode(), query, self._head)
        whole = Whole(self, parser.should_keep_alive())
        before: Any = self.cycle
        cycle: Any = whole
        self.cycle = cycle
        if self._service.answer(request, body, whole.reply):
            return True
        self.cycle = before
        return False

    def send_answer(
        self, whole: Whole, status: int, body: bytes, headers: Headers, id: bytes
    ) -> None:
        """Send the answer to a request that took the short way."""
        if whole.disconnected or self._line.is_closing():
            return
        head = self._heads.head(status, self.server_state.default_headers, headers)
        close = b"" if whole.keep_alive else b"connection: close\r\n"
        # An answer without content has no length either.
        length = b"" if status == 204 else b"content-length: %d\r\n" % len(body)
        answer = b"%bx-request-id: %b\r\n%b%b\r\n%b" % (head, id, close, length, body)
        self._corked.write_now(answer)
        if not whole.keep_alive:
            self.transport.close()
        if self.pipeline or self._refusal is not None:
            self.on_response_complete()
        else:
            self.server_state.total_requests += 1
            self.waiting_since = self.loop.time()

    def on_response_complete(self) -> None:
        """Wait for the next request on this connection."""
        self.waiting_since = self.loop.time()
        if self._refusal is not None and not self.pipeline:
            self._send_refusal()
        super().on_response_complete()


def _is_late(since: float | None, seconds: float, now: float) -> bool:
    return since is not None and now - since > seconds
