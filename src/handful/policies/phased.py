"""The paper's Algorithm 1 with any allocation rule, and Algorithm 2, which runs it on endless arms.

Roy Chaudhuri and Kalyanakrishnan, "Regret minimisation in multi-armed bandits using bounded arm
memory", AAAI 2020. `schedule.py` defines which arms are in memory when and for how many pulls; the
record here holds the place in that schedule. With all arms in memory, the allocation rule runs
without a schedule.

A sub-phase ends when as many rewards have come as its budget says: rewards of earlier sub-phases
that come later are forgotten.

**Arms that come and go.** The next sub-phase is for new arms: the incumbent and up to M - 1 of
them, for the present budget b_w. This sub-phase is an extra one, so the other arms come up as
planned. So n new arms enter memory within ceil(n / (M - 1)) b_w decisions, plus one. A removed arm
leaves the sub-phase; if it was the incumbent, the most played of the others takes its place. The
order of the arms depends on K, so in a phase in which arms came or went, some may come up twice and
others not at all. If all arms fit, every arm is in memory, new ones at once; when they no longer
fit, a phase begins with the arms in memory.
"""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple, Protocol

from handful.core.change import move, vacate
from handful.core.rng import Generator
from handful.core.shuffle import arm_at, position_of
from handful.core.slots import admit, most_pulled, slot_of
from handful.core.state import Int, Small, State
from handful.errors import RuleError, SettingError, StateError
from handful.policies.base import Policy
from handful.policies.schedule import (
    FOREVER,
    budget,
    challenger,
    first_horizon,
    first_rank,
    last_rank,
    pool,
    pulls_before,
    round_key,
    round_pulls,
    sub_phases,
)
from handful.rules import Rule, chooser
from handful.rules.base import Credit, as_given, trial, with_name

_PAPER = (
    "Roy Chaudhuri and Kalyanakrishnan, Regret minimisation in multi-armed bandits using bounded "
    "arm memory, AAAI 2020"
)


class PhasedState(State):
    """The place in the schedule of Algorithm 1. The incumbent is in slot 0."""

    phase: Small
    """w, from 1."""
    sub_phase: Int
    """j, from 1."""
    origin: Int
    """The position, in the shuffled order, of the incumbent that the phase started with."""
    done: Int
    """Rewards of this sub-phase."""


class PooledState(PhasedState):
    """The place in the rounds of Algorithm 2, too."""

    round: Small
    """r, from 1."""
    round_done: Int
    """Rewards of this round."""
    carried: Int
    """The arm recommended by the last sub-phase of the last round, or -1."""


class PhasedParameters(NamedTuple):
    """Parameters of Algorithm 1: eta scales exploration; the horizon is NaN if unset."""

    K: int
    M: int
    endless: bool
    eta: float
    horizon: float
    b1: int
    """The budget of a sub-phase of the first phase; it doubles from phase to phase."""


class PooledParameters(NamedTuple):
    """Parameters of Algorithm 2: B and alpha shape its rounds."""

    K: int
    M: int
    endless: bool
    eta: float
    B: float
    alpha: float


def fill(state: Any, incumbent: int, K: int, M: int, key: int) -> None:
    """Put the incumbent and the challengers of the sub-phase in memory, with fresh statistics."""
    state.done = 0
    state.held = 0
    admit(state, 0, incumbent)
    for rank in range(first_rank(M, state.sub_phase), last_rank(K, M, state.sub_phase)):
        arm = arm_at(challenger(rank, state.origin), K, key)
        if arm != incumbent:  # it can be if K has changed in this phase
            admit(state, state.held, arm)


def welcome(state: Any, incumbent: int, K: int, M: int) -> None:
    """Put the incumbent and new arms in memory, with fresh statistics."""
    state.done = 0
    state.held = 0
    admit(state, 0, incumbent)
    while state.news > 0 and state.held < M:
        if K - state.news != incumbent:
            admit(state, state.held, K - state.news)
        state.news -= 1


def begin(state: Any, K: int, M: int, key: int) -> None:
    """Start the first sub-phase of the first phase."""
    state.phase = 1
    state.sub_phase = 1
    state.origin = 0
    fill(state, arm_at(0, K, key), K, M, key)


