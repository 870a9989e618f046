from __future__ import annotations

import math
import random
from fractions import Fraction
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.errors import SettingError, UnknownNameError
from handful.instances import Instance, distributions, instance

HUGE = (10**12, 2**53, 2**53 + 3, 2**61 + 12345, 2**62 - 1)
thorough = settings(derandomize=True, deadline=None, max_examples=200)


def test_an_instance_is_taken_as_it_is() -> None:
    world = instance("linear:10")
    assert instance(world) is world


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("linear:10", "linear:10"),
        ("linear:1e3", "linear:1000"),
        (" linear:10 ", "linear:10"),
        ("linear:1000000000000", "linear:1000000000000"),
        ("linear:4611686018427387903", "linear:4611686018427387903"),
        ("power:10:0.3", "power:10:0.3"),
        ("power:10:.30", "power:10:0.3"),
        ("power:10:1", "power:10:1.0"),
        ("linear:10:.05", "linear:10:0.05"),
        ("linear:10:0.99", "linear:10"),
        ("power:10:.3:5e-2+uniform", "power:10:0.3:0.05+uniform"),
        ("bernoulli:.5,0.25,1", "bernoulli:0.5,0.25,1.0"),
        ("linear:10+bernoulli", "linear:10"),
        ("linear:10+beta", "linear:10+beta:4.0"),
        ("linear:10+beta:4", "linear:10+beta:4.0"),
        ("linear:10+beta:1e+2", "linear:10+beta:100.0"),
        ("linear:10+uniform", "linear:10+uniform"),
        ("linear:10+constant", "linear:10+constant"),
        ("linear:10+truncnorm", "linear:10+truncnorm:0.1"),
        ("power:7:0.6+truncnorm:0.25", "power:7:0.6+truncnorm:0.25"),
    ],
)
def test_a_name_is_read_into_its_one_canonical_form(spec: str, name: str) -> None:
    world = instance(spec)
    assert world.name == name
    assert instance(name) == world


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("B_L:100", "linear:100"),
        ("B_0.3:100", "power:100:0.3"),
        ("B_.3:100", "power:100:0.3"),
        ("B_0.6:7+uniform", "power:7:0.6+uniform"),
        ("B_L:10+truncnorm:2", "linear:10+truncnorm:2.0"),
    ],
)
def test_the_papers_names_are_aliases(alias: str, name: str) -> None:
    assert instance(alias) == instance(name)
    assert instance(alias).name == name


def test_the_distribution_and_its_spread_are_read() -> None:
    plain, spread = instance("linear:3"), instance("linear:3+beta")
    assert (plain.distribution, plain.spread) == (distributions.BERNOULLI, 0.0)
    assert (spread.distribution, spread.spread) == (distributions.BETA, 4.0)
    cut = instance("linear:3+truncnorm:2")
    assert (cut.distribution, cut.spread) == (distributions.TRUNCNORM, 2.0)


@thorough
@given(st.integers(2, 10**6), st.data())
def test_linear_means_fall_evenly_from_99_to_1_percent(K: int, data: st.DataObject) -> None:
    i = data.draw(st.integers(1, K), label="the paper's index")
    exact = Fraction(99, 100) - Fraction(98, 100) * Fraction(i - 1, K - 1)
    assert instance(f"linear:{K}").mean(i - 1) == pytest.approx(float(exact), abs=1e-15)


def test_linear_means_of_a_hundred_arms_are_numpys_linspace() -> None:
    world = instance("B_L:100")
    np.testing.assert_allclose(
        [world.mean(i) for i in range(100)], np.linspace(0.99, 0.01, 100), rtol=0, atol=1e-15
    )


@thorough
@given(st.integers(2, 10**6), st.floats(0.01, 100.0), st.data())
def test_power_means_follow_the_papers_formula(K: int, alpha: float, data: st.DataObject) -> None:
    world = instance(f"power:{K}:{alpha!r}")
    i = data.draw(st.integers(2, K), label="the paper's index")
    expected = 0.01 + 0.99 - 0.98 * math.exp(alpha * (math.log(i - 1) - math.log(K - 1)))
    assert world.mean(i - 1) == pytest.approx(expected, abs=1e-13)
    assert world.mean(0) == 0.99


@thorough
@given(st.integers(2, 10**6), st.floats(1e-4, 0.99), st.data())
def test_scaled_means_are_the_usual_ones_times_a_number(
    K: int, best: float, data: st.DataObject
) -> None:
    i = data.draw(st.integers(0, K - 1), label="arm")
    for shape in (f"linear:{K}", f"power:{K}:0.3"):
        usual, scaled = instance(shape), instance(f"{shape}:{best!r}")
        assert scaled.mean(i) == pytest.approx(usual.mean(i) * best / 0.99, rel=1e-14)
        assert scaled.mean(0) == best


