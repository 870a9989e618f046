from __future__ import annotations

import math
import subprocess
import sys
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from handful.core.rng import (
    GOLDEN,
    MASK,
    beta,
    mix,
    next_word,
    normal,
    positive_uniform,
    stream,
    tape_word,
    uniform,
    unit,
    words,
)
from tests.fit import even, follows

# Each test of fit has the false-alarm rate of tests/fit.py, 1e-5; there are about 35 here, so a
# right generator would fail this file for less than 4 seeds in 10,000.
DRAWS = 20_000

word = st.integers(0, MASK)
steady = settings(derandomize=True, deadline=None)


def unmix(z: int) -> int:
    """The inverse of `mix`, by undoing each of its steps."""
    z ^= (z >> 31) ^ (z >> 62)
    z = (z * pow(0x94D0_49BB_1331_11EB, -1, 2**64)) & MASK
    z ^= (z >> 27) ^ (z >> 54)
    z = (z * pow(0xBF58_476D_1CE4_E5B9, -1, 2**64)) & MASK
    return z ^ (z >> 30) ^ (z >> 60)


@steady
@given(word)
def test_mix_is_a_bijection_of_64_bit_words(z: int) -> None:
    assert 0 <= mix(z) <= MASK
    assert unmix(mix(z)) == z
    assert mix(unmix(z)) == z


def test_the_generator_is_splitmix64_as_published() -> None:
    rng = [1234567, GOLDEN]
    assert [next_word(rng) for _ in range(5)] == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_uniform_numbers_stay_below_1_and_positive_ones_above_0() -> None:
    lowest, highest = [MASK, 1], [unmix(MASK) - 1, 1]
    assert unit(0) == uniform(list(lowest)) == 0.0
    assert unit(MASK) == uniform(list(highest)) == 1.0 - 2.0**-53
    assert positive_uniform(list(lowest)) == 2.0**-53
    assert positive_uniform(list(highest)) == 1.0


@pytest.mark.parametrize("seed", range(3))
def test_uniform_numbers_are_uniform(seed: int) -> None:
    rng = stream("uniform", seed)
    assert follows([uniform(rng) for _ in range(DRAWS)], stats.uniform.cdf)
    assert follows([positive_uniform(rng) for _ in range(DRAWS)], stats.uniform.cdf)


def test_a_number_tells_nothing_of_the_next() -> None:
    rng = stream("pairs")
    tenths = [int(10 * uniform(rng)) for _ in range(DRAWS + 1)]
    pairs = Counter(pairwise(tenths))
    assert even([pairs[i, j] for i in range(10) for j in range(10)])


def test_streams_of_neighbouring_seeds_tell_nothing_of_each_other() -> None:
    one, other = stream("seed", 1), stream("seed", 2)
    pairs = Counter((int(10 * uniform(one)), int(10 * uniform(other))) for _ in range(DRAWS))
    assert even([pairs[i, j] for i in range(10) for j in range(10)])


@pytest.mark.parametrize("bit", [0, 11, 40, 63])
def test_each_bit_is_a_fair_coin(bit: int) -> None:
    rng = stream("bits", bit)
    ones = sum(next_word(rng) >> bit & 1 for _ in range(DRAWS))
    assert even([ones, DRAWS - ones])


def test_normal_numbers_are_normal() -> None:
    rng = stream("normal")
    sample = [normal(rng) for _ in range(DRAWS)]
    assert follows(sample, stats.norm.cdf)
    assert not follows(sample, stats.norm(scale=1.2).cdf)


SHAPES = [
    (0.3, 0.3),
    (0.5, 0.5),
    (0.05, 2.0),
    (0.3, 40.0),
    (40.0, 0.3),
    (0.999, 0.999),
    (1.0, 1.0),
    (1.0, 0.4),
    (0.4, 1.0),
    (1.0, 7.0),
    (7.0, 1.0),
    (1.0, 1e6),
    (1.001, 1.001),
    (2.0, 3.0),
    (30.0, 1.5),
    (1e3, 10.0),
    (1e6, 0.5),
    (1e6, 2e6),
    (1e9, 1e9),
    (2.0, 1e9),
]


@pytest.mark.parametrize(("a", "b"), SHAPES)
def test_beta_numbers_follow_the_beta_distribution(a: float, b: float) -> None:
    rng = stream("beta", str(a), str(b))
    sample = [beta(a, b, rng) for _ in range(DRAWS)]
    assert 0.0 <= min(sample) <= max(sample) <= 1.0
    assert follows(sample, stats.beta(a, b).cdf)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (1.0, 7.0), (2.0, 3.0), (1e6, 2e6)])
