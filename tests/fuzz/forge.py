"""Saved policies with fields changed and the checksum mended, and what must come of them.

`from_bytes` refuses a forged state, or the policy works: 200 decisions and rewards, arms that come
and go, `recommend`, `stats` and `to_bytes` raise nothing but `HandfulError`, and end.
"""

from __future__ import annotations

import random
import signal
import struct
from binascii import crc32
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any, NamedTuple

import handful
from handful import HandfulError, Policy
from handful.core.state import fields
from handful.errors import StateError
from handful.testing import Make
from handful.testing.driving import reward_from
from handful.testing.make import mean_of

NAMES = sorted(handful.POLICIES)
STEPS = 200
SECONDS = 30.0
"""Of processor time, after which a forged policy counts as hung: it needs milliseconds."""


class Place(NamedTuple):
    """A field in the bytes of a saved policy."""

    name: str
    offset: int
    code: str


class Saved(NamedTuple):
    """A saved policy and where its fields are."""

    make: Make
    blob: bytes
    places: tuple[Place, ...]
    held: int


@cache
def saved(name: str, steps: int, rescaled: bool = False, changed: bool = False) -> Saved:
    """Return a policy after so many steps and with three open decisions, saved.

    If `changed`, some arms were removed before and three added, where that can be.
    """
    make = Make(handful.POLICIES[name])
    policy = make(rescale=(-5.0, 5.0) if rescaled else None)
    rng = random.Random(steps)
    for _ in range(steps):
        reward = reward_from(rng)
        policy.update(policy.select(), 10.0 * reward - 5.0 if rescaled else reward)
    for _ in range(3):
        policy.decide()
    if changed and can_change(policy):
        policy.remove_arms({policy.recommend(), make.arms[0]})
        policy.add_arms([f"new {i}" for i in range(3)])
        make = Make(make.cls, arms=policy.arms)
        policy.decide()
    return Saved(make, policy.to_bytes(), tuple(places_of(policy)), policy._state.held)


def can_change(policy: Policy) -> bool:
    """Return whether arms of this policy can be added and removed."""
    return isinstance(policy.arms, list) and policy.own_arms is None


def places_of(policy: Policy) -> Iterator[Place]:
    """Yield every field of a saved policy after its name: frame, settings, record."""
    offset = 6 + len(policy.name.encode())
    layout = [("fingerprint", "Q"), ("arms", "Q"), ("memory", "I"), ("flags", "B")]
    layout += [("lo", "d"), ("hi", "d")] if policy._rescale else []
    layout += [(f"setting {key}", "d") for key in policy._values]
    layout += [("flies", "B")]
    for of_flight in (False, True):
        kinds = [
            (n, kind)
            for n, kind in fields(type(policy._state)).items()
            if kind.of_flight is of_flight and not kind.of_history
        ]
        scalars = [(n, kind) for n, kind in kinds if not kind.per_slot]
        layout += [(n, kind.code) for n, kind in scalars for _ in range(kind.length)]
        for slot in range(policy._state.held):
            layout += [(f"{n}[{slot}]", kind.code) for n, kind in kinds if kind.per_slot]
    for entry in range(policy._state.entries_in_use()):
        past = [(n, k.code) for n, k in fields(type(policy._state)).items() if k.of_history]
        layout += [(f"{n}[{entry}]", code) for n, code in past]
    for name, code in layout:
        yield Place(name, offset, code)
        offset += struct.calcsize(f"<{code}")
    assert offset == len(policy.to_bytes()) - 4


def edge_values(code: str, value: float) -> list[Any]:
    """Return values of a type at which code tends to break, near the given one too."""
    if code == "d":
        fixed = [0.0, 1.0, -1.0, 0.5, 1e6, 1e18, 1e308, -1e308, 5e-324]
        return [*fixed, float("nan"), float("inf"), -float("inf"), value + 1.0, value - 1.0]
    if code == "Q":
        return [0, 1, 2**64 - 1]
    bits = 8 * struct.calcsize(f"<{code}")
    low, high = (0, 2**bits - 1) if code.isupper() else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    near = [0, 1, 2, 3, -1, 17, 48, 63, 100, int(value) + 1, int(value) - 1]
    far = [2**31 - 2, 2**40, 2**53, 2**62 - 1, 2**62, low, high]
    return [x for x in dict.fromkeys([*near, *far]) if low <= x <= high and x != value]


def with_field(blob: bytes, place: Place, value: Any) -> bytes:
    """Return the bytes with one field changed; the checksum is wrong then."""
    data = bytearray(blob)
    struct.pack_into(f"<{place.code}", data, place.offset, value)
    return bytes(data)


def value_at(blob: bytes, place: Place) -> Any:
    """Return the value of a field."""
    return struct.unpack_from(f"<{place.code}", blob, place.offset)[0]


