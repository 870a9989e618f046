"""A fleet on disk: what is saved comes back, damage is refused, a killed save changes nothing."""

from __future__ import annotations

import os
import random
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from handful.errors import (
    DamagedStoreError,
    NewerStoreError,
    OtherArmsError,
    SettingError,
    StoreError,
    StoreInUseError,
)
from handful.fleet import Fleet
from handful.fleet.header import header_bytes, read_header
from handful.fleet.journal import NAME as JOURNAL

ARMS = list("abcdefgh")
MEMBERS = 5000
PAIRS = 60


def fleet(members: int = MEMBERS) -> Fleet:
    return Fleet("ucb-m", members, ARMS, memory=2, seed=7, threads=1)


def step(fleet: Fleet, number: int) -> None:
    """Some decisions and rewards that follow from the number of the step.

    Every seventh step touches many blocks, so that a new generation is written.
    """
    rng = np.random.default_rng(number)
    spread = MEMBERS if number % 7 == 6 else 300
    ids = (rng.integers(0, spread, PAIRS) + 64 * number) % MEMBERS
    _, tickets = fleet.decide(ids)
    fleet.reward(ids, tickets, rng.random(PAIRS))


def opened(path: Path) -> Fleet:
    return Fleet.open(path, ARMS, threads=1)


def contents(fleet: Fleet) -> bytes:
    return fleet._members.rows[: len(fleet)].tobytes()


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    path = tmp_path / "readers"
    made = fleet()
    step(made, 0)
    made.save(path)
    made.close()
    return path


def test_members_that_have_not_begun_take_no_room(tmp_path: Path) -> None:
    made = fleet(1_000_000)
    made.decide([999_999])
    made.save(tmp_path / "readers")
    (rows,) = (tmp_path / "readers").glob("rows-*")
    assert rows.stat().st_size >= 100_000_000
    assert rows.stat().st_blocks * 512 < 1_000_000
    made.close()


def test_small_changes_go_by_the_journal_and_large_ones_make_a_generation(saved: Path) -> None:
    twin = opened(saved)
    for number in range(1, 15):
        before = {file.name for file in saved.glob("rows-*")}
        step(twin, number)
        twin.save()
        same = {file.name for file in saved.glob("rows-*")} == before
        assert same == (number % 7 != 6)
        assert not (saved / JOURNAL).exists()
    live = contents(twin)
    twin.close()
    again = opened(saved)
    again.check()
    assert contents(again) == live
    again.close()


def test_what_is_not_saved_is_not_there(saved: Path) -> None:
    twin = opened(saved)
    before = contents(twin)
    step(twin, 1)
    assert contents(twin) != before
    twin.close()
    again = opened(saved)
    assert contents(again) == before
    again.close()


def test_one_process_at_a_time(saved: Path) -> None:
    twin = opened(saved)
    with pytest.raises(StoreInUseError, match="open in another"):
        opened(saved)
    twin.close()
    # Another process may change the file from now on.
    for use in (lambda: twin.decide([1]), lambda: twin[1], twin.save, twin.totals):
        with pytest.raises(StoreError, match="closed"):
            use()
    opened(saved).close()


def test_what_is_no_fleet_or_of_other_arms(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="not the folder of a fleet"):
        opened(tmp_path)
    with pytest.raises(OtherArmsError):
        Fleet.open(saved, ARMS[::-1])
    with pytest.raises(SettingError, match="exists"):
        fleet().save(saved)
    with pytest.raises(SettingError, match="no folder yet"):
        fleet().save()


def test_damage_is_refused_by_name_when_it_is_met(saved: Path) -> None:
    rng = np.random.default_rng(0)
    ids = (rng.integers(0, 300, PAIRS)) % MEMBERS
    (rows,) = saved.glob("rows-*")
    data = bytearray(rows.read_bytes())
    data[int(ids[0]) * 101 + 40] ^= 1
    rows.write_bytes(data)
    twin = opened(saved)
    twin.decide([4000])
    with pytest.raises(DamagedStoreError, match="are not what was saved"):
        twin.decide([4000, ids[0]])
    with pytest.raises(DamagedStoreError):
        twin[int(ids[0])]
    with pytest.raises(DamagedStoreError):
        twin.check()
    with pytest.raises(DamagedStoreError):
        twin.add_arms(["z"])
    assert twin.stats([4000]).decisions[0] == 1
    twin.close()


