"""`handful plot`: draw results that `handful run --out` wrote."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from handful.cli.show import HELP, check_out, number
from handful.errors import SettingError
from handful.instances import instance
from handful.plots.panels import KINDS, draw
from handful.plots.style import SCALES, save
from handful.simulation import Result, read_parquet

ENDINGS = (".png", ".svg", ".pdf")


@click.command("plot", context_settings=HELP)
@click.argument(
    "files",
    nargs=-1,
    required=True,
    metavar="FILE.parquet...",
    type=click.Path(dir_okay=False, path_type=Path),
)
@click.option(
    "--kind", "-k", type=click.Choice(KINDS), default="regret", show_default=True,
    help="regret: over time; bars: at the horizon; pulls: by arm; memory: which arms were in "
    "memory when, in one run of a simulation with --record.",
)  # fmt: skip
@click.option(
    "--out", "-o", type=click.Path(dir_okay=False, path_type=Path), metavar="X.png",
    help="The figure: .png, .svg or .pdf; beside the first file unless given.",
)  # fmt: skip
@click.option("--policy", "-p", "policies", multiple=True, metavar="NAME", help="Only this policy.")
@click.option("--memory", "-m", "memories", type=number, multiple=True, help="Only this M.")
@click.option(
    "--instance", "-i", "instances", multiple=True, metavar="SPEC", help="Only this instance."
)
@click.option(
    "--run", "-r", type=number, default=0, show_default=True, help="Which run, for memory."
)
@click.option(
    "--x", type=click.Choice(SCALES), help="The horizontal axis; chosen by the kind unless given."
)
@click.option(
    "--y", type=click.Choice(SCALES), help="The vertical axis; chosen by the kind unless given."
)
@click.option("--title", help="The title, in place of the usual one.")
def command(
    files: tuple[Path, ...],
    kind: str,
    out: Path | None,
    policies: tuple[str, ...],
    memories: tuple[int, ...],
    instances: tuple[str, ...],
    run: int,
    x: str | None,
    y: str | None,
    title: str | None,
) -> None:
    """Draw results that `handful run --out` wrote, and print the name of the figure.

    \b
    handful run -p ucb-m -m 2 -m 5 -i linear:10 -T 1e5 --runs 20 --record --out x.parquet
    handful plot x.parquet
    handful plot x.parquet --kind memory --memory 2 --out memory.svg
    """
    if not all(file.name for file in files):
        raise SettingError("the name of a file is empty: give files that `handful run --out` wrote")
    out = out or files[0].with_name(f"{files[0].stem}-{kind}.png")
    check_out(out, ENDINGS)
    results = [result for file in files for result in read_parquet(file)]
    chosen = _chosen(results, policies, memories, instances)
    save(draw(kind, chosen, run=run, x=x, y=y, title=title), str(out))
    click.echo(out)


def _chosen(
    results: list[Result],
    policies: tuple[str, ...],
    memories: tuple[int, ...],
    instances: tuple[str, ...],
) -> list[Result]:
    """Return the results that match the filters; each filter must match at least one."""
    worlds = tuple(_known_as(spec) for spec in instances)
    for option, key, wanted in (
        ("--policy", "policy", policies),
        ("--memory", "memory", memories),
        ("--instance", "instance", worlds),
    ):
        for value in wanted:
            if not any(_is(result, key, value) for result in results):
                there = _there(result.settings[key] for result in results)
                raise SettingError(f"{option} {value}: the files have {there}")
        if wanted:
            results = [r for r in results if any(_is(r, key, value) for value in wanted)]
    return results


def _is(result: Result, key: str, value: object) -> bool:
    return value == result.settings[key] or (key == "policy" and value == result.settings["label"])


def _known_as(spec: str) -> str:
    """Return an instance's name as results have it: B_L:10 is linear:10."""
    try:
        return instance(spec).name
    except SettingError:  # an instance of one's own has any name
        return spec


def _there(values: Iterable[object]) -> str:
    return ", ".join(dict.fromkeys(str(value) for value in values))
