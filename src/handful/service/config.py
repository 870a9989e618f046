"""The configuration of a bandit, and which parts of it may change while it runs."""

from __future__ import annotations

import math

import msgspec

from handful.errors import SettingError
from handful.policies.settings import unit_reward


class Config(msgspec.Struct, forbid_unknown_fields=True, kw_only=True, omit_defaults=True):
    """What a bandit is made from."""

    name: str
    policy: str
    memory: int | None = None
    settings: dict[str, float] = {}
    seed: int
    window: float | None = None
    """Seconds after which a reward that has not come is written off."""
    default: float | None = None
    """The reward of a decision that is written off; None: it counts as lost."""
    explore: float = 0.0
    """The share of decisions for arms drawn uniformly."""
    rescale: tuple[float, float] | None = None
    open: bool = False
    """Whether arms are posted as they are born, and drawn when the policy wants one."""


class Change(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Settings that may change while a bandit runs."""

    window: float | None
    default: float | None
    explore: float


def check_change(
    window: float | None,
    default: float | None,
    explore: float,
    rescale: tuple[float, float] | None,
) -> None:
    """Refuse settings of a bandit that cannot work."""
    if window is not None and not 0.0 < window <= 10**9:
        raise SettingError(f"window={window!r}: give more than 0 and at most 10^9 seconds")
    if default is not None:
        if window is None:
            raise SettingError(
                f"default={default!r} stands in for rewards that do not come in time: give window "
                "as well, the number of seconds to wait"
            )
        unit_reward(default, rescale, "default")
    if not (math.isfinite(explore) and 0.0 <= explore <= 1.0):
        raise SettingError(f"explore={explore!r}: give a probability from 0 to 1")
