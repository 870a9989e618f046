"""Which segment serves a rule: the rooms of the kernels by what they are good at.

`step` goes pull by pull, many runs in lockstep; `steady` looks at few arms and, where it may, skips
pulls; `thompson` leaves draws out. A segment of the step engine makes the very choices of the
policy itself, one of the skipping engine makes choices of the same law.
"""

from __future__ import annotations

from handful.rules import BonusRule, DrawRule, LeaderRule, Rule
from handful.rules.base import as_given
from handful.simulation.kernels import steady, step, thompson
from handful.simulation.kernels.jit import family
from handful.simulation.kernels.lanes import WIDTH
from handful.simulation.kernels.step import Segment

MANY = 256
"""With more arms in memory it is faster to look at few of them than at all in many runs at once."""


def can_skip(rule: Rule, bernoulli: bool) -> bool:
    """Whether the skipping engine serves the rule; Thompson sampling does for any rewards."""
    return rule.from_beta if isinstance(rule, DrawRule) else rule.steady and bernoulli


def most_lanes(rule: Rule, m: int, skipping: bool) -> int:
    """How many runs a block has at most: what stays in the fastest cache."""
    if isinstance(rule, DrawRule):
        return 2 * WIDTH if skipping and m == 2 else 1
    if skipping or not isinstance(rule, BonusRule) or (rule.steady and m > MANY):
        return 1
    return WIDTH if m > 32 else 2 * WIDTH


def segment(rule: Rule, bernoulli: bool, skipping: bool, many: bool) -> tuple[Segment, str]:
    """The segment of a rule, with many arms in memory or few, and its kernel's family name."""
    law = "bernoulli" if bernoulli else "any_law"
    if isinstance(rule, DrawRule):
        if skipping:
            return thompson.segment, family("skip_draws", rule.name)
        kin = family(f"draws_{law}", rule.name, rule.prepare, rule.pick, rule.credit)
        return step.of_draws(rule, kin, bernoulli), kin
    watches = "skip" if skipping else f"watch_{law}"
    if isinstance(rule, BonusRule):
        parts = (rule.growth, rule.width, rule.width_uses_budget)
        if skipping or (rule.steady and many):
            kin = family(f"{watches}_bonus", rule.name, *parts)
            return steady.segment(steady.scores_of(rule, kin), kin, bernoulli, skipping), kin
        kin = family(f"bonus_{law}", rule.name, *parts)
        return step.of_bonus(rule, kin, bernoulli), kin
    kind = "leader" if isinstance(rule, LeaderRule) else "index"
    if skipping or (rule.steady and rule.tries_each_first and rule.credit is as_given):
        kin = family(f"{watches}_{kind}", rule.name, rule.score)
        return steady.segment(steady.scores_of(rule, kin), kin, bernoulli, skipping), kin
    kin = family(f"{kind}_{law}", rule.name, rule.score, rule.credit, rule.tries_each_first)
    return step.of_index(rule, kin, bernoulli), kin
