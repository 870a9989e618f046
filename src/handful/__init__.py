"""handful: multi-armed bandits that store statistics of only a handful of arms.

    policy = handful.UCBM(arms=creatives, memory=8)
    arm = policy.select()
    policy.update(arm, reward)

    result = handful.simulate("ucb-m", "linear:100", memory=2, horizon=10**6, runs=100)

Importing this package and using policies online needs no third-party package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from handful.core.arms import FiniteArms
from handful.core.posted import PostedArms
from handful.core.reservoir import Reservoir
from handful.core.state import State
from handful.core.tickets import Decision, Receipt
from handful.errors import HandfulError, MissingExtraError
from handful.policies import (
    MOSSM,
    POLICIES,
    QMOSSM,
    QTSM,
    QUCBM,
    TSM,
    UCBM,
    PhasedPolicy,
    Policy,
    PooledPolicy,
    Proposed,
    Race,
    from_bytes,
    policy,
)
from handful.rules import Moment, Rule

if TYPE_CHECKING:
    from handful.evaluation import Evaluation, Log, Replay, evaluate, read_log, replay
    from handful.fleet import Fleet
    from handful.fleet.shards import ShardedFleet
    from handful.instances import from_data
    from handful.policies.stats import ArmStats
    from handful.simulation import Comparison, Result, compare, simulate
    from handful.sweeps import Sweep, read_sweep, sweep

__version__ = "1.0.0rc1"

__all__ = [
    "MOSSM",
    "POLICIES",
    "QMOSSM",
    "QTSM",
    "QUCBM",
    "TSM",
    "UCBM",
    "ArmStats",
    "Comparison",
    "Decision",
    "Evaluation",
    "FiniteArms",
    "Fleet",
    "HandfulError",
    "Log",
    "Moment",
    "PhasedPolicy",
    "Policy",
    "PooledPolicy",
    "PostedArms",
    "Proposed",
    "Race",
    "Receipt",
    "Replay",
    "Reservoir",
    "Result",
    "Rule",
    "ShardedFleet",
    "State",
    "Sweep",
    "__version__",
    "compare",
    "evaluate",
    "from_bytes",
    "from_data",
    "policy",
    "read_log",
    "read_sweep",
    "replay",
    "simulate",
    "sweep",
]

_LATER = {
    "simulation": ("the simulator", ("Comparison", "Result", "compare", "simulate")),
    "sweeps": ("sweeps", ("Sweep", "read_sweep", "sweep")),
    "evaluation": (
        "evaluation on logs",
        ("Evaluation", "Log", "Replay", "evaluate", "read_log", "replay"),
    ),
    "instances": ("instances from data", ("from_data",)),
    "policies.stats": ("statistics", ("ArmStats",)),
    "fleet": ("fleets", ("Fleet",)),
    "fleet.shards": ("fleets in shards", ("ShardedFleet",)),
}


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    # These packages are loaded when first asked for: they need others that online use does not.
    for package, (feature, names) in _LATER.items():
        if name in names:
            try:
                return getattr(import_module(f"handful.{package}"), name)
            except ImportError as error:
                raise MissingExtraError(feature, str(error.name), "sim") from None
    raise AttributeError(f"module 'handful' has no attribute {name!r}")
