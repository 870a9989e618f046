"""Everything that you need to write a rule or a policy of your own, in one place.

    from handful.own import Float, Int, Setting, Slot, admit, arm_at, slot_of, uniform

docs/own-rule.md explains each name by example. All of it runs online and compiles.
"""

from __future__ import annotations

from handful.core.divergence import kl, kl_upper
from handful.core.rng import beta, normal, uniform
from handful.core.shuffle import arm_at, position_of
from handful.core.slots import admit, credit, most_pulled, slot_of
from handful.core.state import Count, Counts, Float, Floats, Int, Ints, Slot, Small, Smalls, State
from handful.errors import StateError
from handful.policies import PhasedPolicy, Policy, PooledPolicy
from handful.policies.hand import HandPolicy, HandState, RetainingPolicy
from handful.policies.settings import Setting, whole_setting
from handful.rules import Moment, Rule
from handful.rules.base import trial

__all__ = [
    "Count",
    "Counts",
    "Float",
    "Floats",
    "HandPolicy",
    "HandState",
    "Int",
    "Ints",
    "Moment",
    "PhasedPolicy",
    "Policy",
    "PooledPolicy",
    "RetainingPolicy",
    "Rule",
    "Setting",
    "Slot",
    "Small",
    "Smalls",
    "State",
    "StateError",
    "admit",
    "arm_at",
    "beta",
    "credit",
    "kl",
    "kl_upper",
    "most_pulled",
    "normal",
    "position_of",
    "slot_of",
    "trial",
    "uniform",
    "whole_setting",
]
