"""Allocation rules (which arm in memory to pull) and recommendations (which one to vouch for).

One file a rule; `base.py` says what a rule is and how to write one's own.
"""

from __future__ import annotations

from handful.rules.base import BonusRule, DrawRule, IndexRule, LeaderRule, Rule, choose
from handful.rules.imed import IMED
from handful.rules.kl_ucb import KL_UCB
from handful.rules.moss import MOSS
from handful.rules.recommend import most_played
from handful.rules.thompson import THOMPSON
from handful.rules.ucb1 import UCB1

__all__ = [
    "IMED",
    "KL_UCB",
    "MOSS",
    "THOMPSON",
    "UCB1",
    "BonusRule",
    "DrawRule",
    "IndexRule",
    "LeaderRule",
    "Rule",
    "choose",
    "most_played",
]
