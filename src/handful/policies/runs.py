"""Rules that use only runs of successes and failures, and never recall an arm given up.

They store one or two arms and a few counters, and were made for infinitely many Bernoulli arms.

Herschkorn, Pekoz and Ross, "Policies without memory for the infinite-armed Bernoulli bandit under
the average-reward criterion", Probability in the Engineering and Informational Sciences 10, 1996:

    herschkorn         the i-th arm until i failures in a row
    fixed-run          every arm until k failures in a row

Robbins, "A sequential decision problem with a finite memory", PNAS 42, 1956, on a finite set, the
first arm coming after the last:

    robbins            every arm until r failures in a row

Berry, Chen, Zame, Heath and Shepp, "Bandit problems with infinitely many arms", Annals of
Statistics 25, 1997:

    k-failure          every arm until its k-th failure
    nonrecalling-run   1-failure until a run of sqrt(T) successes, then that arm for ever
    sqrt-run           the same, but after sqrt(T) arms for ever the one with the longest run
    sqrt-log-learning  1-failure for sqrt(T) ln T pulls, then for ever the arm with the longest run
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

from handful.core.state import Int, Small
from handful.policies.definition import Parameters
from handful.policies.hand import (
    BestPolicy,
    BestState,
    HandPolicy,
    HandState,
    PlannedPolicy,
    WithHorizon,
    check_best,
    check_hand,
    refuse_unless_counted,
    refuse_unless_flag,
    toss,
)
from handful.policies.schedule import FOREVER
from handful.policies.settings import Setting, whole_setting

HERSCHKORN = (
    "Herschkorn, Pekoz and Ross, Probability in the Engineering and Informational Sciences 10, 1996"
)
BERRY = "Berry, Chen, Zame, Heath and Shepp, Annals of Statistics 25, 1997"


class Failures(HandState):
    """One arm in hand and its failures."""

    failures: Int
    """In a row, or of this arm in all."""


class Run(HandState):
    """One arm in hand and its run of successes."""

    run: Int


class RunAndLongest(BestState):
    """The run of the arm in hand, and that of the stored arm, which is the longest so far."""

    run: Int
    longest: Int


class LongestRun(RunAndLongest):
    """The same, and whether the stored arm is in hand for ever."""

    settled_on_best: Small


class Learning(RunAndLongest):
    """The same, and the pulls of the first part."""

    learned: Int


class WithK(NamedTuple):
    """Parameters of rules with a number of failures k."""

    K: int
    M: int
    endless: bool
    k: float


class WithR(NamedTuple):
    """Parameters of Robbins' rule."""

    K: int
    M: int
    endless: bool
    r: float


def until_failures(state: Failures, slot: int, success: bool, k: float) -> None:
    """Keep the arm in hand until k failures in a row."""
    if slot != state.hand:
        return
    state.failures = 0 if success else state.failures + 1
    drop_at(state, k)


def drop_at(state: Failures, k: float) -> None:
    """Take the next arm if the one in hand has k failures."""
    if state.failures >= k:
        state.failures = 0
        state.up_next = 1


class FailureRuns(HandPolicy):
    """Policies that drop an arm after so many failures in a row: successes keep any arm."""

    own_memory = 1
    State = Failures

    @staticmethod
    def check(state: Failures, p: Any) -> None:
        """Refuse failures that did not come."""
        check_hand(state, p)
        refuse_unless_counted(state, state.failures)

    @staticmethod
    def calm(state: Failures, slot: int, p: Any) -> tuple[int, int]:
        """Return for ever: any number of successes keep the slot."""
        return 0, FOREVER

    @staticmethod
    def absorb(state: Failures, slot: int, pulls: int, wins: int, p: Any) -> None:
        """End the failures in a row if there was a success."""
        if wins > 0:
            state.failures = 0


class Herschkorn(FailureRuns):
    """The i-th arm until i failures in a row."""

    name = "herschkorn"
    title = "Herschkorn et al., non-stationary"
    summary = "the i-th arm until i failures in a row"
    citation = HERSCHKORN
    endless = True

    @staticmethod
    def observe(state: Failures, slot: int, reward: float, p: Parameters) -> None:
        """Count failures in a row against the number of arms so far."""
        until_failures(state, slot, toss(state, slot, reward), state.tried)


