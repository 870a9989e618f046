from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from handful.core.binomial import log_binomial
from handful.core.rng import State, stream
from handful.rules import THOMPSON, choose, thompson
from handful.rules.thompson import draw, pick, prepare, tail, trial
from handful.simulation.kernels import world  # noqa: F401  (lets Numba call the generator)
from handful.simulation.kernels.jit import family, kernel, use
from tests.fit import follows, share
from tests.posteriors import Record, random_record, win_chances, wins_fit

# Each test of fit has the false-alarm rate of tests/fit.py, 1e-5; there are 57 here, so a right
# rule would fail this file for less than 6 seeds in 10,000.
DRAWS = 20_000

RECORDS = [(0, 0), (1, 0), (1, 1), (5, 0), (5, 5), (10, 3), (1000, 990), (10**6, 500_000)]


def draws(n: int, s: float, state: State) -> list[float]:
    return [draw(n, s, state) for _ in range(DRAWS)]


@pytest.mark.parametrize(("n", "s"), RECORDS)
def test_a_draw_is_from_the_posterior(n: int, s: int) -> None:
    assert follows(draws(n, s, stream("posterior", n, s)), stats.beta(1 + s, 1 + n - s).cdf)


@pytest.mark.parametrize(("n", "s"), [(1, 0), (1, 1), (5, 0), (10, 3)])
@pytest.mark.parametrize(
    ("successes", "failures"), [(0.5, 0.5), (1, 2), (2, 1)], ids=["Jeffreys", "a failure", "a win"]
)
def test_a_wrong_posterior_would_be_seen(n: int, s: int, successes: float, failures: float) -> None:
    wrong = stats.beta(successes + s, failures + n - s)
    assert not follows(draws(n, s, stream("posterior", n, s)), wrong.cdf)


@pytest.mark.parametrize("reward", [0.01, 0.3, 0.5, 0.9, 0.999])
def test_a_reward_between_counts_as_a_trial_with_that_chance(reward: float) -> None:
    state = stream("trial", str(reward))
    outcomes = [trial(reward, state) for _ in range(DRAWS)]
    assert set(outcomes) <= {0.0, 1.0}
    assert share(int(sum(outcomes)), DRAWS, reward)


def test_a_wrong_chance_would_be_seen() -> None:
    state = stream("trial", "0.3")
    assert not share(int(sum(trial(0.3, state) for _ in range(DRAWS))), DRAWS, 0.32)


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_a_whole_reward_counts_as_it_is_and_uses_no_randomness(reward: float) -> None:
    state = [3, 5]
    assert trial(reward, state) == reward
    assert state == [3, 5]


def test_the_rule_credits_trials_and_draws_from_the_start() -> None:
    assert THOMPSON.credit is trial
    assert not THOMPSON.tries_each_first


# Two exact binomial tests. P(Beta(2, 1) > Beta(1, 2)) = 5/6 for arms with a win and a failure.
@pytest.mark.parametrize(
    ("pulls", "sums", "chance"), [([0, 0], [0.0, 0.0], 1 / 2), ([1, 1], [1.0, 0.0], 5 / 6)]
)
def test_an_arm_is_chosen_as_often_as_it_is_the_best_of_the_posterior(
    pulls: list[int], sums: list[float], chance: float
) -> None:
    state = stream("choice", str(chance))
    firsts = sum(choose(THOMPSON, pulls, sums, 0, 0.0, state) == 0 for _ in range(DRAWS))
    assert share(firsts, DRAWS, chance)


use(prepare)
use(pick)


def count_wins(n: Any, s: Any, draws: int, rng: Any, means: Any, tails: Any, wins: Any) -> None:
    m = n.size
    leader, q, none = prepare(n, s, m, means, tails, -1, 0, 0.0, 0.0)
    for _ in range(draws):
        wins[pick(n, s, m, tails, leader, q, none, rng)] += 1


count_wins = kernel(count_wins, family("test", "wins", count_wins))


