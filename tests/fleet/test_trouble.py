"""No room, full disks, damage, other working directories: nothing that was saved is lost."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from handful.errors import DamagedStoreError, HandfulError, SettingError, StoreError
from handful.fleet import Fleet
from handful.fleet.kernels.members import SHIFT
from handful.fleet.layout import WIDE
from handful.fleet.saving import Folder

# They run the kernels that the worker of these tests has compiled.
pytestmark = pytest.mark.xdist_group("tests/fleet/test_files.py")

ARMS = list("abcdefgh")
BLOCK = 1 << SHIFT


def fleet(members: Any = 300) -> Fleet:
    return Fleet("ucb-m", members, ARMS, memory=2, seed=7, threads=1)


def opened(path: Path) -> Fleet:
    return Fleet.open(path, ARMS, threads=1)


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def damage(path: Path, row: int, at: int = 40, value: int = 1) -> None:
    (rows,) = path.glob("rows-*")
    data = bytearray(rows.read_bytes())
    data[row * 101 + at] ^= value
    rows.write_bytes(data)


@pytest.mark.parametrize("saved", [False, True])
def test_a_fleet_that_finds_no_room_is_as_it_was(saved: bool, tmp_path: Path) -> None:
    """Ids are checked by the number of members, and kernels check nothing."""
    made, named = fleet(), fleet(["ann"])
    if saved:
        made.save(tmp_path / "made")
        named.save(tmp_path / "named")
    with pytest.raises(HandfulError, match=r"549,755,81\d,\d+ rows of 101 bytes"):
        made.grow(2**39)
    assert len(made) == 300
    with pytest.raises(SettingError, match="is not a member"):
        made.decide([300])
    with pytest.MonkeyPatch.context() as patched:
        # It is found only after the rows have been made.
        patched.setattr("handful.fleet.members.np.concatenate", full)
        for grown, grow in (
            (made, lambda: made.grow(1000)),
            (named, lambda: named.grow([f"user {i}" for i in range(1000)])),
            (named, lambda: named.decide([f"user {i}" for i in range(1000)])),
        ):
            with pytest.raises(OSError, match="No space"):
                grow()
            members = grown._members
            assert members.count == len(grown)
            assert len(members.dirty) == len(members.rows) // BLOCK
    assert len(named) == 1
    assert named.seed_of("bob") == fleet(["bob"]).seed_of("bob")
    assert named.decide(["bob"])[1].tolist() == fleet(["bob"]).decide(["bob"])[1].tolist()
    with pytest.raises(SettingError, match=r"rows of 101 bytes do not fit"):
        fleet(2**39)


def test_a_shrink_that_is_refused_changes_nothing(tmp_path: Path) -> None:
    """The numbers of wide rows come from blocks that go: these must be what was saved."""
    made = fleet()
    made.decide([280])
    made.save(tmp_path / "readers")
    made.close()
    damage(tmp_path / "readers", 280, at=0, value=1 ^ WIDE)
    twin = opened(tmp_path / "readers")
    with pytest.raises(DamagedStoreError):
        twin.shrink(100)
    assert len(twin) == twin._members.count == 300
    assert twin._members.used_wide() == 0
    assert twin._members.free_wide() == list(range(len(twin._members.wide)))


@pytest.mark.parametrize("change", [lambda it: it.grow(100), lambda it: it.shrink(100)])
def test_blocks_that_were_never_read_are_still_checked_after_a_save(
    change: Callable[[Fleet], None], tmp_path: Path
) -> None:
    made = fleet()
    made.decide([5])
    made.save(tmp_path / "readers")
    made.close()
    damage(tmp_path / "readers", 5)
    twin = opened(tmp_path / "readers")
    change(twin)
    twin.save()
    with pytest.raises(DamagedStoreError):
        twin.decide([5])
    with pytest.raises(DamagedStoreError):
        twin.check()
    twin.decide([150])
    twin.close()


def test_a_save_after_one_that_failed_keeps_its_changes(tmp_path: Path) -> None:
    """The first counts already, but the files could not be changed yet."""
    made = fleet(["ann", *(f"user {i}" for i in range(BLOCK * 20))])
    made.decide(["ann"])
    made.save(tmp_path / "readers")
    made.decide(["bob"])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Folder, "_apply", full)
        for _ in range(2):
            with pytest.raises(OSError, match="No space"):
                made.save()
            made.decide(["cleo"])
    made.decide(["dora"])
    made.save()
    wanted = made.stats(["ann", "bob", "cleo", "dora"]).decisions.tolist()
    made.close()
    again = opened(tmp_path / "readers")
    again.check()
    assert again.stats(["ann", "bob", "cleo", "dora"]).decisions.tolist() == wanted == [1, 1, 2, 1]
    assert again._ids.saved() == made._ids.saved()
    again.close()


def test_a_fleet_stays_in_its_folder_when_the_working_directory_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    contents = []
    for number in (1, 2):
        (tmp_path / f"{number}").mkdir()
        monkeypatch.chdir(tmp_path / f"{number}")
        made = fleet()
        made.decide([number])
        made.save("readers")
        contents.append(made.stats(range(300)).decisions.tolist())
        made.close()
    monkeypatch.chdir(tmp_path / "1")
    twin = opened(Path("readers"))
    monkeypatch.chdir(tmp_path / "2")
    twin.save()  # not over the other one
    twin.save(tmp_path / "1" / "readers")
    with pytest.raises(SettingError, match="exists"):
        twin.save("readers")
    twin.close()
    for number in (1, 2):
        with opened(tmp_path / f"{number}" / "readers") as found:
            assert found.stats(range(300)).decisions.tolist() == contents[number - 1]


def test_a_fleet_that_is_dropped_lets_go_of_its_folder(tmp_path: Path) -> None:
    made = fleet()
    made.save(tmp_path / "readers")
    del made
    twin = opened(tmp_path / "readers")
    del twin
    opened(tmp_path / "readers").close()


@pytest.mark.parametrize("name", ["fsync", "rename"])
def test_a_first_save_that_fails_leaves_nothing(name: str, tmp_path: Path) -> None:
    made = fleet()
    made.decide([1])
    handles = len(list(Path("/dev/fd").iterdir()))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(os, name, full)
        with pytest.raises(OSError, match="No space"):
            made.save(tmp_path / "readers")
    assert list(tmp_path.iterdir()) == []
    assert len(list(Path("/dev/fd").iterdir())) == handles
    made.decide([1])
    made.save(tmp_path / "readers")
    made.close()
    with opened(tmp_path / "readers") as twin:
        assert twin.stats([1]).decisions.tolist() == [2]


def test_a_fleet_without_members_yet_can_be_saved(tmp_path: Path) -> None:
    made = fleet([])
    made.save(tmp_path / "readers")
    made.close()
    with opened(tmp_path / "readers") as twin:
        assert len(twin) == 0
        twin.save()
        arms = twin.decide(["ann", "bob"])[0]
        twin.save()
    with opened(tmp_path / "readers") as twin:
        assert len(twin) == 2
        assert arms.tolist() == fleet(["bob", "ann"]).decide(["ann", "bob"])[0].tolist()


@pytest.mark.parametrize("named", [False, True])
def test_a_closed_fleet_does_not_change(named: bool, tmp_path: Path) -> None:
    made = fleet(["ann"] if named else 300)
    made.save(tmp_path / "readers")
    made.close()
    for use in (
        lambda: made.grow(["bob"] if named else 1),
        lambda: made.shrink(1),
        lambda: made.decide(["cleo"] if named else [1]),
    ):
        with pytest.raises(StoreError, match="closed"):
            use()
    assert len(made) == made._members.count == (1 if named else 300)


def test_wide_rows_come_back(tmp_path: Path) -> None:
    """By the journal and by a new generation; damage to them is found."""
    made = fleet(3000)
    wide = made[5]
    wide._state.clock = wide._state.turned = 70_000
    made[5] = wide
    made.save(tmp_path / "readers")
    wide._state.clock = wide._state.turned = 70_001
    for member in (5, 2999):
        other = made[member]
        other._state.clock = other._state.turned = 70_001
        made[member] = other
    made.save()
    made.close()
    with opened(tmp_path / "readers") as twin:
        assert twin.stats([5, 2999]).decisions.tolist() == [70_001, 70_001]
        assert twin.totals().wide == 2
    copy = tmp_path / "copy"
    shutil.copytree(tmp_path / "readers", copy)
    (file,) = copy.glob("wide-*")
    data = bytearray(file.read_bytes())
    data[twin._members.word(5) * (len(data) // 16) + 3] ^= 1
    file.write_bytes(data)
    with pytest.raises(DamagedStoreError, match="wide"):
        opened(copy)


def test_a_reward_out_of_range_is_shown_as_a_number() -> None:
    made = fleet()
    _, tickets = made.decide([1])
    with pytest.raises(ValueError, match=r"rewards\[0\]=2\.0 is not in \[0, 1\]"):
        made.reward([1], tickets, np.array([2.0]))
