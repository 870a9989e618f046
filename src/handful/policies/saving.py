"""What a saved policy contains besides its record: arms, memory, handling of rewards, settings.

    fingerprint of the arms | K | M | handling of rewards | the settings

The handling of rewards is a byte of flags, and the numbers of those that are set: lo and hi if
rewards are rescaled; the window; the default.

The record follows (`State.pack`), and `handful.core.envelope` adds the policy's name, a version and
a checksum. `Saved` has the methods.
"""

from __future__ import annotations

import math
from struct import Struct
from typing import Any, NamedTuple, Self

from handful.core.arms import FiniteArms
from handful.core.envelope import Reader, seal, unseal
from handful.core.reservoir import Reservoir
from handful.core.state import NO_SLOT, State
from handful.errors import SettingError, StateError
from handful.policies.definition import Definition
from handful.policies.given import ArmsLike, lent
from handful.policies.parts import Parts
from handful.policies.proposed import Proposed
from handful.policies.settings import MOST_WINDOW, Rewards, check_rescale, check_settings

FRAME = Struct("<QQIB")
RESCALE = Struct("<dd")
WINDOW = Struct("<q")
DEFAULT = Struct("<d")
RESCALED, WINDOWED, DEFAULTED = 1, 2, 4
"""Flags."""


class Frame(NamedTuple):
    """The part of a saved policy that stands before its record."""

    fingerprint: int
    n_arms: int
    memory: int
    rewards: Rewards
    settings: dict[str, float]

    def pack(self) -> bytes:
        """Return the frame as bytes."""
        rescale, window, default = self.rewards
        parts = []
        flags = 0
        if rescale is not None:
            flags |= RESCALED
            parts.append(RESCALE.pack(*rescale))
        if window:
            flags |= WINDOWED
            parts.append(WINDOW.pack(window))
        if default == default:
            flags |= DEFAULTED
            parts.append(DEFAULT.pack(default))
        parts.append(Struct(f"<{len(self.settings)}d").pack(*self.settings.values()))
        return FRAME.pack(self.fingerprint, self.n_arms, self.memory, flags) + b"".join(parts)

    @classmethod
    def unpack(cls, body: bytes, policy: type[Definition]) -> tuple[Frame, bytes]:
        """Return the frame of a saved policy, and its record as bytes."""
        reader = Reader(body)
        fingerprint, n_arms, memory, flags = (int(value) for value in reader.take(FRAME))
        if flags > (RESCALED | WINDOWED | DEFAULTED):
            raise StateError("the saved policy has a flag that is neither set nor unset")
        scale = reader.take(RESCALE) if flags & RESCALED else None
        window = int(reader.take(WINDOW)[0]) if flags & WINDOWED else 0
        default = float(reader.take(DEFAULT)[0]) if flags & DEFAULTED else math.nan
        saved = reader.take(Struct(f"<{len(policy.settings)}d"))
        given = {key: x for key, x in zip(policy.settings, saved, strict=True) if x == x}
        try:
            settings = check_settings(policy, given)
            rescale = check_rescale(None if scale is None else (scale[0], scale[1]))
            if policy.memory_for(memory if policy.takes_memory() else None, n_arms) != memory:
                raise SettingError(f"{policy.name} has no memory of {memory}")
            if flags & WINDOWED and not 1 <= window <= MOST_WINDOW:
                raise SettingError(f"window={window}")
            if flags & DEFAULTED and not (flags & WINDOWED and 0.0 <= default <= 1.0):
                raise SettingError(f"default={default}")
        except SettingError as error:
            raise StateError(f"the saved policy has a setting that cannot be: {error}") from None
        rewards = Rewards(rescale, window, default)
        return cls(fingerprint, n_arms, memory, rewards, settings), reader.rest


class Saved(Parts):
    """Saving, restoring and copying a policy."""

    def __copy__(self) -> Self:
        return self.clone()

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.clone()

    def __reduce__(self) -> tuple[Any, ...]:
        with self._lock:  # the arms that the state is of
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

    def with_record(self, state: State) -> Self:
        """Return an independent policy like this one, with another record."""
        twin = self.clone()
        state.capacity = twin._memory
        twin._state = state
        twin._key = state.key
        twin._pending_label = None
        if state.pending != NO_SLOT:
            twin._pending_label = twin._arms.label(state.arm[state.pending])
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
        """Return the policy that `to_bytes` saved; it continues exactly where it was."""
        name, body = unseal(blob)
        if name != cls.name:
            raise StateError(f"this state belongs to a {name!r} policy, not to {cls.name!r}")
        with lent(cls, arms) as known:
            return cls._continued(known, body)

    @classmethod
    def _continued(cls, known: FiniteArms | Reservoir, body: bytes) -> Self:
        """Return the policy of the body of a saved one, on these arms."""
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
        if isinstance(known, Proposed):
            known.resume(state.arm[: state.held])
        policy._state = state
        policy._key = state.key
        policy._mean_of = None
        if state.pending != NO_SLOT:
            policy._pending_label = known.label(state.arm[state.pending])
        return policy


def _restored(cls: type[Saved], blob: bytes, arms: ArmsLike) -> Saved:
    """Restore a policy for Python's own pickle, which `multiprocessing` uses."""
    return cls.from_bytes(blob, arms)
