"""What engines must know about each kind of policy, in one place.

A kind says whether the compiled engines can run a cell, whether skipping is faster, and about how
long a pull takes. It provides the kernel and its arrays. There are two kinds of policies, and one
kind of cells, whatever the policy:

    Records    any policy: its `propose` and `observe`, compiled from their own source
    Phases     the paper's algorithms, whose schedule is known beforehand: many runs in lockstep,
               tables, sub-phases looked up, pulls skipped; proven equal to the two functions
    InTraffic  cells with late or lost rewards, or means or arms that change: the two functions,
               compiled

To give a kind of policy a faster kernel, write a `Kind` that serves it and create an instance
below.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from types import FunctionType
from typing import Any, ClassVar, TypeAlias

from handful.errors import RuleError
from handful.instances import distributions
from handful.instances.traffic import Traffic
from handful.policies.base import Policy
from handful.policies.mistakes import no_score, wrong_arm, wrong_slot
from handful.policies.parts import Parts
from handful.policies.phased import PhasedPolicy, PooledPolicy
from handful.policies.settings import check_settings
from handful.rules.base import as_given
from handful.simulation import mistakes
from handful.simulation.kernels import phased, record, segments, traffic
from handful.simulation.kernels.block import BEGAN, LANE, M_NOW, Block, space
from handful.simulation.kernels.step import NAN
from handful.simulation.kernels.world import FEW, Batch, Build, World
from handful.simulation.plan import FEW_ARMS, Cell

Run: TypeAlias = Callable[[Block, Batch], None]
"""Runs a block of runs of a cell, in one thread."""


class Kind(ABC):
    """A kind of policy as engines see it."""

    made: ClassVar[list[Kind]] = []
    """All kinds."""

    def __init__(self) -> None:
        self.made.append(self)

    @abstractmethod
    def serves(self, policy: type[Policy]) -> bool:
        """Return whether a policy is of this kind. Of several, the last one created counts."""

    def supports(self, cell: Cell) -> bool:
        """Return whether the compiled engine can run the cell."""
        return True

    @abstractmethod
    def cannot_skip(self, cell: Cell) -> str:
        """Return why the skipping engine cannot run the cell; empty if it can."""

    def gains_by_skipping(self, cell: Cell) -> bool:
        """Return whether skipping is faster. The answer must not depend on the number of runs."""
        return True

    @abstractmethod
    def cost(self, cell: Cell) -> float:
        """Estimate the nanoseconds per pull on one core; used only for the time left."""

    def slots(self, cell: Cell) -> int:
        """Return the most arms that are in memory at once."""
        return min(cell.memory, cell.instance.n_arms)

    def build(self, cell: Cell, skipping: bool) -> Build:
        """Return what the cell's kernel is made for."""
        # The skipping engine sees trials only. Pull by pull, there is little to gain from knowing
        # that rewards are trials, and it would be a kernel more.
        return Build(skipping, cell.instance.endless, skipping, FEW)

    def most_lanes(self, cell: Cell, skipping: bool) -> int:
        """Return how many runs of the cell go through the kernel together, at most."""
        return 1

    @abstractmethod
    def kernel(self, cell: Cell, build: Build) -> Any:
        """Return the cell's kernel, not compiled yet unless it was before."""

    @abstractmethod
    def start(self, cell: Cell, kernel: Any, lanes: int) -> Run:
        """Return what runs a block of at most `lanes` lanes, with the space for one thread."""

    @abstractmethod
    def forget(self) -> None:
        """Make kernels anew when they are asked for next."""


