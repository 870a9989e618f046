"""`handful advise`: recommend a policy for a number of arms and a memory bound."""

from __future__ import annotations

import json

import click

from handful.cli import options
from handful.cli.show import HELP, number, progress, say_data, table
from handful.errors import SettingError
from handful.instances import instance
from handful.studies.advice import advise


@click.command("advise", context_settings=HELP)
@click.option(
    "--arms", "-k", type=number,
    help="K, how many arms there are; those of the first --instance unless given.",
)  # fmt: skip
@click.option(
    "--endless", is_flag=True, help="Arms are endless: new ones are drawn from a reservoir."
)
@click.option(
    "--memory", "-m", type=number, default=2, show_default=True,
    help="M, the most arms with statistics.",
)  # fmt: skip
@click.option(
    "--horizon",
    "-T",
    type=number,
    help="How many pulls there will be, if known; at most 1e6 are simulated.",
)
@click.option(
    "--best",
    type=float,
    help="The approximate mean of the best arm, if known: 0.02 for clicks, say.",
)
@click.option(
    "--instance", "-i", "instances", multiple=True, metavar="SPEC",
    help="An instance like yours, as in `handful run`; otherwise some of different shape. Repeat "
    "for more.",
)  # fmt: skip
@click.option("--runs", "-r", type=number, default=50, show_default=True, help="Independent runs.")
@options.traffic
@options.seed("-s")
@options.n_jobs
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    arms: int | None,
    endless: bool,
    memory: int,
    horizon: int | None,
    best: float | None,
    instances: tuple[str, ...],
    runs: int,
    delay: str | None,
    lost: float | None,
    drift: str | None,
    clicks_only: int | None,
    churn: int | None,
    seed: int,
    n_jobs: int | None,
    as_json: bool,
) -> None:
    """Recommend a policy, with its regret in simulation and the memory that it needs.

    A few policies are simulated, which takes seconds; a minute where kernels must be compiled.

    \b
    handful advise --arms 100 --memory 2
    handful advise --endless --memory 10 --horizon 1e6
    handful advise --arms 10000 --memory 8 --best 0.05
    handful advise --arms 300 --memory 8 --best 0.05 --delay 200 --lost 0.2
    """
    worlds = [instance(spec) for spec in instances]
    if arms is None and not endless and worlds and not worlds[0].endless:
        arms = worlds[0].n_arms
    if endless is (arms is not None):
        both = ", not both" if endless else ""
        raise SettingError(
            f"say how many arms there are with --arms, or that they are --endless{both}"
        )
    say_data(worlds)
    with progress(1.0, "starting (kernels are compiled once, then cached)", 30) as show:
        found = advise(
            arms, memory, horizon, best=best, instances=instances, runs=runs, seed=seed,
            delay=delay, lost=lost, drift=drift, clicks_only=clicks_only, churn=churn,
            n_jobs=n_jobs, progress=show,
        )  # fmt: skip
    if as_json:
        click.echo(json.dumps(found.to_dict()))
        return
    click.echo(f"take {found.best.policy} (M = {found.best.memory}): {found.why}")
    if found.note is not None:
        click.echo(f"NOTE: {found.note}")
    click.echo(f"{found.caption}, and the size of the state:")
    heads, rows = found.table()
    table(heads, rows, spare=heads[2:0:-1])
