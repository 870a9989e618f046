"""Regret against reference simulations of the paper's policies (M = 2, T = 10^6).

The reference is 100 runs of an independent program: mean and standard error. Ours are compared with
it by Welch's test, each at `LEVEL`: the quick tests together, and the long ones together, raise a
false alarm with probability at most 10^-4, were the seeds not fixed. Regret with eta = 0.2 is
heavy-tailed, so that its mean says little; its median is compared as well.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from statistics import fmean, stdev
from typing import ClassVar, NamedTuple

import numpy as np
import pytest
from scipy import stats

from handful.core.rng import beta
from handful.policies import PhasedPolicy, Policy
from handful.policies.settings import Setting
from handful.rules import MOSS, THOMPSON, Moment, Rule
from handful.simulation import compiled, plan

T = 10**6
SEED = 1


class Reference(NamedTuple):
    policy: str
    instance: str
    mean: float
    error: float


REFERENCES = [
    Reference("ucb-m", "B_L:100", 13268, 96),
    Reference("ucb-m", "B_0.3:100", 10175, 35),
    Reference("ucb-m", "B_0.6:100", 11800, 46),
    Reference("moss-m", "B_L:100", 6965, 110),
    Reference("moss-m", "B_0.3:100", 5009, 31),
    Reference("moss-m", "B_0.6:100", 5727, 37),
    Reference("ts-m", "B_L:100", 5253, 194),
    Reference("ts-m", "B_0.3:100", 3055, 84),
    Reference("ts-m", "B_0.6:100", 3679, 112),
    Reference("ucb-m", "B_L:10", 2546, 7),
    Reference("ucb-m", "B_0.3:10", 1678, 4),
    Reference("ucb-m", "B_0.6:10", 2034, 5),
    Reference("moss-m", "B_L:10", 1017, 4),
    Reference("moss-m", "B_0.3:10", 734, 4),
    Reference("moss-m", "B_0.6:10", 850, 4),
    Reference("ts-m", "B_L:10", 309, 11),
    Reference("ts-m", "B_0.3:10", 254, 3),
    Reference("ts-m", "B_0.6:10", 282, 6),
]
HEAVY = Reference("ucb-m:eta=0.2", "B_L:100", 10916, 877)
HEAVY_MEDIAN = 8097
LEVEL = 1e-4 / (len(REFERENCES) + 2)

QUICK = [
    case
    for case in REFERENCES
    if case.policy != "ts-m" or case.instance.endswith(":10")  # Thompson is the slow one.
]


def regrets(policy: str | type[Policy], instance: str, runs: int) -> list[float]:
    cell = plan.cell(policy, instance, 2, T, runs=runs, seed=SEED)
    return [float(x) for x in compiled.simulate_runs(cell, [T]).regret[:, 0]]


def z_score(sample: list[float], reference: Reference) -> float:
    error = stdev(sample) / math.sqrt(len(sample))
    return (fmean(sample) - reference.mean) / math.hypot(error, reference.error)


def agrees(sample: list[float], reference: Reference) -> bool:
    """Welch's two-sample test; the reference's spread is its standard error times sqrt(100)."""
    test = stats.ttest_ind_from_stats(
        fmean(sample),
        stdev(sample),
        len(sample),
        reference.mean,
        10 * reference.error,
        100,
        equal_var=False,
    )
    return float(test.pvalue) > LEVEL


def named(case: Reference) -> str:
    return f"{case.policy}-{case.instance}"


def reference(policy: str, instance: str) -> Reference:
    return next(case for case in REFERENCES if case[:2] == (policy, instance))


@pytest.mark.parametrize("case", QUICK, ids=named)
def test_a_few_runs_agree_with_the_reference(case: Reference) -> None:
    sample = regrets(case.policy, case.instance, 10 if case.policy == "ts-m" else 40)
    assert agrees(sample, case), f"z = {z_score(sample, case):.2f}"


@pytest.mark.long
@pytest.mark.parametrize("case", [*REFERENCES, HEAVY], ids=named)
def test_a_hundred_runs_agree_with_the_reference(case: Reference) -> None:
    sample = regrets(case.policy, case.instance, 100)
    print(f"{named(case)}: {fmean(sample):.0f}, z = {z_score(sample, case):.2f}")
    assert agrees(sample, case), f"z = {z_score(sample, case):.2f}"


def test_the_median_of_the_heavy_tailed_one_agrees_with_the_reference() -> None:
    sample = np.array(regrets(HEAVY.policy, HEAVY.instance, 100))
    # Both medians are of 100 runs: twice the variance of one, which the bootstrap tells.
    dice = np.random.default_rng(SEED)
    medians = np.median(dice.choice(sample, (2000, 100)), axis=1)
    z = (np.median(sample) - HEAVY_MEDIAN) / (math.sqrt(2) * medians.std())
    print(f"median {np.median(sample):.0f}, z = {z:.2f}")
    assert abs(z) < float(stats.norm.isf(LEVEL / 2)), f"z = {z:.2f}"


# What the same test must not let through.


def width_of_ten_arms(n: int, b: int, m: int) -> float:
    return math.sqrt(max(math.log(b / (10.0 * n)), 0.0) / n)


def flat_posterior(n: int, s: float, now: Moment) -> float:
    return beta(1.0 + 0.5 * s, 1.0 + 0.5 * (n - s), now.rng)


class Wrong(PhasedPolicy):
    title = "Wrong"
    summary = "what a slip would make of a rule"
    settings: ClassVar[Mapping[str, Setting]] = {}


class MOSSOfAllArms(Wrong):
    """MOSS with the K = 10 arms of the instance in place of the m in memory."""

    name = "moss-of-all-arms"
    rule = Rule("moss-of-ten", growth=MOSS.growth, width=width_of_ten_arms, budget_in_width=True)


class FlatThompson(Wrong):
    """Thompson sampling with half of each reward counted."""

    name = "flat-thompson"
    rule = Rule("flat-thompson", flat_posterior, tries_each_first=False, credit=THOMPSON.credit)


@pytest.mark.parametrize("instance", ["B_L:10", "B_0.3:100"])
def test_a_logarithm_of_base_2_would_be_noticed(instance: str) -> None:
    base_2 = f"ucb-m:eta={math.sqrt(1 / math.log(2))!r}"
    assert not agrees(regrets(base_2, instance, 40), reference("ucb-m", instance))


@pytest.mark.parametrize("eta", [0.97, 1.03])
def test_an_exploration_that_is_off_by_three_percent_would_be_noticed(eta: float) -> None:
    assert not agrees(regrets(f"ucb-m:eta={eta}", "B_L:10", 40), reference("ucb-m", "B_L:10"))


@pytest.mark.parametrize("instance", ["B_L:10", "B_0.6:10"])
def test_moss_with_all_arms_for_those_in_memory_would_be_noticed(instance: str) -> None:
    assert not agrees(regrets(MOSSOfAllArms, instance, 40), reference("moss-m", instance))


@pytest.mark.long
def test_a_posterior_that_is_too_wide_would_be_noticed() -> None:
    assert not agrees(regrets(FlatThompson, "B_0.3:10", 40), reference("ts-m", "B_0.3:10"))
