"""Replay: run a policy that learns on a log, counting the rows where both chose the same arm.

Li, Chu, Langford and Wang (2011), "Unbiased offline evaluation of contextual-bandit-based news
article recommendation algorithms", algorithm 2: go through the rows; if the policy's choice is the
logged arm, the policy is given the reward, and the row counts; otherwise the row is skipped, and
the policy is unchanged. If the log chose uniformly and independently of the past, the T rows that
count are distributed as the policy's first T decisions.

Two departures. The policy is asked once for each row that counts, not for each row: between two of
these rows it is given nothing to learn from, so its choice has the same distribution. And if the
log chose with known probabilities p that are not uniform, a row is first accepted with probability
min p / p. Then any choice of the policy occurs in a row with the same probability, min p.

Since a choice is kept until it occurs in a row, rare arms are not underrepresented even if every
row is accepted. Then another bias is possible: the rows of an arm may differ from the others. A log
that showed an arm mostly in good hours makes it look good. Where the reward depends on the arm
alone, `every_row=True` loses nothing and matches more rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from handful.core.rng import words
from handful.errors import SettingError
from handful.evaluation.checks import of_a_replay
from handful.evaluation.intervals import ValueEstimate, plain_mean
from handful.evaluation.log import Indices, Log
from handful.evaluation.reading import LogLike, read_log
from handful.policies.base import Policy
from handful.simulation.plan import parse_policy

Progress = Callable[[int], None]
"""Called now and then with the rows done so far."""
BLOCK = 1 << 16
"""Rows between two reports of progress."""


@dataclass(frozen=True)
class Replay:
    """The mean reward of a policy in its first `matches` decisions, replayed on a log."""

    policy: str
    label: str
    memory: int
    value: ValueEstimate
    """The interval is of the mean of the arms that this replay chose; other seeds choose others."""
    matches: int
    """The rows that count: the policy's choice was the logged arm."""
    pulls: dict[Any, int]
    """How many of them had each arm, by label."""
    accepted: int
    """The rows that were accepted so that their arms are uniform."""
    rows: int
    seed: int
    recommended: Any
    """The label of the arm that the policy recommends in the end."""
    seconds: float
    log: Log
    note: str = ""
    """How rows were accepted, if the log is not uniform."""
    warnings: tuple[str, ...] = ()
    """What the log cannot tell of this policy; those of the log itself are in `log.warnings`."""

    @property
    def rows_per_second(self) -> float:
        """How fast the policy went through the log."""
        return self.rows / max(self.seconds, 1e-9)

    def to_dict(self) -> dict[str, Any]:
        """Return plain data for JSON."""
        return {
            "policy": self.policy,
            "label": self.label,
            "memory": self.memory,
            **self.value.to_dict(),
            "matches": self.matches,
            "accepted": self.accepted,
            "rows": self.rows,
            "seed": self.seed,
            "recommended": self.recommended,
            "seconds": self.seconds,
            "rows_per_second": self.rows_per_second,
            "note": self.note,
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        return "\n".join(
            [
                f"{self.label}, replayed on {self.rows:,} decisions, seed {self.seed}",
                f"  mean reward of its first {self.matches:,} decisions: {self.value}",
                f"  recommended in the end: {self.recommended}",
                *([f"  {self.note}"] if self.note else []),
                *(f"  warning: {text}" for text in (*self.log.warnings, *self.warnings)),
            ]
        )


def replay(
    log: LogLike,
    policy: str | type[Policy],
    *,
    memory: int | None = None,
    seed: int = 0,
    every_row: bool = False,
    progress: Progress | None = None,
    **settings: float,
) -> Replay:
    """Estimate the mean reward of a policy that learns, by the rows of a log that it agrees with.

    Args:
        log: a log as `read_log` takes it, or what that returns: there, columns can be named.
        policy: a name such as "race" or "ucb-m:eta=0.2", a subclass of `Policy`, or the name of
            one, "module:Class".
        memory: how many arms may have statistics; left out for policies with a number of their own.
        seed: any integer; the same seed gives the same choices.
        every_row: accept every row, whatever its probability: more rows match, but the result is
            right only if the reward depends on the arm alone.
        progress: a function that is called now and then with the rows done so far.
        settings: the policy's own, such as eta.
    """
    known = read_log(log)
    driven, label = policy_on(known, policy, memory, seed, settings)
    started = time.perf_counter()
    rows = accepted_rows(known, seed, every_row)
    matched = _matched(driven, known, rows, progress)
    seconds = time.perf_counter() - started
    return Replay(
        policy=driven.name,
        label=label,
        memory=driven.memory,
        value=plain_mean(known.reward[matched]).scaled(*known.range),
        matches=len(matched),
        pulls=_by_label(known, matched),
        accepted=len(rows),
        rows=len(known),
        seed=seed,
        recommended=known.labels[driven.recommend()],
        seconds=seconds,
        log=known,
        note="" if every_row or known.is_uniform else _how_accepted(known, len(rows)),
        warnings=tuple(of_a_replay(known, len(matched), every_row)),
    )


def policy_on(
    log: Log,
    policy: str | type[Policy],
    memory: int | None,
    seed: int,
    settings: dict[str, float],
) -> tuple[Policy, str]:
    """Return a new policy on the arms of a log, by their places, and what to call it."""
    cls, inline = parse_policy(policy)
    for wrong, why in ((cls.endless, "is for endless arms"), (cls.clairvoyant, "knows the means")):
        if wrong:
            raise SettingError(
                f"{cls.name} {why}, and a log has rewards of {log.n_arms:,} arms only: take a "
                "policy for finite sets, such as race"
            )
    given: dict[str, Any] = {**settings, **inline}
    made = cls(log.n_arms, memory, seed=seed, **given)
    shown = ", ".join(f"{key}={value:g}" for key, value in given.items())
    title = f"{cls.title} ({shown})" if shown else cls.title
    return made, f"{title}, M = {made.memory}" if cls.takes_memory() else title


def _by_label(log: Log, rows: Indices) -> dict[Any, int]:
    counts = np.bincount(log.arm[rows], minlength=log.n_arms).tolist()
    return {label: count for label, count in zip(log.labels, counts, strict=True) if count}


def accepted_rows(log: Log, seed: int, every_row: bool = False) -> Indices:
    """Return the rows among which all arms have the same probability, in order; or every row."""
    if every_row or log.is_uniform:
        return np.arange(len(log), dtype=np.int64)
    draws = np.random.default_rng(words("accept", seed, count=1)[0]).random(len(log))
    return np.flatnonzero(draws * log.logged < log.least_probability).astype(np.int64)


def _how_accepted(log: Log, accepted: int) -> str:
    return (
        f"{accepted:,} rows were accepted, with {log.least_probability:.3g} over their "
        "probability, among which arms are uniform"
    )


def _matched(policy: Policy, log: Log, rows: Indices, progress: Progress | None) -> Indices:
    """Drive the policy through these rows, and return those in which its choice was logged."""
    matched: list[int] = []
    choice = policy.select()
    for start in range(0, len(rows), BLOCK):
        block = rows[start : start + BLOCK]
        arms, rewards = log.arm[block].tolist(), log.reward[block].tolist()
        for row, arm in enumerate(arms):
            if arm == choice:
                policy.update(choice, rewards[row])
                choice = policy.select()
                matched.append(start + row)
        if progress is not None:
            progress(int(block[-1]) + 1)
    return rows[np.array(matched, dtype=np.int64)]
