"""Where the random numbers of a run come from.

Everything in run r of a cell follows from (seed, cell, r), and not from the number of workers, the
batch, the engine or the horizon. So a cell or a range of its runs can be rerun alone, and a shorter
horizon is a prefix of a longer one (except for policies that are given the horizon). A reward tape
follows from (seed, r) alone, so all policies get the same rewards for the same arm and time.
"""

from __future__ import annotations

from handful.core.rng import stream, words


def policy_seed(seed: int, cell: str, run: int) -> int:
    """The `seed=` of the policy in a run: give it to a policy of your own to replay the run."""
    return words("run", seed, cell, run, count=1)[0]


def reward_stream(seed: int, cell: str, run: int) -> list[int]:
    """The generator of a run's rewards when they do not come from a tape."""
    return stream("rewards", seed, cell, run)


def world_key(seed: int, cell: str, run: int, tape: bool) -> int:
    """The key that a reservoir's arms in a run follow from; on a tape the same for all policies."""
    return words("world", seed, "" if tape else cell, run, count=1)[0]


def tape_key(seed: int, run: int) -> int:
    """The key of a run's reward tape."""
    return words("tape", seed, run, count=1)[0]