@pytest.mark.parametrize("index", range(40))
def test_an_arm_is_picked_with_the_chance_that_its_draw_is_the_highest(index: int) -> None:
    pulls, sums = random_record(index)
    state = np.array(stream("wins", index), dtype=np.uint64)
    means, tails = np.zeros(len(pulls)), np.zeros(len(pulls))
    wins = np.zeros(len(pulls), dtype=np.int64)
    count_wins(np.array(pulls), np.array(sums), 400_000, state, means, tails, wins)
    assert wins_fit(wins.tolist(), win_chances(pulls, sums)), (pulls, sums)


NEAR: Record = ([400] * 6, [240.0, *[208.0] * 5])


def python_wins(record: Record) -> list[int]:
    state = stream("near", "python")
    chosen = [choose(THOMPSON, *record, 0, 0.0, state) for _ in range(DRAWS)]
    return [chosen.count(i) for i in range(len(record[0]))]


def test_the_same_in_python() -> None:
    assert wins_fit(python_wins(NEAR), win_chances(*NEAR))


def test_a_rival_whose_tail_is_too_small_for_a_double_can_still_win() -> None:
    # Far below q there is nothing of it, but the leader may draw lower still.
    record: Record = ([7, 100_000], [7.0, 50_000.0])
    chances = win_chances(*record)
    assert 0.001 < chances[1] < 0.1
    assert wins_fit(python_wins(record), chances)


@pytest.mark.parametrize("wrong", [0.7, 1.4])
def test_a_wrong_mass_of_the_tail_would_be_seen(
    wrong: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong_tail(n: int, s: float, q: float) -> float:
        right = tail(n, s, q)
        return wrong * right if right < 0.7 else right

    monkeypatch.setattr(thompson, "tail", wrong_tail)
    assert not wins_fit(python_wins(NEAR), win_chances(*NEAR))


@pytest.mark.parametrize("index", range(40))
def test_the_exponential_lies_over_the_tail(index: int) -> None:
    pulls, sums = random_record(index)
    for n, s in zip(pulls, sums, strict=True):
        for q in (0.01, 0.3, 0.5, 0.9, 0.999, min(0.999, s / max(1, n) + 1e-3)):
            mass = tail(n, s, q)
            assert mass >= stats.beta.sf(q, 1 + s, 1 + n - s) * (1 - 1e-9)


@given(st.integers(1, 3000), st.floats(0, 1), st.floats(1e-6, 1 - 1e-6))
def test_binomial_chances(n: int, share_of_n: float, q: float) -> None:
    s = round(share_of_n * n)
    exact = math.log(math.comb(n, s)) + s * math.log(q) + (n - s) * math.log1p(-q)
    assert math.isclose(log_binomial(n, float(s), q), exact, rel_tol=1e-12, abs_tol=1e-11)


@given(st.integers(10**4, 10**9), st.floats(1e-9, 0.5))
def test_chances_of_one_success_in_very_many_trials(n: int, q: float) -> None:
    exact = math.log(n * q) + (n - 1) * math.log1p(-q)
    assert math.isclose(log_binomial(n, 1.0, q), exact, rel_tol=1e-12, abs_tol=1e-6)


@given(st.integers(2, 6), st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=60))
def test_what_is_kept_from_pull_to_pull_is_what_a_fresh_look_finds(
    m: int, history: list[tuple[int, bool]]
) -> None:
    pulls, sums = [0] * m, [0.0] * m
    means, tails = [0.0] * m, [0.0] * m
    kept = prepare(pulls, sums, m, means, tails, -1, 0, 0.0, 0.0)
    for slot, won in history:
        pulled = slot % m
        pulls[pulled] += 1
        sums[pulled] += won
        kept = prepare(pulls, sums, m, means, tails, pulled, *kept)
        fresh_means, fresh_tails = [0.0] * m, [0.0] * m
        assert kept == prepare(pulls, sums, m, fresh_means, fresh_tails, -1, 0, 0.0, 0.0)
        assert (means, tails) == (fresh_means, fresh_tails)
