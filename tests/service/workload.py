"""Requests of all kinds to a desk, drawn at random, under a clock that the test moves."""

from __future__ import annotations

import random
from typing import Any

from handful.service.bandits import Bandits, StoreLookUp
from handful.service.bodies import BanditChange, NewBandit, NewDecisions
from handful.service.desk import Session
from handful.service.problems import Problem
from handful.service.shared import desk_of
from handful.storage import Storage

NEW: list[dict[str, Any]] = [
    {"name": "race", "memory": 3, "arms": [f"arm {i}" for i in range(12)], "seed": 1},
    {"name": "ucb", "policy": "ucb-m", "memory": 2, "arms": list("abcdef"), "seed": 2},
    {"name": "default", "memory": 2, "arms": list("abc"), "seed": 3, "window": 5.0, "default": 0.0},
    {"name": "lost", "memory": 2, "arms": list("abcd"), "seed": 4, "window": 2.0},
    {"name": "explore", "memory": 2, "arms": list("abcde"), "seed": 5, "explore": 0.3},
    {"name": "born", "memory": 2, "arms": ["first"], "seed": 6, "open": True},
]


class FakeClock:
    """A clock in milliseconds that the test moves."""

    def __init__(self, now: int = 1_700_000_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class Workload:
    """What callers of a desk do, by chance."""

    def __init__(self, storage: Storage, seed: int, clock: FakeClock | None = None) -> None:
        self.clock = clock or FakeClock()
        self.desk = desk_of(storage, self.clock)
        self.dice = random.Random(seed)
        self.open: list[str] = []
        self._count = 0
        with self.desk.batch() as session:
            if session.tx.bandit_named("race") is None:
                for given in NEW:
                    session.create(NewBandit(**given))

    def batch(self, requests: int = 4) -> None:
        """Send some requests in one transaction, and let time pass."""
        with self.desk.batch() as session:
            for _ in range(requests):
                self._request(session)
        self.clock.now += self.dice.choice((0, 1, 50, 700))

    def _request(self, session: Session) -> None:
        dice = self.dice
        self._count += 1
        count = f"{self.dice.randrange(10**9)} {self._count}"
        name = dice.choice(NEW)["name"]
        action = dice.random()
        if action < 0.45:
            given = NewDecisions(n=dice.choice((1, 2, 5)))
            if name == "race" and dice.random() < 0.4:
                given.allowed = [f"arm {i}" for i in range(12) if i == 0 or dice.random() < 0.7]
            if dice.random() < 0.3:
                given.keys = [f"own {count} {i}" for i in range(given.n)]
            self.open += [made.id for made in session.decide(name, given).decisions]
        elif action < 0.85 and self.open:
            id = self.open.pop(dice.randrange(len(self.open)))
            session.reward(id, dice.choice((0.0, 1.0, dice.random())))
        elif action < 0.88 and self.open:
            session.drop(self.open.pop())
        elif action < 0.93:
            session.once("somebody /v1", f"key {count}", b"digest", lambda: (200, b"{}" * 20))
        elif action < 0.96:
            session.add_arms(name, [f"new {count}"])
        elif action < 0.97 and name != "born":
            arms = session.arms(name, 0, 100).arms
            if len(arms) > 4:
                session.remove_arms(name, [dice.choice(arms)])
        elif action < 0.98 and name == "lost":
            session.change("lost", BanditChange(window=dice.choice((1.0, 2.0, 3.0))))
        elif action < 0.985:
            self._recreate(session, f"brief {dice.randrange(3)}")

    def _recreate(self, session: Session, name: str) -> None:
        try:
            session.delete(name)
        except Problem:
            session.create(NewBandit(name=name, memory=2, arms=["x", "y", "z"], seed=7))
            session.decide(name, NewDecisions(n=3))


def states(storage: Storage) -> tuple[int, dict[str, bytes]]:
    """Return the last row, and every bandit loaded by its snapshot and the rows after it."""
    tx = storage.begin()
    try:
        live, look_up = Bandits(), StoreLookUp(tx)
        found = {row.name: live.get(look_up, row.id).to_bytes() for row in tx.bandits()}
        return tx.last()[0], found
    finally:
        tx.rollback()  # loading bandits may have saved others
