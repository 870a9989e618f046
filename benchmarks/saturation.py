r"""Where servers that share one store saturate: a simulation with measured times.

    python -m benchmarks.saturation --request 180 --batch 1900 --round-trip 90 --statement 1000 \
        --row 40 --flush 500

Times are in microseconds. Each server handles requests in batches, as `handful serve` does: it
takes what waits, up to 256 requests, locks their bandits, works, writes rows, commits, and answers.
Only the first lock of a batch is waited for; a request whose bandit another server has locked is
put off to the next batch. The store executes statements on its cores, and writes its log to disk
for all transactions together that wait for it. The callers of a server have so many requests open,
and send the next one when one is answered, so the rate is the highest that these servers reach.

The times are measured on a real store (`benchmarks.store_times`); the simulation adds nothing but
waiting. It knows nothing of the network between machines, of checkpoints or of vacuuming.
"""

from __future__ import annotations

import argparse
import random
from collections import deque
from collections.abc import Generator
from typing import Any, NamedTuple

import simpy

MOST_AT_ONCE = 256
SERVERS = (1, 2, 4, 8, 16, 32, 64, 100)
BANDITS = (1, 100, 10_000)


class Times(NamedTuple):
    """Measured times, in seconds."""

    request: float
    """Of a server's processor, for a request."""
    batch: float
    """Of a server's processor, for what a batch needs whatever its size."""
    round_trip: float
    """From a server to the store and back, beside the work there."""
    statement: float
    """Of the store's processor, for what a batch needs whatever its size."""
    row: float
    """Of the store's processor, for each row that is written."""
    flush: float
    """Of the store's disk, for one write of its log."""


class Outcome(NamedTuple):
    """What came out of a simulation."""

    rate: float
    """Requests answered in a second."""
    p50: float
    """Of the seconds from a request to its answer."""
    p99: float
    batch: float
    """Requests in a transaction, on average."""
    store: float
    """The share of the time in which a core of the store worked."""
    disk: float
    """The share of the time in which the disk of the store worked."""


class Store:
    """The store: its cores, its disk and its locks."""

    def __init__(self, world: simpy.Environment, times: Times, cores: int, bandits: int) -> None:
        self.world = world
        self.times = times
        self.cores = simpy.Resource(world, cores)
        self.locks: dict[int, simpy.Resource] = {}
        self.worked = self.wrote = 0.0
        self.n_bandits = bandits
        self._waiting: list[simpy.Event] = []
        self._writing = False

    def lock_of(self, bandit: int) -> simpy.Resource:
        """Return the lock of a bandit's row."""
        return self.locks.setdefault(bandit, simpy.Resource(self.world, 1))

    def work(self, seconds: float) -> Generator[Any, Any, None]:
        """Execute a statement."""
        with self.cores.request() as core:
            yield core
            yield self.world.timeout(seconds)
            self.worked += seconds

    def flush(self) -> simpy.Event:
        """Return what happens when all that was written until now is on disk."""
        flushed = self.world.event()
        self._waiting.append(flushed)
        if not self._writing:
            self.world.process(self._write())
        return flushed

    def _write(self) -> Generator[Any, Any, None]:
        self._writing = True
        while self._waiting:
            together, self._waiting = self._waiting, []
            yield self.world.timeout(self.times.flush)
            self.wrote += self.times.flush
            for flushed in together:
                flushed.succeed()
        self._writing = False


class Server:
    """A server and its callers."""

    def __init__(self, store: Store, open_requests: int, draw: random.Random) -> None:
        self.store = store
        self.draw = draw
        self.took: list[float] = []
        self.batches = 0
        self._queue = deque(self._new() for _ in range(open_requests))

    def _new(self) -> tuple[float, int]:
        """Return when a request came, and the bandit that it is for."""
        return self.store.world.now, self.draw.randrange(self.store.n_bandits)

    def run(self) -> Generator[Any, Any, None]:
        """Handle batches for ever."""
        store, world, times = self.store, self.store.world, self.store.times
        while True:
            taken = [self._queue.popleft() for _ in range(min(len(self._queue), MOST_AT_ONCE))]
            held: dict[int, Any] = {}
            done: list[tuple[float, int]] = []
            later: list[tuple[float, int]] = []
            for came, bandit in taken:
                lock = store.lock_of(bandit)
                if bandit not in held and (not held or lock.count == 0):
                    held[bandit] = lock.request()
                    yield held[bandit]
                (done if bandit in held else later).append((came, bandit))
            # Locks and rows are read in one round trip, rows written in another, then the commit.
            yield world.timeout(times.round_trip)
            yield from store.work(times.statement)
            yield world.timeout(times.batch + len(done) * times.request)
            yield world.timeout(2 * times.round_trip)
            yield from store.work(len(done) * times.row)
            yield store.flush()
            for bandit, lock in held.items():
                store.lock_of(bandit).release(lock)
            self.batches += 1
            self.took += [world.now - came for came, _ in done]
            self._queue.extendleft(reversed(later))
            self._queue.extend(self._new() for _ in done)


def simulated(
    times: Times,
    servers: int,
    bandits: int,
    cores: int,
    open_requests: int = 32,
    seconds: float = 2.0,
    seed: int = 0,
) -> Outcome:
    """Return what so many servers reach; the first tenth of the time is left out."""
    world = simpy.Environment()
    store = Store(world, times, cores, bandits)
    all_servers = [
        Server(store, open_requests, random.Random(f"{seed} {number}")) for number in range(servers)
    ]
    for server in all_servers:
        world.process(server.run())
    world.run(until=seconds / 10.0)
    for server in all_servers:
        server.took.clear()
        server.batches = 0
    store.worked = store.wrote = 0.0
    world.run(until=seconds * 1.1)
    took = sorted(time for server in all_servers for time in server.took)
    return Outcome(
        rate=len(took) / seconds,
        p50=took[len(took) // 2],
        p99=took[len(took) * 99 // 100],
        batch=len(took) / sum(server.batches for server in all_servers),
        store=store.worked / (cores * seconds),
        disk=store.wrote / seconds,
    )


def main() -> None:
    """Print a table for the times that are given."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.saturation")
    for name in Times._fields:
        option = f"--{name.replace('_', '-')}"
        parser.add_argument(option, type=float, required=True, metavar="US")
    parser.add_argument("--store-cores", type=int, default=8)
    parser.add_argument("--open", type=int, default=32, help="open requests of each server")
    given = parser.parse_args()
    times = Times(*(getattr(given, name) / 1e6 for name in Times._fields))
    print("bandits  servers  requests/s  p50 ms  p99 ms  a batch  store's cores  its disk")
    for bandits in BANDITS:
        for servers in SERVERS:
            found = simulated(times, servers, bandits, given.store_cores, given.open)
            print(
                f"{bandits:>7}  {servers:>7}  {found.rate:>10,.0f}  {1e3 * found.p50:>6.1f}  "
                f"{1e3 * found.p99:>6.1f}  {found.batch:>7.1f}  {found.store:>13.0%}  "
                f"{found.disk:>8.0%}"
            )


if __name__ == "__main__":
    main()
