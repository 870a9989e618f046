"""The race with a proof: its choices, and each inequality that the proof rests on."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

import handful
from handful.core.divergence import kl
from handful.errors import StateError
from handful.policies.proven_race import (
    evidence,
    has_share,
    is_due,
    is_out,
    lower_bound,
    volume,
)
from tests.helpers import order_of
from tests.policies.hands import Coin, assert_follows
from tests.policies.test_constant_space import world

PASSES = range(1, 9)


def lowest(m: float, level: float) -> float:
    """Return the least q with kl(m, q) <= level, by halving."""
    low, high = 0.0, m
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if kl(m, middle) > level else (low, middle)
    return high


def plain(order: list[int], flip: Coin) -> Iterator[int]:
    """The policy as the docstring has it, with a list of rewards for each arm."""
    K, incumbent, t, place = len(order), order[0], 0, 1
    seen: dict[int, list[float]] = {incumbent: []}
    for s in range(1, 99):
        V, g = (s + 3) ** 2 / 5, (2 * s + 7) / 5
        N, T = math.floor(math.exp(V)), math.floor(K * math.exp(V))
        while K == 1 or (t < T if s > 1 else t < N):
            yield incumbent
            seen[incumbent].append(flip(incumbent))
            t += 1
        assert len(seen[incumbent]) >= N
        leader, turns = incumbent, [order[(place + i) % K] for i in range(K)]
        for arm in turns:
            if arm == leader:
                continue
            seen[arm] = []
            m0, n0 = sum(seen[incumbent]) / len(seen[incumbent]), len(seen[incumbent])
            c = lowest(m0, (g + math.log(8 * K)) / n0)
            while True:
                yield arm
                seen[arm].append(flip(arm))
                t += 1
                n = len(seen[arm])
                m = sum(seen[arm]) / n
                if m < c and n * kl(m, c) >= g + math.log(8 / 3) + math.log(n) / 2:
                    break
                if n == N:
                    incumbent = arm if m > m0 else incumbent
                    break
        seen = {incumbent: []}


@pytest.mark.parametrize("K", [1, 2, 3, 5, 12])
@pytest.mark.parametrize("seed", [0, 2, 4])
@pytest.mark.parametrize("hard", [False, True])
def test_it_makes_the_choices_of_a_plain_program(K: int, seed: int, hard: bool) -> None:
    policy = handful.policy("proven-race", K, seed=seed)
    order = order_of(policy)
    assert_follows(policy, lambda flip: plain(order, flip), world(K, seed, hard), 4000)


def test_the_evidence_of_all_passes_adds_up() -> None:
    assert evidence(1) >= math.log(4)
    for s in PASSES:
        assert evidence(s) == pytest.approx(volume(s + 1) - volume(s))
        assert sum(evidence(i) for i in range(1, s + 1)) == pytest.approx(volume(s + 1) - volume(1))
        share = math.floor(math.exp(volume(s)))
        assert has_share(share, s)
        assert not has_share(share - 1, s)


@pytest.mark.parametrize("K", [2, 3, 4, 10, 1000])
def test_the_incumbent_has_its_share_when_a_pass_is_due(K: int) -> None:
    """Even if every challenger of the pass before took all the pulls that it may have."""
    for s in PASSES:
        share, T = math.floor(math.exp(volume(s))), math.floor(K * math.exp(volume(s)))
        ended = K * share if s == 1 else T + (K - 1) * share
        due = math.floor(K * math.exp(volume(s + 1)))
        assert is_due(due, due - ended, s + 1, K)
        assert not is_due(due - 1, due - 1 - ended, s + 1, K)


def test_the_mixture_loses_at_most_two_roots_of_n() -> None:
    """Lemma 2: B(S + 1/2, F + 1/2)/pi >= m^S (1 - m)^F / (2 sqrt(n))."""
    for n in range(1, 400):
        for S in range(n + 1):
            F, m = n - S, S / n
            mixed = math.lgamma(S + 0.5) + math.lgamma(F + 0.5) - math.lgamma(n + 1.0)
            likely = (S * math.log(m) if S else 0.0) + (F * math.log1p(-m) if F else 0.0)
            assert mixed - math.log(math.pi) >= likely - math.log(2 * math.sqrt(n)) - 1e-12


@pytest.mark.parametrize("mean", [0.03, 0.3, 0.5, 0.9, 0.99])
@pytest.mark.parametrize("s", [1, 2, 4])
def test_an_arm_as_good_as_the_bar_is_rarely_out(mean: float, s: int) -> None:
    """Lemma 3, by the exact distribution of the successes in 600 pulls."""
    going = {0: 1.0}
    out = 0.0
    for n in range(1, 601):
        after: dict[int, float] = {}
        for S, probability in going.items():
            after[S + 1] = after.get(S + 1, 0.0) + probability * mean
            after[S] = after.get(S, 0.0) + probability * (1 - mean)
        lost = {S for S in after if is_out(n, S / n, mean, s)}
        out += sum(after[S] for S in lost)
        going = {S: probability for S, probability in after.items() if S not in lost}
    assert 0.0 < out <= 0.75 * math.exp(-evidence(s))


@pytest.mark.parametrize("mean", [0.03, 0.5, 0.99])
@pytest.mark.parametrize("n", [24, 200])
@pytest.mark.parametrize("K", [2, 100])
def test_the_bar_is_rarely_above_the_mean(mean: float, n: int, K: int) -> None:
    """Lemma 1 for the bar, by the Binomial distribution."""
    above = sum(
        math.comb(n, S) * mean**S * (1 - mean) ** (n - S)
        for S in range(n + 1)
        if lower_bound(n, S / n, 1, K) > mean
    )
    assert above <= math.exp(-evidence(1)) / (8 * K)


def test_the_bar_is_what_halving_finds() -> None:
    for n, m in ((24, 0.0), (24, 0.5), (1000, 0.03), (500, 0.99), (500, 1.0)):
        level = (evidence(2) + math.log(80)) / n
        assert lower_bound(n, m, 2, 10) == pytest.approx(lowest(m, level), abs=1e-9)


@pytest.mark.parametrize("before", [5, 26, 40, 200, 400, 700])
def test_new_arms_come_up_next(before: int) -> None:
    policy: Any = handful.policy("proven-race", ["a", "b"], seed=1)
    for _ in range(before):
        policy.update(policy.select(), 0.0)
    policy.add_arms(["c", "d"])
    arms = []
    for _ in range(policy.news_within(policy._state, policy._p)):
        arms.append(policy.select())
        policy.update(arms[-1], 1.0 if arms[-1] == "c" else 0.0)
    assert {"c", "d"} <= set(arms)
    for _ in range(1000):
        arm = policy.select()
        policy.update(arm, 1.0 if arm == "c" else 0.0)
    assert policy.recommend() == "c"


@pytest.mark.parametrize("seed", range(4))
def test_it_starts_again_with_a_new_arm_that_does_not_come_up_again(seed: int) -> None:
    policy = handful.policy("proven-race", ["a", "b"], seed=seed)
    policy.remove_arms([policy.recommend()])
    policy.add_arms(["c", "d"])
    policy.remove_arms([policy.recommend()])
    for _ in range(100):
        policy.update(policy.select(), 0.5)
        assert len({*policy.arms_in_memory}) == len(policy.arms_in_memory)
    assert sorted(policy.arms_in_memory) == ["c", "d"]


def test_a_pass_that_cannot_be_is_refused() -> None:
    for change in (
        {"passes": 41},
        {"passes": -1},
        {"left": 10},
        {"bar": 1.5},
        {"leader": -1},
        {"passes": 0, "hand": 1},
        {"hand": 0, "best": 0, "left": 2},
    ):
        policy = handful.policy("proven-race", arms=9, seed=1)
        for _ in range(30):
            policy.update(policy.select(), 1.0)
        state: Any = policy._state
        for field, value in change.items():
            setattr(state, field, value)
        with pytest.raises(StateError):
            handful.from_bytes(policy.to_bytes(), arms=9)
