"""`handful bench`: compare the simulator with textbook loops and other packages, as ratios.

The bench itself is the package `benchmarks` of the source tree. It is not installed with handful,
so this command finds it beside the `src` folder that handful is imported from.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

import handful
from handful.cli.show import HELP, number, progress, table
from handful.errors import SettingError
from handful.simulation.plan import MAX_HORIZON, whole

if TYPE_CHECKING:
    from benchmarks.contest import Row
    from benchmarks.report import Report


@click.command("bench", context_settings=HELP)
@click.argument("names", nargs=-1, metavar="[textbook|growth|peers]...")
@click.option(
    "--quick",
    is_flag=True,
    help="Small sizes: shows that the bench works, not how fast handful is.",
)
@click.option(
    "--horizon", "-T", type=number, default=10**9,
    help="The longest horizon as T grows.  [default: 1e9]",
)  # fmt: skip
@click.option(
    "--patience", type=float,
    help="As T, M or K grow, leave out what would take more seconds than this.  "
    "[default: 30; 2 with --quick]",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), default=Path("bench"),
    show_default=True, help="Folder for bench.json, bench.png and bench.svg.",
)  # fmt: skip
def command(
    names: tuple[str, ...],
    quick: bool,
    horizon: int,
    patience: float | None,
    as_json: bool,
    out: Path,
) -> None:
    """Compare the speed of the simulator with others on the same jobs, on one core, as ratios.

    \b
    textbook  beside one step per pull, in C (with the system's compiler) and in Numba
    growth    as T, M and K grow
    peers     beside pymab, river, MABWiser and SMPyBandits, each in an environment of its own
              under build/peers, installed with pip at its first use

    Without a name: textbook and growth, some minutes. Contestants take turns, and the best turn of
    each counts. The last column is the time of a pull relative to UCB-M, or UCB1, in handful. The
    bench is part of the source tree, not of the installed package: run it from a clone.
    """
    add_source_tree()
    from benchmarks import report
    from benchmarks.suites import QUICK, Sizes, contests

    chosen = report.check_names(names)
    sizes = (QUICK if quick else Sizes()).up_to(whole("horizon", horizon, MAX_HORIZON))
    if patience is not None:
        if not patience > 0:
            raise SettingError(f"--patience {patience:g}: give seconds, more than 0")
        sizes = replace(sizes, patience=patience)
    _make(out)
    first = "starting (kernels are compiled once, then cached)"
    with progress(contests(chosen, sizes), first, lines_every=20) as show:
        measured = report.measure(chosen, sizes, show)
    written = report.write(measured, out)
    if as_json:
        click.echo(json.dumps(measured.to_dict()))
        return
    _print(measured)
    if quick:
        click.echo("quick: these sizes are too small to say how fast handful is")
    for path in written:
        click.echo(path)


def add_source_tree() -> None:
    """Make `benchmarks` importable: put the clone that handful is imported from on `sys.path`."""
    package = Path(handful.__file__).resolve().parent
    root = package.parents[1]
    if package.parent.name != "src" or not (root / "benchmarks" / "suites.py").is_file():
        raise SettingError(
            f"handful bench needs the source tree, and handful is installed without it in "
            f"{package.parent}: clone the repository and run `make bench` there"
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))


def _make(out: Path) -> None:
    """Create the folder to write to, before any work is done."""
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SettingError(f"--out {out}: {error.strerror}") from None
    if not os.access(out, os.W_OK):
        raise SettingError(f"--out {out}: the folder cannot be written to")


def _print(measured: Report) -> None:
    heads = ["suite", "policy", "instance", "by", "M", "T", "runs", "ns/pull", "ratio"]
    table(heads, [_row(row, measured.ratio(row)) for row in measured.rows], left=4)
    if measured.goals:
        rows = [
            [goal.line, goal.asked, f"{goal.measured:.1f}x", "yes" if goal.met else "no"]
            for goal in measured.goals
        ]
        table(["goal", "asked", "measured", "met"], rows)
    if measured.compiler is not None:
        click.echo(f"C loop: {measured.compiler['command']} ({measured.compiler['version']})")
    for line in measured.left_out:
        click.echo(f"left out: {line}")


def _row(row: Row, ratio: float | None) -> list[str]:
    job = row.job
    by = row.by if job.group != "peers" else f"{row.by}, {row.how}"
    return [
        job.group,
        job.policy,
        job.instance,
        by,
        str(job.memory),
        f"{job.horizon:g}",
        str(row.runs),
        f"{row.ns_per_pull:.3g}" if row.ns_per_pull < 1000 else f"{row.ns_per_pull:,.0f}",
        "-" if ratio is None else f"{ratio:,.2f}" if ratio < 100 else f"{ratio:,.0f}",
    ]
