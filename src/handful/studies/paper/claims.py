"""The paper's claims about its experiments, and the verdict that our numbers give.

Each function makes one claim: what the paper says, how we read it, and the comparisons of measured
regrets that decide. `verdict.py` turns these into a verdict. Where a reader may ask for another
comparison, it is added, and marked as not the paper's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise

import numpy as np

from handful.simulation.result import Estimate
from handful.studies.paper import experiments
from handful.studies.paper.experiments import (
    CONSTANT_SPACE,
    EXPERIMENTS,
    MEMORIES,
    POLICIES,
    SWEPT,
    TABULATED,
    ByMemory,
    ByPolicy,
    Row,
    Table,
)
from handful.studies.paper.published import INSTANCES
from handful.studies.paper.verdict import Check, Claim, below
from handful.studies.results import Results

FAR = 0.5
"""`Far below` is taken as at most this share."""


def judged(results: Results) -> list[Claim]:
    """Return every claim with its comparisons; this needs the results of all experiments."""
    return [make(results) for make in _CLAIMS]


_CLAIMS: list[Callable[[Results], Claim]] = []


def _claim(make: Callable[[Results], Claim]) -> Callable[[Results], Claim]:
    _CLAIMS.append(make)
    return make


def _comparisons() -> Iterator[str]:
    for experiment in EXPERIMENTS.values():
        if isinstance(experiment, ByPolicy):
            yield from experiment.instances


def _swept() -> Iterator[str]:
    for experiment in EXPERIMENTS.values():
        if isinstance(experiment, ByMemory):
            yield experiment.instance


def _constant_space(results: Results, rival: str, share: float) -> tuple[Check, ...]:
    return tuple(
        below(
            f"{policy} on {instance}",
            results.regret(policy, instance, 2),
            results.regret(rival, instance),
            share,
        )
        for instance in _comparisons()
        for policy in POLICIES
    )


@_claim
def _below_constant_space(results: Results) -> Claim:
    return Claim(
        "Below UCBConstantSpace",
        "With half of its memory, UCB-M, TS-M and MOSS-M have a significantly lower regret than "
        "UCBConstantSpace.",
        "Section 3.2, Figure 1 and the appendix's K = 10",
        "On all six instances, M = 2 against M = 4. UCBConstantSpace is a reconstruction, here "
        "with the constant c = 2, the value at which the paper's order comes out.",
        _constant_space(results, CONSTANT_SPACE[0], 1.0),
    )


@_claim
def _far_below_constant_space(results: Results) -> Claim:
    return Claim(
        "Far below UCBConstantSpace",
        "They are far below it, and it is very inefficient in practice.",
        "Figure 1, on a log axis; the conclusion",
        "As above: at most half of its regret.",
        _constant_space(results, CONSTANT_SPACE[0], FAR),
    )


@_claim
def _far_below_narrow_constant_space(results: Results) -> Claim:
    return Claim(
        "Far below UCBConstantSpace with c = 0.5",
        "The same, where UCBConstantSpace has narrower confidence bounds.",
        "Not in the paper",
        "As above, with c = 0.5. The order of the algorithms depends on this constant.",
        _constant_space(results, CONSTANT_SPACE[1], FAR),
        papers=False,
    )


@_claim
def _pulls_of_the_best_arm(results: Results) -> Claim:
    checks = []
    for experiment in EXPERIMENTS.values():
        if not isinstance(experiment, ByPolicy) or not experiment.pulls_by_arm:
            continue
        for instance in experiment.instances:
            for policy in POLICIES:
                ours = _other_pulls(results, policy, instance, 2)
                theirs = _other_pulls(results, CONSTANT_SPACE[0], instance, None)
                checks.append(
                    below(f"pulls of other than the best arm, {policy} on {instance}", ours, theirs)
                )
    return Claim(
        "Fewer pulls of sub-optimal arms",
        "UCBConstantSpace spends a very large number of pulls on sub-optimal arms; the paper's "
        "algorithms do not.",
        "Appendix, K = 10",
        "Pulls of all arms but the best, against UCBConstantSpace with c = 2.",
        tuple(checks),
    )


def _other_pulls(results: Results, policy: str, instance: str, memory: int | None) -> Estimate:
    pulls = results.of(policy, instance, memory).pulls
    assert pulls is not None
    return Estimate(np.asarray(pulls[:, 1:].sum(axis=1), dtype=np.float64))


@_claim
def _above_unbounded(results: Results) -> Claim:
    return Claim(
        "Bounded above unbounded",
        "With M < K the regret is always higher than that of the same rule with all arms in "
        "memory.",
        "Figure 2 and the appendix's sweeps",
        f"Every policy, M < {MEMORIES[-1]}, instance and horizon of the sweeps.",
        tuple(
            below(
                f"{policy} with all arms and with M = {memory} on {instance} at {horizon:.0e}",
                results.regret(policy, instance, MEMORIES[-1], horizon),
                results.regret(policy, instance, memory, horizon),
            )
            for instance in _swept()
            for policy in SWEPT
            for memory in MEMORIES[:-1]
            for horizon in experiments.HORIZONS
        ),
    )


@_claim
def _peak(results: Results) -> Claim:
    checks = []
    for instance in _swept():
        by_memory = {m: results.regret(SWEPT[0], instance, m) for m in MEMORIES}
        top = max(MEMORIES[1:-1], key=lambda m: by_memory[m].mean)
        for end in (MEMORIES[0], MEMORIES[-1]):
            what = f"UCB-M at M = {end} and at its peak M = {top} on {instance}"
            checks.append(below(what, by_memory[end], by_memory[top]))
    return Claim(
        "A peak between M = 2 and M = K",
        "The regret of UCB-M with eta = 1 is low at M = 2, rises with M and then falls.",
        "Figure 2 and the appendix's sweeps",
        "After a million pulls, on each instance of the sweeps: the highest regret lies between "
        "M = 2 and M = K and is above both.",
        tuple(checks),
    )


@_claim
def _falls_with_memory(results: Results) -> Claim:
    return Claim(
        "More memory, less regret",
        "For UCB-M with eta = 0.2, TS-M and MOSS-M the regret falls as M grows.",
        "Figure 2 and the appendix's sweeps",
        "After a million pulls, on each instance of the sweeps, from each M to the next.",
        tuple(
            below(
                f"{policy} from M = {less} to M = {more} on {instance}",
                results.regret(policy, instance, more),
                results.regret(policy, instance, less),
            )
            for instance in _swept()
            for policy in SWEPT[1:]
            for less, more in pairwise(MEMORIES)
        ),
    )


@_claim
def _plain_ucb_is_the_worst(results: Results) -> Claim:
    return Claim(
        "Lower regret than eta = 1",
        "UCB-M with eta = 0.2, TS-M and MOSS-M have a lower regret than UCB-M with eta = 1.",
        "Section 3.2, Figure 2",
        "After a million pulls, on each instance of the sweeps, at each M.",
        tuple(
            below(
                f"{policy} and UCB-M at M = {memory} on {instance}",
                results.regret(policy, instance, memory),
                results.regret(SWEPT[0], instance, memory),
            )
            for instance in _swept()
            for policy in SWEPT[1:]
            for memory in MEMORIES
        ),
    )


def _table(name: str) -> Table:
    table = EXPERIMENTS[name]
    assert isinstance(table, Table)
    return table


def _rows(table: str, tabulated: bool) -> tuple[list[Row], list[Row]]:
    """Return the rows of a table, the paper's and the older ones, Berry's two in one reading."""
    rows = list(_table(table).rows())
    own = [row for row in rows if row.name.startswith("Q")]
    twofold = {row.name.removesuffix(TABULATED) for row in rows if row.name.endswith(TABULATED)}
    drop = {name if tabulated else name + TABULATED for name in twofold}
    return own, [row for row in rows if row not in own and row.name not in drop]


def _named(row: Row) -> str:
    return f"{row.name} M = {row.memory}"


def _regret(results: Results, row: Row, instance: str) -> Estimate:
    return results.regret(row.policy, instance, row.memory)


def _best_row(results: Results, tabulated: bool) -> tuple[Check, ...]:
    own, existing = _rows("table1", tabulated)
    best = next(row for row in own if row.name == "QMoss-M" and row.memory == 10)
    rivals = [row for row in [*own, *existing] if row != best]
    checks = []
    for instance in ("I1", "I3", "I4"):
        rival = min(rivals, key=lambda row: _regret(results, row, instance).mean)
        checks.append(
            below(
                f"{_named(best)} and the best other row, {_named(rival)}, on {instance}",
                _regret(results, best, instance),
                _regret(results, rival, instance),
            )
        )
    return tuple(checks)


@_claim
def _qmoss_is_best(results: Results) -> Claim:
    return Claim(
        "QMoss-M with M = 10 is the best on I1, I3 and I4",
        "QMoss-M with M = 10 has the lowest regret of all rows on I1, I3 and I4.",
        "Table 1",
        "On each, against the best of the other rows, Berry's two rules as the table has them.",
        _best_row(results, tabulated=True),
    )


@_claim
def _qmoss_is_best_as_defined(results: Results) -> Claim:
    return Claim(
        "QMoss-M with M = 10 is the best, Berry's rules as defined",
        "QMoss-M with M = 10 has the lowest regret of all rows on I1, I3 and I4.",
        "Table 1, two of its rows by the definitions in Berry et al. 1997",
        "On each, against the best of the other rows.",
        _best_row(results, tabulated=False),
        papers=False,
    )


def _existing_worse(results: Results, table: str, tabulated: bool) -> tuple[Check, ...]:
    own, existing = _rows(table, tabulated)
    return tuple(
        below(
            f"{_named(mine)} and {_named(row)} on {instance}",
            _regret(results, mine, instance),
            _regret(results, row, instance),
        )
        for instance in INSTANCES
        for row in existing
        for mine in own
    )


_WORSE = "In most cases the existing algorithms have a significantly higher regret."
_WORSE_READING = (
    "Every existing row against every row of the paper's algorithms on every instance, Berry's two "
    "rules as the table has them: more than half of the comparisons."
)


@_claim
def _existing_are_worse(results: Results) -> Claim:
    return Claim(
        "Existing algorithms are worse in most cases, alpha = 0.347",
        _WORSE,
        "Section 4.2, which introduces Table 1",
        _WORSE_READING,
        _existing_worse(results, "table1", tabulated=True),
        most=True,
    )


@_claim
def _existing_are_worse_in_table_2(results: Results) -> Claim:
    return Claim(
        "Existing algorithms are worse in most cases, alpha = 0.205",
        _WORSE,
        "Section 4.2; the sentence cites Table 2",
        _WORSE_READING,
        _existing_worse(results, "table2", tabulated=True),
        most=True,
    )


@_claim
def _existing_are_worse_as_defined(results: Results) -> Claim:
    return Claim(
        "Existing algorithms are worse in most cases, Berry's rules as defined",
        _WORSE,
        "Table 1, two of its rows by the definitions in Berry et al. 1997",
        "As above, alpha = 0.347.",
        _existing_worse(results, "table1", tabulated=False),
        most=True,
        papers=False,
    )


@_claim
def _alpha(results: Results) -> Claim:
    checks = []
    for row, other in zip(_table("table1").rows(), _table("table2").rows(), strict=True):
        if row.policy != other.policy:
            for instance in INSTANCES:
                what = f"{_named(row)} with alpha = 0.347 and 0.205 on {instance}"
                checks.append(
                    below(what, _regret(results, row, instance), _regret(results, other, instance))
                )
    return Claim(
        "alpha = 0.205 is worse than 0.347",
        "With alpha = 0.205 so few arms are explored that the regret is high.",
        "Table 2",
        "Every row of the paper's algorithms on every instance, against the same row of Table 1.",
        tuple(checks),
    )


def _ten_against_two(results: Results, names: tuple[str, ...]) -> tuple[Check, ...]:
    own = {(row.name, row.memory): row for row in _rows("table1", tabulated=True)[0]}
    return tuple(
        below(
            f"{name} with M = 10 and M = 2 on {instance}",
            _regret(results, own[name, 10], instance),
            _regret(results, own[name, 2], instance),
        )
        for name in names
        for instance in INSTANCES
    )


@_claim
def _memory_helps_on_endless_arms(results: Results) -> Claim:
    return Claim(
        "More memory helps on endless arms",
        "QUCB-M with eta = 0.2, QTS-M and QMoss-M have a lower regret with more memory.",
        "Section 4.2, Table 1",
        "M = 10 against M = 2 on every instance.",
        _ten_against_two(results, ("QUCB-M (eta=0.2)", "QTS-M", "QMoss-M")),
    )


@_claim
def _memory_does_not_help_qucb(results: Results) -> Claim:
    checks = _ten_against_two(results, ("QUCB-M",))
    return Claim(
        "But not QUCB-M with eta = 1",
        "QUCB-M with eta = 1 does not profit from more memory.",
        "Section 4.2, Table 1",
        "M = 10 is on no instance decidedly better than M = 2.",
        tuple(Check(check.what, -check.z, -check.bar) for check in checks),
    )