def mended(blob: bytes) -> bytes:
    """Return the bytes with a checksum that is right."""
    return blob[:-4] + struct.pack("<I", crc32(blob[:-4]))


def try_out(blob: bytes, make: Make) -> bool:
    """Restore forged bytes and use the policy; return False if they were refused.

    Any error that is not a `HandfulError`, and any hang, comes out as it is.
    """
    with no_hang():
        try:
            policy = make.cls.from_bytes(blob, make.arms)
        except StateError:
            return False
        policy.reveal(mean_of)
        with suppress(HandfulError):
            use(policy)
    return True


def use(policy: Policy) -> None:
    """Do everything that a policy can do, 200 times."""
    rng = random.Random(3)
    lo, hi = policy._rescale or (0.0, 1.0)
    tickets = []
    for step in range(STEPS):
        reward = min(hi, max(lo, lo + (hi - lo) * reward_from(rng)))
        if step % 5 == 4:
            tickets.append(policy.decide().ticket)
            if step % 2:
                policy.reward(tickets.pop(rng.randrange(len(tickets))), reward)
        else:
            policy.update(policy.select(), reward)
        assert len(policy._state.arm) >= policy._state.held
        assert policy._state.held <= policy.memory
        if step % 50 == 20 and can_change(policy):
            policy.add_arms([f"arm of step {step}", f"other arm of step {step}"])
            policy.decide(allowed=lambda arm: not arm.endswith("1"))
            policy.remove_arms([policy.recommend(), f"arm of step {step}"])
        if step % 50 == 0:
            policy.recommend()
            policy.to_bytes()
            str(policy.stats())
    policy.recommend()
    policy.stats()._repr_html_()
    policy.clone().reset()
    policy.to_bytes()


@contextmanager
def no_hang() -> Iterator[None]:
    """Raise `TimeoutError` in a block that does not end, where the system has such an alarm."""

    def ring(number: int, frame: Any) -> None:
        raise TimeoutError("a forged policy does not come to an end")

    if not hasattr(signal, "setitimer"):
        yield
        return
    before = signal.signal(signal.SIGVTALRM, ring)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)


# The target of the fuzzers: bytes that say what to forge.


class Cursor:
    """Reads numbers off a string of bytes; after its end there are zeros."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def take(self, size: int) -> int:
        """Return the next bytes as a number."""
        part = self.data[self.at : self.at + size].ljust(size, b"\0")
        self.at += size
        return int.from_bytes(part, "little")


def forged(data: bytes) -> tuple[bytes, Make]:
    """Return the forged state that the bytes describe.

    The policy, how far it has got, a number of fields with new values, and whether the counters
    that must agree with the others are mended afterwards: most changes would be refused by them.
    """
    cursor = Cursor(data)
    name = NAMES[cursor.take(1) % len(NAMES)]
    steps = (0, 1, 47, 137, 400)[cursor.take(1) % 5]
    flags = cursor.take(1)
    make, blob, places, held = saved(name, steps, bool(flags & 1), bool(flags & 128))
    for _ in range(cursor.take(1) % 8):
        place = places[cursor.take(2) % len(places)]
        if place.name in ("fingerprint", "arms"):
            continue
        edges = edge_values(place.code, value_at(blob, place))
        choice = cursor.take(1)
        value = edges[choice % len(edges)]
        if choice >= 192:
            size = struct.calcsize(f"<{place.code}")
            raw = cursor.take(size).to_bytes(size, "little")
            (value,) = struct.unpack(f"<{place.code}", raw)
        blob = with_field(blob, place, value)
    if flags & 2:
        blob = reconciled(blob, places, held, flags)
    return mended(blob), make


def reconciled(blob: bytes, places: tuple[Place, ...], held: int, flags: int) -> bytes:
    """Return the bytes with the counters that every record has made to agree."""
    at = {place.name: place for place in places}
    pulls = [value_at(blob, at[f"pulls[{slot}]"]) for slot in range(held)]
    flying = [value_at(blob, at[f"in_flight[{slot}]"]) for slot in range(held)]
    total = max(0, sum(pulls))
    rewards = total if flags & 4 else max(total, 2**40)
    clock = (
        rewards + max(0, sum(flying)) + 1 if flags & 8 else max(rewards + sum(flying) + 1, 2**50)
    )
    wanted: dict[str, Any] = {"rewards": rewards, "clock": clock}
    if "done" in at and flags & 16:
        wanted["done"] = total
    if "round_done" in at and flags & 32:
        wanted["round_done"] = total
    for slot in range(held):
        wanted[f"born[{slot}]"] = 1
        if flags & 64:
            wanted[f"sums[{slot}]"] = max(0, pulls[slot]) / 2
    for name, value in wanted.items():
        if abs(value) < 2**63:
            blob = with_field(blob, at[name], value)
    return blob


def one_input(data: bytes) -> None:
    """Forge what the bytes describe and try it out."""
    try_out(*forged(data))
