"""`handful doctor`: check an installation or a store."""

from __future__ import annotations

import json
import os
import platform
import sys
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import NoReturn

import click

from handful import __version__
from handful.cli.show import HELP
from handful.cli.stores import as_store
from handful.errors import DamagedStoreError, EngineError

PACKAGES = ("numba", "numpy", "polars", "matplotlib", "rich", "click", "pandas")
OPTIONAL = ("pandas",)


@click.command("doctor", context_settings=HELP)
@click.option(
    "--store",
    metavar="FILE|ADDRESS",
    callback=as_store,
    default=None,
    help="Examine this store instead.",
)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object.")
def command(store: str | Path | None, as_json: bool) -> None:
    """Check that this installation works, or that a store does.

    Prints versions and where kernels are cached, runs the python and the compiled engine on one
    reward tape and compares them bit for bit, compares the kernels of the skipping engine with
    their source, and measures the speed. Exits with 1 if anything is wrong.

    With --store, reads a whole store (a file only while it is not being served): checks every row
    of its log, rebuilds every bandit from the log alone, and compares the result byte for byte
    with the state that a start would load.
    """
    if store is not None:
        _examine(store, as_json)
    report: dict[str, object] = {
        "handful": __version__,
        "python": platform.python_version(),
        "platform": platform.platform(),
        "cores": os.cpu_count(),
    }
    problems: list[str] = []
    for package in PACKAGES:
        try:
            report[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            report[package] = None
            if package not in OPTIONAL:
                problems.append(f"{package} is missing: pip install 'handful[sim]'")
    if not problems:
        _check_engines(report, problems)
    report["problems"] = problems
    if as_json:
        click.echo(json.dumps(report))
    else:
        for key, value in report.items():
            if key != "problems":
                click.echo(f"{key:<18} {'not installed' if value is None else value}")
        for problem in problems:
            click.echo(f"problem: {problem}", err=True)
        click.echo("all is well" if not problems else f"{len(problems)} problem(s)")
    sys.exit(bool(problems))


def _examine(store: str | Path, as_json: bool) -> NoReturn:
    """Print what is in a store and what is wrong with it, and exit."""
    from handful.service.doctor import examine
    from handful.storage.opening import open_store, shown

    def progress(row: int, rows: int) -> None:
        if sys.stderr.isatty():
            click.echo(f"\rrow {row:,} of {rows:,}", nl=False, err=True)

    report = None
    problems = []
    try:
        with open_store(store, create=False, patient=True) as storage:
            report = examine(storage, progress)
            problems = report.problems
    except DamagedStoreError as error:
        problems = [str(error)]
    if as_json:
        click.echo(json.dumps({"problems": problems} if report is None else report._asdict()))
    else:
        if report is not None:
            click.echo(
                f"{shown(store)}: {report.rows:,} rows, {report.bandits:,} bandits, "
                f"{report.decisions:,} decisions, {report.rewards:,} rewards, "
                f"{report.bytes:,} bytes"
            )
        for problem in problems:
            click.echo(f"problem: {problem}", err=True)
        click.echo("all is well" if not problems else f"{len(problems)} problem(s)")
    sys.exit(bool(problems))


def _check_engines(report: dict[str, object], problems: list[str]) -> None:
    from handful.compiling.jit import cache_folder
    from handful.simulation import simulate

    click.echo("running the engines; kernels that are not cached yet are compiled", err=True)
    folder = cache_folder()
    report["kernel cache"] = str(folder)
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        problems.append(
            f"kernels cannot be cached in {folder}, so every process compiles them again: "
            "set HANDFUL_CACHE_DIR to a folder that can be written to"
        )
    for policy in ("ucb-m", "moss-m", "ts-m"):
        a, b = (
            simulate(policy, "linear:20", memory=3, horizon=2000, runs=2, tape=True, engine=engine)
            for engine in ("python", "compiled")
        )
        same = a.curve.per_run.tolist() == b.curve.per_run.tolist()
        report[f"{policy} engines"] = "agree" if same else "differ"
        if not same:
            problems.append(f"the engines differ on {policy}: please report this")
    for policy, memory in (("imed", None), ("ts-m", 3)):
        try:
            simulate(policy, "linear:20", memory=memory, horizon=2000, runs=2, engine="skip")
            report[f"{policy} skipping"] = "agrees with its source"
        except EngineError as error:
            report[f"{policy} skipping"] = "differs"
            problems.append(str(error))
    timed = simulate("ucb-m", "linear:100", memory=2, horizon=10**6, runs=64, n_jobs=1)
    rate = timed.settings["pulls_per_second"]
    report["pulls per second"] = f"{rate / 1e6:.0f} million (ucb-m, M = 2, 64 runs, one core)"
