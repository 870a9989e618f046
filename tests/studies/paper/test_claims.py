"""The verdicts, from made-up regrets whose right verdicts are known."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from handful.simulation import Cell, Result
from handful.simulation.outcome import Outcome
from handful.simulation.plan import log_grid
from handful.simulation.result import Estimate
from handful.studies.paper import claims
from handful.studies.paper.experiments import EXPERIMENTS
from handful.studies.paper.verdict import (
    CONFIRMED,
    MOSTLY,
    OPEN,
    PARTLY,
    REFUTED,
    Check,
    Claim,
    below,
)
from handful.studies.results import Results


def claim(*zs: float, most: bool = False) -> Claim:
    return Claim("name", "says", "where", "reading", tuple(Check("", z) for z in zs), most)


@pytest.mark.parametrize(
    ("made", "verdict"),
    [
        (claim(4, 5, 9), CONFIRMED),
        (claim(4, 5, 1), MOSTLY),
        (claim(4, 1, 1), OPEN),
        (claim(1, -1), OPEN),
        (claim(4, 5, -4), PARTLY),
        (claim(4, -4), REFUTED),
        (claim(-4, -1), REFUTED),
        (claim(4, -4, 1), REFUTED),
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


def test_with_few_runs_it_takes_more_to_decide() -> None:
    few, many = np.array([0.0, 1.0, 2.0]), np.tile([0.0, 1.0, 2.0], 2000)
    assert below("", Estimate(few), Estimate(few + 9)).bar > 6
    assert below("", Estimate(many), Estimate(many + 9)).bar == pytest.approx(3, abs=0.01)


def test_what_must_only_not_be_decided_the_other_way() -> None:
    assert Check("", 0.0, -3.0).holds
    assert Check("", -2.9, -3.0).holds
    assert Check("", -3.1, -3.0).fails


def test_without_spread_the_order_alone_decides() -> None:
    one, two = Estimate(np.array([1.0, 1.0])), Estimate(np.array([2.0, 2.0]))
    assert below("", one, two).holds
    assert below("", two, one).fails


def test_a_single_run_decides_nothing() -> None:
    assert not below("", Estimate(np.array([1.0])), Estimate(np.array([9.0]))).holds


Change = Callable[[Cell], float | None]


def made_up(change: Change, flat: Change = lambda planned: None) -> Results:
    """All cells of the paper, with regrets for which every claim holds but where changed.

    Regret grows with t, or with a power of it that `flat` gives. The first arm has the pulls that
    the others leave.
    """
    results = Results()
    for experiment in EXPERIMENTS.values():
        for planned in experiment.cells(2, 0):
            grid = log_grid(planned.horizon)
            changed = change(planned)
            mean = as_claimed(planned) if changed is None else changed
            power = flat(planned) or 1.0
            shape = (np.array(grid) / 10**6) ** power * mean
            pulls = np.full((2, 10), int(mean), dtype=np.int64)
            pulls[:, 0] = 10**6 - 9 * int(mean)
            pulls[1, :] += [9, *[-1] * 9]
            settings = {"horizon": planned.horizon, "runs": 2, "label": planned.label}
            settings |= {"memory": planned.memory, "instance": planned.instance.name}
            rows = np.outer([1 - 1e-6, 1 + 1e-6], shape)
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
    return 999.0


def verdicts(results: Results) -> dict[str, str]:
    return {claim.title: claim.verdict for claim in claims.judged(results)}


def test_titles_are_told_apart() -> None:
    judged = claims.judged(made_up(lambda planned: None))
    assert len({claim.title for claim in judged}) == len(judged)


def test_where_every_claim_holds_every_claim_is_confirmed() -> None:
    assert set(verdicts(made_up(lambda planned: None)).values()) == {CONFIRMED}


def only(regret: float, name: str, **where: float | str | None) -> Change:
    """A regret for the cells of a policy with this memory, eta, alpha, c or instance."""

    def change(planned: Cell) -> float | None:
        facts: dict[str, float | str] = {**planned.settings, "memory": planned.memory}
        facts["instance"] = planned.instance.name
        if planned.policy.name == name and all(facts.get(k) == v for k, v in where.items()):
            return regret
        return None

    return change


def older(regret: float) -> Change:
    """A regret for all rules on endless arms that are not the paper's."""

    def change(planned: Cell) -> float | None:
        theirs = planned.instance.endless and not planned.policy.name.startswith("q")
        return regret if theirs else None

    return change


