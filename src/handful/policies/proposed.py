"""Endless arms from a proposer: a function of the user that is shown the arms in memory.

    arms = handful.Proposed(propose, ["a first prompt"])
    policy = handful.Race(arms=arms, memory=8)

`propose(memory)` is called when the policy is about to take a new arm and no label waits, once for
each such arm. `memory` is what `policy.stats().arms` is at that moment, before the decision: a
tuple of `ArmStats`. What it returns is the label of the new arm. If it returns None, or a label
that is in memory, no arm comes up: the arm in memory with the highest mean is pulled instead, and
the next decision that wants a new arm asks again. If it raises an error, nothing has changed.

Labels of arms that have left memory are released. So what is stored are the labels of the arms in
memory, and those that wait: the first ones, and those that the user has added (`add_arms`).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from handful.core.arms import label_text, plain_label, refuse_frame, slot_with
from handful.core.reservoir import Reservoir
from handful.errors import ExhaustedError, OtherArmsError, SettingError, StateError

if TYPE_CHECKING:
    from handful.policies.stats import ArmStats

Propose: TypeAlias = "Callable[[tuple[ArmStats, ...]], Hashable | None]"
"""What users give as a proposer."""


class Mark(NamedTuple):
    """Proposed arms at one moment."""

    held: dict[int, Any]
    waiting: list[Any]
    proposed: int
    repeated: int


class Proposed(Reservoir):
    """Endless arms, each proposed when it is needed, by a function of the arms in memory.

    propose  a function of a tuple of `ArmStats`, the arms in memory, that returns the label of the
             next arm, or None: no new arm now. Instead of a function, None: arms come by
             `policy.add_arms` alone
    first    the labels to begin with, at least one; to restore a policy, `policy.arms.labels` of
             the moment when it was saved

    >>> arms = Proposed(lambda memory: max(memory, key=lambda arm: arm.mean).arm + "!", ["Hello"])
    >>> arms.labels
    ['Hello']
    """

    is_open = True

    def __init__(self, propose: Propose | None, first: Iterable[Hashable]) -> None:
        super().__init__(iter(()))
        if propose is not None and not callable(propose):
            raise SettingError(
                f"propose={propose!r} is no function: give one that is called with the arms in "
                "memory and returns a label, or None to add arms by policy.add_arms alone"
            )
        self._propose = propose
        self._held = {}
        self._waiting: list[Any] = []
        self._asking = False
        self.proposed = 0
        """How many labels of the proposer became arms, since this object was made."""
        self.repeated = 0
        """How many of its labels were in memory already."""
        self.post(first)
        if not self._waiting:
            raise SettingError("there is no arm to begin with: give at least 1 label")
        self._first = self._waiting.copy()

    @property
    def labels(self) -> list[Any]:
        """The labels of the arms in memory, in the order in which they came up, then the waiting.

        A saved policy is restored with these, so read them in one step with `to_bytes`
        (`policy.lock`).
        """
        return [self._held[index] for index in sorted(self._held)] + self._waiting

    @property
    def waiting(self) -> int:
        """How many labels wait to be tried; the proposer is called when there is none."""
        return len(self._waiting)

    @property
    def looks_ahead(self) -> bool:
        """False: arms that have not come up cannot be looked at."""
        return False

    def post(self, labels: Iterable[Hashable]) -> None:
        """Let labels wait to be tried, in their order. Users call `policy.add_arms`."""
        refuse_frame(labels)
        if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
            raise SettingError(f"{labels!r} is not a list of labels: give [{labels!r}]")
        known = set(map(distinct, self.labels))
        added = [checked(label, "the label") for label in labels]
        for label in added:
            if distinct(label) in known:
                raise SettingError(
                    f"the label {label!r} is that of an arm already: give labels that differ"
                )
            known.add(distinct(label))
        self._waiting += added

    def ask(self, memory: tuple[ArmStats, ...]) -> bool:
        """Call the proposer; return whether it proposed an arm, which waits now."""
        if self._propose is None:
            return False
        if self._asking:
            raise SettingError(
                "the proposer asked the policy for a decision, which needs the proposer: let it "
                "look at the arms in memory only"
            )
        self._asking = True
        try:
            label = self._propose(memory)
        finally:
            self._asking = False
        if label is None:
            return False
        label = checked(label, "the proposer returned")
        if slot_with(label, self.labels) is not None:
            self.repeated += 1
            return False
        self._waiting.append(label)
        self.proposed += 1
        return True

    def hold(self, indices: Sequence[int]) -> None:
        """Hold the labels of these arms; new ones get those that wait, or nothing changes.

        New arms get theirs in the order of their indices, so that `labels` does not depend on the
        slots.
        """
        held = self._held
        if len(held) == len(indices) and all(map(held.__contains__, indices)):
            return
        missing = sorted(index for index in indices if index not in held)
        if len(missing) > len(self._waiting):
            raise ExhaustedError(
                f"{len(self._waiting)} labels wait, and the policy needs {len(missing)} new arms"
            )
        new = dict(zip(missing, self._waiting, strict=False))
        self._held = {i: new[i] if i in new else held[i] for i in indices}
        self._waiting = self._waiting[len(missing) :]

    def begin(self, indices: Sequence[int]) -> None:
        """Start again from the first labels: a policy begins with these arms."""
        if len(indices) > len(self._first):
            raise SettingError(
                f"the policy begins with {len(indices)} arms, and {len(self._first)} labels are "
                f"given: give at least {len(indices)} to begin with"
            )
        self._held, self._waiting = {}, self._first.copy()
        self.hold(indices)

    def resume(self, indices: Sequence[int]) -> None:
        """Give the labels to the arms in memory of a restored policy; the others wait."""
        labels = self.labels
        if len(indices) > len(labels):
            raise StateError(
                f"the saved memory holds {len(indices)} arms, and {len(labels)} labels are given"
            )
        self._held = dict(zip(sorted(indices), labels, strict=False))
        self._waiting = labels[len(indices) :]

    def mark(self) -> Mark:
        """Return the labels of this moment."""
        return Mark(self._held.copy(), self._waiting.copy(), self.proposed, self.repeated)

    def back_to(self, mark: Mark) -> None:
        """Go back to a moment."""
        self._held, self._waiting = mark.held.copy(), mark.waiting.copy()
        self.proposed, self.repeated = mark.proposed, mark.repeated

    def put_off(self, mark: Mark) -> None:
        """Hold the arms of a moment again; those that have come up since wait, before others."""
        since = [self._held[index] for index in sorted(self._held) if index not in mark.held]
        self._held, self._waiting = mark.held.copy(), since + self._waiting

    def is_there(self, index: int) -> bool:
        """Return whether an arm has a label."""
        return index in self._held

    def label(self, index: int) -> Any:
        """Return the label of an arm in memory."""
        try:
            return self._held[index]
        except KeyError:
            raise ExhaustedError(f"arm {index} was not proposed yet, or has left memory") from None

    def keep_only(self, indices: Collection[int]) -> None:
        """Release labels: `hold` does it."""

    def clone(self) -> Reservoir:
        """Return arms that another policy can use independently; the proposer is shared."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__, _owned=True, _asking=False)
        twin.back_to(self.mark())
        return twin

    def restart(self) -> None:
        """Let the policy start again: `begin` does it."""

    def fingerprint(self) -> int:
        """Return 64 bits from all labels: those in memory, and those that wait."""
        text = b"".join(label_text(label) for label in self.labels)
        return int.from_bytes(blake2b(b"proposed" + text, digest_size=8).digest(), "little")

    def check_fingerprint(self, saved: int, saved_n: int) -> None:
        """Refuse labels that are not those of the saved policy."""
        if saved_n != self.n or saved != self.fingerprint():
            raise OtherArmsError(
                "this state belongs to a policy on other arms: give handful.Proposed(propose, "
                "labels) with the policy.arms.labels of the moment when the policy was saved"
            )

    def __reduce__(self) -> Any:
        # Pickled if the proposer can be: a function of a module can, a lambda cannot.
        kept = {"_held": self._held, "_waiting": self._waiting}
        counted = {"proposed": self.proposed, "repeated": self.repeated}
        return type(self), (self._propose, self._first), {**kept, **counted}

    def __repr__(self) -> str:
        counts = f"{self.proposed} proposed, {self.repeated} repeated, {self.waiting} waiting"
        return f"Proposed({self._propose!r}: {counts})"


def distinct(label: Any) -> tuple[bool, Any]:
    """Return what is equal for equal labels only: True equals 1, and is another label."""
    return isinstance(label, bool), label


def checked(label: Any, what: str) -> Any:
    """Return a label as it is stored; refuse what can be none."""
    hint = "numbers, strings or tuples of them are labels"
    if hasattr(label, "__await__"):
        raise SettingError(
            f"{what} {label!r}, which must be awaited: give a plain function; docs/proposers.md "
            "says what to do if a proposal takes long"
        )
    try:
        hash(label)
    except TypeError:
        raise SettingError(f"{what} {label!r}, which is not hashable: {hint}") from None
    if label is None:
        raise SettingError(f"{what} None, which stands for no arm: {hint}")
    return plain_label(label)