class FixedRun(FailureRuns):
    """Every arm until k failures in a row."""

    name = "fixed-run"
    title = "Herschkorn et al., stationary"
    summary = "every arm until k failures in a row"
    citation = HERSCHKORN
    endless = True
    Parameters = WithK
    settings: ClassVar[Mapping[str, Setting]] = {"k": whole_setting(1.0, "failures in a row", "k")}

    @staticmethod
    def observe(state: Failures, slot: int, reward: float, p: WithK) -> None:
        """Count failures in a row against k."""
        until_failures(state, slot, toss(state, slot, reward), p.k)


class Robbins(FailureRuns):
    """Every arm in turn until r failures in a row."""

    name = "robbins"
    title = "Robbins"
    summary = "every arm in turn until r failures in a row"
    citation = "Robbins, Proceedings of the National Academy of Sciences 42, 1956"
    Parameters = WithR
    settings: ClassVar[Mapping[str, Setting]] = {"r": whole_setting(1.0, "failures in a row", "r")}

    @staticmethod
    def observe(state: Failures, slot: int, reward: float, p: WithR) -> None:
        """Count failures in a row against r."""
        until_failures(state, slot, toss(state, slot, reward), p.r)


class KFailure(FailureRuns):
    """Every arm until its k-th failure."""

    name = "k-failure"
    title = "k-failure"
    summary = "every arm until its k-th failure"
    citation = BERRY
    endless = True
    Parameters = WithK
    settings: ClassVar[Mapping[str, Setting]] = {"k": whole_setting(1.0, "failures of an arm", "k")}

    @staticmethod
    def observe(state: Failures, slot: int, reward: float, p: WithK) -> None:
        """Count the arm's failures against k."""
        success = toss(state, slot, reward)
        if slot != state.hand:
            return
        if not success:
            state.failures += 1
        drop_at(state, p.k)

    @staticmethod
    def absorb(state: Failures, slot: int, pulls: int, wins: int, p: WithK) -> None:
        """Do nothing: successes change nothing."""


class BerryPolicy(PlannedPolicy):
    """What the policies of Berry et al. that are given the horizon share."""

    citation = BERRY
    endless = True


class NonrecallingRun(BerryPolicy):
    """1-failure until a run of sqrt(T) successes, then that arm for ever."""

    name = "nonrecalling-run"
    title = "Non-recalling sqrt(T)-run"
    summary = "drop an arm at its first failure, until a run of sqrt(T) successes"
    own_memory = 1
    State = Run

    @staticmethod
    def observe(state: Run, slot: int, reward: float, p: WithHorizon) -> None:
        """Drop the arm at a failure, unless its run has been long enough."""
        success = toss(state, slot, reward)
        if slot != state.hand or state.run >= math.sqrt(p.horizon):
            return
        if success:
            state.run += 1
        else:
            state.run = 0
            state.up_next = 1

    @staticmethod
    def check(state: Run, p: WithHorizon) -> None:
        """Refuse a run of successes that did not come."""
        check_hand(state, p)
        refuse_unless_counted(state, state.run)

    @staticmethod
    def calm(state: Run, slot: int, p: WithHorizon) -> tuple[int, int]:
        """Return the successes until a run of sqrt(T) settles it."""
        return calm_until_settled(state.run, p)

    @staticmethod
    def absorb(state: Run, slot: int, pulls: int, wins: int, p: WithHorizon) -> None:
        """Count the run until it settles."""
        if state.run < math.sqrt(p.horizon):
            state.run += pulls


def calm_until_settled(run: float, p: WithHorizon) -> tuple[int, int]:
    """Return the successes missing from a run of sqrt(T); for ever after such a run."""
    m = math.sqrt(p.horizon)
    return (FOREVER, 0) if run >= m else (0, math.ceil(m - run))


def store_longest(state: RunAndLongest, slot: int) -> None:
    """Store the arm in a slot if it is the first one or its run is the longest so far."""
    if state.tried == 1 or state.run > state.longest:
        state.best = slot
        state.longest = state.run


