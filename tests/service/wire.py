"""Sends hostile requests over sockets of this machine, and reads whatever comes back."""

from __future__ import annotations

import re
import socket
from contextlib import suppress

from tests.service.hostile import Hostile

PATIENCE = 30.0
"""Seconds without an answer or an end after which the service is said to hang."""
_STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
_LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)


class Answers:
    """Reads answers from a connection one after the other."""

    def __init__(self, line: socket.socket) -> None:
        self.line = line
        self._read = bytearray()
        self.ended = False
        """Whether no further answer will come."""

    def next(self, to_head: bool) -> int | None:
        """Return the status of the next answer; None if the connection was closed instead."""
        while b"\r\n\r\n" not in self._read:
            if not self._more():
                return None
        end = self._read.index(b"\r\n\r\n") + 4
        head = bytes(self._read[:end])
        status = _STATUS.match(head)
        assert status is not None, head[:80]
        if status[1] == b"100":
            del self._read[:end]
            return self.next(to_head)
        length = _LENGTH.search(head)
        end += int(length[1]) if length and not to_head else 0
        while len(self._read) < end and self._more():
            pass
        del self._read[:end]
        self.ended = self.ended or b"connection: close" in head.lower()
        return int(status[1])

    def _more(self) -> bool:
        more = self.line.recv(65536)
        self._read += more
        self.ended = self.ended or not more
        return bool(more)


class Line:
    """A connection that is used again as long as it can be."""

    def __init__(self, port: int) -> None:
        self._address = "127.0.0.1", port
        self._answers: Answers | None = None

    def send(self, hostile: Hostile) -> list[int]:
        """Send a request; return the statuses of the answers."""
        return self._whole(hostile) if hostile.whole else self._alone(hostile)

    def close(self) -> None:
        """Hang up."""
        if self._answers is not None:
            self._answers.line.close()
            self._answers = None

    def _whole(self, hostile: Hostile) -> list[int]:
        """Send a well-formed request on the connection that there is, or on a new one."""
        for _ in range(2):
            is_new = self._answers is None
            if self._answers is None:
                self._answers = Answers(_connected(self._address))
            status = None
            with suppress(ConnectionError):
                self._answers.line.sendall(hostile.raw)
                status = self._answers.next(hostile.raw.startswith(b"HEAD"))
            if status is None or self._answers.ended:
                self.close()
            if status is not None:
                return [status]
            if is_new:
                break
        return []

    def _alone(self, hostile: Hostile) -> list[int]:
        """Send anything on a connection of its own, and read what is expected."""
        found: list[int] = []
        with _connected(self._address) as line:
            answers = Answers(line)
            with suppress(ConnectionError):
                size = max(1, -(-len(hostile.raw) // hostile.parts))
                for start in range(0, len(hostile.raw), size):
                    line.sendall(hostile.raw[start : start + size])
            with suppress(OSError):
                if hostile.hang_up:
                    line.shutdown(socket.SHUT_WR)
            with suppress(ConnectionError):
                while not answers.ended and (not hostile.answers or len(found) < hostile.answers):
                    status = answers.next(hostile.raw.startswith(b"HEAD"))
                    found += [] if status is None else [status]
        return found


def _connected(address: tuple[str, int]) -> socket.socket:
    line = socket.create_connection(address, timeout=PATIENCE)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return line
