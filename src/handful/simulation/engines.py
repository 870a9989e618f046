"""Which engine runs a cell: what each can, and where skipping pays."""

from __future__ import annotations

import math
from importlib import import_module

from handful.errors import MissingExtraError, SettingError
from handful.instances import distributions
from handful.policies.air import UCBAIR
from handful.policies.automaton import AutomatonPolicy
from handful.policies.base import Policy
from handful.policies.phased import PhasedPolicy
from handful.rules import BonusRule, DrawRule
from handful.rules.base import as_given
from handful.rules.thompson import trial
from handful.simulation.plan import FEW_ARMS, Cell, check_engine

KINDS: tuple[type[Policy], ...] = (PhasedPolicy, AutomatonPolicy, UCBAIR)
"""The kinds of policies that have a kernel."""


def kind_of(policy: type[Policy]) -> type[Policy] | None:
    """Which of the kinds with a kernel a policy is of."""
    return next((kind for kind in KINDS if issubclass(policy, kind)), None)


def choose(planned: Cell, engine: str) -> str:
    """The engine that runs the cell: the one asked for, if it can."""
    check_engine(engine)
    if engine == "python":
        return engine
    try:
        import_module("handful.simulation.compiled")
    except ImportError as error:
        raise MissingExtraError(
            f"engine={engine!r} (engine='python' runs without it)", str(error.name), "sim"
        ) from None
    if engine == "skip" and (why := cannot_skip(planned)):
        raise SettingError(
            f"the skipping engine cannot run {planned.policy.name} on {planned.instance.name}: "
            f"{why}; engine 'auto' takes the fastest that can"
        )
    if engine == "compiled" and not supports(planned):
        raise SettingError(
            f"the compiled engine cannot run {planned.policy.name} on {planned.instance.name}: "
            "use engine='python'"
        )
    if engine != "auto":
        return engine
    if gains_by_skipping(planned):
        return "skip"
    return "compiled" if supports(planned) else "python"


def supports(cell: Cell) -> bool:
    """Whether the compiled engine can run the cell: a policy of handful as it stands, any rule.

    A width that follows the budget cannot be tabulated where the budget is the time: all arms in
    memory, and a policy that is not told the horizon.
    """
    if cell.instance.n_arms >= 2**63 or not unchanged(cell.policy):
        return False
    if not issubclass(cell.policy, PhasedPolicy):
        return not cell.record
    rule = cell.policy.rule
    by_budget = isinstance(rule, BonusRule) and rule.width_uses_budget
    return not (by_budget and cell.memory >= cell.instance.n_arms and cell.told_horizon == 0)


def cannot_skip(cell: Cell) -> str:
    """Why the skipping engine cannot run the cell; nothing if it can.

    Some rules make Bernoulli trials of any rewards, others need rewards that are such.
    """
    if cell.tape:
        return "a tape has a reward for every pull"
    if not supports(cell):
        return "only the python engine can"
    bernoulli = cell.instance.distribution == distributions.BERNOULLI
    if issubclass(cell.policy, AutomatonPolicy):
        machine = cell.policy.automaton
        if machine.calm is None:
            return "its automaton does not say when it is calm"
        return "" if bernoulli or machine.credit is trial else "rewards are not Bernoulli"
    if not issubclass(cell.policy, PhasedPolicy):
        return "every pull changes the score that is the highest"
    rule = cell.policy.rule
    if isinstance(rule, DrawRule):
        return "" if rule.from_beta else "its draws are of its own kind"
    if not rule.steady:
        return "its rule does not say that it is steady (steady=True)"
    if not rule.tries_each_first or rule.credit is not as_given:
        return "its rule credits rewards in a way of its own or does not try each arm first"
    return "" if bernoulli else "rewards are not Bernoulli"


def supports_skipping(cell: Cell) -> bool:
    """Whether the skipping engine can run the cell."""
    return not cannot_skip(cell)


def gains_by_skipping(cell: Cell) -> bool:
    """Whether skipping is the faster engine. It must not depend on the runs: their numbers do not.

    For UCB1 and MOSS, blocks of runs are hard to beat. It takes long stretches that belong to one
    arm: all arms in memory, and few pulls of the others, of order (eta/gap)^2 ln T each; for MOSS,
    whose bonus ends after its share of the pulls, no more than that share.
    """
    if not supports_skipping(cell):
        return False
    if not issubclass(cell.policy, PhasedPolicy) or not isinstance(cell.policy.rule, BonusRule):
        return True
    world = cell.instance
    if cell.memory < world.n_arms:
        return False
    if world.n_arms > FEW_ARMS:
        return True
    gaps = [world.best_mean - world.mean(arm) for arm in range(world.n_arms)]
    needed = 2.0 * cell.eta**2 * math.log(cell.horizon)
    share = world.n_arms if cell.policy.rule.width_uses_budget else 1
    others = sum(min(cell.horizon / share, needed / gap**2) for gap in gaps if gap > 0.0)
    return others + cell.horizon * (gaps.count(0.0) - 1) < 0.1 * cell.horizon


def unchanged(policy: type[Policy]) -> bool:
    """A policy of a kind with a kernel that changes nothing but data; others are for the oracle."""
    base = kind_of(policy)
    if base is None:
        return False
    own = policy.__mro__[: policy.__mro__.index(base)]
    changed = {name for cls in own for name in vars(cls)}
    fixed = {
        name
        for cls in base.__mro__[:-1]
        for name, value in vars(cls).items()
        if (callable(value) or isinstance(value, property | classmethod))
        and not name.startswith("__")
    }
    return not changed & (fixed - {"round_shape"})
