"""When arms enter and leave memory in the paper's algorithms: rounds, phases, sub-phases.

Algorithm 1, for K arms:

    h0 = ceil((K-1)/(M-1)),  b_1 = M(M+2),  b_w = 2 b_{w-1}
    for w = 1, 2, ...                   phases
        for j = 1, ..., h0              sub-phases
            memory = the incumbent and the next M-1 challengers, with fresh statistics
            run the allocation rule for b_w pulls
            incumbent = the most played arm

Departure from the printed pseudo-code, which can leave arms out of a phase: the challengers of a
phase are all arms but the incumbent that the phase *started* with, in the shuffled order. Then each
phase puts every arm in memory in exactly h0 sub-phases, as the paper's lemma on h0 says. The first
phase takes h0 b_1 pulls, about K M (M+2)/(M-1).

Algorithm 2, for endless arms, runs Algorithm 1 anew in rounds. Round r has t_r = 2^r B pulls on a
pool of n_r = ceil(t_r^alpha) arms, with B = (M^2 (M+2))^(1/(1-alpha)).

The functions of the place (w, j) serve online and in compiled runs of a record; the lockstep
kernels walk the generators `schedule` and `rounds`, which are built from them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from handful.core.rng import GOLDEN, MASK, as_word, mix

FOREVER = 2**62
"""A number of pulls that no run reaches: the only sub-phase if all arms fit in memory."""


class SubPhase(NamedTuple):
    """Sub-phase j of phase w: b pulls on the incumbent and the challengers of rank lo .. hi-1."""

    w: int
    j: int
    b: int
    lo: int
    hi: int


def schedule(K: int, M: int, w: int = 1, j: int = 1) -> Iterator[SubPhase]:
    """Yield all sub-phases in order, from sub-phase j of phase w on."""
    h0 = sub_phases(K, M)
    while True:
        b = budget(K, M, w)
        while j <= h0:
            yield SubPhase(w, j, b, first_rank(M, j), last_rank(K, M, j))
            j += 1
        w, j = w + 1, 1


def budget(K: int, M: int, w: int) -> int:
    """Return b_w, the pulls of a sub-phase of phase w."""
    return FOREVER if M >= K else M * (M + 2) << (w - 1)


def first_rank(M: int, j: int) -> int:
    """Return the rank of the first challenger of sub-phase j."""
    return (j - 1) * (M - 1)


def last_rank(K: int, M: int, j: int) -> int:
    """Return the rank after that of the last challenger of sub-phase j."""
    return min(first_rank(M, j) + M - 1, K - 1)


def sub_phases(K: int, M: int) -> int:
    """Return h0 = ceil((K-1)/(M-1)), the number of sub-phases in a phase."""
    return 1 if M >= K else (K - 2) // (M - 1) + 1


def challenger(rank: int, start: int) -> int:
    """Return the position, in the shuffled order, of a phase's challenger of this rank.

    `start` is the position of the incumbent that the phase started with: it is passed over.
    """
    return rank if rank < start else rank + 1


def pulls_before(K: int, M: int, w: int, j: int) -> int:
    """Return the total pulls of all sub-phases before sub-phase j of phase w."""
    if M >= K:
        return 0
    doubled = 1 << (w - 1)
    return M * (M + 2) * ((doubled - 1) * sub_phases(K, M) + doubled * (j - 1))


class Round(NamedTuple):
    """Round r of Algorithm 2: Algorithm 1 anew for `pulls` pulls on the first `arms` arms."""

    r: int
    pulls: int
    arms: int


def rounds(K: int, B: float, alpha: float, r: int = 1) -> Iterator[Round]:
    """Yield all rounds from round r on.

    A finite set (B = 0) is one endless round on all K arms.
    """
    while True:
        if B == 0.0:
            yield Round(1, FOREVER, K)
        else:
            yield Round(r, round_pulls(B, r), pool(B, alpha, r))
        r += 1


def round_pulls(B: float, r: int) -> int:
    """Return t_r, the pulls of round r, at most `FOREVER`."""
    return int(min(B * 2.0**r, float(FOREVER)))


def pool(B: float, alpha: float, r: int) -> int:
    """Return n_r, the size of the pool in round r.

    The pool only grows: round r works on the arms 0 .. n_r - 1 of the reservoir, which it can name
    by index.
    """
    return math.ceil(min(math.pow(B * 2.0**r, alpha), float(FOREVER)))


def first_horizon(M: int, alpha: float) -> float:
    """Return B of Algorithm 2; infinite beyond what a double holds."""
    try:
        return float((M * M * (M + 2)) ** (1.0 / (1.0 - alpha)))
    except OverflowError:
        return math.inf


def round_key(key: int, r: int) -> int:
    """Return the key of a round's shuffle: each round shuffles its pool anew."""
    return key if r == 1 else mix((key + as_word(r) * GOLDEN) & MASK)
