"""A loop over one policy object for each of a thousand members, for packages without fleets."""

from __future__ import annotations

import gc
import json
import random
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

MEMBERS, PAIRS, K = 1000, 20_000, 10


def report(
    name: str,
    make: Callable[[int], Any],
    pair: Callable[[Any, Callable[[], float]], None],
    size: Callable[[Any], int] | None = None,
) -> None:
    """Print the figures of `benchmarks.fleet` for policies that `make` makes.

    `pair(policy, draw)` makes a decision and gives it a reward of 0 or 1. `size(policy)` is the
    bytes of a policy; None: as Python counts them.
    """
    draw = random.Random(1).random
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    began = time.perf_counter()
    policies = [make(i) for i in range(MEMBERS)]
    build = time.perf_counter() - began
    for policy in policies:
        for _ in range(K):
            pair(policy, draw)
    gc.collect()
    used = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    if size is not None:
        used = sum(size(policy) for policy in policies)
    draws = random.Random(2)
    ids = [draws.randrange(MEMBERS) for _ in range(PAIRS)]
    began, cpu = time.perf_counter(), time.process_time()
    for i in ids:
        pair(policies[i], draw)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(
        json.dumps(
            {
                "name": f"{name}, a loop, K = {K}", "members": MEMBERS,
                "bytes_each": used / MEMBERS, "build": build, "pairs": PAIRS / wall,
                "cpu": 1e9 * cpu / PAIRS,
            }
        )
    )  # fmt: skip
