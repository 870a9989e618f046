"""Arms with an open end: users post them one by one, and the policy decides when to try them.

This is a reservoir whose next arm may not exist yet. A policy for endless arms takes the posted
arms in order, whenever its schedule asks for a new one; no arm is tried just because it was posted.
If the policy asks and there is none, the arm in memory with the highest mean is pulled instead.

    arms = handful.PostedArms(["a first prompt"])
    policy = handful.Race(arms=arms, memory=8)
    arms.post(["another one"])

Labels of arms that have left memory are released. So only the labels of the arms in memory and of
those not tried yet are stored.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping
from hashlib import blake2b
from typing import Any

from handful.core.arms import label_text, plain_label
from handful.core.reservoir import Reservoir
from handful.errors import ExhaustedError, SettingError, StateError


class PostedArms(Reservoir):
    """Endless arms that users post one by one.

    >>> arms = PostedArms(["a first prompt"])
    >>> arms.post(["another one"])
    >>> arms.label(1)
    'another one'
    """

    is_open = True

    def __init__(self, labels: Iterable[Hashable]) -> None:
        super().__init__(iter(()))
        self._asked = 0
        self.post(labels)
        if self._next == 0:
            raise SettingError("no arm is posted yet: give at least 1 label to begin with")
        self._first_text = label_text(self._held[0])

    @classmethod
    def restored(cls, first: Hashable, posted: int, asked: int, held: Mapping[int, Any]) -> Any:
        """Return arms as they were: the first label, how many were posted, and those still held.

        `asked` is how many have been drawn; `held` has the labels of arms in memory by index, and
        of those that have not been drawn yet.
        """
        arms = cls([first])
        arms._next, arms._asked, arms._held = posted, asked, dict(held)
        return arms

    def post(self, labels: Iterable[Hashable]) -> None:
        """Add arms at the end."""
        if isinstance(labels, str | bytes):
            raise SettingError(f"{labels!r} is one string, not a list of labels: give [{labels!r}]")
        added = [plain_label(label) for label in labels]
        for label in added:
            hash(label)
        for label in added:
            self._held[self._next] = label
            self._next += 1

    @property
    def posted(self) -> int:
        """How many arms have been posted."""
        return self._next

    @property
    def asked(self) -> int:
        """How many arms the policy has drawn, as far as it has released any."""
        return self._asked

    def undrawn(self) -> Iterator[Any]:
        """Yield the labels of the arms that the policy has not drawn yet."""
        return (self._held[index] for index in range(self._asked, self._next))

    @property
    def looks_ahead(self) -> bool:
        """Whether arms that have not come up can be looked at: those that are posted can."""
        return True

    def is_there(self, index: int) -> bool:
        """Return whether an arm has been posted."""
        return index < self._next

    def label(self, index: int) -> Any:
        """Return the label of an arm."""
        if index >= self._next:
            raise ExhaustedError(
                f"{self._next} arms have been posted, and the policy needs one more: post some"
            )
        try:
            return self._held[index]
        except KeyError:
            raise ExhaustedError(f"arm {index} was released: it has left memory") from None

    def clone(self) -> Reservoir:
        """Return arms that another policy can use independently, from the same place on."""
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__dict__, _held=self._held.copy(), _owned=True)
        return twin

    def restart(self) -> None:
        """Let the policy start again from the first arm; refuse if some were released."""
        if len(self._held) < self._next:
            raise ExhaustedError(
                "labels of arms that left memory were released, so a policy cannot start again on "
                "these arms: post them to new ones"
            )
        self._asked = 0

    def keep_only(self, indices: Collection[int]) -> None:
        """Take note that these arms were drawn, and release the labels of others before them."""
        self._asked = max(self._asked, max(indices, default=-1) + 1)
        self.release_but(indices)

    def release_but(self, indices: Collection[int]) -> None:
        """Release the labels of arms that were drawn, but for these."""
        wanted = set(indices)
        self._held = {
            index: label
            for index, label in self._held.items()
            if index >= self._asked or index in wanted
        }

    def fingerprint(self) -> int:
        """Return 64 bits from the first label."""
        digest = blake2b(b"posted" + self._first_text, digest_size=8).digest()
        return int.from_bytes(digest, "little")

    def __reduce__(self) -> Any:
        raise StateError(
            "posted arms cannot be pickled: save the policy by to_bytes(), and restore it by "
            "from_bytes() with the same arms"
        )

    def __repr__(self) -> str:
        return f"PostedArms({self._next} posted, {self._asked} drawn)"
