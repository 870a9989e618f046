"""Racing: against a plain program written from its definition, and with room for all arms."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest

import handful
from handful import Reservoir
from handful.policies.race import Constants, Race
from tests.helpers import choices_on, order_of
from tests.policies.hands import Coin


def kl(p: float, q: float) -> float:
    if p == q:
        return 0.0
    if q in (0.0, 1.0):
        return math.inf
    gain = p * math.log(p / q) if p > 0 else 0.0
    loss = (1 - p) * math.log((1 - p) / (1 - q)) if p < 1 else 0.0
    return gain + loss


@dataclass(eq=False)
class Arm:
    index: int
    n: int = 0
    s: float = 0.0

    @property
    def mean(self) -> float:
        return self.s / self.n


@dataclass
class Racing:
    """The policy as its definition says it, for M < K; `arms` come up in this order."""

    K: float
    M: int
    arms: Iterator[int]
    flip: Coin
    held: list[Arm] = field(default_factory=list)
    i: int = 0
    t: int = 0
    cost: float = 0.0

    def pulls(self) -> Iterator[int]:
        self.incumbent = self.come()
        yield self.pull(self.incumbent)[0]
        while True:
            yield from self.between()
            comer = self.come()
            if comer is self.incumbent:
                yield self.pull(comer)[0]
            else:
                yield from self.duel(comer, comer, self.t + 1)

    def pull(self, arm: Arm) -> tuple[int, float]:
        reward = self.flip(arm.index)
        arm.n += 1
        arm.s += reward
        self.t += 1
        return arm.index, reward

    def come(self) -> Arm:
        index = next(self.arms)
        self.i += 1
        for arm in self.held:
            if arm.index == index:
                return arm
        new = Arm(index)
        if len(self.held) < self.M:
            self.held.append(new)
        else:
            out = min((a for a in self.held if a is not self.incumbent), key=lambda a: a.mean)
            self.held[self.held.index(out)] = new
        return new

    def between(self) -> Iterator[int]:
        opens = self.opening()
        while True:
            others = [arm for arm in self.held if arm is not self.incumbent]
            best = max(others, key=lambda arm: arm.mean, default=self.incumbent)
            if self.t >= opens:
                return
            if best.mean > self.incumbent.mean + 1e-9:
                turn = best if best.n <= self.incumbent.n else self.incumbent
                yield from self.duel(best, turn, self.t, counted=False)
                opens = self.opening()
            else:
                yield self.pull(self.incumbent)[0]

    def first_pass(self) -> float:
        latest: float = min(20 * self.K, 0.4 * self.K**1.5)
        return latest

    def due(self, i: int) -> float:
        when: float = i ** (1 / 0.67)
        paid: float = max(1.0, self.cost) ** (1 / 0.6)
        if i < self.K:
            return min(max(when, paid), self.first_pass())
        r = 1.27 + 0.05 * math.log(self.M / 2) * (1 - self.M / self.K)
        first = max(2.0, math.log(self.K) / 0.6)
        planned = math.exp(first * r ** (i / self.K - 1))
        return max(when, planned, min(paid, 2 * planned))

    def opening(self) -> float:
        share = 0.15 / max(1, len(self.held) - 1)
        return max(self.due(self.i), self.t + (share * self.t - self.incumbent.n) / (1 - share))

    def duel(self, challenger: Arm, turn: Arm, t0: int, counted: bool = True) -> Iterator[int]:
        first = self.i <= self.K
        c = 0.7
        if challenger.n == 0:
            c = 0.2 if first else 0.43
        longest = min(t0**0.57, self.first_pass() ** 0.33)
        if not first:
            longest = min(t0, 8 * self.due(self.i - 1) / self.K)
        longest = max(2.0, longest)
        incumbent = self.incumbent
        while True:
            index, reward = self.pull(turn)
            yield index
            if turn is challenger and counted:
                self.cost += incumbent.mean - reward
            w = incumbent.n / (incumbent.n + 2 * challenger.n)
            surprise = challenger.n * kl(challenger.mean, incumbent.mean)
            if challenger.mean > incumbent.mean + 1e-9:
                if challenger.n > incumbent.n or surprise > 1.2 * math.log(self.t):
                    self.incumbent = challenger
                    return
            elif w * surprise > c * math.log(t0) * (1 - math.log(challenger.n, longest)):
                return
            turn = challenger if challenger.n <= incumbent.n else incumbent


def coins(means: Callable[[int], float], seed: int, whole: bool) -> Coin:
    flips = random.Random(seed)

    def flip(arm: int) -> float:
        x = float(flips.random() < means(arm))
        return x if whole else 0.5 * x + 0.5 * flips.random() * means(arm)

    return flip


def drawn(seed: int, scale: float = 1.0) -> Callable[[int], float]:
    """Means of endless arms; without a scale, one of 30 ahead of equal ones."""
    if scale == 0.0:
        return lambda arm: 0.5 if arm % 30 else 0.7
    return lambda arm: scale * random.Random(1000 * seed + arm).betavariate(0.7, 1.5)


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize(
    ("K", "scale", "M"),
    [
        *itertools.product([None], [1.0], [2, 3, 7]),
        *itertools.product([8, 30], [1.0], [2, 3, 7]),
        *itertools.product([200], [0.4], [2, 3, 7]),
        (4, 0.6, 2),  # ties may last as long as everything before them
        (3000, 0.4, 3),  # 20 K comes before 0.4 K^1.5
        (30, 0.0, 3),  # the second pass is held up by what the first has cost, but not for ever
    ],
)
def test_it_makes_the_choices_of_its_definition(
    K: int | None, scale: float, M: int, whole: bool
) -> None:
    for seed in range(3):
        means = drawn(seed, scale)
        policy = Race(K if K else Reservoir(lambda i: i), M, seed=seed)
        order: Iterator[int] = itertools.count()
        if K:
            order = itertools.cycle(order_of(policy))
        twin = Racing(K or math.inf, M, order, coins(means, seed, whole)).pulls()
        flip = coins(means, seed, whole)
        for t in range(max(2000, min(40 * (K or 0), 60_000))):
            arm = policy.select()
            assert arm == next(twin), t
            policy.update(arm, flip(arm))
        assert len(policy.arms_in_memory) <= M


CASES = [(8, 1.0, 3), (30, 1.0, 3), (4, 0.6, 2), (200, 0.4, 7), (30, 0.0, 3), (3000, 0.4, 3)]
"""Some settings of the test above."""


@pytest.mark.parametrize("constant", Constants._fields)
def test_its_definition_would_catch_a_change_of_any_constant(constant: str) -> None:
    class Changed(Race):
        name = "changed-race"
        constants = Constants()._replace(**{constant: 1.1 * getattr(Constants(), constant)})

    def differs(K: int, scale: float, M: int, seed: int) -> bool:
        def choices(cls: type[Race]) -> list[int]:
            flip = coins(drawn(seed, scale), seed, whole=scale == 0.0)
            pulls = max(2000, min(40 * K, 60_000))
            return choices_on(cls(K, M, seed=seed), pulls, lambda t, arm: flip(arm))

        return choices(Race) != choices(Changed)

    assert any(differs(*case, seed) for case in CASES for seed in (0, 1))


@pytest.mark.parametrize("K", [1, 2, 5, 12])
@pytest.mark.parametrize("more", [0, 3])
def test_with_room_for_all_arms_it_is_imed(K: int, more: int) -> None:
    for seed in range(4):
        means = drawn(seed)
        race = Race(K, max(2, K + more), seed=seed)
        imed = handful.policy("imed", K, seed=seed)
        ours, theirs = coins(means, seed, True), coins(means, seed, True)
        for t in range(800):
            arm = race.select()
            assert arm == imed.select(), t
            reward = ours(arm)
            assert reward == theirs(arm)
            race.update(arm, reward)
            imed.update(arm, reward)
        assert race.arms_in_memory == imed.arms_in_memory
        assert race.recommend() == imed.recommend()


@pytest.mark.parametrize("M", [2, 8])
def test_the_luckiest_of_equal_arms_does_not_keep_the_best_out_for_long(M: int) -> None:
    # It is 3.7 and 3.3 times the mean; with passes 1.4 apart 12 and 9 times.
    means = [0.55, *[0.5] * 19]
    regret = handful.simulate("race", means, memory=M, horizon=10**6, runs=1000, seed=0).regret
    assert regret.quantile(0.99) < 4.0 * regret.mean


@pytest.mark.parametrize(("M", "most"), [(2, 40_000), (10, 20_000)])
def test_one_good_arm_is_found_among_very_many_equal_ones(M: int, most: float) -> None:
    # It is 26,500 and 11,600; with ties of t0^0.57 pulls in the first pass 93,000 and 32,000.
    means = [0.9, *[0.1] * 999]
    regret = handful.simulate("race", means, memory=M, horizon=200_000, runs=100, seed=0).regret
    assert regret.mean < most


@pytest.mark.parametrize("reward", [0.3, 0.7])
def test_equal_rewards_are_ties_whatever_their_sums_round_to(reward: float) -> None:
    # 0.3 + 0.3 + ... is not n times 0.3: compared as they are, 640 of the arms had come up.
    policy = Race(1000, 2, seed=0)
    for _ in range(60_000):
        policy.update(policy.select(), reward)
    assert policy._state.tried >= 1000
