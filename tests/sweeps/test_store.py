"""Partitions: however a cell is cut, together they are the cell; nothing wrong is taken for one."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from handful.simulation import outcome as outcomes
from handful.simulation import run_cell
from handful.simulation.plan import cell
from handful.sweeps import part as parts
from handful.sweeps import store as stores
from handful.sweeps.part import Part, merged, sources_of
from handful.sweeps.store import Entry, Store
from tests.sweeps.small import bits, part, ran


def save(store: Store, whole: Part, *ranges: range) -> None:
    for runs in ranges:
        one = whole.only(runs)
        store.save(one, ran(one))


WHOLE = {
    "plain": part(),
    "recorded": part(record=True),
    "late": part("race", delay="geometric:3", lost=0.2),
    "many arms": part(world="linear:5000", runs=12),
    "a range": part(runs=range(5, 17), tape=True),
}
RESULTS = {name: ran(one) for name, one in WHOLE.items()}


FEW = settings(max_examples=10)  # each writes a dozen files to the disk


@pytest.mark.parametrize("name", WHOLE)
@FEW
@given(cuts=st.sets(st.integers(1, 11)), shuffled=st.randoms(use_true_random=False))
def test_any_cut_gives_the_same_bits(
    name: str, cuts: set[int], shuffled: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = WHOLE[name]
    store = Store(tmp_path_factory.mktemp("cells"))
    runs = whole.cell.run_numbers
    ends = [0, *sorted(cuts), 12]
    ranges = [runs[a:b] for a, b in pairwise(ends)]
    shuffled.shuffle(ranges)
    for one in ranges[1:]:
        save(store, whole, one)
    assert store.missing(whole) == [ranges[0]]
    assert store.load(whole) is None
    save(store, whole, ranges[0])
    again = Store(store.folder)
    assert again.missing(whole) == []
    found = again.load(whole)
    assert found is not None
    assert bits(found) == bits(RESULTS[name])


@FEW
@given(
    taken=st.lists(
        st.tuples(st.integers(0, 11), st.integers(1, 12)).map(lambda p: range(p[0], sum(p))),
        max_size=4,
    )
)
def test_overlapping_partitions_count_once_and_gaps_are_found(
    taken: list[range], tmp_path_factory: pytest.TempPathFactory
) -> None:
    whole = WHOLE["plain"]
    store = Store(tmp_path_factory.mktemp("cells"))
    save(store, whole, *taken)
    there = {run for runs in taken for run in runs}
    missing = [run for runs in store.missing(whole) for run in runs]
    assert missing == [run for run in range(12) if run not in there]
    save(store, whole, *store.missing(whole))
    found = store.load(whole)
    assert found is not None
    assert bits(found) == bits(RESULTS["plain"])


def test_parts_are_cut_by_work_and_cover_what_is_missing() -> None:
    whole = Part.whole(cell("ucb-m", "linear:9", 2, 1000, 1000))
    a_run = whole.work / 1000
    pieces = list(whole.cut([range(0, 500), range(600, 1000)], 100.5 * a_run))
    assert [piece.cell.runs for piece in pieces[:5]] == [96, 96, 96, 96, 96]
    numbers = [run for piece in pieces for run in piece.cell.run_numbers]
    assert numbers == [*range(500), *range(600, 1000)]
    assert [piece.cell.runs for piece in whole.cut([range(9)], 3.5 * a_run)] == [3, 3, 3]
    assert len(list(whole.cut([range(1000)], a_run / 9))) == 1000
    assert list(whole.cut([range(1000)], 2 * whole.work)) == [whole]


def test_pulls_of_a_part_are_never_too_many_to_be_joined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (outcomes, parts):
        monkeypatch.setattr(module, "MOST_PULLS", 7 * 5)
    whole = WHOLE["plain"]
    right = ran(whole)
    assert right.pulls is None
    assert right.mean_pulls is not None
    store = Store(tmp_path)
    cut = list(whole.cut([range(12)], 1e18))
    assert [one.cell.runs for one in cut] == [5, 5, 2]
    save(store, whole, *(one.cell.run_numbers for one in cut))
    found = store.load(whole)
    assert found is not None
    assert bits(found) == bits(right)
    store.discard([whole])
    store.save(whole, right)
    assert store.missing(whole) == [range(12)], "sums of pulls cannot be joined"


def test_another_seed_horizon_engine_or_setting_is_another_file(tmp_path: Path) -> None:
    different = [
        part(), part(horizon=61), part(seed=1), part("ucb-m:eta=0.2"), part(memory=3),
        part(tape=True), part(record=True), part(delay=1), part(world="linear:8"),
        Part(part().cell, "compiled"), part().only(range(1, 12)),
    ]  # fmt: skip
    assert len({Store(tmp_path).path(one) for one in different}) == len(different)
    assert Store(tmp_path).path(part(runs=12)) == Store(tmp_path).path(part())


def test_more_runs_of_a_cell_add_to_those_that_are_there(tmp_path: Path) -> None:
    store = Store(tmp_path)
    save(store, part(), range(12))
    more, fewer = part(runs=20), part(runs=5)
    assert store.missing(more) == [range(12, 20)]
    assert store.missing(fewer) == []
    found = store.load(fewer)
    assert found is not None
    assert bits(found) == bits(ran(fewer))
    both = merged([fewer, more, part(seed=1)])
    assert [one.cell.runs for one in both] == [20, 12]


def test_a_flipped_bit_is_noticed_wherever_it_is(tmp_path: Path) -> None:
    whole = WHOLE["plain"]
    save(Store(tmp_path), whole, range(12))
    path = Store(tmp_path).path(whole)
    good = path.read_bytes()
    read = 0
    for place in range(4, len(good), max(1, len(good) // 150)):
        path.write_bytes(good[:place] + bytes([good[place] ^ 4]) + good[place + 1 :])
        found = Store(tmp_path).load(whole)
        if found is not None:
            read += 1
            assert bits(found) == bits(RESULTS["plain"])
    assert read < 120, "of 150 flips, those that change a number are refused"


def test_a_damaged_file_is_named_deleted_and_run_again(tmp_path: Path) -> None:
    whole = WHOLE["plain"]
    save(Store(tmp_path), whole, range(5), range(5, 12))
    bad = Store(tmp_path).path(whole.only(range(5)))
    bad.write_bytes(bad.read_bytes()[:-9])
    store = Store(tmp_path)
    assert store.missing(whole) == [range(5)]
    assert list(store.damaged) == [bad]
    store.delete_damaged()
    assert not bad.exists()
    assert store.missing(whole) == [range(5)]
    save(store, whole, range(5))
    store.delete_damaged()
    assert bad.exists()
    assert store.missing(whole) == []


def test_a_file_that_was_written_over_a_damaged_one_is_not_damaged(tmp_path: Path) -> None:
    whole = WHOLE["plain"]
    save(Store(tmp_path), whole, range(12))
    path = Store(tmp_path).path(whole)
    path.write_bytes(b"damaged")
    store = Store(tmp_path)
    assert store.missing(whole) == [range(12)]
    save(store, whole, range(12))
    assert not store.damaged
    store.delete_damaged()
    assert store.missing(whole) == []


def test_a_file_of_another_cell_is_not_taken_for_this_one(tmp_path: Path) -> None:
    whole = part(runs=3)
    others = [
        part("ts-m", runs=3), part("ucb-m:eta=0.2", runs=3), part(world="linear:8", runs=3),
        part(memory=3, runs=3), part(horizon=61, runs=3), part(runs=4), part(runs=range(1, 4)),
        part(seed=1, runs=3), part(tape=True, runs=3), part(record=True, runs=3),
        part(delay=2, runs=3),
    ]  # fmt: skip
    for other in others:
        save(Store(tmp_path), other, other.cell.run_numbers)
        Store(tmp_path).path(other).replace(Store(tmp_path).path(whole))
        store = Store(tmp_path)
        assert store.missing(whole) == [range(3)], other.key
        assert "other numbers than its name says" in next(iter(store.damaged.values()))
    save(Store(tmp_path), whole, range(3))
    assert Store(tmp_path).load(whole) is not None


def test_a_file_of_other_sources_or_another_version_is_not_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = WHOLE["plain"]
    save(Store(tmp_path), whole, range(12))
    path = Store(tmp_path).path(whole)
    for name, other in (("__version__", "0.0.0"), ("sources_of", lambda policy: "old")):
        with monkeypatch.context() as changed:
            changed.setattr(stores, name, other)
            assert Store(tmp_path).path(whole) != path
            assert Store(tmp_path).others([whole]) == 1
            Store(tmp_path).path(whole).write_bytes(path.read_bytes())
            assert Store(tmp_path).load(whole) is None
            Store(tmp_path).path(whole).unlink()
    assert Store(tmp_path).others([whole]) == 0


OWN = """
from handful import UCBM

