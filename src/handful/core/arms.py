"""Where arms come from: a finite set of any size, known by index, labelled by the user.

A set is given as a number K (labels 0 .. K-1), as a list of labels, or as a function from index to
label with `FiniteArms(make_label, n=K)`. Nothing here holds statistics; only a list of labels takes
memory in K, and that list is the user's own.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, KeysView, Sequence, Set
from hashlib import blake2b
from operator import index as as_index
from typing import Any

from handful.errors import OtherArmsError, SettingError, StateError

MAX_ARMS = 2**63
_SAMPLED_LABELS = 16


class FiniteArms:
    """K arms, 1 <= K <= 2^63.

    >>> FiniteArms(["red", "green"]).label(1)
    'green'
    >>> FiniteArms(lambda i: f"prompt-{i}", n=10**12).label(7)
    'prompt-7'
    """

    __slots__ = ("_fingerprint", "_labels", "_make_label", "n")

    def __init__(
        self, arms: int | Iterable[Hashable] | Callable[[int], Hashable], n: int | None = None
    ) -> None:
        self._labels: Sequence[Hashable] | None = None
        self._make_label: Callable[[int], Hashable] | None = None
        self._fingerprint: int | None = None
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
        """The arms as they are, or made from a number or labels."""
        return arms if isinstance(arms, FiniteArms) else cls(arms)

    def label(self, index: int) -> Any:
        """The user's own name of an arm."""
        if self._labels is not None:
            return self._labels[index]
        if self._make_label is not None:
            return self._make_label(index)
        return index

    def slot_of(self, label: object, indices: Sequence[int]) -> int | None:
        """Which of a few arms, given by index, has this label; None if none of them."""
        for slot, index in enumerate(indices):
            if same_label(self.label(index), label):
                return slot
        return None

    def knows(self, label: object) -> bool | None:
        """Whether this is one of the arms. A function from index to label cannot tell: None."""
        if self._make_label is not None:
            return None
        if self._labels is not None and not isinstance(self._labels, range):
            return any(same_label(known, label) for known in self._labels)
        # Whole numbers: by arithmetic, since there may be very many.
        among = range(self.n) if self._labels is None else self._labels
        try:
            number = as_index(label)  # type: ignore[arg-type]
        except TypeError:
            return False
        return not isinstance(label, bool) and number in among

    def fingerprint(self) -> int:
        """64 bits that tell these arms from others, the same in every process.

        All labels of a list count; of a function, the number of arms and a sample of the labels.
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
                step = max(1, (self.n - 1) // (_SAMPLED_LABELS - 1))
                for index in (*range(0, self.n, step)[:_SAMPLED_LABELS], self.n - 1):
                    digest.update(label_text(self._make_label(index)))
            else:
                digest.update(f"number:{self.n}".encode())
            self._fingerprint = int.from_bytes(digest.digest(), "little")
        return self._fingerprint

    def check_fingerprint(self, saved: int, saved_n: int) -> None:
        """Refuse a state that was saved with other arms."""
        if saved_n != self.n:
            # A reservoir has as many as can be.
            told = "endless" if saved_n == MAX_ARMS else saved_n
            raise OtherArmsError(
                f"this state belongs to a policy on {told} arms, but {self.n} were given: "
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


def _count(n: Any) -> int:
    try:
        count = as_index(n)
    except TypeError:
        raise SettingError(
            f"arms={n!r} is neither a whole number, nor labels, nor a function from index to label"
        ) from None
    if isinstance(n, bool) or not 1 <= count <= MAX_ARMS:
        raise SettingError(f"arms={n!r}: give at least 1 and at most 2^63 arms")
    return int(count)


def _labels(arms: Iterable[Hashable]) -> tuple[Hashable, ...]:
    if isinstance(arms, str | bytes):
        raise SettingError(f"arms={arms!r} is one text, not a list of labels: give [{arms!r}, ...]")
    if isinstance(arms, Set) and not isinstance(arms, KeysView):
        raise SettingError(
            "arms are a set, whose order is not the same in every process: give a list, "
            "for example sorted(arms)"
        )
    try:
        labels = tuple(arms)
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
                f"the label {label!r} cannot be told apart from others (it is not hashable): "
                "label arms by numbers, texts or tuples"
            ) from None
        if label in seen:
            raise SettingError(f"the label {label!r} is given twice: labels must differ")
        seen.add(label)
    return labels


def same_label(known: object, given: object) -> bool:
    """Whether a label that was given back is this arm's."""
    # True == 1 in Python, but they are not the same label. A number of another type is: a numpy
    # integer is what people get back from an array of labels.
    if isinstance(known, bool) is not isinstance(given, bool):
        return False
    try:
        return known is given or bool(known == given)
    except (TypeError, ValueError):
        return False  # such as an array, which has no one answer


def label_text(label: object) -> bytes:
    """A label as text that is the same in every process."""
    if hasattr(label, "dtype") and hasattr(label, "item"):
        label = label.item()  # a numpy scalar, whose repr differs between versions of numpy
    text = repr(sorted(map(repr, label))) if isinstance(label, frozenset) else repr(label)
    if " at 0x" in text and not isinstance(label, str | bytes):
        raise StateError(
            f"the label {text} has no text of its own, so a saved state could not tell whether it "
            "is given the same arms: label arms by numbers or texts, or give the class a __repr__"
        )
    return f"\x1f{type(label).__name__}:{text}".encode()
