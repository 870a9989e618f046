"""Many pulls of one arm together: how far it is ahead for certain, and a Binomial draw for all.

Until the time `limit`, no arm but the leader can score as much as `rival`, so only the leader's
score is computed. Suppose that it stays above `rival` for k pulls as long as at most f of them
fail, in any order. Then the k pulls are one Binomial draw. The probability that more of them fail
is about 10^-9 (`misses`). If more do fail, the k pulls are not made at once, but the number of
their successes is known: from then on the leader's rewards are drawn from that urn, one by one and
without replacement, until it is empty. So the distribution is exact there, too.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from handful.compiling.arrays import Floats, Ints, Words
from handful.compiling.jit import named, use
from handful.core import binomial, rng
from handful.simulation.kernels.block import Luck, Memory
from handful.simulation.kernels.scores import DOUBT, DOUBT_BY_PULL, Scores
from handful.simulation.kernels.world import as_int

use(binomial.binomial)
use(rng.uniform)

ARM, LEFT, WINS = 0, 1, 2
"""An urn, that is the slot whose rewards are drawn from it, how many are left and how many of them
are successes."""


@use
def certain(score: float, rival: float) -> bool:
    """Return whether a leader with this score is certain to be ahead."""
    return score > rival


@use
def misses(k: int, mu: float) -> int:
    """Return a number of failures that k pulls exceed with a probability of about 10^-9."""
    most = k * (1.0 - mu) + 6.0 * math.sqrt(k * mu * (1.0 - mu)) + 6.0
    whole: int = as_int(most)
    return min(k, whole)


@use
def trial(mu: float, i: int, urn: Floats, rewards: Words) -> float:
    """The next Bernoulli reward of slot i, from the urn if it is for this slot."""
    if urn[LEFT] > 0.0 and urn[ARM] == i:
        x = 1.0 if rng.uniform(rewards) * urn[LEFT] < urn[WINS] else 0.0
        urn[LEFT] -= 1.0
        urn[WINS] -= x
        return x
    return 1.0 if rng.uniform(rewards) < mu else 0.0


def rivals_of(scores: Scores, kin: str) -> Callable[..., float]:
    """Return a function that bounds the scores of all arms but the leader."""
    grown, standing, looks_at_top = scores.grown, scores.standing, scores.looks_at_top

    def exceeds(
        leader: int, t: int, limit: int, spare: int, level: float, top: int, low: float,
        b: int, m: int, eta: float, count: int, memory: Memory, choices: Words, watched: Ints,
    ) -> float:  # fmt: skip
        """More than any arm but the leader scores until `limit` if it fails at most `spare` times.

        Infinite where that is not known: if the leader need not be the one with the highest mean,
        or if a score is NaN.
        """
        least = memory.s[leader] / (memory.n[leader] + spare)
        if looks_at_top:
            if top != leader or least < low:
                return math.inf
            for i in range(m):
                if i != leader and memory.hat[i] >= least:
                    return math.inf
        g = grown(limit, eta)
        rival = level
        ordered = True
        for j in range(count):
            i = watched[j]
            if i != leader:
                x = standing(i, least, limit, g, b, m, eta, memory, choices)
                ordered &= x == x
                rival = max(rival, x + DOUBT + DOUBT_BY_PULL * memory.n[i])
        return rival if ordered else math.inf

    return named(exceeds, "exceeds", kin)


def leading(scores: Scores, kin: str) -> Callable[..., int]:
    """Return a function that pulls the leader many times."""
    grown, _, supposed, pulled, looks_at_top, worth, _, _ = scores

    def lead(
        i: int, t: int, limit: int, rival: float, spare: int, b: int, m: int, eta: float,
        memory: Memory, luck: Luck, urn: Floats,
    ) -> int:  # fmt: skip
        """Pull the leader until `limit`, or until its score is no longer above `rival`.

        For a rule that looks at the highest mean, no more than `spare` pulls may fail.
        """
        mu = memory.mus[i]
        n = memory.n[i]
        s = memory.s[i]
        # Scores rise with the time, so those of now are lower bounds of those to come.
        now = t
        g = grown(now, eta)
        k = limit - t
        while t < limit:
            k = min(k, limit - t)
            while k >= worth:
                most = misses(k, mu)
                if not looks_at_top or most <= spare:
                    low = s / (n + most)
                    if certain(supposed(n + k, low, now, g, b, m, eta, luck.choices), rival):
                        break
                k //= 2
            if k >= worth:
                wins = binomial.binomial(k, mu, luck.rewards)
                if k - wins > misses(k, mu):
                    urn[ARM] = i
                    urn[LEFT] = k
                    urn[WINS] = wins
                    break
                spare -= k - wins
                s += wins
                n += k
                t += k
                k *= 2
                continue
            # Up to the next failure, or as long as the leader is ahead if there is none.
            k = limit - t
            while k > 1 and not certain(
                supposed(n + k, s / n, now, g, b, m, eta, luck.choices), rival
            ):
                k //= 2
            run = as_int(k)
            if mu <= 0.0:
                run = as_int(0)
            elif mu < 1.0:
                u = math.log(rng.positive_uniform(luck.rewards))
                if u > k * math.log(mu):
                    run = as_int(u / math.log(mu))
            n += run
            s += run
            t += run
            if run < k:
                n += 1
                t += 1
                spare -= 1
                if looks_at_top and spare < 0:
                    break
            k = worth
            if not certain(supposed(n, s / n, now, g, b, m, eta, luck.choices), rival):
                break
        memory.n[i] = n
        memory.s[i] = s
        pulled(i, b, m, memory)
        return t

    return named(lead, "lead", kin)
