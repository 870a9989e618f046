"""The verdicts, from made-up regrets whose right verdicts are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from handful.paper import claims
from handful.paper.claims import CONFIRMED, MOSTLY, OPEN, PARTLY, REFUTED, Check, Claim, below
from handful.paper.experiments import EXPERIMENTS
from handful.paper.results import Results
from handful.simulation import Cell, Result
from handful.simulation.outcome import Outcome
from handful.simulation.plan import log_grid
from handful.simulation.result import Estimate


def claim(*zs: float, most: bool = False) -> Claim:
    return Claim("name", "says", "where", "reading", tuple(Check("", z) for z in zs), most)


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (claim(4, 5, 9), CONFIRMED),
        (claim(4, 5, 1), MOSTLY),
        (claim(1, -1), OPEN),
        (claim(4, 5, -4), PARTLY),
        (claim(4, -4), REFUTED),
        (claim(-4, -1), REFUTED),
        (claim(math.nan), OPEN),
        (claim(4, 5, 9, -9, most=True), CONFIRMED),
        (claim(4, 5, -9, -9, most=True), REFUTED),
        (claim(4, 1, -9, most=True), OPEN),
        (claim(4, 1, 1, -9, -9, -9, most=True), REFUTED),
    ],
)
def test_the_verdict_follows_from_the_counts(made: Claim, verdict: str) -> None:
    assert made.verdict == verdict


def test_a_comparison_is_in_standard_errors() -> None:
    low, high = Estimate(np.array([1.0, 3.0])), Estimate(np.array([10.0, 14.0]))
    assert low.sem == 1.0
    assert high.sem == 2.0
    assert below("", low, high).z == pytest.approx(10 / math.sqrt(5))
    assert below("", high, low).z == pytest.approx(-10 / math.sqrt(5))
    assert below("", low, high, share=0.5).z == pytest.approx(4 / math.sqrt(2))


def test_without_spread_the_order_alone_decides() -> None:
    one, two = Estimate(np.array([1.0, 1.0])), Estimate(np.array([2.0, 2.0]))
    assert below("", one, two).holds
    assert below("", two, one).fails


def test_a_single_run_decides_nothing() -> None:
    assert not below("", Estimate(np.array([1.0])), Estimate(np.array([9.0]))).holds


def made_up(regret_of: Callable[[Cell], float]) -> Results:
    """All cells of the paper with two runs each, of nearly the regret that is asked for."""
    results = Results()
    for experiment in EXPERIMENTS.values():
        for planned in experiment.cells(2, 0):
            grid = log_grid(planned.horizon)
            mean = regret_of(planned) * planned.horizon / 10**6
            rows = np.outer([0.999 * mean, 1.001 * mean], np.array(grid) / grid[-1])
            pulls = np.full((2, 10), mean, dtype=np.int64)
            pulls[1, :] += 1
            settings = {"horizon": planned.horizon, "runs": 2, "label": planned.label}
            settings |= {"memory": planned.memory, "instance": planned.instance.name}
            results.add(planned, Result.of(settings, grid, Outcome(rows, pulls)))
    return results


def as_claimed(planned: Cell) -> float:
    """Regret for which every claim holds."""
    name, memory, settings = planned.policy.name, planned.memory, planned.settings
    if name == "constant-space":
        return 9e4
    if name == "ucb-m":
        if settings.get("eta") == 0.2:
            return 4000.0 - 30 * memory
        return {2: 9000.0, 100: 7000.0}.get(memory, 12000.0)
    if name in ("ts-m", "moss-m"):
        return 3000.0 - 20 * memory
    worse = 2.0 if settings.get("alpha") == 0.205 else 1.0
    if name == "qmoss-m":
        return worse * (50.0 if memory == 10 else 90.0)
    if name == "qucb-m" and "eta" not in settings:
        return worse * (80.0 if memory == 2 else 95.0)
    if name.startswith("q"):
        return worse * (85.0 if memory == 2 else 70.0)
    return 200.0


def verdicts(results: Results) -> dict[str, str]:
    return {f"{i} {c.name}": c.verdict for i, c in enumerate(claims.judged(results))}


def test_where_every_claim_holds_every_claim_is_confirmed() -> None:
    assert set(verdicts(made_up(as_claimed)).values()) == {CONFIRMED}


@pytest.mark.parametrize(
    ("name", "wrong", "verdict"),
    [
        ("Far below UCBConstantSpace", ("constant-space", None, 1e3), REFUTED),
        ("A peak between M = 2 and M = K", ("ucb-m", 2, 13000.0), REFUTED),
        ("Bounded above unbounded", ("ts-m", 100, 9999.0), PARTLY),
        ("More memory, less regret", ("moss-m", 20, 9999.0), PARTLY),
        ("QMoss-M with M = 10 is the best on I1, I3 and I4", ("qts-m", 10, 10.0), REFUTED),
        ("alpha = 0.205 is worse than 0.347", ("qts-m", 2, 1.0), PARTLY),
        ("More memory helps on endless arms", ("qmoss-m", 2, 1.0), PARTLY),
        ("But not QUCB-M with eta = 1", ("qucb-m", 2, 999.0), REFUTED),
        ("Existing algorithms are worse in most cases", ("*", None, 1.0), REFUTED),
        ("A smaller eta", ("ucb-m:eta", 5, 99999.0), PARTLY),
    ],
)
def test_a_claim_that_does_not_hold_is_not_confirmed(
    name: str, wrong: tuple[str, int | None, float], verdict: str
) -> None:
    which, memory, regret = wrong

    def altered(planned: Cell) -> float:
        policy = planned.policy.name + (":eta" if "eta" in planned.settings else "")
        older = planned.instance.endless and not policy.startswith("q")
        alpha = planned.settings.get("alpha")
        if "0.205" in name and alpha != 0.205:
            return as_claimed(planned)
        if (which == policy and memory in (None, planned.memory)) or (which == "*" and older):
            return regret
        return as_claimed(planned)

    found = {c.name: c.verdict for c in reversed(claims.judged(made_up(altered)))}
    assert found[name] == verdict


def test_berrys_rules_as_defined_have_a_verdict_of_their_own() -> None:
    def altered(planned: Cell) -> float:
        defined = planned.policy.name in ("sqrt-run", "sqrt-log-learning")
        return 1.0 if defined else as_claimed(planned)

    judged = claims.judged(made_up(altered))
    twice = [c.verdict for c in judged if c.name.startswith("The same, with Berry")]
    assert twice == [REFUTED, REFUTED]
    others = {c.verdict for c in judged if not c.name.startswith("The same, with Berry")}
    assert others == {CONFIRMED}


def test_what_goes_against_a_claim_is_named() -> None:
    made = replace(claim(4), checks=(Check("a", -9), Check("b", 9), Check("c", -4)))
    assert [check.what for check in made.against] == ["a", "c"]
    assert made.to_dict()["against_which"] == ["a", "c"]
    assert made.to_dict()["verdict"] == REFUTED
