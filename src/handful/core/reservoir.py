"""Endless arms: a reservoir from which the next arm can always be drawn.

Given as a function from index to label, which can name any arm again, or as an iterator, which
gives labels one after the other. The labels that an iterator gave are kept as long as the policy
may ask for them again: a policy that recalls arms (the QR-M family) keeps those of its pool, one
that does not keeps those in memory. An iterator that ends is an error when the policy needs one
more arm. Labels that repeat are arms of their own, each with its own statistics; a reward goes to
the arm just selected.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any

from handful.core.arms import MAX_ARMS, label_text, same_label
from handful.errors import ExhaustedError, OtherArmsError, SettingError

_SAMPLED_LABELS = 16


class Reservoir:
    """Endless arms.

    >>> Reservoir(lambda i: f"prompt-{i}").label(7)
    'prompt-7'
    >>> Reservoir(iter("abc")).label(1)
    'b'
    """

    n = MAX_ARMS
    """More than any policy will ever draw."""

    def __init__(self, arms: Callable[[int], Hashable] | Iterable[Hashable]) -> None:
        self._make_label: Callable[[int], Hashable] | None = None
        self._source: Iterator[Hashable] | None = None
        self._drawn: dict[int, Hashable] = {}
        self._next = 0
        self._first: Hashable = None
        if isinstance(arms, Iterable) and not isinstance(arms, str | bytes):
            self._source = iter(arms)
        elif callable(arms):
            self._make_label = arms
        else:
            raise SettingError(
                f"arms={arms!r} is not endless: give a function from index to label, or an iterator"
            )

    @classmethod
    def of(cls, arms: Any) -> Reservoir:
        """The reservoir as it is, or made from a function or an iterator."""
        if isinstance(arms, Reservoir):
            return arms
        if isinstance(arms, int | Sequence) or hasattr(arms, "dtype"):
            raise SettingError(
                "these arms are finite, and this policy is for endless ones: give a function from "
                "index to label or an iterator, or take a policy for finite sets, such as ucb-m"
            )
        return cls(arms)

    def label(self, index: int) -> Any:
        """The label of an arm; an iterator is drawn from as far as needed."""
        if self._make_label is not None:
            return self._make_label(index)
        assert self._source is not None
        while self._next <= index:
            try:
                label = next(self._source)
            except StopIteration:
                raise ExhaustedError(
                    f"the iterator ended after {self._next} arms, and the policy needs one more: "
                    "give one that does not end, or a policy for finite sets, such as ucb-m "
                    "(recommend() and to_bytes() work as before)"
                ) from None
            if self._next == 0:
                self._first = label
            self._drawn[self._next] = label
            self._next += 1
        try:
            return self._drawn[index]
        except KeyError:
            raise ExhaustedError(
                f"arm {index} was given up and an iterator cannot give it again"
            ) from None

    def forget_all_but(self, indices: Sequence[int]) -> None:
        """Let go of labels that will not be asked for again: all drawn so far but these."""
        for index in [i for i in self._drawn if i not in indices]:
            del self._drawn[index]

    def slot_of(self, label: object, indices: Sequence[int]) -> int | None:
        """Which of a few arms, given by index, has this label; None if none of them."""
        for slot, index in enumerate(indices):
            if same_label(self.label(index), label):
                return slot
        return None

    def knows(self, label: object) -> bool | None:
        """A reservoir cannot tell: None."""
        return None

    def fingerprint(self) -> int:
        """64 bits from a sample of the labels; of an iterator, from the first."""
        digest = blake2b(digest_size=8)
        if self._make_label is not None:
            digest.update(b"endless function")
            for index in range(_SAMPLED_LABELS):
                digest.update(label_text(self._make_label(index)))
        else:
            if self._next == 0:
                self.label(0)
            digest.update(b"endless iterator" + label_text(self._first))
        return int.from_bytes(digest.digest(), "little")

    def check_fingerprint(self, saved: int, saved_n: int) -> None:
        """Refuse a state that was saved with other arms."""
        if saved_n != self.n or saved != self.fingerprint():
            raise OtherArmsError(
                "this state belongs to a policy on other arms: give the same function, or a new "
                "iterator that gives the same labels from the first on"
            )

    def __repr__(self) -> str:
        return f"Reservoir({self._make_label or self._source!r})"
