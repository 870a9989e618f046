"""Running the service: the store, the application and the HTTP server, from start to stop."""

from __future__ import annotations

import asyncio
import gc
import logging
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import NamedTuple

import uvicorn

from handful import __version__
from handful.errors import SettingError, StoreUnavailableError
from handful.service import http, logs
from handful.service.app import Service
from handful.service.auth import is_loopback
from handful.service.limits import Limits
from handful.service.origins import Origins
from handful.service.shared import desk_of
from handful.storage.opening import open_store, shown

MOST_CONNECTIONS = 4000
SIGNALS = (signal.SIGINT, signal.SIGTERM)
GARBAGE = (10_000, 20, 20)
"""How many objects may be made, less those that were freed, before Python looks for cycles among
them, and how many such looks come before one at older objects.

A batch of requests makes more than the usual 700 for a moment. Requests leave no cycles.
"""

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
        """Check all connections periodically; a timer for each would cost more."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        for protocol in list(self.server_state.connections):
            if isinstance(protocol, http.PatientProtocol):
                protocol.hang_up_if_late(now)
        loop.call_later(min(1.0, http.HEADER_SECONDS), self._look)

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
        """Stop: answer what has come, and no more.

        Nothing is logged here: the signal may have come while a line was being written.
        """
        self._service.live.end_streams()
        super().handle_exit(sig, frame)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Answer what has come, and close everything."""
        log.info("stopping")
        await super().shutdown(sockets)


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
        http=http.PatientProtocol,
        ws="none",
        proxy_headers=False,
        lifespan="on",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=int(http.IDLE_SECONDS),
        timeout_graceful_shutdown=10,
        limit_concurrency=MOST_CONNECTIONS,
        loop="auto",
    )
    hello = f"handful {__version__} serves {shown(store)} at {address.url}"
    server = Server(config, service, hello)
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GARBAGE)
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
