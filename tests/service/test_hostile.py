"""Hostile requests to the real service: no failure, no hang, no growth, nothing in the log.

A few thousand in `make test`, 100,000 in `make test-long`. The service waits half a second for the
head and for the body of a request, so that slow senders do not take long.
"""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from handful.service.auth import new_key
from handful.service.doctor import examine
from handful.storage.sqlite import SQLiteStorage
from tests.service.hostile import MARK, NAMES, Forge, Hostile
from tests.service.wire import Line

PROGRAM = """
import sys
from pathlib import Path
from handful.service import http, serving
from handful.service.limits import Limits
http.HEADER_SECONDS = 0.5
limits = Limits(body_seconds=0.5)
address = serving.Address("127.0.0.1", 0)
sys.exit(serving.serve(Path(sys.argv[1]), address, limits, True, "debug", durable=False))
"""
START_WITHIN = 60.0
"""Seconds; far more than is needed, for machines that are busy."""
MOST_GROWTH = 64 * 2**20
"""Bytes: SQLite's cache of pages may still fill up after the warm-up."""


class Service:
    """The service in a process of its own."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "store.db"
        self._log = folder / "log.txt"
        self.key, row = new_key("hostile", ["admin"], None, 0)
        with SQLiteStorage(self.store) as storage, storage.begin() as tx:
            tx.put_caller_key(row)
        command = [sys.executable, "-c", PROGRAM, str(self.store)]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log, stdout=log)
        self.port = self._port()

    def _port(self) -> int:
        until = time.monotonic() + START_WITHIN
        while time.monotonic() < until and self.process.poll() is None:
            found = re.search(r"http://127\.0\.0\.1:(\d+)\n", self.log)
            if found:
                return int(found[1])
            time.sleep(0.02)
        raise AssertionError(f"the service did not start: {self.log}")

    @property
    def log(self) -> str:
        """What it has logged."""
        return self._log.read_text(errors="replace")

    def memory(self) -> int:
        """Return its resident bytes; 0 where the system does not say."""
        status = Path(f"/proc/{self.process.pid}/status")
        if not status.exists():
            return 0
        found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
        return int(found[1]) * 1024 if found else 0

    def stop(self) -> int:
        """Stop it, and return its exit code."""
        self.process.terminate()
        try:
            return self.process.wait(START_WITHIN)
        finally:
            self.process.kill()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service that runs."""
    running = Service(tmp_path)
    try:
        yield running
    finally:
        running.stop()


def _attack(service: Service, count: int, seed: int) -> Counter[tuple[str, int]]:
    """Send so many requests; return how often each kind had each status."""
    line = Line(service.port)
    found: Counter[tuple[str, int]] = Counter()
    warm = 0
    forge = Forge(seed, service.key)
    for number, hostile in enumerate(forge.requests(count)):
        if number == count // 4:
            warm = service.memory()
        statuses = line.send(hostile)
        assert all(status < 500 or status == 503 for status in statuses), hostile.raw[:2000]
        found.update((hostile.kind, status) for status in statuses)
    _still_works(line, forge)
    line.close()
    assert service.memory() - warm < MOST_GROWTH
    return found


def _still_works(line: Line, forge: Forge) -> None:
    for method, path, body, expected in (
        ("GET", "/healthz", b"", {200}),
        ("GET", "/readyz", b"", {200}),
        ("DELETE", f"/v1/bandits/{NAMES[0]}", b"", {204, 404}),
        ("POST", "/v1/bandits", b'{"name": "%s", "memory": 2, "arms": ["a", "b"]}', {201}),
        ("POST", f"/v1/bandits/{NAMES[0]}/decisions", b"{}", {201}),
    ):
        forge.draw.seed(1)  # the key is sent
        raw = forge._head(method, path, body.replace(b"%s", NAMES[0].encode()))
        assert set(line.send(Hostile("honest", raw, True))) <= expected


def _holds(service: Service, count: int, seed: int) -> None:
    found = _attack(service, count, seed)
    kinds = {kind for kind, _ in found}
    assert kinds >= {"fields", "mutated", "path", "garbage", "chunked", "pipelined", "nested"}
    assert found["honest", 201] > 0
    assert found["flood", 431] == sum(n for (kind, _), n in found.items() if kind == "flood")
    assert service.stop() == 0
    log = service.log
    assert '"route":"/v1/bandits"' in log
    for secret in (service.key, service.key[3:20], MARK, "evil.example", "Traceback", "WebSocket"):
        assert secret not in log
    assert '"level":"error"' not in log
    with SQLiteStorage(service.store) as storage:
        assert examine(storage).problems == []


def test_a_few_thousand_requests(service: Service) -> None:
    _holds(service, 2500, 1)


def test_long_100_000_requests(service: Service) -> None:
    _holds(service, 100_000, 2)