class Records(Kind):
    """Any policy."""

    def serves(self, policy: type[Policy]) -> bool:
        """Return True: every policy is of this kind."""
        return True

    def supports(self, cell: Cell) -> bool:
        """Return whether the compiled engine can run the cell: it cannot record stays."""
        return super().supports(cell) and not cell.record

    def cannot_skip(self, cell: Cell) -> str:
        """Return why not: the policy does not say when it is calm, or needs Bernoulli rewards."""
        policy = cell.policy
        if policy.calm is None:
            return "the policy does not say when it is calm"
        bernoulli = cell.instance.distribution == distributions.BERNOULLI
        return "" if bernoulli or policy.trials else "rewards are not Bernoulli"

    def cost(self, cell: Cell) -> float:
        """Estimate the cost: most pulls are skipped, except where every arm met is remembered."""
        return 100.0 if cell.policy.unbounded else 10.0

    def slots(self, cell: Cell) -> int:
        """Return M, or the number of arms that the policy can meet, if that is smaller."""
        values = check_settings(cell.policy, cell.policy_settings())
        return min(super().slots(cell), cell.policy.slots_for(cell.horizon, values))

    def space(self, cell: Cell) -> record.RecordSpace:
        """Return a record of the policy, with all the slots and entries that a run can use."""
        values = check_settings(cell.policy, cell.policy_settings())
        slots = self.slots(cell)
        entries = cell.policy.entries_for(slots, cell.horizon, values)
        return record.record_space(cell.policy, slots, entries)

    def kernel(self, cell: Cell, build: Build) -> Any:
        """Return the kernel of the policy."""
        policy: Any = cell.policy
        return record.record_kernel(policy, build)

    def start(self, cell: Cell, kernel: Any, lanes: int) -> Run:
        """Return what runs a block, with a record of the policy."""
        world = World.of(cell.instance)
        instance = cell.instance
        values = check_settings(cell.policy, cell.policy_settings())
        p = cell.policy.parameters(instance.n_arms, cell.memory, instance.endless, values)
        mine = self.space(cell)

        def call(block: Block, batch: Batch) -> None:
            kernel(block.first, p, world, batch, mine)

        return _with_mistakes(cell, mine, call)

    def forget(self) -> None:
        """Forget all kernels of single policies."""
        record.record_kernel.cache_clear()


def _with_mistakes(cell: Cell, space: record.RecordSpace, call: Run) -> Run:
    """Return what clears the record, calls its kernel, and raises what the policy did wrong."""

    def run(block: Block, batch: Batch) -> None:
        space.cleared()
        try:
            call(block, batch)
        except mistakes.RAISED_IN_A_KERNEL as error:
            decisions = int(space.scalars["clock"][0])
            mistakes.raise_from_kernel(error, cell.policy, decisions, len(space.slots))
        if space.failed[0] != record.FINE:
            raise _mistake(cell, space)

    return run


def _mistake(cell: Cell, space: record.RecordSpace) -> RuleError:
    """Return the error of what the policy proposed last, which ended the run."""
    what, slot = int(space.failed[0]), int(space.failed[1])
    decisions, held = int(space.scalars["clock"][0]), int(space.scalars["held"][0])
    if what == record.WRONG_ARM:
        arm = int(space.slots["arm"][slot])
        return wrong_arm(cell.policy, decisions, arm, cell.instance.n_arms)
    if slot < 0:
        pulls, sums = (space.slots[name][:held].tolist() for name in ("pulls", "sums"))
        return no_score(cell.policy, decisions, zip(pulls, sums, strict=True))
    return wrong_slot(cell.policy, decisions, slot, held)


