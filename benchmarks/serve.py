"""The service under load, beside a bare app and beside itself without fsync, in one run.

    make bench-serve         or, from the source tree: python -m benchmarks.serve

Three servers take turns on free loopback ports: the bare starlette app of `benchmarks.bare`, which
decides nothing; `handful serve` as users run it, where every answer is on disk; and the same
without waiting for the disk. `benchmarks.load` loads each for the same time, with one bandit and
with a thousand. Each turn has a new store. The median of the rounds counts. Times vary with the
machine, so the ratio to the bare app is what to look at. Generator and server share the cores. On
Linux the processor time that the server took for a request is shown, too: it hardly depends on what
else the machine does.
"""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.load import Load, create_bandits
from benchmarks.servers import in_turns, loaded, options, processor_seconds, running, serve

BARE, DURABLE, NO_FSYNC = "bare starlette app", "handful serve", "handful serve, no fsync"
CONTESTANTS = (BARE, DURABLE, NO_FSYNC)
LEGEND = """generator: the share of a core that the load generator took
server us: processor time of the server for a request
bytes: by which the store grows for a decision and its reward"""


@dataclass(frozen=True)
class Row:
    """The median figures of a contestant.

    server_us    processor time of the server for a request, in microseconds
    store_bytes  by which its files grow for a decision and its reward
    """

    contestant: str
    bandits: int
    rate: float
    ratio: float
    p50: float
    p99: float
    errors: int
    generator_cpu: float
    server_us: float | None
    store_bytes: float | None


def command(contestant: str, port: int, folder: Path) -> list[str]:
    """Return the command that starts a contestant."""
    if contestant == BARE:
        return [sys.executable, "-m", "benchmarks.bare", "--port", str(port)]
    program = serve(str(folder / "store.db"), port)
    return program + (["--no-fsync"] if contestant == NO_FSYNC else [])


@contextmanager
def served(contestant: str, folder: Path) -> Iterator[tuple[str, int]]:
    """Start a contestant, and stop it in the end: its address and pid."""
    with running(lambda port: command(contestant, port, folder), folder) as started:
        yield started


def store_size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.glob("store.db*"))


def turn(
    contestant: str, bandits: int, clients: int, seconds: float, warm_up: float = 1.0
) -> dict[str, Any]:
    """Load a contestant that has a new store, and return the figures."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with served(contestant, folder) as (url, _):
            create_bandits(Load(url, bandits=bandits))
        size = store_size(folder)  # of a store that is closed, without a write-ahead log
        with served(contestant, folder) as (url, pid):
            before = processor_seconds(pid)
            (found,) = loaded([url], bandits, clients, seconds, warm_up)
            after = processor_seconds(pid)
        found["server_us"] = found["store_bytes"] = None
        if before is not None and after is not None:
            found["server_us"] = 1e6 * (after - before) / found["sent"]
        if size:
            found["store_bytes"] = 2 * (store_size(folder) - size) / found["sent"]
        return found


def row(contestant: str, bandits: int, turns: list[dict[str, Any]], bare: float) -> Row:
    """Return the medians of a contestant's turns."""

    def median(name: str) -> float:
        return float(statistics.median(turn[name] for turn in turns))

    def median_or_none(name: str) -> float | None:
        return None if any(turn[name] is None for turn in turns) else median(name)

    return Row(
        contestant,
        bandits,
        median("rate"),
        median("rate") / bare,
        median("p50"),
        median("p99"),
        sum(sum(turn["errors"].values()) for turn in turns),
        median("generator_cpu"),
        median_or_none("server_us"),
        median_or_none("store_bytes"),
    )


def table(rows: list[Row]) -> str:
    """Return the figures as text."""
    head = f"{'':<24}{'bandits':>8}{'requests/s':>12}{'of bare':>9}{'p50 ms':>8}{'p99 ms':>8}"
    lines = [f"{head}{'errors':>8}{'generator':>11}{'server us':>11}{'bytes':>8}"]
    for each in rows:
        used, stored = (
            "-" if value is None else f"{value:.0f}" for value in (each.server_us, each.store_bytes)
        )
        lines.append(
            f"{each.contestant:<24}{each.bandits:>8,}{each.rate:>12,.0f}{each.ratio:>9.2f}"
            f"{each.p50:>8.1f}{each.p99:>8.1f}{each.errors:>8}{each.generator_cpu:>11.0%}"
            f"{used:>11}{stored:>8}"
        )
    return "\n".join([*lines, LEGEND])


def main() -> None:
    given = options(__doc__)
    rows = []
    for bandits in given.bandits:
        take = partial(turn, bandits=bandits, clients=given.clients, seconds=given.seconds)
        turns, bare = in_turns(CONTESTANTS, given.rounds, take)
        rows += [row(name, bandits, turns[name], bare) for name in CONTESTANTS]
    print(json.dumps([asdict(each) for each in rows]) if given.json else table(rows))


if __name__ == "__main__":
    main()
