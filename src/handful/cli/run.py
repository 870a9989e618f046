"""`handful run`: simulate a grid of policies, memories, instances and horizons."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path

import click

from handful.cli import options
from handful.cli.show import HELP, check_out, compiling, number, progress, say_data, table
from handful.errors import SettingError, WriteError, shortened
from handful.simulation import Cell, Result, cell, run_cell, write_csv, write_parquet
from handful.simulation.plan import ENGINES, parse_policy


@click.command("run", context_settings=HELP)
@click.option(
    "--policy", "-p", "policies", multiple=True, required=True, metavar="NAME",
    help="A policy, as `handful policies` lists them; settings may follow: ucb-m:eta=0.2. One of "
    "your own: module:Class or module:Class:eta=0.2, searched for in the current directory, too. "
    "Repeat for a grid.",
)  # fmt: skip
@click.option(
    "--memory", "-m", "memories", type=number, multiple=True,
    help="M, the most arms with statistics; ignored by policies with a fixed memory. "
    "Repeat for a grid.",
)  # fmt: skip
@click.option(
    "--instance", "-i", "instances", multiple=True, required=True, metavar="SPEC",
    help="linear:K, power:K:ALPHA, bernoulli:P,P,..., B_L:K, B_0.3:K; with another first mean "
    "than 0.99: linear:K:MU_STAR, power:K:ALPHA:MU_STAR; endless: beta:A:B:MU_STAR, I1, I2, I3, "
    "I4; a reward distribution after a plus: linear:100+beta, +uniform, +constant, +truncnorm:0.1; "
    "rewards from a file: data:FILE?arm=COLUMN&reward=COLUMN, in quotes. Repeat for a grid.",
)  # fmt: skip
@click.option(
    "--horizon", "-T", "horizons", type=number, multiple=True, required=True,
    help="Pulls per run, such as 1e6. Repeat for a grid.",
)  # fmt: skip
@click.option("--runs", "-r", type=number, default=100, show_default=True, help="Independent runs.")
@options.seed("-s")
@click.option("--eta", type=float, help="Scale of the exploration bonus of policies that have one.")
@click.option("--alpha", type=float, help="Growth of the pool of policies on endless arms.")
@click.option("--rho", type=float, help="Also report the regret to the best share rho of the arms.")
@click.option(
    "--engine", type=click.Choice(ENGINES), default="auto", show_default=True,
    help="python: the policy object itself, pull by pull; compiled: the same choices, much faster; "
    "skip: the same distribution, faster still where pulls cannot change a decision.",
)  # fmt: skip
@click.option("--tape", is_flag=True, help="The same reward tape for all policies.")
@click.option("--record", is_flag=True, help="Record which arms were in memory when (in --out).")
@options.traffic
@options.n_jobs
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list, one object a cell.")
@click.option(
    "--out", "-o", type=click.Path(dir_okay=False, path_type=Path), metavar="X.parquet",
    help="Write all runs to a file: .parquet, which `handful plot` reads, or .csv.",
)  # fmt: skip
def command(
    policies: tuple[str, ...],
    memories: tuple[int, ...],
    instances: tuple[str, ...],
    horizons: tuple[int, ...],
    runs: int,
    seed: int,
    eta: float | None,
    alpha: float | None,
    rho: float | None,
    engine: str,
    tape: bool,
    record: bool,
    delay: str | None,
    lost: float | None,
    drift: str | None,
    clicks_only: int | None,
    churn: int | None,
    n_jobs: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Simulate policies on instances and print their regret.

    \b
    handful run -p ucb-m -p moss-m -m 2 -m 10 -i linear:100 -T 1e6 --runs 20
    """
    if out is not None:
        check_out(out, (".parquet", ".csv"))
    if record and (out is None or out.suffix != ".parquet"):
        raise SettingError("--record needs a file for the record: give --out X.parquet")
    shared = {"eta": eta, "alpha": alpha}
    cells = [
        cell(
            policy, instance, memory, horizon, runs, seed, tape, record, settings,
            delay=delay, lost=lost, drift=drift, clicks_only=clicks_only, churn=churn,
        )
        for policy in policies
        for settings in [_accepted(policy, shared)]
        for memory in _memories(policy, memories)
        for instance in instances
        for horizon in horizons
    ]  # fmt: skip
    _check_used(cells, shared, memories)
    if rho is not None:
        for option, value in (("--drift", drift), ("--churn", churn)):
            if value is not None:
                raise SettingError(
                    f"--rho compares with a fixed mean, and with {option} {value} the means "
                    "change: leave one of them out"
                )
        for planned in cells:
            planned.instance.quantile(rho)
    say_data(planned.instance for planned in cells)
    results = _run(cells, engine, os.cpu_count() or 1 if n_jobs is None else n_jobs)
    failed = None if out is None else _write(results, out)
    if as_json:
        click.echo(json.dumps([result.to_dict(rho) for result in results]))
    else:
        _print(results, rho)
    _say_what_was_summed(results)
    if failed is not None:
        raise failed


