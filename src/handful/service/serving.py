"""Running the service: the store, the application and the HTTP server, from start to stop."""

from __future__ import annotations

import asyncio
import logging
import secrets
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from handful import __version__
from handful.errors import SettingError, StoreUnavailableError
from handful.service import logs
from handful.service.app import Service
from handful.service.auth import is_loopback
from handful.service.limits import Limits
from handful.service.origins import Origins
from handful.service.problems import Problem
from handful.service.shared import desk_of
from handful.storage.opening import open_store, shown

HEADER_SECONDS = 30.0
"""The head of a request must have come by then."""
MOST_HEAD = 2**16
"""Bytes of the head of a request that may come without its end."""
MOST_CONNECTIONS = 4000
SIGNALS = (signal.SIGINT, signal.SIGTERM)

log = logging.getLogger("handful.service")


class Address(NamedTuple):
    """Where the service listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """The address as a link."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


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

    def close(self) -> None:
        """Send what is held, and close the connection."""
        self.flush()
        self._transport.close()


class PatientProtocol(HttpToolsProtocol):
    """HTTP/1.1 that hangs up on callers who never finish the head of a request."""

    waiting_since: float | None = None
    """Since when a request is waited for; None while one is being handled."""

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a request."""
        corked: Any = Corked(transport, self.loop)
        super().connection_made(corked)
        self._in_head = True
        self._heads = self._head_bytes = 0
        self.waiting_since = self.loop.time()

    def data_received(self, data: bytes) -> None:
        """Read on, unless the head of a request is too large."""
        was_in_head, heads = self._in_head, self._heads
        super().data_received(data)
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

    def on_headers_complete(self) -> None:
        """Wait no longer: the head is there."""
        self.waiting_since = None
        self._in_head = False
        self._heads += 1
        self._head_bytes = 0
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """Take what comes next for the head of another request."""
        self._in_head = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        """Wait for the next request on this connection."""
        self.waiting_since = self.loop.time()
        super().on_response_complete()


class Server(uvicorn.Server):
    """uvicorn, which ends the event streams when it is asked to stop."""

    def __init__(self, config: uvicorn.Config, service: Service, hello: str) -> None:
        super().__init__(config)
        self._service = service
        self._hello = hello

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen, and say so."""
        await super().startup(sockets)
        self._look()
        if self.started:
            print(self._hello, file=sys.stderr, flush=True)

    def _look(self) -> None:
        """Look at all connections now and then; a timer for each would cost more."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for protocol in list(self.server_state.connections):
            if isinstance(protocol, PatientProtocol):
                protocol.hang_up_if_late(now)
        loop.call_later(min(1.0, HEADER_SECONDS), self._look)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop at a signal, as was asked for: so the exit code is 0, and not that of a crash."""
        before = {sig: signal.signal(sig, self.handle_exit) for sig in SIGNALS}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop: answer what has come, and no more."""
        log.info("stopping")
        self._service.live.end_streams()
        super().handle_exit(sig, frame)


def serve(
    store: str | Path,
    address: Address,
    limits: Limits,
    access_log: bool,
    log_level: str,
    origins: tuple[str, ...] = (),
    durable: bool = True,
) -> int:
    """Serve until a signal comes; return the exit code."""
    logs.set_up(log_level)
    pages = Origins(origins)
    storage = open_store(store, durable=durable)
    desk = desk_of(storage)
    loopback = is_loopback(address.host)
    service = Service(
        desk, key_needed=not loopback, limits=limits, origins=pages, access_log=access_log
    )
    if not loopback and service.keys.is_empty:
        storage.close()
        raise SettingError(
            f"{address.host} can be reached from elsewhere, and {shown(store)!r} has no key: make "
            f"one first: handful keys add --store {shown(store)} --name admin --scope admin"
        )
    listening = _listen(address)
    address = Address(address.host, listening.getsockname()[1])
    config = uvicorn.Config(
        service,
        http=PatientProtocol,
        ws="none",
        proxy_headers=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=10,
        limit_concurrency=MOST_CONNECTIONS,
        loop="auto",
    )
    hello = f"handful {__version__} serves {shown(store)} at {address.url}"
    server = Server(config, service, hello)
    server.run(sockets=[listening])
    return 0


def _listen(address: Address) -> socket.socket:
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    # asyncio sets TCP_NODELAY on sockets of this very protocol only. Without it, each answer waits
    # 40 ms for the caller's acknowledgement of its head.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(address)
    except OSError as error:
        raise StoreUnavailableError(f"cannot listen on {address.url}: {error.strerror}") from None
    listening.set_inheritable(True)
    return listening
