"""kill -9 at random moments, under clients that retry: nothing acknowledged is lost or doubled.

Eight clients send decisions with an `Idempotency-Key` and rewards, and send each request again
until it is answered. The server is killed and started again. In the end, what the clients were told
is compared with the log, and the log with what is loaded by snapshots.
"""

from __future__ import annotations

import random
import signal
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest

from handful.service.bandits import Bandits, StoreLookUp
from handful.service.doctor import examine, replay
from handful.service.ids import Ids
from handful.storage import SQLiteStorage, Storage
from handful.storage.rows import ANSWERS, Kind, Row
from tests.service.server import PATIENCE, SMALL, Answer, Client, Server

CLIENTS = 8
BANDITS: list[dict[str, Any]] = [
    {"name": "race", "memory": 3, "arms": [f"arm {i}" for i in range(12)], "seed": 1},
    {"name": "ucb", "policy": "ucb-m", "memory": 2, "arms": list("abcdef"), "seed": 2},
    {"name": "default", "memory": 2, "arms": list("abc"), "seed": 3, "window": 0.2, "default": 0.0},
    {"name": "lost", "memory": 2, "arms": list("abcd"), "seed": 4, "window": 0.05},
    {"name": "explore", "memory": 2, "arms": list("abcde"), "seed": 5, "explore": 0.3},
    {"name": "born", "arms": ["first"], "seed": 6, "open": True, "memory": 2},
]


class Acknowledged:
    """What one client was told."""

    def __init__(self) -> None:
        self.decisions: dict[str, list[Any]] = {}
        """By `Idempotency-Key`."""
        self.rewards: dict[str, float] = {}
        self.added: list[tuple[str, str]] = []
        self.wrong: list[str] = []


class Retrying:
    """A client that sends each request until it is answered."""

    def __init__(self, server: Server, number: int, up: threading.Event) -> None:
        self.told = Acknowledged()
        self.done = threading.Event()
        self._client = Client(server)
        self._number = number
        self._dice = random.Random(number)
        self._up = up
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._thread.start()

    def join(self) -> None:
        self.done.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
        self._client.close()

    def _ask(self, method: str, path: str, body: Any, **headers: str) -> Answer:
        while True:
            assert self._up.wait(PATIENCE)
            try:
                answer = self._client.ask(method, path, body, **headers)
            except ConnectionError:
                continue
            if answer.status != 503:
                return answer

    def _work(self) -> None:
        try:
            count = 0
            while not self.done.is_set():
                count += 1
                self._one(f"{self._number}-{count}")
        except Exception as error:
            self.told.wrong.append(repr(error))

    def _one(self, key: str) -> None:
        dice = self._dice
        name = dice.choice(BANDITS)["name"]
        if dice.random() < 0.05:
            label = f"new {key}"
            answer = self._ask(
                "POST", f"/v1/bandits/{name}/arms", {"arms": [label]}, idempotency_key=key
            )
            self._expect(answer, 200)
            self.told.added.append((name, label))
            return
        body: dict[str, Any] = {"n": dice.choice((1, 1, 3))}
        if name == "race" and dice.random() < 0.3:
            body["allowed"] = [f"arm {i}" for i in range(12) if dice.random() < 0.7] + ["arm 0"]
        answer = self._ask(
            "POST", f"/v1/bandits/{name}/decisions", body, idempotency_key=f"key {key}"
        )
        self._expect(answer, 201)
        made = self.told.decisions[f"key {key}"] = answer.body["decisions"]
        for decision in made:
            if dice.random() < 0.8:
                value = dice.choice((0.0, 1.0, dice.random()))
                answer = self._ask(
                    "PUT", f"/v1/decisions/{decision['id']}/reward", {"reward": value}
                )
                self._expect(answer, 200, 410)
                if answer.status == 200:
                    self.told.rewards[decision["id"]] = value

    def _expect(self, answer: Answer, *statuses: int) -> None:
        if answer.status not in statuses:
            self.told.wrong.append(f"{answer}")


