"""Arms that come and go in a simulation: the definition, and the two engines to the same bits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from handful.core.rng import uniform
from handful.errors import SettingError
from handful.instances.churn import newcomer
from handful.policies import POLICIES, Policy
from handful.policies.race import Race
from handful.simulation import compare, compiled, engines, plan, reference, simulate
from handful.simulation.kinds import IN_TRAFFIC, kind_for
from handful.simulation.plan import Cell
from handful.simulation.reference import simulate_run
from handful.simulation.seeds import churn_stream
from tests.helpers import refused
from tests.simulation.agree import assert_engines_agree
from tests.simulation.test_traffic import Peeking, run

WAYS: list[dict[str, Any]] = [
    {"churn": 37},
    {"churn": 1, "tape": True},
    {"churn": 11, "delay": "geometric:9", "lost": 0.1, "tape": True},
    {"churn": 50, "drift": "walk:0.05", "delay": 3},
    {"churn": 60, "drift": "swap:5", "clicks_only": 30},
]
FINITE = [
    name
    for name, cls in POLICIES.items()
    if (cls.any_arms or not cls.endless) and cls.own_arms is None
]
QUICK: list[str | type[Policy]] = ["race", "ucb-m", "ts-m", "robbins", "mpse", "ts", Peeking]
"""Of each kind; `Peeking` does not say how it goes on, and so starts again."""


def planned(policy: str | type[Policy], world: str = "linear:9", **given: Any) -> Cell:
    cls = POLICIES[policy] if isinstance(policy, str) else policy
    memory = 3 if cls.takes_memory() else None
    return plan.cell(policy, world, memory, **{"horizon": 1500, "runs": 2, "seed": 5, **given})


def agree(policy: str | type[Policy]) -> None:
    seen = set()
    for given in WAYS:
        for rewards in ("", "+truncnorm:0.2"):
            cell = planned(policy, f"linear:9{rewards}", **given)
            assert engines.choose(cell, "auto") == "compiled"
            assert kind_for(cell) is IN_TRAFFIC
            seen.add(assert_engines_agree(cell).regret.tobytes())
    assert len(seen) == 2 * len(WAYS)


@pytest.mark.parametrize("policy", QUICK)
def test_the_engines_make_the_same_choices(policy: str | type[Policy]) -> None:
    agree(policy)


@pytest.mark.parametrize("policy", [name for name in FINITE if name not in QUICK])
def test_every_policy_on_a_finite_set_is_compiled(policy: str) -> None:
    agree(policy)


def test_with_room_for_all_arms_too() -> None:
    for policy in ("race", "ucb-m"):
        assert_engines_agree(plan.cell(policy, "linear:4", 4, 800, runs=2, churn=30, delay=5))


# By the definition, with plain lists.


class Watched(Race):
    """Race that records its choices, and how often it has pulled each arm that it has."""

    name = "race"  # a subclass in tests only: cells know it as race
    log: list[Any]

    def decide(self, n: Any = None, allowed: Any = None) -> Any:
        assert sorted(self.arms) == list(range(9))  # type: ignore[arg-type, type-var]
        known = {arm.arm: arm.pulls for arm in self.stats()}
        decision = super().decide()
        self.log.append((decision.arm, known))
        return decision


def watched(cell: Cell) -> list[Any]:
    log: list[Any] = []
    policy = type("Watched", (Watched,), {"log": log})
    simulate_run(replace(cell, policy=policy, known_as=cell.id), 0, [cell.horizon])
    return log


@pytest.mark.parametrize("tape", [False, True])
def test_regret_is_against_the_best_arm_of_the_moment(tape: bool) -> None:
    cell = planned("race", horizon=1234, runs=1, churn=100, tape=tape)
    log = watched(cell)
    rng = churn_stream(cell.seed, cell.id, 0, tape)
    first = [cell.instance.mean(arm) for arm in range(9)]
    now = list(first)
    total = Fraction(0)
    regret = []
    pulls = [0] * 9
    """Of the arm that is in each place now."""
    left = 0
    for t, (arm, known) in enumerate(log):
        if t > 0 and t % 100 == 0:
            place = int(9 * uniform(rng))
            now[place] = first[int(9 * uniform(rng))]
            left += place in log[t - 1][1]
            pulls[place] = 0
        # A new arm starts without statistics, and others keep theirs.
        assert all(n <= pulls[place] for place, n in known.items())
        pulls[arm] += 1
        total += Fraction(max(now) - now[arm])
        regret.append(float(total))
    assert left > 2
    assert now != first
    for engine in ("python", "compiled"):
        found = run(cell, engine)
        assert found.regret[0].tolist() == [regret[t - 1] for t in plan.log_grid(1234)]
        assert found.pulls is not None
        arms = [arm for arm, _ in log]
        assert found.pulls[0].tolist() == np.bincount(arms, minlength=9).tolist()


def test_another_arm_that_leaves_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def other(n_arms: int, rng: Any) -> tuple[int, int]:
        place, origin = newcomer(n_arms, rng)
        return (place + 1) % n_arms, origin

    monkeypatch.setattr(reference, "newcomer", other)
    with pytest.raises(AssertionError):
        test_regret_is_against_the_best_arm_of_the_moment(False)


def test_on_a_tape_the_same_arms_leave_for_all_policies() -> None:
    def first_word(policy: str, tape: bool) -> list[int]:
        cell = planned(policy, churn=100, tape=tape)
        return churn_stream(cell.seed, cell.id, 0, tape)

    assert first_word("race", True) == first_word("ucb-m", True)
    assert first_word("race", False) != first_word("ucb-m", False)


@pytest.mark.parametrize("engine", ["python", "compiled"])
def test_ranges_of_runs_and_shorter_runs_are_parts_of_the_whole(engine: str) -> None:
    kwargs: dict[str, Any] = {"memory": 3, "engine": engine, "churn": 40, "delay": 3}
    whole = simulate("race", "linear:9", runs=4, horizon=1000, **kwargs).curve.per_run
    part = simulate("race", "linear:9", runs=range(1, 3), horizon=1000, **kwargs).curve.per_run
    assert part.tobytes() == whole[1:3].tobytes()
    short = simulate("race", "linear:9", runs=4, horizon=100, **kwargs)
    at = plan.log_grid(1000).index(100)
    assert short.regret.per_run.tolist() == whole[:, at].tolist()


# Plans and results.


def test_cells_without_it_are_as_before() -> None:
    plain = planned("race")
    assert planned("race", churn=None) == plain
    assert planned("race", churn=300).id == f"{plain.id} churn=300"
    assert planned("race", churn=300).how_run()["churn"] == 300


@pytest.mark.parametrize(
    ("policy", "world", "mentions"),
    [
        ("cover", "linear:2", "exactly 2 arms"),
        ("qucb-m", "I1", "endless"),
        ("race", "I1", "endless"),
        ("race", "linear:5000", "at most 4096"),
    ],
)
def test_policies_and_instances_that_cannot_are_refused(
    policy: str, world: str, mentions: str
) -> None:
    with refused(SettingError, ValueError, "churn=100", mentions):
        planned(policy, world, churn=100)


@pytest.mark.parametrize("policy", ["race", "ucb-m", "imed"])
@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"churn": 100}, "arms that come and go"),
        ({"churn": 7, "drift": "falls"}, "means that change and arms that come and go"),
        ({"churn": 9, "delay": 20}, "rewards that come late or never and arms that come and go"),
        ({"lost": 0.1}, "rewards that come late or never"),
        ({"clicks_only": 5}, "rewards that come late or never"),
    ],
)
def test_no_pull_can_be_skipped(policy: str, given: dict[str, Any], reason: str) -> None:
    assert engines.supports_skipping(planned(policy))
    cell = planned(policy, **given)
    why = f"the skipping engine cannot run {policy} on {cell.world}: {reason} are simulated pull"
    with refused(SettingError, ValueError, why, "engine 'auto'"):
        engines.choose(cell, "skip")
    for name, value in given.items():
        assert f"{name}={value}" in cell.world


def test_quantile_regret_is_not_for_arms_that_come_and_go() -> None:
    result = simulate("random", "linear:9", horizon=50, runs=1, engine="python", churn=9)
    with refused(SettingError, ValueError, "churn=9"):
        result.quantile_regret(0.5)


def test_only_runs_with_the_same_churn_are_compared() -> None:
    one, two = (
        simulate("random", "linear:9", horizon=50, runs=2, engine="python", tape=True, churn=every)
        for every in (9, 10)
    )
    with refused(SettingError, ValueError, "differ in their churn"):
        compare(one, two)
    found = compare("random", "random", "linear:9", horizon=50, runs=2, engine="python", churn=9)
    assert found.difference.per_run.tolist() == [0.0] * 2


@pytest.mark.parametrize("policy", ["race", "ucb-m", "robbins"])
def test_stays_are_recorded(policy: str) -> None:
    cell = planned(policy, horizon=600, runs=1, churn=30, record=True)
    assert engines.choose(cell, "auto") == "python"
    stays = simulate_run(cell, 0, [600]).stays
    assert stays is not None
    assert int(stays[0].pulls.sum()) == 600
    assert stays[0].arms.max() <= 8


def test_the_first_pulls_that_are_checked_have_changes() -> None:
    """The check of a kernel when it is loaded would find hooks that mean something else there."""
    cell = planned("race", horizon=10**6, churn=10**5)
    compiled.warm_up(cell)
    tiny = replace(cell, horizon=300, traffic=cell.traffic and cell.traffic.shortened(300))
    assert tiny.traffic is not None
    assert tiny.traffic.churn == 75
