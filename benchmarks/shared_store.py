"""One and two servers on one PostgreSQL, beside one server on SQLite, in one run.

    make bench-shared        or, from the source tree: python -m benchmarks.shared_store

Everything runs on this machine: PostgreSQL, the servers, and the load generators share its cores.
Every answer is on disk, in all three. The contestants take turns, with one bandit and with a
thousand; the median of the rounds counts. Times vary with the machine, so the ratio to SQLite is
what to look at. The processor time of all servers and of PostgreSQL for a request is shown, too: if
each had a machine of its own, it would say how much one more server adds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.load import Load, create_bandits
from benchmarks.servers import in_turns, loaded, options, processor_seconds, running, serve

SQLITE, ONE, TWO = "SQLite, one server", "PostgreSQL, one server", "PostgreSQL, two servers"
CONTESTANTS = (SQLITE, ONE, TWO)


@dataclass(frozen=True)
class Row:
    """The median figures of a contestant."""

    contestant: str
    bandits: int
    rate: float
    ratio: float
    p50: float
    p99: float
    errors: int
    server_us: float
    postgres_us: float


@contextmanager
def served(store: str, folder: Path) -> Iterator[tuple[str, int]]:
    """Start a server, and stop it in the end: its address and pid."""
    with running(lambda port: serve(store, port), folder) as started:
        yield started


def tree_seconds(pid: int) -> float:
    """Return the processor time of a process and of all that it started, also if they ended."""
    total = processor_seconds(pid) or 0.0
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid:
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def turn(
    servers: int, store: str, bandits: int, clients: int, seconds: float, postgres: int | None
) -> dict[str, Any]:
    """Load a store by one or two servers, and return the figures."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        started = [stack.enter_context(served(store, Path(name))) for _ in range(servers)]
        pids = [pid for _, pid in started]
        before = [tree_seconds(pid) for pid in pids]
        store_before = tree_seconds(postgres) if postgres else 0.0
        found = loaded([url for url, _ in started], bandits, clients, seconds)
        used = sum(tree_seconds(pid) for pid in pids) - sum(before)
        store_used = tree_seconds(postgres) - store_before if postgres else 0.0
        sent = sum(each["sent"] for each in found)
        return {
            "rate": sum(each["rate"] for each in found),
            "p50": statistics.mean(each["p50"] for each in found),
            "p99": max(each["p99"] for each in found),
            "errors": sum(sum(each["errors"].values()) for each in found),
            "server_us": 1e6 * used / sent,
            "postgres_us": 1e6 * store_used / sent,
        }


def row(contestant: str, bandits: int, turns: list[dict[str, Any]], sqlite: float) -> Row:
    """Return the medians of a contestant's turns."""
    median = {name: float(statistics.median(each[name] for each in turns)) for name in turns[0]}
    return Row(
        contestant,
        bandits,
        median["rate"],
        median["rate"] / sqlite,
        median["p50"],
        median["p99"],
        sum(each["errors"] for each in turns),
        median["server_us"],
        median["postgres_us"],
    )


def table(rows: list[Row]) -> str:
    """Return the figures as text."""
    head = f"{'':<26}{'bandits':>8}{'requests/s':>12}{'of SQLite':>11}{'p50 ms':>8}{'p99 ms':>8}"
    lines = [f"{head}{'errors':>8}{'server us':>11}{'store us':>10}"]
    lines += [
        f"{each.contestant:<26}{each.bandits:>8,}{each.rate:>12,.0f}{each.ratio:>11.2f}"
        f"{each.p50:>8.1f}{each.p99:>8.1f}{each.errors:>8}{each.server_us:>11.0f}"
        f"{each.postgres_us:>10.0f}"
        for each in rows
    ]
    return "\n".join(lines)


def measured(bandits: int, given: argparse.Namespace, postgres: Any) -> list[Row]:
    """Return the rows for a number of bandits."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stores = {SQLITE: str(folder / "store.db"), ONE: postgres.new_store()}
        for store in stores.values():
            with served(store, folder) as (url, _):
                create_bandits(Load(url, bandits=bandits))
        stores[TWO] = stores[ONE]
        pid = int((postgres.data / "postmaster.pid").read_text().split()[0])

        def take(name: str) -> dict[str, Any]:
            servers, of = (2 if name == TWO else 1), (None if name == SQLITE else pid)
            return turn(servers, stores[name], bandits, given.clients, given.seconds, of)

        turns, sqlite = in_turns(CONTESTANTS, given.rounds, take)
        return [row(each, bandits, turns[each], sqlite) for each in CONTESTANTS]


def main() -> None:
    from tests.postgres import Postgres

    given = options(__doc__)
    postgres = Postgres()
    try:
        rows = [each for count in given.bandits for each in measured(count, given, postgres)]
    finally:
        postgres.close()
    print(json.dumps([asdict(each) for each in rows]) if given.json else table(rows))


if __name__ == "__main__":
    main()
