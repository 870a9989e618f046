"""`handful serve` in a process of its own, which can be started again at once, and clients of it.

A first process imports everything and forks for each start, so that a start takes little time. It
also sets constants of modules: small ones make snapshots and checkpoints matter in a short test.
"""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, NamedTuple, Self

FORKS = """
import importlib, json, os, sys
from handful.cli import main
from handful.service import serving
for name, value in json.loads(sys.argv[1]).items():
    module, _, constant = name.rpartition(".")
    setattr(importlib.import_module(module), constant, value)
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        os.close(0)
        sys.argv[1:] = json.loads(line)
        main()
        os._exit(0)
    print(json.dumps({"started": child}), flush=True)
    _, status = os.waitpid(child, 0)
    print(json.dumps({"ended": os.waitstatus_to_exitcode(status)}), flush=True)
"""

PATIENCE = 120.0
"""Seconds after which a test gives up; no test takes nearly so long."""

SMALL = {
    "handful.service.bandits.MOST_ROWS": 40,
    "handful.service.bandits.MOST_LIVE": 3,
    "handful.service.desk.MOST_DUE": 30,
    "handful.service.writer.SWEEP_EVERY": 0.01,
}
"""Constants with which bandits are saved, evicted and loaded all the time."""


class Answer(NamedTuple):
    """What a server answered."""

    status: int
    body: Any
    headers: dict[str, str]


class Server:
    """A server of one store."""

    def __init__(
        self, store: Path | str, constants: Mapping[str, float] | None = None, *options: str
    ) -> None:
        self.store = store
        self._options = options
        self.port = 0
        self.lines: list[str] = []
        """What the servers have logged."""
        self._said: queue.Queue[Any] = queue.Queue()
        self._process = subprocess.Popen(
            [sys.executable, "-c", FORKS, json.dumps(dict(constants or {}))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._threads = [
            threading.Thread(target=work, daemon=True) for work in (self._listen, self._hear)
        ]
        for thread in self._threads:
            thread.start()
        self.pid: int | None = None
        self.clients: list[Client] = []

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(json.loads(line))

    def _hear(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self.lines.append(line.rstrip())
            found = re.search(r"serves .* at http://127\.0\.0\.1:(\d+)", line)
            if found:
                self._said.put({"port": int(found[1])})

    def _wait_for(self, *wanted: str) -> dict[str, int]:
        found: dict[str, int] = {}
        while not any(name in found for name in wanted):
            found |= self._said.get(timeout=PATIENCE)
            if "started" in found:
                self.pid = found["started"]
        return found

    def start(self) -> Self:
        """Start a server; return when it listens."""
        assert self._process.stdin is not None
        given = ["serve", "--store", str(self.store), "--port", "0", *self._options]
        self._process.stdin.write(json.dumps(given) + "\n")
        self._process.stdin.flush()
        found = self._wait_for("port", "ended")
        if "ended" in found:
            raise RuntimeError(f"the server ended with {found['ended']}: {self.lines[-5:]}")
        if self.pid is None:
            self._wait_for("started")
        self.port = found["port"]
        return self

    def stop(self, sig: int = signal.SIGTERM) -> int:
        """Send a signal to the server; return its exit code when it has ended."""
        if self.pid is None:
            self._wait_for("started")
        assert self.pid is not None
        os.kill(self.pid, sig)
        code = self._wait_for("ended")["ended"]
        self.pid = None
        return code

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for client in self.clients:
            client.close()
        if self.pid is not None:
            self.stop(signal.SIGKILL)
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(timeout=PATIENCE)
        for thread in self._threads:
            thread.join(timeout=PATIENCE)
        for pipe in (self._process.stdout, self._process.stderr):
            assert pipe is not None
            pipe.close()


class Client:
    """One connection to a server, which is made again when it breaks."""

    def __init__(self, server: Server) -> None:
        self._server = server
        server.clients.append(self)
        self._connection: HTTPConnection | None = None
        self._port = 0

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """Send a request once; raise `ConnectionError` if no whole answer comes."""
        try:
            if self._connection is None or self._port != self._server.port:
                self.close()
                self._port = self._server.port
                self._connection = HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if body is not None:
                sent["Content-Type"] = "application/json"
            raw = None if body is None else json.dumps(body).encode()
            self._connection.request(method, path, raw, sent)
            response = self._connection.getresponse()
            text = response.read()
            headers_out = {name.lower(): value for name, value in response.getheaders()}
            said = json.loads(text) if "json" in headers_out.get("content-type", "") else text
            return Answer(response.status, said, headers_out)
        except (OSError, HTTPException) as error:
            self.close()
            raise ConnectionError(str(error)) from error

    def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None