class RecallsLongest(BestPolicy, BerryPolicy):
    """A policy that stores the arm with the longest run, to pull it for ever in the end."""

    own_memory = 2


class SqrtRun(RecallsLongest):
    """1-failure until a run of sqrt(T) successes or sqrt(T) arms, then the longest run for ever."""

    name = "sqrt-run"
    title = "sqrt(T)-run"
    summary = "as nonrecalling-run, but after sqrt(T) arms the one with the longest run"
    State = LongestRun

    @staticmethod
    def observe(state: LongestRun, slot: int, reward: float, p: WithHorizon) -> None:
        """Count the run; at a failure store the arm if its run is the longest, and go on."""
        success = toss(state, slot, reward)
        if slot != state.hand or state.settled_on_best:
            return
        m = math.sqrt(p.horizon)
        if success:
            state.run += 1
            if state.run >= m:
                state.best = slot
                state.settled_on_best = 1
            return
        store_longest(state, slot)
        state.run = 0
        if state.tried >= m:
            state.settled_on_best = 1
            state.hand = state.best
        else:
            state.hand = 1 - state.best
            state.up_next = 1

    @staticmethod
    def check(state: LongestRun, p: WithHorizon) -> None:
        """Refuse runs that did not come, and a stored arm that is not in memory."""
        check_longest(state, p)
        refuse_unless_flag(state.settled_on_best)

    @staticmethod
    def calm(state: LongestRun, slot: int, p: WithHorizon) -> tuple[int, int]:
        """Return the successes short of the one that settles it; for ever once it is settled."""
        if state.settled_on_best:
            return FOREVER, 0
        return 0, math.ceil(math.sqrt(p.horizon) - state.run) - 1

    @staticmethod
    def absorb(state: LongestRun, slot: int, pulls: int, wins: int, p: WithHorizon) -> None:
        """Count the run until it is settled."""
        if not state.settled_on_best:
            state.run += pulls


class SqrtLogLearning(RecallsLongest):
    """1-failure for sqrt(T) ln T pulls, then the arm with the longest run for ever."""

    name = "sqrt-log-learning"
    title = "sqrt(T) ln T-learning"
    summary = "drop arms at their first failure for sqrt(T) ln T pulls, then the longest run"
    State = Learning

    @staticmethod
    def observe(state: Learning, slot: int, reward: float, p: WithHorizon) -> None:
        """Count the run and the pulls; at their end take the arm with the longest run in hand."""
        success = toss(state, slot, reward)
        N = learning_pulls(p)
        if slot != state.hand or state.learned >= N:
            return
        state.learned += 1
        if success:
            state.run += 1
        store_longest(state, slot)
        if state.learned >= N:
            state.hand = state.best
        elif not success:
            state.run = 0
            state.hand = 1 - state.best
            state.up_next = 1

    @staticmethod
    def check(state: Learning, p: WithHorizon) -> None:
        """Refuse runs that did not come, and a stored arm that is not in memory."""
        check_longest(state, p)
        refuse_unless_counted(state, state.learned)

    @staticmethod
    def calm(state: Learning, slot: int, p: WithHorizon) -> tuple[int, int]:
        """Return the successes short of the last pull of learning; for ever once it has learned."""
        return calm_until_learned(state.learned, p)

    @staticmethod
    def absorb(state: Learning, slot: int, pulls: int, wins: int, p: WithHorizon) -> None:
        """Count the run and the pulls until it has learned."""
        if state.learned >= learning_pulls(p):
            return
        state.learned += pulls
        state.run += pulls
        store_longest(state, slot)


def check_longest(state: RunAndLongest, p: WithHorizon) -> None:
    """Refuse runs that did not come, and a stored arm that is not in memory."""
    check_best(state, p)
    refuse_unless_counted(state, state.run, state.longest)


def learning_pulls(p: WithHorizon) -> float:
    """Return sqrt(T) ln T."""
    return math.sqrt(p.horizon) * math.log(p.horizon)


def calm_until_learned(learned: int, p: WithHorizon) -> tuple[int, int]:
    """Return the successes short of the last of sqrt(T) ln T pulls; for ever after them."""
    N = learning_pulls(p)
    return (FOREVER, 0) if learned >= N else (0, math.ceil(N - learned) - 1)
