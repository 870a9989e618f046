"""The seeds of a run: where its generators start.

The generators of run r of a cell are seeded by (seed, cell, r) alone. The number of workers, the
batch, the engine and the horizon have no influence, so any range of runs can be simulated alone. A
reward tape is seeded by (seed, r) alone, so all policies get the same rewards for the same arm and
time. Which numbers are then drawn from the generators depends on whether the engine skips pulls:
see "Random numbers" in docs/design.md. Delays and losses, drifting means, and arms that come and go
have generators of their own, which on a tape are seeded by (seed, r) alone, too.
"""

from __future__ import annotations

from handful.core.rng import stream, words


def policy_seed(seed: int, cell: str, run: int) -> int:
    """Return the `seed=` of the policy in a run: give it to a policy to replay the run."""
    return words("run", seed, cell, run, count=1)[0]


def reward_stream(seed: int, cell: str, run: int) -> list[int]:
    """Return the generator of a run's rewards when they do not come from a tape."""
    return stream("rewards", seed, cell, run)


def world_key(seed: int, cell: str, run: int, tape: bool) -> int:
    """Return the key of a reservoir's arms in a run; on a tape, one for all policies."""
    return words("world", seed, "" if tape else cell, run, count=1)[0]


def delay_stream(seed: int, cell: str, run: int, tape: bool) -> list[int]:
    """Return the generator of delays and losses in a run; on a tape, one for all policies."""
    return stream("delays", seed, "" if tape else cell, run)


def drift_stream(seed: int, cell: str, run: int, tape: bool) -> list[int]:
    """Return the generator of drifting means in a run; on a tape, one for all policies."""
    return stream("drift", seed, "" if tape else cell, run)


def churn_stream(seed: int, cell: str, run: int, tape: bool) -> list[int]:
    """Return the generator of arms that come and go; on a tape, one for all policies."""
    return stream("churn", seed, "" if tape else cell, run)


def tape_key(seed: int, run: int) -> int:
    """Return the key of a run's reward tape."""
    return words("tape", seed, run, count=1)[0]