def advance(state: Any, K: int, M: int, key: int) -> None:
    """Go to the next sub-phase with the most played arm as the incumbent."""
    incumbent = state.arm[most_pulled(state)]
    if state.news > 0:
        welcome(state, incumbent, K, M)
        if state.held > 1:
            return
    state.sub_phase += 1
    if state.sub_phase > sub_phases(K, M):
        state.sub_phase = 1
        state.phase += 1
        state.origin = position_of(incumbent, K, key)
    fill(state, incumbent, K, M, key)


def next_round(state: PooledState, p: PooledParameters) -> None:
    """Begin the next round: Algorithm 1 anew on a larger pool."""
    state.carried = state.arm[most_pulled(state)]
    state.round += 1
    state.round_done = 0
    begin(state, pool(p.B, p.alpha, state.round), p.M, round_key(state.key, state.round))


def checked_credit(rule: Rule) -> Credit:
    """Return what the rule credits of a reward; a function of one's own is checked."""
    given = rule.credit
    if given is as_given or given is trial:
        return given
    message = f"the rule {rule.name} credits less than 0 or more than 1: give a number in [0, 1]"

    def taken(reward: float, rng: Generator) -> float:
        x = given(reward, rng)
        if not 0.0 <= x <= 1.0:
            raise RuleError(message)
        return x

    return with_name(taken, "credit", rule.name)


class Propose(Protocol):
    """`Policy.propose`, made for a rule."""

    def __call__(self, state: Any, p: Any) -> int:
        """Return the slot to pull next."""
        ...


class Observe(Protocol):
    """`Policy.observe`, made for a rule."""

    def __call__(self, state: Any, slot: int, reward: float, p: Any) -> None:
        """Take in a reward of the arm in a slot."""


def functions_of(rule: Rule) -> tuple[Propose, Observe]:
    """Return `propose` and `observe` of Algorithm 1 with this rule."""
    choose = chooser(rule)
    taken = checked_credit(rule)

    def propose(state: PhasedState, p: PhasedParameters) -> int:
        b = p.b1 << (state.phase - 1)
        if state.done >= b:
            advance(state, p.K, p.M, state.key)
            b = p.b1 << (state.phase - 1)
        if b == FOREVER:
            # A policy that is not given the horizon takes the number of pulls so far in its place.
            b = max(1, state.done) if math.isnan(p.horizon) else int(p.horizon)
        return choose(state, state.done, b, p.eta)

    def observe(state: PhasedState, slot: int, reward: float, p: PhasedParameters) -> None:
        state.pulls[slot] += 1
        state.sums[slot] += taken(reward, state.rng)
        state.done += 1

    return with_name(propose, "propose", rule.name), with_name(observe, "observe", rule.name)


def pooled_functions_of(rule: Rule) -> tuple[Propose, Observe]:
    """Return `propose` and `observe` of Algorithm 2 with this rule."""
    choose = chooser(rule)
    taken = checked_credit(rule)

    def propose(state: PooledState, p: PooledParameters) -> int:
        if state.round_done >= round_pulls(p.B, state.round):
            next_round(state, p)
        K = pool(p.B, p.alpha, state.round)
        b = budget(K, p.M, state.phase)
        if state.done >= b:
            advance(state, K, p.M, round_key(state.key, state.round))
            b = budget(K, p.M, state.phase)
        if b == FOREVER:
            b = round_pulls(p.B, state.round)
        return choose(state, state.done, b, p.eta)

    def observe(state: PooledState, slot: int, reward: float, p: PooledParameters) -> None:
        state.pulls[slot] += 1
        state.sums[slot] += taken(reward, state.rng)
        state.done += 1
        state.round_done += 1

    return with_name(propose, "pooled", rule.name), with_name(observe, "pooling", rule.name)


