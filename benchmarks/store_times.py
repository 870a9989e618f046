"""The times that `benchmarks.saturation` needs, measured on a PostgreSQL of this machine.

    python -m benchmarks.store_times [--seconds 6]

One server is loaded by one client, so that every transaction has one request, and by 64, so that a
transaction has many. From both follow the processor times of the server and of the store: for a
transaction, and for each of its requests. A round trip is that of an empty statement, and a write
to disk is that of a page where the store is. The last line is a command for the simulation;
`--check` runs it, for one and two servers, beside what the real ones reach.
"""

from __future__ import annotations

import argparse
import os
import re
import statistics
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

from benchmarks.load import Load, create_bandits
from benchmarks.saturation import Times, simulated
from benchmarks.servers import loaded
from benchmarks.shared_store import served, tree_seconds

BANDITS = 1000
MANY = 64


class Turn(NamedTuple):
    """What was measured while servers were loaded."""

    rate: float
    """Requests a second."""
    p50: float
    """Of the seconds of a request."""
    batch: float
    """Requests in a transaction."""
    server: float
    """Seconds of the servers' processors for a request."""
    store: float
    """Seconds of the store's processors for a request."""


def commits(url: str) -> float:
    """Return how many transactions a server has made."""
    with urllib.request.urlopen(f"{url}/metrics") as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith("handful_commits "):
                return float(line.split()[1])
    raise ValueError("the server does not count its transactions")


def turn(store: str, pid: int, servers: int, clients: int, seconds: float) -> Turn:
    """Load servers on a store; `pid` is the process of the store."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        started = [stack.enter_context(served(store, Path(name))) for _ in range(servers)]
        urls = [url for url, _ in started]
        before = sum(tree_seconds(each) for _, each in started)
        store_before, made_before = tree_seconds(pid), sum(map(commits, urls))
        found = loaded(urls, BANDITS, clients * servers, seconds)
        sent = sum(each["sent"] for each in found)
        return Turn(
            sum(each["rate"] for each in found),
            statistics.mean(each["p50"] for each in found) / 1e3,
            sent / (sum(map(commits, urls)) - made_before),
            (sum(tree_seconds(each) for _, each in started) - before) / sent,
            (tree_seconds(pid) - store_before) / sent,
        )


def round_trip(address: str) -> float:
    """Return the median time of an empty statement, in seconds."""
    with psycopg.connect(address, autocommit=True) as connection:
        took = []
        for _ in range(2000):
            began = time.perf_counter()
            connection.execute("SELECT")
            took.append(time.perf_counter() - began)
    return statistics.median(took)


def flush(folder: Path) -> float:
    """Return the median time of writing a page of 8 KB to disk, in seconds."""
    took = []
    with (folder / "flush").open("wb", buffering=0) as file:
        for _ in range(200):
            began = time.perf_counter()
            file.write(bytes(8192))
            os.fdatasync(file.fileno())
            took.append(time.perf_counter() - began)
    return statistics.median(took)


def times_of(single: Turn, many: Turn, trip: float, flushed: float) -> Times:
    """Return the times of the simulation that explain two turns with one server."""
    # A request's time is that of its transaction, shared, and its own.
    batch, request = _parts(single.server, many.server, single.batch, many.batch)
    statement, row = _parts(single.store, many.store, single.batch, many.batch)
    return Times(request, batch, trip, statement, row, flushed)


def _parts(single: float, many: float, few: float, more: float) -> tuple[float, float]:
    """Return the time for a transaction and for a request, from two sizes of a transaction."""
    whole = (single - many) / (1 / few - 1 / more)
    return whole, max(0.0, many - whole / more)


def main() -> None:
    from tests.postgres import Postgres

    parser = argparse.ArgumentParser(prog="python -m benchmarks.store_times")
    parser.add_argument("--seconds", type=float, default=6.0, help="of each turn (6)")
    parser.add_argument("--check", action="store_true", help="compare with real servers")
    given = parser.parse_args()
    postgres = Postgres()
    try:
        store = postgres.new_store()
        pid = int((postgres.data / "postmaster.pid").read_text().split()[0])
        with tempfile.TemporaryDirectory() as name, served(store, Path(name)) as (url, _):
            create_bandits(Load(url, bandits=BANDITS))
        trip = round_trip(re.sub(r"[?&]schema=\w+", "", store))
        single, many = (turn(store, pid, 1, clients, given.seconds) for clients in (1, MANY))
        times = times_of(single, many, trip, flush(postgres.data))
        show(single, many, times)
        if given.check:
            check(times, store, pid, given.seconds)
    finally:
        postgres.close()


def show(single: Turn, many: Turn, times: Times) -> None:
    """Print what was measured and what follows from it."""
    for clients, each in ((1, single), (MANY, many)):
        print(
            f"{clients:>3} clients: {each.rate:,.0f} requests/s, {each.batch:.1f} in a transaction,"
            f" p50 {1e3 * each.p50:.2f} ms, {1e6 * each.server:.0f} us of the server and "
            f"{1e6 * each.store:.0f} us of the store for a request"
        )
    words = " ".join(
        f"--{name.replace('_', '-')} {1e6 * value:.0f}"
        for name, value in zip(Times._fields, times, strict=True)
    )
    print(f"python -m benchmarks.saturation {words}")


def check(times: Times, store: str, pid: int, seconds: float) -> None:
    """Compare the simulation with real servers, which here share their cores with the load."""
    for servers in (1, 2):
        real: Any = turn(store, pid, servers, 32, seconds)
        found = simulated(times, servers, BANDITS, cores=2)
        print(
            f"{servers} servers: {real.rate:,.0f} requests/s measured on shared cores, "
            f"{found.rate:,.0f} simulated with a machine for each"
        )


if __name__ == "__main__":
    main()
