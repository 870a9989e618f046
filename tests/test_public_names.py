"""Public modules beside `handful` itself keep their names: docs/compatibility.md promises it."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

FIRST = {
    "handful.own": (
        "Count Counts Float Floats HandPolicy HandState Int Ints Moment PhasedPolicy Policy "
        "PooledPolicy RetainingPolicy Rule Setting Slot Small Smalls State StateError admit arm_at "
        "beta credit kl kl_upper most_pulled normal position_of slot_of trial uniform whole_setting"
    ),
    "handful.testing": "Check Ledger Make all_checks check_policy checks",
    "handful.client": (
        "FALLBACK_ID ArmInMemory AsyncClient Bandit Client Decision Limits Outcome OwnKey Summary"
    ),
    "handful.adapters.estimator": "BanditEstimator",
    "handful.adapters.gymnasium": "ENV_ID BanditEnv",
    "handful.adapters.openfeature": "HandfulProvider",
    "handful.adapters.optuna": "HandfulSampler",
    "handful.adapters.river": "HandfulPolicy",
    "handful.adapters.streaming": "Add Decide Drop Event Remove Result Reward Step event_of",
}
"""The names of the first candidate, 1.0.0rc1. Names are added in `__all__`, not here."""
PAGE = Path(__file__).parent.parent / "docs" / "compatibility.md"


@pytest.mark.parametrize("module", FIRST)
def test_no_public_name_is_lost(module: str) -> None:
    public = import_module(module)
    assert sorted(set(FIRST[module].split()) - set(public.__all__)) == []
    assert all(hasattr(public, name) for name in public.__all__)


@pytest.mark.parametrize("module", ["handful", *FIRST])
def test_the_page_says_that_it_is_public(module: str) -> None:
    name = "handful.__all__" if module == "handful" else module
    if module.startswith("handful.adapters."):
        name = "handful.adapters"
    assert f"`{name}`" in PAGE.read_text(encoding="utf-8")
