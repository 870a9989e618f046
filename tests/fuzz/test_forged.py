"""Forged states of every policy: refused, or a policy that works; never a hang or much memory."""

from __future__ import annotations

import struct
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.errors import StateError
from handful.testing import Make
from handful.testing.make import mean_of
from tests.fuzz.forge import (
    NAMES,
    Place,
    edge_values,
    forged,
    mended,
    one_input,
    saved,
    try_out,
    value_at,
    with_field,
)

CORPUS = sorted((Path(__file__).parent / "corpus").iterdir())
every_policy = pytest.mark.parametrize("name", NAMES)


CHANGED = [
    "constant-space",
    "game-of-coins",
    "mbse",
    "mpse",
    "proven-race",
    "race",
    "robbins",
    "ucb-m",
    "ucb1",
]


@pytest.mark.parametrize(
    ("name", "changed"), [*((name, False) for name in NAMES), *((name, True) for name in CHANGED)]
)
def test_any_field_at_an_edge_is_refused_or_makes_a_policy_that_works(
    name: str, changed: bool
) -> None:
    make, blob, places, held = saved(name, 137, changed=changed)
    seen = set()
    for place in places:
        slot = place.name.partition("[")[2].rstrip("]")
        if place.name in ("fingerprint", "arms") or slot not in ("", "0", str(held - 1)):
            continue
        for value in edge_values(place.code, value_at(blob, place)):
            seen.add(try_out(mended(with_field(blob, place, value)), make))
    assert seen == {True, False}


@every_policy
def test_a_forged_size_takes_little_memory(name: str) -> None:
    make, blob, places, _ = saved(name, 137)
    large = [
        mended(with_field(blob, place, value))
        for place in places
        if place.code in "qiIb" and "[" not in place.name
        for value in (2**31 - 1, 2**24, 127)
        if value <= {"q": 2**62, "i": 2**31 - 1, "I": 2**32 - 1, "b": 127}[place.code]
    ]
    tracemalloc.start()
    try:
        for each in large:
            try_out_restoring(each, make)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 2**20, f"{len(blob)} bytes made {peak:,}"


def try_out_restoring(blob: bytes, make: Make) -> None:
    try:
        policy = make.cls.from_bytes(blob, make.arms)
    except StateError:
        return
    policy.reveal(mean_of)
    policy.decide()


def test_the_corpus_is_there_and_small() -> None:
    assert len(CORPUS) >= len(NAMES)
    assert all(path.stat().st_size <= 64 for path in CORPUS)


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_the_corpus_is_replayed(path: Path) -> None:
    one_input(path.read_bytes())


@settings(max_examples=300)
@given(st.binary(max_size=64))
def test_any_input_of_the_fuzzer_is_refused_or_makes_a_policy_that_works(data: bytes) -> None:
    one_input(data)


@pytest.mark.long
@settings(max_examples=30_000, derandomize=False)
@given(st.binary(max_size=64))
def test_new_inputs_of_the_fuzzer(data: bytes) -> None:
    one_input(data)


def test_the_fuzzer_reaches_policies_that_work_and_refusals() -> None:
    outcomes = {try_out(*forged(path.read_bytes())) for path in CORPUS}
    assert outcomes == {True, False}


@every_policy
def test_settings_that_cannot_be_are_refused_when_restored(name: str) -> None:
    make, blob, places, _ = saved(name, 1, rescaled=True)
    at = {place.name: place for place in places}
    wrong = [
        ("flags", 8),
        ("flags", 5),
        ("flies", 2),
        ("memory", 0),
        ("lo", 5.0),
        ("hi", float("inf")),
        ("memory", 2**32 - 1),
    ]
    wrong += [(f"setting {key}", -1.0) for key in make.cls.settings]
    for field, value in wrong:
        with pytest.raises(StateError):
            make.cls.from_bytes(mended(with_field(blob, at[field], value)), make.arms)


def test_a_changed_field_is_the_one_that_was_meant() -> None:
    make, blob, places, _ = saved("race", 137)
    place = next(place for place in places if place.name == "forgotten")
    policy = make.cls.from_bytes(mended(with_field(blob, place, 12)), make.arms)
    assert policy.stats().forgotten == 12
    assert place == Place("forgotten", place.offset, "i")
    assert struct.unpack_from("<i", blob, place.offset) == (0,)
