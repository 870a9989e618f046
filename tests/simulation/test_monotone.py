"""Few arms are looked at, and those that are left out could not have been pulled."""

from __future__ import annotations

from functools import cache

import pytest

from handful.compiling import jit
from handful.simulation import compiled, plan
from handful.simulation.kernels import monotone, phased, segments
from handful.simulation.reference import simulate_run
from tests.simulation.agree import assert_same, first

SETTINGS = [
    ("klucb-m", "linear:30", 10, 6000),
    ("klucb-m", "bernoulli:" + ",".join(["0.5"] * 12), 12, 3000),
    ("klucbpp-m", "power:30:0.3", 6, 6000),
    ("kl-ucb", "linear:30", None, 3000),
    ("kl-ucbpp", "linear:9", None, 3000),
    ("moss-anytime", "linear:40", None, 3000),
    ("ucb-v", "linear:40", None, 3000),
    ("ucbv-m", "linear:30", 5, 6000),
    ("qklucb-m", "I4", 8, 6000),
]


def assert_choices_are_the_policys(policy: str, world: str, memory: int | None, T: int) -> None:
    cell = plan.cell(policy, world, memory, T, runs=1, seed=5)
    grid = list(range(T // 60, T + 1, T // 60))
    assert_same(first(compiled.simulate_runs(cell, grid), 1), simulate_run(cell, 0, grid))


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s[0]}-{s[1][:12]}-{s[2]}")
def test_the_choices_are_those_of_a_look_at_every_arm(
    setting: tuple[str, str, int | None, int],
) -> None:
    assert_choices_are_the_policys(*setting)


def test_caps_that_are_too_low_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    family = jit.family
    monkeypatch.setattr(monotone, "DOUBT", -0.05)
    monkeypatch.setattr(segments, "family", lambda *given: f"own_low_{family(*given)}")
    monkeypatch.setattr(phased, "phased_kernel", cache(phased.phased_kernel.__wrapped__))
    with pytest.raises(AssertionError):
        assert_choices_are_the_policys(*SETTINGS[0])
