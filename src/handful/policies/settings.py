"""Settings: the numbers that a policy takes besides arms and memory, and their checks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

from handful.errors import RewardError, SettingError, UnknownNameError, integer

if TYPE_CHECKING:
    from handful.policies.definition import Definition

UNIT = (0.0, 1.0)
"""Where rewards lie unless `rescale` says otherwise."""
MOST_WINDOW = 2**53


class Setting(NamedTuple):
    """A number that a policy can be given beside arms and memory."""

    default: float
    summary: str
    check: Callable[[float], bool]
    allowed: str
    flag: bool = False
    """Whether True and False are allowed, as 1 and 0."""


def whole_setting(default: float, summary: str, symbol: str) -> Setting:
    """Return a setting that is an integer from 1 on."""
    return Setting(
        default, summary, lambda x: 1 <= x <= 2**53 and x == int(x), f"an integer {symbol} >= 1"
    )


PLANNED = whole_setting(math.nan, "total pulls", "T")
"""The horizon, for policies that plan for it."""


def check_settings(policy: type[Definition], given: Mapping[str, float | None]) -> dict[str, float]:
    """Return the value of each setting of a policy, defaults filled in; NaN means unset."""
    for key in given:
        if key not in policy.settings:
            raise UnknownNameError(f"{policy.name} setting", key, policy.settings)
    values: dict[str, float] = {}
    for key, setting in policy.settings.items():
        value = given.get(key)
        if value is None:
            values[key] = setting.default
            continue
        if (isinstance(value, bool) and not setting.flag) or not isinstance(value, Real):
            raise SettingError(f"{key}={value!r} is not a number")
        try:
            number = float(value)
        except OverflowError:
            number = math.inf
        if not math.isfinite(number) or not setting.check(number):
            raise SettingError(f"{key}={value!r} is not allowed: give {setting.allowed}")
        values[key] = number
    return values


class Rewards(NamedTuple):
    """How rewards come: their range, how long they are waited for, and what stands in for them."""

    rescale: tuple[float, float] | None = None
    """(lo, hi) if rewards lie in [lo, hi] and not in [0, 1]."""
    window: int = 0
    """After how many decisions a reward is written off; 0: by the delays seen."""
    default: float = math.nan
    """The reward in [0, 1] of a decision that is written off; NaN: none, it counts as lost."""


def check_rewards(
    rescale: Any, window: Any = None, default: Any = None, clicks_only: Any = None
) -> Rewards:
    """Return how rewards come, or raise an error that says what is wrong with it."""
    span = check_rescale(rescale)
    name = "window"
    if clicks_only is not None:
        name = "clicks_only"
        if window is not None or default is not None:
            raise SettingError(
                f"clicks_only={clicks_only!r} says how long a click is waited for, and that a "
                "decision without one has the reward 0: leave window and default out"
            )
        lo, hi = span or UNIT
        if not lo <= 0.0 <= hi:
            raise SettingError(
                f"clicks_only={clicks_only!r}: a decision without a click has the reward 0, which "
                f"is not in rescale=({lo:g}, {hi:g}): give window= and default="
            )
        window, default = clicks_only, 0.0
    turns = 0
    if window is not None:
        turns = integer(name, window)
        if not 1 <= turns <= MOST_WINDOW:
            raise SettingError(
                f"{name}={window!r}: give from 1 to {MOST_WINDOW} decisions, after which a reward "
                "that has not come is written off"
            )
    stands_in = math.nan
    if default is not None:
        if turns == 0:
            raise SettingError(
                f"default={default!r} stands in for rewards that do not come in time: give "
                "window=..., the number of decisions to wait"
            )
        stands_in = unit_reward(default, span, "default")
    return Rewards(span, turns, stands_in)


def unit_reward(reward: Any, rescale: tuple[float, float] | None, name: str = "reward") -> float:
    """Return a reward as a number in [0, 1], or raise an error that says what is wrong with it."""
    lo, hi = rescale or UNIT
    if isinstance(reward, str | bytes | bytearray | memoryview):
        raise RewardError(f"{name}={reward!r} is text or bytes: give a number")
    try:
        value = float(reward)
    except (TypeError, ValueError, OverflowError):
        raise RewardError(f"{name}={reward!r} is not a finite number") from None
    if not lo <= value <= hi:
        hint = "" if rescale else "; rescale=(lo, hi) maps other ranges"
        raise RewardError(f"{name}={reward!r} is not in [{lo:g}, {hi:g}]{hint}")
    return (value - lo) / (hi - lo) if rescale else value


def check_rescale(rescale: tuple[float, float] | None) -> tuple[float, float] | None:
    """Return the range of rewards as (lo, hi); None means [0, 1]."""
    if rescale is None:
        return None
    try:
        lo, hi = (float(end) for end in rescale if not isinstance(end, str | bytes))
    except (TypeError, ValueError, OverflowError):
        raise SettingError(f"rescale={rescale!r} is not a pair of numbers (lo, hi)") from None
    if not (math.isfinite(lo) and math.isfinite(hi) and lo < hi and math.isfinite(hi - lo)):
        raise SettingError(f"rescale={rescale!r}: give two finite numbers with lo < hi")
    return lo, hi


def check_memory(memory: Any) -> int:
    """Return the memory bound M that the user gave; raise an error if it cannot be used."""
    if memory is None:
        raise SettingError("memory is missing: give memory=M, how many arms may have statistics")
    capacity = integer("memory", memory)
    if capacity < 2:
        raise SettingError(
            f"memory={memory} cannot compare arms: give memory >= 2 "
            "(the incumbent and at least one challenger)"
        )
    if capacity >= 2**31:
        raise SettingError(f"memory={memory} is too large: give memory < 2^31")
    return capacity