@pytest.mark.parametrize("spec", ["linear:10:1", "linear:10:0", "power:10:0.3:nan", "linear:9:1:2"])
def test_a_best_mean_out_of_range_is_refused(spec: str) -> None:
    with pytest.raises(SettingError, match=spec):
        instance(spec)


def test_listed_means_are_as_listed() -> None:
    world = instance("bernoulli:0.2,0.9,0,1,0.9")
    assert [world.mean(i) for i in range(5)] == [0.2, 0.9, 0.0, 1.0, 0.9]
    assert (world.n_arms, world.best_mean) == (5, 1.0)


@thorough
@given(st.integers(1, 300), st.floats(0.01, 100.0))
def test_the_best_mean_is_the_largest_of_all(K: int, alpha: float) -> None:
    for spec in (f"linear:{K}", f"power:{K}:{alpha!r}"):
        world = instance(spec)
        assert world.best_mean == max(world.mean(i) for i in range(K))


@thorough
@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=20))
def test_the_best_listed_mean_is_the_largest_of_all(listed: list[float]) -> None:
    world = instance(f"bernoulli:{','.join(map(repr, listed))}")
    assert world.best_mean == max(listed)


@pytest.mark.parametrize(("K", "second_is_best"), [(4_300_000, False), (4_400_000, True)])
def test_the_best_mean_of_power_is_the_second_arms_when_there_are_millions(
    K: int, second_is_best: bool
) -> None:
    world = instance(f"B_0.3:{K}")
    others = 1.0 - 0.98 * (np.arange(1, K) / (K - 1)) ** 0.3
    assert world.best_mean == pytest.approx(max(0.99, float(others.max())), abs=1e-15)
    assert (world.best_mean > 0.99) is second_is_best
    assert (world.mean(1) > world.mean(0)) is second_is_best


@pytest.mark.parametrize("spec", ["linear:1", "power:1:0.3", "power:1:100"])
def test_a_single_arm_has_the_top_mean(spec: str) -> None:
    world = instance(spec)
    assert (world.n_arms, world.mean(0), world.best_mean) == (1, 0.99, 0.99)


@pytest.mark.parametrize("K", HUGE)
def test_huge_sets_of_arms_have_their_means(K: int) -> None:
    world = instance(f"linear:{K}")
    assert world.n_arms == K
    assert world.mean(0) == world.best_mean == 0.99
    assert world.mean(K - 1) == pytest.approx(0.01, abs=1e-15)
    dice = random.Random(K)
    for i in [dice.randrange(K) for _ in range(100)]:
        exact = Fraction(99, 100) - Fraction(98, 100) * Fraction(i, K - 1)
        assert world.mean(i) == pytest.approx(float(exact), abs=1e-15)


@pytest.mark.parametrize("K", HUGE)
def test_huge_power_instances_stay_on_the_unit_interval(K: int) -> None:
    world = instance(f"power:{K}:0.3")
    assert world.best_mean == world.mean(1) < 1.0
    assert world.mean(K - 1) == pytest.approx(0.02, abs=1e-15)
    dice = random.Random(K)
    sample = [world.mean(i) for i in sorted(dice.randrange(1, K) for _ in range(100))]
    assert sample == sorted(sample, reverse=True)


@pytest.mark.parametrize(
    ("spec", "nearest"),
    [
        ("linaer:10", "linear"),
        ("powr:10:0.3", "power"),
        ("bernouli:0.5", "bernoulli"),
        ("B_X:10", "B_L"),
        ("linear:10+trunknorm", "truncnorm"),
        ("linear:10+Beta", "beta"),
    ],
)
def test_an_unknown_name_is_refused_with_the_nearest(spec: str, nearest: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"did you mean .*\b{nearest}\b"):
        instance(spec)


@pytest.mark.parametrize("spec", ["", "zzz:10"])
def test_a_name_unlike_any_other_is_refused_with_all_of_them(spec: str) -> None:
    with pytest.raises(UnknownNameError, match=r"known: .*bernoulli, beta, data, linear, power"):
        instance(spec)


