"""What every policy can do: decide, take rewards in, recommend, show itself, be saved and restored.

A policy is a record (`handful.core.state`) and a few functions of it:

    start(state, p)                    fill the slots for the first decision
    propose(state, p) -> slot          the slot to pull next; arms come and go here, nowhere else
    observe(state, slot, reward, p)    take in a reward in [0, 1]
    recommend_arm(state, p) -> arm     the arm to recommend, by index

p holds what never changes: K arms, a memory of M, whether the arms are endless, and the settings. A
subclass declares its record, its parameters and these functions; the simulator compiles them from
the same source. Everything that users meet (labels, tickets, checks, bytes) is written here, once.
"""

from __future__ import annotations

import os
import reprlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from struct import Struct
from threading import Lock
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeAlias

from handful.core.arms import FiniteArms
from handful.core.envelope import Reader, seal, unseal
from handful.core.reservoir import Reservoir
from handful.core.rng import generator_from, words
from handful.core.state import NO_SLOT, credit, most_pulled, slot_size
from handful.core.state import State as AnyState
from handful.core.tickets import Decision, Receipt, issue, settle, ticket_for
from handful.errors import (
    ExhaustedError,
    ForgottenArmError,
    RewardError,
    RuleError,
    SettingError,
    StateError,
    UnknownArmError,
    whole_number,
)
from handful.policies.settings import Setting, check_memory, check_rescale, check_settings

if TYPE_CHECKING:
    from handful.policies.stats import ArmStats, Stats

_FRAME = Struct("<QQIB")
_RESCALE = Struct("<dd")
_UNIT = (0.0, 1.0)
UNBOUNDED = 2**24
"""The capacity of a policy without a memory bound."""

ArmsLike: TypeAlias = FiniteArms | Reservoir | int | Iterable[Hashable] | Callable[[int], Hashable]
"""What users give as arms: see `Policy`."""


class Parameters(NamedTuple):
    """What a policy's functions are given besides its record, if it has no settings."""

    K: int
    M: int
    endless: bool


