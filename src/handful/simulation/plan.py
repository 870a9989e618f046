"""A plan: cells (policy x memory x instance x horizon), validated before any work.

`spec -> Cell -> engine -> Result`. A cell has a stable id. The id, the seed and the number of a run
seed its generators (`handful.simulation.seeds`), so any range of runs can be run alone.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from handful.errors import SettingError, UnknownNameError, integer
from handful.instances import Instance, instance
from handful.instances.churn import check_churn
from handful.instances.traffic import Traffic, as_logged, traffic
from handful.policies import POLICIES, parse_settings, policy_class
from handful.policies.base import Policy
from handful.policies.phased import PhasedPolicy
from handful.policies.settings import check_settings

ENGINES = ("auto", "skip", "compiled", "python")
MAX_HORIZON = 2**53
MAX_RUNS = 10**9
FEW_ARMS = 4096
"""Up to this many arms, pulls are counted by arm, and means can drift and arms come and go."""
_CLASS = re.compile(r"((?:[^\W\d]\w*\.)*[^\W\d]\w*):([^\W\d]\w*)(?::(.*))?", re.DOTALL)
"""module:Class, with settings after a second colon."""


@dataclass(frozen=True)
class Cell:
    """One policy, memory, instance and horizon, run `runs` times, from run `first_run` on."""

    policy: type[Policy]
    memory: int
    instance: Instance
    horizon: int
    runs: int
    seed: int
    settings: Mapping[str, float] = field(default_factory=dict)
    tape: bool = False
    record: bool = False
    first_run: int = 0
    traffic: Traffic | None = None
    """How rewards come, means drift and arms come and go; None: at once, and not at all."""
    known_as: str = ""
    """The id of the cell that the user asked for, if another policy runs in its place."""

    @property
    def id(self) -> str:
        """Identify the cell among others; horizon, runs and seed are not part of it."""
        return self.known_as or self._named(self.instance.key)

    @property
    def shown(self) -> str:
        """The id, or what is easier to read: with the name of data in place of their digest."""
        return self.id if self.instance.origin is None else self._named(self.instance.name)

    def _named(self, world: str) -> str:
        values = check_settings(self.policy, self.settings)
        given = "".join(f" {key}={value!r}" for key, value in values.items() if value == value)
        return f"{self.policy.name}{given} M={self.memory} {self._in_traffic(world)}"

    @property
    def world(self) -> str:
        """The instance's name, and the traffic if there is any."""
        return self._in_traffic(self.instance.name)

    def _in_traffic(self, world: str) -> str:
        return " ".join(part for part in (world, self.traffic and self.traffic.name) if part)

    @property
    def run_numbers(self) -> range:
        """The numbers of the runs; the seeds of a run are derived from its number."""
        return range(self.first_run, self.first_run + self.runs)

    def how_run(self) -> dict[str, int | float | str]:
        """Return how the cell is run, as the settings of its result have it."""
        return {
            "horizon": self.horizon,
            "runs": self.runs,
            "first_run": self.first_run,
            "seed": self.seed,
            "tape": self.tape,
            "record": self.record,
            **(self.traffic.settings if self.traffic else {}),
        }

    @property
    def label(self) -> str:
        """The policy's title, with the settings that were given."""
        given = ", ".join(f"{key}={value:g}" for key, value in self.settings.items())
        return f"{self.policy.title} ({given})" if given else self.policy.title

    def policy_settings(self) -> dict[str, Any]:
        """Return settings for the policy's constructor, with the horizon if it takes one."""
        settings: dict[str, Any] = dict(self.settings)
        if "horizon" in self.policy.settings:
            settings.setdefault("horizon", self.horizon)
        return settings

    @property
    def eta(self) -> float:
        """The exploration parameter; 1 for a policy that has none."""
        return check_settings(self.policy, self.settings).get("eta", 1.0)

    @property
    def given_horizon(self) -> int:
        """The horizon that the policy is given; 0 if it is given none."""
        return int(self.policy_settings().get("horizon", 0))


