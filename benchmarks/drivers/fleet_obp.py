"""obp's Bernoulli Thompson sampling, one object for each member.

Importing the package brings PyTorch and much else that these policies do not use, so only the
modules of its context-free policies are loaded.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import distribution, version
from types import ModuleType
from typing import Any

from benchmarks.drivers.fleet_loop import K, report

for name, folder in (("obp", "obp"), ("obp.policy", "obp/policy")):
    package = ModuleType(name)
    package.__path__ = [str(distribution("obp").locate_file(folder))]
    sys.modules[name] = package
BernoulliTS = import_module("obp.policy.contextfree").BernoulliTS


def make(seed: int) -> Any:
    return BernoulliTS(n_actions=K, random_state=seed)


def pair(policy: Any, draw: Callable[[], float]) -> None:
    arm = int(policy.select_action()[0])
    policy.update_params(action=arm, reward=float(draw() < 0.5))


report(f"obp {version('obp')}, Thompson", make, pair)
