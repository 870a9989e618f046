"""Where a proof for Race fails: the figures of "What is proven" in docs/mathematics.md."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np
import pytest

import handful
from handful.policies.racing import duels as race_duels
from handful.policies.racing.record import FIRST, FRESH, NO_DUEL, Constants


def rejected(mean: float, known: float, V: float) -> float:
    """Return the probability that an arm loses against an incumbent whose mean is known."""
    c = Constants()
    level, span = c.evidence * c.ratio * V, math.log(c.longest) + c.ratio * V
    longest = math.ceil(math.exp(span))
    going, lost = np.zeros(longest + 2), 0.0
    going[0] = 1.0
    for n in range(1, longest + 1):
        going[1 : n + 1] = going[1 : n + 1] * (1 - mean) + going[:n] * mean
        going[0] *= 1 - mean
        m = np.clip(np.arange(n + 1) / n, 1e-300, 1 - 1e-16)
        e = n * (m * np.log(m / known) + (1 - m) * np.log((1 - m) / (1 - known)))
        out = (m <= known) & (e > level * (1 - math.log(n) / span))
        lost += going[: n + 1][out].sum()
        going[: n + 1][out] = 0.0
    return float(lost)


def test_a_duel_errs_more_often_than_its_level_says() -> None:
    V = 1.2**9
    assert math.exp(-V * 0.4) == pytest.approx(0.127, abs=1e-3)
    assert rejected(0.5, 0.45, V) == pytest.approx(0.220, abs=1e-3)
    assert rejected(0.5, 0.5, V) == pytest.approx(0.794, abs=1e-3)


def test_the_passes_err_together(monkeypatch: pytest.MonkeyPatch) -> None:
    judge = race_duels.judge
    duels: list[tuple[float, bool, bool]] = []

    def judge_and_note(state: Any, slot: int, p: Any) -> None:
        inc, kind, level = state.incumbent, state.duel[slot], state.level[slot]
        high = state.sums[inc] >= 0.5 * state.pulls[inc]
        judge(state, slot, p)
        if kind in (FIRST, FRESH) and state.duel[slot] == NO_DUEL and state.arm[slot] == 0:
            duels.append((math.exp(-level), state.incumbent != slot, high))

    for module in ("race", "racing.duels"):
        monkeypatch.setattr(f"handful.policies.{module}.judge", judge_and_note)
    noted = []
    for seed in range(40):
        dice = random.Random(seed)
        policy = handful.policy("race", 10, memory=2, seed=seed, watch=0)
        duels.clear()
        for _ in range(5000):
            arm = policy.select()
            policy.update(arm, float(dice.random() < (0.45 if arm else 0.5)))
        noted += duels[1:6]
    planned, lost, high = (np.array(column, float) for column in zip(*noted, strict=True))
    # Independent duels with the planned probabilities would be so far off in one of 30,000 seeds.
    assert lost.sum() - planned.sum() > 4 * math.sqrt((planned * (1 - planned)).sum())
    assert high[lost > 0].mean() > 0.8