@pytest.mark.parametrize("K", ["0", "-3", "2.5", "1e19", "4611686018427387904", "9" * 100])
def test_a_number_of_arms_out_of_range_is_refused(K: str) -> None:
    for spec in (f"linear:{K}", f"power:{K}:0.3", f"B_L:{K}"):
        with pytest.raises(SettingError, match="must be an integer from 1 to 2"):
            instance(spec)


def test_a_number_of_arms_too_long_to_read_is_refused() -> None:
    with pytest.raises(SettingError):
        instance("linear:" + "9" * 5000)


@pytest.mark.parametrize(
    "spec",
    [
        "linear:ten",
        "linear:nan",
        "linear:inf",
        "power:10:x",
        "power:10:nan",
        "bernoulli:a",
        "bernoulli:0.1,,0.2",
        "bernoulli:nan",
        "bernoulli:0.5,inf",
        "linear:10+beta:x",
        "linear:10+beta:nan",
        "linear:10+truncnorm:inf",
    ],
)
def test_what_is_not_a_finite_number_is_refused(spec: str) -> None:
    with pytest.raises(SettingError, match=r"is not a (finite )?number"):
        instance(spec)


@pytest.mark.parametrize("spec", ["bernoulli:1.2", "bernoulli:0.5,-0.1", "bernoulli:1.0000001"])
def test_means_outside_the_unit_interval_are_refused(spec: str) -> None:
    with pytest.raises(SettingError, match=r"is not in \[0, 1\]"):
        instance(spec)


@pytest.mark.parametrize("spec", ["power:10:0", "power:10:-1", "power:10:101", "B_0:10"])
def test_an_exponent_out_of_range_is_refused(spec: str) -> None:
    with pytest.raises(SettingError, match=r"ALPHA=.* must be above 0 and at most 100"):
        instance(spec)


@pytest.mark.parametrize(
    "spec",
    [
        "linear",
        "linear:",
        "linear:10:3:4",
        "power:10",
        "power:10:1:2:3",
        "bernoulli:",
        "B_L",
        "B_0.3",
    ],
)
def test_a_wrong_number_of_arguments_is_refused(spec: str) -> None:
    with pytest.raises(SettingError, match=r"is not of the form|give the number of arms"):
        instance(spec)


@pytest.mark.parametrize("distribution", ["bernoulli", "uniform", "constant"])
def test_a_distribution_without_a_number_takes_none(distribution: str) -> None:
    with pytest.raises(SettingError, match=f"the distribution {distribution} takes no number"):
        instance(f"linear:10+{distribution}:0.5")


@pytest.mark.parametrize(
    "distribution", ["beta:0", "beta:-1", "beta:2e6", "truncnorm:0", "truncnorm:10.5"]
)
def test_a_spread_out_of_range_is_refused(distribution: str) -> None:
    with pytest.raises(SettingError, match=r"must be at least 0\.001 and at most"):
        instance(f"linear:10+{distribution}")


def test_a_plus_without_a_distribution_is_refused() -> None:
    with pytest.raises(SettingError, match="no reward distribution after the plus"):
        instance("linear:10+")


@pytest.mark.parametrize("spec", [None, 3, b"linear:10", {"linear:10"}])
def test_what_is_not_a_name_is_refused(spec: Instance) -> None:
    with pytest.raises(SettingError, match=r"is not a name such as .* of the form linear:K"):
        instance(spec)


def test_a_list_of_means_is_as_good_as_a_name() -> None:
    assert instance([0.9, 0.25]) == instance("bernoulli:0.9,0.25")
    for wrong in ([], [0.5, 1.5], ["linear:10"], [0.5, math.nan]):
        with pytest.raises(SettingError):
            instance(wrong)  # type: ignore[arg-type]


def test_a_name_in_capitals_has_a_hint() -> None:
    with pytest.raises(UnknownNameError, match="did you mean linear"):
        instance("LINEAR:10")


def test_rates_by_label_are_bernoulli_arms_in_their_order() -> None:
    rates = {"red": 0.1, "green": 0.3}
    assert instance(rates) == instance([0.1, 0.3])


def test_what_is_no_instance_has_a_short_message_that_says_what_to_give() -> None:
    pandas: Any = import_module("pandas")
    with pytest.raises(SettingError, match="DataFrame: for rewards from rows give"):
        instance(pandas.DataFrame({"rate": [0.1, 0.2]}))
    with pytest.raises(SettingError) as caught:
        instance(set(range(10_000)))  # type: ignore[arg-type]
    assert len(str(caught.value)) < 400
    with pytest.raises(SettingError, match=r"give 'bernoulli:0\.1,0\.2,0\.3'"):
        instance("0.1,0.2,0.3")
