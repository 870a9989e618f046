"""A TCP proxy between a server and its store, which can stop forwarding without a word.

    hold    both directions stand still; connections stay open, and new ones are taken
    cut     connections are closed
    refuse  connections are closed, and new ones at once

With `lose`, the connection is closed when something is seen on its way to the store: before it is
forwarded, or after that, without the answer.
"""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Self


class Proxy:
    """Forwards connections to a port of this machine."""

    def __init__(self, port: int) -> None:
        self._to = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open = threading.Event()
        self._open.set()
        self._refusing = False
        self._losing: tuple[bytes, bool] | None = None
        self.lost = threading.Event()
        self._sockets: set[socket.socket] = set()
        self._mute: set[socket.socket] = set()
        self._ended = False
        self._threads: list[threading.Thread] = []
        self._start(self._accept)

    def _start(self, work: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _accept(self) -> None:
        while not self._ended:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                near.close()
                continue
            far = socket.create_connection(("127.0.0.1", self._to))
            self._sockets |= {near, far}
            self._start(self._forward, near, far, True)
            self._start(self._forward, far, near, False)

    def _forward(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if is_request and self._losing is not None and self._losing[0] in data:
                    forward, self._losing = self._losing[1], None
                    if not forward:
                        self.lost.set()
                        break
                    self._mute.add(target)
                self._open.wait()
                if source in self._mute:
                    self.lost.set()
                    break
                target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def lose(self, what: bytes, *, forward: bool) -> None:
        """Close the connection on which this is sent next, before or after it is forwarded."""
        self.lost.clear()
        self._losing = what, forward

    def hold(self) -> None:
        """Forward nothing."""
        self._open.clear()

    def refuse(self) -> None:
        """Close all connections, and take none."""
        self._refusing = True
        self.cut()

    def cut(self) -> None:
        """Close all connections."""
        found, self._sockets = self._sockets, set()
        for each in found:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def release(self) -> None:
        """Forward everything again."""
        self._refusing = False
        self._open.set()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._ended = True
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.release()
        self.cut()
        for thread in self._threads:
            thread.join(10.0)
