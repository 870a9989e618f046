"""The methods that users call: decide, take rewards in, recommend, change the arms, start again.

`Policy` wraps a record with labels, tickets, checks and a lock. How such an object is made, saved
and shown is in `parts.py`, `saving.py` and `shown.py`. What a policy is, its record and the
functions of it, is declared by a subclass: see `handful.policies.definition`.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from functools import partial
from threading import RLock
from typing import Any, overload

from handful.core.arms import FiniteArms
from handful.core.flight import answer, close, keep, turn_is_due
from handful.core.state import NO_SLOT, State
from handful.core.tickets import Decision, Receipt, issue, issue_guest, settle, ticket_for
from handful.core.tuples import new_tuple
from handful.errors import SettingError, integer
from handful.policies.allowed import Allowed, Permission, drawn_guest, stand_in
from handful.policies.careful import Careful, Moment, counts_of
from handful.policies.changes import changed, indices_to_remove, listed, new_labels
from handful.policies.given import ArmsLike, lent, seed_word, whole_ticket
from handful.policies.mistakes import no_score, not_in_memory, wrong_arm, wrong_slot
from handful.policies.proposed import Proposed
from handful.policies.settings import check_rewards, check_settings, unit_reward

MOST_AT_ONCE = 10**6
"""The most decisions that one call makes."""


class Policy(Careful):
    """A bandit policy that stores statistics of at most `memory` arms.

    arms     a number of arms, a list of labels or a `FiniteArms`; for policies on endless arms a
             function from index to label, an iterator, a `Reservoir`, or `Proposed` arms
    memory   the most arms with statistics at any time; some policies have a fixed number
    seed     any integer; the same seed gives the same choices. None: a random one
    rescale  (lo, hi) if rewards lie in [lo, hi] and not in [0, 1]
    window   after how many decisions a reward that has not come is written off, when `decide` is
             called; None: after about 1.5 to 3 times the mean delay of recent rewards
             (`handful.core.flight`)
    default  the reward of a decision that is written off; None: it counts as lost. With a default,
             all rewards count when the window of their decision ends (`handful.core.flight`)
    clicks_only=W    only rewards above 0 are ever reported: short for window=W, default=0

    Methods may be called from several threads; each call is applied as a whole. `lock` makes
    several calls one step.
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
        with lent(type(self), arms) as known:
            values = check_settings(type(self), settings)
            rewards = check_rewards(rescale, window, default, clicks_only)
            self._make(known, self.memory_for(memory, known.n), rewards, values)
            self._key = seed_word(seed)
            self._mean_of = None
            self._check_name_length()
            self._begin()

    @property
    def lock(self) -> RLock:
        """The policy's lock: `with policy.lock:` lets no other thread in between several calls.

        The thread that holds it goes on calling methods. Hold it briefly, and never while you
        `await`: tasks of one event loop share their thread, so it does not keep them apart.
        """
        return self._lock

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
        that is an error, and nothing changes. The function must not change the policy.
        """
        if n is None:
            if allowed is not None:
                return self._decide_among(allowed, 1)[0]
            self._acquire()
            try:
                return self._decide()
            finally:
                self._release()
        count = integer("n", n)
        if not 1 <= count <= MOST_AT_ONCE:
            raise SettingError(f"n={n!r}: give from 1 to {MOST_AT_ONCE} decisions at once")
        if allowed is not None:
            return self._decide_among(allowed, count)
        with self._lock:
            if self._careful:
                return self._all_or_none(count, None)
            return [self._decide() for _ in range(count)]

    def _decide(self, permission: Permission | None = None, release: bool = True) -> Decision:
        state = self._state
        if turn_is_due(state, self._window):
            if release and isinstance(self._arms, Proposed):
                return self._all_or_none(1, permission)[0]  # the proposer may raise an error
            self._end_window(state, self._default, self._p)
        earlier = None if permission is None else self._moment()
        if self._careful:
            slot = self._next_with_care(release)
            state = self._state
        else:
            slot = self._propose(state, self._p)
        try:
            arm = state.arm[slot]
            if not (0 <= slot < state.held and 0 <= arm < self._arms.n):
                self._refuse_slot(slot)
        except (IndexError, TypeError):
            self._refuse_slot(slot)
            raise
        if permission is not None:
            slot, guest = self._allowed_slot(slot, permission, earlier)
            state = self._state
            arm = state.arm[slot] if slot >= 0 else guest
        label = self._label(arm)
        pending = state.pending
        if pending != NO_SLOT and (pending >= state.held or state.born[pending] > state.clock):
            state.pending = NO_SLOT  # the selected arm has just left memory
        if slot < 0:
            issue_guest(state)
            slot = self._no_slot
        else:
            issue(state, slot)
        return new_tuple(Decision, (label, ticket_for(state, slot, self._no_slot)))

    def _decide_among(self, allowed: Allowed, count: int) -> list[Decision]:
        permission = Permission(allowed)
        with self._lock:
            return self._all_or_none(count, permission)

    def _all_or_none(self, count: int, permission: Permission | None) -> list[Decision]:
        """Return so many decisions; if one cannot be made, leave everything as it was."""
        before = {**vars(self), "_state": self._state.copy()}
        proposed = self._arms if isinstance(self._arms, Proposed) else None
        mark = proposed.mark() if proposed is not None else None
        try:
            decisions = [self._decide(permission, release=False) for _ in range(count)]
        except BaseException:
            vars(self).update(before)
            if proposed is not None and mark is not None:
                proposed.back_to(mark)
            raise
        self._release_labels()
        return decisions

    def _allowed_slot(
        self, slot: int, permission: Permission, earlier: Moment | None
    ) -> tuple[int, int]:
        """Return this slot, or that of an allowed arm; or -1 and the arm to pull as a guest."""
        state, label = self._state, self._label
        counts = counts_of(state)
        arm = -1
        if not permission(label(state.arm[slot])):
            slot = stand_in(state, lambda arm: permission(label(arm)))
            if slot < 0 and earlier is not None:
                # A proposed arm may have taken the place of the only one that is allowed.
                self._check_unchanged(state, counts)
                state = self._go_back(earlier)
                counts = counts_of(state)
                slot = stand_in(state, lambda arm: permission(label(arm)))
            if slot < 0:
                arm = drawn_guest(self._arms, permission, state)
        self._check_unchanged(state, counts)
        if slot < 0:
            slot = self._acts_as.admit_guest(state, arm, self._p)
        return slot, arm

    def _check_unchanged(self, state: State, counts: tuple[int, ...]) -> None:
        if self._state is not state or counts_of(state) != counts:
            raise SettingError(
                "the function given as allowed changed the policy, whose decision it is part of: "
                "let it look at labels only"
            )

    def reward(self, ticket: int, reward: float) -> Receipt:
        """Take in the reward of a decision, late and in any order, and say what became of it.

        It is credited if the arm is still in memory from the stay that was decided in. A reward
        that is not a number in range is an error, and its ticket stays open.
        """
        if type(reward) is float and self._rescale is None and 0.0 <= reward <= 1.0:
            value = reward
        else:
            value = unit_reward(reward, self._rescale)
        number = ticket if type(ticket) is int else whole_ticket(ticket)
        self._acquire()
        try:
            state = self._state
            if self._defaults:
                return settle(state, number, self._no_slot, partial(keep, reward=value))[0]
            receipt, slot = settle(state, number, self._no_slot, answer)
            if slot != NO_SLOT:
                self._observe(state, slot, value, self._p)
            return receipt
        finally:
            self._release()

    def drop(self, ticket: int) -> Receipt:
        """Write off a decision now: its reward will not come. Say what became of it.

        With a default reward, that is its reward; otherwise the decision counts as lost.
        """
        number = ticket if type(ticket) is int else whole_ticket(ticket)
        with self._lock:
            state = self._state
            if self._defaults:
                return settle(state, number, self._no_slot, partial(keep, reward=self._default))[0]
            receipt, slot = settle(state, number, self._no_slot, close)
            if slot == NO_SLOT:
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
        the table of docs/design.md: most policies just go on. To `Proposed` arms, labels are added
        that are tried before the proposer is asked again.
        """
        with self._lock:
            if isinstance(self._arms, Proposed):
                self._arms.post(labels)
                return
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
            self._begin()
            self._see()

    def reveal(self, mean_of: Callable[[int], float]) -> None:
        """Give a clairvoyant policy the mean of each arm by index; the others ignore it.

        A simulator calls this. It is not saved: a restored policy must be given it again.
        """
        with self._lock:
            self._mean_of = mean_of
            self._see()

    def _slot_of(self, arm: object) -> int:
        state = self._state
        held = state.arm[: state.held]
        if state.pending != NO_SLOT:
            if self._arms.slot_of(arm, held[state.pending : state.pending + 1]) is not None:
                return state.pending
        slot = self._arms.slot_of(arm, held)
        if slot is not None:
            return slot
        raise not_in_memory(arm, self._held_labels(), self._arms.knows(arm))
