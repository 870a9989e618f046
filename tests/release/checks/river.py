"""A policy in a loop, and in `evaluate_offline`."""

from __future__ import annotations

import random
from typing import Any

from river import bandit, stats

from handful.adapters.river import HandfulPolicy


def main() -> None:
    """Check this environment."""
    rng = random.Random(1)
    policy, arms = HandfulPolicy("race", memory=2, seed=1), ["a", "b", "c"]
    for _ in range(200):
        policy.update(policy.pull(arms), rng.random())
    assert str(policy.ranking[0]) in repr(policy)
    log: Any = [(arms, {}, rng.choice(arms), rng.random()) for _ in range(200)]
    _, used = bandit.evaluate_offline(policy.clone(), log, stats.Sum())
    assert used > 20
    print(f"200 pulls, {used} of a log")


if __name__ == "__main__":
    main()
