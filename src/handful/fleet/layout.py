"""The bytes of a member: its record without what all members share, in small integers.

    status | key | step | draws | the other scalars | slot 0 | slot 1 | ...

A field is left out if it is 0 in every member: the rewards that are kept, if there is no default
reward. `pending` is left out, since a fleet has no `select`. Integers take two bytes each if there
are fewer than 2^15 arms, else four, or eight. A member that does not fit, for example after more
than 65,000 decisions, gets a *wide* row beside the others, with every field as it is declared.

`status` is 0 while the member has not begun: a row of zeros, or with a seed of its own as the key.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from handful.compiling.packed import DRAWS, STATUS, STEP
from handful.compiling.state import empty_record
from handful.core.state import Kind, State, fields

NOT_BEGUN, BEGUN, WIDE = range(3)
"""The status of a member. The key of a wide one is the number of its wide row."""
KEY = 1
"""The offset of the key in a row."""
KEPT = ("kept", "kept_sum", "kept_before", "kept_before_sum")
SHARED = ("pending", "rng")
"""Fields that no row has: the same for all members, or stored in another form."""
FIRST = ("key",)
LINE = 64
"""The bytes of a cache line."""
FEW = 32
"""A row may grow by a share of 1/FEW to fill its last line."""


@dataclass(frozen=True)
class Layout:
    """Which fields a row has, and how many bytes each takes."""

    state: type[State]
    memory: int
    defaults: bool
    """Whether rewards may be kept."""
    bits: int
    """Of a counter: 16, 32 or 64."""
    arm_bits: int
    """Of the number of an arm, and of the policy's own integers."""

    @classmethod
    def of(cls, state: type[State], memory: int, n_arms: int, defaults: bool, bits: int) -> Layout:
        """Return the smallest layout for members on so many arms."""
        arm_bits = 16 if n_arms < 2**15 else 32 if n_arms < 2**31 else 64
        return cls(state, memory, defaults, bits, max(bits, arm_bits))

    @cached_property
    def head(self) -> np.dtype[Any]:
        """The scalars."""
        known = fields(self.state)
        rest = [
            (name, *self._form(name, kind))
            for name, kind in known.items()
            if not kind.per_slot and name not in (*FIRST, *SHARED)
        ]
        counter = f"<u{self.bits // 8}"
        start = [(STATUS, "u1"), ("key", "<u8"), (STEP, "<u8"), (DRAWS, counter)]
        return np.dtype([*start, *rest])

    @cached_property
    def slot(self) -> np.dtype[Any]:
        """The fields of a slot."""
        left_out = () if self.defaults else KEPT
        return np.dtype(
            [
                (name, *self._form(name, kind))
                for name, kind in fields(self.state).items()
                if kind.per_slot and name not in left_out
            ]
        )

    @cached_property
    def size(self) -> int:
        """The bytes of a row: whole cache lines, if that takes few bytes more.

        Rows at other places take a line more, mostly, and lines are what a large fleet waits for.
        """
        size = self.head.itemsize + self.memory * self.slot.itemsize
        lines = -(-size // LINE) * LINE
        return lines if lines - size <= size // FEW else size

    @property
    def wide_size(self) -> int:
        """The bytes of a wide row."""
        scalars, slots, _ = empty_record(self.state, 1, 0)
        return scalars.itemsize + self.memory * slots.itemsize

    def _form(self, name: str, kind: Kind) -> tuple[Any, ...]:
        if kind.length > 1:
            return kind.numpy, (kind.length,)
        if kind.is_slot or name == "held":
            return ("u1" if self.memory < 254 else "<u4",)
        if name == "answers":
            return ("<u2",)
        declared = {"q": 64, "i": 32}.get(kind.code)
        if declared is None:
            return (kind.numpy,)
        own = name in ("arm", "news") or name not in fields(State)
        bits = self.arm_bits if own else self.bits
        return (f"<u{min(bits, declared) // 8}",)
