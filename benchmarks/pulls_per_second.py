"""Pulls per second of the compiled engine beside a textbook loop, in one run, on one thread.

The textbook loop is Algorithm 1 with UCB1 as one would write it down in Numba: at each pull, the
index of every arm in memory from its formula, one random number, one update. Both run the same job,
`linear:100` to 10^6 pulls, several times in turn; the best time of each counts. Prints a table and,
with --json, the figures.

    python benchmarks/pulls_per_second.py
"""

from __future__ import annotations

import argparse
import json
import math
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from handful.simulation import compiled
from handful.simulation.plan import cell

HORIZON = 10**6
N_ARMS = 100
ROUNDS = 5


def _textbook(means: Any, M: int, T: int, seed: int) -> float:
    np.random.seed(seed)
    K = len(means)
    order = np.random.permutation(K)
    incumbent = order[0]
    h0 = math.ceil((K - 1) / (M - 1))
    b = M * (M + 2)
    regret = 0.0
    clock = 0
    arms = np.zeros(M, np.int64)
    n = np.zeros(M)
    s = np.zeros(M)
    while clock < T:
        start = incumbent
        challengers = order[order != start]
        for j in range(h0):
            arms[0] = incumbent
            lo = j * (M - 1)
            hi = min(lo + M - 1, K - 1)
            m = hi - lo + 1
            arms[1:m] = challengers[lo:hi]
            n[:] = 0.0
            s[:] = 0.0
            for t in range(min(b, T - clock)):
                best = t
                if t >= m:
                    best = 0
                    best_index = -1.0
                    for i in range(m):
                        index = s[i] / n[i] + math.sqrt(2.0 * math.log(t) / n[i])
                        if index > best_index:
                            best_index = index
                            best = i
                n[best] += 1.0
                s[best] += 1.0 if np.random.random() < means[arms[best]] else 0.0
                regret += means[0] - means[arms[best]]
            clock += min(b, T - clock)
            incumbent = arms[np.argmax(n[:m])]
            if clock >= T:
                return regret
        b *= 2
    return regret


textbook = numba.njit(nogil=True)(_textbook)


def seconds(job: Callable[..., object], *arguments: object) -> float:
    began = time.perf_counter()
    job(*arguments)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print JSON")
    as_json = parser.parse_args().json
    means = np.linspace(0.99, 0.01, N_ARMS)
    rows = []
    for memory in (2, 10, 50):
        planned = cell("ucb-m", f"linear:{N_ARMS}", memory, HORIZON, runs=1)
        compiled.warm_up(planned)
        textbook(means, memory, 1000, 0)
        ours, theirs = math.inf, math.inf
        for turn in range(ROUNDS):
            ours = min(ours, seconds(compiled.simulate_runs, planned, [HORIZON], 1))
            theirs = min(theirs, seconds(textbook, means, memory, HORIZON, turn))
        rows.append(
            {
                "memory": memory,
                "handful_pulls_per_second": HORIZON / ours,
                "textbook_pulls_per_second": HORIZON / theirs,
                "ratio": theirs / ours,
            }
        )
    if as_json:
        print(json.dumps(rows))
        return
    print(f"UCB-M on linear:{N_ARMS}, {HORIZON:,} pulls, one thread, million pulls per second")
    print(f"{'M':>4} {'handful':>9} {'textbook':>9} {'ratio':>7}")
    for row in rows:
        print(
            f"{row['memory']:>4} {row['handful_pulls_per_second'] / 1e6:>9.1f} "
            f"{row['textbook_pulls_per_second'] / 1e6:>9.1f} {row['ratio']:>6.1f}x"
        )


if __name__ == "__main__":
    main()
