"""A network between a server and its store that fails: clear refusals, and no split brain.

In the quick test a proxy stops forwarding: what is sent is taken, and nothing comes back. The long
test has a real network: PostgreSQL is in a network namespace with a cable for each server, and the
cable of one server is pulled. Meanwhile the other server goes on with the same bandits. When the
network is back, so is the server, and what it did not know is looked up.
"""

from __future__ import annotations

import itertools
import os
import shutil
import subprocess
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from handful.service.doctor import examine
from handful.service.ids import Ids
from handful.storage.postgres import PostgresStorage
from handful.storage.rows import ANSWERS, Kind
from tests.postgres import Postgres, shared
from tests.proxy import Proxy
from tests.service.server import PATIENCE, Answer, Client, Server

BANDIT = {"name": "a", "memory": 2, "arms": ["x", "y", "z"], "seed": 1}
QUICK = {
    "handful.storage.postgres.link.STATEMENT_SECONDS": 1.5,
    "handful.storage.postgres.link.SLACK_SECONDS": 0.5,
    "handful.storage.postgres.link.IDLE_SECONDS": 1.0,
    "handful.storage.postgres.link.TRANSACTION_SECONDS": 5.0,
    "handful.storage.postgres.link.LOCK_SECONDS": 1.0,
    "handful.storage.postgres.link.UNANSWERED_SECONDS": 1.0,
    "handful.storage.postgres.link.CONNECT_SECONDS": 2,
}
"""Time limits that a test can wait for."""


class Caller:
    """Sends decisions and rewards to one server, each until it is answered."""

    def __init__(self, server: Server, name: str) -> None:
        self.decisions: list[str] = []
        self.rewards: list[str] = []
        self.refusals: list[Answer] = []
        self.wrong: list[str] = []
        self._client = Client(server)
        self._name = name
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def _ask(self, method: str, path: str, body: Any, **headers: str) -> Answer:
        while True:
            answer = self._client.ask(method, path, body, **headers)
            if answer.status != 503:
                return answer
            self.refusals.append(answer)
            self._done.wait(0.02)

    def _work(self) -> None:
        try:
            for count in itertools.count():
                if self._done.is_set():
                    return
                key = f"{self._name} {count}"
                made = self._ask("POST", "/v1/bandits/a/decisions", {}, idempotency_key=key)
                assert made.status == 201, made
                id = made.body["decisions"][0]["id"]
                self.decisions.append(id)
                given = self._ask("PUT", f"/v1/decisions/{id}/reward", {"reward": 1.0})
                assert given.status == 200, given
                self.rewards.append(id)
        except Exception as error:
            self.wrong.append(repr(error))

    def wait_for(self, reached: Callable[[], bool]) -> None:
        """Wait until something has happened."""
        pause = threading.Event()
        for _ in range(int(PATIENCE / 0.02)):
            if reached() or self.wrong:
                break
            pause.wait(0.02)
        assert not self.wrong, self.wrong
        assert reached()

    def more(self, count: int) -> None:
        """Wait until so many more decisions were answered."""
        wanted = len(self.decisions) + count
        self.wait_for(lambda: len(self.decisions) >= wanted)

    def join(self) -> None:
        self._done.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        assert self.wrong == []


def check(address: str, callers: list[Caller]) -> None:
    """The store is sound, and has what callers were told, once, and nothing else."""
    with PostgresStorage(address) as storage:
        assert examine(storage).problems == []
        ids = Ids(storage.identity())
        with storage.begin() as tx:
            rows = list(tx.rows())
    decided = [ids.name(row.seq) for row in rows if row.kind == Kind.DECIDED]
    answered = [ids.name(row.ref or 0) for row in rows if row.kind in ANSWERS]
    assert sorted(decided) == sorted(id for each in callers for id in each.decisions)
    assert sorted(answered) == sorted(id for each in callers for id in each.rewards)
    for each in callers:
        for answer in each.refusals:
            assert "retry-after" in answer.headers
            assert "store" in answer.body["detail"]
            assert "postgresql:" not in answer.body["detail"], "its address is nobody's business"


