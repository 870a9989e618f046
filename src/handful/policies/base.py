"""The online face of every policy: decide, take rewards in, recommend, show itself, be saved.

`Policy` wraps a record with labels, tickets, checks and a lock. What a policy is, its record and
the functions of it, is declared by a subclass: see `handful.policies.definition`.
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Hashable, Iterable
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, overload

from handful.core.arms import FiniteArms
from handful.core.envelope import seal, unseal
from handful.core.flight import turn_is_due, turner
from handful.core.reservoir import Reservoir
from handful.core.rng import generator_from
from handful.core.state import NO_SLOT, State, slot_size
from handful.core.tickets import Decision, Receipt, issue, issue_guest, settle, ticket_for
from handful.errors import (
    ExhaustedError,
    ForgottenArmError,
    SettingError,
    StateError,
    UnknownArmError,
    integer,
)
from handful.policies.allowed import Allowed, Permission, drawn_guest, stand_in
from handful.policies.changes import changed, indices_to_remove, listed, new_labels
from handful.policies.definition import UNBOUNDED, Definition
from handful.policies.given import ArmsLike, arms_for, seed_word, whole_ticket
from handful.policies.mistakes import no_score, wrong_arm, wrong_slot
from handful.policies.saving import Frame
from handful.policies.settings import (
    UNIT,
    Rewards,
    check_rewards,
    check_settings,
    unit_reward,
)

if TYPE_CHECKING:
    from handful.policies.stats import ArmStats, Stats

MOST_AT_ONCE = 10**6
"""The most decisions that one call makes."""


class Policy(Definition):
    """A bandit policy that stores statistics of at most `memory` arms.

    arms     a number of arms, a list of labels or a `FiniteArms`; for policies on endless arms a
             function from index to label, an iterator or a `Reservoir`
    memory   the most arms with statistics at any time; some policies have a fixed number
    seed     any integer; the same seed gives the same choices. None: a random one
    rescale  (lo, hi) if rewards lie in [lo, hi] and not in [0, 1]
    window   after how many decisions a reward that has not come is written off; None: after about
             1.5 to 3 times the mean delay of recent rewards (`handful.core.flight`)
    default  the reward of a decision that is written off; None: it counts as lost
    clicks_only=W    only rewards above 0 are ever reported: short for window=W, default=0

    Methods may be called from several threads; each call is applied as a whole.
    """

    def __init__(
        self,
        arms: ArmsLike,
        memory: int | None = None,
        *,
        seed: int | None = None,
        rescale: tuple[float, float] | None = None,
        window: int | None = None,
        default: float | None = None,
        clicks_only: int | None = None,
        **settings: float,
    ) -> None:
        known = arms_for(type(self), arms)
        values = check_settings(type(self), settings)
        rewards = check_rewards(rescale, window, default, clicks_only)
        self._make(known, self.memory_for(memory, known.n), rewards, values)
        self._key = seed_word(seed)
        self._mean_of: Callable[[int], float] | None = None
        self._check_name_length()
        self._state = self._fresh()

    def _make(
        self,
        arms: FiniteArms | Reservoir,
        memory: int,
        rewards: Rewards,
        values: dict[str, float],
    ) -> None:
        if self.needs_horizon and values["horizon"] != values["horizon"]:
            raise SettingError(f"{self.name} plans for a number of pulls: give horizon=...")
        self._rewards = rewards
        self._rescale, self._window, self._default = rewards
        self._defaults = rewards.default == rewards.default
        self._values = values
        ends = isinstance(arms, Reservoir) and arms.is_iterator
        self._careful = ends or self.clairvoyant
        self._pending_label: Any = None
        self._suit(arms, memory, *self._parts(arms.n, memory, isinstance(arms, Reservoir)))
        self._make_lock()

    def _parts(self, n_arms: int, memory: int, endless: bool) -> tuple[type[Definition], Any]:
        """Return the policy that this one acts as with so many arms, and its parameters."""
        acts_as: type[Definition] = self.stands_for(memory, n_arms)
        own = {key: self._values[key] for key in acts_as.settings}
        return acts_as, acts_as.parameters(n_arms, memory, endless, own)

    def _suit(
        self, arms: FiniteArms | Reservoir, memory: int, acts_as: type[Definition], p: Any
    ) -> None:
        """Set what depends on the arms, and look up, once, what every decision calls."""
        self._arms = arms
        self._memory = memory
        self._acts_as = acts_as
        self._p = p
        # In tickets, the slot of an arm without one. It must not change with the number of arms.
        self._no_slot = UNBOUNDED if self.unbounded else memory
        self._label = self._arms.label_getter()
        self._propose: Callable[[Any, Any], int] = self._acts_as.propose
        self._observe: Callable[[Any, int, float, Any], None] = self._acts_as.observe
        self._end_window = turner(self._observe, self._acts_as.waited)

    def _make_lock(self) -> None:
        self._lock = Lock()
        self._acquire, self._release = self._lock.acquire, self._lock.release

    def _check_name_length(self) -> None:
        if not 1 <= len(self.name.encode()) <= 20:
            raise SettingError(f"the name {self.name!r} must have from 1 to 20 letters")

    def _fresh(self) -> State:
        state = self._acts_as.State()
        state.capacity = self._memory
        state.key = self._key
        state.rng = generator_from(self._key)
        self._acts_as.start(state, self._p)
        return state

    # How it is used.

    @overload
    def decide(self, *, allowed: Allowed | None = None) -> Decision: ...

    @overload
    def decide(self, n: int, allowed: Allowed | None = None) -> list[Decision]: ...

    def decide(
        self, n: int | None = None, allowed: Allowed | None = None
    ) -> Decision | list[Decision]:
        """Return an arm to pull and a ticket for its reward; with n, a list of so many.

        Any number of decisions may be open at once. The decisions of a list are made one after the
        other, each with the earlier ones in flight.

        `allowed` is a collection of labels, or a function that says of a label whether it is
        allowed: no other arm is returned (`handful.policies.allowed`). If there is no such arm,
        that is an error, and nothing changes. The function must not use the policy, which is
        locked when it is called.
        """
        if n is None:
            if allowed is not None:
                return self._decide_among(allowed, 1)[0]
            with self._lock:
                return self._decide()
        count = integer("n", n)
        if not 1 <= count <= MOST_AT_ONCE:
            raise SettingError(f"n={n!r}: give from 1 to {MOST_AT_ONCE} decisions at once")
        if allowed is not None:
            return self._decide_among(allowed, count)
        with self._lock:
            return [self._decide() for _ in range(count)]

    def _decide(self, permission: Permission | None = None) -> Decision:
        state = self._state
        if turn_is_due(state, self._window):
            self._end_window(state, self._default, self._p)
        if self._careful:
            slot = self._next_with_care(release=permission is None)
        else:
            slot = self._propose(state, self._p)
        self._refuse_slot(slot)
        state = self._state
        pending = state.pending
        if pending != NO_SLOT and (pending >= state.held or state.born[pending] > state.clock):
            state.pending = NO_SLOT  # the selected arm has just left memory
        if permission is not None:
            slot, guest = self._allowed_slot(slot, permission)
            if guest is not None:
                return guest
        label = self._label(state.arm[slot])
        issue(state, slot)
        return Decision(label, ticket_for(state, slot, self._no_slot))

    def _decide_among(self, allowed: Allowed, count: int) -> list[Decision]:
        permission = Permission(allowed)
        with self._lock:
            before = self._state.copy()
            try:
                decisions = [self._decide(permission) for _ in range(count)]
            except BaseException:
                self._state = before
                raise
            self._release_labels()
            return decisions

    def _allowed_slot(self, slot: int, permission: Permission) -> tuple[int, Decision | None]:
        """Return this slot, or that of an allowed arm; or the decision to pull a guest."""
        state, label = self._state, self._label
        if permission(label(state.arm[slot])):
            return slot, None
        slot = stand_in(state, lambda arm: permission(label(arm)))
        if slot >= 0:
            return slot, None
        arm = drawn_guest(self._arms, permission, state)
        slot = self._acts_as.admit_guest(state, arm, self._p)
        if slot >= 0:
            return slot, None
        issue_guest(state)
        return slot, Decision(label(arm), ticket_for(state, self._no_slot, self._no_slot))

    def reward(self, ticket: int, reward: float) -> Receipt:
        """Take in the reward of a decision, late and in any order, and say what became of it.

        It is credited if the arm is still in memory from the stay that was decided in. A reward
        that is not a number in range is an error, and its ticket stays open.
        """
        value = unit_reward(reward, self._rescale)
        number = ticket if type(ticket) is int else whole_ticket(ticket)
        with self._lock:
            state = self._state
            receipt, slot = settle(state, number, self._no_slot, self._defaults)
            if receipt is Receipt.CREDITED:
                self._observe(state, slot, value, self._p)
            return receipt

    def drop(self, ticket: int) -> Receipt:
        """Write off a decision now: its reward will not come. Say what became of it.

        With a default reward, that is credited; otherwise the decision counts as lost.
        """
        number = ticket if type(ticket) is int else whole_ticket(ticket)
        with self._lock:
            state = self._state
            receipt, slot = settle(state, number, self._no_slot, self._defaults, dropped=True)
            if receipt is not Receipt.CREDITED:
                return receipt
            if self._defaults:
                state.rewards += 1
                self._observe(state, slot, self._default, self._p)
                return receipt
            state.lost += 1
            self._acts_as.waited(state, self._p)
            return Receipt.DROPPED

    # `select` and `update` are the hot path of online use. They call the lock's methods, looked up
    # once, instead of `with self._lock`, which takes twice as long.

    def select(self) -> Any:
        """Return the arm to pull now, as its label. Until the next update, the same arm again."""
        self._acquire()
        try:
            state = self._state
            if state.pending == NO_SLOT:
                if self._careful:
                    slot = self._next_with_care()
                    state = self._state
                else:
                    slot = self._propose(state, self._p)
                try:
                    if slot < 0:
                        self._refuse_slot(slot)
                    self._pending_label = self._label(state.arm[slot])
                except (IndexError, TypeError):
                    self._refuse_slot(slot)
                    raise
                state.clock += 1
                state.pending = slot
            return self._pending_label
        finally:
            self._release()

    def update(self, arm: Any, reward: float) -> None:
        """Take in the reward of an arm in memory, usually the one just selected.

        An update without a select before it counts as a decision, too; where a reward may be
        delivered twice, use `decide` and `reward`. A refused update changes nothing. Rewards lie in
        [0, 1], or in `rescale`.
        """
        if type(reward) is float and self._rescale is None and 0.0 <= reward <= 1.0:
            value = reward
        else:
            value = unit_reward(reward, self._rescale)
        self._acquire()
        try:
            state = self._state
            slot = state.pending
            if slot == NO_SLOT or arm is not self._pending_label:
                slot = self._slot_of(arm)
                if slot != state.pending:
                    state.clock += 1  # a pull that the user decided on
            state.pending = NO_SLOT
            state.rewards += 1
            self._observe(state, slot, value, self._p)
        finally:
            self._release()

    def _next_with_care(self, release: bool = True) -> int:
        """Ask the policy for a slot; where the arms end, leave everything as it was.

        Unless `release`, the labels of arms that left memory are held on to.
        """
        if self.clairvoyant and self._mean_of is None:
            raise SettingError(
                f"{self.name} depends on the true means of arms, which only a simulator knows: it "
                "is there to reproduce a printed table; simulate it, or take another policy"
            )
        before = self._state.copy()
        slot = self._propose(self._state, self._p)
        state = self._state
        if not 0 <= slot < state.held:
            self._state = before
            return slot
        try:
            for arm in state.arm[: state.held]:
                self._arms.label(arm)
        except ExhaustedError:
            self._state = before
            raise
        if state.born[slot] == state.clock + 1:
            if release:
                self._release_labels()
            self._see()
        return slot

    def _release_labels(self) -> None:
        if not self.recalls:
            self._arms.keep_only(self._state.arm[: self._state.held])

    def _refuse_slot(self, slot: int) -> None:
        """Raise an error that says what is wrong with the slot that `propose` returned, if any."""
        state, rule = self._state, hasattr(self._acts_as, "rule")
        if slot == -1 and rule:
            arms = zip(state.pulls[: state.held], state.sums, strict=False)
            raise no_score(type(self), state.clock, arms)
        if slot not in range(state.held):
            raise wrong_slot(type(self), state.clock, slot, state.held)
        if not 0 <= state.arm[slot] < self._arms.n:
            raise wrong_arm(type(self), state.clock, state.arm[slot], self._arms.n)

    def recommend(self) -> Any:
        """Return the arm that the policy recommends, as its label, without exploring."""
        with self._lock:
            return self._arms.label(self._acts_as.recommend_arm(self._state, self._p))

    def add_arms(self, labels: Iterable[Hashable]) -> None:
        """Add arms, which the policy tries before others; see `new_arms_within`.

        The arms must have been given as a list of labels. What becomes of the arms in memory is in
        the table of docs/design.md: most policies just go on.
        """
        with self._lock:
            self._change(new_labels(labels, listed(self._arms)), [])

    def remove_arms(self, labels: Iterable[Hashable]) -> None:
        """Remove arms: they are never returned again, and what is known of them is forgotten.

        Late rewards of their open decisions are `forgotten`. Other arms keep their statistics,
        unless the policy must start again: see the table in docs/design.md.
        """
        with self._lock:
            self._change([], indices_to_remove(labels, listed(self._arms)))

    def _change(self, added: list[Hashable], removed: list[int]) -> None:
        """Go on with other arms. Work on copies, so that an error changes nothing."""
        if not added and not removed:
            return
        assert isinstance(self._arms, FiniteArms)
        labels = self._arms.listed()
        n_arms = len(labels) + len(added) - len(removed)
        memory = self.memory_for(self._memory if self.takes_memory() else None, n_arms)
        acts_as, p = self._parts(n_arms, memory, endless=False)
        state = self._state.copy()
        state.capacity = max(memory, state.held)
        state = changed(state, labels, added, removed, self._acts_as, acts_as, p)
        state.capacity = memory
        self._suit(FiniteArms.with_labels(labels), memory, acts_as, p)
        self._state = state
        if state.pending == NO_SLOT:
            self._pending_label = None

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
        with self._lock:
            self._mean_of = mean_of
            self._see()

    def _see(self) -> None:
        if self.clairvoyant and self._mean_of is not None:
            state: Any = self._state  # a clairvoyant policy declares the field `true_mean`
            for slot in range(state.held):
                state.true_mean[slot] = self._mean_of(state.arm[slot])

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
            twin._arms = self._arms.clone()
            twin._state = self._state.copy()
            twin._suit(twin._arms, self._memory, self._acts_as, self._p)
            twin._make_lock()
            return twin

    def to_bytes(self) -> bytes:
        """Return the whole state, open decisions included: versioned, checked, without labels."""
        with self._lock:
            return self._bytes(self._arms.fingerprint())

    def _bytes(self, fingerprint: int) -> bytes:
        frame = Frame(fingerprint, self._arms.n, self._memory, self._rewards, self._values)
        return seal(self.name, frame.pack() + self._state.pack())

    @classmethod
    def from_bytes(cls, blob: bytes, arms: ArmsLike) -> Self:
        """Return the policy that `to_bytes` saved; it goes on exactly where it was."""
        name, body = unseal(blob)
        if name != cls.name:
            raise StateError(f"this state belongs to a {name!r} policy, not to {cls.name!r}")
        known = arms_for(cls, arms)
        frame, record = Frame.unpack(body, cls)
        known.check_fingerprint(frame.fingerprint, frame.n_arms)
        policy = object.__new__(cls)
        try:
            policy._make(known, frame.memory, frame.rewards, frame.settings)
        except SettingError as error:
            raise StateError(f"the saved policy has a setting that cannot be: {error}") from None
        state = policy._acts_as.State.unpack(record, frame.memory, frame.n_arms)
        if state.held == 0:
            raise StateError("the saved memory holds no arm")
        policy._acts_as.check(state, policy._p)
        policy._state = state
        policy._key = state.key
        policy._mean_of = None
        if state.pending != NO_SLOT:
            policy._pending_label = known.label(state.arm[state.pending])
        return policy

    def _slot_of(self, arm: object) -> int:
        state = self._state
        held = state.arm[: state.held]
        if state.pending != NO_SLOT:
            if self._arms.slot_of(arm, held[state.pending : state.pending + 1]) is not None:
                return state.pending
        slot = self._arms.slot_of(arm, held)
        if slot is not None:
            return slot
        shown = ", ".join(_short(label) for label in self._held_labels()[:8])
        known = self._arms.knows(arm)
        if known is False:
            raise UnknownArmError(
                f"arm {_short(arm)} was never given; in memory are the arms {shown}: give back "
                "what select() gave"
            )
        raise ForgottenArmError(
            f"arm {_short(arm)} is not in memory now (it holds {shown}), so its reward has nowhere "
            "to go: reward an arm while it is in memory, or drop late rewards"
            + ("" if known else " (labels are not listed: whether this is an arm is not known)")
        )

    # What it shows.

    @property
    def n_arms(self) -> int:
        """K, the number of arms."""
        return self._arms.n

    @property
    def arms(self) -> ArmsLike:
        """The arms as `from_bytes` takes them: a list of the present labels, if they were listed.

        Removing an arm gives its place in the list to the last one.
        """
        with self._lock:
            arms = self._arms
            return arms.listed() if isinstance(arms, FiniteArms) and arms.is_listed else arms

    @property
    def new_arms_within(self) -> int | None:
        """In how many decisions all arms that were added have entered memory at the latest.

        This holds if every reward comes at once and no arm is barred. None: the policy gives no
        such guarantee. An arm has entered memory when it has statistics; most policies pull it at
        once then.
        """
        with self._lock:
            return self._acts_as.news_within(self._state, self._p)

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
        with self._lock:
            return self._held_labels()

    def _held_labels(self) -> list[Any]:
        return [self._arms.label(arm) for arm in self._state.arm[: self._state.held]]

    @property
    def memory_words(self) -> int:
        """The 64-bit words that the whole state takes with every slot in use."""
        with self._lock:
            return self._words()

    def _words(self) -> int:
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
                lost=state.lost,
                place=f"{self._acts_as.place(state, self._p)}; {self._words()} words of state",
            )

    def _arm_stats(self, slot: int, best: int) -> ArmStats:
        from handful.policies.stats import ArmStats, interval

        state = self._state
        lo, hi = self._rescale or UNIT
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


def _short(label: object) -> str:
    return reprlib.repr(label)