def cell(
    policy: str | type[Policy],
    instance_spec: str | Instance | Sequence[float] | Mapping[Any, float],
    memory: int | None,
    horizon: float,
    runs: int | range = 100,
    seed: int = 0,
    tape: bool = False,
    record: bool = False,
    settings: Mapping[str, float | None] | None = None,
    *,
    delay: str | float | None = None,
    lost: float | None = None,
    drift: str | None = None,
    clicks_only: int | None = None,
    churn: int | None = None,
) -> Cell:
    """Make a validated cell.

    Settings in the policy's name, such as `ucb-m:eta=0.2`, take precedence over `settings`. `runs`
    is how many runs there are, or the range of their numbers. For `delay`, `lost`, `drift`,
    `clicks_only` and `churn` see `simulate`.
    """
    numbers = run_range(runs)
    cls, inline = parse_policy(policy)
    given = {**{k: v for k, v in (settings or {}).items() if v is not None}, **inline}
    for key in ("window", "default", "clicks_only"):
        if key in given and key not in cls.settings:
            raise SettingError(
                f"{key}={given[key]:g} of {cls.name}: how rewards come is the same for all "
                "policies of a simulation: give clicks_only=W, or --clicks-only W, beside them"
            )
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
    busy = traffic(delay, lost, clicks_only, drift, churn)
    pulls = whole("horizon", horizon, MAX_HORIZON)
    if world.periods > 1:
        busy = as_logged(busy, world, FEW_ARMS)
    elif busy is not None and busy.drift is not None:
        busy.drift.check(world, FEW_ARMS, pulls)
    if busy is not None and busy.churn:
        check_churn(busy.churn, world, FEW_ARMS, pulls)
        if cls.own_arms is not None:
            raise SettingError(
                f"churn={busy.churn}: {cls.name} is for exactly {cls.own_arms} arms that stay: "
                "take a policy such as race or ucb-m"
            )
    return Cell(
        policy=cls,
        memory=cls.memory_for(memory, world.n_arms),
        instance=world,
        horizon=pulls,
        runs=len(numbers),
        first_run=numbers.start,
        seed=integer("seed", seed),
        settings={key: values[key] for key in given},
        tape=bool(tape),
        record=bool(record),
        traffic=busy,
    )


def parse_policy(policy: str | type[Policy]) -> tuple[type[Policy], dict[str, float]]:
    """Return a policy class and the settings written into its name."""
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
    own = _CLASS.fullmatch(str(policy))
    try:
        cls = policy_class(name)
        if own is None:
            return cls, parse_settings(text, str(policy))
        unknown = f"{text!r} is not a setting of {cls.name} of the form setting=number"
    except UnknownNameError as error:
        if own is None:
            raise
        unknown = str(error)
    cls = parse_policy(_imported(own[1], own[2], unknown))[0]
    return cls, parse_settings(own[3] or "", str(policy))


def _imported(module: str, name: str, unknown: str) -> type[Policy]:
    """Import a policy class of the user's own, given as module:Class.

    `unknown` says why the text is not the name of a policy of handful.
    """
    try:
        imported = import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise SettingError(f"policy {module}:{name}: importing {module}: {error}") from error
        raise SettingError(
            f"policy {module}:{name}: no module {module!r} can be imported (give module:Class; on "
            f"the command line the current directory is searched, too), and {unknown}"
        ) from None
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise SettingError(
            f"policy {module}:{name}: importing {module} failed: {type(error).__name__}: {error} "
            f"({where.filename}, line {where.lineno})"
        ) from error
    found = getattr(imported, name, None)
    if found is None:
        raise SettingError(f"policy {module}:{name}: module {module} has no {name}")
    if not (isinstance(found, type) and issubclass(found, Policy)):
        raise SettingError(f"policy {module}:{name} is not a subclass of handful.Policy")
    return found


def run_range(runs: int | range) -> range:
    """Return the numbers of runs, given how many there are or as a range."""
    if not isinstance(runs, range):
        return range(whole("runs", runs, MAX_RUNS))
    if runs.step != 1 or not 0 <= runs.start < runs.stop <= MAX_RUNS:
        raise SettingError(
            f"runs={runs!r}: give a range of step 1 that is not empty and lies from 0 to {MAX_RUNS}"
        )
    return runs


def whole(name: str, value: float, most: int) -> int:
    """Return an integer from 1 to `most`; 1e6 counts as one."""
    try:
        number = int(value)
    except (TypeError, ValueError, OverflowError):
        raise SettingError(f"{name}={value!r} is not an integer") from None
    if isinstance(value, bool) or number != value:
        raise SettingError(f"{name}={value!r} is not an integer")
    if not 1 <= number <= most:
        raise SettingError(f"{name}={value!r}: give at least 1 and at most {most}")
    return number


def check_engine(engine: str) -> str:
    """Return the engine's name; raise an error that names the known ones."""
    if engine not in ENGINES:
        raise UnknownNameError("engine", str(engine), ENGINES)
    return engine


def log_grid(horizon: int, per_decade: int = 10) -> list[int]:
    """Return times at which regret is recorded: log-spaced integers from 1 to the horizon."""
    points = {horizon}
    k = 0
    while (t := round(10 ** (k / per_decade))) < horizon:
        points.add(t)
        k += 1
    return sorted(points)
