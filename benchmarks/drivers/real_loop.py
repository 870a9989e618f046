"""A loop over the decisions of another package's policy on arms with given means.

    python -m benchmarks.drivers.real_NAME MEANS HORIZON DELAY FIRST LAST

MEANS is a JSON file with the mean of each arm. Runs FIRST to LAST - 1 are made, each with seeds of
its own. The reward of decision t is handed over right after decision t + DELAY was made. Prints a
JSON object: the `version` of the package, the `policy`, the `regrets` of the runs (the sum over
decisions of the highest mean less the mean of the arm) and the `seconds` of processor time.
"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import deque
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

Decide = Callable[[], tuple[int, Any]]
"""Makes a decision: the arm, and what the policy wants back with its reward."""
Reward = Callable[[Any, float], None]
Make = Callable[[int, int], tuple[Decide, Reward]]
"""Makes a policy, given the number of arms and a seed."""


def run(make: Make, means: list[float], horizon: int, delay: int, number: int) -> float:
    """Return the regret of one run."""
    decide, reward = make(len(means), 1 + number)
    draw = random.Random(f"rewards of run {number}").random
    best, regret = max(means), 0.0
    waiting: deque[tuple[Any, float]] = deque()
    for _ in range(horizon):
        arm, ticket = decide()
        mean = means[arm]
        regret += best - mean
        waiting.append((ticket, 1.0 if draw() < mean else 0.0))
        if len(waiting) > delay:
            reward(*waiting.popleft())
    return regret


def report(package: str, policy: str, make: Make) -> None:
    """Make the runs that the command line asks for, and print what came out."""
    file, *numbers = sys.argv[1:]
    horizon, delay, first, last = map(int, numbers)
    means = json.loads(Path(file).read_text())
    began = time.process_time()
    regrets = [run(make, means, horizon, delay, number) for number in range(first, last)]
    seconds = time.process_time() - began
    shown = {"version": version(package), "policy": policy, "regrets": regrets, "seconds": seconds}
    print(json.dumps(shown))
