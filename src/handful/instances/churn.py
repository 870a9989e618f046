"""Arms that come and go: every E decisions an arm, drawn at random, is replaced by a new one.

    arm     each of the K arms is the one to leave with the same probability
    mean    the new arm has a mean that the instance starts with: that of an arm drawn at random

The number of arms stays the same. A simulated arm is a **place**: the new arm has the place of the
one that left, so rewards on a tape and pulls by arm are those of places. The simulator compiles
the function of numbers as it stands.
"""

from __future__ import annotations

from handful.core.rng import Generator, uniform
from handful.errors import SettingError, integer
from handful.instances.base import Instance
from handful.instances.drift import refuse_rows


def churn(every: int | None) -> int:
    """Return the decisions between two changes; 0 if arms stay."""
    if every is None:
        return 0
    number = integer("churn", every)
    if number < 1:
        raise SettingError(f"churn={every}: give the decisions between two changes, at least 1")
    return number


def check_churn(every: int, world: Instance, most_arms: int, horizon: int) -> None:
    """Refuse arms that cannot come and go on an instance."""
    given = f"churn={every}"
    refuse_rows(given, world)
    if world.endless:
        raise SettingError(
            f"{given}: {world.name} has endless arms, which do not come and go: give a finite set"
        )
    if world.n_arms > most_arms:
        raise SettingError(
            f"{given}: {world.name} has {world.n_arms} arms, and at most {most_arms} can come and "
            "go in a simulation"
        )
    if world.n_arms < 2:
        raise SettingError(f"{given}: {world.name} has one arm: give at least 2")
    if every >= horizon:
        raise SettingError(
            f"{given}: there are only {horizon} decisions, so that no arm would ever leave: give "
            "fewer than that"
        )


def newcomer(n_arms: int, rng: Generator) -> tuple[int, int]:
    """Return the place whose arm leaves, and the arm of the instance whose mean the new one has."""
    place = int(uniform(rng) * n_arms)
    return place, int(uniform(rng) * n_arms)
