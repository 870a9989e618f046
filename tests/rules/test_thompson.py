from __future__ import annotations

import pytest
from scipy import stats

from handful.core.rng import Generator, stream
from handful.rules import THOMPSON, Moment
from handful.rules.base import trial
from handful.rules.thompson import score
from tests.fit import follows, share
from tests.posteriors import python_choices, random_record, win_probabilities, wins_fit
from tests.rules.scoring import chosen

# Each test of fit has the false-alarm rate of tests/fit.py, 1e-5; there are 25 here, so a right
# rule would fail this file for less than 3 seeds in 10,000.
DRAWS = 20_000

RECORDS = [(0, 0), (1, 0), (1, 1), (5, 0), (5, 5), (10, 3), (1000, 990), (10**6, 500_000)]


def draws(n: int, s: float, rng: Generator) -> list[float]:
    now = Moment(t=n, b=0, m=2, top=0.0, eta=0.0, rng=rng)
    return [score(n, s, now) for _ in range(DRAWS)]


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
def test_a_reward_between_counts_as_a_trial_with_that_probability(reward: float) -> None:
    rng = stream("trial", str(reward))
    outcomes = [trial(reward, rng) for _ in range(DRAWS)]
    assert set(outcomes) <= {0.0, 1.0}
    assert share(int(sum(outcomes)), DRAWS, reward)


def test_a_wrong_probability_would_be_seen() -> None:
    rng = stream("trial", "0.3")
    assert not share(int(sum(trial(0.3, rng) for _ in range(DRAWS))), DRAWS, 0.32)


@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_a_reward_of_0_or_1_counts_as_it_is_and_uses_no_randomness(reward: float) -> None:
    rng = [3, 5]
    assert trial(reward, rng) == reward
    assert rng == [3, 5]


def test_the_rule_credits_trials_and_draws_from_the_start() -> None:
    assert THOMPSON.credit is trial
    assert not THOMPSON.tries_each_first
    assert THOMPSON.posterior


# Two exact binomial tests. P(Beta(2, 1) > Beta(1, 2)) = 5/6 for arms with a win and a failure.
@pytest.mark.parametrize(
    ("pulls", "sums", "probability"), [([0, 0], [0.0, 0.0], 1 / 2), ([1, 1], [1.0, 0.0], 5 / 6)]
)
def test_an_arm_is_chosen_as_often_as_it_is_the_best_of_the_posterior(
    pulls: list[int], sums: list[float], probability: float
) -> None:
    rng = stream("choice", str(probability))
    firsts = sum(chosen(THOMPSON, pulls, sums, 0, 0.0, rng) == 0 for _ in range(DRAWS))
    assert share(firsts, DRAWS, probability)


@pytest.mark.parametrize("index", range(8))
def test_an_arm_is_chosen_with_the_probability_that_its_draw_is_the_highest(index: int) -> None:
    record = random_record(index)
    choices = python_choices(record, DRAWS)
    assert wins_fit(choices, win_probabilities(*record)), record
