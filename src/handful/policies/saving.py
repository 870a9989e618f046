"""What a saved policy contains besides its record: its arms, memory, rewards and settings.

    fingerprint of the arms | K | M | whether rewards are rescaled | lo, hi if so | the settings

The record follows (`State.pack`), and `handful.core.envelope` adds the policy's name, a version and
a checksum.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from handful.core.envelope import Reader
from handful.errors import SettingError, StateError
from handful.policies.settings import check_rescale, check_settings

if TYPE_CHECKING:
    from handful.policies.definition import Definition

FRAME = Struct("<QQIB")
RESCALE = Struct("<dd")


class Frame(NamedTuple):
    """The part of a saved policy that stands before its record."""

    fingerprint: int
    n_arms: int
    memory: int
    rescale: tuple[float, float] | None
    settings: dict[str, float]

    def pack(self) -> bytes:
        """Return the frame as bytes."""
        head = FRAME.pack(self.fingerprint, self.n_arms, self.memory, self.rescale is not None)
        rescale = RESCALE.pack(*self.rescale) if self.rescale else b""
        return head + rescale + Struct(f"<{len(self.settings)}d").pack(*self.settings.values())

    @classmethod
    def unpack(cls, body: bytes, policy: type[Definition]) -> tuple[Frame, bytes]:
        """Return the frame of a saved policy, and its record as bytes."""
        reader = Reader(body)
        fingerprint, n_arms, memory, rescaled = (int(value) for value in reader.take(FRAME))
        if rescaled > 1:
            raise StateError("the saved policy has a flag that is neither set nor unset")
        scale = reader.take(RESCALE) if rescaled else None
        saved = reader.take(Struct(f"<{len(policy.settings)}d"))
        given = {key: x for key, x in zip(policy.settings, saved, strict=True) if x == x}
        try:
            settings = check_settings(policy, given)
            rescale = check_rescale(None if scale is None else (scale[0], scale[1]))
            if policy.memory_for(memory if policy.takes_memory() else None, n_arms) != memory:
                raise SettingError(f"{policy.name} has no memory of {memory}")
        except SettingError as error:
            raise StateError(f"the saved policy has a setting that cannot be: {error}") from None
        return cls(fingerprint, n_arms, memory, rescale, settings), reader.rest
