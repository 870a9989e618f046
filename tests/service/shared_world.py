"""Several desks on one store in PostgreSQL, as several servers have them.

Each request goes to the next desk. So every bandit is changed by all of them in turn, and each has
to catch up with the others all the time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from handful.service.desk import Desk, Session
from handful.service.shared import SharedDesk
from handful.storage.postgres import PostgresStorage
from tests.postgres import shared
from tests.service.machine import Machine
from tests.service.world import Clock, World

T = TypeVar("T")


class SharedWorld(World):
    """Desks of one store, under one clock."""

    def __init__(self, servers: int = 2) -> None:
        self.address = shared().new_store()
        self.clock = Clock()
        self.desks = [self._opened() for _ in range(servers)]
        self._turn = 0

    def _opened(self) -> SharedDesk:
        return SharedDesk(PostgresStorage(self.address), self.clock)

    @property
    def desk(self) -> Desk:
        """The desk whose turn it is."""
        self._turn += 1
        return self.desks[self._turn % len(self.desks)]

    @desk.setter
    def desk(self, desk: Desk) -> None:
        raise NotImplementedError

    def do(self, work: Callable[[Session], T]) -> T:
        """Run a request in a transaction of its own."""
        with self.desk.batch() as session:
            return work(session)

    def save(self) -> None:
        """Save a snapshot of every bandit that a desk is up to date with."""
        desk = self.desk
        with desk.batch() as session:
            desk.bandits.save_all(session.look_up)

    def close(self) -> None:
        """Close the store."""
        for desk in self.desks:
            desk.storage.close()

    def crash(self) -> None:
        """End one server without saving anything, and start it again."""
        turn = self._turn % len(self.desks)
        self.desks[turn].storage.close()
        self.desks[turn] = self._opened()

    def restart(self) -> None:
        """Stop one server as a service does, and start it again."""
        turn = self._turn % len(self.desks)
        self.desks[turn].close()
        self.desks[turn] = self._opened()


class SharedMachine(Machine):
    """Requests to two desks in turn."""

    def new_world(self) -> World:
        """Return two desks on an empty store."""
        return SharedWorld()