def _write(results: list[Result], out: Path) -> WriteError | None:
    """Write the file; an error is returned, so that the results can be printed before it."""
    write = write_csv if out.suffix == ".csv" else write_parquet
    try:
        write(results, out)
    except WriteError as error:
        return WriteError(f"{error}; the results were printed, but not written")
    return None


def _say_what_was_summed(results: list[Result]) -> None:
    for result in results:
        if result.pulls is None and result.mean_pulls is not None:
            s = result.settings
            click.echo(
                f"{result.label} on {shortened(result.world)}: pulls by arm are a mean over "
                f"runs, since {s['runs']:,} runs of {s['n_arms']:,} arms are too many to store",
                err=True,
            )


def _run(cells: list[Cell], engine: str, n_jobs: int) -> list[Result]:
    total = sum(planned.horizon * planned.runs for planned in cells)
    before = 0
    results = []
    with progress(total, "starting") as show:
        for planned in cells:

            def step(done: int, planned: Cell = planned, before: int = before) -> None:
                show(before + done, planned.shown)

            def on_compile(planned: Cell = planned, before: int = before) -> None:
                show(before, compiling(planned))

            results.append(
                run_cell(
                    planned, engine=engine, n_jobs=n_jobs, progress=step, on_compile=on_compile
                )
            )
            before += planned.horizon * planned.runs
    return results


def _print(results: list[Result], rho: float | None) -> None:
    heads = [
        "policy",
        "instance",
        "M",
        "horizon",
        "runs",
        "regret",
        "± s.e.",
        "median",
        "Mpulls/s",
        "engine",
    ]
    if rho is not None:
        heads.append(f"regret({rho:g})")
    traffic = any(result.traffic for result in results)
    if traffic:
        heads.insert(2, "traffic")
    rows = []
    for result in results:
        s, regret = result.settings, result.regret
        rows.append(
            [
                s["label"],
                shortened(s["instance"], 32),
                str(s["memory"]),
                f"{s['horizon']:g}" if s["horizon"] < 1e6 else f"{s['horizon']:.6g}",
                str(s["runs"]),
                f"{regret.mean:.1f}",
                "-" if math.isnan(regret.sem) else f"{regret.sem:.1f}",
                f"{regret.median:.1f}",
                f"{s['pulls_per_second'] / 1e6:.1f}",
                s["engine"],
            ]
        )
        if rho is not None:
            rows[-1].append(f"{result.quantile_regret(rho).mean:.1f}")
        if traffic:
            rows[-1].insert(2, result.traffic)
    table(heads, rows, left=3 if traffic else 2, spare=("Mpulls/s", "engine", "median", "runs"))


def _memories(policy: str, memories: tuple[int, ...]) -> tuple[int | None, ...]:
    """Return the memories to run a policy with: its own where it is fixed."""
    cls = parse_policy(policy)[0]
    if not cls.takes_memory():
        return (None,)
    if not memories:
        raise SettingError(f"{cls.name} needs --memory: how many arms may have statistics?")
    return memories


def _accepted(policy: str, shared: dict[str, float | None]) -> dict[str, float | None]:
    """Return those settings of the whole grid that this policy has."""
    known = parse_policy(policy)[0].settings
    return {key: value for key, value in shared.items() if key in known}


def _check_used(
    cells: list[Cell], shared: dict[str, float | None], memories: tuple[int, ...]
) -> None:
    names = ", ".join(sorted({planned.policy.name for planned in cells}))
    for key, value in shared.items():
        if value is not None and not any(key in planned.settings for planned in cells):
            raise SettingError(f"--{key} was given, but no policy of the grid has it: {names}")
    if memories and not any(planned.policy.takes_memory() for planned in cells):
        raise SettingError(
            f"--memory was given, but every policy of the grid has a memory of its own: {names}"
        )
