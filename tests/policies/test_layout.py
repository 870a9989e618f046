"""What a saved record looks like, pinned together with the version of the format.

A state that was saved yesterday must be read today. If a test here fails, a field has changed its
name, type, place or number: then `VERSION` in `core/envelope.py` must change, the old format must
still be read, and this page gets the new layout.
"""

from __future__ import annotations

from struct import calcsize

import numpy as np
import pytest

import handful
from handful.core.envelope import VERSION
from handful.core.state import State, fields
from handful.policies.saving import FRAME, RESCALE

FORMAT = 1

# A field is name:type, with the code of `struct`; * is one for each slot, ! the number of a slot.
LAYOUT = {
    "State": (
        "clock:q rewards:q forgotten:i refused:i settled:Q key:Q rng:2Q held:i pending:i "
        "arm:q* pulls:q* sums:d* in_flight:i* born:q*"
    ),
    "PhasedState": "State phase:b sub_phase:q origin:q done:q",
    "PooledState": "PhasedState round:b round_done:q carried:q",
    "Tournament": "State bound:q leaves:q score:d* winner:q*",
    "HandState": "State hand:i! tried:q up_next:b",
    "RaceState": (
        "HandState incumbent:i! challenger:i! rival:i! came_up:b seen:q "
        "level:d margin:d cost:d opens:d"
    ),
    "Failures": "HandState failures:q",
    "Run": "HandState run:q",
    "LongestRun": "HandState best:i! run:q longest:q settled_on_best:b",
    "Learning": "HandState best:i! run:q longest:q learned:q",
    "LastTwo": "HandState run:d true_mean:d*",
    "LastTwoLearning": "HandState learned:q",
    "Scan": (
        "HandState best:i! champion:i! runner_up:i! L:d precision:d inside:q scanned:q T:d"
    ),
    "Blocks": "HandState favourite:i! failed:b blocks:b done:q",
    "Patience": "HandState extra:d",
    "Stream": "HandState best:i! over:b",
    "Duel": "Stream seen:q",
    "Game": "Stream budget:d level:q tosses:q lead:d",
}  # fmt: skip

# The record and the settings of each policy, in the order in which they are saved.
RECORDS = {
    "race": "RaceState",
    "ucb-m": "PhasedState eta",
    "ts-m": "PhasedState",
    "moss-m": "PhasedState horizon",
    "qucb-m": "PooledState alpha eta",
    "qts-m": "PooledState alpha",
    "qmoss-m": "PooledState alpha",
    "klucb-m": "PhasedState",
    "klucbpp-m": "PhasedState horizon",
    "imed-m": "PhasedState",
    "moss-anytime-m": "PhasedState",
    "ucbv-m": "PhasedState",
    "qklucb-m": "PooledState alpha",
    "qklucbpp-m": "PooledState alpha",
    "qimed-m": "PooledState alpha",
    "qmoss-anytime-m": "PooledState alpha",
    "qucbv-m": "PooledState alpha",
    "ucb1": "PhasedState eta",
    "ucb-mpa": "PhasedState eta",
    "ts": "PhasedState",
    "moss": "PhasedState horizon",
    "moss-anytime": "PhasedState",
    "kl-ucb": "PhasedState",
    "kl-ucbpp": "PhasedState horizon",
    "imed": "PhasedState",
    "ucb-v": "PhasedState",
    "qrm2": "PooledState alpha",
    "ucb-air": "Tournament beta",
    "herschkorn": "Failures",
    "fixed-run": "Failures k",
    "robbins": "Failures r",
    "k-failure": "Failures k",
    "nonrecalling-run": "Run horizon",
    "sqrt-run": "LongestRun horizon",
    "sqrt-log-learning": "Learning horizon",
    "sqrt-run-tabulated": "LastTwo horizon",
    "sqrt-log-tabulated": "LastTwoLearning horizon",
    "constant-space": "Scan c horizon",
    "cover": "Blocks",
    "pekoz-a": "Patience k f1",
    "pekoz-b": "Patience f1",
    "two-target": "HandState a b m horizon",
    "single-pass": "Stream horizon",
    "mpse": "Duel passes c horizon",
    "mbse": "Stream passes c horizon",
    "game-of-coins": "Game horizon",
    "random": "HandState",
}

NUMPY = {"q": "<i8", "i": "<i4", "b": "i1", "Q": "<u8", "d": "<f8"}


def declared(record: str) -> list[str]:
    """The fields of a record, with those of its base first, as this page has them."""
    words = LAYOUT[record].split()
    return [*declared(words[0]), *words[1:]] if words[0] in LAYOUT else words


def found(cls: type[State]) -> list[str]:
    """The same, as the source has them."""
    return [
        f"{name}:{kind.length if kind.length > 1 else ''}{kind.code}"
        f"{'*' * kind.per_slot}{'!' * kind.is_slot}"
        for name, kind in fields(cls).items()
    ]


def test_the_format_is_the_one_that_this_page_describes() -> None:
    assert VERSION == FORMAT
    assert list(RECORDS) == list(handful.POLICIES)
    assert (FRAME.format, RESCALE.format) == ("<QQIB", "<dd")


@pytest.mark.parametrize("name", RECORDS)
def test_the_record_and_the_settings_of_a_policy_are_as_they_were(name: str) -> None:
    cls = handful.POLICIES[name]
    record, *settings = RECORDS[name].split()
    assert cls.State.__name__ == record
    assert found(cls.State) == declared(record)
    assert list(cls.settings) == settings


@pytest.mark.parametrize("name", RECORDS)
def test_the_record_of_an_array_is_laid_out_alike(name: str) -> None:
    record = RECORDS[name].split()[0]
    dtype = np.dtype(handful.POLICIES[name].State.layout(3))
    scalars = [field for field in declared(record) if "*" not in field]
    slots = [field for field in declared(record) if "*" in field]
    assert dtype.names == (*(field.split(":")[0] for field in scalars), "slots")
    assert dtype["slots"].shape == (3,)
    assert dtype["slots"].base.names == tuple(field.split(":")[0] for field in slots)
    for field in (*scalars, *slots):
        key, code = field.strip("*!").split(":")
        own = dtype["slots"].base[key] if field in slots else dtype[key]
        assert own.base == np.dtype(NUMPY[code[-1]])
        assert own.itemsize == calcsize(f"<{code}")
    formats = ["".join(f.strip("*!").split(":")[1] for f in part) for part in (scalars, slots)]
    assert dtype.itemsize == calcsize(f"<{formats[0]}") + 3 * calcsize(f"<{formats[1]}")
