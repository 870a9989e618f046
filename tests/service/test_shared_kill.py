"""Two servers on one PostgreSQL, both killed at random moments, and PostgreSQL with them.

Eight clients send decisions with an `Idempotency-Key` and rewards, to either server, and send each
request again until it is answered. Servers are killed by SIGKILL, PostgreSQL is stopped in the mode
`immediate`, which is a crash, and each is started again. In the end, what the clients were told is
compared with the log, and the log with what is loaded by snapshots.
"""

from __future__ import annotations

import random
import signal
import threading
from typing import Any

import pytest

from handful.service.doctor import examine
from handful.storage.postgres import PostgresStorage
from tests.postgres import Postgres
from tests.service.server import PATIENCE, SMALL, Answer, Client, Server
from tests.service.test_kill import BANDITS, CLIENTS, Retrying, check_acknowledged

SMALL_SHARED = {
    "handful.service.shared_bandits.SAVED_AFTER": 20,
    "handful.service.bandits.MOST_LIVE": SMALL["handful.service.bandits.MOST_LIVE"],
    "handful.service.shared.MOST_DUE": 30,
    "handful.service.writer.SWEEP_EVERY": 0.05,
}
"""Constants with which bandits are saved, forgotten and loaded all the time."""


class Both(Retrying):
    """A client that sends each request to any server until it is answered."""

    def __init__(self, servers: list[Server], number: int, up: threading.Event) -> None:
        self._clients = [Client(server) for server in servers]
        self._which = random.Random(-number)
        self._pause = threading.Event()
        self.refused = 0
        super().__init__(servers[0], number, up)

    def _ask(self, method: str, path: str, body: Any, **headers: str) -> Answer:
        while True:
            assert self._up.wait(PATIENCE)
            try:
                answer = self._which.choice(self._clients).ask(method, path, body, **headers)
            except ConnectionError:
                self._pause.wait(0.01)
                continue
            if answer.status != 503:
                return answer
            self.refused += 1
            self._pause.wait(0.02)

    def join(self) -> None:
        super().join()
        for client in self._clients:
            client.close()


def check_store(address: str) -> None:
    """The store is sound, and by snapshots every bandit is what follows from the whole log."""
    with PostgresStorage(address) as storage:
        report = examine(storage)
        assert report.problems == []
        assert report.bandits == len(BANDITS)


def run_cycles(postgres: Postgres, cycles: int) -> None:
    dice = random.Random(cycles)
    up = threading.Event()
    address = postgres.new_store()
    with Server(address, SMALL_SHARED) as one, Server(address, SMALL_SHARED) as two:
        servers = [one.start(), two.start()]
        admin = Client(one)
        for bandit in BANDITS:
            assert admin.ask("POST", "/v1/bandits", bandit).status == 201
        admin.close()
        up.set()
        clients = [Both(servers, number, up) for number in range(CLIENTS)]
        pause = threading.Event()
        for cycle in range(cycles):
            pause.wait(dice.uniform(0.05, 0.4))
            if cycle % 3 == 2:
                postgres.stop("immediate")
                pause.wait(dice.uniform(0.0, 0.3))
                postgres.start()
            else:
                server = dice.choice(servers)
                assert server.stop(signal.SIGKILL) == -signal.SIGKILL
                server.start()
            if cycle % 10 == 9:
                check_store(address)
        for client in clients:
            client.join()
        for server in servers:
            server.stop(signal.SIGTERM if cycles % 2 else signal.SIGKILL)
    told = [client.told for client in clients]
    assert [wrong for each in told for wrong in each.wrong] == []
    print(sum(client.refused for client in clients), "requests were refused and sent again")
    check_store(address)
    with PostgresStorage(address) as storage:
        check_acknowledged(storage, told)


@pytest.fixture
def postgres() -> Any:
    """A PostgreSQL of this test's own, which writes to disk as it should."""
    made = Postgres()
    yield made
    made.close()


def test_killed_at_random_moments(postgres: Postgres) -> None:
    run_cycles(postgres, 3)


@pytest.mark.long
def test_killed_at_150_random_moments(postgres: Postgres) -> None:
    run_cycles(postgres, 150)
