"""Which policies the compiled engine takes, and a researcher's own rules in it."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from handful.core.rng import State, uniform
from handful.policies import MOSSM, TSM, UCBM, PhasedPolicy, Policy
from handful.policies.settings import Setting
from handful.rules import MOSS, THOMPSON, UCB1, BonusRule, DrawRule, IndexRule, Rule
from handful.simulation import engines, plan
from handful.simulation.kernels import jit, phased
from handful.simulation.kernels.world import FEW, Build
from tests.simulation.agree import assert_engines_agree


def noisy_score(n: int, s: float, t: int, b: int, m: int, eta: float, rng: State) -> float:
    return (1.0 + s) / (2.0 + n) + eta * uniform(rng) * math.sqrt(m / (1.0 + n)) * t / b


def half_at_times(reward: float, rng: State) -> float:
    return reward if uniform(rng) < 0.5 else 0.5 * reward


def slow_growth(t: int, eta: float) -> float:
    return eta * math.log(1.0 + t)


def budget_width(n: int, b: int, m: int) -> float:
    return math.sqrt(m / (b + n * n))


class OwnPolicy(PhasedPolicy):
    title = "Own"
    summary = "a researcher's own"
    settings: ClassVar[Mapping[str, Setting]] = {
        "eta": Setting(0.7, "", lambda x: x >= 0.0, "eta >= 0")
    }


class NoisyM(OwnPolicy):
    """Draws, looks at all that a rule may look at, and credits something of its own."""

    name = "noisy-m"
    rule = IndexRule("noisy", noisy_score, tries_each_first=False, credit=half_at_times)


class BonusM(OwnPolicy):
    name = "bonus-m"
    rule = BonusRule("bonus", slow_growth, budget_width, width_uses_budget=True)


OWN = (NoisyM, BonusM)


@pytest.mark.parametrize("policy", OWN)
@pytest.mark.parametrize("memory", [2, 3])
@pytest.mark.parametrize("world", ["linear:8", "linear:8+beta"])
def test_ones_own_rule_runs_in_both_engines_to_the_same_bits(
    policy: type[Policy], memory: int, world: str
) -> None:
    assert_engines_agree(plan.cell(policy, world, memory, 2000, runs=3, record=True))
    assert_engines_agree(
        plan.cell(policy, world, memory, 500, runs=3, settings={"eta": 0.1}, tape=True)
    )


@pytest.mark.parametrize("policy", OWN)
def test_ones_own_rule_does_so_when_all_arms_fit(policy: type[Policy]) -> None:
    cell = plan.cell(policy, "linear:5", 6, 500, runs=3, record=True)
    if engines.supports(cell):
        assert_engines_agree(cell)


def test_ones_own_rule_is_compiled_again_when_its_module_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path / "kernels")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for bonus in ("1.0", "25.0"):
        (tmp_path / "ones_own.py").write_text(
            f"def score(n, s, t, b, m, eta, rng):\n    return s / n + {bonus} / n\n"
        )
        importlib.invalidate_caches()
        module: Any = importlib.reload(importlib.import_module("ones_own"))
        rule = IndexRule("ones-own", module.score)
        policy = type("ChangingM", (OwnPolicy,), {"name": "changing-m", "rule": rule})
        assert_engines_agree(plan.cell(policy, "linear:5", 2, 500, runs=3))
    del sys.modules["ones_own"]


@pytest.mark.parametrize("policy", [UCBM, MOSSM, TSM, *OWN])
def test_policies_that_change_nothing_but_the_rule_are_compiled(policy: type[Policy]) -> None:
    assert engines.supports(plan.cell(policy, "linear:10", 2, 100))


def first_slot(self: PhasedPolicy, *given: Any) -> int:
    return 0


@pytest.mark.parametrize(
    "changed",
    [
        {"_choose": first_slot},
        {"_learn": first_slot},
        {"_vouch": first_slot},
        {"_budget": first_slot},
        {"_next_sub_phase": first_slot},
        {"_eta": property(first_slot)},
        {"select": first_slot},
        {"update": first_slot},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_a_policy_that_changes_more_than_the_rule_is_for_the_oracle(
    changed: dict[str, Any],
) -> None:
    policy = type("ChangedM", (UCBM,), {"name": "changed-m", **changed})
    assert not engines.supports(plan.cell(policy, "linear:10", 2, 100))


def test_a_policy_that_is_not_phased_is_for_the_oracle() -> None:
    cell = plan.cell("ucb-m", "linear:10", 2, 100)
    stranger: Any = SimpleNamespace(policy=Policy, instance=cell.instance)
    assert not engines.supports(stranger)


def by_budget(n: int, s: float, t: int, b: int, m: int, eta: float, rng: Any) -> float:
    return s / n + math.sqrt(max(math.log(b / (m * n)), 0.0) / n)


@pytest.mark.parametrize("n_arms", [3, 40])
def test_a_steady_rule_may_look_at_a_budget_that_is_the_time(n_arms: int) -> None:
    class AnytimeM(PhasedPolicy):
        name, title = "anytime-m", "Anytime"
        rule = IndexRule("anytime", by_budget, steady=True)

    assert_engines_agree(plan.cell(AnytimeM, f"linear:{n_arms}", n_arms, 3000, runs=2))


BUILD = Build(bernoulli=True, endless=False, skipping=False, slots=FEW)


def kernel_name(rule: Rule) -> str:
    kernel: Any = phased.phased_kernel(rule, BUILD)
    return str(kernel.py_func.__name__)


def test_a_rule_has_one_kernel() -> None:
    assert phased.phased_kernel(UCB1, BUILD) is phased.phased_kernel(UCBM.rule, BUILD)


@pytest.mark.parametrize(
    "mixed",
    [
        BonusRule("ucb1", UCB1.growth, MOSS.width, width_uses_budget=True),
        BonusRule("moss", UCB1.growth, MOSS.width, width_uses_budget=True),
        DrawRule("thompson", THOMPSON.prepare, THOMPSON.pick),
    ],
    ids=lambda rule: str(rule.name),
)
def test_a_rule_made_of_the_houses_parts_is_not_taken_for_the_rule_of_its_name(mixed: Rule) -> None:
    # The linker knows functions by name: two kernels of one name, loaded from the cache into one
    # process, would run each other's code.
    house = {kernel_name(rule) for rule in (UCB1, MOSS, THOMPSON)}
    assert len(house) == 3
    assert kernel_name(mixed) not in house
