"""gittins, whose model is linear in features: here the name of the arm, without a context.

Its defaults otherwise: it explores at every time, and forgets, since it expects means that change.
The model has 2^20 weights, so that few arms share one. Time is the number of the decision, and no
decision expires.
"""

from __future__ import annotations

from itertools import count

import gittins

from benchmarks.drivers.real_loop import Decide, Reward, report

BITS = 20
NEVER = 1e12


def make(n_arms: int, seed: int) -> tuple[Decide, Reward]:
    state = gittins.create(BITS, NEVER)
    candidates = [(f"arm-{i}", {"arm": f"arm-{i}"}) for i in range(n_arms)]
    clock = count(1)
    now = 0.0

    def decide() -> tuple[int, str]:
        nonlocal now
        now = float(next(clock))
        record = gittins.decide(state, {}, candidates, now, f"run {seed}")
        return record.chosen, record.decision_id

    def reward(decision: str, value: float) -> None:
        gittins.learn(state, decision, value, now)

    return decide, reward


report("gittins", "its own engine, defaults", make)
