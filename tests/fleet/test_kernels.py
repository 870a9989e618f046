"""The kernels of fleets are compiled once: every other process finds them in the cache."""

from __future__ import annotations

import subprocess
import sys

IN_ANOTHER_PROCESS = """
import handful
from handful.fleet.kernels.bulk import kernels_of

fleet = handful.Fleet("ucb-m", 10, arms=20, memory=2, seed=1)
arms, tickets = fleet.decide([3])
fleet.reward([3], tickets, [1.0])
fleet.recommend([3])
kernels = kernels_of(fleet._shared.acts_as)
used = kernels.decide, kernels.reward, kernels.look
misses = [sum(kernel.stats.cache_misses.values()) for kernel in used]
print(arms[0], *misses)
"""


def test_a_second_process_finds_the_kernels_of_the_first() -> None:
    first, second = (
        subprocess.run(
            [sys.executable, "-c", IN_ANOTHER_PROCESS], capture_output=True, text=True, check=True
        ).stdout.split()
        for _ in range(2)
    )
    assert second[0] == first[0]
    assert second[1:] == ["0", "0", "0"]
