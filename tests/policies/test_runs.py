"""Rules of success runs: each against a list-based twin."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import handful
from handful.policies import Policy
from handful.simulation import simulate
from tests.policies.hands import Coin, T, Twin, assert_follows, coins, made


def until_failures_in_a_row(limit: Callable[[int], int]) -> Twin:
    def twin(flip: Coin) -> Iterator[int]:
        for arm in itertools.count():
            in_a_row = 0
            while in_a_row < limit(arm + 1):
                yield arm
                in_a_row = 0 if flip(arm) else in_a_row + 1

    return twin


def until_failures(k: int) -> Twin:
    def twin(flip: Coin) -> Iterator[int]:
        for arm in itertools.count():
            failures = 0
            while failures < k:
                yield arm
                failures += not flip(arm)

    return twin


def nonrecalling(flip: Coin) -> Iterator[int]:
    for arm in itertools.count():
        run = 0
        while True:
            yield arm
            won = flip(arm)
            if run < math.sqrt(T):
                run += bool(won)
                if not won:
                    break


def sqrt_run(flip: Coin) -> Iterator[int]:
    runs: list[int] = []
    for arm in range(math.ceil(math.sqrt(T))):
        run = 0
        while True:
            yield arm
            if not flip(arm):
                break
            run += 1
            if run >= math.sqrt(T):
                while True:
                    yield arm
                    flip(arm)
        runs.append(run)
    best = runs.index(max(runs))
    while True:
        yield best
        flip(best)


def learning(flip: Coin) -> Iterator[int]:
    runs = [0]
    arm = 0
    for _ in range(math.ceil(math.sqrt(T) * math.log(T))):
        yield arm
        if flip(arm):
            runs[arm] += 1
        else:
            arm += 1
            runs.append(0)
    best = runs.index(max(runs[: arm + 1]))
    while True:
        yield best
        flip(best)


TWINS: list[tuple[str, dict[str, int], Twin]] = [
    ("herschkorn", {}, until_failures_in_a_row(lambda i: i)),
    ("fixed-run", {"k": 1}, until_failures_in_a_row(lambda i: 1)),
    ("fixed-run", {"k": 3}, until_failures_in_a_row(lambda i: 3)),
    ("k-failure", {}, until_failures(1)),
    ("k-failure", {"k": 4}, until_failures(4)),
    ("nonrecalling-run", {}, nonrecalling),
    ("sqrt-run", {}, sqrt_run),
    ("sqrt-log-learning", {}, learning),
]


@pytest.mark.parametrize(("name", "given", "twin"), TWINS)
@pytest.mark.parametrize("seed", range(12))
def test_it_makes_the_choices_of_a_plain_program(
    name: str, given: dict[str, int], twin: Twin, seed: int
) -> None:
    assert_follows(made(name, **given), twin, lambda: coins(seed), T)


@pytest.mark.parametrize(("name", "given", "twin"), TWINS)
@pytest.mark.parametrize("seed", range(12))
def test_it_makes_the_choices_of_a_plain_program_where_runs_are_short(
    name: str, given: dict[str, int], twin: Twin, seed: int
) -> None:
    # sqrt(T) is an integer, and is reached by the number of arms and not by a run.
    assert math.sqrt(T) == 20

    def low() -> Coin:
        flips = random.Random(seed)
        return lambda arm: float(flips.random() < 0.6)

    assert_follows(made(name, **given), twin, low, T)


@pytest.mark.parametrize(
    ("horizon", "arms"), [(100, 10), (101, 11), (99, 10), (81, 9), (1, 1), (2, 2)]
)
def test_sqrt_run_looks_at_the_square_root_of_t_arms_rounded_up(horizon: int, arms: int) -> None:
    policy = handful.policy("sqrt-run", lambda i: i, horizon=horizon, seed=1)
    assert drive_with(policy, 0.0, 30) == [*range(arms), *[0] * (30 - arms)]


@pytest.mark.parametrize(("horizon", "run"), [(100, 10), (101, 11), (99, 10), (1, 1)])
@pytest.mark.parametrize("name", ["sqrt-run", "nonrecalling-run"])
def test_a_run_of_the_square_root_of_t_successes_settles_it(
    name: str, horizon: int, run: int
) -> None:
    for successes, settled in ((run, True), (run - 1, False)):
        policy = handful.policy(name, lambda i: i, horizon=horizon, seed=1)
        drive_with(policy, 1.0, successes)
        drive_with(policy, 0.0, 1)
        expected = 0 if settled or (name == "sqrt-run" and horizon == 1) else 1
        assert policy.select() == expected


def test_robbins_goes_round_and_round() -> None:
    policy = made("robbins", r=2)
    order = [arm for arm, _ in itertools.groupby(drive_with(policy, 0.0, 36))]
    assert sorted(order[:9]) == list(range(9))
    assert order[9:] == order[:9]
    winner = made("robbins")
    assert set(drive_with(winner, 1.0, 50)) == {winner.recommend()}


def drive_with(policy: Policy, reward: float, pulls: int) -> list[Any]:
    choices = []
    for _ in range(pulls):
        choices.append(policy.select())
        policy.update(choices[-1], reward)
    return choices


def test_an_iterators_labels_are_kept_only_while_in_memory() -> None:
    source = handful.Reservoir(f"arm {i}" for i in itertools.count())
    policy = handful.policy("sqrt-run", source, horizon=10**6, seed=1)
    drive_with(policy, 0.0, 300)
    assert len(source._held) <= 2


def test_regret_of_the_nonrecalling_run_is_what_its_closed_form_gives() -> None:
    # A run of 1000 successes never comes where no mean exceeds 0.6, so the rule is 1-failure: an
    # arm of mean mu is pulled 1/(1-mu) times, and a pull wins E[mu/(1-mu)] / E[1/(1-mu)].
    # On I4 mu is uniform on (0, 0.6): 1/(1-mu) has mean ln(2.5)/0.6. 40 runs are within 4 standard
    # errors but for one in 16,000 seeds.
    mean_pulls = math.log(2.5) / 0.6
    expected = 10**6 * (0.6 - (mean_pulls - 1.0) / mean_pulls)
    result = simulate("nonrecalling-run", "I4", horizon=10**6, runs=40, seed=2)
    assert abs(result.regret.mean - expected) < 4 * result.regret.sem
    assert result.regret.sem < 100
    # Until its second failure an arm is pulled twice as often, so the share of wins is the same.
    wrong = simulate("k-failure:k=2", "I4", horizon=10**6, runs=40, seed=2)
    assert abs(wrong.regret.mean - expected) < 4 * wrong.regret.sem
    other = simulate("fixed-run:k=2", "I4", horizon=10**6, runs=40, seed=2)
    assert abs(other.regret.mean - expected) > 4 * other.regret.sem
