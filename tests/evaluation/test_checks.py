"""A log that cannot tell says so, and one that can does not."""

from __future__ import annotations

import numpy as np
import pytest

from handful import evaluate, read_log, replay
from handful.evaluation.checks import off_balance
from tests.evaluation.logs import MISREPORTED, SKEWED, World, uniform

EVEN = uniform(0.3, 0.5, 0.7)


def test_a_log_that_can_tell_has_no_warnings() -> None:
    log = EVEN.log(3000, seed=1)
    assert log.warnings == ()
    assert evaluate(log).warnings == ()
    assert evaluate(log, "arm:arm 00").warnings == ()
    assert replay(log, "race", memory=2).warnings == ()


@pytest.mark.parametrize(("world", "warns"), [(EVEN, False), (SKEWED, True)])
def test_arms_without_probabilities_that_are_not_uniform(world: World, warns: bool) -> None:
    # By chi-square at 1e-4: of 300 logs that are uniform, a warning has a probability of 3%.
    for seed in range(300):
        columns = world.columns(500, seed)
        del columns["probability"]
        log = read_log(columns)
        assert any("were not chosen uniformly" in text for text in log.warnings) is warns


def test_too_few_rows_to_see_whether_arms_are_uniform() -> None:
    (said,) = read_log({"arm": [1, 2, 3], "reward": [0, 1, 0]}).warnings
    assert "too few to see whether the 3 arms were chosen uniformly" in said


def test_a_single_arm() -> None:
    (said,) = read_log({"arm": ["a"] * 9, "reward": [0] * 9}).warnings
    assert "only one arm" in said


def test_wrong_probabilities() -> None:
    (said,) = MISREPORTED.log(3000, seed=1).warnings
    assert "the probabilities are wrong" in said
    assert SKEWED.log(3000, seed=1).warnings == ()


def test_weights_that_are_1_on_average_are_seldom_suspected() -> None:
    draws = np.random.default_rng(1)
    alarms = sum(bool(off_balance(draws.exponential(size=400), "they")) for _ in range(2000))
    # The test is by the normal distribution, and these weights are skewed: of 100,000 such
    # samples 38 were suspected, so that more than 5 of 2,000 have a probability of 2e-4.
    assert alarms <= 5
    assert off_balance(draws.exponential(1.3, size=400), "they")


def test_an_arm_that_was_never_logged_with_a_reward_is_unknown() -> None:
    log = {"arm": ["a", "b", "a"], "reward": [1, 0, None], "recommended": ["c", "c", "c"]}
    found = evaluate(log, "recommended")
    assert str(found.ips) == "unknown"
    assert any("no row with an arm of recommended" in text for text in found.warnings)


def test_a_deterministic_log_cannot_tell_of_other_arms() -> None:
    log = {"arm": ["a"] * 400 + ["b"] * 100, "reward": [0, 1] * 250, "probability": [1.0] * 500}
    found = evaluate(log, "arm:b")
    assert any("average weight of 0.2 and not about 1" in text for text in found.warnings)


def test_a_small_effective_sample_and_few_rewards() -> None:
    world = World([0.05, 0.05], [0.99, 0.01])
    said = " ".join(evaluate(world.log(2000, seed=1), "arm:arm 01").warnings)
    assert "rows with equal weights" in said
    assert "fewer than 10 rows of arm:arm 01" in said


def test_too_few_matches_and_how_many_rows_would_do() -> None:
    (said,) = replay(EVEN.log(150, seed=1), "race", memory=2).warnings
    assert "fewer than 100 rows match" in said
    assert "give a log of about 300 rows" in said


def test_a_log_that_is_not_uniform_says_how_it_was_replayed() -> None:
    log = SKEWED.log(4000, seed=1)
    found = replay(log, "race", memory=2)
    assert found.accepted < found.rows
    assert found.warnings == ()
    assert found.note.startswith(f"{found.accepted:,} rows were accepted, with 0.08 over their")
    assert found.note in repr(found)
    (said,) = replay(log, "race", memory=2, every_row=True).warnings
    assert "right only if the reward depends on the arm alone" in said
    few = replay(SKEWED.log(300, seed=1), "race", memory=2)
    assert "--every-row" in few.warnings[-1]


def test_subsets_are_said() -> None:
    log = {"arm": ["a", "b"] * 300, "reward": [0, 1] * 300, "allowed": [["a", "b"], None] * 300}
    assert any("subset of the arms" in text for text in replay(log, "race", memory=2).warnings)
