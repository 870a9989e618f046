"""What every driver shares: the job, the clock, and the line that is printed.

The job is UCB1 on ten Bernoulli arms with means from 0.99 down to 0.01. A driver is run from the
root of the source tree, by the Python of an environment of its own, with the number of pulls. It
may import the standard library and its package, but not handful:

    build/peers/river/bin/python -m benchmarks.drivers.run_river 100000

It prints a JSON object: the package's `version`, and `ways`, one entry for each way in which the
package can do the job: `way`, `pulls`, `seconds` (of the job alone), `mean_reward`, which shows
whether the job was done at all (UCB1 reaches 0.985 in 10^5 pulls), and `documented`: whether the
package's documentation shows this way.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

K = 10
MEANS = [0.99 - 0.98 * arm / (K - 1) for arm in range(K)]

Way = Callable[[int], float]
"""Does the job with so many pulls and returns the sum of rewards."""


def report(peer: str, ways: dict[str, Way], undocumented: dict[str, Way] | None = None) -> None:
    """Do the job in each of these ways and print the figures."""
    pulls = int(sys.argv[1])
    done = []
    for way, job in {**ways, **(undocumented or {})}.items():
        job(100)  # imports and first calls are not the job
        began = time.perf_counter()
        rewards = job(pulls)
        seconds = time.perf_counter() - began
        done.append(
            {
                "way": way,
                "pulls": pulls,
                "seconds": seconds,
                "mean_reward": rewards / pulls,
                "documented": way in ways,
            }
        )
    print(json.dumps({"version": version(peer), "ways": done}))
