"""Folders of fleets of every released format are opened, are sound, and go on as they did."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import pytest

from handful.fleet.header import FORMAT
from handful.fleet.journal import NAME as JOURNAL
from handful.fleet.shards import manifest
from tests.fleet.golden import write

# They run the kernels that the worker of these tests has compiled.
pytestmark = pytest.mark.xdist_group("tests/fleet/test_equality.py")

FOLLOWS: dict[str, Any] = json.loads(write.NEXT.read_text(encoding="utf-8"))


def copied(name: str, folder: Path) -> Path:
    return copytree(write.FOLDER / name, folder / name)


@pytest.mark.parametrize("name", write.MEMBERS_OF)
def test_a_fleet_goes_on_as_it_did(name: str, tmp_path: Path) -> None:
    fleet = write.opened(copied(name, tmp_path))
    fleet.check()
    assert write.what_follows(fleet, write.MEMBERS_OF[name]) == FOLLOWS[name]
    fleet.save()
    fleet.close()


def test_a_save_that_was_cut_off_and_a_wide_row_are_among_them(tmp_path: Path) -> None:
    path = copied("numbers-1", tmp_path)
    assert (path / JOURNAL).exists()
    fleet = write.opened(path)
    assert not (path / JOURNAL).exists()
    assert fleet.wide_bytes > 0
    busy = write.MEMBERS_OF["numbers-1"].index(write.BUSY)
    assert FOLLOWS["numbers-1"]["decisions"][busy] == 70_009
    fleet.close()


def test_a_shard_goes_on_as_it_did(tmp_path: Path) -> None:
    path = copied("shard-1", tmp_path)
    assert [log.name for log in path.rglob("calls-*")] == ["calls-2-1"]
    assert write.shard_follows(path) == FOLLOWS["shard-1"]
    assert FOLLOWS["shard-1"]["served"] == 4


def test_a_manifest_of_shards_is_read() -> None:
    assert manifest.read_manifest(write.FOLDER / "shards-1") == write.MANIFEST


def test_the_current_formats_have_golden_folders() -> None:
    assert (FORMAT, manifest.FORMAT) == (1, 1), "write golden folders of the new format, too"