class Own(UCBM):
    name = "own"
    # {}
"""


def test_a_changed_policy_of_ones_own_is_run_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    file = tmp_path / "own_swept.py"
    file.write_text(OWN.format("first"))
    planned = Part.whole(cell("own_swept:Own", "linear:7", 2, 60, 12), "python")
    before = Entry.of(planned)
    assert Entry.of(planned) == before
    file.write_text(OWN.format("second"))
    assert Entry.of(planned).name != before.name
    file.unlink()
    with pytest.raises(ValueError, match="has no source file"):
        sources_of(planned.cell.policy)


def test_where_parts_cannot_be_saved_they_stay_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, target: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    store = Store(tmp_path)
    save(store, WHOLE["plain"], range(7), range(7, 12))
    found = store.load(WHOLE["plain"])
    assert found is not None
    assert bits(found) == bits(RESULTS["plain"])
    assert store.unsaved is not None
    assert "No space left on device" in store.unsaved
    assert list(tmp_path.iterdir()) == []


CRASH = """
import os, sys
from pathlib import Path
from tests.sweeps.small import part, ran
from handful.sweeps.store import Store

def die(*_):
    os._exit(9)

where, at = sys.argv[1:]
store = Store(Path(where))
one = part().only(range(5))
store.save(one, ran(one))
if at == "write":
    os.fsync = die
elif at == "rename":
    Path.replace = die
one = part().only(range(5, 12))
store.save(one, ran(one))
"""


@pytest.mark.parametrize("at", ["write", "rename"])
def test_a_crash_at_any_step_leaves_whole_files_only(tmp_path: Path, at: str) -> None:
    died = subprocess.run(
        [sys.executable, "-c", CRASH, str(tmp_path), at], env=dict(os.environ), check=False
    )
    assert died.returncode == 9
    whole = WHOLE["plain"]
    store = Store(tmp_path)
    assert store.missing(whole) == [range(5, 12)]
    assert not store.damaged
    for runs in store.missing(whole):
        store.save(whole.only(runs), run_cell(whole.only(runs).cell, engine="python"))
    found = store.load(whole)
    assert found is not None
    assert bits(found) == bits(RESULTS["plain"])
