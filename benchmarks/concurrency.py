"""What it costs that several servers decide for one bandit at once: regret, not time.

    make bench-concurrency   or, from the source tree: python -m benchmarks.concurrency

Decisions of a bandit are made one after the other, whoever asks. But a server that waits for the
reward of its decision does not stop the others. So with S servers up to S decisions are made before
the first of their rewards is known.

The simulator has this as `--delay batch:S`. The table has its regret beside that of real desks on a
real PostgreSQL: S desks, each with a connection and bandits in memory of its own, all decide before
the first gets its reward. Every desk has to catch up with all others before it decides.
"""

from __future__ import annotations

import argparse
import math
import random
import statistics
from typing import Any

from handful import simulate
from handful.instances import instance
from handful.service.about import About
from handful.service.bodies import NewBandit, NewDecisions
from handful.service.shared import SharedDesk
from handful.service.shared_session import PATIENCE
from handful.storage.postgres import PostgresStorage

POLICY, INSTANCE, MEMORY = "race", "linear:20", 4


def simulated(servers: int, horizon: int, runs: int) -> tuple[float, float]:
    """Return the mean regret in simulation, and the half-width of its 95% interval."""
    delay: dict[str, Any] = {} if servers == 1 else {"delay": f"batch:{servers}"}
    found = simulate(POLICY, INSTANCE, memory=MEMORY, horizon=horizon, runs=runs, seed=1, **delay)
    return _mean([float(each) for each in found.curve.per_run[:, -1]])


def served(servers: int, horizon: int, runs: int, address: str) -> tuple[float, float]:
    """Return the mean regret of bandits that real desks decide for, and its half-width."""
    means = [instance(INSTANCE).mean(i) for i in range(20)]
    desks = [SharedDesk(PostgresStorage(address)) for _ in range(servers)]
    names = [f"run-{i}" for i in range(runs)]
    arms = [str(i) for i in range(len(means))]
    dice = random.Random(1)
    with desks[0].batch() as session:
        for seed, name in enumerate(names):
            session.create(NewBandit(name=name, policy=POLICY, memory=MEMORY, arms=arms, seed=seed))
    regret = [0.0] * runs
    everything = [(About(tuple(names), rows=runs), False, PATIENCE)]
    for _ in range(horizon // servers):
        asked = []
        for desk in desks:
            with desk.batch() as session:
                session.prepare(everything)
                made = [session.decide(name, NewDecisions()).decisions[0] for name in names]
            asked.append(made)
        for desk, made in zip(desks, asked, strict=True):
            with desk.batch() as session:
                ids = tuple(each.id for each in made)
                session.prepare([(About((), ids, runs), False, PATIENCE)])
                for run, each in enumerate(made):
                    mean = means[int(each.arm)]
                    regret[run] += max(means) - mean
                    session.reward(each.id, float(dice.random() < mean))
    for desk in desks:
        desk.storage.close()
    return _mean(regret)


def _mean(values: list[float]) -> tuple[float, float]:
    return statistics.mean(values), 1.96 * statistics.stdev(values) / math.sqrt(len(values))


def main() -> None:
    from tests.postgres import Postgres

    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--servers", type=int, nargs="+", default=[1, 2, 8, 32])
    parser.add_argument("--horizon", type=int, default=3200, help="decisions (3200)")
    parser.add_argument("--runs", type=int, default=4000, help="in simulation (4000)")
    parser.add_argument("--bandits", type=int, default=40, help="on the store (40)")
    options = parser.parse_args()
    postgres = Postgres(settings="fsync = off\n")
    print(f"{POLICY}, M = {MEMORY}, {INSTANCE}, {options.horizon:,} decisions")
    print(f"{'servers':>8}{'simulated regret':>22}{'on PostgreSQL':>20}")
    try:
        for servers in options.servers:
            mean, half = simulated(servers, options.horizon, options.runs)
            real, about = served(servers, options.horizon, options.bandits, postgres.new_store())
            print(
                f"{servers:>8}{mean:>14.1f} ± {half:<5.1f}{real:>12.1f} ± {about:<5.1f}", flush=True
            )
    finally:
        postgres.close()


if __name__ == "__main__":
    main()