def test_the_beta_test_sees_a_small_shift_and_a_wrong_shape(a: float, b: float) -> None:
    rng = stream("beta", str(a), str(b))
    sample = [beta(a, b, rng) for _ in range(DRAWS)]
    sd = math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))
    assert not follows([x - 0.08 * sd for x in sample], stats.beta(a, b).cdf)
    assert not follows(sample, stats.beta(1.5 * a, 1.5 * b).cdf)


@pytest.mark.parametrize(("a", "b"), [(1e-3, 1e-3), (1e-8, 5.0), (1e300, 2.0), (1e-8, 1e12)])
def test_beta_numbers_of_extreme_shapes_are_numbers_in_the_unit_interval(
    a: float, b: float
) -> None:
    rng = stream("extreme")
    for first, second in ((a, b), (b, a)):
        assert all(0.0 <= beta(first, second, rng) <= 1.0 for _ in range(2_000))


def test_words_are_the_same_in_every_process_and_version() -> None:
    assert words("policy", 7, count=3) == [
        1964923708033859912,
        18141947448289154062,
        8461256643771864071,
    ]
    assert words(7, "policy", count=1) == [2603896413219620842]
    assert words("7", count=1) == [5465916743573351631]
    assert words(7, count=1) == [6197197215835486562]
    assert stream("choices", 7) == [12179126267346871307, 11851569192666992655]
    assert [tape_word(1, 2, 3), tape_word(MASK, 10**12, 2**63 - 1)] == [
        15936901729588861191,
        16401345836096841223,
    ]


def test_draws_are_the_same_in_every_version() -> None:
    rng = stream("pin")
    assert [uniform(rng) for _ in range(3)] == [
        0.8271372844507993,
        0.9717682321007739,
        0.7749714315941401,
    ]
    # Logarithms and powers may differ in the last bit from one C library to another.
    assert normal(rng) == pytest.approx(-0.6902307806294592, rel=1e-12)
    assert beta(2.0, 3.0, rng) == pytest.approx(0.7979470075928985, rel=1e-12)
    assert beta(0.5, 0.5, rng) == pytest.approx(0.2570170191527352, rel=1e-12)


@pytest.mark.parametrize("hash_seed", ["0", "1"])
def test_words_do_not_depend_on_the_hash_seed_of_the_process(hash_seed: str) -> None:
    code = "from handful.core.rng import stream; print(*stream('choices', 7, 'x'))"
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": hash_seed},
    )
    assert [int(text) for text in run.stdout.split()] == stream("choices", 7, "x")


def test_steps_of_streams_are_odd_so_that_no_word_comes_back_early() -> None:
    assert all(stream("step", i)[1] & 1 for i in range(200))


@steady
@given(st.lists(st.integers() | st.text(alphabet="ab1"), max_size=4), st.integers(1, 8))
def test_the_same_parts_give_the_same_words_of_64_bits(parts: list[int | str], count: int) -> None:
    numbers = words(*parts, count=count)
    assert len(numbers) == count
    assert all(0 <= number <= MASK for number in numbers)
    assert numbers == words(*parts, count=count)


def test_a_number_and_its_text_are_different_parts() -> None:
    assert words(1, count=1) != words("1", count=1)
    assert words(1, 2, count=1) != words(12, count=1)
    assert words("a", "b", count=1) != words("ab", count=1)


def test_cells_of_a_tape_are_uniform_and_tell_nothing_of_their_neighbours() -> None:
    key = words("tape", count=1)[0]
    cells = [[unit(tape_word(key, t, a)) for a in range(100)] for t in range(200)]
    assert follows([cell for row in cells for cell in row], stats.uniform.cdf)
    across = Counter((int(10 * x), int(10 * y)) for row in cells for x, y in pairwise(row))
    along = Counter(
        (int(10 * row[a]), int(10 * below[a])) for row, below in pairwise(cells) for a in range(100)
    )
    for pairs in (across, along):
        assert even([pairs[i, j] for i in range(10) for j in range(10)])


def test_tapes_of_different_keys_differ_and_distant_cells_are_distinct() -> None:
    cells = {tape_word(1, t, a) for t in (0, 1, 10**9) for a in (0, 1, 10**12, 2**63 - 1)}
    assert len(cells) == 12
    assert cells.isdisjoint({tape_word(2, t, a) for t in (0, 1) for a in (0, 1)})
