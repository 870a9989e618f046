"""Checks that every policy must pass, for policies of your own too.

    handful.testing.check_policy(MyPolicy)

runs them all and raises `ContractError` at the first that fails. With pytest, one test for each:

    @pytest.mark.parametrize("check", handful.testing.checks(MyPolicy))
    def test_contract(check):
        check()

`policies.py` and `traffic.py` have the checks, each a plain function `check_...(make)` of a factory
(`Make`). Nothing here needs pytest, and only the comparison of engines needs the simulator.
`fleets.py` compares fleets with single policies (`handful.testing.fleets.check_fleet`), and needs
the simulator, too.
"""

from __future__ import annotations

from handful.testing.contract import Check
from handful.testing.ledger import Ledger
from handful.testing.make import Make
from handful.testing.policies import all_checks, check_policy, checks

__all__ = ["Check", "Ledger", "Make", "all_checks", "check_policy", "checks"]
