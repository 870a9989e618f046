"""The textbook loops do the same job as handful: their regret has the same mean."""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.resources import files

import numpy as np
import pytest
from numpy.typing import NDArray

import handful
from benchmarks import loops
from benchmarks.contest import means_of
from benchmarks.loops import Loop, NoCompilerError, build_c_loop, find_compiler, numba_loop

RUNS, T = 2000, 2000
Z = 4.5
"""A z-test with this bound has a false-alarm rate of 7e-6."""
CASES = [("ucb-m", 2, 1.0), ("ucb-m", 4, 1.0), ("ucb-m", 4, 0.2), ("ucb1", 10, 1.0)]


def in_c() -> Loop:
    return build_c_loop().run


# Without a C compiler, which `handful bench` does not need either, there is one loop to test.
LOOPS: dict[str, Callable[[], Loop]] = (
    {"C": in_c, "Numba": numba_loop} if find_compiler() else {"Numba": numba_loop}
)
each_loop = pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)


def of_loop(loop: Loop, memory: int, eta: float) -> NDArray[np.float64]:
    means = means_of("linear:10")
    return np.array([loop(means, memory, T, eta, seed) for seed in range(RUNS)])


def of_handful(policy: str, memory: int, eta: float) -> NDArray[np.float64]:
    bound = memory if policy == "ucb-m" else None
    result = handful.simulate(policy, "linear:10", memory=bound, horizon=T, runs=RUNS, eta=eta)
    return result.regret.per_run


def z(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    spread = math.sqrt((a.var(ddof=1) + b.var(ddof=1)) / RUNS)
    return abs(float(a.mean() - b.mean())) / spread


@each_loop
@pytest.mark.parametrize(("policy", "memory", "eta"), CASES)
def test_a_loop_has_the_regret_of_handful(
    loop: object, policy: str, memory: int, eta: float
) -> None:
    assert callable(loop)
    assert z(of_loop(loop(), memory, eta), of_handful(policy, memory, eta)) < Z


@each_loop
def test_a_wrong_constant_or_memory_would_be_seen(loop: object) -> None:
    assert callable(loop)
    right = of_handful("ucb-m", 4, 1.0)
    assert z(of_loop(loop(), 4, 0.7), right) > Z
    assert z(of_loop(loop(), 2, 1.0), right) > Z


@pytest.mark.parametrize("memory", [2, 3, 5, 7, 20])
def test_regret_is_one_that_so_many_pulls_can_have(memory: int) -> None:
    means = means_of("linear:7")
    for loop in (make() for make in LOOPS.values()):
        for horizon in (1, 6, 7, 8, 500):
            assert 0.0 <= loop(means, memory, horizon, 1.0, 3) <= 0.98 * horizon + 1e-9


def test_a_seed_gives_the_same_run_again() -> None:
    means = means_of("linear:10")
    for loop in (make() for make in LOOPS.values()):
        assert loop(means, 3, 500, 1.0, 5) == loop(means, 3, 500, 1.0, 5)
        assert loop(means, 3, 500, 1.0, 5) != loop(means, 3, 500, 1.0, 6)


def test_the_source_of_the_loop_in_c_is_part_of_the_package() -> None:
    assert files("benchmarks").joinpath("textbook.c").is_file()


def test_a_compiler_that_is_named_is_taken_and_one_that_fails_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CC", "false -x")
    assert find_compiler() == ["false", "-x"]
    with pytest.raises(NoCompilerError, match="false could not build the C loop"):
        build_c_loop()
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(NoCompilerError, match="there is no C compiler"):
        build_c_loop()
    monkeypatch.delenv("CC")
    monkeypatch.setattr(loops, "COMPILERS", ())
    assert find_compiler() == []
