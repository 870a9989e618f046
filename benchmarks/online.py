"""The time of one decision and its reward, online, beside river's UCB on eight arms.

    make bench-online        or, from the source tree: python -m benchmarks.online

handful's policies remember 8 of 10,000 arms, river's all of its 8. Rewards are fair coins, so that
no arm settles the matter: a hard case for all, and for Race, which lets more arms come up the more
alike they are. Race is timed on two other sets of means as well, and there with tickets, too
(`decide` and `reward` instead of `select` and `update`). Everything runs in one process, that of
river's environment (`build/peers/river`), in turns; the best of several turns counts.
`import handful` is timed in processes of their own. The figures are ratios to river's time.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PULLS, TURNS = 10_000, 12
ARMS, MANY_ARMS, MEMORY = 10_000, 10**12, 8
ROOT = Path(__file__).parents[1]


def main() -> None:
    """Install river where it has its environment, and measure there."""
    from benchmarks.peers import ALL, installed

    (river,) = (peer for peer in ALL if peer.name == "river")
    python = installed(river, ROOT / "build" / "peers" / "river")
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    code = "from benchmarks.online import measure; measure()"
    subprocess.run([str(python), "-c", code], check=True, env={**os.environ, "PYTHONPATH": paths})


def measure() -> None:
    """Print the time of a decision and its reward for each contestant."""
    import handful

    contestants: dict[str, Callable[[], float]] = {"river UCB, 8 arms": _river}
    for cls in (handful.Race, handful.UCBM, handful.MOSSM, handful.TSM):
        for arms in (ARMS, MANY_ARMS):
            contestants[f"{cls.title}, M = {MEMORY}, K = {arms:.0e}"] = _ours(cls, arms)
    for name, highest in (("means up to 1", 1.0), ("click rates up to 0.05", 0.05)):
        contestants[f"Race, {name}"] = _ours(handful.Race, ARMS, highest)
        contestants[f"  with tickets, {name}"] = _ours(handful.Race, ARMS, highest, tickets=True)
    best = dict.fromkeys(contestants, float("inf"))
    for _ in range(TURNS):
        for name, run in contestants.items():
            best[name] = min(best[name], run())
    (theirs, *_) = best.values()
    for name, seconds in best.items():
        print(f"{name:<38} {1e6 * seconds:6.2f} us  {theirs / seconds:5.2f} times as fast")
    print(f"{'import handful':<38} {1e3 * _import_seconds():6.1f} ms")


def _river() -> float:
    from river import bandit

    policy: Any = bandit.UCB(delta=1, seed=1)
    arms = list(range(MEMORY))
    draw = random.Random(1).random
    began = time.process_time()
    for _ in range(PULLS):
        arm = policy.pull(arms)
        policy.update(arm, float(draw() < 0.5))
    return (time.process_time() - began) / PULLS


def _ours(
    cls: Callable[..., Any], arms: int, highest: float | None = None, tickets: bool = False
) -> Callable[[], float]:
    """Return a timed run: on fair coins, or on means drawn evenly up to the highest."""
    labels = [f"headline {i}" for i in range(ARMS)]
    draw_mean = random.Random(2).random
    means = {label: highest * draw_mean() for label in labels} if highest else None

    def run() -> float:
        policy = cls(arms=labels if arms == ARMS else arms, memory=MEMORY, seed=1)
        draw = random.Random(1).random
        began = time.process_time()
        if tickets:
            for _ in range(PULLS):
                arm, ticket = policy.decide()
                policy.reward(ticket, float(draw() < (means[arm] if means else 0.5)))
        else:
            for _ in range(PULLS):
                arm = policy.select()
                policy.update(arm, float(draw() < (means[arm] if means else 0.5)))
        return (time.process_time() - began) / PULLS

    return run


def _import_seconds() -> float:
    code = "import time; t = time.perf_counter(); import handful; print(time.perf_counter() - t)"
    turns = [subprocess.run([sys.executable, "-c", code], capture_output=True) for _ in range(9)]
    return min(float(turn.stdout) for turn in turns)


if __name__ == "__main__":
    main()
