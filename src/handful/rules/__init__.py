"""Allocation rules: which arm in memory to pull. One file a rule.

`base.py` says what a rule is and how to write one.
"""

from __future__ import annotations

from handful.rules.base import Moment, Rule, chooser
from handful.rules.imed import IMED
from handful.rules.kl_ucb import KL_UCB
from handful.rules.kl_ucbpp import KL_UCBPP
from handful.rules.moss import MOSS
from handful.rules.moss_anytime import MOSS_ANYTIME
from handful.rules.thompson import THOMPSON
from handful.rules.ucb1 import UCB1
from handful.rules.ucb_v import UCB_V

__all__ = [
    "IMED",
    "KL_UCB",
    "KL_UCBPP",
    "MOSS",
    "MOSS_ANYTIME",
    "THOMPSON",
    "UCB1",
    "UCB_V",
    "Moment",
    "Rule",
    "chooser",
]