class PhasedPolicy(Policy):
    """Algorithm 1. A subclass names the allocation rule."""

    rule: ClassVar[Rule]
    citation = _PAPER
    news_first = True
    State = PhasedState
    Parameters: ClassVar[Any] = PhasedParameters
    propose: ClassVar[Propose]
    observe: ClassVar[Observe]

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "rule" in vars(cls):
            propose, observe = cls._functions()
            cls.propose = staticmethod(propose)
            cls.observe = staticmethod(observe)

    @classmethod
    def _functions(cls) -> tuple[Propose, Observe]:
        return functions_of(cls.rule)

    @classmethod
    def round_shape(cls, memory: int, values: dict[str, float]) -> tuple[float, float]:
        """Return B and alpha of Algorithm 2; (0, 0) for the one endless round of Algorithm 1."""
        return 0.0, 0.0

    @classmethod
    def parameters(cls, n_arms: int, memory: int, endless: bool, values: dict[str, float]) -> Any:
        """Return the parameters; eta is 1 and the horizon unset where there is no such setting."""
        if not hasattr(cls, "rule"):
            raise SettingError(f"{cls.__name__} names no allocation rule: set rule = ...")
        eta, horizon = values.get("eta", 1.0), values.get("horizon", math.nan)
        b1 = budget(n_arms, memory, 1)
        return PhasedParameters(n_arms, memory, endless, eta, horizon, b1)

    @staticmethod
    def start(state: Any, p: Any) -> None:
        """Fill the memory for the first sub-phase."""
        begin(state, p.K, p.M, state.key)

    @staticmethod
    def withdraw(state: Any, slot: int, p: Any) -> bool:
        """Let the arm leave; in the incumbent's slot the most played of the others follows it."""
        if state.held == 1:
            return False
        if slot == 0 and p.M < p.K:
            state.pulls[0] = -1
            slot = most_pulled(state)
            move(state, slot, 0)
        vacate(state, slot)
        state.done = 0
        for j in range(state.held):
            state.done += state.pulls[j]
        return True

    @staticmethod
    def resized(state: Any, before: int, p: Any) -> bool:
        """Continue in the sub-phase; if all arms fit, admit the missing ones."""
        if p.M >= p.K:
            begin_with_all(state, p.K)
        else:
            if before <= p.M:
                state.phase = state.sub_phase = 1
            state.sub_phase = min(state.sub_phase, sub_phases(p.K, p.M))
            state.origin = position_of(state.arm[0], p.K, state.key)
        return True

    @staticmethod
    def adopt(state: Any, before: int, p: Any) -> bool:
        """Continue with the arms in memory: they are the first sub-phase."""
        state.phase = state.sub_phase = 1
        state.done = sum(state.pulls[: state.held])
        if p.M >= p.K:
            begin_with_all(state, p.K)
        else:
            state.origin = position_of(state.arm[0], p.K, state.key)
        return True

    @staticmethod
    def news_within(state: Any, p: Any) -> int | None:
        """Return what is left of this sub-phase, and all but the last of those for new arms."""
        if state.news == 0 or p.M >= p.K:
            return 0
        b = int(p.b1) << (state.phase - 1)
        return int(max(0, b - state.done) + (state.news - 1) // (p.M - 1) * b + 1)

    @staticmethod
    def recommend_arm(state: Any, p: Any) -> int:
        """Return the arm that the last finished sub-phase recommends, or the most played so far."""
        first = state.phase == 1 and state.sub_phase == 1
        finished = state.done >= budget(p.K, p.M, state.phase)
        return int(state.arm[most_pulled(state) if first or finished else 0])

    @staticmethod
    def check(state: Any, p: Any) -> None:
        """Refuse a place that the schedule does not have."""
        check_place(state, p.K, p.M)
        # Other arms in memory, or more or fewer sub-phases, may come of arms added or removed, but
        # each phase has at least one.
        if ((1 << (state.phase - 1)) - 1) * p.b1 > state.rewards - state.done:
            raise StateError(f"the saved policy is in phase {state.phase} too soon")

    @staticmethod
    def place(state: Any, p: Any) -> str:
        """Return the phase and the sub-phase."""
        return place_in(state, p.K, p.M)


def begin_with_all(state: PhasedState, K: int) -> None:
    """Put every arm in memory that is not there; those that are keep their statistics."""
    state.phase = state.sub_phase = 1
    state.origin = 0
    first_new = K - state.news
    known = 0
    for slot in range(state.held):
        if state.arm[slot] < first_new:
            known += 1
    if known == state.held == first_new:
        for arm in range(first_new, K):
            admit(state, state.held, arm)
    else:
        # There was no room for all: seldom, and no more arms than a memory bound.
        for arm in range(K):
            if slot_of(state, arm) < 0:
                admit(state, state.held, arm)
    state.news = 0


def place_in(state: Any, K: int, M: int) -> str:
    """Return the place in Algorithm 1 on K arms, in a few words."""
    b = budget(K, M, state.phase)
    if b == FOREVER:
        return "all arms in memory"
    where = f"phase {state.phase}, sub-phase {state.sub_phase} of {sub_phases(K, M)}"
    return f"{where}, reward {state.done} of {b}"


def check_place(state: Any, K: int, M: int) -> None:
    """Refuse a place that Algorithm 1 on K arms does not have."""
    w, j = state.phase, state.sub_phase
    if not (w >= 1 and 1 <= j <= sub_phases(K, M) and 0 <= state.origin < K):
        raise StateError(f"phase {w}, sub-phase {j} of a saved policy on {K} arms cannot be")
    if any(arm >= K for arm in state.arm):
        raise StateError(f"the saved policy has an arm in memory that its {K} arms do not have")
    if state.held > min(K, M) or (M >= K and state.held < K):
        raise StateError("the saved memory does not hold the arms of the saved sub-phase")
    # Late rewards may take it past its budget, until the next decision ends it.
    if state.done != sum(state.pulls):
        raise StateError("the saved sub-phase has other rewards than its arms")


class PooledPolicy(PhasedPolicy):
    """Algorithm 2: Algorithm 1 in rounds, on a pool of arms from a reservoir that grows.

    alpha = 0.205 is the paper's theory; 0.347, which its Table 1 uses, is the better in practice.
    Where the pool is no larger than the memory, the plain rule runs on all of it.
    """

    endless = True
    recalls = True
    State = PooledState
    Parameters = PooledParameters

    @classmethod
    def _functions(cls) -> tuple[Propose, Observe]:
        return pooled_functions_of(cls.rule)

    @classmethod
    def round_shape(cls, memory: int, values: dict[str, float]) -> tuple[float, float]:
        """Return B = (M^2 (M+2))^(1/(1-alpha)), and alpha."""
        if "alpha" not in values:
            raise SettingError(
                f"{cls.__name__} has no setting alpha, which its pool grows by: "
                "settings = {'alpha': handful.QUCBM.settings['alpha']}"
            )
        return first_horizon(memory, values["alpha"]), values["alpha"]

    @classmethod
    def parameters(cls, n_arms: int, memory: int, endless: bool, values: dict[str, float]) -> Any:
        """Return the parameters, with the shape of the rounds."""
        super().parameters(n_arms, memory, endless, values)
        B, alpha = cls.round_shape(memory, values)
        return PooledParameters(n_arms, memory, endless, values.get("eta", 1.0), B, alpha)

    @staticmethod
    def start(state: Any, p: Any) -> None:
        """Fill the memory for the first sub-phase of the first round."""
        state.round = 1
        state.carried = -1
        begin(state, pool(p.B, p.alpha, 1), p.M, round_key(state.key, 1))

    @staticmethod
    def recommend_arm(state: Any, p: Any) -> int:
        """Return the arm that the last finished sub-phase recommends, or the most played so far."""
        K = pool(p.B, p.alpha, state.round)
        finished = state.done >= budget(K, p.M, state.phase) or state.round_done >= round_pulls(
            p.B, state.round
        )
        if finished or state.phase > 1 or state.sub_phase > 1:
            return int(state.arm[most_pulled(state) if finished else 0])
        return int(state.carried if state.carried >= 0 else state.arm[most_pulled(state)])

    @staticmethod
    def check(state: Any, p: Any) -> None:
        """Refuse a place that the rounds do not have."""
        if not 1 <= state.round <= 62:
            raise StateError(f"a saved policy cannot be in round {state.round}")
        K = pool(p.B, p.alpha, state.round)
        check_place(state, K, p.M)
        w, j = state.phase, state.sub_phase
        if state.held != last_rank(K, p.M, j) - first_rank(p.M, j) + 1:
            raise StateError("the saved memory does not hold the arms of the saved sub-phase")
        if pulls_before(K, p.M, w, j) > state.round_done - state.done:
            raise StateError(f"the saved policy is in phase {w} too soon")
        if not -1 <= state.carried < K:
            raise StateError("the saved round carries an arm that it does not have")
        earlier = sum(round_pulls(p.B, r) for r in range(1, state.round))
        if earlier > state.rewards - state.round_done:
            raise StateError(f"the saved policy is in round {state.round} too soon")

    @staticmethod
    def place(state: Any, p: Any) -> str:
        """Return the round, the phase and the sub-phase."""
        K = pool(p.B, p.alpha, state.round)
        return f"round {state.round} on {K} arms, {place_in(state, K, p.M)}"
