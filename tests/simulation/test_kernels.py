"""The parts of the kernels: exact sums, and plain functions that mean the same when compiled."""

from __future__ import annotations

import random
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.compiling.arrays import Floats, Ints, Words
from handful.compiling.jit import kernel
from handful.core import rng
from handful.core.rng import Generator, stream
from handful.core.shuffle import Shuffle, backward, forward
from handful.instances import Instance, distributions, from_data, instance, means
from handful.simulation import reference
from handful.simulation.kernels.block import LINE, ROOM, Room, space
from handful.simulation.kernels.exact import plus, times
from handful.simulation.kernels.world import (
    World,
    any_centre,
    any_reward,
    bernoulli_reward,
    tape_uniform,
)

thorough = settings(derandomize=True, deadline=None, max_examples=500)
counts = st.integers(0, 2**53)
gaps = st.floats(1e-12, 1.0)
pairs_of = st.lists(st.tuples(st.integers(0, 10**12), st.floats(1e-9, 1.0)), max_size=40)

# Where arrays lie.


@pytest.mark.parametrize(("slots", "lanes"), [(1, 1), (3, 1), (10, 64), (50, 32), (256, 16)])
def test_arrays_of_a_block_begin_with_a_line_of_the_cache(slots: int, lanes: int) -> None:
    memory, choices, rewards, tape, walk, scratch, tables = space(slots, lanes)
    arrays: list[Any] = [*memory, choices, rewards, tape, *walk, *scratch, tables.marks]
    starts = [array.ctypes.data for array in arrays]
    assert [start % LINE for start in starts] == [0] * len(arrays)
    assert all(not array.any() and array.flags.c_contiguous for array in arrays)
    in_order = sorted(zip(starts, arrays, strict=True), key=lambda pair: pair[0])
    for (start, array), (after, _) in pairwise(in_order):
        assert start + array.nbytes <= after