class Phases(Kind):
    """The paper's algorithms."""

    def serves(self, policy: type[Policy]) -> bool:
        """Return whether it is a subclass of `PhasedPolicy` with its functions unchanged."""
        if not issubclass(policy, PhasedPolicy) or not hasattr(policy, "rule"):
            return False
        base = PooledPolicy if issubclass(policy, PooledPolicy) else PhasedPolicy
        named = next(cls for cls in policy.__mro__ if "rule" in vars(cls))
        functions = ("propose", "observe")
        ours = all(getattr(policy, name) is vars(named)[name].__func__ for name in functions)
        same = _same_method(policy.parameters, base.parameters)
        return ours and same and policy.start is base.start

    def supports(self, cell: Cell) -> bool:
        """Return whether the compiled engine can run the cell.

        A width that follows the budget cannot be tabulated where the budget is the time: all arms
        in memory, and a policy that is not given the horizon.
        """
        by_time = cell.memory >= cell.instance.n_arms and cell.given_horizon == 0
        return super().supports(cell) and not (_phased(cell).rule.budget_in_width and by_time)

    def cannot_skip(self, cell: Cell) -> str:
        """Return why not: some rules need Bernoulli rewards, others make trials of any."""
        rule = _phased(cell).rule
        if rule.posterior:
            return ""
        if not rule.monotone:
            return "its rule is not known to be monotone (monotone=True)"
        if not rule.tries_each_first or rule.credit is not as_given:
            return "its rule credits rewards in its own way or does not try each arm first"
        return (
            ""
            if cell.instance.distribution == distributions.BERNOULLI
            else "rewards are not Bernoulli"
        )

    def gains_by_skipping(self, cell: Cell) -> bool:
        """Return whether skipping is the faster engine.

        For UCB1 and MOSS, blocks of runs are hard to beat. It takes long stretches that belong to
        one arm: all arms in memory, and few pulls of the others, of order (eta/gap)^2 ln T each;
        for MOSS, whose bonus ends after its share of the pulls, no more than that share.
        """
        rule = _phased(cell).rule
        if not rule.is_bonus:
            return True
        world = cell.instance
        if cell.memory < world.n_arms:
            return False
        if world.n_arms > FEW_ARMS:
            return True
        gaps = [world.best_mean - world.mean(arm) for arm in range(world.n_arms)]
        needed = 2.0 * cell.eta**2 * math.log(cell.horizon)
        share = world.n_arms if rule.budget_in_width else 1
        others = sum(min(cell.horizon / share, needed / gap**2) for gap in gaps if gap > 0.0)
        return others + cell.horizon * (gaps.count(0.0) - 1) < 0.1 * cell.horizon

    def cost(self, cell: Cell) -> float:
        """Estimate the cost by rule and memory; beyond a hundred arms, few are looked at."""
        m = min(cell.memory, cell.instance.n_arms, 100)
        rule = _phased(cell).rule
        if rule.is_bonus:
            return 4.0 + 0.18 * m
        if rule.posterior:
            return 10.0 if m == 2 else 25.0 + 0.5 * m
        return 50.0 + 3.0 * m

    def slots(self, cell: Cell) -> int:
        """Return M, or the size of the whole set or pool."""
        return phased.slots(cell.instance.n_arms, cell.memory, *round_shape(cell), cell.horizon)

    def build(self, cell: Cell, skipping: bool) -> Build:
        """Return what the rule's kernel is made for."""
        bernoulli = skipping or cell.instance.distribution == distributions.BERNOULLI
        m = min(cell.memory, cell.instance.n_arms)
        return segments.build_for(_phased(cell).rule, bernoulli, cell.instance.endless, skipping, m)

    def most_lanes(self, cell: Cell, skipping: bool) -> int:
        """Return the number of lanes from which the rule gains."""
        return segments.most_lanes(_phased(cell).rule, self.build(cell, skipping), self.slots(cell))

    def kernel(self, cell: Cell, build: Build) -> Any:
        """Return the kernel of the rule."""
        return phased.phased_kernel(_phased(cell).rule, build)

    def start(self, cell: Cell, kernel: Any, lanes: int) -> Run:
        """Return what runs a block, with memory and tables for it."""
        world = World.of(cell.instance)
        slots = self.slots(cell)
        mine = segments.with_tables(_phased(cell).rule, slots, space(slots, lanes))
        given = (cell.memory, cell.eta, cell.given_horizon, *round_shape(cell), world)

        def run(block: Block, batch: Batch) -> None:
            try:
                kernel(*block, *given, batch, mine)
            except mistakes.RAISED_IN_A_KERNEL as error:
                m, lane, began = (int(mine.scratch.numbers[at]) for at in (M_NOW, LANE, BEGAN))
                here = slice(lane, m * block.lanes, block.lanes)
                pairs = zip(mine.memory.n[here], mine.memory.s[here], strict=True)
                arms = [(int(n), float(s)) for n, s in pairs]
                decisions = began + sum(n for n, _ in arms)
                if isinstance(error, RuleError) and str(error) == NAN:
                    raise no_score(cell.policy, decisions, arms) from None
                mistakes.raise_from_kernel(error, cell.policy, decisions, slots)

        return run

    def forget(self) -> None:
        """Forget all kernels of phased policies."""
        phased.phased_kernel.cache_clear()