@pytest.mark.parametrize("file", ["rows", "sums", "wide", "names"])
def test_files_that_end_too_early_or_are_gone(saved: Path, file: str) -> None:
    (found,) = saved.glob(f"{file}-*")
    if found.stat().st_size:
        os.truncate(found, found.stat().st_size - 1)
        with pytest.raises(DamagedStoreError, match=file):
            opened(saved)
    found.unlink()
    with pytest.raises(DamagedStoreError, match=file):
        opened(saved)


def test_a_damaged_header_and_a_newer_one(saved: Path) -> None:
    header = saved / "fleet.json"
    text = header.read_bytes()
    header.write_bytes(text.replace(b"5000", b"5001", 1))
    with pytest.raises(DamagedStoreError, match=r"fleet\.json"):
        opened(saved)
    newer = header_bytes({**read_header(text, saved), "format": 2})
    header.write_bytes(newer)
    with pytest.raises(NewerStoreError, match="newer"):
        opened(saved)


class _DiedError(Exception):
    pass


@pytest.mark.parametrize("number", [1, 6])
def test_a_save_that_ends_at_any_call_of_the_system(
    saved: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each time one call later than before: the save counts as a whole, or not at all."""
    seen = set()
    for calls in range(100):
        twin = opened(saved)
        before = contents(twin)
        step(twin, number)
        after = contents(twin)
        left = [calls]

        def count(function: object, left: list[int] = left) -> object:
            def counted(*arguments: object, **named: object) -> object:
                if left[0] == 0:
                    raise _DiedError
                left[0] -= 1
                return function(*arguments, **named)  # type: ignore[operator]

            return counted

        with monkeypatch.context() as patch:
            for name in ("fsync", "replace", "unlink", "truncate", "rename"):
                patch.setattr(os, name, count(getattr(os, name)))
            try:
                twin.save()
                done = True
            except _DiedError:
                done = False
        if calls % 2 and not done:  # the same process tries again: then it counts
            step(twin, 100)
            after = contents(twin)
            twin.save()
            done = True
        twin.close()
        again = opened(saved)
        again.check()
        found = contents(again)
        again.close()
        assert found in ((after,) if done else (before, after))
        seen.add(found == after)
        if left[0] > 0:
            break
    else:
        pytest.fail("a save makes more calls than that")
    assert seen == {False, True}


def killed(path: Path, kills: int) -> int:
    """Kill a process that saves again and again, and look each time; return the saves seen."""
    rng = random.Random(kills)
    twin, first, done = fleet(), fleet(), 0
    for each in (twin, first):
        step(each, 0)
    first.save(path)
    first.close()
    for _ in range(kills):
        heard, told = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                mine = opened(path)
                number = mine.totals().decisions // PAIRS
                while True:
                    step(mine, number)
                    os.write(told, b"s")
                    mine.save()
                    number += 1
            finally:
                os._exit(1)
        for _ in range(rng.choice([1, 2, 3])):  # so many saves have begun
            assert os.read(heard, 1) == b"s"
        time.sleep(rng.random() * 0.02)
        os.kill(child, signal.SIGKILL)
        assert os.waitpid(child, 0)[1] == signal.SIGKILL
        os.close(heard)
        os.close(told)
        found = opened(path)
        found.check()
        total = found.totals().decisions
        assert total % PAIRS == 0
        while done < total // PAIRS - 1:
            done += 1
            step(twin, done)
        assert contents(found) == contents(twin)
        found.close()
    return done


def test_a_killed_save_leaves_the_last_complete_one(tmp_path: Path) -> None:
    assert killed(tmp_path / "readers", 5) > 0


def test_two_hundred_killed_saves(tmp_path: Path) -> None:
    assert killed(tmp_path / "readers", 200) > 100
