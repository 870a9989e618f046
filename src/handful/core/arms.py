"""Finite sets of arms of any size, addressed by index and labelled by the user.

A set is given as a number K (labels 0 .. K-1), as a list of labels, or as a function from index to
label with `FiniteArms(make_label, n=K)`. Arms hold no statistics. Only a list of labels takes
memory in proportion to K, and the caller has that list anyway.

Labels that come from NumPy are converted to plain Python scalars, so `select()` returns values that
can be written as JSON. Dates and durations of NumPy stay as they are: as plain integers they would
lose their unit.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Collection,
    Hashable,
    ItemsView,
    Iterable,
    KeysView,
    Sequence,
    Set,
)
from hashlib import blake2b
from operator import index as as_index
from typing import Any

from handful.errors import OtherArmsError, SettingError, StateError

ENDLESS = 2**62
"""The number of arms that a reservoir counts as having. Finite sets have fewer.

An arm's index then fits into a signed 64-bit integer, in saved states and in kernels, and the sum
of two indices does too; and `n == ENDLESS` holds for endless arms alone.
"""
SAMPLED_LABELS = 16
"""How many labels of a function are part of its fingerprint."""
_ALWAYS_COMPARABLE = frozenset({str, int, float, bytes, bool, type(None)})


class FiniteArms:
    """A set of K arms, 1 <= K < 2^62. It never changes.

    Policies that are given the same object share it; one that adds or removes arms continues with a
    copy of its own. The fingerprint of the labels, needed by `to_bytes` and `from_bytes`, is
    computed at its first use and then cached on the object: to restore many policies on one long
    list, make the `FiniteArms` once and give it to all of them.

    >>> FiniteArms(["red", "green"]).label(1)
    'green'
    >>> FiniteArms(lambda i: f"prompt-{i}", n=10**12).label(7)
    'prompt-7'
    """

    __slots__ = ("_checked", "_fingerprint", "_found", "_labels", "_make_label", "n")

    def __init__(
        self, arms: int | Iterable[Hashable] | Callable[[int], Hashable], n: int | None = None
    ) -> None:
        self._labels: Sequence[Hashable] | None = None
        self._make_label: Callable[[int], Hashable] | None = None
        self._checked = False
        self._fingerprint: int | None = None
        self._found: tuple[frozenset[Any], list[int]] | None = None
        refuse_frame(arms)
        if callable(arms) and not isinstance(arms, Iterable):
            if n is None:
                raise SettingError(
                    "a function from index to label needs the number of arms: "
                    "FiniteArms(make_label, n=...)"
                )
            self._make_label = arms
            self.n = _count(n)
        elif n is not None:
            raise SettingError("n= goes with a function from index to label only")
        elif isinstance(arms, range):
            self._labels = arms
            self.n = _count(max(0, -((arms.start - arms.stop) // arms.step)))
        elif isinstance(arms, Iterable):
            self._labels = _labels(arms)
            self.n = len(self._labels)
        else:
            self.n = _count(arms)

    @classmethod
    def of(cls, arms: FiniteArms | int | Iterable[Hashable]) -> FiniteArms:
        """Return the arms as they are, or make them from a number or from labels."""
        return arms if isinstance(arms, FiniteArms) else cls(arms)

    def label(self, index: int) -> Any:
        """Return the label of an arm."""
        if self._labels is not None:
            return self._labels[index]
        if self._make_label is not None:
            label = made_label(self._make_label, index, self._checked)
            self._checked = True
            return label
        if 0 <= index < self.n:
            return index
        raise IndexError(f"there are arms 0 to {self.n - 1}, and no arm {index}")

    def clone(self) -> FiniteArms:
        """Return arms that another policy can use independently: the same object."""
        return self

    def give_back(self) -> None:
        """Do nothing: any number of policies use the same object."""

    def restart(self) -> None:
        """Do nothing: a policy can start again on a finite set at any time."""

    def keep_only(self, indices: Collection[int]) -> None:
        """Do nothing: every label of a finite set stays available."""

    @property
    def is_made(self) -> bool:
        """Whether a function makes the labels, so that they cannot be listed."""
        return self._make_label is not None

    @property
    def is_listed(self) -> bool:
        """Whether the labels were given as a list, so that arms can be added and removed."""
        return self._labels is not None and not isinstance(self._labels, range)

    @classmethod
    def with_labels(cls, labels: Iterable[Hashable]) -> FiniteArms:
        """Return arms with these labels, which were checked before."""
        arms = cls(1)
        arms._labels = tuple(labels)
        arms.n = len(arms._labels)
        return arms

    def listed(self) -> list[Hashable]:
        """Return a list of all labels; refuse arms that were given in another form."""
        if self._labels is None or not self.is_listed:
            raise SettingError(
                f"arms that come and go must be given as a list of labels, and these are {self!r}: "
                "give arms=list(...)"
            )
        return list(self._labels)

    def indices_of(self, labels: Iterable[object]) -> list[int]:
        """Return the indices of the arms with these labels, in increasing order.

        Labels of no arm are left out. Of a list of K labels all are compared; of a function none
        can be found. The answer for the last frozenset is remembered: many decisions in a row are
        often among the same allowed arms.
        """
        if not isinstance(labels, frozenset):
            return self._indices_of(labels)
        if self._found is None or self._found[0] is not labels:
            self._found = labels, self._indices_of(labels)
        return list(self._found[1])

    def _indices_of(self, labels: Iterable[object]) -> list[int]:
        wanted = {plain_label(label): label for label in labels}
        if self._make_label is not None:
            return []
        if self._labels is not None and not isinstance(self._labels, range):
            return [
                index
                for index, label in enumerate(self._labels)
                if label in wanted and same_label(label, wanted[label])
            ]
        among = range(self.n) if self._labels is None else self._labels
        numbers = {_integer(label) for label in wanted.values()}
        return sorted(among.index(n) for n in numbers if n is not None and n in among)

    def label_getter(self) -> Callable[[int], Any]:
        """Return the fastest function from index to label."""
        return self.label if self._labels is None else self._labels.__getitem__

    def slot_of(self, label: object, indices: Sequence[int]) -> int | None:
        """Return which of a few arms, given by index, has this label; None if none of them."""
        return slot_with(label, map(self.label, indices))

    def knows(self, label: object) -> bool | None:
        """Return whether this is the label of an arm; None if a function makes the labels."""
        if self._make_label is not None:
            return None
        if self._labels is not None and not isinstance(self._labels, range):
            return any(same_label(known, label) for known in self._labels)
        # Integers are compared by arithmetic, since there may be very many.
        among = range(self.n) if self._labels is None else self._labels
        number = _integer(label)
        return number is not None and number in among

    def fingerprint(self) -> int:
        """Return 64 bits that distinguish these arms from others, equal in every process.

        All labels of a list count; of a function, the number of arms and a sample of the labels.
        The result is cached: a list of 10,000 labels takes milliseconds the first time only.
        """
        if self._fingerprint is None:
            digest = blake2b(digest_size=8)
            if isinstance(self._labels, range):
                digest.update(repr(self._labels).encode())
            elif self._labels is not None:
                digest.update(f"labels:{self.n}".encode())
                for label in self._labels:
                    digest.update(label_text(label))
            elif self._make_label is not None:
                digest.update(f"function:{self.n}".encode())
                step = max(1, (self.n - 1) // (SAMPLED_LABELS - 1))
                for index in (*range(0, self.n, step)[:SAMPLED_LABELS], self.n - 1):
                    digest.update(label_text(self._make_label(index)))
            else:
                digest.update(f"number:{self.n}".encode())
            self._fingerprint = int.from_bytes(digest.digest(), "little")
        return self._fingerprint

    def check_fingerprint(self, saved: int, saved_n: int) -> None:
        """Refuse a state that was saved with other arms."""
        if saved_n != self.n:
            number = "endless" if saved_n == ENDLESS else saved_n
            raise OtherArmsError(
                f"this state belongs to a policy on {number} arms, but {self.n} were given: "
                "give the arms that it was saved with"
            )
        if saved != self.fingerprint():
            raise OtherArmsError(
                f"this state belongs to a policy on {saved_n} other arms: "
                "give the same labels in the same order"
            )

    def __repr__(self) -> str:
        if self._labels is not None:
            first = ", ".join(repr(label) for label in self._labels[:3])
            return f"FiniteArms([{first}{', ...' if self.n > 3 else ''}], n={self.n})"
        if self._make_label is not None:
            return f"FiniteArms({self._make_label!r}, n={self.n})"
        return f"FiniteArms({self.n})"


def _integer(label: Any) -> int | None:
    """Return the integer that a label is; None for other labels, bools among them."""
    try:
        number = as_index(label)
    except TypeError:
        return None
    return None if isinstance(label, bool) else number


def _count(n: Any) -> int:
    try:
        count = as_index(n)
    except TypeError:
        raise SettingError(
            f"arms={n!r} is neither an integer, nor labels, nor a function from index to label"
        ) from None
    if isinstance(n, bool) or not 1 <= count < ENDLESS:
        raise SettingError(f"arms={n!r}: give at least 1 and fewer than 2^62 arms")
    return int(count)


def _labels(arms: Iterable[Hashable]) -> tuple[Hashable, ...]:
    if isinstance(arms, str | bytes):
        raise SettingError(
            f"arms={arms!r} is one string, not a list of labels: give [{arms!r}, ...]"
        )
    if isinstance(arms, Set) and not isinstance(arms, KeysView | ItemsView):
        raise SettingError(
            "arms are a set, whose order is not the same in every process: give a list, "
            "for example sorted(arms)"
        )
    try:
        labels = tuple(map(plain_label, _listed(arms)))
    except TypeError:
        raise SettingError(f"arms={arms!r} cannot be listed: give a list of labels") from None
    if not labels:
        raise SettingError("arms are empty: give at least 1 arm")
    seen: set[Hashable] = set()
    for label in labels:
        try:
            hash(label)
        except TypeError:
            raise SettingError(
                f"the label {label!r} cannot be distinguished from others (it is not hashable): "
                "label arms by numbers, strings or tuples"
            ) from None
        if label in seen:
            raise SettingError(f"the label {label!r} is given twice: labels must differ")
        seen.add(label)
    return labels


def _listed(arms: Any) -> Iterable[Hashable]:
    """Return the labels one by one; of an Arrow array as plain scalars, which its own are not."""
    listed: Iterable[Hashable] = arms.to_pylist() if hasattr(arms, "to_pylist") else arms
    return listed


def refuse_frame(arms: object, what: str = "arms") -> None:
    """Refuse a table, whose elements are its columns (or their names) rather than its rows."""
    # Looked up on the class: a lazy frame would start to work if it were asked for its columns.
    if hasattr(type(arms), "columns"):
        raise SettingError(
            f"{what} are a {type(arms).__name__}, whose columns would become the {what}: give one "
            'column as a list, for example frame["headline"].to_list()'
        )


def plain_label(label: Any) -> Any:
    """Return a NumPy scalar as the plain Python scalar of its value, anything else as it is."""
    if type(label) in _ALWAYS_COMPARABLE or not hasattr(label, "dtype"):
        return label
    if getattr(label, "shape", None) != () or getattr(label.dtype, "kind", "O") in "mM":
        return label
    return label.item()


def made_label(make_label: Callable[[int], Hashable], index: int, checked: bool) -> Any:
    """Return the label that a function makes for an arm.

    Unless the function was `checked` before, refuse a label that no reward could ever be matched
    with, such as an array: made again, it must compare equal.
    """
    label = plain_label(make_label(index))
    if checked or type(label) in _ALWAYS_COMPARABLE:
        return label
    if not same_label(plain_label(make_label(index)), label):
        raise SettingError(
            f"the function from index to label makes {label!r} for arm {index}, which does not "
            "compare equal when it is made again, so no reward could be matched with it: return "
            "numbers, strings or tuples of them"
        )
    return label


def same_label(known: object, given: object) -> bool:
    """Return whether a label that was given back is this arm's."""
    # True == 1 in Python, but they are not the same label. A number of another type is: a numpy
    # integer is what people get back from an array of labels.
    if isinstance(known, bool) is not isinstance(given, bool):
        return False
    try:
        return known is given or bool(known == given)
    except (TypeError, ValueError, RuntimeError):
        return False  # such as an array, whose comparison is an array


def slot_with(given: object, labels: Iterable[object]) -> int | None:
    """Return the place of the label that was given back among some labels; None if it is none."""
    for slot, label in enumerate(labels):
        if same_label(label, given):
            return slot
    return None


def label_text(label: object) -> bytes:
    """Return a label as text that is the same in every process."""
    if hasattr(label, "dtype") and hasattr(label, "item") and getattr(label, "size", 1) == 1:
        label = label.item()  # a numpy scalar, whose repr differs between versions of numpy
    text = repr(sorted(map(repr, label))) if isinstance(label, frozenset) else repr(label)
    if " at 0x" in text and not isinstance(label, str | bytes):
        raise StateError(
            f"the label {text} has no text of its own, so a saved state could not tell whether it "
            "is given the same arms: label arms by numbers or strings, or give the class a __repr__"
        )
    return f"\x1f{type(label).__name__}:{text}".encode()
