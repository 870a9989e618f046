"""Cells on data are sent to workers with their rows."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from handful.simulation import Result, cell, run_cell
from handful.sweeps.part import Part
from handful.sweeps.task import Job, run_job


def test_a_worker_needs_no_file(tmp_path: Path) -> None:
    file = tmp_path / "log.csv"
    pl.DataFrame({"arm": [1, 2, 1, 2], "reward": [0.5, 0.25, 1.0, 0.0]}).write_csv(file)
    planned = cell("race", f"data:{file}", 2, 50, runs=2)
    here = run_cell(planned, engine="python")
    job = Job.of(Part.whole(planned, "python"))
    assert "data:log.csv?arm=arm&reward=reward" in job.cell
    file.unlink()
    there = run_job(job)
    assert isinstance(there, Result)
    assert there.regret.per_run.tolist() == here.regret.per_run.tolist()
