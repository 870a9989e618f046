"""What the tests of the service share: a clock that is set by hand, and requests to a desk."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from handful.service import bodies as b
from handful.service.desk import Desk, Session
from handful.service.problems import Problem
from handful.storage.contract import Storage
from handful.storage.memory import MemoryStorage
from handful.storage.sqlite import SQLiteStorage

T = TypeVar("T")


class Clock:
    """Milliseconds since 1970, by hand."""

    def __init__(self, now: int = 1_000_000) -> None:
        self.now = now

    def __call__(self) -> int:
        """Return the time."""
        return self.now

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        self.now += int(1000 * seconds)


class World:
    """A desk, its store and its clock."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.clock = Clock()
        self._memory = MemoryStorage()
        self.desk = Desk(self.storage(), self.clock)

    def storage(self) -> Storage:
        """Return the store, opened again if it is a file."""
        return self._memory if self.path is None else SQLiteStorage(self.path, durable=False)

    def do(self, work: Callable[[Session], T]) -> T:
        """Run a request in a transaction of its own."""
        with self.desk.batch() as session:
            return work(session)

    def tried(self, work: Callable[[Session], T]) -> T | Problem:
        """Run a request in a transaction of its own; return why it is refused if it is."""
        try:
            return self.do(work)
        except Problem as problem:
            return problem

    def refused(self, work: Callable[[Session], Any]) -> int:
        """Return the status with which a request is refused; 0 if it is not."""
        answer = self.tried(work)
        return answer.status if isinstance(answer, Problem) else 0

    def create(self, name: str = "front", **given: Any) -> b.BanditShown:
        """Create a bandit."""
        full = {"memory": 2, "arms": ["a", "b", "c"], "seed": 1, **given}
        return self.do(lambda session: session.create(b.NewBandit(name=name, **full)))

    def decide(self, name: str = "front", **given: Any) -> list[b.DecisionMade]:
        """Make decisions."""
        return self.do(lambda session: session.decide(name, b.NewDecisions(**given))).decisions

    def reward(self, id: str, value: float) -> str:
        """Report a reward; return what became of it."""
        return self.do(lambda session: session.reward(id, value)).outcome

    def shown(self, name: str = "front") -> b.BanditShown:
        """Return a bandit as callers see it."""
        return self.do(lambda session: session.describe(name))

    def change(self, name: str = "front", **given: Any) -> b.BanditShown:
        """Change settings."""
        return self.do(lambda session: session.change(name, b.BanditChange(**given)))

    def save(self) -> None:
        """Save a snapshot of every bandit."""
        self.do(lambda session: self.desk.bandits.save_all(session.look_up))

    def bytes(self) -> dict[int, bytes]:
        """Return the state of every bandit."""

        def work(session: Session) -> dict[int, bytes]:
            rows = session.tx.bandits()
            return {row.id: session.loaded(row.id).to_bytes() for row in rows}

        return self.do(work)

    def close(self) -> None:
        """Close the store."""
        self.desk.storage.close()

    def crash(self) -> None:
        """End without saving anything, and start again."""
        self.desk.storage.close()
        self.desk = Desk(self.storage(), self.clock)

    def restart(self) -> None:
        """Stop as a service does, and start again."""
        self.desk.close()
        self.desk = Desk(self.storage(), self.clock)
