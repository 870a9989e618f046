"""`handful replay`: evaluate policies on logged decisions."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import click

from handful.cli import options
from handful.cli.show import HELP, number, progress, table
from handful.errors import SettingError
from handful.evaluation import Evaluation, Log, Replay, ValueEstimate, evaluate, read_log, replay
from handful.evaluation.replaying import policy_on
from handful.evaluation.targets import chosen_by
from handful.simulation.plan import parse_policy

SLOW = 1.0
"""Above so many seconds, the rate of a replay is reported."""


@click.command("replay", context_settings=HELP)
@click.argument("log", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--policy", "-p", "policies", multiple=True, metavar="NAME",
    help="A policy that learns, as in `handful run`: race, ucb-m:eta=0.2, module:Class. It is "
    "replayed on the log. Repeat for more.",
)  # fmt: skip
@click.option(
    "--memory", "-m", "memories", type=number, multiple=True,
    help="M, the most arms with statistics; ignored by policies with a fixed memory. "
    "Repeat for more.",
)  # fmt: skip
@click.option(
    "--target", "-t", "targets", multiple=True, metavar="TARGET",
    help="A target that does not learn: uniform; arm:LABEL; best:K, the K arms that were best in "
    "one half of the log, evaluated on the other; recommended, by the logging policy. It is "
    "evaluated by inverse propensity scores. Repeat for more.",
)  # fmt: skip
@click.option("--arm-column", default="arm", show_default=True, help="The arm that was shown.")
@click.option("--reward-column", default="reward", show_default=True, help="Its reward.")
@click.option(
    "--probability-column",
    help="The probability with which the logging policy chose this arm; `probability` if there is "
    "such a column. Without one, uniform choices are assumed.",
)  # fmt: skip
@click.option("--bandit", help="Which bandit's decisions to read, if the log has several.")
@click.option(
    "--rescale", type=float, nargs=2, metavar="LO HI", help="The range of rewards, if not [0, 1]."
)
@click.option(
    "--every-row", is_flag=True,
    help="Accept every row in a replay, whatever its probability: more rows match, but the "
    "result is right only if the reward depends on the arm alone.",
)  # fmt: skip
@options.seed("-s")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    log: Path,
    policies: tuple[str, ...],
    memories: tuple[int, ...],
    targets: tuple[str, ...],
    arm_column: str,
    reward_column: str,
    probability_column: str | None,
    bandit: str | None,
    rescale: tuple[float, float] | None,
    every_row: bool,
    seed: int,
    as_json: bool,
) -> None:
    """Evaluate policies on logged decisions, with 95% intervals.

    LOG is a file .parquet, .csv or .jsonl with a row for each decision, such as `handful export`
    writes. Policies that learn are replayed: a row counts if the policy chooses the logged arm.
    Targets that do not learn are evaluated by inverse propensity scores. Warnings say what the log
    cannot tell.

    \b
    handful replay log.parquet --policy race --memory 8
    handful replay log.csv --target uniform --target arm:blue --probability-column pscore
    """
    if not policies and not targets:
        raise SettingError("say what to evaluate: --policy race --memory 8, or --target uniform")
    plans = [(policy, memory) for policy in policies for memory in _memories(policy, memories)]
    known = read_log(
        log, arm_column=arm_column, reward_column=reward_column, bandit=bandit, rescale=rescale,
        probability_column=probability_column,
    )  # fmt: skip
    for policy, memory in plans:
        policy_on(known, policy, memory, seed, {})
    for target in targets:
        chosen_by(target, known)
    replays = _replays(known, plans, seed, every_row)
    evaluations = [evaluate(known, target) for target in targets]
    if as_json:
        found = {
            "log": known.to_dict(),
            "replays": [each.to_dict() for each in replays],
            "evaluations": [each.to_dict() for each in evaluations],
        }
        click.echo(json.dumps(found, default=str))
        return
    _print(known, replays, evaluations)
    _warn(known, replays, evaluations)


def _memories(policy: str, memories: Sequence[int]) -> Sequence[int | None]:
    cls = parse_policy(policy)[0]
    if not cls.takes_memory():
        return (None,)
    if not memories:
        raise SettingError(f"{cls.name} needs --memory: how many arms may have statistics?")
    return memories


def _replays(
    log: Log, plans: Sequence[tuple[str, int | None]], seed: int, every_row: bool
) -> list[Replay]:
    found: list[Replay] = []
    with progress(max(1, len(plans)) * len(log), "starting") as show:
        for policy, memory in plans:
            before = len(found) * len(log)

            def step(rows: int, policy: str = policy, before: int = before) -> None:
                show(before + rows, policy)

            found.append(
                replay(log, policy, memory=memory, seed=seed, every_row=every_row, progress=step)
            )
    return found


def _print(log: Log, replays: Sequence[Replay], evaluations: Sequence[Evaluation]) -> None:
    heads = ["evaluated", "method", "value", "low", "high", "rows"]
    rows = [["the log itself", "mean", *_numbers(log.value), f"{len(log)}"]]
    rows += [[each.label, "replay", *_numbers(each.value), f"{each.matches}"] for each in replays]
    for each in evaluations:
        for method, value in (
            ("IPS", each.ips),
            ("self-normalised", each.snips),
            ("conservative", each.conservative),
        ):
            rows.append([each.target, method, *_numbers(value), f"{each.sample:.0f}"])
    table(heads, rows, left=2)


def _numbers(estimate: ValueEstimate) -> list[str]:
    return ["-" if math.isnan(number) else f"{number:.4g}" for number in estimate]


def _warn(log: Log, replays: Sequence[Replay], evaluations: Sequence[Evaluation]) -> None:
    common = [text for text in replays[0].warnings if _is_common(text, replays)] if replays else []
    for text in (*log.warnings, *common):
        click.echo(f"warning: {text}", err=True)
    if replays and replays[0].note:  # the same for all of them
        click.echo(f"replay: {replays[0].note}", err=True)
    for each in replays:
        for text in each.warnings:
            if text not in common:
                click.echo(f"warning: {each.label}: {text}", err=True)
        if each.seconds > SLOW:
            click.echo(
                f"{each.label}: {each.rows:,} rows in {each.seconds:.1f} s, "
                f"{each.rows_per_second:,.0f} rows/s",
                err=True,
            )
    for found in evaluations:
        if found.note:
            click.echo(f"{found.target}: {found.note}", err=True)
        for text in found.warnings:
            click.echo(f"warning: {text}", err=True)


def _is_common(text: str, replays: Sequence[Replay]) -> bool:
    return all(text in each.warnings for each in replays)