def test_a_room_has_place_for_arrays_of_any_size() -> None:
    room = Room()
    arrays: list[Any] = [room.floats(size) for size in (1, ROOM, 0, ROOM // 8, 3)]
    assert [len(array) for array in arrays] == [1, ROOM, 0, ROOM // 8, 3]
    for value, array in enumerate(arrays):
        array[:] = value
    assert [set(array.tolist()) for array in arrays] == [{0.0}, {1.0}, set(), {3.0}, {4.0}]


# Exact sums.


@thorough
@given(counts, gaps)
def test_a_product_is_exact_as_a_pair(n: int, gap: float) -> None:
    high, low = times(float(n), gap)
    assert Fraction(high) + Fraction(low) == n * Fraction(gap)
    assert high == n * gap


@thorough
@given(pairs_of)
def test_a_sum_of_pairs_is_right_to_100_bits(terms: list[tuple[int, float]]) -> None:
    high, low, exact = 0.0, 0.0, Fraction(0)
    for n, gap in terms:
        high, low = plus(high, low, *times(float(n), gap))
        exact += n * Fraction(gap)
    assert abs(Fraction(high) + Fraction(low) - exact) <= exact / 2**100
    assert high == high + low


@thorough
@given(
    st.floats(1e-6, 1.0),
    st.lists(st.tuples(st.integers(0, 10**10), st.floats(0.0, 1.0)), max_size=60),
)
def test_regret_is_rounded_once_like_the_references(
    best: float, pulled: list[tuple[int, float]]
) -> None:
    high, low = 0.0, 0.0
    slow = reference.ExactSum()
    for n, share in pulled:
        gap = best - best * share
        high, low = plus(high, low, *times(float(n), gap))
        # n additions of the gap, at once: integers lose nothing.
        one = reference.ExactSum()
        one.add(gap)
        slow.units += n * one.units
    assert Fraction(high) + Fraction(low) == Fraction(slow.units, 1 << 1074)
    assert high == slow.value()


def test_plain_doubles_would_not_do() -> None:
    dice = random.Random(1)
    terms = [(dice.randrange(10**6), dice.random()) for _ in range(1000)]
    assert sum(n * gap for n, gap in terms) != float(sum(n * Fraction(gap) for n, gap in terms))


def sum_exactly(n: Floats, gap: Floats, out: Floats) -> None:
    high = 0.0
    low = 0.0
    for i in range(len(n)):
        x, y = times(n[i], gap[i])
        high, low = plus(high, low, x, y)
        out[i, 0] = high
        out[i, 1] = low


def test_compiled_sums_are_the_plain_ones() -> None:
    dice = random.Random(2)
    n = np.array([float(dice.randrange(10**9)) for _ in range(10_000)])
    gap = np.array([dice.random() ** 3 for _ in range(10_000)])
    plain, fast = np.empty((10_000, 2)), np.empty((10_000, 2))
    sum_exactly(n, gap, plain)
    kernel(sum_exactly, "test_exact")(n, gap, fast)
    assert fast.tobytes() == plain.tobytes()


# The generator.

SHAPES = (0.01, 0.3, 1.0, 1.5, 4.0, 70.0, 3e5)


def draw_all(generator: Any, a: Floats, b: Floats, out: Floats) -> None:
    for i in range(len(a)):
        out[i, 0] = rng.uniform(generator)
        out[i, 1] = rng.positive_uniform(generator)
        out[i, 2] = rng.normal(generator)
        out[i, 3] = rng.beta(a[i], b[i], generator)


def test_compiled_draws_are_the_plain_ones() -> None:
    shapes = [(a, b) for a in SHAPES for b in SHAPES] * 100
    a, b = (np.array(column) for column in zip(*shapes, strict=True))
    plain, fast = np.empty((len(a), 4)), np.empty((len(a), 4))
    generator = stream("draws", 1)
    words = np.array(generator, dtype=np.uint64)
    draw_all(generator, a, b, plain)
    kernel(draw_all, "test_draws")(words, a, b, fast)
    assert fast.tobytes() == plain.tobytes()
    assert words.tolist() == generator


def hash_all(x: Words, t: Words, arm: Words, out: Words) -> None:
    for i in range(len(x)):
        out[i, 0] = rng.mix(x[i])
        out[i, 1] = rng.tape_word(x[i], t[i], arm[i])


def test_compiled_words_are_the_plain_ones() -> None:
    dice = random.Random(3)
    edges = [0, 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1]
    x = [*edges, *(dice.randrange(2**64) for _ in range(10_000))]
    t = [*edges[::-1], *(dice.randrange(2**53) for _ in range(10_000))]
    arm = [*edges, *(dice.randrange(2**63) for _ in range(10_000))]
    fast = np.empty((len(x), 2), dtype=np.uint64)
    as_words = [np.array(column, dtype=np.uint64) for column in (x, t, arm)]
    kernel(hash_all, "test_words")(as_words[0], as_words[1], as_words[2], fast)
    assert fast[:, 0].tolist() == [rng.mix(word) for word in x]
    assert fast[:, 1].tolist() == [rng.tape_word(*cell) for cell in zip(x, t, arm, strict=True)]


# The shuffle.


def shuffle_all(x: Words, order: Words, out: Words) -> None:
    K, rows, columns, rounds, key = order
    for i in range(len(x)):
        out[i, 0] = forward(x[i], K, rows, columns, rounds, key)
        out[i, 1] = backward(x[i], K, rows, columns, rounds, key)


@pytest.mark.parametrize("K", [1, 2, 3, 5, 97, 255, 256, 257, 10**6, 10**12, 2**53, 2**63 - 1])
def test_compiled_shuffles_are_the_plain_ones(K: int) -> None:
    dice = random.Random(K)
    positions = range(K) if K < 300 else [0, K - 1, *(dice.randrange(K) for _ in range(1000))]
    shuffle = Shuffle.of(K, dice.randrange(2**64))
    fast = np.empty((len(positions), 2), dtype=np.uint64)
    x, order = np.array(positions, dtype=np.uint64), np.array(shuffle, dtype=np.uint64)
    kernel(shuffle_all, "test_shuffle")(x, order, fast)
    assert fast[:, 0].tolist() == [shuffle.arm_at(position) for position in positions]
    assert fast[:, 1].tolist() == [shuffle.position_of(arm) for arm in positions]


# Means and distributions.


def meet_all(world: World, arms: Ints, generator: Any, out: Floats) -> None:
    for i in range(len(arms)):
        mean = means.mean_of(world.kind, arms[i], world.n_arms, world.a, world.top, world.listed)
        centre = any_centre(world.distribution, mean, arms[i])
        out[i, 0] = mean
        out[i, 1] = centre
        out[i, 2] = any_reward(world.distribution, arms[i], mean, centre, False, 0, i, generator)


def some_arms(world: Instance, count: int) -> list[int]:
    dice = random.Random(world.name)
    return [0, world.n_arms - 1, *(dice.randrange(world.n_arms) for _ in range(count))]


def plainly_met(world: Instance, arms: Sequence[int], generator: Generator) -> list[list[float]]:
    rows = []
    for arm in arms:
        mean = world.mean(arm)
        centre = float(arm)
        if world.rows is None:
            centre = distributions.centre_of(world.distribution, mean, world.spread)
        rows.append([mean, centre, world.draw(arm, generator)])
    return rows


@pytest.mark.parametrize("distribution", ["bernoulli", "beta", "beta:0.5", "uniform", "constant"])
@pytest.mark.parametrize(
    "spec", ["linear:10", "linear:1000000000000", "power:100:0.3", "bernoulli:0,1,0.5,1e-9,0.999"]
)
def test_compiled_means_and_rewards_are_the_plain_ones(spec: str, distribution: str) -> None:
    check_world(instance(f"{spec}+{distribution}"), 500)


@pytest.mark.parametrize("spread", [0.001, 0.1, 0.5, 2.0, 10.0])
@pytest.mark.parametrize("spec", ["linear:10", "power:1000000:0.3", "bernoulli:0,1,1e-4,0.5,0.999"])
def test_compiled_truncated_normals_are_the_plain_ones(spec: str, spread: float) -> None:
    check_world(instance(f"{spec}+truncnorm:{spread!r}"), 50)


def test_compiled_draws_from_rows_are_the_plain_ones() -> None:
    dice = random.Random(5)
    arms = [dice.randrange(9) for _ in range(200)]
    world = from_data({"arm": arms, "reward": [dice.random() for _ in arms]})
    assert world.rows is not None
    check_world(world, 500)


def check_world(world: Instance, count: int) -> None:
    arms = some_arms(world, count)
    generator = stream("worlds", world.name)
    words = np.array(generator, dtype=np.uint64)
    fast = np.empty((len(arms), 3))
    kernel(meet_all, "test_worlds")(World.of(world), np.array(arms), words, fast)
    assert fast.tolist() == plainly_met(world, arms, generator)
    assert words.tolist() == generator


# The tape.


def play_tape(world: World, arms: Ints, tape: Words, generator: Words, out: Floats) -> None:
    for t in range(len(arms)):
        mean = means.mean_of(world.kind, arms[t], world.n_arms, world.a, world.top, world.listed)
        centre = any_centre(world.distribution, mean, arms[t])
        key = tape[0]
        out[t, 0] = any_reward(world.distribution, arms[t], mean, centre, True, key, t, generator)
        out[t, 1] = tape_uniform(key, t, arms[t])
        out[t, 2] = bernoulli_reward(
            world.distribution, arms[t], mean, 0.0, True, key, t, generator
        )


@pytest.mark.parametrize("distribution", ["bernoulli", "beta", "uniform", "truncnorm"])
@pytest.mark.parametrize("K", [10, 10**12])
def test_the_compiled_tape_is_the_references(distribution: str, K: int) -> None:
    world = instance(f"linear:{K}+{distribution}")
    arms = some_arms(world, 500)
    key = rng.words("tape", distribution, K, count=1)[0]
    fast = np.empty((len(arms), 3))
    words = np.zeros(2, dtype=np.uint64)
    tape = np.array([key], dtype=np.uint64)
    kernel(play_tape, "test_tape")(World.of(world), np.array(arms), tape, words, fast)
    for t, arm in enumerate(arms):
        assert fast[t, 0] == world.draw(arm, reference._tape_generator(key, t, arm))
        assert fast[t, 1] == rng.uniform(reference._tape_generator(key, t, arm))
        assert fast[t, 2] == distributions.bernoulli(
            world.mean(arm), reference._tape_generator(key, t, arm)
        )
