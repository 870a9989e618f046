"""Run the leaderboard on real data: `make real`.

    python -m benchmarks.real [--runs N] [--only clicks,films] [--workers 2] [--cached | --pages]

Without options, docs/real.json, the tables of docs/real.md and README.md and docs/images/real.png
are written. With `--runs`, a quick look at horizons of 10^4 and 10^5 with at most so many runs, and
everything goes to bench/real. `--only` runs the cells of some data sets, and writes nothing: what
has been run is stored. `--cached` runs nothing, and shows as missing what has not been run.
`--pages` runs nothing, either, and writes the pages from docs/real.json.
"""

from __future__ import annotations

import argparse
import sys

from benchmarks.peers import ROOT
from benchmarks.real import results
from benchmarks.real.cells import HORIZONS, planned, read, run_all, to_terminal
from benchmarks.real.figure import save_figure
from benchmarks.real.page import write_pages, written
from benchmarks.real.sources import FOLDER, SOURCES, SourceError, arms, parquet

QUICK_HORIZONS = HORIZONS[:2]


def main() -> None:
    """Do what the command line asks for."""
    names = [source.name for source in SOURCES]
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", type=int, help="a quick look with at most so many runs")
    parser.add_argument("--only", help=f"data sets, of {','.join(names)}; writes no pages")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--cached", action="store_true", help="run nothing, show what is stored")
    parser.add_argument("--pages", action="store_true", help="write the pages, run nothing")
    options = parser.parse_args()
    if options.pages:
        write_pages(results.load())
        save_figure(results.load(), ROOT / "docs" / "images" / "real.png")
        return
    only = options.only.split(",") if options.only else names
    try:
        data = {source.name: arms(parquet(source)) for source in SOURCES if source.name in only}
    except SourceError as error:
        sys.exit(f"{error}")
    horizons = QUICK_HORIZONS if options.runs else HORIZONS
    cells = planned(data, horizons, options.runs)
    stored = FOLDER / "cells"
    run = () if options.cached else cells
    run_all(run, stored, options.workers, to_terminal)
    found = {cell: kept for cell in cells if (kept := read(cell, stored)) is not None}
    if options.only:
        return
    shown = results.of_cells(data, cells, found)
    if options.runs:
        folder = ROOT / "bench" / "real"
        folder.mkdir(parents=True, exist_ok=True)
        results.save(shown, folder / "real.json")
        (folder / "real.md").write_text(written(shown))
        save_figure(shown, folder / "real.png")
        to_terminal(f"written to {folder.relative_to(ROOT)}")
    else:
        results.save(shown)
        write_pages(shown)
        save_figure(shown, ROOT / "docs" / "images" / "real.png")


if __name__ == "__main__":
    main()
