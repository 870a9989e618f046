"""Sweeps and results that a release wrote are read by every later one, number for number."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree
from typing import Any

import polars as pl
import pytest

import handful
from handful.errors import SettingError
from handful.simulation import result_files
from handful.simulation.result_files import read_parquet
from handful.sweeps.folder import FORMAT
from tests.sweeps.golden.write import NUMBERS, RESULT, SWEEP, numbers

WANTED: dict[str, Any] = json.loads(NUMBERS.read_text(encoding="utf-8"))


def test_the_folder_of_a_sweep_is_read(tmp_path: Path) -> None:
    sweep = handful.read_sweep(copytree(SWEEP, tmp_path / "sweep"))
    assert [numbers(result) for result in sweep.results] == WANTED["sweep-1"]
    assert sweep.store.damaged == {}


def test_a_file_of_results_is_read() -> None:
    found = [numbers(result) for result in read_parquet(RESULT)]
    assert found == WANTED["result-1"]
    assert found[0]["stays"]


@pytest.mark.parametrize("found", ["2", None])
def test_another_format_is_refused_by_its_number(found: str | None, tmp_path: Path) -> None:
    metadata = pl.read_parquet_metadata(RESULT)
    assert metadata.pop("handful-format") == "1"
    if found is not None:
        metadata["handful-format"] = found
    path = tmp_path / "other.parquet"
    pl.read_parquet(RESULT).write_parquet(path, metadata=metadata)
    with pytest.raises(SettingError, match=f"has the format {found or 'none'}, and .* reads 1"):
        read_parquet(path)


def test_the_current_formats_have_golden_files() -> None:
    assert (FORMAT, result_files.FORMAT) == (1, 1), "write golden files of the new format, too"
