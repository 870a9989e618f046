"""Traffic: rewards that come late or never, means that drift, and arms that come and go.

    delay=D             the reward of decision t is delivered right after decision t + D was made;
                        D = 0: at once, before the next decision
    delay=geometric:D   the delays are independent geometric numbers 0, 1, 2, ... with mean D
    delay=batch:N       rewards are delivered together, after every N-th decision
    lost=P              each reward is lost with this probability, independently of all others
    clicks_only=W       a reward of 0 is never reported, and policies wait for others W decisions
    drift=...           the means change, see `drift.py`
    churn=E             every E decisions an arm is replaced by a new one, see `churn.py`

Rewards that are due at the same moment are delivered in the order of their decisions. Rewards that
are not due when the horizon ends are never delivered.

`clicks_only` is for events of which only the positive ones are seen, such as clicks. A reward of 0
is never delivered. Policies are given `clicks_only=W`: what has not come after W to 2 W decisions
(`handful.core.flight`) counts as 0, and a click that comes later has expired.

The simulator compiles the functions of numbers as they stand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from handful.core.rng import Generator, positive_uniform, uniform
from handful.errors import SettingError, integer
from handful.instances.base import Instance
from handful.instances.churn import churn
from handful.instances.drift import LOGGED, NONE, Drift, drift, mean_range

FIXED, GEOMETRIC, BATCH = range(3)
PREFIXES = ("", "geometric:", "batch:")
FORMS = "a number of decisions such as 200, geometric:MEAN such as geometric:200, or batch:N"
MOST_DELAY = 10**6
"""The longest delay, mean delay, batch or wait for a click: rewards under way take memory."""
LOST = -1
"""In place of the time at which a lost reward arrives."""
MOST_LOG = 53.0 * math.log(2.0)
"""The highest -ln U of the uniform numbers U that geometric delays are made of."""


class Numbers(NamedTuple):
    """Traffic as functions of numbers take it."""

    kind: int
    delay: int
    """The fixed delay, or the size of a batch."""
    log_q: float
    """Of a geometric delay, ln(D / (D + 1)): each further decision has the probability q."""
    lost: float
    clicks_only: int
    """The window of policies that see no rewards of 0; 0 if they see them."""
    drift: int
    drift_number: float
    low: float
    """The lowest mean of an instance whose means drift."""
    high: float
    churn: int
    """The decisions between two arms that are replaced; 0 if arms stay."""


@dataclass(frozen=True)
class Traffic:
    """When rewards come, how many are lost, how means drift, when arms leave. See the module."""

    kind: int = FIXED
    delay: float = 0.0
    lost: float = 0.0
    clicks_only: int | None = None
    drift: Drift | None = None
    churn: int = 0

    @property
    def settings(self) -> dict[str, str | int | float]:
        """What was given, by name, in canonical form."""
        found: dict[str, str | int | float] = {}
        if self.delay:
            shown = repr(float(self.delay)).removesuffix(".0")
            found["delay"] = f"{PREFIXES[self.kind]}{shown}"
        if self.lost:
            found["lost"] = self.lost
        if self.clicks_only is not None:
            found["clicks_only"] = self.clicks_only
        if self.drift is not None and self.drift.kind != LOGGED:
            found["drift"] = self.drift.name
        if self.churn:
            found["churn"] = self.churn
        return found

    @property
    def delays_rewards(self) -> bool:
        """Whether rewards come late or never."""
        return bool(self.delay or self.lost) or self.clicks_only is not None

    @property
    def changes_means(self) -> bool:
        """Whether the means of the arms change during a run."""
        return self.drift is not None or self.churn > 0

    @property
    def name(self) -> str:
        """The canonical form on one line, such as `delay=geometric:200 lost=0.2`."""
        return in_words(self.settings)

    def numbers(self, world: Instance) -> Numbers:
        """Return what functions of numbers need of the traffic on an instance."""
        low, high = mean_range(world) if self.drift else (0.0, 0.0)
        return Numbers(
            self.kind,
            0 if self.kind == GEOMETRIC else int(self.delay),
            -math.log1p(1.0 / self.delay) if self.kind == GEOMETRIC else 0.0,
            self.lost,
            self.clicks_only or 0,
            self.drift.kind if self.drift else NONE,
            self.drift.number if self.drift else 0.0,
            low,
            high,
            self.churn,
        )

    def longest_delay(self, horizon: int) -> int:
        """Return the most decisions that a reward is late by, if it comes before the horizon."""
        longest = int(self.delay)
        if self.kind == GEOMETRIC:
            longest = math.ceil(MOST_LOG * (self.delay + 1.0))
        return min(horizon, longest)

    def shortened(self, horizon: int) -> Traffic:
        """Return the traffic with delays of at most a quarter of the horizon, for a short check.

        Arms come and go as often at least.
        """
        most = max(1, horizon // 4)
        return replace(
            self,
            delay=min(self.delay, most),
            clicks_only=None if self.clicks_only is None else min(self.clicks_only, most),
            churn=min(self.churn, most),
        )


def as_logged(flow: Traffic | None, world: Instance, most_arms: int) -> Traffic:
    """Return the traffic on data with a time: their means change as they did in the log."""
    flow = flow or Traffic()
    for name in ("drift", "churn"):
        if name in flow.settings:
            raise SettingError(
                f"{name}={flow.settings[name]}: the means of {world.name} change by themselves, as "
                "logged: leave one of the two out"
            )
    if world.n_arms > most_arms:
        raise SettingError(
            f"{world.name} has {world.n_arms} arms, and the means of at most {most_arms} can "
            "change: leave out time=, or arms with few rows (least=N)"
        )
    return replace(flow, drift=Drift(LOGGED, float(world.periods)))


def in_words(settings: dict[str, Any]) -> str:
    """Return the traffic among settings on one line; empty if there is none."""
    return " ".join(f"{key}={settings[key]}" for key in SETTINGS if key in settings)


SETTINGS = ("delay", "lost", "clicks_only", "drift", "churn")
"""The settings of a simulation that are about its traffic."""


def traffic(
    delay: str | float | None = None,
    lost: float | None = None,
    clicks_only: int | None = None,
    drift_spec: str | None = None,
    every: int | None = None,
) -> Traffic | None:
    """Return the traffic with these settings; None if every reward comes at once and means stay.

    Every so many decisions, `every`, an arm is replaced.
    """
    kind, number = _delay(delay)
    made = Traffic(
        kind,
        number,
        _lost(lost),
        _clicks_only(clicks_only, kind, number),
        None if drift_spec is None else drift(drift_spec),
        churn(every),
    )
    return made if made.settings else None


def _delay(delay: str | float | None) -> tuple[int, float]:
    """Return the kind and the number of a delay."""
    text = "0" if delay is None else str(delay).strip()
    kind = next((kind for kind in (GEOMETRIC, BATCH) if text.startswith(PREFIXES[kind])), FIXED)
    try:
        number = float(text.removeprefix(PREFIXES[kind]))
    except ValueError:
        number = math.nan
    if isinstance(delay, bool) or math.isnan(number):
        raise SettingError(f"delay={delay!r}: give {FORMS}")
    least = 1 if kind == BATCH else 0
    if not least <= number <= MOST_DELAY:
        raise SettingError(f"delay={delay}: give at least {least} and at most {MOST_DELAY}")
    if kind != GEOMETRIC and number != int(number):
        raise SettingError(f"delay={delay}: {number:g} decisions are not an integer")
    at_once = number == (1 if kind == BATCH else 0)
    return (FIXED, 0.0) if at_once else (kind, number)


def _lost(lost: float | None) -> float:
    """Return the probability that a reward is lost."""
    try:
        probability = 0.0 if lost is None else float(lost)
    except (TypeError, ValueError):
        probability = math.nan
    if isinstance(lost, bool) or not 0.0 <= probability < 1.0:
        raise SettingError(
            f"lost={lost!r}: give the probability that a reward is lost, at least 0 and below 1"
        )
    return probability


def _clicks_only(window: int | None, kind: int, delay: float) -> int | None:
    """Return the decisions for which policies wait for a click."""
    if window is None:
        return None
    number = integer("clicks_only", window)
    # Geometric delays have no bound: some clicks expire whatever the window.
    least = 1 if kind == GEOMETRIC else max(1, int(delay) - (kind == BATCH))
    if not least <= number <= MOST_DELAY:
        raise SettingError(
            f"clicks_only={window}: give the decisions after which a click that has not come "
            f"counts as none, at least {least} (clicks come with a delay) and at most {MOST_DELAY}"
        )
    return number


# Functions of numbers, which kernels compile.


def arrival(flow: Numbers, t: int, reward: float, rng: Generator) -> int:
    """Return after which decision the reward of decision t = 1, 2, ... comes; `LOST` if never.

    What is drawn does not depend on the reward, so that on a tape the rewards of decision t are
    as late for all policies.
    """
    lost = flow.lost > 0.0 and uniform(rng) < flow.lost
    delay = flow.delay
    if flow.kind == GEOMETRIC:
        delay = int(math.log(positive_uniform(rng)) / flow.log_q)
    elif flow.kind == BATCH:
        delay = (flow.delay - t % flow.delay) % flow.delay
    if lost or (flow.clicks_only > 0 and reward <= 0.0):
        return LOST
    return t + delay
