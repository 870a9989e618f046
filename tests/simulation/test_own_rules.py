"""Which policies the compiled engine takes, and a researcher's own rules in it."""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import pytest

from handful.compiling import jit
from handful.core.rng import Generator, uniform
from handful.core.slots import credit
from handful.policies import MOSSM, TSM, UCBM, PhasedPolicy, Policy, Race
from handful.policies.settings import Setting
from handful.rules import MOSS, THOMPSON, UCB1, Moment, Rule
from handful.simulation import engines, plan
from handful.simulation.kernels import phased, record
from handful.simulation.kernels.world import FEW, Build
from handful.simulation.kinds import PHASES, RECORDS, kind_of
from tests.simulation.agree import assert_engines_agree


def noisy_score(n: int, s: float, now: Moment) -> float:
    noise = now.eta * uniform(now.rng) * math.sqrt(now.m / (1.0 + n))
    return (1.0 + s) / (2.0 + n) + noise * now.t / now.b


def half_at_times(reward: float, rng: Generator) -> float:
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
    rule = Rule("noisy", noisy_score, tries_each_first=False, credit=half_at_times)


class BonusM(OwnPolicy):
    name = "bonus-m"
    rule = Rule("bonus", growth=slow_growth, width=budget_width, budget_in_width=True)


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
    # A width that depends on the budget cannot be tabulated where the budget is the time.
    assert engines.supports(cell) is (policy is NoisyM)
    if policy is NoisyM:
        assert_engines_agree(cell)
    else:
        assert engines.choose(cell, "auto") == "python"


def test_ones_own_rule_is_compiled_again_when_its_module_has_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jit, "cache_folder", lambda: tmp_path / "kernels")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    for bonus in ("1.0", "25.0"):
        (tmp_path / "ones_own.py").write_text(
            f"def score(n, s, now):\n    return s / n + {bonus} / n\n"
        )
        importlib.invalidate_caches()
        module: Any = importlib.reload(importlib.import_module("ones_own"))
        rule = Rule("ones-own", module.score)
        policy = type("ChangingM", (OwnPolicy,), {"name": "changing-m", "rule": rule})
        assert_engines_agree(plan.cell(policy, "linear:5", 2, 500, runs=3))
    del sys.modules["ones_own"]


@pytest.mark.parametrize("policy", [UCBM, MOSSM, TSM, *OWN])
def test_policies_that_change_nothing_but_the_rule_are_compiled(policy: type[Policy]) -> None:
    assert engines.supports(plan.cell(policy, "linear:10", 2, 100))


def first_slot(self: Policy, *given: Any) -> int:
    return 0


@pytest.mark.parametrize(
    "method", ["select", "update", "decide", "reward", "recommend", "_fresh", "_make", "_suit"]
)
@pytest.mark.parametrize("base", [UCBM, Race])
def test_a_policy_that_changes_how_it_is_driven_is_for_the_reference(
    base: type[Policy], method: str
) -> None:
    policy = type("Changed", (base,), {"name": "changed", method: first_slot})
    for memory in (2, 10):
        cell = plan.cell(policy, "linear:10", memory, 100)
        assert not engines.supports(cell)
        assert not engines.supports_skipping(cell)
        assert engines.choose(cell, "auto") == "python"


def propose_last(state: Any, p: Any) -> int:
    return int(state.held) - 1 if state.clock % 3 else 0


def observe_half(state: Any, slot: int, reward: float, p: Any) -> None:
    credit(state, slot, 0.5 * reward)
    state.done += 1


def start_elsewhere(state: Any, p: Any) -> None:
    UCBM_START(state, p)
    state.done = 3


UCBM_START = UCBM.start


class Timid(UCBM):
    """Explores less, by its own account of the parameters."""

    name = "timid-m"

    @classmethod
    def parameters(cls, n_arms: int, memory: int, endless: bool, values: dict[str, float]) -> Any:
        return super().parameters(n_arms, memory, endless, values)._replace(eta=0.1)


@pytest.mark.parametrize(
    "policy",
    [
        type("A", (UCBM,), {"name": "a", "propose": staticmethod(propose_last)}),
        type("B", (UCBM,), {"name": "b", "observe": staticmethod(observe_half)}),
        type("C", (UCBM,), {"name": "c", "start": staticmethod(start_elsewhere)}),
        Timid,
    ],
    ids=["propose", "observe", "start", "parameters"],
)
def test_a_policy_that_changes_more_than_the_rule_is_compiled_from_its_own_functions(
    policy: type[Policy],
) -> None:
    assert kind_of(UCBM) is PHASES
    assert kind_of(policy) is RECORDS
    assert_engines_agree(plan.cell(policy, "linear:10", 3, 400, runs=2))
    changed, plain = (
        assert_engines_agree(plan.cell(one, "linear:10", 3, 400, runs=2, tape=True))
        for one in (policy, UCBM)
    )
    assert changed.regret.tolist() != plain.regret.tolist()


def by_budget(n: int, s: float, now: Moment) -> float:
    return s / n + math.sqrt(max(math.log(now.b / (now.m * n)), 0.0) / n)


@pytest.mark.parametrize("n_arms", [3, 40])
def test_a_monotone_rule_may_look_at_a_budget_that_is_the_time(n_arms: int) -> None:
    class AnytimeM(PhasedPolicy):
        name, title = "anytime-m", "Anytime"
        rule = Rule("anytime", by_budget, monotone=True)

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
        Rule("ucb1", growth=UCB1.growth, width=MOSS.width, budget_in_width=True),
        Rule("moss", growth=UCB1.growth, width=MOSS.width, budget_in_width=True),
        Rule("thompson", THOMPSON.score, tries_each_first=False),
        Rule("thompson", THOMPSON.score, credit=THOMPSON.credit),
    ],
    ids=["ucb1", "moss", "thompson as given", "thompson after trying each"],
)
def test_a_rule_made_of_our_parts_is_not_taken_for_the_rule_of_its_name(mixed: Rule) -> None:
    # The linker knows functions by name: two kernels of one name, loaded from the cache into one
    # process, would run each other's code.
    ours = {kernel_name(rule) for rule in (UCB1, MOSS, THOMPSON)}
    assert len(ours) == 3
    assert kernel_name(mixed) not in ours

    class Mixed(PhasedPolicy):
        name = "mixed-m"
        rule = mixed

    by_record: Any = record.record_kernel(Mixed, BUILD)
    assert by_record.py_func.__name__.startswith("kernel_own")


def test_a_record_kernel_of_ours_is_cached_and_of_all_parts() -> None:
    names = [
        str(record.record_kernel(policy, BUILD).py_func.__name__)  # type: ignore[attr-defined]
        for policy in (UCBM, MOSSM, TSM, Race)
    ]
    assert len(set(names)) == 4
    assert not any(name.startswith("kernel_own") for name in names)
