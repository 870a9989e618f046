"""Fleets of ten million beside NumPy columns and beside loops over policies of other packages.

    make bench-fleet        or, from the source tree: python -m benchmarks.fleet [MEMBERS]

A pair is a decision and its reward. Ids are random, a million pairs a call (fewer where a call
would take minutes), and arms have fair coins. `first` is a call in which most members begin; of
later calls, the best counts. The fleet in NumPy columns is Thompson sampling with a beta count for
every arm of every member, without a memory bound; where its columns do not fit, there are fewer
members. River and gittins are loops over one policy object for each of a thousand members, in
environments of their own. Figures are pairs a second of wall time, and CPU time a pair: the machine
may be busy, so compare contestants of one run.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
MEMBERS, PAIRS, TURNS = 10_000_000, 1_000_000, 6
ARMS = 1000


class Row(NamedTuple):
    """A contestant's figures."""

    name: str
    members: int
    bytes_each: float
    build: float
    pairs: float
    """A second, of wall time."""
    cpu: float
    """Nanoseconds of CPU time for a pair."""
    first: float = float("nan")


def main() -> None:
    members = int(float(sys.argv[1])) if len(sys.argv) > 1 else MEMBERS
    rows = [ours(name, members) for name in ("ucb-m", "ts-m", "race")]
    rows += [columns(members, 10), columns(max(100, members // 100), ARMS)]
    rows += [row for name in ("river", "gittins") if (row := peer(name)) is not None]
    print(
        f"{'':<34}{'members':>12}{'bytes':>9}{'build s':>9}{'pairs/s':>12}{'CPU ns':>9}"
        f"{'first/s':>12}{'ucb-m is':>10}"
    )
    for row in rows:
        print(
            f"{row.name:<34}{row.members:>12,}{row.bytes_each:>9,.0f}{row.build:>9.2f}"
            f"{row.pairs:>12,.0f}{row.cpu:>9,.0f}{row.first:>12,.0f}"
            f"{row.cpu / rows[0].cpu:>9.1f}x"
        )


def timed(call: Callable[[], None], pairs: int, turns: int) -> tuple[float, float]:
    """Return the most pairs a second, and the least CPU time of one, of several turns."""
    wall, cpu = float("inf"), float("inf")
    for _ in range(turns):
        began, used = time.perf_counter(), time.process_time()
        call()
        wall = min(wall, time.perf_counter() - began)
        cpu = min(cpu, time.process_time() - used)
    return pairs / wall, 1e9 * cpu / pairs


def ours(name: str, members: int) -> Row:
    """A fleet of handful's, with two arms in memory."""
    import handful

    rng = np.random.default_rng(1)
    pairs = min(PAIRS, members)
    small = handful.Fleet(name, 10, arms=ARMS, memory=2, seed=1)
    small.reward([1], small.decide([1])[1], [1.0])  # compiles
    began = time.perf_counter()
    fleet = handful.Fleet(name, members, arms=ARMS, memory=2, seed=1)
    build = time.perf_counter() - began

    def call() -> None:
        ids = rng.integers(0, members, pairs)
        _, tickets = fleet.decide(ids)
        fleet.reward(ids, tickets, won)

    won = (rng.random(pairs) < 0.5).astype(float)
    first, _ = timed(call, pairs, 1)
    every = np.arange(members)
    for at in range(0, members, PAIRS):  # all members begin
        some = every[at : at + PAIRS]
        fleet.reward(some, fleet.decide(some)[1], np.zeros(len(some)))
    speed, cpu = timed(call, pairs, TURNS)
    return Row(
        f"handful {name}, M = 2, K = {ARMS}", members, fleet.bytes_per_member, build, speed, cpu,
        first,
    )  # fmt: skip


def columns(members: int, arms: int) -> Row:
    """Thompson sampling in two NumPy arrays, with counts of every arm."""
    rng = np.random.default_rng(1)
    pairs = min(PAIRS // 2, 50_000_000 // arms // 10, members)
    began = time.perf_counter()
    wins, losses = (np.ones((members, arms), np.float32) for _ in range(2))
    build = time.perf_counter() - began
    won = (rng.random(pairs) < 0.5).astype(np.float32)

    def call() -> None:
        # Repeated ids in a call are decided for from the same counts, unlike those of a fleet.
        ids = rng.integers(0, members, pairs)
        chosen = rng.beta(wins[ids], losses[ids]).argmax(axis=1)
        np.add.at(wins, (ids, chosen), won)
        np.add.at(losses, (ids, chosen), 1 - won)

    speed, cpu = timed(call, pairs, 3)
    return Row(f"NumPy columns, K = {arms}", members, 8 * arms, build, speed, cpu)


PEERS = {
    "river": (("river>=0.21", "gymnasium"), "river"),
    "gittins": (("gittins>=2,<3",), "gittins"),
}


def peer(name: str) -> Row | None:
    """A loop over a thousand policies of another package, in an environment of its own."""
    from benchmarks.peers import Peer, PeerError, installed

    requirements, folder = PEERS[name]
    try:
        python = installed(Peer(name, requirements, 0), ROOT / "build" / "peers" / folder)
    except PeerError as error:
        print(f"{name} is left out: it {error}", file=sys.stderr)
        return None
    paths = os.pathsep.join([str(ROOT)])
    command = [str(python), "-m", f"benchmarks.drivers.fleet_{name}"]
    ran = subprocess.run(
        command, capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": paths}, cwd=ROOT,
    )  # fmt: skip
    if ran.returncode:
        print(f"{name} is left out: {ran.stderr.splitlines()[-1:]}", file=sys.stderr)
        return None
    return Row(**json.loads(ran.stdout.splitlines()[-1]))


if __name__ == "__main__":
    main()