def run_cycles(store: Path, cycles: int) -> None:
    dice = random.Random(cycles)
    up = threading.Event()
    with Server(store, SMALL) as server:
        server.start()
        admin = Client(server)
        for bandit in BANDITS:
            assert _asked(admin, bandit).status == 201
        admin.close()
        up.set()
        clients = [Retrying(server, number, up) for number in range(CLIENTS)]
        pause = threading.Event()
        for cycle in range(cycles):
            pause.wait(dice.uniform(0.0, 0.25))
            up.clear()
            assert server.stop(signal.SIGKILL) == -signal.SIGKILL
            if cycle % 10 == 9:
                check_store(store)
            server.start()
            up.set()
        for client in clients:
            client.join()
        server.stop(signal.SIGKILL)
        lines = list(server.lines)
    told = [client.told for client in clients]
    assert [wrong for each in told for wrong in each.wrong] == []
    assert not [line for line in lines if '"level":"error"' in line], lines
    check_store(store)
    with SQLiteStorage(store) as storage:
        check_acknowledged(storage, told)


def _asked(client: Client, bandit: dict[str, Any]) -> Answer:
    while True:
        try:
            return client.ask("POST", "/v1/bandits", bandit)
        except ConnectionError:  # it does not listen yet
            continue


def check_store(store: Path) -> None:
    """The store is sound, and by snapshots every bandit is what follows from the whole log."""
    with SQLiteStorage(store) as storage:
        assert examine(storage).problems == []
        tx = storage.begin()
        made, live, look_up = replay(tx), Bandits(), StoreLookUp(tx)
        assert len(made) == len(BANDITS)
        for number, bandit in made.items():
            assert live.get(look_up, number).to_bytes() == bandit.to_bytes()
        tx.rollback()


def check_acknowledged(storage: Storage, told: list[Acknowledged]) -> None:
    """What clients were told is in the log, once; the log has no decision twice."""
    ids = Ids(storage.identity())
    with storage.begin() as tx:
        rows = {row.seq: row for row in tx.rows()}
        labels = {row.id: tx.labels(row.id) for row in tx.bandits()}
        bodies = [
            msgspec.json.decode(answer.body)
            for key in sorted({key for each in told for key in each.decisions})
            for name in (each["name"] for each in BANDITS)
            if (answer := tx.answered(f"anybody POST /v1/bandits/{name}/decisions", key))
        ]
    decisions = [made for each in told for batch in each.decisions.values() for made in batch]
    assert len(decisions) > 50
    numbers = [ids.number(made["id"]) for made in decisions]
    assert len(set(numbers)) == len(numbers)
    for made, number in zip(decisions, numbers, strict=True):
        row = rows[number or 0]
        assert row.kind == Kind.DECIDED
        assert labels[row.bandit][row.ref or 0] == made["arm"]
    # Every client has got all its answers, so the log has not one decision more.
    assert sorted(row.seq for row in rows.values() if row.kind == Kind.DECIDED) == sorted(
        number for number in numbers if number is not None
    )
    assert len(bodies) == sum(len(each.decisions) for each in told)

    print(len(decisions), "decisions and", sum(len(each.rewards) for each in told), "rewards")

    answers: dict[int, list[Row]] = {}
    for row in rows.values():
        if row.kind in ANSWERS:
            answers.setdefault(row.ref or 0, []).append(row)
    assert all(len(each) == 1 for each in answers.values())
    for each in told:
        for id, value in each.rewards.items():
            (row,) = answers[ids.number(id) or 0]
            assert (row.kind, row.value) == (Kind.REWARDED, value)
        for name, label in each.added:
            (bandit,) = (i for i, listed in enumerate(BANDITS, 1) if listed["name"] == name)
            assert list(labels[bandit].values()).count(label) == 1


def test_killed_at_random_moments(tmp_path: Path) -> None:
    run_cycles(tmp_path / "store.db", 50)


@pytest.mark.long
def test_killed_at_a_thousand_random_moments(tmp_path: Path) -> None:
    run_cycles(tmp_path / "store.db", 1000)
