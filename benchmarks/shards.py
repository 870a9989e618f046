"""What a cluster costs a fleet: bulk calls in shards on two local workers, beside one `Fleet`.

    python -m benchmarks.shards

Both serve the same calls in turn, in one run; a row is the ratio of their medians. The workers are
processes on this machine with one thread each, and the fleet has as many threads as they have
together: what is compared is the way to the members, not the number of cores.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from handful import Fleet, ShardedFleet

MEMBERS = 2_000_000
ROUNDS = 9
SIZES = (10_000, 1_000_000)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    answer = call()
    return time.perf_counter() - start, answer


def compare(name: str, fleets: dict[str, Any], size: int, rounds: int) -> str:
    rng = np.random.default_rng(1)
    took: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds + 1):
        ids = rng.integers(0, MEMBERS, size)
        rewards = rng.integers(0, 2, size)
        first = None
        for kind, fleet in fleets.items():
            seconds, (arms, tickets) = timed(partial(fleet.decide, ids, labels=False))
            took.setdefault((kind, "decide"), []).append(seconds)
            seconds, _ = timed(partial(fleet.reward, ids, tickets, rewards))
            took.setdefault((kind, "reward"), []).append(seconds)
            first = arms if first is None else first
            assert (arms == first).all(), "the results differ"
    # The first round compiles, and maps pages.
    middle = {key: statistics.median(values[1:]) for key, values in took.items()}
    cells = []
    for kind in fleets:
        both = middle[kind, "decide"] + middle[kind, "reward"]
        one = middle["one", "decide"] + middle["one", "reward"]
        cells.append(f"{kind} {both * 1e3:9.1f} ms ({both / one:5.2f} x)")
    return f"{name:6} {size:>9,} pairs   " + "   ".join(cells)


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    arms = list(range(20))
    for policy in ("ucb-m", "race"):
        with tempfile.TemporaryDirectory() as folder:
            same: dict[str, Any] = {"members": MEMBERS, "arms": arms, "memory": 2, "seed": 7}
            shared: dict[str, Any] = {**same, "cluster": "local:2", "shards": 4, "threads": 1}
            fleets: dict[str, Any] = {
                "one": Fleet(policy, **same, threads=2),
                "shards": ShardedFleet(policy, **shared, folder=Path(folder) / "shards"),
                "durable": ShardedFleet(
                    policy, **shared, folder=Path(folder) / "durable", durable=True
                ),
            }
            for size in SIZES:
                print(compare(policy, fleets, size, rounds), flush=True)
            for fleet in fleets.values():
                fleet.close()


if __name__ == "__main__":
    main()
