"""What kernels of fleets compute by themselves, beside what Python has."""

from __future__ import annotations

from typing import Any

import numpy as np

from handful.compiling.jit import kernel
from handful.core.rng import generator_from
from handful.fleet.kernels.seeds import BLOCK, key_of, step_of
from handful.fleet.kernels.sums import sums_of
from handful.policies.given import seed_word


def test_a_seed_gives_the_key_and_the_generator_of_a_policy() -> None:
    def run(seeds: Any, found: Any, block: Any) -> None:
        for i in range(len(seeds)):
            key = key_of(seeds[i], block)
            found[i, 0] = key
            found[i, 1] = step_of(key, block)

    seeds = np.array([0, 1, 9, 10, 99, 2**32, 10**19, 2**64 - 1, *range(1000, 1040)], np.uint64)
    found = np.zeros((len(seeds), 2), np.uint64)
    kernel(run, "own_seeds")(seeds, found, np.zeros(BLOCK, np.uint64))
    for seed, words in zip(seeds.tolist(), found.tolist(), strict=True):
        assert words == generator_from(seed_word(seed))


def test_a_checksum_sees_any_change_and_is_0_for_zeros() -> None:
    words = np.zeros((3, 101), np.uint64)
    words[1] = np.arange(101)
    first = sums_of(words, np.arange(3)).tolist()
    assert first[0] == first[2] == 0 != first[1]
    for place in range(101):
        for bit in (0, 31, 63):
            other = words.copy()
            other[1, place] ^= np.uint64(1 << bit)
            assert sums_of(other, np.array([1]))[0] != first[1]
