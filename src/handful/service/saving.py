"""A bandit as bytes: everything except its labels, which the store has."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Self

import msgspec

import handful
from handful.core.arms import FiniteArms
from handful.core.posted import PostedArms
from handful.errors import StateError
from handful.policies import Policy
from handful.service.config import Config
from handful.service.counted import Counted
from handful.service.delays import Delays

FORMAT = 1
"""The version of a bandit's bytes."""
MOST_SHARED = 1000
"""Bandits with the same arms share one list of them if it has at most so many arms."""


class _Saved(msgspec.Struct, array_like=True):
    """A bandit as bytes."""

    format: int
    config: Config
    counted: Counted
    delays: list[int]
    explorer: tuple[int, int]
    arms: int
    """How many arms were ever added."""
    order: list[int] | None
    """The numbers of the arms in the order of the policy; None: all, in the order of adding."""
    barred: list[int]
    asked: int
    policy: bytes


class SavedBandit:
    """Saving and restoring a bandit."""

    config: Config
    counted: Counted
    delays: Delays
    explorer: list[int]
    """The generator of uniform choices."""
    added: int
    """How many arms were ever added."""
    numbers: dict[str, int]
    """The numbers of the arms by label."""
    barred: dict[str, int]
    """Arms of an open end that were removed."""
    _drawable: tuple[frozenset[str] | None, list[str]] | None
    policy: Policy

    def to_bytes(self) -> bytes:
        """Return the whole state but for labels, which the store has."""
        policy = self.policy
        asked = policy._arms.asked if isinstance(policy._arms, PostedArms) else 0
        in_order = self.config.open or len(self.numbers) == self.added
        order = None if in_order else [self.numbers[label] for label in _listed(policy)]
        return _encode(
            _Saved(
                FORMAT,
                self.config,
                self.counted,
                self.delays.counts,
                (self.explorer[0], self.explorer[1]),
                self.added,
                order,
                list(self.barred.values()),
                asked,
                policy.to_bytes(),
            )
        )

    @classmethod
    def from_bytes(cls, body: bytes, labels: Callable[[Iterable[int]], dict[int, str]]) -> Self:
        """Return the bandit that `to_bytes` saved; `labels` gives the labels of arms by number."""
        try:
            saved = _decode(body)
        except msgspec.MsgspecError as error:
            raise StateError(f"a snapshot cannot be read: {error}") from None
        if saved.format != FORMAT:
            raise StateError(f"a snapshot has the format {saved.format}, not {FORMAT}")
        bandit = cls.__new__(cls)
        bandit.config, bandit.counted = saved.config, saved.counted
        bandit.delays = Delays(saved.delays)
        bandit.explorer = list(saved.explorer)
        bandit.added = saved.arms
        numbers = range(saved.arms) if saved.order is None else saved.order
        found = labels(numbers)
        listed = [found[number] for number in numbers]
        bandit.numbers = {found[number]: number for number in sorted(numbers)}
        bandit.barred = {found[number]: number for number in saved.barred}
        bandit._drawable = None
        arms: Any
        if saved.config.open:
            arms = PostedArms.restored(listed[0], saved.arms, saved.asked, dict(enumerate(listed)))
        else:
            arms = _shared(tuple(listed)) if len(listed) <= MOST_SHARED else listed
        bandit.policy = handful.from_bytes(saved.policy, arms=arms)
        if saved.config.open:
            arms.release_but(bandit.policy._state.arm[: bandit.policy._state.held])
        return bandit


@lru_cache(maxsize=8)
def _shared(labels: tuple[str, ...]) -> FiniteArms:
    """Return arms with these labels: many bandits have the same ones, which never change."""
    return FiniteArms(labels)


def _listed(policy: Policy) -> list[str]:
    arms: Any = policy.arms
    return list(arms)


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Saved).decode
