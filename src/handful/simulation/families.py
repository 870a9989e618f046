"""What each kind of policy brings to the compiled engines: slots, a kernel, and how it is started.

To give a new kind of policy a kernel, write a `Family` and add it to `_FAMILIES`; its base class
goes to `engines.KINDS`.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from handful.instances import distributions
from handful.policies.air import UCBAIR, most_arms
from handful.policies.automaton import AutomatonPolicy
from handful.policies.phased import PhasedPolicy
from handful.policies.settings import check_settings
from handful.simulation.engines import kind_of
from handful.simulation.kernels import air, automaton, phased, segments
from handful.simulation.kernels.block import Block, empty_memory, space
from handful.simulation.kernels.world import FEW, Batch, Build, World
from handful.simulation.plan import Cell

Run: TypeAlias = Callable[[Block, Batch], None]
"""Runs a block of runs of a cell, in one thread."""


class Family(ABC):
    """A kind of policy with a kernel."""

    def slots(self, cell: Cell) -> int:
        """The most arms that are in memory at once."""
        return cell.memory

    def build(self, cell: Cell, skipping: bool) -> Build:
        """What the cell's kernel is made for."""
        # The skipping engine sees trials only. Pull by pull, there is little to gain from knowing
        # that rewards are trials, and it would be a kernel more.
        return Build(skipping, cell.instance.endless, skipping, FEW)

    def most_lanes(self, cell: Cell, skipping: bool) -> int:
        """How many runs of the cell go through the kernel together, at most."""
        return 1

    @abstractmethod
    def kernel(self, cell: Cell, build: Build) -> Any:
        """The cell's kernel, not compiled yet unless it was before."""

    @abstractmethod
    def start(self, cell: Cell, kernel: Any, lanes: int) -> Run:
        """What runs a block of up to so many lanes, with the space that one thread needs for it."""

    @abstractmethod
    def forget(self) -> None:
        """Make kernels anew when they are asked for next."""


class Phases(Family):
    """The paper's algorithms."""

    def slots(self, cell: Cell) -> int:
        """M, or the whole set or pool."""
        return phased.slots(cell.instance.n_arms, cell.memory, *round_shape(cell), cell.horizon)

    def build(self, cell: Cell, skipping: bool) -> Build:
        """As the rule needs it."""
        bernoulli = skipping or cell.instance.distribution == distributions.BERNOULLI
        m = min(cell.memory, cell.instance.n_arms)
        return segments.build_for(_phased(cell).rule, bernoulli, cell.instance.endless, skipping, m)

    def most_lanes(self, cell: Cell, skipping: bool) -> int:
        """As the rule gains by."""
        return segments.most_lanes(_phased(cell).rule, self.build(cell, skipping), self.slots(cell))

    def kernel(self, cell: Cell, build: Build) -> Any:
        """One for each rule."""
        return phased.phased_kernel(_phased(cell).rule, build)

    def start(self, cell: Cell, kernel: Any, lanes: int) -> Run:
        """With memory and tables for a block."""
        world = World.of(cell.instance)
        slots = self.slots(cell)
        mine = segments.with_tables(_phased(cell).rule, slots, space(slots, lanes))
        told = (cell.memory, cell.eta, cell.told_horizon, *round_shape(cell), world)
        return lambda block, batch: kernel(*block, *told, batch, mine)

    def forget(self) -> None:
        """All kernels of phased policies."""
        phased.phased_kernel.cache_clear()


class Automata(Family):
    """Policies that are automata."""

    def kernel(self, cell: Cell, build: Build) -> Any:
        """One for each automaton."""
        assert issubclass(cell.policy, AutomatonPolicy)
        return automaton.automaton_kernel(cell.policy.automaton, build)

    def start(self, cell: Cell, kernel: Any, lanes: int) -> Run:
        """With the automaton's registers."""
        assert issubclass(cell.policy, AutomatonPolicy)
        world = World.of(cell.instance)
        values = check_settings(cell.policy, cell.policy_settings())
        horizon = values.get("horizon", math.nan)
        parameters = np.array([*values.values(), cell.memory], dtype=np.float64)
        told = (cell.memory, horizon, parameters, cell.instance.endless, world)
        memory = empty_memory(cell.memory)
        registers = np.zeros(cell.policy.automaton.registers)
        states = np.zeros((2, 2), dtype=np.uint64)
        return lambda block, batch: kernel(block.first, *told, batch, memory, registers, *states)

    def forget(self) -> None:
        """All kernels of automata."""
        automaton.automaton_kernel.cache_clear()


class Air(Family):
    """UCB-AIR, which remembers all arms that it has met."""

    def slots(self, cell: Cell) -> int:
        """As many as it meets."""
        return int(most_arms(cell.horizon, _beta(cell))) + 1

    def kernel(self, cell: Cell, build: Build) -> Any:
        """One for all."""
        return air.air_kernel(build)

    def start(self, cell: Cell, kernel: Any, lanes: int) -> Run:
        """With a tournament of all arms."""
        world = World.of(cell.instance)
        beta = _beta(cell)
        memory = empty_memory(self.slots(cell))
        tree = np.zeros(2 * air.leaves(self.slots(cell)), dtype=np.int64)
        states = np.zeros((2, 2), dtype=np.uint64)
        return lambda block, batch: kernel(block.first, beta, world, batch, memory, tree, *states)

    def forget(self) -> None:
        """Its kernels."""
        air.air_kernel.cache_clear()


_FAMILIES: dict[Any, Family] = {PhasedPolicy: Phases(), AutomatonPolicy: Automata(), UCBAIR: Air()}


def family_of(cell: Cell) -> Family:
    """The family of the cell's policy."""
    return _FAMILIES[kind_of(cell.policy)]


def forget_kernels() -> None:
    """Make all kernels anew when they are asked for next."""
    for each in _FAMILIES.values():
        each.forget()


def round_shape(cell: Cell) -> tuple[float, float]:
    """B and alpha of the rounds of a phased policy."""
    policy = _phased(cell)
    return policy.round_shape(cell.memory, check_settings(policy, cell.settings))


def _phased(cell: Cell) -> type[PhasedPolicy]:
    assert issubclass(cell.policy, PhasedPolicy)
    return cell.policy


def _beta(cell: Cell) -> float:
    return check_settings(cell.policy, cell.settings)["beta"]
