from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from handful.errors import SettingError
from handful.instances import instance
from handful.simulation import simulate
from handful.simulation.seeds import world_key


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("I1", "beta:0.5:2.0:1.0"),
        ("I2", "beta:1.0:1.0:1.0"),
        ("I3", "beta:0.5:2.0:0.6"),
        ("I4", "beta:1.0:1.0:0.6"),
    ],
)
def test_the_papers_reservoirs(alias: str, name: str) -> None:
    world = instance(alias)
    assert world.name == instance(name).name == name
    assert world.endless
    assert world.best_mean == world.top


@pytest.mark.parametrize("name", ["I1", "I2", "I3", "I4", "beta:3:2:0.5"])
def test_means_follow_the_distribution_and_depend_on_key_and_index_alone(name: str) -> None:
    world = instance(name)
    means = [world.mean(i, key) for key in range(20) for i in range(200)]
    assert means[:200] == [world.mean(i, 0) for i in range(200)]
    # One test of fit at 1e-5 for each name: a false alarm in one of 20,000 seeds.
    exact = stats.beta(world.a, world.b, scale=world.top)
    assert stats.kstest(means, exact.cdf).pvalue > 1e-5
    wrong = stats.beta(world.a * 1.15, world.b, scale=world.top)
    assert stats.kstest(means, wrong.cdf).pvalue < 1e-5


def test_runs_meet_different_arms_and_a_tape_the_same_for_all_policies() -> None:
    assert world_key(0, "a", 0, False) != world_key(0, "a", 1, False)
    assert world_key(0, "a", 0, False) != world_key(0, "b", 0, False)
    assert world_key(0, "a", 0, True) == world_key(0, "b", 0, True)


def test_quantiles_are_those_of_the_distribution() -> None:
    assert instance("I2").quantile(0.1) == pytest.approx(0.9)
    assert instance("I4").quantile(0.25) == pytest.approx(0.45)
    expected = stats.beta(0.5, 2).ppf(0.99)
    assert instance("I1").quantile(0.01) == pytest.approx(expected)
    assert instance("bernoulli:0.1,0.2,0.3,0.4").quantile(0.5) == 0.2
    assert instance("bernoulli:0.1,0.2,0.3,0.4").quantile(0.25) == 0.3
    assert instance("bernoulli:0.1,0.2,0.3,0.4").quantile(0.01) == 0.4


@pytest.mark.parametrize("rho", [0.0, 1.0, -1.0, float("nan")])
def test_rho_lies_between_0_and_1(rho: float) -> None:
    with pytest.raises(SettingError, match="rho"):
        instance("I1").quantile(rho)


def test_quantile_regret_is_regret_less_what_no_quantile_arm_could_win() -> None:
    result = simulate("qmoss-m", "I2", memory=2, horizon=2000, runs=4, engine="python")
    shifted = result.quantile_regret(0.2).per_run
    assert np.allclose(shifted, result.regret.per_run - 2000 * 0.2)


@pytest.mark.parametrize(
    "spec",
    ["beta:1:1", "beta:0:1:1", "beta:1:-1:1", "beta:1:1:0", "beta:1:1:1.1", "I5", "beta:x:1:1"],
)
def test_a_reservoir_that_cannot_be_is_refused(spec: str) -> None:
    with pytest.raises(SettingError):
        instance(spec)