class InTraffic(Records):
    """Any policy where rewards come late or never, or means or arms change."""

    def serves(self, policy: type[Policy]) -> bool:
        """Return False: `kind_for` takes this kind for cells with traffic."""
        return False

    def cannot_skip(self, cell: Cell) -> str:
        """Return which of the cell's traffic is simulated pull by pull: all of it."""
        busy = _traffic(cell)
        found = {
            "rewards that come late or never": busy.delays_rewards,
            "means that change": busy.drift is not None,
            "arms that come and go": busy.churn > 0,
        }
        named = " and ".join(words for words, is_so in found.items() if is_so)
        return f"{named} are simulated pull by pull"

    def cost(self, cell: Cell) -> float:
        """Estimate the cost by memory: most policies look at every slot."""
        return 60.0 + 4.0 * min(self.slots(cell), 1000)

    def slots(self, cell: Cell) -> int:
        """Return as many slots as without traffic."""
        return kind_of(cell.policy).slots(cell)

    def kernel(self, cell: Cell, build: Build) -> Any:
        """Return the kernel of the policy."""
        policy: Any = cell.policy
        return traffic.traffic_kernel(policy, build, _traffic(cell).churn > 0)

    def start(self, cell: Cell, kernel: Any, lanes: int) -> Run:
        """Return what runs a block, with a record and room for the rewards under way."""
        instance, busy = cell.instance, _traffic(cell)
        world, flow = World.of(instance), busy.numbers(instance)
        values = check_settings(cell.policy, cell.policy_settings())
        p = cell.policy.parameters(instance.n_arms, cell.memory, instance.endless, values)
        longest = busy.longest_delay(cell.horizon)
        arms = instance.n_arms if busy.changes_means else 0
        space = traffic.traffic_space(self.space(cell), longest, arms)

        def call(block: Block, batch: Batch) -> None:
            kernel(block.first, p, world, flow, batch, space)

        return _with_mistakes(cell, space.record, call)

    def forget(self) -> None:
        """Forget all kernels of policies in traffic."""
        traffic.traffic_kernel.cache_clear()


RECORDS, PHASES, IN_TRAFFIC = Records(), Phases(), InTraffic()


def is_its_functions(policy: type[Policy]) -> bool:
    """Return whether a policy's functions decide everything: it overrides no method of `Policy`.

    Kernels are compiled from these functions alone.
    """
    return all(
        getattr(policy, name) is getattr(Policy, name)
        for cls in Policy.__mro__
        if issubclass(cls, Parts)
        for name, value in vars(cls).items()
        if isinstance(value, FunctionType) and not name.startswith("__")
    )


def kind_of(policy: type[Policy]) -> Kind:
    """Return the kind of a policy."""
    return next(kind for kind in reversed(Kind.made) if kind.serves(policy))


def kind_for(cell: Cell) -> Kind:
    """Return the kind that runs a cell."""
    return kind_of(cell.policy) if cell.traffic is None else IN_TRAFFIC


def _same_method(one: Any, other: Any) -> bool:
    return one.__func__ is other.__func__


def forget_kernels() -> None:
    """Make all kernels anew when they are asked for next."""
    for kind in Kind.made:
        kind.forget()


def round_shape(cell: Cell) -> tuple[float, float]:
    """Return B and alpha of the rounds of a phased policy."""
    policy = _phased(cell)
    return policy.round_shape(cell.memory, check_settings(policy, cell.settings))


def _traffic(cell: Cell) -> Traffic:
    assert cell.traffic is not None
    return cell.traffic


def _phased(cell: Cell) -> type[PhasedPolicy]:
    assert issubclass(cell.policy, PhasedPolicy)
    return cell.policy