def _has(found: list[Answer], wanted: int) -> bool:
    return len(found) >= wanted


def sever(
    near: Server, far: Server, cut: Callable[[], None], mend: Callable[[], None], times: int = 1
) -> int:
    """Cut the first server off while both are used; return how often it refused."""
    for server in (near, far):
        server.start()
    admin = Client(near)
    assert admin.ask("POST", "/v1/bandits", BANDIT).status == 201
    callers = [Caller(near, "near"), Caller(far, "far")]
    for _ in range(times):
        for caller in callers:
            caller.more(5)
        refusals = callers[0].refusals
        wanted = len(refusals) + 3
        cut()
        callers[0].wait_for(partial(_has, refusals, wanted))
        callers[1].more(10)  # the other one goes on, with the same bandit
        assert admin.ask("GET", "/healthz").status == 200
        assert admin.ask("GET", "/readyz").status == 503
        mend()
        for caller in callers:
            caller.more(5)
    for caller in callers:
        caller.join()
    check(str(far.store), callers)
    return len(callers[0].refusals)


def test_a_store_that_does_not_answer() -> None:
    address = shared().new_store()
    with Proxy(shared().port) as proxy:
        behind = shared().address(address.rpartition("=")[2], "127.0.0.1", proxy.port)
        with Server(behind, QUICK) as near, Server(address, QUICK) as far:
            assert sever(near, far, proxy.hold, proxy.release) > 0


# Real networks.


def ip(*words: str) -> None:
    """Run `ip`, of iproute2."""
    ran = subprocess.run(["ip", *words], capture_output=True, text=True)
    assert ran.returncode == 0, f"ip {' '.join(words)}: {ran.stderr}"


class Cables:
    """A network namespace with two cables to this one: at its end 10.213.0.2 and 10.213.1.2."""

    def __init__(self) -> None:
        self.tag = f"hf{os.getpid() % 100000}"

    def plug_in(self) -> None:
        ip("netns", "add", self.tag)
        ip("-n", self.tag, "link", "set", "lo", "up")
        for i in (0, 1):
            near, far = f"{self.tag}a{i}", f"{self.tag}b{i}"
            ip("link", "add", near, "type", "veth", "peer", "name", far)
            ip("link", "set", far, "netns", self.tag)
            ip("addr", "add", f"10.213.{i}.1/24", "dev", near)
            ip("link", "set", near, "up")
            ip("-n", self.tag, "addr", "add", f"10.213.{i}.2/24", "dev", far)
            ip("-n", self.tag, "link", "set", far, "up")

    def set(self, state: str) -> None:
        """Pull the first cable (`down`), or plug it in (`up`)."""
        ip("link", "set", f"{self.tag}a0", state)

    def remove(self) -> None:
        for words in (
            ("link", "del", f"{self.tag}a0"),
            ("link", "del", f"{self.tag}a1"),
            ("netns", "del", self.tag),
        ):
            subprocess.run(["ip", *words], capture_output=True, check=False)


@pytest.fixture
def cables() -> Iterator[Cables]:
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.fail("this test makes network namespaces: run it as root, with iproute2 installed")
    made = Cables()
    try:
        made.plug_in()
        yield made
    finally:
        made.remove()


@pytest.mark.long
def test_a_cable_is_pulled(cables: Cables) -> None:
    postgres = Postgres(hosts="127.0.0.1,10.213.0.2,10.213.1.2", namespace=cables.tag)
    try:
        name = postgres.new_store().rpartition("=")[2]
        addresses = [postgres.address(name, f"10.213.{i}.2") for i in (0, 1)]
        with Server(addresses[0]) as near, Server(addresses[1]) as far:
            refused = sever(near, far, lambda: cables.set("down"), lambda: cables.set("up"), 5)
            print(refused, "requests were refused")
    finally:
        postgres.close()