BELOW = "Below UCBConstantSpace"
FAR_C2 = "Far below UCBConstantSpace"
FAR_C05 = "Far below UCBConstantSpace with c = 0.5"
PULLS = "Fewer pulls of sub-optimal arms"
PEAK = "A peak between M = 2 and M = K"
ABOVE = "Bounded above unbounded"
FALLS = "More memory, less regret"
LOWER = "Lower regret than eta = 1"
BEST = "QMoss-M with M = 10 is the best on I1, I3 and I4"
BEST_AS_DEFINED = "QMoss-M with M = 10 is the best, Berry's rules as defined"
WORSE_1 = "Existing algorithms are worse in most cases, alpha = 0.347"
WORSE_2 = "Existing algorithms are worse in most cases, alpha = 0.205"
WORSE_AS_DEFINED = "Existing algorithms are worse in most cases, Berry's rules as defined"
ALPHA = "alpha = 0.205 is worse than 0.347"
HELPS = "More memory helps on endless arms"
NOT_QUCB = "But not QUCB-M with eta = 1"
I4 = "beta:1.0:1.0:0.6"


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        # A rival of c = 2 that is worse, but not by half; and one of c = 0.5 alone that is better.
        (only(14000.0, "constant-space", c=2.0), {BELOW: CONFIRMED, FAR_C2: PARTLY}),
        (only(1e3, "constant-space", c=0.5), {FAR_C05: REFUTED}),
        (only(1e3, "constant-space", c=2.0), {BELOW: REFUTED, FAR_C2: REFUTED, PULLS: REFUTED}),
        (only(13000.0, "ucb-m", memory=2, eta=None), {PEAK: REFUTED}),
        (only(13000.0, "ucb-m", memory=100, eta=None), {PEAK: REFUTED}),
        (only(9999.0, "ts-m", memory=100), {ABOVE: PARTLY, FALLS: PARTLY, LOWER: PARTLY}),
        (only(9999.0, "moss-m", memory=20), {FALLS: PARTLY}),
        (only(99999.0, "ucb-m", memory=5, eta=0.2), {FALLS: PARTLY, LOWER: PARTLY}),
        (only(10.0, "qts-m", memory=10, alpha=0.347), {BEST: REFUTED}),
        (only(10.0, "qts-m", memory=10, alpha=0.347, instance=I4), {BEST: PARTLY}),
        (only(10.0, "sqrt-run-tabulated"), {BEST: REFUTED}),
        (only(10.0, "sqrt-run"), {BEST_AS_DEFINED: REFUTED, BEST: CONFIRMED}),
        (older(120.0), {WORSE_1: CONFIRMED, WORSE_2: REFUTED, WORSE_AS_DEFINED: CONFIRMED}),
        (older(1.0), {WORSE_1: REFUTED, WORSE_2: REFUTED, WORSE_AS_DEFINED: REFUTED}),
        (only(1.0, "qts-m", memory=2, alpha=0.205), {ALPHA: PARTLY}),
        (only(1.0, "qmoss-m", memory=2, alpha=0.347), {HELPS: PARTLY}),
        (only(999.0, "qucb-m", memory=2, eta=None, alpha=0.347), {NOT_QUCB: REFUTED}),
        (only(95.0, "qucb-m", memory=2, eta=None, alpha=0.347), {NOT_QUCB: CONFIRMED}),
    ],
)
def test_a_claim_that_does_not_hold_is_not_confirmed(
    change: Change, expected: dict[str, str]
) -> None:
    found = verdicts(made_up(change))
    assert {title: found[title] for title in expected} == expected


def test_bounded_above_unbounded_looks_at_every_horizon() -> None:
    def flat(planned: Cell) -> float | None:
        return 0.05 if planned.policy.name == "ts-m" and planned.memory == 100 else None

    assert verdicts(made_up(lambda planned: None, flat))[ABOVE] == PARTLY


def test_berrys_rules_as_defined_have_verdicts_of_their_own() -> None:
    def altered(planned: Cell) -> float | None:
        return 1.0 if planned.policy.name in ("sqrt-run", "sqrt-log-learning") else None

    judged = claims.judged(made_up(altered))
    found = {claim.title: claim.verdict for claim in judged}
    assert found[BEST_AS_DEFINED] == REFUTED
    assert found[WORSE_AS_DEFINED] == REFUTED
    assert {claim.verdict for claim in judged if claim.papers} == {CONFIRMED}
    assert {claim.title for claim in judged if not claim.papers} == {
        FAR_C05, BEST_AS_DEFINED, WORSE_AS_DEFINED,
    }  # fmt: skip


def test_what_goes_against_a_claim_is_named() -> None:
    made = replace(claim(4), checks=(Check("a", -9), Check("b", 9), Check("c", -4)))
    assert [check.what for check in made.against] == ["a", "c"]
    assert made.to_dict()["against_which"] == ["a", "c"]
    assert made.to_dict()["verdict"] == REFUTED