class Policy:
    """A bandit policy that stores statistics of at most `memory` arms.

    arms     a number of arms, a list of labels or a `FiniteArms`; for policies on endless arms a
             function from index to label, an iterator or a `Reservoir`
    memory   how many arms may have statistics at any time; some policies have a fixed number
    seed     any integer; the same seed gives the same choices. None: a random one
    rescale  (lo, hi) when rewards lie there and not in [0, 1]

    Methods may be called from several threads; each call is applied as a whole.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    summary: ClassVar[str] = ""
    citation: ClassVar[str] = ""
    settings: ClassVar[Mapping[str, Setting]] = {}
    endless: ClassVar[bool] = False
    """Made for infinitely many arms; otherwise for finite sets."""
    any_arms: ClassVar[bool] = False
    """Made for both."""
    own_memory: ClassVar[int | None] = None
    """The fixed number of arms that the policy stores; None: as many as `memory` says."""
    own_arms: ClassVar[int | None] = None
    """The only number of arms that the policy is for; None: any."""
    unbounded: ClassVar[bool] = False
    """Stores statistics of every arm it meets: a reference, not a bounded policy."""
    needs_horizon: ClassVar[bool] = False
    """Plans for a number of pulls, which must be given."""
    recalls: ClassVar[bool] = False
    """May ask for the label of an arm that has left memory."""
    clairvoyant: ClassVar[bool] = False
    """Is given the true means, in the field `true_mean` of its record: for simulations only."""

    State: ClassVar[type[AnyState]] = AnyState
    Parameters: ClassVar[Any] = Parameters
    calm: ClassVar[Any] = None
    """For simulations that skip pulls: calm(state, slot, p) gives how many pulls to come keep the
    slot whatever their rewards, and how many do if they are successes."""
    absorb: ClassVar[Any] = None
    """absorb(state, slot, pulls, wins, p): what such pulls change besides statistics and clock."""
    trials: ClassVar[bool] = False
    """Whether `observe` credits any reward as a Bernoulli trial of the same mean."""

    def __init__(
        self,
        arms: ArmsLike,
        memory: int | None = None,
        *,
        seed: int | None = None,
        rescale: tuple[float, float] | None = None,
        **settings: float,
    ) -> None:
        known = self._arms_of(arms)
        values = check_settings(type(self), settings)
        self._make(known, self.memory_for(memory, known.n), check_rescale(rescale), values)
        self._key = seed_word(seed)
        self._mean_of: Callable[[int], float] | None = None
        self._check_name_length()
        self._state = self._fresh()

    def _make(
        self,
        arms: FiniteArms | Reservoir,
        memory: int,
        rescale: tuple[float, float] | None,
        values: dict[str, float],
    ) -> None:
        self._acts_as = self.stands_for(memory, arms.n)
        if self.needs_horizon and values["horizon"] != values["horizon"]:
            raise SettingError(f"{self.name} plans for a number of pulls: give horizon=...")
        self._arms = arms
        self._rescale = rescale
        self._values = values
        ends = isinstance(arms, Reservoir) and arms.is_iterator
        self._careful = ends or self.clairvoyant
        own = {key: values[key] for key in self._acts_as.settings}
        self._p = self._acts_as.parameters(arms.n, memory, isinstance(arms, Reservoir), own)
        self._memory = memory
        self._lock = Lock()
        self._pending_label: Any = None
        self._link()

    def _link(self) -> None:
        """Look up, once, what every decision calls."""
        self._label = self._arms.label_getter()
        self._propose: Callable[[Any, Any], int] = self._acts_as.propose
        self._observe: Callable[[Any, int, float, Any], None] = self._acts_as.observe

    def __init_subclass__(cls) -> None:
        if "name" in vars(cls) and "title" not in vars(cls):
            cls.title = cls.name

    def _check_name_length(self) -> None:
        if not 1 <= len(self.name.encode()) <= 20:
            raise SettingError(f"the name {self.name!r} must have from 1 to 20 letters")

    def _fresh(self) -> AnyState:
        state = self._acts_as.State()
        state.capacity = self._memory
        state.key = self._key
        state.rng = generator_from(self._key)
        self._acts_as.start(state, self._p)
        return state

    # What a subclass defines.

    @classmethod
    def stands_for(cls, memory: int, n_arms: int) -> type[Policy]:
        """Return the policy that makes the same choices with so much memory: mostly itself."""
        return cls

    @classmethod
    def slots_for(cls, horizon: int, values: dict[str, float]) -> int:
        """Return how many slots a run of so many pulls can use, whatever the memory."""
        return UNBOUNDED if cls.unbounded else 2**31

    @classmethod
    def parameters(cls, n_arms: int, memory: int, endless: bool, values: dict[str, float]) -> Any:
        """What the functions of this policy are given as p."""
        return cls.Parameters(n_arms, memory, endless, **values)

    @staticmethod
    def start(state: Any, p: Any) -> None:
        """Fill the slots for the first decision."""

    @staticmethod
    def propose(state: Any, p: Any) -> int:
        """Return the slot to pull next; let arms come and go."""
        raise NotImplementedError

    @staticmethod
    def observe(state: Any, slot: int, reward: float, p: Any) -> None:
        """Take in a reward in [0, 1] of the arm in a slot."""
        credit(state, slot, reward)

    @staticmethod
    def recommend_arm(state: Any, p: Any) -> int:
        """Return the arm to recommend, by index."""
        return int(state.arm[most_pulled(state)])

    @staticmethod
    def check(state: Any, p: Any) -> None:
        """Raise `StateError` if a restored record contradicts itself."""

    def _place(self) -> str:
        """Where the policy is in its schedule, in a few words."""
        return f"{self._state.held} arms in memory"

    # How it is used.

    def decide(self) -> Decision:
        """Return an arm to pull and a ticket for its reward. Any number may be open at once."""
        with self._lock:
            slot = self._next_slot()
            state = self._state
            pending = state.pending
            if pending != NO_SLOT and (pending >= state.held or state.born[pending] > state.clock):
                state.pending = NO_SLOT  # the selected arm has just left memory
            label = self._label(state.arm[slot])
            issue(state, slot)
            return Decision(label, ticket_for(state, slot, self._memory))

    def reward(self, ticket: int, reward: float) -> Receipt:
        """Take in the reward of a decision, late and in any order, and say what became of it.

        It is credited if the arm is still in memory from the stay that was decided in. A reward
        that is not a number in range is an error, and its ticket stays open.
        """
        value = self._checked(reward)
        number = whole_number("ticket", ticket)
        with self._lock:
            state = self._state
            receipt, slot = settle(state, number, self._memory)
            if receipt is Receipt.CREDITED:
                self._observe(state, slot, value, self._p)
            return receipt

    def select(self) -> Any:
        """Return the arm to pull now, as its label. Until the next update, the same arm again."""
        with self._lock:
            state = self._state
            if state.pending == NO_SLOT:
                if self._careful:
                    slot = self._next_with_care()
                    state = self._state
                else:
                    slot = self._propose(state, self._p)
                if slot < 0:
                    self._refuse_scores()
                self._pending_label = self._label(state.arm[slot])
                state.clock += 1
                state.pending = slot
            return self._pending_label

    def update(self, arm: Any, reward: float) -> None:
        """Take in the reward of an arm in memory, usually the one just selected.

        A refused update changes nothing. Rewards lie in [0, 1], or in `rescale`.
        """
        if type(reward) is float and self._rescale is None and 0.0 <= reward <= 1.0:
            value = reward
        else:
            value = self._checked(reward)
        with self._lock:
            state = self._state
            slot = state.pending
            if slot == NO_SLOT or arm is not self._pending_label:
                slot = self._slot_of(arm)
                if slot != state.pending:
                    state.clock += 1  # a pull that the user decided on
            state.pending = NO_SLOT
            state.rewards += 1
            self._observe(state, slot, value, self._p)

    def _next_slot(self) -> int:
        slot = self._next_with_care() if self._careful else self._propose(self._state, self._p)
        if slot < 0:
            self._refuse_scores()
        return slot

    def _next_with_care(self) -> int:
        """Ask the policy for a slot; where the arms end, leave everything as it was."""
        if self.clairvoyant and self._mean_of is None:
            raise SettingError(
                f"{self.name} depends on the true means of arms, which only a simulator knows: it "
                "is there to reproduce a printed table; simulate it, or take another policy"
            )
        before = self._state.copy()
        slot = self._propose(self._state, self._p)
        if slot < 0:
            self._state = before
            return slot
        state = self._state
        try:
            for arm in state.arm[: state.held]:
                self._arms.label(arm)
        except ExhaustedError:
            self._state = before
            raise
        if state.born[slot] == state.clock + 1:
            if not self.recalls:
                self._arms.keep_only(state.arm[: state.held])
            self._see()
        return slot

    def _refuse_scores(self) -> None:
        state = self._state
        statistics = ", ".join(
            f"(n={n}, s={s:g})" for n, s in zip(state.pulls[:8], state.sums[:8], strict=True)
        )
        raise RuleError(
            f"{self.name} found no score that is a number among arms with {statistics}: a score "
            "is a finite number for every n >= 1"
        )

    def recommend(self) -> Any:
        """Return the arm that the policy recommends, as its label, without exploring."""
        with self._lock:
            return self._arms.label(self._acts_as.recommend_arm(self._state, self._p))

    def reset(self) -> None:
        """Forget everything and start again as if new, with the same seed."""
        with self._lock:
            self._arms.restart()
            self._state = self._fresh()
            self._see()

    def reveal(self, mean_of: Callable[[int], float]) -> None:
        """Give a clairvoyant policy the mean of each arm by index; the others ignore it.

        A simulator calls this. It is not saved: a restored policy must be given it again.
        """
        self._mean_of = mean_of
        self._see()

    def _see(self) -> None:
        if self.clairvoyant and self._mean_of is not None:
            for slot in range(self._state.held):
                self._state.true_mean[slot] = self._mean_of(self._state.arm[slot])  # type: ignore[attr-defined]

    # Saving, restoring, copying.

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.to_bytes(), self._arms)

    def clone(self) -> Self:
        """Return an independent copy that will make the same choices given the same rewards."""
        with self._lock:
            twin = object.__new__(type(self))
            vars(twin).update(vars(self))
            twin._lock = Lock()
            twin._arms = self._arms.clone()
            twin._state = self._state.copy()
            twin._link()
            return twin

    def to_bytes(self) -> bytes:
        """Return the whole state, open decisions included: versioned, checked, without labels."""
        with self._lock:
            return self._bytes(self._arms.fingerprint())

    def _bytes(self, fingerprint: int) -> bytes:
        frame = _FRAME.pack(fingerprint, self._arms.n, self._memory, self._rescale is not None)
        rescale = _RESCALE.pack(*self._rescale) if self._rescale else b""
        settings = Struct(f"<{len(self._values)}d").pack(*self._values.values())
        return seal(self.name, frame + rescale + settings + self._state.pack())

    @classmethod
    def from_bytes(cls, blob: bytes, arms: ArmsLike) -> Self:
        """Return the policy that `to_bytes` saved; it goes on exactly where it was."""
        name, body = unseal(blob)
        if name != cls.name:
            raise StateError(f"this state belongs to a {name!r} policy, not to {cls.name!r}")
        known = cls._arms_of(arms)
        reader = Reader(body)
        fingerprint, n, memory, rescaled = (int(value) for value in reader.take(_FRAME))
        known.check_fingerprint(fingerprint, n)
        if rescaled > 1:
            raise StateError("the saved policy has a flag that is neither set nor unset")
        scale = reader.take(_RESCALE) if rescaled else None
        saved = reader.take(Struct(f"<{len(cls.settings)}d"))
        policy = object.__new__(cls)
        try:
            values = check_settings(
                cls, {key: x for key, x in zip(cls.settings, saved, strict=True) if x == x}
            )
            given = memory if cls.takes_memory() else None
            if cls.memory_for(given, known.n) != memory:
                raise SettingError(f"{cls.name} has no memory of {memory}")
            rescale = check_rescale(None if scale is None else (scale[0], scale[1]))
            policy._make(known, memory, rescale, values)
        except SettingError as error:
            raise StateError(f"the saved policy has a setting that cannot be: {error}") from None
        state = policy._acts_as.State.unpack(reader.rest, memory, n)
        if state.held == 0:
            raise StateError("the saved memory holds no arm")
        policy._acts_as.check(state, policy._p)
        policy._state = state
        policy._key = state.key
        policy._mean_of = None
        if state.pending != NO_SLOT:
            policy._pending_label = known.label(state.arm[state.pending])
        return policy

    # What users give.

    @classmethod
    def _arms_of(cls, arms: Any) -> FiniteArms | Reservoir:
        if cls.endless or (cls.any_arms and _has_no_end(arms)):
            return Reservoir.of(arms)
        if isinstance(arms, Reservoir):
            raise SettingError(
                f"{cls.name} is for finite sets of arms, and a reservoir is endless: take a policy "
                "for endless arms, such as qucb-m"
            )
        return FiniteArms.of(arms)

    @classmethod
    def takes_memory(cls) -> bool:
        """Whether the user says how many arms have statistics."""
        return cls.own_memory is None and not cls.unbounded

    @classmethod
    def memory_for(cls, memory: int | None, n_arms: int) -> int:
        """Return how many arms have statistics when asked for `memory` on a set of `n_arms`."""
        if cls.own_arms not in (None, n_arms):
            raise SettingError(
                f"{cls.name} is for exactly {cls.own_arms} arms, and {n_arms} are given: give "
                f"{cls.own_arms}, or take a policy such as ucb-m"
            )
        if cls.unbounded and not cls.endless and n_arms > UNBOUNDED:
            raise SettingError(
                f"{cls.name} stores statistics of every arm, and {n_arms} are too many for that: "
                f"give at most {UNBOUNDED}, or take a policy with a memory bound"
            )
        own = min(n_arms, UNBOUNDED) if cls.unbounded else cls.own_memory
        if own is None:
            return check_memory(memory)
        if memory is not None and whole_number("memory", memory) != own:
            stored = "every arm" if cls.unbounded else f"{own} arm{'s' * (own != 1)}"
            raise SettingError(
                f"memory={memory}: {cls.name} stores statistics of {stored}, no more and no less: "
                "leave memory out"
            )
        return own

    def _slot_of(self, arm: object) -> int:
        state = self._state
        held = state.arm[: state.held]
        if state.pending != NO_SLOT:
            if self._arms.slot_of(arm, held[state.pending : state.pending + 1]) is not None:
                return state.pending
        slot = self._arms.slot_of(arm, held)
        if slot is not None:
            return slot
        shown = ", ".join(_short(label) for label in self.arms_in_memory[:8])
        known = self._arms.knows(arm)
        if known is False:
            raise UnknownArmError(
                f"arm {_short(arm)} was never given; in memory are the arms {shown}: give back "
                "what select() gave"
            )
        raise ForgottenArmError(
            f"arm {_short(arm)} is not in memory now (it holds {shown}), so its reward has nowhere "
            "to go: reward an arm while it is in memory, or drop late rewards"
            + ("" if known else " (whether it ever was one of these arms is not known)")
        )

    def _checked(self, reward: Any) -> float:
        lo, hi = self._rescale or _UNIT
        if isinstance(reward, str | bytes | bytearray | memoryview):
            raise RewardError(f"reward={reward!r} is text or bytes: give a number")
        try:
            value = float(reward)
        except (TypeError, ValueError, OverflowError):
            raise RewardError(f"reward={reward!r} is not a finite number") from None
        if not lo <= value <= hi:
            hint = "" if self._rescale else "; rescale=(lo, hi) maps other ranges"
            raise RewardError(f"reward={reward!r} is not in [{lo:g}, {hi:g}]{hint}")
        return (value - lo) / (hi - lo) if self._rescale else value

    # What it shows.

    @property
    def n_arms(self) -> int:
        """K, the number of arms."""
        return self._arms.n

    @property
    def memory(self) -> int:
        """M, how many arms may have statistics."""
        return self._memory

    @property
    def decisions(self) -> int:
        """How many decisions the policy has made."""
        return self._state.clock

    @property
    def pulls(self) -> int:
        """How many rewards were credited."""
        return self._state.rewards

    @property
    def arms_in_memory(self) -> list[Any]:
        """The labels of the arms that have statistics now."""
        return [self._arms.label(arm) for arm in self._state.arm[: self._state.held]]

    @property
    def memory_words(self) -> int:
        """The 64-bit words that the whole state takes with every slot in use."""
        free = 0 if self.unbounded else min(self._memory, self.n_arms) - self._state.held
        return -(
            -(len(self._bytes(fingerprint=0)) + max(0, free) * slot_size(self._acts_as.State)) // 8
        )

    def stats(self) -> Stats:
        """Return what is known of each arm in memory, and totals."""
        from handful.policies.stats import Stats  # not needed to decide, and slow to import

        with self._lock:
            state = self._state
            best = self._acts_as.recommend_arm(state, self._p)
            return Stats(
                policy=self._head(),
                arms=tuple(self._arm_stats(slot, best) for slot in range(state.held)),
                decisions=state.clock,
                rewards=state.rewards,
                forgotten=state.forgotten,
                refused=state.refused,
                place=f"{self._acts_as._place(self)}; {self.memory_words} words of state",
            )

    def _arm_stats(self, slot: int, best: int) -> ArmStats:
        from handful.policies.stats import ArmStats, interval

        state = self._state
        lo, hi = self._rescale or _UNIT
        n, s = state.pulls[slot], state.sums[slot]
        low, high = interval(n, s)
        try:
            label = self._arms.label(state.arm[slot])
        except ExhaustedError:
            label = None
        return ArmStats(
            arm=label,
            pulls=n,
            in_flight=state.in_flight[slot] + (slot == state.pending),
            mean=lo + (hi - lo) * s / n if n else float("nan"),
            low=lo + (hi - lo) * low,
            high=lo + (hi - lo) * high,
            recommended=state.arm[slot] == best,
        )

    def _head(self) -> str:
        given = "".join(
            f", {key}={value:g}" for key, value in self._values.items() if value == value
        )
        arms = "endless" if isinstance(self._arms, Reservoir) else self.n_arms
        memory = "unbounded" if self.unbounded else self.memory
        return f"{type(self).__name__}(arms={arms}, memory={memory}{given})"

    def __repr__(self) -> str:
        return str(self.stats())

    def _repr_html_(self) -> str:
        return self.stats()._repr_html_()


def _restored(cls: type[Policy], blob: bytes, arms: ArmsLike) -> Policy:
    """How Python's own pickle, used by `multiprocessing`, makes a policy again."""
    return cls.from_bytes(blob, arms)


def _has_no_end(arms: Any) -> bool:
    """What only a reservoir can be made of: a function or an iterator."""
    if isinstance(arms, Reservoir | Iterator):
        return True
    return callable(arms) and not isinstance(arms, FiniteArms | Iterable)


def seed_word(seed: int | None) -> int:
    """Return the 64 bits that everything random in a policy follows from: its key."""
    if seed is None:
        return int.from_bytes(os.urandom(8), "little")
    return words("policy", whole_number("seed", seed), count=1)[0]


def _short(label: object) -> str:
    return reprlib.repr(label)
