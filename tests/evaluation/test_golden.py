"""A log that a release exported is read by every later one, and the same store exports the same."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from tests.evaluation.golden.write import FOUND, LOGS, exported, found_in


@pytest.mark.parametrize("path", LOGS, ids=lambda path: str(path.suffix))
def test_evaluation_finds_the_same_in_it(path: Path) -> None:
    assert found_in(path) == json.loads(FOUND.read_text(encoding="utf-8"))


def test_the_golden_store_still_exports_this_table(tmp_path: Path) -> None:
    found, wanted = (pl.read_parquet(file) for file in (exported("a.parquet", tmp_path), LOGS[0]))
    assert found.schema == wanted.schema
    assert found.equals(wanted)


def test_the_golden_store_still_exports_these_lines(tmp_path: Path) -> None:
    assert exported("a.jsonl", tmp_path).read_bytes() == LOGS[1].read_bytes()
