"""Endless arms: a reservoir from which the next arm can always be drawn.

A reservoir is given as a function from index to label, which can name any arm again, or as an
iterator, which gives each label once. Labels that repeat are arms of their own, each with its own
statistics; a reward goes to the arm just selected.

On an iterator every `Reservoir` is a view of its own: it holds the labels that its policy may still
ask for, and a place in the stream of labels. `clone()` makes another view at the same place. What
one view draws ahead of another waits in a linked list, so that Python frees a label as soon as no
view holds it or has it still to come. A policy that recalls arms (the QR-M family) never calls
`keep_only` and holds the labels of its pool; one that does not holds those of the arms in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence, Sized
from hashlib import blake2b
from threading import RLock
from typing import Any

from handful.core.arms import (
    ENDLESS,
    SAMPLED_LABELS,
    label_text,
    made_label,
    plain_label,
    refuse_frame,
    slot_with,
)
from handful.errors import ExhaustedError, OtherArmsError, SettingError, StateError


class _Link:
    """A place in the stream: empty, or a label and the place after it."""

    __slots__ = ("after", "label")

    def __init__(self) -> None:
        self.label: Any = None
        self.after: _Link | None = None


class _Stream:
    """An iterator that several views draw from, at places of their own and in any thread."""

    __slots__ = ("_drawn", "_first", "_iterator", "_lock")

    def __init__(self, iterator: Iterator[Hashable]) -> None:
        self._iterator = iterator
        self._lock = RLock()
        self._drawn = 0
        self._first: Any = None

    def draw(self, place: _Link) -> tuple[Any, _Link]:
        """Return the label at a place, drawn now if it is the first empty one, and what follows."""
        if place.after is None:
            with self._lock:
                if place.after is None:
                    self._fill(place)
        assert place.after is not None
        return place.label, place.after

    def first_label(self, place: _Link) -> Any:
        """Return the first label of all; `place` is the first empty one if none was drawn yet."""
        if self._drawn == 0:
            self.draw(place)
        return self._first

    def _fill(self, place: _Link) -> None:
        try:
            place.label = plain_label(next(self._iterator))
        except StopIteration:
            raise ExhaustedError(
                f"the iterator ended after {self._drawn} arms, and the policy needs one more: give "
                "one that does not end, or take a policy for finite sets, such as ucb-m "
                "(recommend() and to_bytes() work as before, and from_bytes() with a longer "
                "iterator goes on)"
            ) from None
        if self._drawn == 0:
            self._first = place.label
        self._drawn += 1
        place.after = _Link()

    def __repr__(self) -> str:
        return repr(self._iterator)


class Reservoir:
    """Endless arms.

    >>> Reservoir(lambda i: f"prompt-{i}").label(7)
    'prompt-7'
    >>> Reservoir(iter("abc")).label(1)
    'b'
    """

    n = ENDLESS
    """More than any policy will ever draw."""
    is_open = False
    """Whether an arm that does not exist yet may come later: `handful.core.posted`."""

    def __init__(self, arms: Callable[[int], Hashable] | Iterable[Hashable]) -> None:
        self._make_label: Callable[[int], Hashable] | None = None
        self._checked = False
        self._fingerprint: int | None = None
        self._owned = False
        self._stream: _Stream | None = None
        self._place = _Link()
        self._next = 0
        self._held: dict[int, Any] = {}
        refuse_frame(arms)
        if callable(arms) and not isinstance(arms, Iterable):
            self._make_label = arms
        elif isinstance(arms, int | Sized) or hasattr(arms, "dtype"):
            raise SettingError(
                f"these arms are finite ({_described(arms)}), and this policy is for endless ones: "
                "give a function from index to label or an iterator, or take a policy for finite "
                "sets, such as ucb-m"
            )
        elif isinstance(arms, Iterable):
            self._stream = _Stream(iter(arms))
        else:
            raise SettingError(
                f"arms={arms!r} is not endless: give a function from index to label, or an iterator"
            )

    @classmethod
    def of(cls, arms: Any) -> Reservoir:
        """Return a reservoir for one policy, made from a function, an iterator or a reservoir.

        The first policy on a reservoir uses it as it is, later ones a clone of it. They get the
        same arms if they start before the first has released any.
        """
        reservoir = arms if isinstance(arms, Reservoir) else cls(arms)
        if reservoir._owned:
            return reservoir.clone()
        reservoir._owned = True
        return reservoir

    def give_back(self) -> None:
        """Let another policy use these arms as they are: the one that they were for is not made."""
        self._owned = False

    @property
    def is_iterator(self) -> bool:
        """Whether the labels come from an iterator, which may end and gives each only once."""
        return self._stream is not None

    @property
    def looks_ahead(self) -> bool:
        """Whether arms that have not come up can be looked at: not those of an iterator."""
        return self._stream is None

    def is_there(self, index: int) -> bool:
        """Return whether an arm exists already."""
        return True

    def label(self, index: int) -> Any:
        """Return the label of an arm; an iterator is drawn from as far as needed."""
        if self._stream is None:
            assert self._make_label is not None
            label = made_label(self._make_label, index, self._checked)
            self._checked = True
            return label
        while self._next <= index:
            self._held[self._next], self._place = self._stream.draw(self._place)
            self._next += 1
        try:
            return self._held[index]
        except KeyError:
            raise ExhaustedError(
                f"arm {index} was released, and an iterator cannot give it again: give each policy "
                "an iterator of its own, or a function from index to label"
            ) from None

    def label_getter(self) -> Callable[[int], Any]:
        """Return the function from index to label."""
        return self.label

    def clone(self) -> Reservoir:
        """Return arms that another policy can use independently, from the same place on."""
        if self._stream is None:
            return self
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__, _held=self._held.copy(), _owned=True)
        return twin

    def restart(self) -> None:
        """Let the policy start again from the first arm; refuse if an iterator's are gone."""
        if self._stream is not None and len(self._held) < self._next:
            raise ExhaustedError(
                f"{self._next} arms were drawn from the iterator and some of them released, so a "
                "policy cannot start again on it: make a new policy on a new iterator, or give a "
                "function from index to label"
            )
        # Put the drawn labels back into the stream; in `_held`, keep_only would release them.
        for index in reversed(range(self._next)):
            before = _Link()
            before.label, before.after = self._held[index], self._place
            self._place = before
        self._next, self._held = 0, {}

    def keep_only(self, indices: Collection[int]) -> None:
        """Release the labels that will not be asked for again: all drawn so far but these."""
        wanted = set(indices)
        self._held = {index: label for index, label in self._held.items() if index in wanted}

    def slot_of(self, label: object, indices: Sequence[int]) -> int | None:
        """Return which of a few arms, given by index, has this label; None if none of them."""
        return slot_with(label, map(self.label, indices))

    def knows(self, label: object) -> bool | None:
        """Return None: a reservoir cannot list its labels."""
        return None

    def fingerprint(self) -> int:
        """Return 64 bits from a sample of the labels, or from an iterator's first; cached."""
        if self._fingerprint is None:
            digest = blake2b(digest_size=8)
            if self._stream is not None:
                first = self._stream.first_label(self._place)
                digest.update(b"endless iterator" + label_text(first))
            else:
                assert self._make_label is not None
                digest.update(b"endless function")
                for index in range(SAMPLED_LABELS):
                    digest.update(label_text(self._make_label(index)))
            self._fingerprint = int.from_bytes(digest.digest(), "little")
        return self._fingerprint

    def check_fingerprint(self, saved: int, saved_n: int) -> None:
        """Refuse a state that was saved with other arms."""
        if saved_n != self.n or saved != self.fingerprint():
            raise OtherArmsError(
                "this state belongs to a policy on other arms: give the same function, or a new "
                "iterator that gives the same labels from the first on"
            )

    def __copy__(self) -> Reservoir:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Reservoir:
        return self.clone()

    def __reduce__(self) -> tuple[type[Reservoir], tuple[Callable[[int], Hashable]]]:
        if self._make_label is None:
            raise StateError(
                "arms that come from an iterator cannot be pickled: save the policy by to_bytes(), "
                "and restore it by from_bytes() with a new iterator of the same labels"
            )
        return Reservoir, (self._make_label,)

    def __repr__(self) -> str:
        return f"Reservoir({self._make_label or self._stream!r})"


def _described(arms: Any) -> str:
    # A range is Sized too, but one of more than 2^63 numbers has no len().
    has_length = isinstance(arms, Sized) and not isinstance(arms, range)
    return f"a {type(arms).__name__} of {len(arms)}" if has_length else repr(arms)
