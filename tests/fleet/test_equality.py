"""A member of a fleet is the single policy with its seed, whatever happens to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.fleet.lives import Life

WAYS: tuple[dict[str, Any], ...] = (
    {}, {"window": 7}, {"clicks_only": 9}, {"rescale": (-1.0, 3.0)}, {"counters": 32},
)  # fmt: skip


@pytest.mark.parametrize("name", ["race", "ucb-m", "ts-m"])
def test_members_live_as_single_policies_do(name: str, tmp_path: Path) -> None:
    for seed in range(6):
        way = {} if seed < 4 else {"window": 7}
        Life(name, seed, tmp_path / f"{seed}", memory=2 + seed % 3, **way).live(60)


@pytest.mark.parametrize("name", ["race", "ucb-m", "ts-m", "imed-m", "moss-m"])
def test_long_lives(name: str, tmp_path: Path) -> None:
    for seed in range(200):
        way = WAYS[seed % len(WAYS)]
        Life(name, seed, tmp_path / f"{seed}", memory=2 + seed % 4, **way).live(150)
