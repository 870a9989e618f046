"""No golden file of a released format is changed or removed, and none is left unlisted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shutil import copytree

import pytest

from handful.adapters import streaming
from handful.core import envelope
from handful.fleet import header
from handful.fleet.shards import manifest
from handful.simulation import result_files
from handful.storage import contract
from handful.storage.postgres import schema
from handful.sweeps import folder as sweep
from tests.golden.digests import FOLDERS, digests, listed
from tests.pages import ROOT

MEANT = (
    "a file that a release wrote looks like this for ever: restore it. If the change is meant, and "
    "no release has written such files, edit tests/golden/digests.json"
)


def test_no_golden_file_has_changed() -> None:
    known, found = listed(), digests()
    changed = sorted(name for name, digest in known.items() if found.get(name) != digest)
    assert not changed, f"{changed}: {MEANT}"


def test_every_golden_file_is_listed() -> None:
    new = sorted(set(digests()) - set(listed()))
    assert not new, f"{new}: run `python -m tests.golden.digests`"


@pytest.mark.parametrize(
    "name",
    [
        "tests/golden/format-1/race.bin",
        "tests/storage/golden/schema-1.db",
        "tests/fleet/golden/numbers-1/journal",
        "tests/sweeps/golden/result-1.parquet",
        "tests/evaluation/golden/log-1.jsonl",
        "tests/adapters/golden/step-1.bin",
    ],
)
def test_a_changed_byte_is_noticed(name: str, tmp_path: Path) -> None:
    for folder in FOLDERS:
        copytree(ROOT / folder, tmp_path / folder)
    path = tmp_path / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    found = digests(tmp_path)
    assert [one for one, digest in listed().items() if found[one] != digest] == [name]


def test_an_added_policy_changes_no_other_entry(tmp_path: Path) -> None:
    for folder in FOLDERS:
        copytree(ROOT / folder, tmp_path / folder)
    path = tmp_path / "tests/golden/format-1/next.json"
    entries = json.loads(path.read_text(encoding="utf-8"))
    entries["brand-new"] = entries["race"]
    path.write_text(json.dumps(entries), encoding="utf-8")
    found = digests(tmp_path)
    assert set(found) - set(listed()) == {"tests/golden/format-1/next.json#brand-new"}
    entries["race"]["recommended"] = "another"
    path.write_text(json.dumps(entries), encoding="utf-8")
    found = digests(tmp_path)
    changed = [one for one, digest in listed().items() if found[one] != digest]
    assert changed == ["tests/golden/format-1/next.json#race"]


PAGE = (ROOT / "docs" / "compatibility.md").read_text(encoding="utf-8")


def test_the_page_names_every_golden_file() -> None:
    kept = {name.partition("#")[0] for name in listed() if not name.endswith(".json")}
    shown = re.findall(r"\]\(\.\./(tests/[^)]*)\)", PAGE)
    unnamed = [name for name in kept if not any(name.startswith(known) for known in shown)]
    assert not unnamed


@pytest.mark.parametrize(
    ("what", "version"),
    [
        ("a saved policy", envelope.VERSION),
        ("a store of the service, SQLite", contract.SCHEMA),
        ("a store of the service, PostgreSQL", schema.VERSION),
        ("a fleet's folder", header.FORMAT),
        ("a sharded fleet's folder", manifest.FORMAT),
        ("a sweep's folder", sweep.FORMAT),
        ("results in Parquet", result_files.FORMAT),
        ("a state of `Step`", streaming.FORMAT),
    ],
)
def test_the_page_has_the_present_formats(what: str, version: int) -> None:
    (row,) = (line for line in PAGE.splitlines() if line.startswith(f"| {what}"))
    assert row.split(" | ")[1] == str(version)
