"""A plan: cells (policy x memory x instance x horizon), validated before any work.

`spec -> Cell -> engine -> Result`. A cell has a stable id, which with the seed decides every random
number in it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from handful.errors import SettingError, UnknownNameError, whole_number
from handful.instances import Instance, instance
from handful.policies import POLICIES, policy_class
from handful.policies.base import Policy
from handful.policies.phased import PhasedPolicy
from handful.policies.settings import check_settings

ENGINES = ("auto", "skip", "compiled", "python")
MAX_HORIZON = 2**53
FEW_ARMS = 4096
"""Up to this many arms, pulls by arm are kept."""


@dataclass(frozen=True)
class Cell:
    """One policy, memory, instance and horizon, run `runs` times."""

    policy: type[Policy]
    memory: int
    instance: Instance
    horizon: int
    runs: int
    seed: int
    settings: Mapping[str, float] = field(default_factory=dict)
    tape: bool = False
    record: bool = False
    known_as: str = ""
    """The id of the cell that this one runs in place of."""

    @property
    def id(self) -> str:
        """What tells this cell from others, horizon, runs and seed aside."""
        if self.known_as:
            return self.known_as
        values = check_settings(self.policy, self.settings)
        told = "".join(f" {key}={value!r}" for key, value in values.items() if value == value)
        return f"{self.policy.name}{told} M={self.memory} {self.instance.name}"

    @property
    def label(self) -> str:
        """The policy as people write it, with the settings that were given."""
        given = ", ".join(f"{key}={value:g}" for key, value in self.settings.items())
        return f"{self.policy.title} ({given})" if given else self.policy.title

    def policy_settings(self) -> dict[str, Any]:
        """What the policy is made with; one that can use the horizon is told it."""
        settings: dict[str, Any] = dict(self.settings)
        if "horizon" in self.policy.settings:
            settings.setdefault("horizon", self.horizon)
        return settings

    @property
    def eta(self) -> float:
        """The exploration parameter; 1 for a policy without."""
        return check_settings(self.policy, self.settings).get("eta", 1.0)

    @property
    def told_horizon(self) -> int:
        """What the policy is told of the horizon; 0: nothing."""
        return int(self.policy_settings().get("horizon", 0))


def cell(
    policy: str | type[Policy],
    instance_spec: str | Instance | Sequence[float],
    memory: int | None,
    horizon: float,
    runs: int = 100,
    seed: int = 0,
    tape: bool = False,
    record: bool = False,
    settings: Mapping[str, float | None] | None = None,
) -> Cell:
    """A validated cell. The policy may carry settings in its name, `ucb-m:eta=0.2`, which win."""
    cls, inline = parse_policy(policy)
    given = {**{k: v for k, v in (settings or {}).items() if v is not None}, **inline}
    values = check_settings(cls, given)
    for listing in ("tolist", "to_list"):  # an array of NumPy's, a column of pandas' or polars'
        if hasattr(instance_spec, listing):
            instance_spec = getattr(instance_spec, listing)()
    world = instance(instance_spec)
    if cls.endless and not (world.endless or cls.any_arms):
        raise SettingError(
            f"{cls.name} is for endless arms, and {world.name} is a finite set: take an instance "
            "such as I1 or beta:1:1:1, or a policy such as ucb-m"
        )
    if world.endless and not (cls.endless or cls.any_arms):
        raise SettingError(
            f"{cls.name} is for finite sets of arms, and {world.name} is endless: take an instance "
            "such as linear:100, or a policy such as qucb-m"
        )
    return Cell(
        policy=cls,
        memory=cls.memory_for(memory, world.n_arms),
        instance=world,
        horizon=whole("horizon", horizon, MAX_HORIZON),
        runs=whole("runs", runs, 10**9),
        seed=whole_number("seed", seed),
        settings={key: values[key] for key in given},
        tape=bool(tape),
        record=bool(record),
    )


def parse_policy(policy: str | type[Policy]) -> tuple[type[Policy], dict[str, float]]:
    """A policy class and the settings written into its name."""
    if isinstance(policy, type):
        if not issubclass(policy, Policy):
            raise SettingError(f"policy={policy!r} is neither a name nor a subclass of Policy")
        if not hasattr(policy, "name"):
            raise SettingError(f"{policy.__name__} has no name: set name = '...' in the class")
        if issubclass(policy, PhasedPolicy) and not hasattr(policy, "rule"):
            raise SettingError(f"{policy.__name__} names no allocation rule: set rule = ...")
        if POLICIES.get(policy.name, policy) is not policy:
            raise SettingError(
                f"the name {policy.name!r} is that of a policy of handful: give {policy.__name__} "
                "another"
            )
        return policy, {}
    if isinstance(policy, Policy):
        raise SettingError(f"give the class {type(policy).__name__} or its name, not a policy")
    name, _, text = str(policy).partition(":")
    settings: dict[str, float] = {}
    for pair in filter(None, text.split(",")):
        key, _, value = pair.partition("=")
        try:
            settings[key.strip()] = float(value)
        except ValueError:
            raise SettingError(
                f"policy {policy!r}: {pair!r} is not of the form setting=number"
            ) from None
    return policy_class(name), settings


def whole(name: str, value: float, most: int) -> int:
    """A whole number from 1 to `most`; 1e6 counts as whole."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise SettingError(f"{name}={value!r} is not a whole number") from None
    if isinstance(value, bool) or number != value:
        raise SettingError(f"{name}={value!r} is not a whole number")
    if not 1 <= number <= most:
        raise SettingError(f"{name}={value!r}: give at least 1 and at most {most}")
    return number


def check_engine(engine: str) -> str:
    """The engine's name, or an error that names the known ones."""
    if engine not in ENGINES:
        raise UnknownNameError("engine", str(engine), ENGINES)
    return engine


def log_grid(horizon: int, per_decade: int = 10) -> list[int]:
    """Times at which regret is recorded: log-spaced whole numbers from 1 to the horizon."""
    points = {horizon}
    k = 0
    while (t := round(10 ** (k / per_decade))) < horizon:
        points.add(t)
        k += 1
    return sorted(points)
