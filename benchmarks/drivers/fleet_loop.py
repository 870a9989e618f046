"""A loop over one policy object for each of a thousand members, for packages without fleets."""

from __future__ import annotations

import gc
import json
import random
import resource
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

K = 10


def report(
    name: str,
    make: Callable[[int], Any],
    pair: Callable[[Any, Callable[[], float]], None],
    *,
    counted: Callable[[], int] | None = None,
    members: int = 1000,
    pairs: int = 20_000,
) -> None:
    """Print the figures of `benchmarks.fleet` for policies that `make` makes.

    `pair(policy, draw)` makes a decision and gives it a reward of 0 or 1. `counted()` is the bytes
    in use; None: those that Python and NumPy have allocated. Slow policies make fewer pairs.
    """
    draw = random.Random(1).random
    if counted is None:
        tracemalloc.start()
    in_use = counted or _traced
    make(0)  # what is shared by all is there now
    gc.collect()
    before = in_use()
    began = time.perf_counter()
    policies = [make(i) for i in range(members)]
    build = time.perf_counter() - began
    for policy in policies:
        for _ in range(K):
            pair(policy, draw)
    gc.collect()
    used = in_use() - before
    tracemalloc.stop()
    draws = random.Random(2)
    ids = [draws.randrange(members) for _ in range(pairs)]
    began, cpu = time.perf_counter(), time.process_time()
    for i in ids:
        pair(policies[i], draw)
    wall, cpu = time.perf_counter() - began, time.process_time() - cpu
    print(
        json.dumps(
            {
                "name": f"{name}, a loop, K = {K}", "members": members,
                "bytes_each": used / members, "build": build, "pairs": pairs / wall,
                "cpu": 1e9 * cpu / pairs,
            }
        )
    )  # fmt: skip


def _traced() -> int:
    return tracemalloc.get_traced_memory()[0]


def resident() -> int:
    """The bytes of this process in memory, for policies that are not written in Python."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize()
