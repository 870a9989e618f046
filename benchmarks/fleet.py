"""Fleets of ten million beside NumPy columns and beside policies of every other package.

    make bench-fleet        or, from the source tree: python -m benchmarks.fleet [MEMBERS]

A pair is a decision and its reward. Ids are random, a million pairs a call (fewer where a call
would take minutes), and arms have fair coins. `first` is a call in which most members begin; of
later calls, the best counts. The fleet in NumPy columns is Thompson sampling with a beta count for
every arm of every member, without a memory bound; where its columns do not fit, there are fewer
members. No other package has fleets, so theirs are loops over one policy object for each of a
thousand members (fewer where they are large or slow), each in a separate environment: the
fastest of its policies for rewards of 0 or 1 that has no other state than counts. Bytes are those
of a policy after ten pulls, with the labels of its arms if it stores them.

Figures are pairs a second of wall time, and CPU time a pair: the machine may be busy, so compare
contestants of one run. The table is printed, and written to bench/fleet.md.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.peers import Peer, PeerError, installed, output

ROOT = Path(__file__).parents[1]
MEMBERS, PAIRS, TURNS = 10_000_000, 1_000_000, 12
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
    rows += [loop(Path(sys.executable), "benchmarks.singles", name) for name in ("ucb-m", "race")]
    rows += [row for peer in PEERS if (row := measured(peer)) is not None]
    table = as_table(rows)
    print(table)
    file = ROOT / "bench" / "fleet.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(table + "\n")
    print(f"written to {file.relative_to(ROOT)}", file=sys.stderr)


def as_table(rows: list[Row]) -> str:
    """Return a table in Markdown, for the documentation and for a terminal."""
    head = ("", "members", "bytes each", "pairs a second", "CPU ns a pair", "ucb-m is faster by")
    lines = [
        (
            row.name, f"{row.members:,}", f"{row.bytes_each:,.0f}", f"{row.pairs:,.0f}",
            f"{row.cpu:,.0f}", f"{row.cpu / rows[0].cpu:,.1f}",
        )
        for row in rows
    ]  # fmt: skip
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]

    def line(cells: tuple[str, ...]) -> str:
        first, *rest = zip(cells, widths, strict=True)
        texts = [first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)]
        return f"| {' | '.join(texts)} |"

    rule = "|".join(["-" * (widths[0] + 2), *("-" * (width + 1) + ":" for width in widths[1:])])
    notes = "\n".join(
        f"- {row.name}: built in {row.build:.2f} s; while members begin, {row.first:,.0f} pairs a "
        "second."
        for row in rows
        if row.first == row.first
    )
    return "\n".join([line(head), f"|{rule}|", *(line(each) for each in lines), "", notes])


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

    waiting = [rng.integers(0, members, pairs) for _ in range(TURNS + 1)]

    def call() -> None:
        ids = waiting.pop()
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

    waiting = [rng.integers(0, members, pairs) for _ in range(3)]

    def call() -> None:
        # Repeated ids in a call are decided for from the same counts, unlike those of a fleet.
        ids = waiting.pop()
        chosen = rng.beta(wins[ids], losses[ids]).argmax(axis=1)
        np.add.at(wins, (ids, chosen), won)
        np.add.at(losses, (ids, chosen), 1 - won)

    speed, cpu = timed(call, pairs, 3)
    return Row(f"NumPy columns, K = {arms}", members, 8 * arms, build, speed, cpu)


PEERS = (
    Peer("pymab", ("pymab>=2,<3",)),
    Peer("river", ("river>=0.21", "gymnasium")),
    Peer("SMPyBandits", ("SMPyBandits>=0.9.7", "numpy<1.24", "scipy<1.11")),
    Peer("MABWiser", ("mabwiser>=2.7",)),
    Peer("obp", ("numpy<2", "pandas", "scikit-learn", "pyyaml"), alone=("obp==0.5.7",)),
    Peer("vowpal", ("vowpalwabbit>=9.10",)),
    Peer("bayesianbandits", ("bayesianbandits>=1.5,<2",)),
    Peer("pybandits", ("pybandits>=8,<9",)),
    Peer("gittins", ("gittins>=2,<3",)),
)
"""Every package that we know of with a policy for one bandit at a time, if it is on PyPI."""


def measured(peer: Peer) -> Row | None:
    """The policies of another package, in a separate environment."""
    name = peer.name.lower()
    try:
        python = installed(peer, ROOT / "build" / "peers" / name)
        return loop(python, f"benchmarks.drivers.fleet_{name}")
    except PeerError as error:
        print(f"{peer.name} is left out: it {error}", file=sys.stderr)
        return None


def loop(python: Path, *driver: str) -> Row:
    """A loop over many policies, in a separate process."""
    printed = output(
        [str(python), "-m", *driver], "did not run", {**os.environ, "PYTHONPATH": str(ROOT)}
    )
    return Row(**json.loads(printed.splitlines()[-1]))


if __name__ == "__main__":
    main()
