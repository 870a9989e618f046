"""Which segment is used for a rule.

`step` goes pull by pull, many runs in lockstep; `monotone` looks at few arms and, where it may,
skips pulls; `thompson` leaves draws out. A segment of the step engine makes the very choices of the
policy itself, one of the skipping engine makes choices of the same distribution.
"""

from __future__ import annotations

from handful.compiling.jit import family
from handful.rules import Rule
from handful.rules.base import as_given
from handful.simulation.kernels import few_pulls, monotone, step, thompson
from handful.simulation.kernels.block import Space
from handful.simulation.kernels.lanes import WIDTH
from handful.simulation.kernels.scores import scores_of
from handful.simulation.kernels.step import Segment
from handful.simulation.kernels.world import FEW, MANY, PAIR, Build

ENOUGH = 256
"""With more arms in memory it is faster to look at few of them than at all in many runs at once."""
FOUR_VECTORS, TWO_VECTORS = 10, 64
"""The most arms in memory with which blocks of four vectors, or two, are the fastest, as measured.

Each pull of a block waits for the one before. A large block waits no longer than a small one, but
may not fit into the fastest cache.
"""


def build_for(rule: Rule, bernoulli: bool, endless: bool, skipping: bool, m: int) -> Build:
    """Return what a kernel of this rule for at most m arms in memory must be specialised for."""
    slots = FEW
    if rule.posterior and skipping and m == 2:
        slots = PAIR
    if rule.is_bonus and not skipping and m > ENOUGH:
        slots = MANY
    return Build(bernoulli, endless, skipping, slots)


def most_lanes(rule: Rule, build: Build, m: int) -> int:
    """Return the most runs of a block with m arms in memory."""
    if rule.posterior:
        return 2 * WIDTH if build.slots == PAIR else 1
    if not rule.is_bonus or _watches(rule, build):
        return 1
    if m <= FOUR_VECTORS:
        return 4 * WIDTH
    return 2 * WIDTH if m <= TWO_VECTORS else WIDTH


def with_tables(rule: Rule, m: int, space: Space) -> Space:
    """The space with the tables that a rule's segment for m arms in memory finds ready-made."""
    if not rule.posterior:
        return space
    if m == 2:
        return space._replace(tables=space.tables._replace(growths=few_pulls.probability_table()))
    return space._replace(tables=space.tables._replace(widths=few_pulls.cell_table()))


def segment(rule: Rule, build: Build) -> tuple[Segment, str]:
    """The segment of a rule, and the family name of its kernel."""
    functions = (rule.score, rule.growth, rule.width, rule.floor, rule.credit)
    facts = (rule.budget_in_width, rule.looks_at_top, rule.tries_each_first, rule.monotone)
    parts = [function for function in functions if function is not None]
    kin = family(f"phased_{build.tag}", rule.name, *parts, *facts)
    if rule.posterior and build.skipping:
        return thompson.duels if build.slots == PAIR else thompson.squeezes, kin
    if _watches(rule, build):
        return monotone.segment(scores_of(rule, kin), kin, build), kin
    return (step.of_bonus if rule.is_bonus else step.of_scores)(rule, kin, build), kin


def _watches(rule: Rule, build: Build) -> bool:
    """Return whether `monotone` can run the rule; one run at a time."""
    if not rule.monotone or not rule.tries_each_first or rule.credit is not as_given:
        return False
    return build.skipping or build.slots == MANY or not rule.is_bonus
